// Opens the folds that an address leads into, and those that the switches under the title ask for. The
// switches are remembered: for all pages, or for this one.
"use strict";

(() => {
  const page = location.pathname.replace(/.*\/|\.html$/g, "");
  const keys = { depth: "open-depth", page: `open-all:${page}`, book: "open-all" };
  const switches = [...document.querySelectorAll(".open-folds input")];

  let remembered = null;
  try {
    remembered = localStorage;
  } catch {
    // a browser that keeps nothing: the switches are for this visit
  }

  function openTarget() {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    let opened = false;
    const open = (fold) => {
      opened ||= !fold.open;
      fold.open = true;
    };
    for (let node = target; node; node = node.parentElement) {
      if (node.localName === "details") open(node);
    }
    // the address of a section, or of a label above its heading
    const section = target.localName === "section" ? target : target.parentElement;
    const own = section?.querySelector(":scope > details.in-depth");
    if (own && section.localName === "section" && !own.contains(target)) open(own);
    if (opened) target.scrollIntoView();
  }

  const on = (opens) => switches.some((one) => one.dataset.opens === opens && one.checked);
  function openAll(asked) {
    const all = "article details:not(.choice)";
    const folds = document.querySelectorAll(asked === "depth" ? "details.in-depth" : all);
    for (const fold of folds) {
      const deep = fold.classList.contains("in-depth");
      fold.open = on("page") || on("book") || (deep && on("depth"));
    }
  }

  for (const one of switches) {
    const key = keys[one.dataset.opens];
    one.checked = remembered?.getItem(key) === "yes";
    if (one.checked) openAll(one.dataset.opens);
    one.addEventListener("change", () => {
      if (one.checked) remembered?.setItem(key, "yes");
      else remembered?.removeItem(key);
      openAll(one.dataset.opens);
    });
  }
  addEventListener("hashchange", openTarget);
  openTarget();
})();
