// What a decoder writes when the weights of one of its rows are moved: cell and readout are computed here.
(() => {
  "use strict";
  const { make, dot, softmax, control, choice, button, table, scroll, saying, text, start } = window.figures;
  const SHOWN = 4; // likeliest words

  start("nextword", (data) => {
    const width = data.states[0].length;
    const even = data.source.map(() => 1 / data.source.length);
    let t = data.row;
    let weights = [];

    const sigmoid = (x) => 1 / (1 + Math.exp(-x));
    const mix = (shares, rows) => rows[0].map((_, k) => shares.reduce((sum, share, i) => sum + share * rows[i][k], 0));
    // The GRU cell, then the readout of its new state and of the context.
    const probabilities = (row, shares) => {
      const given = mix(shares, data.gates).map((gate, k) => gate + data.inputs[row][k]);
      const hidden = data.hidden[row];
      const state = data.states[row].map((old, k) => {
        const reset = sigmoid(given[k] + hidden[k]);
        const keep = sigmoid(given[k + width] + hidden[k + width]);
        return (1 - keep) * Math.tanh(given[k + 2 * width] + reset * hidden[k + 2 * width]) + keep * old;
      });
      const read = mix(shares, data.read_values);
      return softmax(data.read_states.map((one, v) => dot(one, state) + read[v]));
    };

    const sliders = data.source.map((word, i) => {
      const reading = make("span", { class: "reading", "aria-hidden": "true" });
      const input = make("input", { type: "range", min: 0, max: 1, step: 0.01, oninput: () => move(i, Number(input.value)) });
      return { input, reading, node: control(word, input, reading) };
    });
    const bars = Array.from({ length: SHOWN }, () => make("div", { class: "bar" }));
    const says = saying();

    const show = () => {
      sliders.forEach(({ input, reading }, i) => {
        input.value = weights[i];
        reading.textContent = text(weights[i]);
        reading.dataset.value = weights[i];
        input.setAttribute("aria-valuetext", text(weights[i]));
      });
      const p = probabilities(t, weights);
      const likely = p.map((_, v) => v).sort((u, v) => p[v] - p[u]).slice(0, SHOWN);
      likely.forEach((v, k) => {
        bars[k].textContent = `${data.vocabulary[v]} ${text(p[v])}`;
        bars[k].dataset.value = p[v];
        bars[k].style.setProperty("--share", p[v].toFixed(3));
        bars[k].classList.toggle("chosen", v === data.right[t]);
      });
      const before = t ? `After ${data.target[t - 1]}` : "At the start";
      const end = likely[0] === data.right[t] ? "which is right" : `but ${data.target[t]} would be right`;
      says.textContent = `${before} it writes ${data.vocabulary[likely[0]]}, ${end}.`;
    };
    // One weight is set, and the others share the rest as before.
    const move = (i, value) => {
      const others = 1 - weights[i];
      weights = weights.map((weight, j) => {
        if (j === i) return value;
        return others > 1e-9 ? (weight / others) * (1 - value) : (1 - value) / (weights.length - 1);
      });
      show();
    };
    const take = (shares) => () => {
      weights = shares().slice();
      show();
    };
    const learned = take(() => data.weights[0][t]);
    const rows = choice("row", data.target.map((word, i) => `${i + 1}: ${word}`), (i) => { t = i; learned(); });
    rows.querySelector("select").selectedIndex = t;
    learned();

    const all = table(data.title, data.target, data.source, "output");
    const place = (i) => data.source.map((_, j) => Number(i === j));
    all.set(data.target.map((_, row) => data.source.map((_, i) => probabilities(row, place(i))[data.right[row]])));
    return [
      make("div", { class: "controls" }, rows),
      make("div", { class: "steps" },
        ...data.names.map((name, k) => button(name, take(() => data.weights[k][t]))),
        button("all equal", take(() => even))),
      make("div", { class: "nextword" },
        make("div", { class: "sliders", "data-tint": "weights" }, make("p", { class: "label" }, "weights of this row"), ...sliders.map(({ node }) => node)),
        make("div", { class: "bars", "data-tint": "output" }, make("p", { class: "label" }, "next word"), ...bars)),
      says,
      make("details", {}, make("summary", {}, "All weight on one place"), scroll(data.title, all.node)),
    ];
  });
})();
