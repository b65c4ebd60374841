// Head split as memory: where each place of memory goes, with the right and with the wrong split, and
// how it gets there.
(() => {
  "use strict";
  const { make, table, slider, choice, button, parts, saying, start } = window.figures;

  start("split", (data) => {
    const width = data.width;
    let length = data.length;
    let heads = data.heads;
    let place = Math.floor(length * width / 2);
    const memory = make("div", { class: "memory" });
    const splits = [make("div"), make("div")];
    const says = saying();
    const range = (n) => Array.from({ length: n }, (_, i) => i);
    const word = (at) => data.words[Math.floor(at / width)];
    const name = (at) => word(at) + (1 + (at % width));

    // Which place of memory stands at head h, row t, entry c?
    const right = (h, t, c) => t * width + h * (width / heads) + c;
    const wrong = (h, t, c) => (h * length + t) * (width / heads) + c;

    let cells = [];
    const cell = (tag, at) => {
      const node = make(tag, { class: `word-${Math.floor(at / width)}`, "data-place": at, onpointerenter: () => where.set(at) }, name(at));
      cells.push(node);
      return node;
    };
    // Let each entry travel from its place in memory to its place in both splits, one after the other.
    const move = () => {
      const places = [...memory.children].map((node) => node.getBoundingClientRect());
      const pause = Math.min(150, 4000 / places.length);
      cells.filter((node) => node.parentNode !== memory).forEach((node) => {
        const at = Number(node.dataset.place);
        const to = node.getBoundingClientRect();
        const from = `translate(${places[at].left - to.left}px, ${places[at].top - to.top}px)`;
        node.animate([{ transform: from }, { transform: "none" }], { duration: 900, delay: pause * at, easing: "ease-in-out", fill: "backwards" });
      });
    };
    const mayMove = !window.matchMedia("(prefers-reduced-motion: reduce)").matches;

    const point = () => {
      cells.forEach((node) => node.classList.toggle("chosen", Number(node.dataset.place) === place));
      const found = [right, wrong].map((rule) => {
        for (const h of range(heads)) {
          for (const t of range(length)) {
            if (range(width / heads).some((c) => rule(h, t, c) === place)) return `head ${h + 1}, row ${t + 1}`;
          }
        }
      });
      says.textContent = `${name(place)} is number ${place + 1} in memory. Right split: ${found[0]}. Wrong split: ${found[1]}.`;
    };
    const build = () => {
      cells = [];
      const size = length * width;
      memory.replaceChildren(...range(size).map((at) => cell("span", at)));
      [right, wrong].forEach((rule, k) => {
        const tables = range(heads).map((h) => {
          const rows = range(length).map((t) => `row ${t + 1}`);
          const entries = range(width / heads).map((c) => String(c + 1));
          const one = table(`head ${h + 1}`, rows, entries, "muted", (t, c) => cell("td", rule(h, t, c)));
          one.cells.forEach((line, t) =>
            line.forEach((node) => node.classList.toggle("leak", Math.floor(node.dataset.place / width) !== t))
          );
          return one.node;
        });
        splits[k].replaceChildren(make("p", { class: "label" }, data.titles[k]), parts(...tables));
      });
      const at = Math.min(place, size - 1);
      where.input.max = size - 1;
      where.set(at);
    };
    const where = slider("place in memory", 1, 0, name, (value) => {
      place = value;
      point();
    });
    const lengths = range(data.words.length).slice(1).map((i) => i + 1);
    const words = choice("words", lengths.map(String), (i) => { length = lengths[i]; build(); });
    const split = choice("heads", data.choices.map(String), (i) => { heads = data.choices[i]; build(); });
    words.querySelector("select").selectedIndex = lengths.indexOf(length);
    split.querySelector("select").selectedIndex = data.choices.indexOf(heads);
    build();
    return [
      make("div", { class: "controls" }, parts(words, split), where.node),
      make("p", { class: "label" }, "memory"), memory,
      ...(mayMove ? [make("div", { class: "steps" }, button("Move memory into the heads", move))] : []),
      parts(...splits), says,
    ];
  });
})();
