// Tiles under a causal mask: which are full, which are cut, which are left out, and what is loaded.
(() => {
  "use strict";
  const { table, slider, choice, tick, parts, make, scroll, saying, start } = window.figures;
  const SHARE = { full: 0.8, edge: 0.35, none: 0 };

  start("tiles", (data) => {
    const { queries, keys } = data;
    let [height, width] = data.blocks;
    let causal = true;
    let corner = keys - queries; // the last query sees the last key; with 0, query 0 sees key 0 only
    const names = (count) => Array.from({ length: count }, (_, i) => String(i));
    const grid = table(data.title, names(queries), names(keys), "weights");
    const says = saying();

    const may = (i, j) => !causal || j <= i + corner;
    // Two corners of a tile decide: its first query with its last key, and the other way round.
    const kind = (top, left) => {
      const bottom = Math.min(top + height, queries) - 1;
      const right = Math.min(left + width, keys) - 1;
      if (may(top, right)) return "full";
      return may(bottom, left) ? "edge" : "none";
    };

    const show = () => {
      const count = { full: 0, edge: 0, none: 0 };
      let loaded = 0;
      grid.cells.forEach((line, i) => line.forEach((cell, j) => {
        const [top, left] = [i - (i % height), j - (j % width)];
        const what = kind(top, left);
        if (i === top && j === left) {
          count[what] += 1;
          if (what !== "none") loaded += Math.min(left + width, keys) - left;
        }
        cell.textContent = may(i, j) ? "1" : "0";
        cell.dataset.kind = what;
        cell.style.setProperty("--share", SHARE[what].toFixed(3));
        cell.classList.toggle("tile-top", i === top);
        cell.classList.toggle("tile-left", j === left);
      }));
      says.textContent =
        `Full: ${count.full}. Edges: ${count.edge}. Left out: ${count.none}. ` +
        `Keys loaded by all tiles of queries together: ${loaded}.`;
    };
    show();
    const block = (label, first, changed) =>
      slider(label, 8, first - 1, (i) => String(i + 1), (i) => { changed(i + 1); show(); }).node;
    return [
      parts(make("div", { class: "controls" },
        block("queries in a tile", height, (n) => { height = n; }),
        block("keys in a tile", width, (n) => { width = n; }),
        tick("causal mask", true, (on) => { causal = on; show(); }).node,
        choice("corner", ["bottom right", "top left"], (i) => { corner = i ? 0 : keys - queries; show(); })
      )),
      scroll(data.title, grid.node),
      says,
    ];
  });
})();
