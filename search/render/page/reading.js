// Go from hit to hit of a document, with links or the keys n and p. Where a hit is on another page, the link leads there.
"use strict";

page.define("document-reading", (root) => {
  const target = (link) => (link && link.hash && link.pathname === location.pathname && root.querySelector(link.hash)) || null;
  let at = root.querySelector(".is-here");

  const show = (one) => {
    at = one;
    one.scrollIntoView({ block: "start" });
    one.focus({ preventScroll: true });
  };

  // From a passage that is no hit, to the nearest in that direction.
  const go = (step) => {
    const link = at && at.querySelector(step > 0 ? "a.next" : "a.previous");
    if (link) return link.click();
    if (at && at.matches(".is-hit")) return;
    const found = [...root.querySelectorAll(".is-hit")];
    const after = found.findIndex((one) => at && at.compareDocumentPosition(one) & Node.DOCUMENT_POSITION_FOLLOWING);
    const next = !at ? 0 : after < 0 ? found.length : after; // from nowhere, to the first
    const one = found[step > 0 || !at ? next : next - 1];
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
    if (!root.isConnected || typing || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape") return root.querySelector("a.back")?.click();
    if (page.kept.get("keys") === false) return; // a setting of the search page
    if (event.key === "n") go(1);
    else if (event.key === "p") go(-1);
  });

  if (root.dataset.passage && at) show(at);
});
