// Key-value cache: what is kept, what is new, and what a wrong position number does.
(() => {
  "use strict";
  const { make, table, write, steps, tick, text, scroll, saying, start } = window.figures;

  start("cache", (data) => {
    let step = data.words.length - 1;
    let kind = 0; // 0: right positions, 1: always position 0
    const chips = data.words.map((word) => {
      const weight = make("small");
      const position = make("small");
      return { weight, position, node: make("span", { class: "chip", "data-tint": "weights" }, word, weight, position) };
    });
    const says = saying();

    const show = () => {
      const weights = data.weights[kind][step];
      chips.forEach(({ node, weight, position }, i) => {
        const there = i <= step;
        node.classList.toggle("waits", !there);
        node.classList.toggle("asks", i === step);
        node.style.setProperty("--share", there ? weights[i].toFixed(3) : 0);
        position.textContent = there ? `pos. ${kind ? 0 : i}` : "";
        weight.textContent = "";
        delete weight.dataset.value;
        if (there) write(weight, weights[i], 1);
      });
      const difference = data.differences[kind][step];
      says.textContent =
        `${data.words[step]} is new: 1 position is projected, ${step} come from the cache. ` +
        `Without a cache it would be ${step + 1} now and ${((step + 1) * (step + 2)) / 2} so far. ` +
        `Difference from computing everything at once: ${text(difference, 3)}.`;
      says.dataset.value = difference;
    };
    show();
    const walk = steps("word", data.words.length, (i) => `${i + 1} of ${data.words.length}`, (i) => { step = i; show(); }, step);
    const mistake = tick("every new word gets position 0", false, (on) => { kind = Number(on); show(); });
    const details = data.titles.map((title, k) => {
      const one = table(title, data.words, data.words, "weights");
      one.set(data.weights[k], 2, 1);
      return scroll(title, one.node);
    });
    return [
      walk.node, mistake.node,
      make("div", { class: "words" }, ...chips.map(({ node }) => node)),
      says,
      make("details", {}, make("summary", {}, "All weights"), ...details),
    ];
  });
})();
