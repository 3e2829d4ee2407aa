// @ts-check
// The page of hits: searches while the user types, ranks again for another balance, opens explanations and documents.
// All HTML is the server's; the address is the whole state. Without this script, every link and form works, too.

import { card } from "./card.js";
import { page } from "./page.js";
import { recent } from "./start.js";
import { whatIf } from "./whatif.js";

/** @type {(css: string, at?: any) => any[]} */
const $$ = (css, at = document) => [...at.querySelectorAll(css)];
/** @type {(css: string, at?: any) => any} */
const $ = (css, at = document) => at.querySelector(css);

// The score of a hit without a word: what the word adds leaves the sum.
const less = (hit, word) => {
  const segments = $$(".seg", hit).filter((seg) => seg.dataset.w === word);
  const sum = $(".score .total", hit);
  if (!sum || !segments.length) return;
  const added = segments.reduce((all, seg) => all + Number(seg.dataset.m) + Number(seg.dataset.k), 0);
  sum.dataset.less = `${(Number($("data", sum).value) - added).toFixed(2)} without it`;
};

// Light one word everywhere: in the query, passage, bar, table and document.
const light = (word, at) => {
  const hit = at?.closest(".hit");
  const places = hit ? [hit, ...(hit.matches(".is-shown") ? $$(".doc") : [])] : $$(".hit, .doc");
  for (const each of $$(".is-lit, .is-lighting")) each.classList.remove("is-lit", "is-lighting");
  for (const sum of $$(".total[data-less]")) delete sum.dataset.less;
  if (!word) return;
  for (const place of places) {
    place.classList.add("is-lighting");
    for (const each of $$("[data-w]", place)) each.classList.toggle("is-lit", each.dataset.w === word);
    less(place, word);
  }
  for (const each of $$(".word")) each.classList.toggle("is-lit", each.dataset.w === word);
};
for (const kind of ["pointerover", "focusin", "click"])
  document.addEventListener(kind, (/** @type {any} */ event) => {
    const on = event.target.closest?.("[data-w]");
    light(on?.dataset.w, on);
  });

// Close what was opened by a click somewhere else.
document.addEventListener("pointerdown", (event) => {
  for (const facet of $$(".facet[open]")) if (!facet.contains(event.target)) facet.open = false;
});

// Change the page, with a transition where the browser has them; the promise waits for the change.
const moved = (change) => {
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches || document.hidden;
  if (still || !document.startViewTransition) return Promise.resolve(change());
  const transition = document.startViewTransition(change);
  transition.ready.catch(() => null); // another change came meanwhile
  return transition.updateCallbackDone;
};

