// Encoder-decoder step by step: the source at once, then one target word after the other.
(() => {
  "use strict";
  const { make, draw, table, steps, parts, text, saying, start } = window.figures;

  start("steps", (data) => {
    const S = data.source.length;
    const T = data.target.length;
    const last = 1 + 3 * T;
    const box = (x, y, word) => {
      const label = draw("text", { x, y: y + 4 });
      label.textContent = word;
      return { x, y, label, node: draw("g", { class: "box" }, draw("rect", { x: x - 19, y: y - 12, width: 38, height: 24, rx: 4 }), label) };
    };
    const row = (words, left, y) => words.map((word, i) => box(left + 44 * i, y, word));
    const right = 24 + 44 * S + 14;
    const boxes = {
      source: row(data.source, 24, 196),
      memory: row(data.source.map((_, i) => `m${i + 1}`), 24, 126),
      target: row(data.target, right, 196),
      state: row(data.target.map(() => ""), right, 66),
      answer: row(data.answer, right, 16),
    };
    const lines = draw("g");
    const side = (words, x, y) => {
      const label = draw("text", { x, y, class: "quiet" });
      label.textContent = words;
      return label;
    };
    const width = right + 44 * T - 20;
    const picture = draw("svg", { viewBox: `0 0 ${width} 232`, role: "img", "aria-label": "encoder on the left, decoder on the right", class: "model" },
      lines, ...Object.values(boxes).flat().map(({ node }) => node),
      side("encoder", 24 + 22 * (S - 1), 226), side("decoder", right + 22 * (T - 1), 226));
    const says = saying();

    // Lines from the boxes that are looked at to the one that looks.
    const look = (from, to, weights) => {
      weights.forEach((weight, j) => {
        if (!weight) return;
        const ends = { x1: from[j].x, y1: from[j].y - 12, x2: to.x, y2: to.y + 12 };
        lines.append(draw("line", { ...ends, class: "look", "data-tint": "weights", "data-value": weight, style: `stroke-width: ${1 + 6 * weight}px` }));
        from[j].node.classList.add("keyed");
      });
      to.node.classList.add("asks");
    };
    const list = (words, weights) => weights.map((weight, j) => weight && `${words[j]} ${text(weight)}`).filter(Boolean).join(", ");

    const show = (step) => {
      lines.replaceChildren();
      const t = Math.floor((step - 2) / 3);
      const kind = (step - 2) % 3;
      Object.values(boxes).flat().forEach(({ node }) => node.classList.remove("keyed", "asks", "waits"));
      const wait = (list, from) => list.slice(from).forEach(({ node }) => node.classList.add("waits"));
      wait(boxes.memory, step < 1 ? 0 : S);
      wait(boxes.target, step < 2 ? 0 : t + 1);
      wait(boxes.state, step < 2 ? 0 : t + 1);
      wait(boxes.answer, step < 2 ? 0 : t + (kind === 2 ? 1 : 0));
      if (step === 0) {
        says.textContent = `The source is there, all ${S} words at once.`;
      } else if (step === 1) {
        boxes.memory.forEach((to, i) => look(boxes.source, to, data.encoder[i]));
        says.textContent = "Encoder: every source word looks at all of them, all in one step. The results m1, m2, … are the memory.";
      } else if (kind === 0) {
        look(boxes.target, boxes.state[t], data.own[t]);
        says.textContent = `Decoder, self-attention: ${data.target[t]} looks at ${list(data.target, data.own[t])}. Later words do not exist yet.`;
      } else if (kind === 1) {
        look(boxes.memory, boxes.state[t], data.cross[t]);
        says.textContent = `Decoder, cross-attention: ${data.target[t]} looks at the memory of ${list(data.source, data.cross[t])}.`;
      } else {
        boxes.state[t].node.classList.add("asks");
        boxes.answer[t].node.classList.add("keyed");
        lines.append(draw("line", { x1: boxes.state[t].x, x2: boxes.answer[t].x, y1: 54, y2: 28 }));
        const next = t + 1 < T ? " It is the next input." : " That is the end.";
        says.textContent = `From here ${data.answer[t]} is to come out.${next}`;
      }
    };
    // the second target word looks at the source
    const first = Math.min(6, last);
    show(first);
    const tables = data.tables.map(({ title, rows, columns, name }) => {
      const one = table(title, rows, columns, "weights");
      one.set(data[name], 2, 1);
      return one.node;
    });
    return [
      steps("step", last + 1, (i) => `${i} of ${last}`, show, first).node,
      picture, says,
      make("details", {}, make("summary", {}, "All weights"), parts(...tables)),
    ];
  });
})();
