// @ts-check
// The list of hits: it takes the server's HTML, ranks again for another balance, and lights a word everywhere.

import { all, moved, one } from "./dom.js";
import { whatIf } from "./whatif.js";

// ---- one word, wherever it stands

/**
 * The score of a hit without a word: what the word adds leaves the sum.
 * @param {any} hit
 * @param {string} word
 */
const less = (hit, word) => {
  const segments = all(".seg", hit).filter((seg) => seg.dataset.w === word);
  const sum = one(".score .total", hit);
  if (!sum || !segments.length) return;
  const added = segments.reduce((sum, seg) => sum + Number(seg.dataset.m) + Number(seg.dataset.k), 0);
  sum.dataset.less = `${(Number(one("data", sum).value) - added).toFixed(2)} without it`;
};

/**
 * Light one word in the query, passages, bars, tables and the document; without a word, put all lights out.
 * @param {string} [word]
 * @param {Element} [at] the element that was pointed at
 */
export const light = (word, at) => {
  const hit = at?.closest(".hit");
  const pane = all(".pane");
  const places = hit ? [hit, ...(hit.matches(".is-shown") ? pane : [])] : [...all(".hit"), ...pane];
  for (const lit of all(".is-lit, .is-lighting")) lit.classList.remove("is-lit", "is-lighting");
  for (const sum of all(".total[data-less]")) delete sum.dataset.less;
  if (!word) return;
  for (const place of places) {
    place.classList.add("is-lighting");
    for (const same of all("[data-w]", place)) same.classList.toggle("is-lit", same.dataset.w === word);
    less(place, word);
  }
  for (const chip of all(".word")) chip.classList.toggle("is-lit", chip.dataset.w === word);
};
for (const kind of ["pointerover", "focusin", "click"])
  document.addEventListener(kind, (/** @type {any} */ event) => {
    const on = event.target.closest?.("[data-w]");
    light(on?.dataset.w, on);
  });
// The parts of a bar are one stop of the keyboard; the arrow keys go from part to part.
document.addEventListener("keydown", (/** @type {any} */ event) => {
  const segment = event.target.closest?.(".seg");
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!segment || !step) return;
  const parts = all(".seg", segment.parentNode);
  const next = parts[(parts.indexOf(segment) + step + parts.length) % parts.length];
  segment.setAttribute("tabindex", "-1");
  next.setAttribute("tabindex", "0");
  next.focus();
});

// ---- the list

/**
 * @param {any} root the page of hits
 */
