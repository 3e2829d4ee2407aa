// @ts-check
// The X-ray of two texts: the layer moves in all parts at once, a piece is marked wherever it stands, and what somebody
// types is answered by the server. All numbers are in the HTML.

import { page } from "./page.js";

/** @type {(css: string, at: ParentNode) => any} */
const one = (css, at) => at.querySelector(css);
/** @type {(css: string, at: ParentNode) => any[]} */
const all = (css, at) => [...at.querySelectorAll(css)];

page.define("x-ray", (root) => {
  const form = one("form.texts-of", root);
  const result = one("[data-part=result]", root);
  /** @type {{layer: number, side: string, token: number, target: any}} */
  const state = { layer: 0, side: "", token: -1, target: null };
  let asked = 0;

  // ---- the layer

  const layer = (number) => {
    const slider = one("[data-part=layer]", result);
    state.layer = Math.min(number, Number(slider.max));
    root.dataset.layer = String(state.layer);
    slider.value = String(state.layer);
    const last = state.layer === Number(slider.max);
    const name = state.layer === 0 ? "0: as typed" : last ? `${state.layer}: mixed` : String(state.layer);
    slider.nextElementSibling.textContent = name;
    slider.setAttribute("aria-valuetext", name);
    for (const { layers } of Object.values(sides))
      for (const [at, { row }] of layers) row.classList.toggle("is-at", at === state.layer);
    shade();
    one("token-grid", result)?.dispatchEvent(new CustomEvent("layer", { detail: String(state.layer) }));
  };
  // Pieces, and rows of the strip by layer with their cells, of both texts; anew with each answer.
  /** @type {Record<string, {pieces: any[], layers: Map<number, {row: any, cells: any[]}>}>} */
  let sides = {};
  const gather = () => {
    sides = {};
    for (const side of ["query", "passage"]) {
      const rows = all(`.strip[data-side=${side}] tr[data-layer]`, result);
      const layers = rows.map((row) => [Number(row.dataset.layer), { row, cells: all("td", row) }]);
      sides[side] = { pieces: all(`.piece[data-side=${side}]`, result), layers: new Map(/** @type {any} */ (layers)) };
    }
  };
  const SHADE = /\b(l\d|minus)\b/g;
  const tint = (piece, cell) => {
    const made = `${piece.className.replace(SHADE, "").trim()} ${(cell.className.match(SHADE) ?? []).join(" ")}`;
    if (piece.className !== made) piece.className = made;
  };
  // Pieces have the shades of the layer; while one is pointed at, the other text has those of its row of the grid.
  const shade = () => {
    const grid = one("token-grid", result);
    const values = state.token < 0 ? null : grid?.row?.(state.side, state.token);
    for (const [side, { pieces, layers }] of Object.entries(sides)) {
      const cells = layers.get(state.layer)?.cells ?? [];
      pieces.forEach((piece, token) => {
        if (values && side !== state.side) page.shade(piece, values.cells[token] ?? 0, values.end);
        else tint(piece, cells[token]);
      });
    }
  };

  // ---- a piece, wherever it stands

  const point = (target) => {
    if (target === state.target) return;
    const row = target?.closest("tr[data-layer]");
    const side = (row ? target.closest("table") : target)?.dataset.side ?? "";
    const token = row ? target.cellIndex - 1 : Number(target?.dataset.token ?? -1);
    const isPiece = side && token < sides[side].pieces.length; // the last column is the offset
    Object.assign(state, { side: isPiece ? side : "", token: isPiece ? token : -1, target });
    for (const lit of all(".is-on", root)) lit.classList.remove("is-on");
    const note = one("[data-part=note]", result);
    note.textContent = "\u00a0";
    if (isPiece) {
      const cells = [...sides[side].layers.values()].map((layer) => layer.cells[token]);
      const others = all(`[data-side=${side}][data-token="${token}"]`, result);
      for (const same of [...cells, ...others]) same.classList.add("is-on");
      const piece = sides[side].pieces[token];
      if (row) note.textContent = `“${piece.textContent.trim()}” traced to layer ${row.dataset.layer}: ${target.textContent} thousandths of the cosine.`;
      else note.textContent = `“${piece.textContent.trim()}” is ${piece.dataset.note}.`;
    }
    shade();
  };
  const at = (event) => event.target.closest?.("[data-token], .strip tr[data-layer] td");
  root.addEventListener("pointerover", (event) => point(at(event)));
  root.addEventListener("pointerleave", () => point(null));
  root.addEventListener("focusin", (event) => {
    const piece = at(event);
    if (!piece?.matches(".piece")) return;
    for (const other of all(".piece", piece.parentNode)) other.tabIndex = other === piece ? 0 : -1;
    point(piece);
  });
  root.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const piece = at(event);
    if (!step || !piece?.matches(".piece")) return;
    event.preventDefault();
    const pieces = all(".piece", piece.parentNode);
    pieces[(pieces.indexOf(piece) + step + pieces.length) % pieces.length].focus();
  });

  // ---- typing

  const put = (content) => {
    const made = one("[data-part=result]", content);
    if (!made) return;
    const opened = state.layer;
    Object.assign(state, { side: "", token: -1, target: null });
    result.replaceChildren(...made.childNodes);
    dress();
    layer(opened);
    root.dispatchEvent(new Event("drawn", { bubbles: true }));
  };
  const ask = async () => {
    const mine = ++asked;
    const address = `/xray?${new URLSearchParams(/** @type {any} */ (new FormData(form)))}`;
    root.setAttribute("aria-busy", "true");
    const { content } = await page.fragment(address).catch(() => ({ content: null }));
    if (mine !== asked) return;
    root.removeAttribute("aria-busy");
    const alert = one("[role=alert]", content ?? document.createDocumentFragment());
    if (!content || alert) one("[data-part=note]", result).textContent = alert?.textContent ?? page.away;
    else put(content);
    if (content && location.pathname === "/xray") history.replaceState(null, "", address);
  };
  form?.addEventListener("submit", (event) => {
    event.preventDefault();
    ask();
  });
  form?.addEventListener("input", (event) => {
    const typed = all("[name=text]", form).every((field) => field.value.trim());
    if (typed && !event.isComposing) ask();
  });

  // ---- attention: another head

  const head = async (choice) => {
    const address = `/xray?part=heads&${new URLSearchParams(/** @type {any} */ (new FormData(choice)))}`;
    const { content } = await page.fragment(address).catch(() => ({ content: null }));
    const table = content && one("table", content);
    if (table) one("[data-part=head]", result).replaceChildren(table);
  };

  // ---- the tour: one step after the other, each beside what it is about

  const tour = (list) => {
    const steps = all("li", list);
    const box = page.element("aside", undefined, "caption");
    box.setAttribute("role", "status");
    let here = 0;
    const end = () => {
      box.remove();
      for (const each of all(".is-toured", root)) each.classList.remove("is-toured");
    };
    const go = (number) => {
      if (number >= steps.length) return end();
      here = Math.max(number, 0);
      const step = steps[here];
      for (const each of all(".stage", root)) each.classList.toggle("is-toured", each.dataset.step === step.dataset.at);
      const section = one(`.stage[data-step=${step.dataset.at}]`, root);
      if (!section) return go(number + 1);
      text.textContent = step.textContent;
      count.textContent = `${here + 1} of ${steps.length}`;
      back.disabled = here === 0;
      next.textContent = here === steps.length - 1 ? "Done" : "Next";
      section.scrollIntoView({ block: "start", behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });
    };
    const button = (label, work) => {
      const made = Object.assign(page.element("button", label, "chip"), { type: "button" });
      made.addEventListener("click", work);
      return made;
    };
    const [text, count] = [page.element("p"), page.element("span", "", "quiet")];
    const back = button("Back", () => go(here - 1));
    const next = button("Next", () => go(here + 1));
    const foot = page.element("div");
    foot.append(count, back, next, button("End", end));
    box.append(text, foot);
    box.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      event.stopPropagation();
      end();
    });
    one(".caption", root)?.remove();
    root.append(box);
    go(0);
    next.focus({ preventScroll: true });
  };

  const dress = () => {
    gather();
    const slider = one("[data-part=layer]", result);
    slider.closest("label").hidden = slider.max === "0";
    slider.addEventListener("input", () => layer(Number(slider.value)));
    for (const { layers } of Object.values(sides))
      for (const [at, { row }] of layers) row.addEventListener("click", () => layer(at));
    for (const piece of Object.values(sides).flatMap(({ pieces }) => pieces)) {
      piece.dataset.note = piece.title; // said below, not in a tooltip
      piece.removeAttribute("title");
    }
    const choice = one("form.head", result);
    if (choice) one("button", choice).hidden = true;
    const place = one("[data-part=head]", result);
    if (choice && !place.childElementCount) {
      const sight = new IntersectionObserver((entries) => {
        if (!entries.some((entry) => entry.isIntersecting)) return;
        sight.disconnect();
        head(choice);
      });
      sight.observe(place);
    }
    choice?.addEventListener("change", () => head(choice));
    choice?.addEventListener("submit", (event) => {
      event.preventDefault();
      head(choice);
    });
    one(".tour summary", result)?.addEventListener("click", (event) => {
      event.preventDefault();
      tour(one(".tour", result));
    });
  };
  const send = form && one("button", form);
  if (send) send.hidden = true; // every letter is answered
  dress();
  layer(0);
  root.addEventListener("matrices", shade); // the grid has other numbers now
});
