// @ts-check
// The start page: recent and pinned questions, questions that the index answers, and hits as soon as the user types.

import { one, questions } from "./dom.js";
import { page } from "./page.js";

// A star pins a question, or removes it; without scripts its form does the same.
page.define("pin-question", (root) => {
  const form = one("form", root);
  const button = one("button", root);
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
  const form = one("form", copy);
  form.elements.q.value = q;
  form.elements.index.value = index;
  one("button", copy).setAttribute("aria-label", `Pin: ${q}`);
  return copy;
};
const pinned = (q, index) =>
  [...document.querySelectorAll("ul.pins form")].some(
    (/** @type {any} */ form) => form.elements.q.value === q && form.elements.index.value === index
  );

// Queries of this browser, on the start page.
export const recent = {
  all: () => [page.kept.get("queries")].flat().filter((query) => String(query?.address).startsWith("/?")),
  add: (q, address) =>
    page.kept.set("queries", [{ q, address, at: Date.now() }, ...recent.all().filter((query) => query.q !== q)].slice(0, 8)),
};
page.define("recent-queries", (root) => {
  const star = one("template", root)?.content.querySelector("pin-question");
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
      const index = new URLSearchParams(address.slice(2)).get("index") ?? root.dataset.index;
      if (star && !pinned(q, index)) item.append(starred(star, q, index));
      return item;
    })
  );
  one("button", root).addEventListener("click", () => {
    page.kept.forget("queries");
    root.hidden = true;
  });
});

// Questions that the index answers come later, if they have not been made yet.
page.define("start-questions", async (root) => {
  if (!root.dataset.address) return;
  const { status, content } = await page.fragment(root.dataset.address).catch(() => ({ status: 0, content: null }));
  if (status === 200) root.replaceChildren(one(".questions", content));
});

// Pointing at a topic lights its documents; dragging a frame selects documents, to open them or to search in them.
page.define("document-map", (root) => {
  const svg = one("svg", root);
  const list = one(".selected", root);
  const marks = () => [...svg.querySelectorAll("use[data-group]")];
  const focus = (test) => {
    svg.classList.toggle("has-focus", Boolean(test));
    for (const mark of marks()) mark.classList.toggle("is-focus", Boolean(test?.(mark)));
  };
  const selected = () => (list.childElementCount ? (mark) => mark.dataset.selected : null);
  for (const kind of ["pointerover", "focusin"])
    one(".groups", root).addEventListener(kind, (event) => {
      const group = event.target.closest("[data-group]")?.dataset.group;
      focus(group ? (mark) => mark.dataset.group === group : selected());
    });
  for (const kind of ["pointerout", "focusout"]) one(".groups", root).addEventListener(kind, () => focus(selected()));

  const clear = () => {
    for (const mark of marks()) delete mark.dataset.selected;
    list.replaceChildren();
    focus(null);
  };
  // The filter for the selected documents; none for rows of a table, which have no path of their own.
  const filter = (names) => {
    if (names.some((name) => name === undefined || name.includes("#"))) return null;
    const where = `path in (${names.map((name) => `"${name.replaceAll('"', '""')}"`).join(", ")})`;
    return where.length < 1500 ? where : null;
  };
  const choose = (left, top, right, bottom) => {
    clear();
    const inside = marks().filter((mark) => {
      const [x, y] = [Number(mark.getAttribute("x")), Number(mark.getAttribute("y"))];
      return left <= x && x <= right && top <= y && y <= bottom;
    });
    if (!inside.length) return;
    for (const mark of inside) mark.dataset.selected = "1";
    const title = page.element("h2", `${inside.length} selected · `);
    const where = filter(inside.map((mark) => mark.dataset.document));
    if (where) {
      const link = page.element("a", "Search in these");
      link.href = "/?" + new URLSearchParams({ index: root.dataset.index, where });
      title.append(link, " · ");
    }
    const close = page.element("button", "Clear", "link");
    close.addEventListener("click", clear);
    title.append(close);
    const items = page.element("ul", undefined, "list");
    for (const mark of inside.slice(0, 30)) {
      const [item, link] = [page.element("li"), page.element("a", one("title", mark).textContent)];
      link.href = mark.parentNode.getAttribute("href");
      item.append(link);
      items.append(item);
    }
    list.replaceChildren(title, items);
    focus(selected());
  };

  /** @type {DOMPoint?} */
  let from = null;
  /** @type {SVGRectElement?} */
  let frame = null;
  const at = (event) => new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
  svg.addEventListener("dragstart", (event) => event.preventDefault()); // of a link
  svg.addEventListener("pointerdown", (event) => {
    if (event.pointerType === "mouse" && !event.button) from = at(event);
  });
  svg.addEventListener("pointermove", (event) => {
    if (!from) return;
    const to = at(event);
    const [width, height] = [Math.abs(to.x - from.x), Math.abs(to.y - from.y)];
    if (!frame && Math.max(width, height) < 5) return; // a click
    if (!frame) {
      frame = document.createElementNS("http://www.w3.org/2000/svg", "rect");
      frame.setAttribute("class", "frame");
      svg.append(frame);
      svg.setPointerCapture(event.pointerId);
      svg.classList.add("is-dragging");
    }
    const sides = { x: Math.min(from.x, to.x), y: Math.min(from.y, to.y), width, height };
    for (const [name, value] of Object.entries(sides)) frame.setAttribute(name, String(value));
  });
  const end = () => {
    const drawn = frame;
    drawn?.remove();
    svg.classList.remove("is-dragging");
    from = frame = null;
    if (!drawn) return;
    const [x, y, width, height] = ["x", "y", "width", "height"].map((name) => Number(drawn.getAttribute(name)));
    choose(x, y, x + width, y + height);
  };
  svg.addEventListener("pointerup", end);
  svg.addEventListener("pointercancel", end);
  root.addEventListener("keydown", (event) => event.key === "Escape" && clear());
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
