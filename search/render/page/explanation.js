// @ts-check
// Point at a word of one text: the other is shaded by the row or column of the chosen matrix.

import { page } from "./page.js";

let explanations = 0;
page.define("why-explanation", (root, data) => {
  const count = ++explanations;
  const detail = root.querySelector(".detail");
  const choice = root.querySelector(".choice");
  const hint = detail.firstElementChild;
  const shown = 8;
  let matrix = "contribution";
  let chosen = null; // by keyboard or click; stays
  let pointed = null; // by the mouse; goes when it goes

  const sides = {};
  for (const side of ["query", "passage"]) {
    const panel = root.querySelector(`[data-side="${side}"]`);
    sides[side] = { panel, units: [...panel.querySelectorAll(".unit")], other: side === "query" ? "passage" : "query" };
  }
  const alone = (side, number) => data[side][number].kind === "word" || data[side][number].kind === "context";
  const cell = (side, number, partner) => {
    const [i, j] = side === "query" ? [number, partner] : [partner, number];
    return data[matrix][i]?.[j] ?? 0; // the last unit, what the model adds to any text, has no cosines
  };
  const row = (side, number) => data[sides[side].other].map((_, partner) => cell(side, number, partner));
  const total = (values) => values.reduce((sum, value) => sum + value, 0);

  // What a unit is shaded by when no other is chosen: its sum, or its best match among words.
  const own = (side, number) => {
    if (matrix === "contribution") return data.sums[side][number];
    const values = row(side, number);
    const words = values.filter((_, partner) => alone(sides[side].other, partner));
    return Math.max(...(words.length ? words : values));
  };

  const end = (side) => {
    if (matrix === "cosine") return 1;
    const sums = data[side].map((_, i) => (alone(side, i) ? Math.abs(own(side, i)) : 0));
    return Math.max(...sums) || 1;
  };

  // Where the shades of a chosen unit's partners end: at the largest of them that is a word.
  const deepest = ({ side, number }) => {
    if (matrix === "cosine") return 1;
    const words = row(side, number).filter((_, partner) => alone(sides[side].other, partner));
    return Math.max(...words.map(Math.abs), 0) || data.limit;
  };

  const paint = () => {
    const active = pointed || chosen;
    root.dataset.matrix = matrix;
    for (const [side, { units, other }] of Object.entries(sides)) {
      const limit = active ? deepest(active) : end(side);
      for (const unit of units) {
        const number = Number(unit.dataset.unit);
        const mine = active !== null && active.side === side;
        unit.classList.toggle("active", mine && active.number === number);
        const value = !active ? own(side, number) : mine ? 0 : cell(other, active.number, number);
        page.shade(unit, value, limit);
        unit.setAttribute("aria-pressed", String(chosen !== null && chosen.side === side && chosen.number === number));
      }
    }
    tell(active);
    reachable();
  };

  // Where there is little room for it, it scrolls, also by keys.
  const reachable = () => {
    if (detail.scrollHeight > detail.clientHeight) detail.tabIndex = 0;
    else detail.removeAttribute("tabindex");
  };
  new ResizeObserver(reachable).observe(detail);

  const tell = (active) => {
    if (!active) {
      detail.replaceChildren(hint);
      return;
    }
    const other = sides[active.side].other;
    const values = row(active.side, active.number);
    const limit = deepest(active);
    const places = matrix === "cosine" ? 3 : limit < 0.002 ? 5 : 4;
    const listed = values
      .map((value, i) => ({ label: data[other][i].label, value, kind: data[other][i].kind }))
      .filter(({ kind }) => matrix === "contribution" || kind !== "offset");
    listed.sort((a, b) => b.value - a.value);
    const negative = matrix === "contribution" ? listed.filter(({ value }) => value < 0).slice(-2) : [];
    const strongest = listed.slice(0, shown - negative.length).filter((one) => !negative.includes(one));
    const head = page.element("p");
    head.append(page.element("b", ""));
    head.firstChild.append(page.element("bdi", data[active.side][active.number].label));
    if (matrix === "contribution") {
      const sum = page.signed(own(active.side, active.number), 4);
      head.append(` added ${sum} to the score of ${data.score.toFixed(4)}. Most of it with:`);
    } else {
      head.append(" is most like:");
    }
    const rest = listed.length - strongest.length - negative.length;
    const foot = page.element("p", undefined, "faint");
    if (rest > 0 && matrix === "contribution") {
      const others = total(values) - total([...strongest, ...negative].map(({ value }) => value));
      foot.append(`${rest === 1 ? "1 other" : rest + " others together"} ${page.signed(others, places)}. `);
    }
    if (matrix === "contribution") foot.append(`Darkest shade: ${limit.toFixed(places)}`);
    const longest = matrix === "cosine" ? 1 : Math.max(...values.map(Math.abs)) || 1;
    detail.replaceChildren(head, page.partners([...strongest, ...negative], longest, places), foot);
  };

  const unitAt = (target) => {
    const found = target.closest && target.closest("[data-unit]");
    const panel = found && found.closest(".panel");
    return panel ? { side: panel.dataset.side, number: Number(found.dataset.unit), found } : null;
  };

  for (const { panel, units } of Object.values(sides)) {
    if (units.length) units[0].tabIndex = 0;
    panel.addEventListener("mouseover", (event) => {
      pointed = unitAt(event.target);
      paint();
    });
    panel.addEventListener("mouseleave", () => {
      pointed = null;
      paint();
    });
    panel.addEventListener("focusin", (event) => {
      chosen = unitAt(event.target);
      pointed = null; // whatever moved last counts
      for (const unit of units) unit.tabIndex = unit === event.target ? 0 : -1;
      paint();
    });
    panel.addEventListener("keydown", (event) => {
      const at = units.indexOf(event.target);
      const to = { ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1, Home: 0, End: units.length - 1 }[event.key];
      if (at < 0) return;
      if (to !== undefined) {
        event.preventDefault();
        units[Math.max(0, Math.min(to, units.length - 1))].focus();
      } else if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        chosen = chosen ? null : unitAt(event.target);
        paint();
      }
    });
  }
  root.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !(chosen || pointed)) return;
    event.stopPropagation(); // there was something to leave here
    chosen = pointed = null;
    paint();
  });
  for (const radio of choice.querySelectorAll("input")) {
    radio.name = `matrix-${count}`; // radios of one name are one group, wherever they stand
    radio.checked = radio.value === matrix;
    radio.addEventListener("change", () => {
      matrix = radio.value;
      paint();
    });
  }
  choice.hidden = false;
  paint();
});
