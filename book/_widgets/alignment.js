// Alignment viewer: point at a word, or move to it with Tab, and see its weights.
(() => {
  "use strict";
  const { make, write, text, column, table, choice, scroll, saying, start } = window.figures;

  start("alignment", (data) => {
    let example = 0;
    let head = 0;
    let chosen = null; // {side, at}
    let buttons = {};
    const rows = { source: make("div", { class: "words" }), target: make("div", { class: "words" }) };
    const says = saying();
    const all = make("div");

    const word = (side, name, at) => {
      const choose = () => {
        chosen = { side, at };
        show();
      };
      const number = make("small", { "aria-hidden": "true" });
      const node = make("button", { type: "button", "data-tint": "weights", onclick: choose, onfocus: choose, onpointerenter: choose }, name, number);
      return { node, number };
    };
    const weights = () => data.examples[example].weights[head];
    // Where a target word looks is a row; who looks at a source word is a column.
    const show = () => {
      const here = data.examples[example];
      const row = chosen.side === "target";
      const numbers = row ? weights()[chosen.at] : column(weights(), chosen.at);
      const other = row ? "source" : "target";
      buttons[chosen.side].forEach(({ node, number }, i) => {
        number.textContent = "";
        delete number.dataset.value;
        node.style.setProperty("--share", 0);
        node.setAttribute("aria-pressed", String(i === chosen.at));
      });
      buttons[other].forEach(({ node, number }, i) => {
        write(number, numbers[i], 1);
        node.style.setProperty("--share", numbers[i].toFixed(3));
        node.setAttribute("aria-pressed", "false");
      });
      const order = numbers.map((_, i) => i).sort((i, j) => numbers[j] - numbers[i]);
      const most = order.slice(0, 3).map((i) => `${here[other][i]} ${text(numbers[i])}`);
      const name = here[chosen.side][chosen.at];
      says.textContent = row
        ? `Before writing ${name} it looks at: ${most.join(", ")}.`
        : `Who looks at ${name}: ${most.join(", ")}.`;
    };
    const change = () => {
      const here = data.examples[example];
      buttons = {};
      for (const side of ["source", "target"]) {
        buttons[side] = here[side].map((name, at) => word(side, name, at));
        rows[side].replaceChildren(...buttons[side].map(({ node }) => node));
      }
      const shown = table(data.title, here.target, here.source, "weights");
      shown.set(weights(), 2, 1);
      all.replaceChildren(scroll(data.title, shown.node));
      chosen = { side: "target", at: Math.min(chosen ? chosen.at : 0, here.target.length - 1) };
      show();
    };
    change();
    const choices = [];
    if (data.examples.length > 1) {
      choices.push(choice("number", data.examples.map(({ name }) => name), (i) => { example = i; chosen = null; change(); }));
    }
    if (data.heads.length > 1) choices.push(choice("head", data.heads, (i) => { head = i; change(); }));
    return [
      make("div", { class: "controls" }, ...choices),
      make("p", { class: "label" }, "source"), rows.source,
      make("p", { class: "label" }, "target"), rows.target,
      says,
      make("details", {}, make("summary", {}, "All weights"), all),
    ];
  });
})();
