// @ts-check
// The page of hits. All HTML is the server's. The address is the whole state: `navigate` changes it, `render` shows what
// it says. Without this script, every link and form works, too.
//
//   dom.js    the counter of questions     hits.js   the list     pane.js   what stands beside it

import { all, one, questions } from "./dom.js";
import { hitList, light } from "./hits.js";
import { page } from "./page.js";
import { hitPane } from "./pane.js";
import { recent } from "./start.js";

// Parts of the address that say what stands beside the hits, and not which hits there are.
const BESIDE = ["doc", "tab", "other"];

// Close what was opened by a click somewhere else.
document.addEventListener("pointerdown", (/** @type {any} */ event) => {
  for (const facet of all(".facet[open]")) if (!facet.contains(event.target)) facet.open = false;
});

page.define("search-page", (root) => {
  const form = one("form.ask", root);
  const banner = one(".banner", root);
  const tune = one(".tune", root);
  const mix = form?.elements.weight;
  const defaults = { weight: root.dataset.weight, mode: "hybrid", k: "10", per_document: "3" };
  const list = hitList(root);
  const server = questions();
  const counts = questions(); // of facets
  let answered = ""; // the question whose hits are there
  let counted = ""; // the question whose facets are there
  let [resting, typing] = [0, 0];

  // ---- the state: the address

  const state = () => new URLSearchParams(location.search);
  const question = (query) => {
    const asked = new URLSearchParams(query);
    for (const name of [...BESIDE, "why"]) asked.delete(name);
    return String(asked);
  };
  const fromForm = () => {
    const query = new URLSearchParams();
    for (const [name, value] of /** @type {any} */ (new FormData(form)))
      if (value.trim() && value !== defaults[name]) query.append(name, value);
    if (query.has("mode")) query.delete("weight");
    for (const name of BESIDE) if (state().has(name)) query.append(name, state().get(name) ?? "");
    return query;
  };
  const navigate = (query, push = true) => {
    query.delete("facets");
    const address = `/?${query}`;
    if (address !== location.pathname + location.search) history[push ? "pushState" : "replaceState"](null, "", address);
    return render();
  };
  const pane = hitPane(root, list, (change) => {
    const query = state();
    query.delete("why");
    for (const [name, value] of Object.entries(change)) {
      if (value === null) query.delete(name);
      else query.set(name, value);
    }
    if (question(query) === question(state()) && `/?${query}` === location.pathname + location.search) return;
    navigate(query);
  });

  // ---- render: form, hits and pane as the address says

  const render = async () => {
    const query = state();
    if (!query.has("q") && !query.has("more")) return location.reload();
    document.title = `${query.get("q")} – seewhy`;
    fill(query);
    if (question(query) !== answered && !(await answer(query))) return;
    pane.show(state());
  };
  const fill = (query) => {
    if (!form) return;
    for (const control of form.elements) {
      if (!control.name || control.type === "hidden") continue;
      if (control.type === "checkbox") control.checked = query.getAll(control.name).includes(control.value);
      else control.value = query.get(control.name) ?? defaults[control.name] ?? "";
    }
    forget();
    for (const name of ["without", "more", "less"])
      for (const value of query.getAll(name)) {
        const field = Object.assign(page.element("input"), { type: "hidden", name, value });
        field.setAttribute("form", "ask");
        tune.append(field);
      }
    balance();
  };
  // Words and examples of another query do not count for this one.
  const forget = () => {
    for (const field of all("input[type=hidden]:is([name=without], [name=more], [name=less])", root)) field.remove();
  };

  // ---- answers

  const put = (content, names) => {
    for (const name of names) {
      const [there, made] = [one(`[data-part="${name}"]`, root), one(`[data-part="${name}"]`, content)];
      if (there && made && there.innerHTML !== made.innerHTML) there.replaceChildren(...made.childNodes);
    }
  };
  const tell = (line) => {
    banner.textContent = line;
    banner.hidden = false;
  };
  /** The answer to a question as the element of a page; null if there is none, or a later one was there before. */
  const ask = async (query) => {
    root.classList.add("busy");
    const again = (seconds, mine) => setTimeout(() => server.isLast(mine) && (answered = "") === "" && render(), 1000 * seconds);
    try {
      const reply = await server.fragment(`/?${query}`);
      if (!reply) return null;
      banner.hidden = true;
      if (reply.status === 503 && reply.later) again(reply.later, reply.mine);
      const content = one("search-page", reply.content);
      if (!content) tell(one("[role=alert]", reply.content)?.textContent || "The server cannot answer that.");
      return content;
    } catch {
      tell("Connection lost. Trying again … If the server has stopped, start it with: seewhy serve");
      again(2, server.asked); // until the server is there again
      return null;
    } finally {
      root.classList.remove("busy");
    }
  };
  // First the hits with their bars, then the shades of their passages, for which the model reads each of them.
  const answer = async (query) => {
    const asked = question(query);
    const first = new URLSearchParams(asked);
    first.set("unshaded", "1");
    const content = await ask(first);
    if (!content) return false;
    put(content, ["head", "words", "chosen", "more", "weaker"]);
    one(".weaker", root).hidden = one(".weaker", content).hidden;
    await list.put(content);
    answered = asked;
    if (root.dataset.generation !== content.dataset.generation) pane.outdate();
    root.dataset.generation = content.dataset.generation;
    if (list.hits().length && server.isLast(server.asked)) shade(asked, server.asked);
    facets();
    remember();
    return true;
  };
  const shade = async (asked, before) => {
    const content = await ask(asked);
    const isStill = answered === asked && content?.dataset.generation === root.dataset.generation && server.asked === before + 1;
    if (content && isStill && !list.isRanked()) list.shade(content);
  };
  const remember = () => {
    clearTimeout(resting);
    resting = setTimeout(() => list.hits().length && recent.add(state().get("q"), `/?${question(state())}`), 1200);
  };
  // Facets travel only when the query or a filter changes, and after the hits.
  const facets = async () => {
    const query = new URLSearchParams(question(state()));
    for (const name of ["weight", "without"]) query.delete(name);
    const asked = String(query);
    if (asked === counted || !tune.checkVisibility()) return;
    counted = asked;
    query.set("facets", "1");
    const { content } = (await counts.fragment(`/?${query}`).catch(() => null)) ?? {};
    if (content && counted === asked && !one("[data-part=facets] details[open]", root)) put(content, ["facets"]);
  };

  // ---- typing

  let settled = true; // false while the user types one query: one entry of the history for all of it
  const soon = (wait) => {
    clearTimeout(typing);
    typing = setTimeout(() => navigate(fromForm(), false), wait);
  };
  // Matches of keywords come at once, meaning after a pause.
  const words = async () => {
    const query = fromForm();
    if (query.get("mode") === "dense" || !query.has("q")) return;
    const first = new URLSearchParams(question(query));
    first.set("words", "1");
    const content = await ask(first);
    if (!content || !one(".hit", content)) return;
    put(content, ["head"]);
    list.put(content);
    answered = "";
  };
  form?.addEventListener("input", (event) => {
    if (event.isComposing || event.target.name !== "q") return;
    forget();
    const query = fromForm();
    for (const name of BESIDE) query.delete(name); // of other hits
    history[settled ? "pushState" : "replaceState"](null, "", `/?${query}`);
    settled = false;
    words();
    soon(200);
  });
  form?.addEventListener("compositionend", () => form.q.dispatchEvent(new Event("input", { bubbles: true })));
  form?.addEventListener("focusout", () => (settled = true));
  form?.addEventListener("submit", (event) => {
    event.preventDefault();
    clearTimeout(typing);
    settled = true;
    navigate(fromForm());
  });
  root.addEventListener("change", (event) => {
    if (event.target === form?.q || event.target.form !== form || !event.target.name) return;
    if (event.target.name !== "weight" || !rank()) navigate(fromForm());
    else history.replaceState(null, "", `/?${fromForm()}`);
  });

  // ---- what if: another balance

  const balance = () => {
    if (!mix) return;
    const at = Math.round(100 * mix.value);
    mix.style.setProperty("--at", `${at}%`);
    mix.setAttribute("aria-valuetext", `Meaning ${at}%, keywords ${100 - at}%`);
    all(".balance output", root).forEach((output, i) => (output.textContent = `${i ? 100 - at : at}%`));
    one(".balance", root).hidden = form.elements.mode.value !== "hybrid";
  };
  const load = () => {
    const steered = state().has("more") || state().has("less");
    return steered ? Promise.resolve(false) : list.load(`/what-if?${question(state())}`);
  };
  const rank = () => {
    balance();
    if (!list.hasCandidates()) return void load().then((loaded) => loaded && rank()), false;
    const query = fromForm();
    const chosen = { weight: Number(mix.value), k: Number(query.get("k") ?? 10), per_document: Number(query.get("per_document") ?? 3) };
    if (!list.rank(chosen)) return soon(150), true;
    server.outdate(); // an answer that is on its way is of an earlier setting
    answered = question(query);
    root.classList.remove("busy");
    return true;
  };
  mix?.addEventListener("pointerdown", load);
  mix?.addEventListener("focus", load);
  mix?.addEventListener("input", rank);

  // ---- clicks and keys

  // A tab of a hit; asked for again, it gives way to the document.
  const beside = (hit, tab, change = {}) => {
    const query = state();
    const closes = !Object.keys(change).length && tab === pane.tab() && query.get("doc") === hit.dataset.passage && query.get("tab") === tab;
    for (const name of [...BESIDE, "why"]) query.delete(name);
    query.set("doc", hit.dataset.passage);
    if (tab !== "document" && !closes) query.set("tab", tab);
    if (closes && !pane.isWide()) query.delete("doc");
    for (const [name, value] of Object.entries(change)) query.set(name, value);
    navigate(query);
  };
  // The first press compares a hit with the next one, a press on another hit with that.
  const compare = (hit) => {
    const first = pane.tab() === "compare" && state().get("tab") === "compare" ? pane.hit() : null;
    if (first && first !== hit) beside(first, "compare", { other: hit.dataset.passage });
    else beside(hit, "compare");
  };
  root.addEventListener("click", (event) => {
    const target = event.target.closest("a, button");
    if (!target || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    const hit = target.closest(".hit");
    const handled = () => event.preventDefault();
    if (target.matches(".word")) {
      handled();
      const query = fromForm();
      const off = query.getAll("without");
      const { word } = target.dataset;
      query.delete("without");
      for (const other of off.includes(word) ? off.filter((name) => name !== word) : [...off, word]) query.append("without", other);
      light();
      navigate(query);
    } else if (target.matches(".is-chosen, p.more a[href^='/?'], [data-tool=more], [data-tool=less]")) {
      if (!form) return;
      handled();
      navigate(new URL(target.href).searchParams);
    } else if (target.matches(".why-link") && hit) {
      handled();
      beside(hit, "why");
    } else if (target.matches("[data-tool=tokens]") && hit) {
      handled();
      beside(hit, "tokens");
    } else if (target.matches("[data-tool=compare]")) compare(hit);
    else if (target.matches("a.open") && hit && pane.isWide()) {
      handled();
      beside(hit, "document");
    } else if (target.closest(".changed")) {
      const query = fromForm();
      query.delete("weight");
      query.delete("without");
      answered = "";
      navigate(query);
    }
  });
  const current = () => list.focused() ?? pane.hit() ?? list.hits()[0];
  const keys = {
    "/": () => form.q.select(),
    "?": () => one("dialog", root).showModal(),
    j: () => list.go(1),
    k: () => list.go(-1),
    e: () => current() && beside(current(), "why"),
    t: () => current() && beside(current(), "tokens"),
    s: () => one("[data-tool=more]", current() ?? root)?.click(),
    c: () => current() && compare(current()),
  };
  document.addEventListener("keydown", (/** @type {any} */ event) => {
    if (event.defaultPrevented || event.isComposing || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape") {
      light();
      if (pane.isWide() && state().has("tab")) beside(pane.hit() ?? list.hits()[0], "document");
      else if (document.activeElement !== form?.q) form?.q.focus();
      return;
    }
    if (event.target === form?.q && event.key === "ArrowDown") return event.preventDefault(), list.go(1);
    if (event.target.closest?.("input:not([type=checkbox], [type=range]), textarea, select, dialog[open]")) return;
    if (!keys[event.key] || !form) return;
    event.preventDefault();
    keys[event.key]();
  });
  addEventListener("popstate", () => {
    clearTimeout(typing);
    settled = true;
    render();
  });
  pane.onResize(() => pane.show(state()));
  tune?.addEventListener("toggle", () => facets());

  // ---- the index changes: ask again, and say so

  const follow = () => {
    const changed = (event) => {
      const { index, generation } = JSON.parse(event.data);
      if (index !== form.elements.index.value || String(generation) === root.dataset.generation) return;
      answered = "";
      render().then(() => one(".counted", root)?.append(" · Updated"));
    };
    // Browsers open six connections to a server, so hidden pages hold none. A new stream begins with the present
    // generation, which is what a page missed while it was hidden.
    /** @type {EventSource?} */
    let events = null;
    const listen = () => {
      events?.close();
      events = document.hidden ? null : new EventSource("/api/v1/events");
      events?.addEventListener("changed", changed);
    };
    document.addEventListener("visibilitychange", listen);
    listen();
  };

  // A link of before, or of a page without scripts, that opens an explanation.
  const opened = state();
  if (opened.has("why")) {
    opened.set("doc", opened.get("why") ?? "");
    opened.set("tab", "why");
    opened.delete("why");
    history.replaceState(null, "", `/?${opened}`);
  }
  list.dress();
  answered = question(state());
  if (form) {
    fill(state());
    if (window.EventSource) follow();
    if (list.hits().length) {
      recent.add(state().get("q"), `/?${question(state())}`);
      facets();
    }
  }
  pane.show(state());
});
