// What a reader sees of the search: hits below the field, with excerpts, in the dialog and on the page.
"use strict";

(() => {
  const { search, termsOf, saidBy, total } = self.bookSearch;
  const SHOWN = 20; // hits at first, and with each "more"
  const LENGTH = 200; // characters of an excerpt
  const NOTHING =
    "Nothing found. The book is in English: try fewer or different words, a name from the code, or look here:";
  const HELPFUL = { glossary: "Glossary", symptoms: "Symptoms", elsewhere: "Elsewhere" };

  // Where a text says what was found: [{term, weight, start, end}], no two in one place.
  function placesIn(text, found) {
    const places = termsOf(text).filter(({ term }) => found.has(term));
    let last = 0;
    return places
      .sort((a, b) => a.start - b.start || b.end - a.end)
      .filter(({ start, end }) => {
        if (start < last) return false;
        last = end;
        return true;
      });
  }

  // The part of an entry that says the most of what was found: {text, places, isCode}.
  function excerptOf({ text, code }, found) {
    let best = { text: text.slice(0, LENGTH), places: [], isCode: false, worth: 0 };
    for (const source of [text, code]) {
      const places = placesIn(source, found);
      let first = 0;
      places.forEach((place, last) => {
        while (place.end - places[first].start > LENGTH) first++;
        const group = places.slice(first, last + 1);
        // of two with the same ideas the one that says them more often, and text rather than code
        const often = group.length / (source === code ? 1e6 : 1e3);
        const worth = total(saidBy(group, found).values()) + often;
        if (worth > best.worth) best = { source, group, isCode: source === code, worth };
      });
    }
    return best.group ? cut(best) : best;
  }

  // A text of whole words, or code of whole lines, around some places.
  function cut({ source, group, isCode }) {
    const begun = group[0].start;
    const ended = group.at(-1).end;
    const spare = Math.max(0, LENGTH - (ended - begun)) / 2;
    let from = isCode ? source.lastIndexOf("\n", begun) + 1 : Math.max(0, begun - spare);
    let to = isCode ? source.indexOf("\n", ended) : Math.min(source.length, ended + spare);
    if (to < 0) to = source.length;
    if (!isCode && from > 0) from = Math.min(begun, source.indexOf(" ", from - 1) + 1);
    if (!isCode && to < source.length) to = Math.max(ended, source.lastIndexOf(" ", to));
    const before = !isCode && from > 0 ? "… " : "";
    const after = !isCode && to < source.length ? " …" : "";
    const move = before.length - from;
    return {
      text: before + source.slice(from, to) + after,
      places: group.map(({ start, end }) => ({ start: start + move, end: end + move })),
      isCode,
    };
  }

  function element(name, className, ...children) {
    const made = document.createElement(name);
    if (className) made.className = className;
    made.append(...children);
    return made;
  }

  function marked(text, places) {
    const parts = [];
    let from = 0;
    for (const { start, end } of places) {
      parts.push(text.slice(from, start), element("mark", "", text.slice(start, end)));
      from = end;
    }
    return [...parts, text.slice(from)];
  }

  // Links that help whoever finds nothing.
  function elsewhere() {
    return Object.entries(HELPFUL).flatMap(([page, words], at) => {
      const link = element("a", "", words);
      link.href = `${document.documentElement.dataset.content_root}book/${page}.html`;
      return [at ? " · " : " ", link];
    });
  }

  function itemOf({ entry, found }) {
    const link = element("a", "", ...marked(entry.title, placesIn(entry.title, found)));
    link.href = document.documentElement.dataset.content_root + entry.address;
    const excerpt = excerptOf(entry, found);
    const words = marked(excerpt.text, excerpt.places);
    return element(
      "li",
      "",
      link,
      element("span", "search-where", entry.page || "Page"),
      element("p", "search-excerpt", ...(excerpt.isCode ? [element("code", "", ...words)] : words)),
    );
  }

  // Let a search field show what it finds below its form.
  function serve(form) {
    const field = form.querySelector("input");
    const dialog = form.closest("dialog");
    const count = element("p", "search-count");
    count.setAttribute("role", "status");
    const list = element("ol", "search-list");
    const more = element("button", "search-more", "Show more");
    more.type = "button";
    const results = element("div", "search-results", count, list, more);
    form.after(results);
    dialog?.setAttribute("aria-label", "Search");
    let hits = [];
    let waiting = 0;

    function show() {
      clearTimeout(waiting);
      results.ariaBusy = "false";
      const query = field.value.trim();
      hits = query ? search(query) : [];
      const number = `${hits.length} ${hits.length === 1 ? "place" : "places"} found.`;
      count.textContent = !query ? "" : hits.length ? number : NOTHING;
      if (query && !hits.length) count.append(...elsewhere());
      list.replaceChildren();
      showMore();
      results.scrollTop = 0;
    }

    function showMore() {
      const from = list.children.length;
      list.append(...hits.slice(from, from + SHOWN).map(itemOf));
      more.hidden = list.children.length === hits.length;
    }

    function move(step) {
      const stops = [field, ...results.querySelectorAll("a, button:not([hidden])")];
      const at = stops.indexOf(document.activeElement);
      if (at >= 0) stops[Math.max(0, Math.min(stops.length - 1, at + step))].focus();
    }

    field.addEventListener("input", () => {
      clearTimeout(waiting);
      results.ariaBusy = "true"; // what is in sight is of other words
      waiting = setTimeout(show, 120);
      if (!dialog) history.replaceState(null, "", `?q=${encodeURIComponent(field.value)}`);
    });
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      show();
      list.querySelector("a")?.click();
    });
    more.addEventListener("click", () => {
      const next = list.children.length;
      showMore();
      list.children[next].querySelector("a").focus();
    });
    list.addEventListener("click", (event) => {
      if (event.target.closest("a")) dialog?.close(); // the place may be on this page
    });
    (dialog ?? form.parentElement).addEventListener("keydown", (event) => {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      move(step);
    });
    if (!dialog) field.value = new URLSearchParams(location.search).get("q") ?? field.value;
    show();
  }

  document.querySelectorAll("form.bd-search").forEach(serve);
})();
