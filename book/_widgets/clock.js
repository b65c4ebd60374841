// Position clock: one hand per frequency at two positions, and the dot product of their rows.
(() => {
  "use strict";
  const { make, draw, write, table, slider, choice, scroll, saying, start, text, dot } = window.figures;

  start("clock", (data) => {
    const pairs = data.width / 2;
    const reach = data.reach;
    const names = Array.from({ length: pairs }, (_, i) => `pair ${i}`);
    let base = data.bases[0];
    let p = data.position;
    let offset = data.offset;
    const omega = (i) => base ** (-i / pairs);
    const row = (position) =>
      names.flatMap((_, i) => [Math.sin(position * omega(i)), Math.cos(position * omega(i))]);

    const hand = (tint) => draw("line", { class: "hand", "data-tint": tint, x2: 0, y2: -0.92 });
    const hands = names.map(() => [hand("query"), hand("key")]);
    const labels = names.map(() => make("span"));
    const clocks = names.map((name, i) =>
      make("div", {},
        draw("svg", { viewBox: "-1.05 -1.05 2.1 2.1", "aria-hidden": "true" },
          draw("circle", { r: 1 }), draw("line", { y1: -1, y2: -0.86 }), hands[i][1], hands[i][0]),
        labels[i])
    );
    const curve = draw("polyline", { "data-tint": "weights" });
    const marker = draw("line", { class: "marker", y1: -pairs, y2: pairs });
    const picture = draw("svg",
      { viewBox: `${-reach} ${-pairs} ${2 * reach} ${2 * pairs}`, preserveAspectRatio: "none", role: "img", "aria-label": "dot product of the two rows against the offset" },
      draw("line", { x1: -reach, x2: reach }), marker, curve);
    const shown = table(data.title, names, data.columns, "muted");
    const says = saying();

    const show = () => {
      const here = row(p);
      const there = row(p + offset);
      names.forEach((_, i) => {
        const numbers = [omega(i), here[2 * i], here[2 * i + 1], offset * omega(i), there[2 * i], there[2 * i + 1]];
        numbers.forEach((number, j) => write(shown.cells[i][j], number, j % 3 ? 1 : Infinity, 3));
        labels[i].textContent = `ω = ${Number(omega(i).toPrecision(2))}`;
        // from the top and clockwise: the sine to the right, the cosine upwards
        hands[i][0].style.transform = `rotate(${p * omega(i)}rad)`;
        hands[i][1].style.transform = `rotate(${(p + offset) * omega(i)}rad)`;
      });
      const points = Array.from({ length: 2 * reach + 1 }, (_, k) => [k - reach, -dot(here, row(p + k - reach))]);
      curve.setAttribute("points", points.map((point) => point.join(",")).join(" "));
      marker.setAttribute("x1", offset);
      marker.setAttribute("x2", offset);
      const product = dot(here, there);
      says.textContent = `The dot product of rows ${p} and ${text(p + offset, 0)} is ${text(product, 3)}.`;
      says.dataset.value = product;
    };
    show();
    const signed = (k) => (k > 0 ? "+" : "") + text(k, 0);
    return [
      make("div", { class: "controls" },
        slider("position p", data.positions, p, String, (value) => { p = value; show(); }).node,
        slider("offset", 2 * reach + 1, offset + reach, (k) => signed(k - reach), (k) => { offset = k - reach; show(); }).node,
        choice("base", data.bases.map(String), (i) => { base = data.bases[i]; show(); })),
      make("div", { class: "key" },
        make("span", { "data-tint": "query" }, "position p"), make("span", { "data-tint": "key" }, "p + offset")),
      make("div", { class: "clocks" }, ...clocks),
      make("div", { class: "curve" }, make("span", {}, "dot product of the two rows"), picture,
        make("div", { class: "ends" }, make("span", {}, `−${reach}`), make("span", {}, "offset 0"), make("span", {}, `+${reach}`))),
      says,
      make("details", {}, make("summary", {}, "The numbers"), scroll(data.title, shown.node)),
    ];
  });
})();
