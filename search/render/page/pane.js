// @ts-check
// What stands beside the hits: the document, why, a comparison, and the tokens of one hit. On a small screen a sheet.

import { card } from "./card.js";
import { all, one, questions } from "./dom.js";
import { page } from "./page.js";

const TABS = ["document", "why", "compare", "tokens"];

/**
 * @param {any} root the page of hits
 * @param {any} list its hits
 * @param {(change: Record<string, string | null>) => void} set changes the address
 */
export const hitPane = (root, list, set) => {
  const pane = one(".pane", root);
  const wide = matchMedia("(min-width: 68rem)");
  const views = Object.fromEntries(TABS.map((tab) => [tab, one(`[data-view=${tab}]`, pane)]));
  const asking = Object.fromEntries(TABS.map((tab) => [tab, questions()]));
  let shown = { passage: "", place: "", tab: "" };

  const hit = () => list.hitOf(shown.passage);

  // ---- addresses and contents of the tabs

  const address = (tab, of, query) => {
    const why = one(".why-link", of)?.dataset.why ?? "";
    if (tab === "document") return one(".open", of)?.getAttribute("href");
    if (tab === "why") return why;
    if (tab === "tokens") return why.replace("/explain", "/xray");
    const [a, b] = pair(of, query).map((each) => each.dataset.passage);
    return b ? why.replace("/explain", "/contrast").replace(/passage=\d+/, `a=${a}&b=${b}`) : "";
  };
  // A hit and the one that it is compared with, in the order of their ranks: the next one, if none was chosen.
  const pair = (of, query) => {
    const others = list.hits().filter((each) => each !== of);
    const at = list.hits().indexOf(of);
    const other = list.hitOf(query.get("other")) ?? others[Math.min(at, others.length - 1)];
    return list.hits().filter((each) => each === of || each === other);
  };
  const part = {
    document: (content) => [one("document-reading", content) ?? content],
    why: (content) => [heading(hit()), content],
    compare: (content) => [...(one(".mirror", content) ? all(".ahead, .mirror", content) : [content])],
    tokens: (content) => [heading(hit(), "/xray"), one("x-ray", content) ?? content],
  };
  // The name of the hit; of the tokens also the way to the page of their own.
  const heading = (of, own = "") => {
    const head = page.element("header", undefined, "pane-head");
    head.append(page.element("h2", one("h2", of)?.textContent.trim()));
    if (own) {
      const out = Object.assign(page.element("a", "Own page", "quiet"), { href: address("tokens", of, new URLSearchParams()) });
      head.append(out);
    }
    return head;
  };
  const skeleton = () => {
    const bones = page.element("div", undefined, "skeleton");
    bones.setAttribute("aria-hidden", "true");
    for (let line = 0; line < 7; line++) bones.append(page.element("span"));
    return bones;
  };

  const load = async (tab, where, of, query) => {
    const view = views[tab];
    if (view.dataset.address === where) return;
    view.dataset.address = where;
    view.setAttribute("aria-busy", "true");
    if (!view.childElementCount || tab === "why") view.replaceChildren(skeleton());
    const answer = await asking[tab].fragment(where).catch(() => ({ content: page.element("p", page.away), status: 0 }));
    if (!answer || view.dataset.address !== where) return; // another hit was chosen meanwhile
    if (!answer.status) delete view.dataset.address; // to be asked again
    const isReached = view.contains(document.activeElement);
    view.replaceChildren(...part[tab](answer.content));
    view.removeAttribute("aria-busy");
    if (tab === "document") scroll(view);
    if (tab === "why") {
      for (const button of all(".share, .picture", view)) button.hidden = false;
      change(view);
    }
    if (tab === "compare") {
      view.prepend(choice(of, query));
      if (isReached) one("select", view).focus();
    }
  };
  // To the passage of the hit.
  const scroll = (view) => {
    const [here, body] = [one(".is-here", view), one(".doc-body", view)];
    if (here && body) body.scrollTop += here.getBoundingClientRect().top - body.getBoundingClientRect().top - body.clientHeight / 4;
  };
  // What would change the rank takes a while: many other queries are asked for it.
  const change = async (view) => {
    const place = one(".change", view);
    const way = one("a", place);
    if (!way) return;
    place.setAttribute("aria-busy", "true");
    const { content, status } = await page.fragment(way.href).catch(() => ({ content: null, status: 0 }));
    place.removeAttribute("aria-busy");
    const changes = status < 400 && one(".changes", content);
    if (changes) place.replaceWith(changes);
  };
  // The hits to compare this one with.
  const choice = (of, query) => {
    const chosen = pair(of, query).find((each) => each !== of);
    const box = page.element("p", undefined, "beside");
    const label = page.element("label", "Beside ");
    const select = page.element("select");
    list.hits().forEach((each, at) => {
      if (each === of) return;
      const name = `${at + 1}. ${one("h2", each).textContent.trim()}`;
      select.append(Object.assign(page.element("option", name), { value: each.dataset.passage, selected: each === chosen }));
    });
    select.addEventListener("change", () => set({ other: select.value }));
    label.append(select);
    box.append(label, page.element("span", "or press the arrows of another hit", "quiet"));
    const head = page.element("div");
    head.append(heading(of), box);
    return head;
  };

  // ---- which hit and tab

  const mark = (of, tab) => {
    for (const each of list.hits()) {
      const here = each === of;
      each.classList.toggle("is-shown", here);
      one(".why-link", each)?.setAttribute("aria-expanded", String(here && tab === "why"));
      one("[data-tool=compare]", each)?.setAttribute("aria-pressed", String(here && tab === "compare"));
      one(".why", each).hidden = true; // without scripts it opens there
    }
    for (const button of all("[role=tab]", pane)) {
      const here = button.dataset.tab === tab;
      button.setAttribute("aria-selected", String(here));
      button.tabIndex = here ? 0 : -1;
    }
    for (const name of TABS) views[name].hidden = name !== tab;
  };
  // On a small screen the pane is a popover; on a wide one it stands beside the hits.
  const sheet = (open) => {
    const [isOpen, opens] = [pane.matches(":popover-open"), open && !wide.matches];
    if (opens && !isOpen) pane.showPopover();
    if (!opens && isOpen) pane.hidePopover();
  };
  /** Show what the address says. */
  const show = (query) => {
    const tab = TABS.includes(query.get("tab") ?? "") ? query.get("tab") : "document";
    const asked = query.get("doc");
    const of = list.hitOf(asked) ?? (shown.place ? list.hitAt(shown.place) : undefined) ?? (wide.matches ? list.hits()[0] : undefined);
    const open = Boolean(of) && (wide.matches || query.has("tab") || query.has("doc"));
    pane.classList.toggle("is-empty", !of);
    sheet(open);
    if (!of || !open) return void mark(null, "");
    shown = { passage: of.dataset.passage, place: list.placeOf(of), tab };
    mark(of, tab);
    const where = address(tab, of, query);
    if (where) return load(tab, where, of, query);
    views[tab].replaceChildren(heading(of), page.element("p", "There is no other hit to compare this one with."));
  };

  // ---- clicks and keys in the pane

  pane.addEventListener("click", (event) => {
    const target = event.target.closest("a, button");
    if (!target || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    if (target.matches("[role=tab]")) set({ doc: shown.passage, tab: target.dataset.tab === "document" ? null : target.dataset.tab });
    else if (target.matches(".close")) set({ doc: null, tab: null, other: null });
    else if (target.matches(".doc .switch a")) {
      event.preventDefault();
      load("document", target.getAttribute("href"), hit(), null);
    } else if (target.matches("a.x-ray")) {
      event.preventDefault();
      set({ doc: shown.passage, tab: "tokens" });
    } else if (target.matches(".share")) {
      navigator.clipboard.writeText(location.href).then(() => (target.textContent = "Copied"));
    } else if (target.matches(".picture")) {
      card(hit(), new URLSearchParams(location.search).get("q") ?? "").then((blob) => {
        const link = Object.assign(page.element("a"), { href: URL.createObjectURL(blob), download: `seewhy-${hit().id}.png` });
        link.click();
        setTimeout(() => URL.revokeObjectURL(link.href), 10000);
      });
    }
  });
  one("[role=tablist]", pane).addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const next = TABS[(TABS.indexOf(shown.tab) + step + TABS.length) % TABS.length];
    set({ doc: shown.passage, tab: next === "document" ? null : next });
    one(`[data-tab=${next}]`, pane).focus();
  });
  pane.addEventListener("toggle", (event) => {
    if (event.newState === "closed" && !wide.matches) set({ doc: null, tab: null, other: null });
  });

  return {
    show,
    /** The index has changed: what is there must be asked again. */
    outdate: () => {
      for (const tab of TABS) delete views[tab].dataset.address;
    },
    hit,
    isWide: () => wide.matches,
    tab: () => shown.tab,
    place: () => shown.place,
    onResize: (work) => wide.addEventListener("change", work),
  };
};
