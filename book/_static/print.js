// Puts a box in place of everything that is folded while a page is printed. Style sheets can show what a
// closed <details> holds in new browsers only (print.css); one that is opened now is printed empty.
"use strict";

const unfolded = new Map();

window.addEventListener("beforeprint", () => {
  for (const fold of document.querySelectorAll("article details:not([open])")) {
    const box = document.createElement("div");
    box.className = fold.className + " unfolded";
    fold.replaceWith(box);
    box.append(...fold.childNodes);
    unfolded.set(box, fold);
  }
});

window.addEventListener("afterprint", () => {
  for (const [box, fold] of unfolded) {
    fold.append(...box.childNodes);
    box.replaceWith(fold);
  }
  unfolded.clear();
});
