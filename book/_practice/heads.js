// The Transformer in one file with a reader's functions in it: weights to take or to train, a switch on every head,
// and a number to translate with the heads that are left. practice.js makes it where a page has its block.
"use strict";

(() => {
  const PARTS = ["Encoder, self-attention", "Decoder, self-attention", "Decoder, cross-attention"];
  const HEADS = 4;
  const LARGEST = 999_999;

  // Words, with a mark on each that isn't the correct one at its place.
  function compared(element, words, correct) {
    const right = correct.split(" ");
    const made = element("td");
    words.split(" ").forEach((word, n) => {
      made.append(n ? " " : "", word === right[n] ? word : element("mark", "", word || "(nothing)"));
    });
    return made;
  }

  // tools: {element, button, runPanel, cannotRun, note} of practice.js
  self.makeHeads = ({ block, python, address, tools }) => {
    const { element, button, runPanel, cannotRun, note } = tools;
    const { exercise, heads: name, number, version, megabytes } = block.dataset;
    const plain = (text) => [element("pre", "", text)];
    const panel = runPanel("Take the stored weights", version, () => take("Putting your functions in.", stored), plain);
    const learn = button("Train it here", () => take("Training.", trained));
    const curve = element("div", "task-curve");
    const told = element("p", "task-note");
    const field = element("input");
    Object.assign(field, { value: number, inputMode: "numeric", size: 7, autocomplete: "off" });
    const label = element("label", "", "Number ", field, " ");
    const form = element("form", "task-ask", label, element("button", "", "Translate"));
    const table = element("table", "task-case");
    const result = element("div", "", table);
    result.setAttribute("role", "status");
    const switches = PARTS.map((part) =>
      Array.from({ length: HEADS }, (_, n) => {
        const box = element("input");
        Object.assign(box, { type: "checkbox", checked: true });
        box.addEventListener("change", ask);
        return element("label", "", box, ` head ${n + 1}`);
      }),
    );
    const heads = switches.map((labels, n) =>
      element("fieldset", "task-heads", element("legend", "", PARTS[n]), ...labels),
    );
    const place = element("div", "", told, ...heads, form, result);
    place.hidden = true;

    async function file(path) {
      const response = await fetch(new URL(`${path}?v=${version}`, address));
      if (!response.ok) throw new Error("The Transformer can't be loaded. Is there a connection?");
      return response;
    }

    // each gives what shell.py says of the functions that it has put in, and what training has reached
    async function stored(game) {
      const bytes = new Uint8Array(await (await file("heads.f16")).arrayBuffer());
      const done = await python().train(exercise, {}, { ...game, name: "heads" }, panel);
      const weights = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
      if (!done.error) await python().ask("heads", { weights }, panel);
      return done;
    }

    async function trained(game) {
      const points = [];
      const curves = self.makeCurves(game.curve);
      curve.replaceChildren(...curves.nodes);
      const point = (found) => {
        points.push(found);
        curves.draw(points);
      };
      const done = await python().train(exercise, {}, game, { ...panel, point });
      if (done.error) return done;
      const [steps, , right] = points.at(-1);
      return { ...done, after: `After ${steps} steps ${Math.round(100 * right)}% of ${game.asked} are correct. ` };
    }

    async function working(words, act) {
      learn.disabled = true;
      const done = await panel.working(words, act);
      learn.disabled = false;
      // one that was stopped has lost its weights
      place.hidden = !done || cannotRun(done, panel);
      return place.hidden ? null : done;
    }

    async function take(words, how) {
      panel.clear();
      curve.replaceChildren();
      place.hidden = true;
      result.hidden = true;
      let game = null;
      const done = await working(words, async () => {
        game = { name, ...(await (await file(`${name}.json`)).json()) };
        return how(game);
      });
      if (!done) return;
      const ours = Object.keys(game.homes).filter((one) => !done.used.includes(one));
      const own = done.used.length ? `Yours: ${done.used.join(", ")}.` : "You have passed none of its tasks here.";
      const rest = ours.length ? ` Ours: ${ours.join(", ")}.` : "";
      told.textContent = `${done.after ?? ""}${own}${rest} Untick a head to cut it.`;
      ask();
    }

    // while one number is being translated, only the last of further wishes counts
    let isAsking = false;
    let asksAgain = false;
    async function ask() {
      asksAgain = isAsking;
      if (isAsking) return;
      const asked = Number(field.value.replace(/[\s,.]/g, ""));
      if (!(Number.isInteger(asked) && asked > 0 && asked <= LARGEST)) {
        panel.tell(`Type a number from 1 to ${LARGEST} in figures.`);
        return;
      }
      isAsking = true;
      const boxes = switches.flat().map((label) => label.firstChild);
      const cut = boxes.flatMap((box, n) => (box.checked ? [] : [n]));
      const done = await working("Translating.", () => python().ask("heads", { number: asked, cut }, panel));
      isAsking = false;
      if (done) show(asked, cut.length, done.answer);
      if (asksAgain) ask();
    }

    function show(asked, count, answer) {
      if (typeof answer === "string") {
        panel.said(answer);
        return;
      }
      const { whole, without, correct } = answer;
      const cut = count ? { [count > 1 ? `${count} heads cut` : "1 head cut"]: without } : {};
      const rows = { "all heads": whole, ...cut, correct };
      table.replaceChildren(element("caption", "", `${asked}`));
      for (const [title, words] of Object.entries(rows)) {
        const head = element("th", "", title);
        head.scope = "row";
        table.append(element("tr", "", head, compared(element, words, correct)));
      }
      result.hidden = false;
    }

    form.addEventListener("submit", (event) => {
      event.preventDefault();
      ask();
    });
    const buttons = element("div", "task-buttons", panel.start, learn, panel.stop);
    block.querySelector(".task-links").before(buttons, ...panel.nodes, curve, place, note("run", megabytes));
  };
})();
