// What all figures share: elements, labelled controls, tables of numbers. No framework, no module:
// a page opened from disk may load neither.
(() => {
  "use strict";
  if (window.figures) return;

  const fill = (node, attributes, children) => {
    for (const [name, value] of Object.entries(attributes)) {
      if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
      else if (value !== null && value !== false) node.setAttribute(name, value);
    }
    node.append(...children);
    return node;
  };
  const make = (tag, attributes = {}, ...children) =>
    fill(document.createElement(tag), attributes, children);
  const draw = (tag, attributes = {}, ...children) =>
    fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

  // A number as text, with a true minus and without a negative zero.
  const text = (number, digits = 2) => {
    const rounded = number.toFixed(digits);
    return (Number(rounded) === 0 ? rounded.replace("-", "") : rounded).replace("-", "−");
  };

  const softmax = (scores) => {
    const largest = Math.max(...scores);
    const powers = scores.map((score) => Math.exp(score - largest));
    const total = powers.reduce((sum, power) => sum + power, 0);
    return powers.map((power) => power / total);
  };
  const dot = (one, other) => one.reduce((sum, number, i) => sum + number * other[i], 0);
  const column = (matrix, j) => matrix.map((row) => row[j]);

  // Write a number into a cell: rounded to read, in full as `data-value`, and as strength of colour.
  const write = (cell, number, limit, digits = 2) => {
    cell.dataset.value = number;
    cell.textContent = text(number, digits);
    cell.style.setProperty("--share", Math.min(1, Math.abs(number) / limit).toFixed(3));
    cell.classList.toggle("negative", number < 0);
  };

  // An empty table with names for rows and columns; `cell(i, j)` makes the cells.
  const table = (title, rows, columns, tint, cell = () => make("td")) => {
    const cells = rows.map((_, i) => columns.map((_, j) => cell(i, j)));
    const head = make("tr", {}, make("td"), ...columns.map((name) => make("th", { scope: "col" }, name)));
    const body = rows.map((name, i) => make("tr", {}, make("th", { scope: "row" }, name), ...cells[i]));
    const caption = make("caption", {}, title);
    const node = make("table", { class: "cells", "data-tint": tint }, caption, make("thead", {}, head), make("tbody", {}, ...body));
    const set = (values, digits = 2, limit = null) => {
      const full = limit || Math.max(...values.flat().map(Math.abs)) || 1;
      values.forEach((row, i) => row.forEach((number, j) => write(cells[i][j], number, full, digits)));
    };
    return { node, cells, set };
  };

  // One stop for Tab in a grid of nodes; the arrow keys move within it.
  const arrows = (nodes) => nodes.forEach((line, i) => line.forEach((node, j) => {
    node.tabIndex = i || j ? -1 : 0;
    node.addEventListener("focus", () => nodes.flat().forEach((other) => { other.tabIndex = other === node ? 0 : -1; }));
    node.addEventListener("keydown", (event) => {
      const by = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
      if (!by) return;
      event.preventDefault();
      const next = (nodes[i + by[0]] || [])[j + by[1]];
      if (next) next.focus();
    });
  }));

  let counter = 0;
  const control = (label, input, ...after) => {
    input.id = `figure-control-${++counter}`;
    return make("div", { class: "control" }, make("label", { for: input.id }, label), input, ...after);
  };

  // A slider over 0, 1, ..., count - 1; `says(i)` is what it shows and tells at place i.
  const slider = (label, count, start, says, changed) => {
    const output = make("span", { class: "reading", "aria-hidden": "true" });
    const input = make("input", { type: "range", min: 0, max: count - 1, step: 1 });
    const show = () => {
      output.textContent = says(Number(input.value));
      input.setAttribute("aria-valuetext", output.textContent);
    };
    input.value = start;
    input.addEventListener("input", () => {
      show();
      changed(Number(input.value));
    });
    show();
    const set = (value) => {
      input.value = value;
      input.dispatchEvent(new Event("input"));
    };
    return { node: control(label, input, output), input, set };
  };

  // A slider with buttons beside it, for what happens step by step; `first` is where it stands at first.
  const PLAY_MS = 1200; // time to read a step
  const steps = (label, count, says, changed, first = 0) => {
    let timer = null;
    const at = () => Number(all.input.value);
    const last = () => Number(all.input.max);
    const all = slider(label, count, first, says, (i) => {
      if (i === last()) stop();
      able();
      changed(i);
    });
    const able = () => {
      back.disabled = at() === 0;
      next.disabled = at() === last();
    };
    const stop = () => {
      clearInterval(timer);
      timer = null;
      play.textContent = "Play";
    };
    const go = (by) => () => {
      stop();
      all.set(at() + by);
    };
    const back = button("Back", go(-1));
    const next = button("Next", go(1));
    const play = button("Play", () => {
      if (timer) {
        stop();
        return;
      }
      play.textContent = "Pause";
      timer = setInterval(() => all.set(at() + 1), PLAY_MS);
      if (at() === last()) all.set(0);
    });
    able();
    return { node: make("div", { class: "steps" }, play, back, next, all.node), input: all.input, set: all.set };
  };

  const choice = (label, options, changed) => {
    const input = make("select", { onchange: () => changed(input.selectedIndex) }, ...options.map((name) => make("option", {}, name)));
    return control(label, input);
  };
  const tick = (label, on, changed) => {
    const input = make("input", { type: "checkbox", onchange: () => changed(input.checked) });
    input.checked = on;
    const node = control(label, input);
    node.classList.add("tick");
    node.prepend(input);
    return { node, input };
  };
  const button = (label, pressed) => make("button", { type: "button", onclick: pressed }, label);
  const parts = (...children) => make("div", { class: "parts" }, ...children);
  const scroll = (label, ...children) =>
    make("div", { class: "scroll", role: "region", tabindex: 0, "aria-label": label }, ...children);
  const saying = () => make("p", { class: "says", "aria-live": "polite" });

  // Bring the figures of one kind to life. The static one stays if `build` fails, and for paper.
  const start = (kind, build) => {
    for (const figure of document.querySelectorAll(`figure[data-widget="${kind}"]:not(.alive)`)) {
      const data = JSON.parse(figure.querySelector('script[type="application/json"]').textContent);
      const nodes = build(data);
      const still = figure.querySelector(".still");
      still.after(make("div", { class: "live" }, ...nodes));
      still.hidden = true;
      figure.classList.add("alive");
    }
  };

  window.figures = { make, draw, text, softmax, dot, column, write, table, arrows, control, slider, steps, choice, tick, button, parts, scroll, saying, start };
})();
