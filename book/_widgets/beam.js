// Beam search, round by round: a tree of prefixes, of which the best few are kept.
(() => {
  "use strict";
  const { make, table, steps, choice, parts, scroll, text, saying, start } = window.figures;

  start("beam", (data) => {
    let beam = data.beams[data.start];
    let alpha = data.alphas[0];
    let search = null;
    const tree = make("div", { class: "tree" });
    const says = saying();
    const name = (prefix) => prefix.slice(1).map((token) => data.words[token]).join(" ");
    const score = (node) => node.log / ((5 + node.prefix.length - 1) / 6) ** alpha;

    // Every round: continue all open prefixes by every word, keep the best of all continuations.
    const run = () => {
      const root = { prefix: [data.bos], log: 0, children: [], state: "kept" };
      const rounds = [];
      let open = [root];
      let best = null;
      while (open.length) {
        const grown = open.flatMap((node) => {
          node.children = data.table[node.prefix[node.prefix.length - 1]].map((log, token) => ({ prefix: [...node.prefix, token], log: node.log + log, children: [] }));
          return node.children;
        });
        grown.sort((one, other) => other.log - one.log);
        rounds.push(grown);
        const kept = grown.slice(0, beam);
        grown.forEach((node) => { node.state = "dropped"; });
        for (const node of kept) {
          const done = node.prefix[node.prefix.length - 1] === data.eos || rounds.length === data.longest;
          node.state = done ? "finished" : "kept";
          if (done && (!best || score(node) > score(best))) best = node;
        }
        open = kept.filter(({ state }) => state === "kept");
      }
      return { root, rounds, best };
    };

    const list = (nodes, depth, round) => {
      const shown = nodes.filter(({ log, state }) => state !== "dropped" || log > Math.log(data.least));
      return make("ul", {}, ...shown.map((node) => {
        const number = make("small", { "data-value": Math.exp(node.log), "data-prefix": node.prefix.join(" ") }, text(Math.exp(node.log)));
        const best = round === search.rounds.length && node === search.best ? " best" : "";
        const item = make("li", {}, make("span", { class: `node ${node.state}${best}` }, data.words[node.prefix[depth]], " ", number, " ", make("em", {}, best ? "best" : node.state)));
        if (node.children.length && depth < round) item.append(list(node.children, depth + 1, round));
        return item;
      }));
    };
    const show = (round) => {
      tree.replaceChildren(make("span", { class: "node kept" }, data.words[data.bos]));
      if (round) tree.append(list(search.root.children, 1, round));
      delete says.dataset.value;
      if (!round) {
        says.textContent = "One prefix, with nothing in it.";
        return;
      }
      const kept = search.rounds[round - 1].slice(0, beam).map((node) => `${name(node.prefix)} (${text(Math.exp(node.log))})`);
      says.textContent = `Round ${round}: of ${search.rounds[round - 1].length} continuations these are kept: ${kept.join(", ")}.`;
      if (round === search.rounds.length) {
        says.append(` Nothing is open. Found: ${name(search.best.prefix)}, score ${text(score(search.best), 3)}.`);
        says.dataset.value = score(search.best);
      }
    };
    const rounds = steps("round", 2, String, show);
    const again = (at) => {
      search = run();
      rounds.input.max = search.rounds.length;
      rounds.set(Math.min(at, search.rounds.length));
    };
    again(Infinity); // what has been found
    const width = choice("kept in each round", data.beams.map(String), (i) => { beam = data.beams[i]; again(rounds.input.valueAsNumber); });
    width.querySelector("select").selectedIndex = data.start;
    const power = choice("α", data.alphas.map(String), (i) => { alpha = data.alphas[i]; again(rounds.input.valueAsNumber); });
    const shown = table(data.title, data.words, data.words, "weights");
    shown.set(data.table.map((line) => line.map(Math.exp)), 2, 1);
    return [
      parts(width, power), rounds.node, tree, says,
      make("details", {}, make("summary", {}, "The model"), scroll(data.title, shown.node)),
    ];
  });
})();
