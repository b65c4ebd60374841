// RoPE: a query and a key, pair by pair, turned by their positions, and their score against the distance.
(() => {
  "use strict";
  const { make, draw, slider, choice, saying, start, text, dot } = window.figures;

  start("rope", (data) => {
    const pairs = data.query.length / 2;
    const reach = data.positions - 1;
    let base = data.bases[0];
    let [m, n] = data.start;
    const omega = (i) => base ** (-i / pairs);
    // each pair (x, y) becomes (x cos a - y sin a, x sin a + y cos a)
    const turned = (vector, position) =>
      vector.flatMap((entry, j) => {
        const a = position * omega(Math.floor(j / 2));
        return entry * Math.cos(a) + (j % 2 ? vector[j - 1] : -vector[j + 1]) * Math.sin(a);
      });
    const score = (here, there) => dot(turned(data.query, here), turned(data.key, there));

    const arrow = (tint) => draw("line", { class: "hand", "data-tint": tint });
    const hands = Array.from({ length: pairs }, () => [arrow("query"), arrow("key")]);
    const labels = hands.map(() => make("span"));
    const circles = hands.map((two, i) => make("div", {},
      draw("svg", { viewBox: "-1.05 -1.05 2.1 2.1", "aria-hidden": "true" }, draw("circle", { r: 1 }), ...two), labels[i]));
    const curve = draw("polyline", { "data-tint": "weights" });
    const top = Math.sqrt(dot(data.query, data.query) * dot(data.key, data.key));
    const marker = draw("line", { class: "marker", y1: -top, y2: top });
    const picture = draw("svg",
      { viewBox: `${-reach} ${-top} ${2 * reach} ${2 * top}`, preserveAspectRatio: "none", role: "img", "aria-label": "score against the key's position minus the query's" },
      draw("line", { x1: -reach, x2: reach }), marker, curve);
    const says = saying();

    const show = () => {
      [[data.query, m], [data.key, n]].forEach(([vector, position], which) => {
        const entries = turned(vector, position);
        hands.forEach((two, i) => {
          two[which].setAttribute("x2", entries[2 * i]);
          two[which].setAttribute("y2", -entries[2 * i + 1]);
          labels[i].textContent = `ω = ${Number(omega(i).toPrecision(2))}`;
        });
      });
      const points = Array.from({ length: 2 * reach + 1 }, (_, k) => [k - reach, -score(0, k - reach)]);
      curve.setAttribute("points", points.map((point) => point.join(",")).join(" "));
      marker.setAttribute("x1", n - m);
      marker.setAttribute("x2", n - m);
      says.textContent = `Query at ${m}, key at ${n}: the score is ${text(score(m, n), 3)}.`;
      says.dataset.value = score(m, n);
    };
    show();
    return [
      make("div", { class: "controls" },
        slider("query at m", data.positions, m, String, (value) => { m = value; show(); }).node,
        slider("key at n", data.positions, n, String, (value) => { n = value; show(); }).node,
        choice("base", data.bases.map(String), (i) => { base = data.bases[i]; show(); })),
      make("div", { class: "key" }, make("span", { "data-tint": "query" }, "query"), make("span", { "data-tint": "key" }, "key")),
      make("div", { class: "clocks" }, ...circles),
      make("div", { class: "curve" }, make("span", {}, "score"), picture,
        make("div", { class: "ends" }, make("span", {}, `n − m = −${reach}`), make("span", {}, "0"), make("span", {}, `+${reach}`))),
      says,
    ];
  });
})();