export const hitList = (root) => {
  const list = one("[data-part=hits]", root);
  const hits = () => all(".hit", list);
  const hitOf = (id) => hits().find((hit) => hit.dataset.passage === String(id));
  const placeOf = (hit) => one(".where", hit)?.textContent.trim() ?? "";
  const focused = () => /** @type {any} */ (document.activeElement?.closest(".hit"));
  /** @type {any} */
  let known = null; // candidates, to rank again in the page
  let cards = new Map(); // passage -> its hit, also while it is not among the hits
  /** @type {Promise<boolean>?} */
  let loading = null;

  const dress = () => {
    for (const tool of all("[data-tool=compare]", list)) tool.hidden = false;
    for (const hit of hits()) hit.style.viewTransitionName = `hit-${hit.dataset.passage}`;
  };

  // What is far below the best hit is folded, as the server folds it.
  const fold = (ranked, scores) => {
    const [share, always] = list.dataset.weaker.split(" ").map(Number);
    const first = scores.findIndex((score, at) => at >= always && score < share * scores[0]);
    const count = first < 0 ? 0 : scores.length - first;
    ranked.forEach((hit, at) => hit.classList.toggle("is-weaker", count > 0 && at >= first));
    const weaker = one(".weaker", root);
    weaker.hidden = !count;
    one("summary", weaker).textContent = `${count} weaker ${count === 1 ? "hit" : "hits"}`;
  };

  // Draws a bar again for another weight.
  const draw = (hit, score, meaning, keyword) => {
    const full = Number(list.dataset.full);
    const parts = all(".seg", hit).map((seg) => {
      return { seg, m: Number(seg.dataset.m0) * meaning, k: Number(seg.dataset.k0) * keyword };
    });
    let x = 0;
    for (const { seg, m, k } of [...parts.filter((part) => part.m + part.k >= 0), ...parts.filter((part) => part.m + part.k < 0)]) {
      const value = m + k;
      seg.setAttribute("x", `${(100 * (value < 0 ? x + value : x)) / full}%`);
      seg.setAttribute("width", `${(100 * Math.abs(value)) / full}%`);
      Object.assign(seg.dataset, { m, k });
      const [blue, amber] = [one(".m", seg), one(".k", seg)];
      const share = value ? Math.min(Math.max(m / value, 0), 1) * 100 : 0;
      blue?.setAttribute("width", `${share}%`);
      amber?.setAttribute("x", `${share}%`);
      amber?.setAttribute("width", `${100 - share}%`);
      x += value;
    }
    const data = one("data", hit);
    data.value = score;
    data.textContent = score.toFixed(2);
  };

  return {
    list,
    hits,
    hitOf,
    placeOf,
    focused,
    /** The hit at a place. A changed file has new passages: the hit at the same place, or else the first of the file. */
    hitAt: (place) => {
      const file = place.replace(/:[\d-]+$/, "");
      if (!file) return undefined;
      return hits().find((hit) => placeOf(hit) === place) ?? hits().find((hit) => placeOf(hit).startsWith(file));
    },
    /** True while the bars are drawn for another balance than the server's answer. */
    isRanked: () => Boolean(known || loading),

    /** Take the hits of an answer. A hit that is still there keeps its element, so that it moves and does not flicker. */
    put: (content) => {
      const made = one("[data-part=hits]", content);
      if (!made) return Promise.resolve();
      const before = new Map(hits().map((hit) => [hit.dataset.passage, hit]));
      const reached = focused()?.dataset.passage;
      const next = all(".hit", made).map((hit) => {
        const old = before.get(hit.dataset.passage);
        if (!old) return hit;
        if (old.innerHTML !== hit.innerHTML) old.replaceChildren(...hit.childNodes);
        old.className = hit.className;
        return old;
      });
      return moved(() => {
        for (const name of ["full", "weaker"]) list.dataset[name] = made.dataset[name];
        list.replaceChildren(...next);
        known = null;
        dress();
        if (reached && !list.contains(document.activeElement)) one(".open", hitOf(reached) ?? root)?.focus({ preventScroll: true });
      });
    },
    /** Take the shades of an answer. Only passages and bars change, so that what the user is pressing stays there. */
    shade: (content) => {
      for (const made of all(".hit", content)) {
        const hit = hitOf(made.dataset.passage);
        for (const css of hit ? [".passage", ".bar"] : []) {
          const [there, next] = [one(css, hit), one(css, made)];
          if (there.innerHTML !== next.innerHTML) there.replaceWith(next);
        }
      }
    },

    /** Load what ranks the hits again in the page. */
    load: (address) =>
      (loading ??= (async () => {
        const reply = await fetch(address).catch(() => null);
        known = reply?.ok ? await reply.json() : null;
        cards = new Map(hits().map((hit) => [Number(hit.dataset.passage), hit]));
        for (const seg of all(".seg", list)) Object.assign(seg.dataset, { m0: seg.dataset.m, k0: seg.dataset.k });
        return Boolean(known);
      })().finally(() => (loading = null))),
    hasCandidates: () => Boolean(known),
    /** Rank again; false if only the server can: it is exact as long as the bound of what the server sent proves it. */
    rank: (chosen) => {
      const { ids, scores, exact } = whatIf(known, chosen);
      if (!exact || ids.some((id) => !cards.has(id))) return false;
      const hybrid = known.mode === "hybrid";
      const weights = hybrid ? [chosen.weight / (known.weight || 1), (1 - chosen.weight) / (1 - known.weight || 1)] : [1, 1];
      moved(() => {
        ids.forEach((id, at) => draw(cards.get(id), scores[at], weights[0], weights[1]));
        const ranked = ids.map((id) => cards.get(id));
        fold(ranked, scores);
        list.replaceChildren(...ranked);
        one(".changed", root).hidden = false;
        one(".counted", root).hidden = true;
      });
      return true;
    },
    /** Set the focus on the next hit, or the one before. */
    go: (step) => {
      const at = hits().indexOf(focused());
      const hit = hits()[Math.min(Math.max(at + step, 0), hits().length - 1)];
      if (hit?.classList.contains("is-weaker")) one(".weaker", root).open = true;
      one(".open", hit ?? root)?.focus({ preventScroll: true });
      hit?.scrollIntoView({ block: "nearest" });
    },
    dress,
  };
};