page.define("search-page", (root) => {
  const form = $("form.ask", root);
  const wide = matchMedia("(min-width: 68rem)");
  const list = $("[data-part=hits]", root);
  const doc = $(".doc", root);
  const banner = $(".banner", root);
  const hits = () => $$(".hit", list);
  const within = (css) => /** @type {HTMLElement?} */ (document.activeElement?.closest(css));
  const hitOf = (id) => hits().find((hit) => hit.dataset.passage === String(id));
  // A changed file has new passages: the hit at the same place, or else the first one of the file.
  const placeOf = (hit) => $(".where", hit)?.textContent.trim() ?? "";
  const hitAt = (place) => {
    const file = place.replace(/:[\d-]+$/, "");
    if (!file) return undefined;
    return hits().find((hit) => placeOf(hit) === place) ?? hits().find((hit) => placeOf(hit).startsWith(file));
  };
  const defaults = { weight: root.dataset.weight, mode: "hybrid", k: "10", per_document: "3" };
  let asked = 0; // questions asked; shown: the last that was answered
  let shown = 0;
  let known = null; // candidates, to rank again in the page
  let compared = null; // passage of the hit to compare with

  // ---- the address and the form

  const state = () => new URLSearchParams(location.search);
  const fromForm = () => {
    const query = new URLSearchParams();
    for (const [name, value] of /** @type {any} */ (new FormData(form)))
      if (value.trim() && value !== defaults[name]) query.append(name, value);
    if (query.has("mode")) query.delete("weight");
    return query;
  };
  const fill = () => {
    const query = state();
    for (const control of form.elements) {
      if (!control.name || control.type === "hidden") continue;
      if (control.type === "checkbox") control.checked = query.getAll(control.name).includes(control.value);
      else control.value = query.get(control.name) ?? defaults[control.name] ?? "";
    }
    for (const name of ["without", "more", "less"]) {
      for (const field of $$(`input[type=hidden][name=${name}]`, root)) field.remove();
      for (const value of query.getAll(name)) {
        const field = Object.assign(page.element("input"), { type: "hidden", name, value });
        field.setAttribute("form", "ask");
        $(".tune", root).append(field);
      }
    }
    balance();
  };
  // Words of another query do not count for this one.
  const forget = () => {
    for (const field of $$("input[type=hidden]:is([name=without], [name=more], [name=less])", root)) field.remove();
  };
  const navigate = (query, push = true) => {
    query.delete("facets");
    const address = "/?" + query;
    if (address !== location.pathname + location.search) history[push ? "pushState" : "replaceState"](null, "", address);
    fill();
    return all();
  };

  // ---- answers

  const put = (content, names) => {
    for (const name of names) {
      const [there, made] = [$(`[data-part="${name}"]`, root), $(`[data-part="${name}"]`, content)];
      if (there && made && there.innerHTML !== made.innerHTML) there.replaceChildren(...made.childNodes);
    }
  };
  // A hit that is still there keeps its element, so that it moves and does not flicker.
  const putHits = (content) => {
    const made = $("[data-part=hits]", content);
    if (!made) return;
    const before = new Map(hits().map((hit) => [hit.dataset.passage, hit]));
    const focused = within(".hit")?.dataset.passage;
    const next = $$(".hit", made).map((hit) => {
      const old = before.get(hit.dataset.passage);
      if (!old) return hit;
      if (old.innerHTML !== hit.innerHTML) old.replaceChildren(...hit.childNodes);
      old.className = hit.className;
      return old;
    });
    return moved(() => {
      for (const name of ["full", "weaker"]) list.dataset[name] = made.dataset[name];
      list.replaceChildren(...next);
      for (const hit of next) hit.style.viewTransitionName = `hit-${hit.dataset.passage}`;
      dress();
      if (focused && !list.contains(document.activeElement)) $(".open", hitOf(focused) ?? root)?.focus({ preventScroll: true });
    });
  };
  // What is far below the best hit is folded, as the server folds it.
  const fold = (ranked, scores) => {
    const [share, always] = list.dataset.weaker.split(" ").map(Number);
    const first = scores.findIndex((score, at) => at >= always && score < share * scores[0]);
    const count = first < 0 ? 0 : scores.length - first;
    ranked.forEach((hit, at) => hit.classList.toggle("is-weaker", count > 0 && at >= first));
    const weaker = $(".weaker", root);
    weaker.hidden = !count;
    $("summary", weaker).textContent = `${count} weaker ${count === 1 ? "hit" : "hits"}`;
  };
  const dress = () => {
    for (const each of $$("[data-tool=compare], .share, .picture", list)) each.hidden = false;
    const open = doc.dataset.passage;
    for (const hit of hits()) hit.classList.toggle("is-shown", wide.matches && hit.dataset.passage === open);
  };

  const ask = async (query) => {
    const mine = ++asked;
    root.classList.add("busy");
    try {
      const answer = await page.fragment("/?" + query);
      if (mine < shown) return null; // a later one has been answered
      banner.hidden = true;
      if (answer.status === 503 && answer.later) setTimeout(() => mine === asked && all(), 1000 * answer.later);
      const content = $("search-page", answer.content);
      if (content) shown = mine;
      else tell($("[role=alert]", answer.content)?.textContent || "The server cannot answer that.");
      return content;
    } catch {
      tell("Connection lost. Trying again … If the server has stopped, start it with: seewhy serve");
      setTimeout(() => mine === asked && all(), 2000); // until the server is there again
      return null;
    } finally {
      if (mine === asked) root.classList.remove("busy");
    }
  };
  const tell = (line) => {
    banner.textContent = line;
    banner.hidden = false;
  };

  const words = async () => {
    const query = fromForm();
    if (query.get("mode") === "dense" || !query.has("q")) return;
    query.set("words", "1");
    const content = await ask(query);
    if (content && $(".hit", content)) {
      put(content, ["head"]);
      putHits(content);
    }
  };
  // First the hits with their bars, then the shades of their passages, for which the model reads each of them.
  const all = async () => {
    const query = state();
    if (!query.has("q") && !query.has("more")) return;
    if (query.has("why")) return answer(query, await ask(query));
    const first = new URLSearchParams(query);
    first.set("unshaded", "1");
    const mine = asked + 1;
    const content = await ask(first);
    await answer(query, content);
    if (content && asked === mine && hits().length) shade(query); // unless something else was asked meanwhile
  };
  // Only the passages and bars change, so that whatever the user is pressing stays there.
  const shade = async (query) => {
    const mine = asked + 1;
    const content = await ask(query);
    if (!content || asked !== mine || content.dataset.generation !== root.dataset.generation) return;
    if (known || loading) return; // the bars are being drawn for another balance
    for (const made of $$(".hit", content)) {
      const hit = hitOf(made.dataset.passage);
      for (const css of hit ? [".passage", ".bar"] : []) {
        const [there, next] = [$(css, hit), $(css, made)];
        if (there.innerHTML !== next.innerHTML) there.replaceWith(next);
      }
    }
  };
  const answer = async (query, content) => {
    if (!content) return;
    put(content, ["head", "words", "chosen", "more", "weaker"]);
    $(".weaker", root).hidden = $(".weaker", content).hidden;
    await putHits(content);
    document.title = `${query.get("q")} – seewhy`;
    known = null;
    root.dataset.generation = content.dataset.generation;
    root.dispatchEvent(new Event("answered"));
    pane();
    facets();
    clearTimeout(resting);
    resting = setTimeout(() => hits().length && recent.add(query.get("q"), "/" + location.search), 1200);
  };
  let resting = 0;
  let typing = 0;
  const soon = (wait) => {
    clearTimeout(typing);
    typing = setTimeout(() => navigate(fromForm(), false), wait);
  };

  // Facets travel only when the query or a filter changes, and after the hits.
  let counted = null;
  const facets = async () => {
    const query = state();
    for (const name of ["why", "weight", "without"]) query.delete(name);
    const wanted = query.toString();
    if (wanted === counted || !$(".tune", root).checkVisibility()) return;
    counted = wanted;
    query.set("facets", "1");
    const { content } = await page.fragment("/?" + query).catch(() => ({ content: null }));
    if (content && counted === wanted && !$("[data-part=facets] details[open]", root)) put(content, ["facets"]);
  };

  // ---- typing

  let settled = true; // false while the user types one query: one entry of the history for all of it
  form?.addEventListener("input", (event) => {
    if (event.isComposing || event.target.name !== "q") return;
    forget();
    const query = fromForm();
    if (settled) history.pushState(null, "", "/?" + query);
    else history.replaceState(null, "", "/?" + query);
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
    if (event.target === form?.q || !event.target.name) return;
    if (event.target.name !== "weight" || !rank()) navigate(fromForm());
    else history.replaceState(null, "", "/?" + fromForm());
  });

  // ---- what if: another balance, or without a keyword. Exact as long as the bound of what the server sent proves it.

  const mix = form?.elements.weight;
  const balance = () => {
    if (!mix) return;
    const at = Math.round(100 * mix.value);
    mix.style.setProperty("--at", `${at}%`);
    mix.setAttribute("aria-valuetext", `Meaning ${at}%, keywords ${100 - at}%`);
    $$(".balance output", root).forEach((output, i) => (output.textContent = `${i ? 100 - at : at}%`));
    $(".balance", root).hidden = form.elements.mode.value !== "hybrid";
  };
  let cards = new Map(); // passage -> its hit, also while it is not among the hits
  let loading = null;
  const load = () =>
    (loading ??= (async () => {
      const query = state();
      query.delete("why");
      const reply = await fetch("/what-if?" + query).catch(() => null);
      known = reply?.ok && !state().has("more") && !state().has("less") ? await reply.json() : null;
      cards = new Map(hits().map((hit) => [Number(hit.dataset.passage), hit]));
      for (const seg of $$(".seg", list)) Object.assign(seg.dataset, { m0: seg.dataset.m, k0: seg.dataset.k });
    })().finally(() => (loading = null)));
  // Draws a bar again for another weight.
  const draw = (hit, score, meaning, keyword) => {
    const full = Number(list.dataset.full);
    const parts = $$(".seg", hit).map((seg) => {
      return { seg, m: Number(seg.dataset.m0) * meaning, k: Number(seg.dataset.k0) * keyword };
    });
    let x = 0;
    for (const { seg, m, k } of [...parts.filter((part) => part.m + part.k >= 0), ...parts.filter((part) => part.m + part.k < 0)]) {
      const value = m + k;
      seg.setAttribute("x", `${(100 * (value < 0 ? x + value : x)) / full}%`);
      seg.setAttribute("width", `${(100 * Math.abs(value)) / full}%`);
      Object.assign(seg.dataset, { m, k });
      const [blue, amber] = [$(".m", seg), $(".k", seg)];
      const share = value ? Math.min(Math.max(m / value, 0), 1) * 100 : 0;
      blue?.setAttribute("width", `${share}%`);
      amber?.setAttribute("x", `${share}%`);
      amber?.setAttribute("width", `${100 - share}%`);
      x += value;
    }
    const data = $("data", hit);
    data.value = score;
    data.textContent = score.toFixed(2);
  };
  const rank = () => {
    balance();
    if (!known) return void load().then(() => known && rank()), false;
    const query = fromForm();
    const wanted = { weight: Number(mix.value), k: Number(query.get("k") ?? 10), per_document: Number(query.get("per_document") ?? 3) };
    const { ids, scores, exact } = whatIf(known, wanted);
    if (!exact || ids.some((id) => !cards.has(id))) return soon(150), true;
    shown = ++asked; // an answer that is on its way is of an earlier setting
    root.classList.remove("busy");
    const weight = known.mode === "hybrid" ? [wanted.weight / (known.weight || 1), (1 - wanted.weight) / (1 - known.weight || 1)] : [1, 1];
    moved(() => {
      ids.forEach((id, at) => draw(cards.get(id), scores[at], ...weight));
      fold(ids.map((id) => cards.get(id)), scores);
      list.replaceChildren(...ids.map((id) => cards.get(id)));
      $(".changed", root).hidden = false;
      $(".counted", root).hidden = true;
    });
    return true;
  };
  mix?.addEventListener("pointerdown", load);
  mix?.addEventListener("focus", load);
  mix?.addEventListener("input", rank);

  // ---- explanations open inside their hit; Back closes them

  const explain = async (hit, address) => {
    const before = hit?.getBoundingClientRect().top;
    for (const other of hits()) {
      const open = other === hit;
      other.classList.toggle("is-explained", open);
      $(".why", other).hidden = !open;
      $(".why-link", other)?.setAttribute("aria-expanded", String(open));
    }
    if (hit) scrollBy(0, hit.getBoundingClientRect().top - before); // it stays where it was clicked
    if (!hit || (!address && $(".why", hit).childElementCount)) return;
    const panel = $(".why", hit);
    panel.setAttribute("aria-busy", "true");
    const { content } = await page
      .fragment(address ?? $(".why-link", hit).dataset.why)
      .catch(() => ({ content: page.element("p", page.away) }));
    panel.replaceChildren(...($(".mirror", content) ? [$("h2", content), ...$$(".ahead, .mirror", content)] : [content]));
    panel.removeAttribute("aria-busy");
    dress();
    change(panel);
  };
  // What would change the rank takes a while: many other queries are asked for it.
  const change = async (panel) => {
    const place = $(".change", panel);
    const way = place && $("a", place);
    if (!way) return;
    place.setAttribute("aria-busy", "true");
    const { content, status } = await page.fragment(way.href).catch(() => ({ content: null, status: 0 }));
    place.removeAttribute("aria-busy");
    const list = status < 400 && content && $(".changes", content);
    if (list) place.replaceWith(list);
  };
  const toggle = (hit) => {
    const query = state();
    const closes = hit.classList.contains("is-explained");
    query.delete("why");
    if (!closes) query.set("why", hit.dataset.passage);
    history.pushState(null, "", "/?" + query);
    explain(closes ? null : hit);
  };
  const compare = (hit) => {
    const id = hit.dataset.passage;
    if (compared && compared !== id && hitOf(compared)) {
      const [a, b] = hits().map((each) => each.dataset.passage).filter((each) => each === id || each === compared);
      const query = new URLSearchParams({ ...Object.fromEntries(state()), a, b });
      explain(hit, "/contrast?" + query).then(() => $(".why", hit)?.scrollIntoView({ block: "nearest" }));
      compared = null;
    } else compared = compared === id ? null : id;
    banner.hidden = !compared;
    if (compared) banner.textContent = "Choose a second hit to compare this one with.";
    for (const each of $$("[data-tool=compare]", list))
      each.setAttribute("aria-pressed", String(each.closest(".hit").dataset.passage === compared));
  };

  // ---- the document, beside the hits

  const pane = async (hit = hitOf(state().get("doc") ?? doc.dataset.passage) ?? hitAt(doc.dataset.place ?? "") ?? hits()[0]) => {
    if (!wide.matches || !hit) return void (hit || doc.replaceChildren());
    doc.dataset.passage = hit.dataset.passage;
    doc.dataset.place = placeOf(hit);
    dress();
    return read($(".open", hit).getAttribute("href"));
  };
  const read = async (address) => {
    if (doc.dataset.address === address) return;
    doc.dataset.address = address;
    const answer = await page.fragment(address).catch(() => null);
    if (!answer || doc.dataset.address !== address) return;
    doc.replaceChildren($("document-reading", answer.content) ?? answer.content);
    const here = $(".is-here", doc);
    const body = $(".doc-body", doc);
    if (here && body) body.scrollTop = here.getBoundingClientRect().top - body.getBoundingClientRect().top - body.clientHeight / 4;
  };
  wide.addEventListener("change", () => pane());
  $(".tune", root)?.addEventListener("toggle", () => facets());

  // ---- clicks and keys

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
      for (const each of off.includes(word) ? off.filter((one) => one !== word) : [...off, word]) query.append("without", each);
      light();
      navigate(query);
    } else if (target.matches(".is-chosen, p.more a[href^='/?'], [data-tool=more], [data-tool=less]")) {
      if (!form) return;
      handled();
      navigate(new URL(target.href).searchParams);
    } else if (target.matches(".why-link") && hit) {
      handled();
      toggle(hit);
    } else if (target.matches("[data-tool=compare]")) compare(hit);
    else if (target.matches("a.open") && wide.matches) {
      handled();
      const query = state();
      query.set("doc", hit.dataset.passage);
      history.replaceState(null, "", "/?" + query);
      pane(hit);
    } else if (target.matches(".doc .switch a")) {
      handled();
      read(target.getAttribute("href"));
    } else if (target.matches("a.details, .all .ways a[href^='/explain']")) {
      handled();
      import("./grid.js"); // only details need it
      page.fragment(target.href).then(({ content }) => $(".all", hit).replaceChildren($("why-explanation", content) ?? content));
    } else if (target.matches(".share")) {
      navigator.clipboard.writeText(location.origin + "/?" + state()).then(() => (target.textContent = "Copied"));
    } else if (target.matches(".picture")) {
      card(hit, state().get("q") ?? "").then((blob) => {
        const link = Object.assign(page.element("a"), { href: URL.createObjectURL(blob), download: `seewhy-${hit.id}.png` });
        link.click();
        setTimeout(() => URL.revokeObjectURL(link.href), 10000);
      });
    } else if (target.closest(".changed")) {
      const query = fromForm();
      query.delete("weight");
      query.delete("without");
      navigate(query);
    }
  });
  const current = () => within(".hit") ?? $(".is-explained", list) ?? hits()[0];
  const go = (step) => {
    const at = hits().indexOf(within(".hit"));
    const hit = hits()[Math.min(Math.max(at + step, 0), hits().length - 1)];
    if (hit?.classList.contains("is-weaker")) $(".weaker", root).open = true;
    $(".open", hit ?? root)?.focus({ preventScroll: true });
    hit?.scrollIntoView({ block: "nearest" });
  };
  const keys = {
    "/": () => form.q.select(),
    "?": () => $("dialog", root).showModal(),
    j: () => go(1),
    k: () => go(-1),
    e: () => current() && toggle(current()),
    s: () => $("[data-tool=more]", current() ?? root)?.click(),
    c: () => current() && compare(current()),
  };
  document.addEventListener("keydown", (/** @type {any} */ event) => {
    const segment = event.target.closest?.(".seg");
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (segment && step) {
      const each = $$(".seg", segment.parentNode);
      const next = each[(each.indexOf(segment) + step + each.length) % each.length];
      segment.setAttribute("tabindex", "-1");
      next.setAttribute("tabindex", "0");
      next.focus();
    }
    if (event.defaultPrevented || event.isComposing || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape") {
      const open = $(".is-explained", list);
      light();
      if (open) history.state === null && state().has("why") ? toggle(open) : explain(null);
      else if (document.activeElement !== form?.q) form?.q.focus();
      return;
    }
    if (event.target === form?.q && event.key === "ArrowDown") return event.preventDefault(), go(1);
    if (event.target.closest?.("input:not([type=checkbox], [type=range]), textarea, select, dialog[open]")) return;
    if (!keys[event.key] || !form) return;
    event.preventDefault();
    keys[event.key]();
  });

  addEventListener("popstate", () => {
    clearTimeout(typing);
    settled = true;
    const [query, open] = [state(), state().get("why")];
    if (!query.has("q") && !query.has("more")) return location.reload();
    if (String(question()) === answered) return explain(open ? hitOf(open) : null);
    document.title = `${query.get("q")} – seewhy`;
    fill();
    all();
  });
  let answered = "";
  const question = () => {
    const query = state();
    for (const name of ["why", "doc"]) query.delete(name);
    return query;
  };
  const note = () => {
    answered = String(question());
  };
  root.addEventListener("answered", note);

  // ---- the index changes: ask again, and say so

  if (form && window.EventSource) {
    const changed = (event) => {
      const { index, generation } = JSON.parse(event.data);
      if (index !== form.elements.index.value || String(generation) === root.dataset.generation) return;
      const open = $(".is-explained", list);
      const place = open && placeOf(open);
      all().then(() => {
        $(".counted", root)?.append(" · Updated");
        const hit = place && !$(".is-explained", list) && hitAt(place);
        if (hit) toggle(hit);
      });
    };
    // Browsers open six connections to a server, so hidden pages hold none. A new stream begins with the present
    // generation, which is what a page missed while it was hidden.
    let events = null;
    const listen = () => {
      events?.close();
      events = document.hidden ? null : new EventSource("/api/v1/events");
      events?.addEventListener("changed", changed);
    };
    document.addEventListener("visibilitychange", listen);
    listen();
  }

  dress();
  for (const hit of hits()) hit.style.viewTransitionName = `hit-${hit.dataset.passage}`;
  note();
  if (form) {
    fill();
    if (hits().length) {
      recent.add(state().get("q"), "/" + location.search);
      pane();
      facets();
    }
  } else pane();
});
