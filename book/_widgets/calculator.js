// Attention calculator: queries, keys and values to edit, a temperature to slide, and for each result
// the numbers that meet in it.
(() => {
  "use strict";
  const { make, text, softmax, dot, column, table, arrows, slider, button, parts, saying, start } = window.figures;

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
    const meeting = saying();

    let scores, weights, output;
    let met = null; // {name, i, j}: the result whose parts are shown
    const plain = (number) => text(number, Number.isInteger(number) ? 0 : 2);
    // The sum of products of two lists of numbers, written out.
    const sum = (one, other) => one.map((number, k) => `${plain(number)} × ${plain(other[k])}`).join(" + ");

    // Each result: its cells' neighbours, as [table, row, column] with null for all, and its arithmetic.
    const results = {
      scores: (i, j) => ({
        from: [["query", i, null], ["key", j, null]],
        words: `Score of ${data.words[i]} for ${data.words[j]}: row ${i + 1} of the queries meets row ${j + 1} of the keys, `
          + `${sum(now.query[i], now.key[j])} = ${plain(scores[i][j])}.`,
      }),
      weights: (i, j) => ({
        from: [["scores", i, null]],
        words: `Weight of ${data.words[j]} for ${data.words[i]}: exp(${plain(scores[i][j])} / ${text(temperature)}), divided by the sum `
          + `of the exponentials in row ${i + 1}, is ${text(weights[i][j], 3)}.`,
      }),
      output: (i, j) => ({
        from: [["weights", i, null], ["value", null, j]],
        words: `Output of ${data.words[i]}, entry ${j + 1}: row ${i + 1} of the weights meets column ${j + 1} of the values, `
          + `${sum(weights[i], column(now.value, j))} = ${text(output[i][j], 3)}.`,
      }),
    };
    const meet = () => {
      const { from, words } = met ? results[met.name](met.i, met.j) : { from: [], words: data.hint };
      meeting.textContent = words;
      for (const [name, { cells }] of Object.entries(grids)) {
        cells.forEach((line, i) => line.forEach((cell, j) => {
          const part = from.some(([other, row, at]) => other === name && (row === null || row === i) && (at === null || at === j));
          cell.classList.toggle("chosen", part);
          cell.classList.toggle("asked", Boolean(met) && met.name === name && met.i === i && met.j === j);
        }));
      }
    };
    for (const name of Object.keys(results)) {
      const { node, cells } = grids[name];
      node.setAttribute("role", "grid");
      arrows(cells);
      cells.forEach((line, i) => line.forEach((cell, j) => {
        const point = () => {
          met = { name, i, j };
          meet();
        };
        cell.addEventListener("focus", point);
        cell.addEventListener("pointerenter", point);
      }));
    }

    const compute = () => {
      scores = now.query.map((query) => now.key.map((key) => dot(query, key)));
      weights = scores.map((line) => softmax(line.map((score) => score / temperature)));
      output = weights.map((line) => now.value[0].map((_, j) => dot(line, column(now.value, j))));
      grids.scores.set(scores, scores.flat().every(Number.isInteger) ? 0 : 2);
      grids.weights.set(weights, 3, 1);
      grids.output.set(output, 3);
      const looks = weights.map((line, i) => {
        const largest = Math.max(...line);
        return `${data.words[i]} at ${data.words[line.indexOf(largest)]} (${text(largest)})`;
      });
      says.textContent = `Where each word looks most: ${looks.join(", ")}.`;
      meet();
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
      meeting,
      says,
    ];
  });
})();
