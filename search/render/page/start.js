// @ts-check
// The start page: recent and pinned questions, questions that the index answers, and hits as soon as the user types.

import { page } from "./page.js";

/** @type {(css: string, at?: any) => any} */
const $ = (css, at = document) => at.querySelector(css);

// A star pins a question, or removes it; without scripts its form does the same.
page.define("pin-question", (root) => {
  const form = $("form", root);
  const button = $("button", root);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const keep = form.keep.value;
    const headers = { "X-Seewhy-Fragment": "1" };
    const body = new URLSearchParams(/** @type {any} */ (new FormData(form)));
    const reply = await fetch(form.action, { method: "POST", headers, body, credentials: "same-origin" }).catch(() => null);
    if (!reply?.ok) return;
    button.setAttribute("aria-pressed", String(keep === "1"));
    form.keep.value = keep === "1" ? "0" : "1";
  });
});
const starred = (star, q, index) => {
  const copy = star.cloneNode(true);
  const form = $("form", copy);
  form.elements.q.value = q;
  form.elements.index.value = index;
  $("button", copy).setAttribute("aria-label", `Pin: ${q}`);
  return copy;
};
const pinned = (q, index) =>
  [...document.querySelectorAll("ul.pins form")].some(
    (/** @type {any} */ form) => form.elements.q.value === q && form.elements.index.value === index
  );

// Queries of this browser, on the start page.
export const recent = {
  all: () => [page.kept.get("queries")].flat().filter((each) => String(each?.address).startsWith("/?")),
  add: (q, address) =>
    page.kept.set("queries", [{ q, address, at: Date.now() }, ...recent.all().filter((each) => each.q !== q)].slice(0, 8)),
};
page.define("recent-queries", (root) => {
  const star = $("template", root)?.content.querySelector("pin-question");
  const list = recent.all();
  root.hidden = !list.length;
  const days = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
  $("ul", root).append(
    ...list.map(({ q, address, at }) => {
      const [item, way, when] = [page.element("li"), page.element("a", q), page.element("time")];
      way.href = address;
      if (at) when.textContent = days.format(-Math.floor((Date.now() - at) / 86400e3), "day");
      way.append(when);
      item.append(way);
      const index = new URLSearchParams(address.slice(2)).get("index") ?? root.dataset.index;
      if (star && !pinned(q, index)) item.append(starred(star, q, index));
      return item;
    })
  );
  $("button", root).addEventListener("click", () => {
    page.kept.forget("queries");
    root.hidden = true;
  });
});

// Questions that the index answers come later, if they have not been made yet.
page.define("start-questions", async (root) => {
  if (!root.dataset.address) return;
  const { status, content } = await page.fragment(root.dataset.address).catch(() => ({ status: 0, content: null }));
  if (status === 200) root.replaceChildren($(".questions", content));
});

// On the start page a pause in typing brings the page of hits, with the caret where it was.
page.define("start-page", (root) => {
  const form = $("form.ask", root);
  let asked = 0;
  let typing = 0;
  const go = async () => {
    const q = form.q.value;
    if (!q.trim()) return;
    const mine = ++asked;
    const address = "/?" + new URLSearchParams(/** @type {any} */ (new FormData(form)));
    const { content } = await page.fragment(address).catch(() => ({ content: null }));
    const hits = content && $("search-page", content);
    if (!hits || mine !== asked || !root.isConnected) return;
    const [typed, start, end] = [form.q.value, form.q.selectionStart, form.q.selectionEnd];
    history.pushState(null, "", address);
    document.title = `${q} – seewhy`;
    root.replaceWith(hits);
    const field = $("#q");
    field.value = typed;
    field.focus();
    field.setSelectionRange(start, end);
    if (typed !== q) field.dispatchEvent(new Event("input", { bubbles: true }));
  };
  form.addEventListener("input", (event) => {
    if (event.isComposing) return;
    clearTimeout(typing);
    typing = setTimeout(go, 200);
  });
});
