// @ts-check
// A part of a page whose forms and links show their answers in it, below its forms, without a new page.

import { page } from "./page.js";

page.define("live-part", (root) => {
  /** @type {AbortController?} */
  let asking = null; // the last question; what comes later of earlier ones is dropped

  const show = async (address) => {
    asking?.abort();
    const mine = (asking = new AbortController());
    root.setAttribute("aria-busy", "true");
    let source;
    try {
      const answer = await fetch(address, { headers: { "X-Seewhy-Fragment": "1" }, signal: mine.signal });
      source = await answer.text();
    } catch (error) {
      if (/** @type {Error} */ (error).name !== "AbortError") location.assign(address); // the browser says what is wrong
      return;
    }
    if (mine.signal.aborted) return;
    const made = new DOMParser().parseFromString(source, "text/html");
    const found = made.querySelector("live-part") || made.body;
    const kept = (node) => node.localName === "form"; // with what its user is about to type
    for (const node of [...root.childNodes]) if (!kept(node)) node.remove();
    root.append(...[...found.childNodes].filter((node) => !kept(node)));
    root.removeAttribute("aria-busy");
    if (root.parentElement.localName === "main") history.replaceState(null, "", address); // not in another page
  };

  const address = (form) => {
    const found = new URL(form.getAttribute("action"), location.href);
    found.search = String(new URLSearchParams(/** @type {any} */ (new FormData(form))));
    return found;
  };
  root.addEventListener("submit", (event) => {
    event.preventDefault();
    show(address(event.target));
  });
  root.addEventListener("change", (event) => {
    if (event.target.matches("select, [type=checkbox]") && event.target.form) show(address(event.target.form));
  });
  let pause = 0;
  root.addEventListener("input", (event) => {
    if (event.target.type !== "search" || event.isComposing) return;
    clearTimeout(pause);
    pause = setTimeout(() => show(address(event.target.form)), 200);
  });
  root.addEventListener("click", (event) => {
    const link = event.target.closest("a.live");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    event.preventDefault();
    show(new URL(link.getAttribute("href"), location.href));
  });
});
