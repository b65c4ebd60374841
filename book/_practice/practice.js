// Tasks that are solved in the page: an editor, the notebook's own checks, and what a reader has written.
// Nothing of Python is loaded before somebody presses Check, nothing of the editor before one is focused.
"use strict";

(() => {
  const HERE = new URL(".", document.currentScript.src);
  const TIME_LIMIT_MS = 20_000;
  // from one point of a curve to the next
  const TRAINING_LIMIT_MS = 60_000;
  const NAMED = "This looks like a known mistake: ";
  const CASE_NAMES = { check: "checks that it", code: "computed", yours: "yours", expected: "correct" };
  const TOKENS = new RegExp(
    [
      "(?<string>\"\"\"[^]*?(?:\"\"\"|$)|\"[^\"\\n]*\"?|'[^'\\n]*'?)",
      "(?<comment>#.*)",
      "\\b(?<number>\\d[\\w.]*)",
      "\\b(?<keyword>and|as|assert|break|class|continue|def|del|elif|else|except|False|finally|for|from|global|if|" +
        "import|in|is|lambda|None|nonlocal|not|or|pass|raise|return|True|try|while|with|yield)\\b",
    ].join("|"),
    "g",
  );
  const STORED = "attention-from-scratch/practice/1/";
  const endless = (limit) =>
    `Stopped after ${limit / 1000} seconds. Is there a loop in your code that never ends? ` +
    "Your code is still there.";

  const STOPPED =
    "Python has stopped, perhaps because your code calls itself without end or needs more memory than " +
    "a page has. The next check starts it again.";

  // What a reader has written for a task: {code, passed, right}; passed is the version of the checks that
  // the code `right` has passed.
  const store = {
    key: (exercise, task) => `${STORED}${exercise}/${task}`,
    read(exercise, task) {
      try {
        return JSON.parse(localStorage.getItem(store.key(exercise, task))) ?? {};
      } catch {
        return {};
      }
    },
    write(exercise, task, change) {
      const held = { ...store.read(exercise, task), ...change };
      try {
        localStorage.setItem(store.key(exercise, task), JSON.stringify(held));
      } catch {
        // a browser that keeps nothing: the task can be done all the same
      }
    },
  };

  function element(name, className, ...children) {
    const made = document.createElement(name);
    if (className) made.className = className;
    made.append(...children);
    return made;
  }

  function button(text, pressed) {
    const made = element("button", "", text);
    made.type = "button";
    made.addEventListener("click", pressed);
    return made;
  }

  // The Python of this page: none until it is asked for the first time, and after it has been ended.
  class Python {
    #worker = null;
    #exercises = new Map();
    #version;
    #end = null;

    constructor(version) {
      this.#version = `?v=${version}`;
    }

    address(name) {
      return new URL(name + this.#version, HERE);
    }

    // Run a program after shell.py. told: {said, loading, drawn, told, stepped, point}, which take what is printed,
    // (bytes, total), {words, weights}, the rows of a case and of its steps, and [step, loss, right]. Rejects with a sentence when it is ended
    // before it is done.
    #run(program, told, milliseconds = TIME_LIMIT_MS) {
      this.#worker ??= new Worker(this.address("worker.js"));
      const worker = this.#worker;
      return new Promise((resolve, reject) => {
        let limit = 0;
        const settle = () => {
          clearTimeout(limit);
          this.#end = null;
        };
        this.#end = (words) => {
          settle();
          worker.terminate();
          this.#worker = null;
          this.#exercises.clear();
          reject(new Error(words));
        };
        worker.onerror = () => this.#end("Python can't be started in this browser. Open the notebook.");
        worker.onmessage = ({ data }) => {
          if (data.total) told.loading(data.bytes, data.total);
          if (data.started || data.point) {
            clearTimeout(limit);
            limit = setTimeout(() => this.#end(endless(milliseconds)), milliseconds);
          }
          if (data.out !== undefined) told.said(data.out);
          if (data.map) told.drawn(data.map);
          if (data.case) told.told(data.case);
          if (data.steps) told.stepped(data.steps);
          if (data.point) told.point(data.point);
          if (data.broken) {
            console.warn(data.broken);
            this.#end(STOPPED);
          }
          if (data.done) {
            settle();
            resolve(data.done);
          }
        };
        worker.postMessage({ program });
      });
    }

    // Call a function of shell.py with data.
    #call(name, given, told, milliseconds) {
      const data = JSON.stringify(JSON.stringify(given));
      return this.#run(`${name}(*json.loads(${data}))`, told, milliseconds);
    }

    // What the page knows of an exercise, loaded once.
    async #exercise(name, told) {
      if (!this.#exercises.has(name)) {
        const silent = { ...told, said() {} };
        const response = await fetch(this.address(`tasks/${name}.json`));
        if (!response.ok) throw new Error("The checks can't be loaded. Is there a connection?");
        const exercise = await response.json();
        if (!this.#exercises.size) {
          await this.#call("start", [exercise.names], silent);
        }
        await this.#call("load", [name, exercise.notebook, exercise.standIn], silent);
        this.#exercises.set(name, exercise);
      }
      return this.#exercises.get(name);
    }

    // What has been written for the tasks that an exercise has, or as it's handed out; of tasks of other exercises
    // what has passed. For the rest the exercise has the course's own.
    static #written(name, exercise) {
      const found = {};
      for (const [task, [home, stub]] of Object.entries(exercise.answers)) {
        const { code, right } = store.read(home, task);
        const answer = home === name ? (code ?? stub) : right;
        if (answer) found[task] = answer;
      }
      return found;
    }

    async check(name, task, code, told) {
      const exercise = await this.#exercise(name, told);
      const answers = Python.#written(name, exercise);
      told.readings = exercise.readings;
      return this.#call("check", [name, task, { ...answers, [task]: code }], told);
    }

    async runCell(name, code, told) {
      const answers = Python.#written(name, await this.#exercise(name, told));
      return this.#call("run_cell", [name, code, answers], told);
    }

    // Let answers learn a game, with what a reader has passed of the others that it uses.
    async train(name, own, game, told) {
      await this.#exercise(name, told);
      const passed = Object.entries(game.homes).map(([other, home]) => [other, store.read(home, other).right]);
      const answers = Object.fromEntries(passed.filter(([, right]) => right));
      // they come from several notebooks, and use what these import
      const given = [name, game.name, game.sources, { imports: game.imports, ...answers, ...own }];
      return this.#call("train", given, told, TRAINING_LIMIT_MS);
    }

    ask(game, text, told) {
      return this.#call("ask", [game, text], told);
    }

    failingCase(name, ours, told) {
      return this.#call("failing_case", [name, ours], told);
    }

    stop(words) {
      this.#end?.(words);
    }
  }

  let python = null;
  let busy = false;

  // The editor's script, once for all tasks of a page.
  let editor = null;
  async function loadEditor(version) {
    const response = await fetch(new URL(`../codemirror/editor.js.gz?v=${version}`, HERE));
    if (!response.ok) throw new Error(`${response.status}`);
    const file = await response.blob();
    const [first, second] = new Uint8Array(await file.slice(0, 2).arrayBuffer());
    // some servers say that it is compressed, and then the browser has unpacked it
    const isPacked = first === 0x1f && second === 0x8b;
    const text = isPacked ? file.stream().pipeThrough(new DecompressionStream("gzip")) : file.stream();
    const address = URL.createObjectURL(
      new Blob([await new Response(text).text()], { type: "text/javascript" }),
    );
    const script = element("script");
    script.src = address;
    await new Promise((resolve, reject) => {
      Object.assign(script, { onload: resolve, onerror: reject });
      document.head.append(script);
    });
    URL.revokeObjectURL(address);
  }

  // Words of the checks: code between backticks, and what is to be read again as a link. readings: addresses by
  // the words for them.
  function worded(name, className, text, readings) {
    const made = element(name, className);
    const place = Object.keys(readings).find((words) => text.includes(`Read again: ${words}`));
    const [before, after] = place ? text.split(place) : [text, ""];
    before.split("`").forEach((part, n) => made.append(n % 2 ? element("code", "", part) : part));
    if (place) {
      const link = element("a", "", place);
      link.href = readings[place];
      made.append(link, after);
    }
    return made;
  }

  // What the checks print, as a panel: which mistakes it shows, each with its hint, then the rest in its order,
  // a list of lines that are right or wrong with what is said of each.
  function verdict(text, readings) {
    const named = [];
    const rest = [];
    let line = null;
    let mistake = null;
    for (const printed of text.split("\n").filter((one) => one.trim())) {
      const told = printed.replace(/^\x1f/, "").replace(/^([✓✗○]) \S+ points +/, "$1 ");
      const words = told.trim().replace(/that the checks `\w+` show, /, "");
      if (/^[✓✗○] /.test(told)) {
        line = element("li", { "✓": "right", "✗": "wrong", "○": "waits" }[told[0]]);
        line.append(element("span", "task-mark", words[0]), worded("span", "", words.slice(1), readings));
        if (rest.at(-1)?.tagName !== "UL") rest.push(element("ul", "task-lines"));
        rest.at(-1).append(line);
        mistake = null;
      } else if (line && words.startsWith(NAMED)) {
        const [name, ...means] = words.slice(NAMED.length).split(". ");
        if (/^The checks `\w+` explain it\.$/.test(means.join(". "))) continue;
        mistake = element("div", "task-named");
        const title = element("p", "", NAMED, element("strong", "", name), ".");
        mistake.append(title, worded("p", "", means.join(". "), readings));
        named.push(mistake);
      } else if (/^ {4}/.test(told) && line) {
        (mistake ?? line).append(worded("p", "", words, readings));
      } else {
        rest.push(worded("p", "", words, readings));
      }
    }
    return [...named, ...rest];
  }

  // A case as a table: the inputs, what is right, and what the reader's code gives.
  function caseTable(rows) {
    const table = element("table", "task-case", element("caption", "", "A failing case"));
    for (const [name, value] of rows) {
      const head = element("th", "", CASE_NAMES[name] ?? name);
      head.scope = "row";
      table.append(element("tr", "", head, element("td", "", element("pre", "", value))));
    }
    return table;
  }

  // What the lines of a reader's code give to names on that case, beside ours of the same names.
  function stepTable(rows) {
    const table = element("table", "task-case", element("caption", "", "Step by step, at the first run of each line"));
    const head = ["your line", "name", "yours", "ours"].map((words) => element("th", "", words));
    head.forEach((one) => (one.scope = "col"));
    table.append(element("tr", "", ...head));
    let before = "";
    for (const [line, name, yours, ours] of rows) {
      const said = line === before ? "" : line;
      const cells = [element("code", "", said), element("code", "", name), yours, ours];
      table.append(element("tr", "", ...cells.map((one) => element("td", "", one))));
      before = line;
    }
    return table;
  }

  // Colours for Python in a plain field.
  function coloured(code) {
    const made = document.createDocumentFragment();
    let end = 0;
    for (const found of code.matchAll(TOKENS)) {
      const kind = Object.keys(found.groups).find((name) => found.groups[name] !== undefined);
      made.append(code.slice(end, found.index), element("span", `tok-${kind}`, found[0]));
      end = found.index + found[0].length;
    }
    made.append(`${code.slice(end)}\n`);
    return made;
  }

  // The notebook of a task's exercise with all that has been written for it in pages.
  async function download(link, exercise) {
    const notebook = await (await fetch(link.href)).json();
    for (const cell of notebook.cells) {
      const own = cell.metadata.nbgrader;
      const code = own?.solution && cell.cell_type === "code" && store.read(exercise, own.grade_id).code;
      if (code) cell.source = code;
    }
    const file = new Blob([JSON.stringify(notebook, null, 1)], { type: "application/x-ipynb+json" });
    const saved = element("a");
    saved.href = URL.createObjectURL(file);
    saved.download = `${exercise}.ipynb`;
    saved.click();
    setTimeout(() => URL.revokeObjectURL(saved.href), 1000);
  }

  function stateOf(exercise, task, checks) {
    const { code, passed, right } = store.read(exercise, task);
    if (passed && right !== undefined && code !== right) return "changed since it passed";
    if (passed === checks) return "✓ passed";
    if (passed) return "passed, with earlier checks";
    return code ? "begun" : "";
  }

  // A field for code: plain at first, an editor from the first focus on. name: unique on the page.
  // Returns {nodes, text(), replace(text)}.
  function codeField(name, label, text, version, changed, submitted) {
    const field = element("textarea", "task-field");
    Object.assign(field, { spellcheck: false, autocapitalize: "off", autocomplete: "off" });
    field.setAttribute("aria-label", label);
    const keys = element("p", "task-keys", "Ctrl+Enter runs it. Escape, then Tab leaves the field.");
    keys.id = `task-keys-${name}`;
    field.setAttribute("aria-describedby", keys.id);
    field.value = text;
    // the text in colours lies below the field, whose own is transparent
    const below = element("pre", "task-colours");
    below.setAttribute("aria-hidden", "true");
    const colour = () => below.replaceChildren(coloured(field.value));
    colour();
    const box = element("div", "task-code-field", below, field);
    // the theme takes this key for a way to the search, unless a textarea has the focus
    box.addEventListener("keydown", (event) => event.key === "/" && event.stopPropagation());
    const made = {
      nodes: [box, keys],
      text: () => field.value,
      replace: (other) => {
        field.value = other;
        colour();
      },
    };
    field.addEventListener("input", () => {
      colour();
      changed(field.value);
    });
    field.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) submitted();
    });
    field.addEventListener(
      "focus",
      async () => {
        try {
          await (editor ??= loadEditor(version));
          Object.assign(made, self.makeEditor(field, changed, submitted));
          below.remove();
        } catch {
          editor = null; // the plain field does, too
        }
      },
      { once: true },
    );
    return made;
  }

  // The button Reset, and what it takes away: changed is called with the code that then stands there.
  function resetButton(field, first, changed) {
    let undone = null;
    const reset = button("Reset", () => {
      const now = field.text();
      const then = undone ?? first;
      field.replace(then);
      undone = undone === null && now !== first ? now : null;
      changed(then);
      reset.textContent = undone === null ? "Reset" : "Bring my code back";
    });
    // to be told of what is typed
    reset.typed = (now) => {
      if (undone !== null && now !== first) {
        undone = null;
        reset.textContent = "Reset";
      }
    };
    return reset;
  }

  // What stands below a field: the button that runs it, what Python is doing, and what it says.
  // shown: nodes for what Python prints and for addresses by the words that are links.
  function runPanel(label, version, press, shown) {
    const start = button(label, press);
    start.classList.add("task-check");
    const stop = button("Stop", () => python.stop("Stopped."));
    stop.hidden = true;
    const status = element("p", "task-status");
    status.setAttribute("role", "status");
    const progress = element("progress");
    progress.setAttribute("aria-label", "Loading Python");
    progress.hidden = true;
    const output = element("div", "task-output");
    output.hidden = true;
    const drawing = element("div", "task-drawing");
    let text = "";
    const panel = {
      start,
      stop,
      // what can't be pressed while Python is at work
      presses: [start],
      nodes: [progress, status, output, drawing],
      readings: {},
      tell: (words) => (status.textContent = words),
      mark: (passed) => (output.className = `task-output ${passed ? "passed" : "failed"}`),
      clear() {
        text = "";
        output.hidden = true;
        output.className = "task-output";
        drawing.replaceChildren();
      },
      said(more) {
        text += more;
        output.hidden = !text.trim();
        output.replaceChildren(...shown(text.trimEnd(), panel.readings));
      },
      drawn: (map) => drawing.append(drawMap(map)),
      told: (rows) => drawing.replaceChildren(caseTable(rows)),
      stepped: (rows) => rows.length && drawing.append(stepTable(rows)),
      loading(bytes, total) {
        progress.hidden = bytes >= total;
        progress.max = total;
        progress.value = bytes;
        const [now, all] = [bytes, total].map((count) => (count / 1e6).toFixed(1));
        status.textContent =
          bytes < total ? `Loading Python: ${now} of ${all} MB.` : "Starting Python and NumPy.";
      },
      // Do something with Python; one thing at a time on a page.
      async working(words, act) {
        if (busy) {
          status.textContent = "Python is at work elsewhere on this page. Wait for it, or stop it there.";
          return null;
        }
        busy = true;
        python ??= new Python(version);
        let pressed = panel.presses.find((one) => one === document.activeElement);
        panel.presses.forEach((one) => (one.disabled = true));
        stop.hidden = false;
        status.textContent = words;
        try {
          const done = await act();
          status.textContent = "";
          document.querySelectorAll(".task-first").forEach((words) => words.remove());
          return done;
        } catch (error) {
          status.textContent = error.message;
          return null;
        } finally {
          busy = false;
          if (document.activeElement === stop) pressed ??= start;
          panel.presses.forEach((one) => (one.disabled = false));
          stop.hidden = true;
          progress.hidden = true;
          pressed?.focus();
        }
      },
    };
    return panel;
  }

  // Says what the page's Python lacks, or what is wrong with code that can't be run; returns whether it did.
  function cannotRun(done, panel) {
    if (done.lacking.length) {
      panel.clear();
      panel.tell(
        `Your code uses ${done.lacking.join(", ")}, which isn't available in the page. Is that its right ` +
          "name? Then write it in another way, or download the notebook with your answers and check it there.",
      );
    } else if (done.check_lacks.length) {
      panel.clear();
      panel.tell(
        `This check needs ${done.check_lacks.join(", ")}, which isn't available in the page. Download the ` +
          "notebook with your answers and check it there.",
      );
    } else if (done.error) {
      panel.said(done.error);
      panel.tell("This ended with an error of Python.");
    }
    return Boolean(done.lacking.length || done.check_lacks.length || done.error);
  }

  // Weights as a map: a row for each word that looks, a column for each that is looked at.
  function drawMap({ words, weights }) {
    const [cell, letter, gap] = [56, 9, 8];
    const [title, top] = [24, 52];
    const left = title + letter * Math.max(...words.map((word) => word.length)) + gap;
    // few words leave less room than the titles of the axes need
    const room = Math.max(cell * words.length, 220);
    const [width, height] = [left + room, top + room];
    const node = (name, attributes, text = "") => {
      const made = document.createElementNS("http://www.w3.org/2000/svg", name);
      for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
      made.textContent = text;
      return made;
    };
    const number = (weight) => (weight === null ? "NaN" : weight.toFixed(2));
    const rows = words.map((word, row) => `${word}: ${weights[row].map(number).join(", ")}`);
    const svg = node("svg", {
      viewBox: `-1 -1 ${width + 2} ${height + 2}`,
      width,
      role: "img",
      "aria-label": `Weights of each word, over ${words.join(", ")}. ${rows.join(". ")}.`,
    });
    const turned = `translate(${title / 2} ${top + room / 2}) rotate(-90)`;
    svg.append(
      node("text", { transform: turned, class: "axis" }, "query (the word that looks)"),
      node("text", { x: left + room / 2, y: title / 2, class: "axis" }, "key (the word looked at)"),
    );
    words.forEach((word, row) => {
      const middle = top + cell * (row + 0.5);
      svg.append(
        node("text", { x: left + cell * (row + 0.5), y: top - 12, class: "column" }, word),
        node("text", { x: left - gap, y: middle, class: "row" }, word),
      );
      weights[row].forEach((weight, column) => {
        const [x, y] = [left + cell * column, top + cell * row];
        const shade = Math.min(Math.max(weight ?? 0, 0), 1);
        svg.append(
          node("rect", { x, y, width: cell, height: cell, "fill-opacity": (0.6 * shade).toFixed(3) }),
          node("text", { x: x + cell / 2, y: middle, class: "weight" }, number(weight)),
        );
      });
    });
    const caption = "Drawn by your function. Each row says where this word looks.";
    return element("figure", "task-map", svg, element("figcaption", "", caption));
  }

  function note(kind, megabytes) {
    const first = `The first ${kind} loads Python, ${megabytes} MB; it runs in your browser. `;
    const stays = "What you write stays in this browser.";
    return element("p", "task-note", element("span", "task-first", first), stays);
  }

  function serve(block) {
    const { exercise, task, checks, version, megabytes } = block.dataset;
    const code = block.querySelector(".task-code");
    const stub = code.querySelector("pre").textContent.trimEnd() + "\n";
    const link = block.querySelector(".task-links a");
    const way = block.querySelector("details.reference-code");
    const state = block.querySelector(".task-state");
    const written = store.read(exercise, task).code ?? stub;
    const field = codeField(task, `Your code for ${task}`, written, version, typed, run);
    const panel = runPanel("Check", version, run, verdict);
    const reset = resetButton(field, stub, changed);

    let hints = [];
    const more = element("div", "task-buttons");
    const hint = button("Hint", () => {
      panel.said(`\n${hints.shift()}\n`);
      hint.hidden = !hints.length;
    });
    const smallest = button("Show a failing case", async () => {
      await panel.working("Looking for small inputs.", () => {
        const ours = way?.querySelector("pre").textContent ?? "";
        return python.failingCase(exercise, ours, panel);
      });
      smallest.hidden = true;
      more.hidden = hint.hidden;
      panel.tell("Not yet correct.");
      panel.start.focus();
    });
    more.append(hint, smallest);
    more.hidden = true;
    const training = block.dataset.train
      ? self.makeTraining({ block, panel, python: () => python, address: new URL("training/", HERE) })
      : null;

    function mark() {
      state.textContent = stateOf(exercise, task, checks);
      state.classList.toggle("passed", state.textContent.startsWith("✓"));
      if (way) way.hidden = !state.textContent.includes("passed");
    }

    // the code that the words below the field are about
    let told = null;

    function changed(now) {
      if (told !== null && now !== told) {
        panel.tell("Your code has changed since this check.");
        told = null;
        training?.withdraw();
      }
      const untouched = now === stub && store.read(exercise, task).code === undefined;
      if (!untouched) store.write(exercise, task, { code: now });
      mark();
    }

    function typed(now) {
      changed(now);
      reset.typed(now);
    }

    async function run() {
      const now = field.text();
      const done = await panel.working("Checking.", () => {
        panel.clear();
        more.hidden = true;
        training?.hide();
        told = null;
        return python.check(exercise, task, now, panel);
      });
      if (!done) return;
      if (!cannotRun(done, panel)) judge(done, now);
      told = now;
      changed(field.text());
    }

    function judge(done, code) {
      if (done.passed) store.write(exercise, task, { passed: checks, right: code });
      panel.tell(done.passed ? "All checks pass." : "Not yet correct.");
      panel.mark(done.passed);
      hints = done.hints ?? [];
      hint.hidden = !hints.length;
      smallest.hidden = done.passed || !done.begun;
      more.hidden = hint.hidden && smallest.hidden;
      if (done.begun) training?.offer(code, done.passed);
      mark();
      refresh();
    }

    const starts = training ? [panel.start, training.start] : [panel.start];
    const buttons = element("div", "task-buttons", ...starts, panel.stop, reset);
    addEventListener("storage", ({ key }) => {
      const other = store.read(exercise, task).code;
      if (key !== store.key(exercise, task) || other === undefined || other === field.text()) return;
      panel.tell(
        "This task has been changed in another tab. Reload the page to go on from there; what you type here " +
          "takes its place.",
      );
    });
    const save = button("Download the notebook with my answers", () => download(link, exercise));
    save.classList.add("task-save");
    code.hidden = true;
    code.after(...field.nodes, buttons, ...panel.nodes, more, ...(training?.nodes ?? []), note("check", megabytes));
    link.parentElement.append(" · ", save);
    mark();
  }

  // A cell that runs with the answers that a reader has passed. needs: "exercise/task exercise/task".
  function serveCell(block) {
    const { exercise, cell, needs, version, megabytes } = block.dataset;
    const code = block.querySelector(".task-code");
    const first = code.querySelector("pre").textContent.trimEnd() + "\n";
    const written = store.read(exercise, cell).code ?? first;
    const field = codeField(cell, "Code that uses your functions", written, version, typed, run);
    const panel = runPanel("Run", version, run, (text) => [element("pre", "", text)]);
    const reset = resetButton(field, first, changed);

    function changed(now) {
      store.write(exercise, cell, { code: now });
    }

    function typed(now) {
      changed(now);
      reset.typed(now);
    }

    async function run() {
      const missing = needs
        .split(" ")
        .map((need) => need.split("/"))
        .filter(([home, task]) => !store.read(home, task).passed)
        .map(([, task]) => task);
      if (missing.length) {
        const tasks = missing.length > 1 ? "these tasks" : "this task";
        panel.tell(`This uses ${missing.join(", ")}: pass ${tasks} first.`);
        return;
      }
      const now = field.text();
      const done = await panel.working("Running.", () => {
        panel.clear();
        return python.runCell(exercise, now, panel);
      });
      if (done) cannotRun(done, panel);
    }

    const buttons = element("div", "task-buttons", panel.start, panel.stop, reset);
    code.hidden = true;
    code.after(...field.nodes, buttons, ...panel.nodes, note("run", megabytes));
  }

  // The states in a list of tasks.
  function refresh() {
    for (const item of document.querySelectorAll(".task-list [data-task]")) {
      const { exercise, task, checks } = item.dataset;
      const state = item.querySelector(".task-state");
      state.textContent = stateOf(exercise, task, checks);
      state.classList.toggle("passed", state.textContent.startsWith("✓"));
    }
  }

  const works =
    /^https?:$/.test(location.protocol) &&
    "Worker" in self &&
    "WebAssembly" in self &&
    "DecompressionStream" in self;
  if (works) {
    for (const block of document.querySelectorAll(".task[data-task]")) serve(block);
    for (const block of document.querySelectorAll(".task[data-cell]")) serveCell(block);
    const tools = { element, button, runPanel, cannotRun, note };
    for (const block of document.querySelectorAll(".task[data-heads]")) {
      self.makeHeads({ block, python: () => python, address: new URL("training/", HERE), tools });
    }
  }
  refresh();
})();
