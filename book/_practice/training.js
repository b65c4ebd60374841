// A reader's answer that learns: its curve beside that of a correct one, what the checks' name for it costs, and
// what the network then says. practice.js makes it below a task that has a game.
"use strict";

(() => {
  const [WIDTH, HEIGHT, LEFT, BOTTOM, TOP] = [300, 170, 44, 26, 22];
  const PLOTS = [
    { title: "accuracy", of: ([, , right]) => right, label: (top) => `${Math.round(100 * top)}%` },
    { title: "loss", of: ([, loss]) => loss, label: (top) => top.toFixed(1) },
  ];

  function element(name, className, ...children) {
    const made = document.createElement(name);
    if (className) made.className = className;
    made.append(...children);
    return made;
  }

  function drawn(name, attributes, text = "") {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.textContent = text;
    return made;
  }

  // One plot: {node, draw(points)}. correct: all points of the curve that is there from the start.
  function plot({ title, of, label }, correct) {
    const steps = correct.at(-1)[0];
    const top = title === "accuracy" ? 1 : Math.max(...correct.map(of));
    const x = (step) => LEFT + ((WIDTH - LEFT - 8) * step) / steps;
    const y = (value) => HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * Math.min(value / top, 1);
    const line = (points) =>
      points
        .filter((point) => of(point) !== null)
        .map((point, n) => `${n ? "L" : "M"}${x(point[0]).toFixed(1)} ${y(of(point)).toFixed(1)}`)
        .join("");
    const svg = drawn("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, width: WIDTH, "aria-hidden": "true" });
    const yours = drawn("path", { class: "yours" });
    svg.append(
      drawn("path", { class: "axes", d: `M${LEFT} ${TOP}V${HEIGHT - BOTTOM}H${WIDTH - 8}` }),
      drawn("text", { x: LEFT, y: 14 }, title),
      drawn("text", { x: LEFT - 6, y: TOP + 5, class: "end" }, label(top)),
      drawn("text", { x: LEFT - 6, y: HEIGHT - BOTTOM + 4, class: "end" }, "0"),
      drawn("text", { x: WIDTH - 8, y: HEIGHT - 6, class: "end" }, `${steps} steps`),
      yours,
      // on top, so that its dashes are seen where both are the same
      drawn("path", { class: "correct", d: line(correct) }),
    );
    return { node: svg, draw: (points) => yours.setAttribute("d", line(points)) };
  }

  // A training's plots, with the correct one's curve: {nodes, draw(points)}.
  self.makeCurves = (correct) => {
    const plots = PLOTS.map((one) => plot(one, correct));
    const legend = element("p", "task-legend");
    legend.append(element("span", "yours", "yours"), " ", element("span", "correct", "ours"));
    return {
      nodes: [legend, ...plots.map((one) => one.node)],
      draw: (points) => plots.forEach((one) => one.draw(points)),
    };
  };

  const percent = (share) => `${Math.round(100 * share)}%`;

  self.makeTraining = ({ block, panel, python, address }) => {
    const { exercise, task, train: name, version } = block.dataset;
    const place = element("div", "task-training");
    place.hidden = true;
    const start = element("button", "", "Train");
    start.type = "button";
    start.hidden = true;
    panel.presses.push(start);
    const curve = element("div", "task-curve");
    const told = element("p", "task-cost");
    told.setAttribute("role", "status");
    const asked = element("div", "task-asked");
    place.append(curve, told, asked);
    let code = "";
    let passed = false;
    let game = null;

    async function loaded() {
      if (!game) {
        const response = await fetch(new URL(`${name}.json?v=${version}`, address));
        if (!response.ok) throw new Error("The training can't be loaded. Is there a connection?");
        game = { name, ...(await response.json()) };
      }
      return game;
    }

    // what is said below the curves
    function meaning(points, used) {
      const [steps, loss, right] = points.at(-1);
      const [, ourLoss, ours] = game.curve.at(-1);
      const own = used.length > 1 ? ` It used your ${used.join(", ")}.` : "";
      // a loss that is no number is null
      const leaks = loss !== null && loss < ourLoss && right < ours - 0.05;
      const leak = leaks
        ? ` Its loss is even lower: ${loss.toFixed(2)}, and ours is ${ourLoss.toFixed(2)}. A loss can't see what is missing when the network writes.`
        : "";
      const seen =
        `${passed ? "Your code learned: " : ""}${percent(right)} of ${game.asked} are correct after ${steps} steps, ` +
        `compared with ${percent(ours)} for our code.${leak}${own}`;
      if (passed) return seen;
      const names = [...block.querySelectorAll(".task-named strong")].map((one) => one.textContent);
      const known = names.map((one) => game.costs[task]?.[one]).filter(Boolean);
      if (known.length) return `${seen} ${known[0]}`;
      return `${seen} One training at one learning rate doesn't tell what a mistake costs.`;
    }

    // a field for what the network is asked, after it has learned
    function asking() {
      const field = element("input", "");
      field.value = game.example;
      field.setAttribute("aria-label", game.question);
      const answer = element("p", "task-status");
      answer.setAttribute("role", "status");
      const form = element("form", "task-ask", element("label", "", game.question, " ", field));
      const ask = element("button", "", "Ask your network");
      form.append(ask, answer);
      form.addEventListener("submit", async (event) => {
        event.preventDefault();
        const done = await panel.working("Asking.", () => python().ask(name, field.value, panel));
        if (done) answer.textContent = done.answer;
      });
      return form;
    }

    start.addEventListener("click", async () => {
      const points = [];
      const done = await panel.working("Training.", async () => {
        await loaded();
        const curves = self.makeCurves(game.curve);
        curve.replaceChildren(...curves.nodes);
        told.textContent = "";
        asked.replaceChildren();
        const point = (found) => {
          points.push(found);
          curves.draw(points);
        };
        return python().train(exercise, { [task]: code }, game, { ...panel, point });
      });
      if (!done) return;
      if (done.error || done.lacking.length || done.check_lacks.length) {
        curve.replaceChildren();
        const lacks = [...done.lacking, ...done.check_lacks].join(", ");
        told.textContent = lacks
          ? `This needs ${lacks}, which isn't available in the page: it can't be trained here.`
          : `This can't be trained. ${done.error}`;
        return;
      }
      told.textContent = meaning(points, done.used);
      if (game.question) asked.append(asking());
    });

    return {
      start,
      nodes: [place],
      hide: () => {
        place.hidden = start.hidden = true;
      },
      // the code has changed since: what it has learned stays
      withdraw: () => {
        start.hidden = true;
      },
      offer: (now, right) => {
        [code, passed] = [now, right];
        place.hidden = start.hidden = false;
        curve.replaceChildren();
        asked.replaceChildren();
        told.textContent = "";
      },
    };
  };
})();
