// @ts-check
// The pairs of words of two texts as a table: rows are the query, columns what matters of the passage.

import { page } from "./page.js";

page.define("token-grid", (root, data) => {
  const most = 24;
  /** @type {{matrix: string, by: string, all: boolean, opened: Set<number>, chosen: any, pointed: any}} */
  const state = { matrix: "cosine", by: data.by, all: false, opened: new Set(), chosen: null, pointed: null };
  const layers = { cosine: data.cosine.layer, contribution: data.contribution.layer };
  const whole = root.closest("x-ray"); // it moves the layer of all its parts at once
  const isWord = (kind) => kind === "word" || kind === "context";

  // Rows or columns: words with the range of their tokens, or tokens with the kind of their word.
  const sides = {};
  for (const name of ["query", "passage"]) {
    const { tokens, words } = data[name];
    let start = 0;
    const word = words.map(([label, kind, count]) => ({ label, kind, start, end: (start += count) }));
    const token = word.flatMap(({ kind, start, end }) =>
      tokens.slice(start, end).map((label, i) => ({ label, kind, start: start + i, end: start + i + 1 }))
    );
    sides[name] = { word, token };
  }
  const width = sides.passage.token.length;
  const items = (side) => sides[side][state.by];
  const shown = (item) => state.all || isWord(item.kind);

  // Matrices by layer, decoded when they are needed.
  const decoded = new Map();
  const matrix = (name, layer) => {
    const key = name + layer;
    if (!decoded.has(key)) {
      const [text, largest] = data[name].cells[layer];
      const bytes = Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));
      const numbers = new DataView(bytes.buffer);
      decoded.set(key, Float64Array.from({ length: bytes.length / 2 }, (_, i) => (numbers.getInt16(2 * i, true) / 32767) * largest));
    }
    return decoded.get(key);
  };
  const cell = (name, layer, row, column) => {
    const numbers = matrix(name, layer);
    let value = name === "cosine" ? -Infinity : 0;
    for (let i = row.start; i < row.end; i++)
      for (let j = column.start; j < column.end; j++) {
        const number = numbers[i * width + j];
        value = name === "cosine" ? Math.max(value, number) : value + number;
      }
    return value;
  };
  const value = (row, column) => cell(state.matrix, layers[state.matrix], row, column);

  // How much a column matters: what it adds at the layer that the page opens with, or its best cosine. So the columns
  // stay while the layer changes.
  const added = data.added.some((number) => number !== 0);
  const strength = (column) =>
    added
      ? data.added.slice(column.start, column.end).reduce((sum, number) => sum + number, 0)
      : Math.max(...sides.query.token.map((row) => cell("cosine", data.cosine.layer, row, column)));
  const strengths = { word: sides.passage.word.map(strength), token: sides.passage.token.map(strength) };

  const ends = () => {
    if (state.matrix === "cosine") return data.scale ?? [-1, 1];
    const words = (side) => items(side).filter(({ kind }) => isWord(kind));
    let largest = 0;
    for (const row of words("query")) for (const column of words("passage")) largest = Math.max(largest, Math.abs(value(row, column)));
    return [-(largest || 1), largest || 1];
  };
  // From 0 to 1, below 0 for the colour of negative numbers; without colour is 0, or the end of the range nearer to it.
  const depth = (number, [low, high]) => {
    const inside = Math.min(Math.max(number, low), high);
    if (low >= 0) return (inside - low) / (high - low);
    return high <= 0 ? (inside - high) / (high - low) : inside / Math.max(-low, high);
  };
  const text = (number) =>
    (state.matrix === "cosine" ? number.toFixed(2) : (1000 * number).toFixed(1)).replace(/^-(0\.?0*)$/, "$1").replace("-", "\u2212");
  const named = (layer) => (layer === data.last ? `layer ${layer}, the last one` : /^\d+$/.test(layer) ? `layer ${layer} of ${data.last}` : layer);

  // Controls.
  const controls = page.element("div", undefined, "controls");
  const pick = (legend, name, choices) => {
    const group = page.element("fieldset");
    group.append(page.element("legend", legend));
    for (const [key, label] of choices) {
      const box = page.element("label");
      const radio = Object.assign(page.element("input"), { type: "radio", checked: state[name] === key, value: key });
      radio.name = `${name}-${Math.random()}`;
      radio.addEventListener("change", () => {
        if (name === "matrix") return choose(key, layers[key]);
        state[name] = key;
        state.opened.clear();
        draw();
      });
      box.append(radio, label);
      group.append(box);
    }
    const first = group.querySelector("input").name;
    for (const radio of group.querySelectorAll("input")) radio.name = first;
    controls.append(group);
  };
  pick("Colour by", "matrix", [["cosine", "cosine"], ["contribution", "contribution"]]);
  pick("Rows and columns", "by", [["word", "words"], ["token", "tokens"]]);
  const special = Object.assign(page.element("input"), { type: "checkbox" });
  special.addEventListener("change", () => {
    state.all = special.checked;
    draw();
  });
  const specialLabel = page.element("label");
  specialLabel.append(special, "special tokens and punctuation");
  const slider = Object.assign(page.element("input"), { type: "range", min: "0", step: "1" });
  const output = page.element("output");
  const sliderLabel = page.element("label", "Layer ", "layer");
  sliderLabel.append(slider, output);
  controls.append(specialLabel, sliderLabel);

  const stops = () => {
    const listed = data.source ? data.layers : Object.keys(data[state.matrix].cells);
    const own = data[state.matrix].layer;
    return listed.includes(own) ? listed : [...listed, own];
  };
  // Show a matrix at a layer, as soon as its numbers are here.
  let asked = 0;
  const choose = (name, layer) => {
    const number = ++asked;
    const show = () => {
      if (number !== asked) return;
      state.matrix = name;
      layers[name] = layer;
      root.removeAttribute("aria-busy");
      draw();
    };
    if (data[name].cells[layer]) return show();
    root.setAttribute("aria-busy", "true");
    setTimeout(async () => {
      if (number !== asked) return; // the slider has moved on
      try {
        const reply = await fetch(`${data.source}&layer=${layer}`, { credentials: "same-origin" });
        if (!reply.ok) throw new Error();
        const numbers = await reply.json();
        for (const key of ["cosine", "contribution"]) data[key].cells[layer] ??= numbers[key];
        show();
      } catch {
        root.removeAttribute("aria-busy");
        draw();
        reading.textContent = page.away;
      }
    }, 200);
  };
  slider.addEventListener("input", () => {
    const layer = stops()[Number(slider.value)];
    output.textContent = named(layer);
    choose(state.matrix, layer);
  });
  // The layer of the X-ray, for both matrices.
  const follow = (layer) => {
    for (const name of ["cosine", "contribution"])
      if (data[name].cells[layer] || (data.source && name !== state.matrix)) layers[name] = layer;
  };
  root.addEventListener("layer", ({ detail }) => {
    if (!stops().includes(detail) || layers[state.matrix] === detail) return;
    follow(detail);
    choose(state.matrix, detail);
  });
  if (whole?.dataset.layer) follow(whole.dataset.layer);

  // The table.
  const box = page.element("div", undefined, "scroll");
  const table = page.element("table", undefined, "cells");
  box.append(table);
  const hint = "Point at a cell, or move between cells with the arrow keys: both pieces are marked above.";
  const reading = page.element("p", hint, "said");
  reading.setAttribute("aria-live", "polite");
  const space = "http://www.w3.org/2000/svg";
  const strip = document.createElementNS(space, "svg");
  strip.setAttribute("class", "overview");
  strip.setAttribute("aria-hidden", "true");
  strip.setAttribute("preserveAspectRatio", "none");
  const below = page.element("p", "The whole passage: darker words matter more; the underlined ones are in the table. Click to add one.", "quiet");
  root.append(controls, box, reading, strip, below);

  const isWide = () => root.clientWidth >= 640;
  const room = () => Math.max(6, Math.min(most, Math.floor((root.clientWidth - (isWide() ? 130 : 80)) / (isWide() ? 44 : 33))));
  const listed = () => {
    const columns = items("passage").map((item, j) => ({ ...item, j, strength: strengths[state.by][j] }));
    const usable = columns.filter(shown);
    const best = [...usable].sort((a, b) => Math.abs(b.strength) - Math.abs(a.strength)).slice(0, room());
    const visible = new Set([...best.map(({ j }) => j), ...state.opened]);
    return { usable, columns: usable.filter(({ j }) => visible.has(j)) };
  };

  let places = []; // focusable elements, row by row, the header first; null where there is none
  let of = new Map(); // element -> its row and column
  const draw = () => {
    const { usable, columns } = listed();
    const rows = items("query").filter(shown);
    const range = ends();
    root.dataset.matrix = state.matrix;
    for (const radio of controls.querySelectorAll("input[type=radio]")) radio.checked = Object.values(state).includes(radio.value);
    const choices = stops();
    slider.max = String(choices.length - 1);
    slider.value = String(choices.indexOf(layers[state.matrix]));
    sliderLabel.hidden = Boolean(whole) || choices.length < 2;
    output.textContent = named(layers[state.matrix]);
    slider.setAttribute("aria-valuetext", output.textContent);

    table.classList.toggle("is-long", columns.length > 14);
    const head = page.element("tr");
    head.append(page.element("td"));
    const body = rows.map(() => page.element("tr"));
    places = [[null], ...rows.map(() => [])];
    of = new Map();
    const put = (i, element, where) => {
      element.tabIndex = -1;
      places[i].push(element);
      of.set(element, where);
    };
    const gap = (missing) => {
      const words = `${missing.length} ${state.by}${missing.length > 1 ? "s" : ""}`;
      const button = Object.assign(page.element("button", "…"), { type: "button", title: `Show ${words}` });
      button.setAttribute("aria-label", `Show ${words}: ${missing.map(({ label }) => label).slice(0, 8).join(" ")}`);
      button.addEventListener("click", () => {
        for (const { j } of missing) state.opened.add(j);
        draw();
        [...of].find(([, { column }]) => column?.j === missing[0].j)?.[0].focus();
      });
      const heading = page.element("th", undefined, "between");
      heading.scope = "col";
      heading.append(button);
      put(0, button, {});
      head.append(heading);
      body.forEach((line, i) => {
        line.append(page.element("td", undefined, "between"));
        places[i + 1].push(null);
      });
    };
    rows.forEach((row, i) => {
      const heading = page.element("th");
      heading.scope = "row";
      heading.append(page.element("bdi", row.label));
      put(i + 1, heading, { row });
      body[i].append(heading);
    });
    let missing = [];
    for (const item of usable) {
      const column = columns.find(({ j }) => j === item.j);
      if (!column) {
        missing.push(item);
        continue;
      }
      if (missing.length) gap(missing);
      missing = [];
      const heading = page.element("th");
      heading.scope = "col";
      heading.append(page.element("bdi", column.label));
      put(0, heading, { column });
      head.append(heading);
      rows.forEach((row, i) => {
        const number = value(row, column);
        const field = page.element("td");
        field.append(page.element("span", text(number)));
        page.shade(field, depth(number, range), 1);
        put(i + 1, field, { row, column });
        body[i].append(field);
      });
    }
    if (missing.length) gap(missing);

    const caption = page.element("caption");
    const what = state.matrix === "cosine" ? "Cosines" : "Contributions to the score in thousandths";
    const traced = state.matrix === "cosine" ? "at" : "traced to";
    const part = columns.length < usable.length ? `${columns.length} of ${usable.length}` : String(columns.length);
    const size = `${rows.length} × ${part} ${state.by}s`;
    const colours = `Colours from ${range.map(text).join(" to ")}.`;
    caption.append(page.element("span", `${what}, ${traced} ${named(layers[state.matrix])}: ${size}. ${colours}`));
    const thead = page.element("thead");
    thead.append(head);
    const tbody = page.element("tbody");
    tbody.append(...body);
    table.replaceChildren(caption, thead, tbody);
    const first = places[1]?.find((element) => element?.tagName === "TD") ?? places[0][1];
    if (first) first.tabIndex = 0;
    state.chosen = state.pointed = null;
    mark();
    drawStrip(usable, columns);
    root.dispatchEvent(new Event("matrices", { bubbles: true }));
  };
  // The numbers of one token with those of the other text, and the number with the darkest shade.
  root.row = (side, token) => {
    const numbers = matrix(state.matrix, layers[state.matrix]);
    const height = sides.query.token.length;
    const cells =
      side === "query"
        ? Array.from({ length: width }, (_, j) => numbers[token * width + j])
        : Array.from({ length: height }, (_, i) => numbers[i * width + token]);
    return { cells, end: state.matrix === "cosine" ? 1 : Math.max(...cells.map(Math.abs)) || 1 };
  };

  const drawStrip = (usable, columns) => {
    const isPart = columns.length < usable.length;
    strip.style.display = isPart ? "" : "none";
    below.hidden = !isPart;
    strip.setAttribute("viewBox", `0 0 ${usable.length} 14`);
    const largest = Math.max(...usable.map(({ strength }) => Math.abs(strength))) || 1;
    const drawn = new Set(columns.map(({ j }) => j));
    strip.replaceChildren(
      ...usable.flatMap(({ j, strength }, x) => {
        const bar = (y, height, name) => {
          const rect = document.createElementNS(space, "rect");
          for (const [key, number] of Object.entries({ x: x + 0.05, y, width: 0.9, height })) rect.setAttribute(key, String(number));
          rect.setAttribute("class", name);
          return rect;
        };
        const level = Math.round(9 * Math.min(Math.abs(strength) / largest, 1));
        return [bar(0, 10, `l${level}${strength < 0 ? " minus" : ""}`), ...(drawn.has(j) ? [bar(11.5, 2.5, "shown")] : [])];
      })
    );
    strip.onmousemove = strip.onclick = (/** @type {MouseEvent} */ event) => {
      const { left, width } = strip.getBoundingClientRect();
      const item = usable[Math.min(usable.length - 1, Math.max(0, Math.floor(((event.clientX - left) / width) * usable.length)))];
      if (event.type === "click") {
        state.opened.add(item.j);
        draw();
      }
      state.pointed = { column: item };
      mark();
    };
  };
  strip.addEventListener("mouseleave", () => {
    state.pointed = null;
    mark();
  });

  // The pieces of a word, wherever they stand in the X-ray.
  const pieces = (side, item) =>
    [...(whole?.querySelectorAll(`[data-side="${side}"][data-token]`) ?? [])].filter(
      ({ dataset }) => Number(dataset.token) >= item.start && Number(dataset.token) < item.end
    );

  const mark = () => {
    const active = state.pointed ?? state.chosen;
    for (const piece of whole?.querySelectorAll(".paired") ?? []) piece.classList.remove("paired");
    for (const [element, { row, column }] of of) {
      const same = active && (row ? row.start === active.row?.start : true) && (column ? column.j === active.column?.j : true);
      element.classList.toggle("active", Boolean(same && row && column));
      element.classList.toggle("beside", Boolean(same && !(row && column) && (row || column)));
    }
    if (!active || !(active.row || active.column)) {
      reading.textContent = hint;
      return;
    }
    const { row, column } = active;
    for (const [side, item] of [["query", row], ["passage", column]]) {
      if (item) for (const piece of pieces(side, item)) piece.classList.add("paired");
    }
    const name = (item) => page.element("bdi", item.label);
    const strongest = (list, other) => list.reduce((best, item) => (other(item) > other(best) ? item : best));
    const kind = state.matrix === "cosine" ? "cosine" : "contribution in thousandths";
    if (row && column) {
      const digits = state.matrix === "cosine" ? value(row, column).toFixed(3).replace("-", "\u2212") : text(value(row, column));
      reading.replaceChildren(page.element("b", ""), ` ${kind} ${digits}`);
      reading.firstChild.append(name(row), " × ", name(column));
      return;
    }
    const partner = row
      ? strongest(items("passage").filter(shown), (item) => value(row, item))
      : strongest(items("query").filter(shown), (item) => value(item, column));
    const number = row ? value(row, partner) : value(partner, column);
    reading.replaceChildren(page.element("b", ""), ": most with ", name(partner), `, ${kind} ${text(number)}`);
    reading.firstChild.append(name(row ?? column));
  };

  const at = (target) => {
    const element = target.closest?.("td, th, button");
    return of.has(element) ? of.get(element) : null;
  };
  table.addEventListener("mouseover", (event) => {
    state.pointed = at(event.target);
    mark();
  });
  table.addEventListener("mouseleave", () => {
    state.pointed = null;
    mark();
  });
  table.addEventListener("focusin", (event) => {
    for (const element of of.keys()) element.tabIndex = element === event.target ? 0 : -1;
    state.chosen = at(event.target);
    state.pointed = null; // whatever moved last counts
    mark();
  });
  table.addEventListener("keydown", (event) => {
    const moves = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0], Home: [0, -Infinity], End: [0, Infinity] };
    const move = moves[event.key];
    const row = places.findIndex((line) => line.includes(event.target));
    if (!move || row < 0) return;
    event.preventDefault();
    let i = row;
    let j = places[row].indexOf(event.target);
    if (Math.abs(move[1]) === Infinity) places[i].at(move[1] > 0 ? -1 : 0)?.focus();
    else {
      do {
        i += move[0];
        j += move[1];
      } while (places[i]?.[j] === null);
      places[i]?.[j]?.focus();
    }
  });
  root.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !(state.chosen || state.pointed)) return;
    event.stopPropagation(); // there was something to leave here
    state.chosen = state.pointed = null;
    mark();
  });

  let last = 0;
  new ResizeObserver(() => {
    if (room() === last || table.contains(document.activeElement)) return;
    last = room();
    draw();
  }).observe(root);
  last = room();
  draw();
});
