// One translation with attention, five steps per word: state, scores, weights, context, word.
(() => {
  "use strict";
  const { make, draw, table, steps, scroll, text, saying, start } = window.figures;

  start("decoder", (data) => {
    const T = data.target.length;
    const kinds = ["state", "scores", "weights", "context", "word"];
    const words = data.target.map((word) => make("span", { class: "chip" }, word));
    const says = saying();

    // A vector as a strip of squares: the larger the number, the stronger the colour.
    const strip = (label, tint, count) => {
      const squares = Array.from({ length: count }, (_, i) => draw("rect", { x: 12 * i, y: 0, width: 11, height: 16 }));
      const picture = draw("svg", { viewBox: `0 0 ${12 * count} 16`, role: "img", "aria-label": label, "data-tint": tint, class: "strip" }, ...squares);
      const set = (numbers) => {
        const most = Math.max(...numbers.map(Math.abs)) || 1;
        numbers.forEach((number, i) => {
          squares[i].dataset.value = number;
          squares[i].style.opacity = (Math.abs(number) / most).toFixed(3);
          squares[i].classList.toggle("beyond", number < 0);
        });
      };
      return { node: make("div", {}, make("p", { class: "label" }, label), picture), set };
    };
    const row = (title, tint) => {
      const one = table(title, [title], data.source, tint);
      return { node: scroll(title, one.node), set: one.set };
    };
    const shown = {
      state: strip("state before the word, the query", "query", data.state[0].length),
      scores: row("score", "muted"),
      weights: row("weight", "weights"),
      context: strip("context, the weighted sum of the encoder's states", "output", data.context[0].length),
    };
    const order = (numbers) => numbers.map((_, i) => i).sort((i, j) => numbers[j] - numbers[i]);

    const sayings = {
      state: (t) => (t ? `The state after ${data.target[t - 1]} is the query.` : "The first state, which comes from the encoder, is the query."),
      scores: (t) => {
        const [first, second] = order(data.scores[t]);
        const lead = data.scores[t][first] - data.scores[t][second];
        return `The query is compared with every source word. ${data.source[first]} has the highest score, ${text(lead)} above ${data.source[second]}.`;
      },
      weights: (t) => {
        const most = order(data.weights[t]).slice(0, 2).map((i) => `${data.source[i]} ${text(data.weights[t][i])}`);
        return `The softmax turns the scores into weights: ${most.join(", ")}.`;
      },
      context: () => "The encoder's states, each times its weight, add up to the context.",
      word: (t) => {
        const likely = data.likely[t].map(([word, p]) => `${word} ${text(p)}`);
        return `The cell reads the word before and the context, and the readout gives probabilities: ${likely.join(", ")}.`;
      },
    };
    const show = (step) => {
      const t = Math.floor(step / kinds.length);
      const last = step % kinds.length;
      kinds.slice(0, -1).forEach((kind, k) => {
        if (kind === "weights") shown[kind].set([data.weights[t]], 2, 1);
        else shown[kind].set(kind === "scores" ? [data.scores[t]] : data[kind][t]);
        shown[kind].node.style.visibility = k <= last ? "visible" : "hidden";
      });
      words.forEach((node, i) => {
        node.classList.toggle("waits", i > t || (i === t && last < kinds.length - 1));
        node.classList.toggle("asks", i === t);
      });
      says.textContent = sayings[kinds[last]](t);
    };
    // where the decoder looks for the second word
    const first = T > 1 ? kinds.length + kinds.indexOf("weights") : 0;
    show(first);
    const all = table(data.title, data.target, data.source, "weights");
    all.set(data.weights, 2, 1);
    const count = kinds.length * T;
    return [
      steps("step", count, (i) => `${i + 1} of ${count}: ${kinds[i % kinds.length]}, word ${Math.floor(i / kinds.length) + 1}`, show, first).node,
      make("div", { class: "words" }, ...words),
      says,
      ...Object.values(shown).map(({ node }) => node),
      make("details", {}, make("summary", {}, "All weights"), scroll(data.title, all.node)),
    ];
  });
})();
