// A network of attention alone that runs in the page. Each head adds its own values, nothing (cut), its mean, or those of another text.
(() => {
  "use strict";
  const { make, draw, text, softmax, dot, control, choice, saying, start } = window.figures;
  const KINDS = ["own", "cut", "mean", "other"];
  const SHOWN = 4; // likeliest letters
  const FAINT = 0.02; // smaller weights aren't drawn

  const bytes = (coded) => Uint8Array.from(atob(coded), (letter) => letter.charCodeAt(0)).buffer;
  // a number of 16 bits: a sign, 5 bits for the power of two, 10 bits after the point
  const half = (bits) => {
    const power = (bits >> 10) & 31;
    const after = (bits & 1023) / 1024;
    return (bits >> 15 ? -1 : 1) * (power ? (1 + after) * 2 ** (power - 15) : after * 2 ** -14);
  };
  const rows = (numbers, width) =>
    Array.from({ length: numbers.length / width }, (_, i) => numbers.slice(i * width, (i + 1) * width));
  const largest = (numbers) => numbers.indexOf(Math.max(...numbers));

  start("heads", (data) => {
    const matrix = (name) => rows(Array.from(new Uint16Array(bytes(data.weights[name])), half), data.width);
    const embed = matrix("embed.weight");
    const unembed = matrix("unembed.weight");
    const layers = Array.from({ length: data.layers }, (_, l) =>
      ["w_q", "w_k", "w_v", "w_o"].map((name) => matrix(`layers.${l}.${name}.weight`)));
    const part = data.width / data.heads;
    const names = layers.flatMap((_, l) => Array.from({ length: data.heads }, (_, h) => `head ${l}.${h}`));
    const means = rows(rows(Array.from(new Float32Array(bytes(data.means))), part), data.positions);

    const turned = (vectors) => vectors.map((vector, t) => vector.map((x, i) => {
      const angle = t * 10000 ** (-(i - (i % 2)) / part);
      const side = i % 2 ? vector[i - 1] : -vector[i + 1];
      return x * Math.cos(angle) + side * Math.sin(angle);
    }));
    // `replaced(n, seen)` gives what head n says at each position in place of what it has seen there.
    const run = (tokens, replaced) => {
      let stream = tokens.map((token) => embed[token]);
      const heads = layers.flatMap(([w_q, w_k, w_v, w_o], l) => {
        const read = [w_q, w_k, w_v].map((w) => stream.map((x) => w.map((row) => dot(row, x))));
        const found = Array.from({ length: data.heads }, (_, h) => {
          const [query, key, value] = read.map((all) => all.map((one) => one.slice(h * part, (h + 1) * part)));
          const keys = turned(key);
          const weights = turned(query).map((one, t) =>
            softmax(keys.slice(0, t + 1).map((other) => dot(one, other) / Math.sqrt(part))));
          const seen = weights.map((row) => value[0].map((_, i) => row.reduce((sum, w, t) => sum + w * value[t][i], 0)));
          return { weights, seen: replaced(l * data.heads + h, seen) };
        });
        stream = stream.map((x, t) => {
          const all = found.flatMap(({ seen }) => seen[t]);
          return x.map((number, i) => number + dot(w_o[i], all));
        });
        return found;
      });
      const last = stream[stream.length - 1];
      const size = Math.sqrt(dot(last, last) / data.width + 1e-6);
      return { heads, p: softmax(unembed.map((row) => dot(row, last) / size)) };
    };
    const asItIs = (_, seen) => seen;

    const texts = ["text", "other text"].map((label, k) => {
      const input = make("input", { type: "text", maxlength: data.positions, spellcheck: "false", autocapitalize: "none", autocomplete: "off", oninput: () => show() });
      input.value = data.texts[k];
      return { input, node: control(label, input) };
    });
    const tokensOf = ({ input }) => Array.from(input.value, (letter) => data.signs.indexOf(letter)).filter((token) => token >= 0);
    const chosen = names.map(() => 0);
    const cards = names.map((name, n) => {
      const map = draw("svg", { role: "img", class: "map", "data-tint": "weights" });
      const most = make("span");
      const kind = choice(name, KINDS, (k) => { chosen[n] = k; show(); });
      return { map, most, select: kind.querySelector("select"), node: make("div", {}, kind, map, most) };
    });
    const together = layers.map((_, l) => {
      const own = (list) => list.slice(l * data.heads, (l + 1) * data.heads);
      const node = choice(`layer ${l}, all heads`, [...KINDS, "various"], (k) => {
        if (k < KINDS.length) chosen.fill(k, l * data.heads, (l + 1) * data.heads);
        show();
      });
      return { own, node, select: node.querySelector("select") };
    });
    const bars = Array.from({ length: SHOWN }, () => make("div", { class: "bar" }));
    const says = saying();

    const show = () => {
      const [tokens, others] = texts.map(tokensOf);
      if (!tokens.length) return;
      const letter = (token) => data.signs[token];
      const plain = run(tokens, asItIs);
      const other = run(others.length ? others : tokens, asItIs).heads;
      // beyond the end of a shorter text there is nothing to take
      const found = run(tokens, (n, seen) => seen.map((own, t) =>
        [own, own.map(() => 0), means[n][t], other[n].seen[t] || own][chosen[n]]));
      found.heads.forEach(({ weights }, n) => {
        const { map, most, select } = cards[n];
        const T = tokens.length;
        const cells = weights.flatMap((row, t) => row.map((w, s) => {
          if (w < FAINT) return null;
          const cell = draw("rect", { x: s, y: t, width: 1, height: 1, "data-value": w });
          cell.style.opacity = w.toFixed(3);
          return cell;
        })).filter(Boolean);
        map.setAttribute("viewBox", `0 0 ${T} ${T}`);
        map.replaceChildren(...cells, draw("line", { x2: T, y1: T - 1, y2: T - 1 }));
        const last = weights[T - 1];
        const s = largest(last);
        most.textContent = `${letter(tokens[s])} ${text(last[s])}`;
        most.dataset.value = last[s];
        map.setAttribute("aria-label", `Weights of ${names[n]}, a row for each letter. The last letter looks most at ${letter(tokens[s])}, place ${s}.`);
        select.selectedIndex = chosen[n];
      });
      together.forEach(({ own, select }) => {
        const kinds = own(chosen);
        select.selectedIndex = kinds.every((k) => k === kinds[0]) ? kinds[0] : KINDS.length;
      });
      const likely = found.p.map((_, v) => v).sort((u, v) => found.p[v] - found.p[u]).slice(0, SHOWN);
      const before = largest(plain.p);
      likely.forEach((v, k) => {
        bars[k].textContent = `${letter(v)} ${text(found.p[v])}`;
        bars[k].dataset.value = found.p[v];
        bars[k].style.setProperty("--share", found.p[v].toFixed(3));
        bars[k].classList.toggle("chosen", v === before);
      });
      says.textContent = `After ${letter(tokens[tokens.length - 1])} the network writes ${letter(likely[0])}. With all heads as they are, it writes ${letter(before)}.`;
    };
    show();
    return [
      ...texts.map(({ node }) => node),
      make("p", { class: "label" }, "next letter"),
      make("div", { "data-tint": "output" }, ...bars),
      says,
      ...together.flatMap(({ own, node }) => [node, make("div", { class: "maps" }, ...own(cards).map((card) => card.node))]),
    ];
  });
})();
