// Go from hit to hit of a document, with links or the keys n and p. Where a hit is on another page, the link leads there.
"use strict";

page.define("document-reading", (root) => {
  const target = (link) => (link && link.hash && link.pathname === location.pathname && root.querySelector(link.hash)) || null;
  const alone = !root.closest(".doc");
  let at = root.querySelector(".is-here");

  const show = (one) => {
    at = one;
    one.scrollIntoView({ block: "start" });
    one.focus({ preventScroll: true });
  };

  // To the next hit of the document, or the one before.
  const go = (step) => {
    const found = [...root.querySelectorAll(".is-hit")];
    const after = found.findIndex((one) => at && at.compareDocumentPosition(one) & Node.DOCUMENT_POSITION_FOLLOWING);
    const next = after < 0 ? found.length : after;
    const one = found[step > 0 ? next : next - (found.includes(at) ? 2 : 1)];
    if (one) show(one);
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
  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest("input, textarea, select, dialog[open]") || event.target.isContentEditable;
    if (!alone || !root.isConnected || typing || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape") return document.querySelector("a.back")?.click();
    if (event.key === "n") go(1);
    else if (event.key === "p") go(-1);
  });

  if (alone && root.dataset.passage && at) show(at);
});
