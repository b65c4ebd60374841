// Mask painter: a mask to paint, read with either polarity, the weights that it leaves, and what leaks.
(() => {
  "use strict";
  const { make, dot, column, table, arrows, slider, choice, tick, button, parts, saying, start } = window.figures;

  start("mask", (data) => {
    const n = data.words.length;
    const mask = data.words.map(() => data.words.map(() => true));
    let length = data.length;
    let trueMeansHidden = false;
    let afterwards = false; // the mask enters after the softmax
    let brush = true; // what dragging paints

    // A key may be attended to?
    const allowed = (i, j) => mask[i][j] !== trueMeansHidden;

    const buttons = data.words.map((query, i) =>
      data.words.map((key, j) => {
        // dragging paints the cell it leaves and the cell it enters; a click does the rest
        const drag = (event) => event.buttons === 1 && paint(i, j, brush);
        return make("button", {
          type: "button",
          onclick: () => paint(i, j, !mask[i][j]),
          onpointerdown: () => { brush = !mask[i][j]; },
          onpointerleave: drag,
          onpointerenter: drag,
        });
      })
    );
    arrows(buttons);
    const exponentials = table(data.titles.exponentials, data.words, data.words, "muted");
    const painted = table(data.titles.mask, data.words, data.words, "key", (i, j) => make("td", {}, buttons[i][j]));
    painted.node.setAttribute("role", "grid");
    const weights = table(data.titles.weights, data.words, [...data.words, "sum"], "weights");
    const leaks = table(data.titles.leaks, data.words, data.words, "output");
    const says = saying();

    const sum = (numbers) => numbers.reduce((all, number) => all + number, 0);
    // The weights. After the softmax, what is hidden still counts in the sum.
    const weigh = (exponentials) => exponentials.map((line, i) => {
      const kept = line.map((e, j) => (allowed(i, j) ? e : 0));
      const total = sum(afterwards ? line : kept);
      return kept.map((e) => (total ? e / total : 0));
    });
    // The outputs, (n, dv), with key and value of one word exchanged, or of none.
    const read = (word) => {
      const values = data.values.map((line, k) => (k === word ? data.otherValues[k] : line));
      const keys = data.exponentials.map((line, i) => line.map((e, k) => (k === word ? data.others[i][k] : e)));
      return weigh(keys).map((line) => values[0].map((_, c) => dot(line, column(values, c))));
    };

    const paint = (i, j, on) => {
      mask[i][j] = on;
      show();
    };
    // What a decoder must not see. Counted whatever the mask says.
    const kind = (i, j) => (j >= length ? "padding" : j > i ? "the future" : "");

    const show = () => {
      const names = data.words.map((word, j) => (j < length ? word : "pad"));
      const lines = weigh(data.exponentials);
      const sums = lines.map(sum);
      exponentials.set(data.exponentials, 0);
      weights.set(lines.map((line, i) => [...line, sums[i]]), 2, 1);
      for (const one of [exponentials, painted, weights, leaks]) {
        names.forEach((name, j) => {
          one.node.tHead.rows[0].cells[j + 1].textContent = name;
          one.node.tBodies[0].rows[j].cells[0].textContent = name;
        });
      }
      const [before, exchanged] = [read(), data.words.map((_, j) => read(j))];
      const moves = before.map((line, i) => exchanged.map((after) => Math.max(...after[i].map((x, c) => Math.abs(x - line[c])))));
      leaks.set(moves);
      const found = { padding: 0, "the future": 0 };
      lines.forEach((line, i) => {
        weights.cells[i][n].style.setProperty("--share", 0);
        line.forEach((weight, j) => {
          const leak = moves[i][j] > 1e-9 && kind(i, j); // beyond rounding
          if (leak) found[leak] += 1;
          leaks.cells[i][j].classList.toggle("leak", Boolean(leak));
          weights.cells[i][j].classList.toggle("leak", Boolean(weight > 0 && kind(i, j)));
          const cell = buttons[i][j];
          cell.textContent = mask[i][j] ? "1" : "0";
          cell.setAttribute("aria-pressed", String(mask[i][j]));
          cell.setAttribute("aria-label", `query ${names[i]}, key ${names[j]}`);
          cell.parentNode.style.setProperty("--share", mask[i][j] ? 0.8 : 0);
        });
      });
      const empty = sums.filter((sum) => sum === 0).length;
      says.textContent =
        `Leaks from padding: ${found.padding}. From the future: ${found["the future"]}. ` +
        `Rows with nothing to attend to, all zeros: ${empty}.`;
    };

    const padding = tick("hide the padding", true, () => preset());
    const future = tick("hide the future", true, () => preset());
    const preset = () => {
      for (let i = 0; i < n; i += 1) {
        for (let j = 0; j < n; j += 1) {
          const hidden = (padding.input.checked && j >= length) || (future.input.checked && j > i);
          mask[i][j] = hidden === trueMeansHidden;
        }
      }
      show();
    };
    const invert = () => {
      mask.forEach((line) => line.forEach((on, j) => { line[j] = !on; }));
      show();
    };
    preset();
    return [
      parts(
        make("div", { class: "controls" },
          slider("real words", n + 1, length, String, (value) => { length = value; preset(); }).node,
          padding.node,
          future.node,
          choice("read 1 as", data.readings, (i) => { trueMeansHidden = i === 1; show(); }),
          choice("mask", data.places, (i) => { afterwards = i === 1; show(); }),
          button("Turn 0 and 1 around", invert)
        ),
        exponentials.node
      ),
      parts(painted.node, weights.node, leaks.node),
      says,
    ];
  });
})();
