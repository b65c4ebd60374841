// Loads the search when somebody opens it, or at once on the page made for it.
"use strict";

{
  const folder = document.documentElement.dataset.content_root + "_static/";
  let isLoading = false;

  function load() {
    if (isLoading) return;
    isLoading = true;
    const needed = ["minisearch/minisearch", "search/sections", "search/ranking", "search/search"];
    for (const name of needed) {
      const script = document.createElement("script");
      script.src = `${folder}${name}.js`;
      script.async = false; // in this order
      document.head.append(script);
    }
  }

  for (const field of document.querySelectorAll("form.bd-search input")) {
    field.addEventListener("focus", load);
  }
  document.querySelector("#search-page form.bd-search input")?.focus();
}
