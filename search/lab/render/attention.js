// @ts-check
// Choose a layer and a head; point at a token: what it reads, or who reads it.

import { page } from "./page.js";

page.define("attention-view", (root, data) => {
  const n = data.tokens.length;
  const shown = 8;
  const faintest = 0.05; // lines below it are drawn only for the token that is pointed at
  const green = [38, 150, 95];
  const space = "http://www.w3.org/2000/svg";
  const part = (name) => root.querySelector(`[data-part="${name}"]`);
  const [layerBox, headBox, all] = ["layer", "head", "all"].map(part);
  const [lines, detail, controls, view] = [".lines", ".detail", ".controls", ".view"].map((one) => root.querySelector(one));
  const hint = detail.firstElementChild;
  const sides = Object.fromEntries(
    ["from", "to"].map((side) => [side, [...root.querySelectorAll(`[data-side="${side}"] .unit`)]])
  );
  const headName = (head) => (head <= data.heads ? `head ${head}` : "mean of the heads");
  let layer = data.opened[0];
  let head = data.opened[1];
  /** @typedef {{side: string, number: number}} Place */
  /** @type {Place?} */
  let chosen = null; // by keyboard or click; stays
  /** @type {Place?} */
  let pointed = null; // by the mouse; goes when it goes

  const matrix = (l, h) => data.weights[l - 1][h - 1].map((weight) => weight / 1000);
  const weight = (i, j) => data.weights[layer - 1][head - 1][i * n + j] / 1000;
  const between = (side, one, other) => (side === "from" ? weight(one, other) : weight(other, one));

  lines.setAttribute("viewBox", `0 0 100 ${10 * n}`);
  lines.setAttribute("preserveAspectRatio", "none");
  const fit = () => lines.style.setProperty("height", `${sides.from[0].closest("ol").offsetHeight}px`);

  const draw = (active) => {
    const made = [];
    const add = (i, j, value) => {
      const line = document.createElementNS(space, "line");
      const ends = { x1: 0, y1: 10 * i + 5, x2: 100, y2: 10 * j + 5 };
      for (const [name, place] of Object.entries(ends)) line.setAttribute(name, String(place));
      line.setAttribute("stroke-opacity", String(active ? Math.sqrt(value) : value));
      made.push(line);
    };
    for (let i = 0; i < n; i++) {
      if (active && active.side === "from" && active.number !== i) continue;
      for (let j = 0; j < n; j++) {
        if (active && active.side === "to" && active.number !== j) continue;
        const value = weight(i, j);
        if (value >= (active ? 0.001 : faintest)) add(i, j, value);
      }
    }
    lines.replaceChildren(...made);
  };

  const paint = () => {
    const active = pointed || chosen;
    for (const [side, units] of Object.entries(sides))
      units.forEach((unit, number) => {
        const mine = active !== null && active.side === side;
        unit.classList.toggle("active", mine && active.number === number);
        page.shade(unit, active && !mine ? between(active.side, active.number, number) : 0, 1);
        const held = chosen !== null && chosen.side === side && chosen.number === number;
        unit.setAttribute("aria-pressed", String(held));
      });
    draw(active);
    tell(active);
  };

  const tell = (active) => {
    const where = page.element("p", `Layer ${layer}, ${headName(head)}`, "value");
    if (!active) {
      detail.replaceChildren(where, hint);
      return;
    }
    const { side, number } = active;
    const values = data.tokens.map((label, i) => ({ label: `${i} ${label}`, value: between(side, number, i) }));
    const sum = values.reduce((total, { value }) => total + value, 0);
    values.sort((a, b) => b.value - a.value);
    const line = page.element("p");
    line.append(`${number} `, page.element("b", ""));
    line.lastChild.append(page.element("bdi", data.tokens[number]));
    line.append(side === "from" ? " reads most of:" : " is read most by:");
    const others = values.slice(shown).reduce((total, { value }) => total + value, 0);
    const rest = values.length > shown ? `${values.length - shown} others together ${others.toFixed(3)}. ` : "";
    const end = side === "from" ? "A row sums to 1." : `Sum: ${sum.toFixed(3)}; a column need not sum to 1.`;
    const foot = page.element("p", rest + end, "quiet");
    const table = page.partners(values.slice(0, shown), 1, 3);
    for (const cell of table.querySelectorAll("td:nth-child(2)")) cell.textContent = cell.textContent.slice(1); // no +
    detail.replaceChildren(where, line, table, foot);
  };

  // The small pictures.
  const buttons = new Map();
  const small = () => {
    const table = page.element("table", undefined, "small");
    const top = table.createTHead().insertRow();
    top.append(page.element("td"));
    const heads = Array.from({ length: data.heads + 1 }, (_, i) => i + 1);
    for (const one of heads) {
      const name = page.element("th", one <= data.heads ? `head ${one}` : "mean");
      name.scope = "col";
      top.append(name);
    }
    const body = table.createTBody();
    for (let l = 1; l <= data.layers; l++) {
      const row = body.insertRow();
      const name = page.element("th", `layer ${l}`);
      name.scope = "row";
      row.append(name);
      for (const h of heads) {
        const button = page.element("button");
        button.type = "button";
        button.tabIndex = -1;
        button.setAttribute("aria-label", `layer ${l}, ${headName(h)}`);
        button.append(picture(matrix(l, h)));
        button.addEventListener("click", () => choose(l, h));
        button.addEventListener("keydown", (event) => {
          const move = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }[event.key];
          const next = move && buttons.get(`${l + move[0]}-${h + move[1]}`);
          if (!next) return;
          event.preventDefault();
          choose(l + move[0], h + move[1]);
          next.focus();
        });
        buttons.set(`${l}-${h}`, button);
        row.insertCell().append(button);
      }
    }
    all.querySelector(".scroll").append(table);
    all.hidden = false;
  };

  const picture = (weights) => {
    const canvas = page.element("canvas");
    canvas.width = canvas.height = n;
    const image = new ImageData(n, n);
    weights.forEach((value, i) => image.data.set([...green, Math.round(255 * Math.sqrt(value))], 4 * i));
    canvas.getContext("2d").putImageData(image, 0, 0);
    return canvas;
  };

  const choose = (l, h) => {
    layer = l;
    head = h;
    layerBox.value = String(l);
    headBox.value = String(h);
    for (const [key, button] of buttons) {
      const mine = key === `${l}-${h}`;
      button.setAttribute("aria-pressed", String(mine));
      button.tabIndex = mine ? 0 : -1;
    }
    paint();
  };

  for (const box of [layerBox, headBox])
    box.addEventListener("change", () => choose(Number(layerBox.value), Number(headBox.value)));

  const tokenAt = (target) => {
    const found = target.closest && target.closest("[data-token]");
    return found ? { side: found.closest(".side").dataset.side, number: Number(found.dataset.token) } : null;
  };
  view.addEventListener("mouseover", (event) => {
    pointed = tokenAt(event.target);
    paint();
  });
  view.addEventListener("mouseleave", () => {
    pointed = null;
    paint();
  });
  view.addEventListener("focusin", (event) => {
    chosen = tokenAt(event.target);
    pointed = null; // whatever moved last counts
    for (const units of Object.values(sides))
      if (units.includes(event.target)) for (const unit of units) unit.tabIndex = unit === event.target ? 0 : -1;
    paint();
  });
  view.addEventListener("keydown", (event) => {
    const at = tokenAt(event.target);
    if (!at) return;
    const to = { ArrowDown: at.number + 1, ArrowUp: at.number - 1, Home: 0, End: n - 1 }[event.key];
    const across = { ArrowLeft: "from", ArrowRight: "to" }[event.key];
    if (to !== undefined) sides[at.side][Math.max(0, Math.min(to, n - 1))].focus();
    else if (across) sides[across][at.number].focus();
    else if (event.key === "Enter" || event.key === " ") {
      chosen = chosen ? null : at;
      paint();
    } else return;
    event.preventDefault();
  });
  root.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !(chosen || pointed)) return;
    event.stopPropagation(); // there was something to leave here
    chosen = pointed = null;
    paint();
  });
  sides.from[0].tabIndex = sides.to[0].tabIndex = 0;
  part("drawn").textContent =
    `Lines show weights of at least ${faintest}, and all weights of the token under the pointer.`;
  controls.hidden = false;
  fit();
  small();
  choose(layer, head);
});
