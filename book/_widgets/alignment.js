// Alignment viewer: a line for each weight. Point at a word, or move to it with Tab, to see its own.
(() => {
  "use strict";
  const { make, draw, write, text, column, table, choice, button, scroll, saying, start } = window.figures;
  const THINNEST = 0.02; // less is not drawn

  start("alignment", (data) => {
    let example = 0;
    let head = 0;
    let chosen = { side: "target", at: 0 };
    let buttons = {};
    let lines = []; // a line for each target and source word
    const rows = { source: make("div", { class: "words" }), target: make("div", { class: "words" }) };
    const picture = draw("svg", { viewBox: "0 0 100 100", preserveAspectRatio: "none", "aria-hidden": "true" });
    const says = saying();
    const all = make("div");

    const word = (side, name, at) => {
      const choose = () => {
        chosen = { side, at };
        show();
      };
      const number = make("small", { "aria-hidden": "true" });
      const node = make("button", { type: "button", onclick: choose, onfocus: choose, onpointerenter: choose }, name, number);
      return { node, number };
    };
    const matrix = () => data.examples[example].weights[head];

    // What a target word looks at is a row; a source word has a column.
    const sentence = (row, name, most) => {
      const list = most.join(", ");
      return row ? `Before writing ${name} it looks at: ${list}.` : `Target words that look at ${name}: ${list}.`;
    };
    const show = () => {
      const here = data.examples[example];
      const row = chosen.side === "target";
      const other = row ? "source" : "target";
      const numbers = row ? matrix()[chosen.at] : column(matrix(), chosen.at);
      buttons[chosen.side].forEach(({ node, number }, i) => {
        number.textContent = "";
        delete number.dataset.value;
        node.style.setProperty("--share", 0);
        node.setAttribute("aria-pressed", String(i === chosen.at));
      });
      buttons[other].forEach(({ node, number }, i) => {
        write(number, numbers[i], 1);
        node.style.setProperty("--share", numbers[i].toFixed(3));
        node.setAttribute("aria-pressed", "false");
      });
      lines.forEach((line, t) => line.forEach((node, s) => {
        node.classList.toggle("faint", (row ? t : s) !== chosen.at);
      }));
      const order = numbers.map((_, i) => i);
      order.sort((i, j) => numbers[j] - numbers[i]);
      const most = order.slice(0, 3).map((i) => `${here[other][i]} ${text(numbers[i])}`);
      says.textContent = sentence(row, here[chosen.side][chosen.at], most);
    };
    // The numbers of another head: the lines stay and change their width.
    const change = () => {
      const here = data.examples[example];
      for (const node of [picture, rows.source, rows.target]) node.dataset.tint = "weights";
      const shown = table(data.title, here.target, here.source, "weights");
      matrix().forEach((numbers, t) => numbers.forEach((number, s) => {
        write(shown.cells[t][s], number, 1);
        const size = number < THINNEST ? 0 : number;
        lines[t][s].dataset.value = number;
        lines[t][s].style.strokeWidth = `${10 * size}px`;
      }));
      all.replaceChildren(scroll(data.title, shown.node));
      show();
    };
    const build = () => {
      const here = data.examples[example];
      for (const side of ["source", "target"]) {
        buttons[side] = here[side].map((name, at) => word(side, name, at));
        rows[side].replaceChildren(...buttons[side].map(({ node }) => node));
      }
      const height = (i, names) => (100 * (i + 0.5)) / names.length;
      lines = here.target.map((_, t) => here.source.map((_, s) => {
        const [from, to] = [height(s, here.source), height(t, here.target)];
        return draw("path", { d: `M 0 ${from} C 50 ${from} 50 ${to} 100 ${to}` });
      }));
      picture.replaceChildren(...lines.flat());
      // one word before the lines cross, so that the next one shows it
      chosen = { side: "target", at: Math.max(0, farthestBack() - 1) };
      change();
    };
    // The target word whose weight lies farthest behind that of the word before it, if one place has most.
    const farthestBack = () => {
      const places = matrix().map((numbers) => numbers.indexOf(Math.max(...numbers)));
      const back = places.map((place, t) => (t && matrix()[t][place] > 0.5 ? places[t - 1] - place : 0));
      return back.indexOf(Math.max(...back));
    };
    build();
    const next = () => {
      const count = data.examples[example].target.length;
      chosen = { side: "target", at: chosen.side === "target" ? (chosen.at + 1) % count : 0 };
      show();
    };
    const choices = [
      ["number", data.examples.map(({ name }) => name), (i) => { example = i; build(); }],
      [data.series, data.heads, (i) => { head = i; change(); }],
    ];
    const selects = choices.filter(([, names]) => names.length > 1).map((one) => choice(...one));
    return [
      make("div", { class: "controls" }, button("Next word", next), ...selects),
      make("div", { class: "alignment" },
        make("p", { class: "label" }, "source"), make("span"), make("p", { class: "label" }, "target"),
        rows.source, make("div", {}, picture), rows.target),
      says,
      make("details", {}, make("summary", {}, "All numbers"), all),
    ];
  });
})();
