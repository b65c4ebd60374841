// Opens what is folded while the page is printed, in browsers whose style sheets can't (print.css).
"use strict";

window.addEventListener("beforeprint", () => {
  for (const fold of document.querySelectorAll("article details:not([open])")) {
    fold.classList.add("opened-for-printer");
    fold.open = true;
  }
});

window.addEventListener("afterprint", () => {
  for (const fold of document.querySelectorAll("details.opened-for-printer")) {
    fold.classList.remove("opened-for-printer");
    fold.open = false;
  }
});
