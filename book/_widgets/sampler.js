// Sampler: temperature, top-k and top-p, one after the other, on the logits of a few tokens.
(() => {
  "use strict";
  const { softmax, table, slider, saying, parts, start } = window.figures;

  start("sampler", (data) => {
    const likely = data.logits.map((_, i) => i).sort((i, j) => data.logits[j] - data.logits[i] || i - j);
    const now = { ...data.start };
    const shown = table(data.title, data.tokens, data.columns, "weights");
    const says = saying();

    const divided = (p) => {
      const sum = p.reduce((all, x) => all + x, 0);
      return p.map((x) => x / sum);
    };
    const topK = (p, k) => divided(p.map((x, i) => (likely.indexOf(i) < k ? x : 0)));
    const topP = (p, share) => {
      if (share >= 1) return p;
      let before = 0; // what the more likely tokens have together
      const kept = p.map(() => 0);
      for (const i of likely) {
        if (before < share) kept[i] = p[i];
        before += p[i];
      }
      return divided(kept);
    };

    const show = () => {
      const warm = softmax(data.logits.map((x) => x / data.temperatures[now.temperature]));
      const first = topK(warm, now.k + 1);
      const second = topP(first, data.shares[now.share]);
      shown.set(data.tokens.map((_, i) => [warm[i], first[i], second[i]]), 3, 1);
      const names = likely.filter((i) => second[i] > 0).map((i) => data.tokens[i]);
      says.textContent = `${names.length} of ${data.tokens.length} tokens can be drawn: ${names.join(", ")}.`;
    };
    const control = (label, values, name) =>
      slider(label, values.length, now[name], (i) => String(values[i]), (i) => { now[name] = i; show(); }).node;
    const controls = parts(
      control("temperature", data.temperatures, "temperature"),
      control("top-k", data.tokens.map((_, i) => i + 1), "k"),
      control("top-p", data.shares, "share")
    );
    show();
    return [controls, shown.node, says];
  });
})();
