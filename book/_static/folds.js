// Opens the folds that an address leads into.
"use strict";

(() => {
  function openTarget() {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    let opened = false;
    for (let node = target; node; node = node.parentElement) {
      if (node.localName !== "details" || node.open) continue;
      node.open = opened = true;
    }
    if (opened) target.scrollIntoView();
  }

  addEventListener("hashchange", openTarget);
  openTarget();
})();
