// Attention calculator: queries, keys and values to edit, a temperature to slide.
(() => {
  "use strict";
  const { make, text, softmax, dot, column, table, slider, button, parts, saying, start } = window.figures;

  start("calculator", (data) => {
    const now = {};
    const inputs = {};
    const grids = {};
    const entries = (matrix) => matrix[0].map((_, j) => String(j + 1));
    let temperature = data.temperatures[data.start];

    const edited = (name, i, j) => (event) => {
      const number = event.target.valueAsNumber;
      event.target.setAttribute("aria-invalid", String(!Number.isFinite(number)));
      if (!Number.isFinite(number)) return;
      now[name][i][j] = number;
      compute();
    };
    for (const name of ["query", "key", "value"]) {
      inputs[name] = data[name].map((numbers, i) =>
        numbers.map((_, j) =>
          make("input", { type: "number", step: "any", "aria-label": `${name} of ${data.words[i]}, entry ${j + 1}`, oninput: edited(name, i, j) })
        )
      );
      grids[name] = table(data.titles[name], data.words, entries(data[name]), name, (i, j) => make("td", {}, inputs[name][i][j]));
    }
    grids.scores = table(data.titles.scores, data.words, data.short, "muted");
    grids.weights = table(data.titles.weights, data.words, data.short, "weights");
    grids.output = table(data.titles.output, data.words, entries(data.value), "output");
    const says = saying();

    const compute = () => {
      const scores = now.query.map((query) => now.key.map((key) => dot(query, key)));
      const weights = scores.map((line) => softmax(line.map((score) => score / temperature)));
      const output = weights.map((line) => now.value[0].map((_, j) => dot(line, column(now.value, j))));
      grids.scores.set(scores, scores.flat().every(Number.isInteger) ? 0 : 2);
      grids.weights.set(weights, 3, 1);
      grids.output.set(output, 3);
      const looks = weights.map((line, i) => {
        const largest = Math.max(...line);
        return `${data.words[i]} at ${data.words[line.indexOf(largest)]} (${text(largest)})`;
      });
      says.textContent = `Who looks most at whom: ${looks.join(", ")}.`;
    };

    const reading = (i) => text(data.temperatures[i]) + (i === data.start ? " = √d" : "");
    const tau = slider("temperature", data.temperatures.length, data.start, reading, (i) => {
      temperature = data.temperatures[i];
      compute();
    });
    const reset = () => {
      for (const name of ["query", "key", "value"]) {
        now[name] = data[name].map((numbers) => numbers.slice());
        inputs[name].forEach((line, i) =>
          line.forEach((input, j) => {
            input.value = now[name][i][j];
            input.setAttribute("aria-invalid", "false");
          })
        );
      }
      tau.set(data.start);
    };
    reset();
    return [
      parts(grids.query.node, grids.key.node, grids.value.node),
      parts(tau.node, button("Start again", reset)),
      parts(grids.scores.node, grids.weights.node, grids.output.node),
      says,
    ];
  });
})();
