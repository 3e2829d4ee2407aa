// @ts-check
// The start page: hits come while somebody types; recent queries of this browser.

import { one, questions } from "./dom.js";
import { page } from "./page.js";

export const recent = {
  all: () => [page.kept.get("queries")].flat().filter((query) => String(query?.address).startsWith("/?")),
  add: (q, address) =>
    page.kept.set("queries", [{ q, address, at: Date.now() }, ...recent.all().filter((query) => query.q !== q)].slice(0, 8)),
};
page.define("recent-queries", (root) => {
  const list = recent.all();
  root.hidden = !list.length;
  const days = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
  one("ul", root).append(
    ...list.map(({ q, address, at }) => {
      const [item, way, when] = [page.element("li"), page.element("a", q), page.element("time")];
      way.href = address;
      if (at) when.textContent = days.format(-Math.floor((Date.now() - at) / 86400e3), "day");
      way.append(when);
      item.append(way);
      return item;
    })
  );
  one("button", root).addEventListener("click", () => {
    page.kept.forget("queries");
    root.hidden = true;
  });
});

// On the start page a pause in typing brings the page of hits, with the caret where it was.
page.define("start-page", (root) => {
  const form = one("form.ask", root);
  const server = questions();
  let typing = 0;
  const go = async () => {
    const q = form.q.value;
    if (!q.trim()) return;
    const address = `/?${new URLSearchParams(/** @type {any} */ (new FormData(form)))}`;
    const reply = await server.fragment(address).catch(() => null);
    const hits = reply && one("search-page", reply.content);
    if (!hits || !server.isLast(reply.mine) || !root.isConnected) return;
    const [typed, start, end] = [form.q.value, form.q.selectionStart, form.q.selectionEnd];
    history.pushState(null, "", address);
    document.title = `${q} – seewhy`;
    root.replaceWith(hits);
    const field = one("#q");
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
