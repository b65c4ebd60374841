// Why the square root: what three scalings do to scores, weights and gradient as the width grows.
(() => {
  "use strict";
  const { make, draw, softmax, write, table, slider, saying, start, text } = window.figures;
  const HEIGHT = 60;

  // Bars from the floor up, drawn to fill their box; words stand outside, where they keep their size.
  const chart = (label, count, marked) => {
    const bars = Array.from({ length: count }, (_, i) =>
      draw("rect", { x: i + 0.08, width: 0.84, class: marked(i) ? "beyond" : null })
    );
    const node = draw("svg", { viewBox: `0 0 ${count} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": label }, ...bars);
    const set = (shares) =>
      shares.forEach((share, i) => {
        bars[i].dataset.value = share;
        bars[i].setAttribute("height", share * HEIGHT);
        bars[i].setAttribute("y", HEIGHT * (1 - share));
      });
    return { node, set };
  };

  start("root", (data) => {
    const bins = data.histograms[0][0].length;
    const keys = data.scores[0].length;
    const grid = make("div", { class: "charts" }, make("span", {}, "scores"), make("span", {}, "weights of one query, sorted"));
    const charts = data.names.map((name) => {
      const histogram = chart(`histogram of the scores, ${name}`, bins, (i) => i === 0 || i === bins - 1);
      const weights = chart(`weights of one query, ${name}`, keys, () => false);
      histogram.node.setAttribute("data-tint", "muted");
      weights.node.setAttribute("data-tint", "weights");
      grid.append(make("strong", {}, name), histogram.node, weights.node);
      return { histogram, weights };
    });
    const ends = (...words) => make("div", { class: "ends" }, ...words.map((word) => make("span", {}, word)));
    grid.append(ends(`≤ −${data.beyond}`, "0", `≥ ${data.beyond}`), ends("largest", "smallest"));
    const measured = table("measured, mean over all queries", data.names, data.columns, "output");
    const says = saying();

    const show = (at) => {
      data.names.forEach((name, k) => {
        charts[k].histogram.set(data.histograms[k][at]);
        const weights = softmax(data.scores[at].map((score) => score * data.scales[k][at]));
        charts[k].weights.set(weights.sort((one, other) => other - one));
        data.measured[k][at].forEach((number, j) => {
          write(measured.cells[k][j], number, data.limits[j] || Infinity, 3);
        });
      });
      const gradients = data.names.map((name, k) => `${name} ${text(data.measured[k][at][3])}`);
      says.textContent = `At width ${data.widths[at]} the gradient through the softmax is: ${gradients.join(", ")}.`;
    };
    show(data.start);
    const width = slider("width d", data.widths.length, data.start, (i) => String(data.widths[i]), show);
    return [width.node, grid, measured.node, says];
  });
})();
