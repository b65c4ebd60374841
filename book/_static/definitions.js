// Shows what a term of the glossary means: on hover, on focus, and on a tap. A second tap follows the link.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  const links = [...document.querySelectorAll("a.term")].filter(meaningOf);
  if (!links.length) return;
  const box = document.createElement("div");
  box.className = "meaning";
  box.setAttribute("aria-hidden", "true"); // screen readers get it as the link's description
  box.hidden = true;
  document.body.append(box);
  let shown = null;
  let waiting = 0;
  let pointer = "mouse";

  function meaningOf(link) {
    return document.getElementById("meaning-" + decodeURIComponent(link.hash.slice(1)));
  }

  function show(link) {
    clearTimeout(waiting);
    shown = link;
    box.innerHTML = meaningOf(link).innerHTML;
    box.hidden = false;
    const [place] = link.getClientRects();
    const width = document.documentElement.clientWidth;
    const left = Math.max(8, Math.min(place.left, width - box.offsetWidth - 8));
    const above = place.bottom + box.offsetHeight + 8 > innerHeight && place.top > box.offsetHeight;
    const top = above ? place.top - box.offsetHeight - 2 : place.bottom + 2;
    box.style.left = left + scrollX + "px";
    box.style.top = top + scrollY + "px";
  }

  function hide() {
    clearTimeout(waiting);
    shown = null;
    box.hidden = true;
  }

  // a moment, so that the pointer can move onto the box
  const hideSoon = () => {
    clearTimeout(waiting);
    waiting = setTimeout(hide, 250);
  };

  for (const link of links) {
    link.setAttribute("aria-describedby", meaningOf(link).id);
    link.addEventListener("pointerdown", (event) => {
      pointer = event.pointerType;
      link.wasShown = shown === link;
    });
    link.addEventListener("pointerenter", (event) => event.pointerType === "mouse" && show(link));
    link.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && hideSoon());
    link.addEventListener("focus", () => show(link));
    link.addEventListener("blur", hide);
    link.addEventListener("click", (event) => {
      if (event.detail && pointer !== "mouse" && !link.wasShown) {
        event.preventDefault();
        show(link);
      }
    });
  }
  box.addEventListener("pointerenter", () => clearTimeout(waiting));
  box.addEventListener("pointerleave", hideSoon);
  document.addEventListener("keydown", (event) => event.key === "Escape" && hide());
  document.addEventListener("pointerdown", (event) => {
    if (shown && !box.contains(event.target) && !shown.contains(event.target)) hide();
  });
});
