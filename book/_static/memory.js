// What a reader has guessed, answered, read and done: kept in this browser's own memory and sent nowhere.
// Guesses stand beside results, marks in the contents, and the page of progress shows, exports and forgets
// all of it.
"use strict";

(() => {
  const KEY = "attention-from-scratch";
  const pageOf = (address) => new URL(address, location.href).pathname.replace(/.*\/|\.html$/g, "");
  const here = pageOf(location.href);

  // pages by name, each with {read, done, guesses: {question: guess}, answers: {question: {choice, right}}}
  function load() {
    try {
      const kept = JSON.parse(localStorage.getItem(KEY));
      return kept && typeof kept === "object" ? kept : {};
    } catch {
      return {};
    }
  }
  function save(pages) {
    try {
      localStorage.setItem(KEY, JSON.stringify(pages));
    } catch {
      // a browser that keeps nothing: all is for this visit
    }
    showMarks();
  }
  // Change what is kept of a page, read again first: another tab may have changed it.
  function change(kind, name, value, of = here) {
    const pages = load();
    const page = (pages[of] ??= {});
    if (name === null) page[kind] = value;
    else (page[kind] ??= {})[name] = value;
    save(pages);
  }
  const make = (tag, attributes = {}, ...children) => {
    const node = Object.assign(document.createElement(tag), attributes);
    node.append(...children);
    return node;
  };
  function tick(words, kind, of = here) {
    const input = make("input", { type: "checkbox", checked: load()[of]?.[kind] === true });
    input.addEventListener("change", () => change(kind, null, input.checked, of));
    return make("label", {}, input, ` ${words}`);
  }

  // Predictions: choices become radio buttons; without choices there is a line to write in.
  function keepGuess(box) {
    const fold = box.nextElementSibling;
    const list = box.querySelector("ul");
    const guessed = load()[here]?.guesses?.[box.id];
    const shown = make("p", { className: "guess", hidden: true });
    fold?.querySelector("summary")?.after(shown);
    const show = (...words) => {
      shown.replaceChildren("You guessed: ", ...words);
      shown.hidden = false;
    };
    if (!list) {
      const input = make("input", { type: "text", maxLength: 200, value: guessed ?? "" });
      input.addEventListener("change", () => {
        change("guesses", box.id, input.value);
        show(input.value);
      });
      if (guessed) show(guessed);
      box.append(make("label", { className: "own-guess" }, "Your guess: ", input));
      return;
    }
    const choices = [...list.children].map((item, number) => {
      const input = make("input", { type: "radio", name: box.id, checked: guessed === number });
      const paragraph = item.children.length === 1 && item.querySelector(":scope > p");
      const words = make("span", {}, ...(paragraph || item).childNodes);
      const keep = () => show(...words.cloneNode(true).childNodes);
      input.addEventListener("change", () => {
        change("guesses", box.id, number);
        keep();
      });
      if (guessed === number) keep();
      return make("label", {}, input, words);
    });
    const question = box.querySelector(".question");
    question.id = `${box.id}-question`;
    const group = make("div", { className: "choices" }, ...choices);
    group.setAttribute("role", "radiogroup");
    group.setAttribute("aria-labelledby", question.id);
    list.replaceWith(group);
  }

  // Questions with choices: the first answer counts, of a quiz with several right ones all up to the first
  // wrong one. A prediction's first answer opens its fold.
  function keepAnswer(box) {
    const choices = [...box.querySelectorAll(":scope > details.choice")];
    const isRight = (choice) => choice.classList.contains("right");
    const predicts = box.classList.contains("predict");
    const kind = predicts ? "guesses" : "answers";
    const needed = box.classList.contains("several") ? choices.filter(isRight).length : 1;
    const kept = () => {
      const found = load()[here]?.[kind]?.[box.id];
      return [predicts ? found : found?.choice].flat().filter((number) => choices[number]);
    };
    const mark = (number) => {
      const summary = choices[number]?.querySelector("summary");
      summary?.append(make("small", { className: "first-answer" }, " your first answer"));
    };
    kept().forEach(mark);
    choices.forEach((choice, number) => {
      choice.querySelector("summary").addEventListener("click", () => {
        const given = kept();
        const ended = given.length >= needed || given.some((one) => !isRight(choices[one]));
        if (ended || given.includes(number)) return;
        given.push(number);
        const right = given.filter((one) => isRight(choices[one])).length === needed;
        const answer = needed > 1 ? given : number;
        change(kind, box.id, predicts ? answer : { choice: answer, right });
        mark(number);
        if (predicts) box.nextElementSibling.open = true;
      });
    });
  }

  const counted = (page) => ({
    guesses: Object.keys(page.guesses ?? {}).length,
    right: Object.values(page.answers ?? {}).filter(({ right }) => right).length,
    answers: Object.keys(page.answers ?? {}).length,
  });

  function showMarks() {
    const pages = load();
    for (const link of document.querySelectorAll(".bd-links a.reference")) {
      link.querySelector(".marks")?.remove();
      const page = pages[pageOf(link.href)];
      if (!page) continue;
      const { guesses, answers } = counted(page);
      const marks = [
        [page.read, "✓", "read"],
        [guesses + answers, "●", "questions answered"],
        [page.done, "◆", "exercise done"],
      ].filter(([there]) => there);
      if (!marks.length) continue;
      const shown = make("span", { className: "marks" }, marks.map(([, sign]) => sign).join(""));
      shown.setAttribute("role", "img");
      shown.setAttribute("aria-label", marks.map(([, , words]) => words).join(", "));
      shown.title = shown.getAttribute("aria-label");
      link.append(shown);
    }
  }

  // Whether a task has been solved in a page, as _practice/practice.js keeps it. task: "exercise/answer".
  function hasPassed(task) {
    try {
      return Boolean(JSON.parse(localStorage.getItem(`${KEY}/practice/1/${task}`)).passed);
    } catch {
      return false;
    }
  }

  function showProgress(table) {
    const pages = load();
    for (const row of table.querySelectorAll("[data-page]")) {
      const page = pages[row.dataset.page] ?? {};
      const { guesses, right } = counted(page);
      const exercises = row.dataset.exercises?.split(" ") ?? [];
      const done = exercises.filter((name) => pages[name]?.done === true).length;
      const tasks = row.dataset.tasks?.split(" ").filter(Boolean) ?? [];
      const solved = tasks.filter(hasPassed).length;
      const some = done ? `${done} of ${exercises.length} done` : "–";
      const cells = {
        read: page.read ? "✓ read" : "–",
        predict: `${guesses} of ${row.dataset.predict}`,
        quiz: row.dataset.quiz === "0" ? "" : `${right} of ${row.dataset.quiz}`,
        tasks: tasks.length ? `${solved === tasks.length ? "✓ " : ""}${solved} of ${tasks.length}` : "",
        done: exercises.length ? (done === exercises.length ? "◆ done" : some) : "",
      };
      for (const [kind, words] of Object.entries(cells)) {
        row.querySelector(`[data-kind=${kind}]`).textContent = words;
      }
    }
  }

  function addButtons(table) {
    const says = make("p", { className: "says" });
    says.setAttribute("role", "status");
    const button = (words, pressed) => make("button", { type: "button", onclick: pressed }, words);
    const file = make("input", { type: "file", accept: ".json", className: "progress-file" });
    file.setAttribute("aria-label", "File with progress");
    file.hidden = true;
    const finish = (words) => {
      showProgress(table);
      says.textContent = words;
    };
    file.addEventListener("change", async () => {
      try {
        const pages = JSON.parse(await file.files[0].text());
        const known = (page) => page && typeof page === "object" && !Array.isArray(page);
        if (!known(pages) || !Object.values(pages).every(known)) throw new TypeError();
        save(pages);
        finish("The file's progress is here now.");
      } catch {
        finish("This file holds no progress. Choose one that was exported here.");
      }
    });
    const download = () => {
      const address = URL.createObjectURL(
        new Blob([JSON.stringify(load(), null, 1)], { type: "application/json" }),
      );
      make("a", { href: address, download: "attention-progress.json" }).click();
      URL.revokeObjectURL(address);
      finish("Your browser has saved attention-progress.json.");
    };
    const forget = button("Forget everything", () => {
      if (forget.dataset.asked) {
        delete forget.dataset.asked;
        forget.textContent = "Forget everything";
        save({});
        finish("All of it is forgotten.");
      } else {
        forget.dataset.asked = "yes";
        forget.textContent = "Really forget everything?";
      }
    });
    const buttons = [button("Export", download), button("Import", () => file.click()), forget];
    const line = make("div", { className: "progress-buttons" }, ...buttons, file);
    table.closest(".progress-table").before(line, says);
  }

  for (const box of document.querySelectorAll(".predict[id], .quiz[id]")) {
    (box.querySelector(".choice") ? keepAnswer : keepGuess)(box);
  }
  const foot = document.querySelector(".kept-here");
  for (const link of document.querySelectorAll(".exercise-bar a.download")) {
    // of a chapter's only exercise this is the name of its first page
    const exercise = pageOf(link.href).replace(/\.ipynb$/, "");
    foot?.prepend(tick("I've done this exercise", "done", exercise), ". ");
  }
  foot?.prepend(tick("I've read this page", "read"), ". ");
  for (const table of document.querySelectorAll(".progress-table table")) {
    addButtons(table);
    showProgress(table);
  }
  showMarks();
})();
