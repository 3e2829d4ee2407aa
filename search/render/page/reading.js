// @ts-check
// Go from hit to hit of a document, with links or the keys n and p. Where a hit is on another page, the link leads there.

import { page } from "./page.js";

page.define("document-reading", (root) => {
  const target = (link) => (link && link.hash && link.pathname === location.pathname && root.querySelector(link.hash)) || null;
  const alone = !root.closest(".doc");
  let at = root.querySelector(".is-here");

  const show = (one) => {
    at = one;
    one.scrollIntoView({ block: "start" });
    one.focus({ preventScroll: true });
  };

  // To the next hit of the document, or the one before; it may be in another part, on another page.
  const go = (step) => {
    const links = [...root.querySelectorAll("nav.all-hits a")];
    const here = links.findIndex((link) => at && link.hash === `#${at.id}`);
    const link = links[here < 0 ? 0 : here + step];
    if (link) link.click();
  };

  root.addEventListener("click", (event) => {
    const link = event.target.closest("a");
    const one = !event.ctrlKey && !event.metaKey && !event.shiftKey && target(link);
    if (!one) return;
    event.preventDefault();
    history.replaceState(history.state, "", link.hash);
    show(one);
  });
  root.addEventListener("focusin", (event) => (at = event.target.closest(".is-hit") || at));
  document.addEventListener("keydown", (/** @type {any} */ event) => {
    const typing = event.target.closest("input, textarea, select, dialog[open]") || event.target.isContentEditable;
    if (!alone || !root.isConnected || typing || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape") return /** @type {HTMLElement?} */ (document.querySelector("a.back"))?.click();
    if (event.key === "n") go(1);
    else if (event.key === "p") go(-1);
  });

  if (alone && root.dataset.passage && at) show(at);
});
