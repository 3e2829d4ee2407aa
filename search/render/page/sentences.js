// @ts-check
// Point at a cell: its two sentences; at a sentence: which are most like it.

import { page } from "./page.js";

page.define("sentence-matrix", (root, data) => {
  const table = root.querySelector("table.matrix");
  const detail = root.querySelector(".detail");
  const hint = detail.firstElementChild;
  const grid = [...table.rows].map((row) => [...row.cells]);
  const shown = 8;
  /** @typedef {{row: number | null, column: number | null}} Place */
  /** @type {Place?} */
  let chosen = null;
  /** @type {Place?} */
  let pointed = null;

  const placeOf = (target) => {
    const found = target.closest && target.closest("[data-row], [data-column]");
    if (!found) return null;
    const { row, column } = found.dataset;
    return { row: row === undefined ? null : Number(row), column: column === undefined ? null : Number(column) };
  };

  const paint = () => {
    const active = pointed || chosen;
    grid.forEach((cells, i) =>
      cells.forEach((cell, j) => {
        const inRow = active !== null && active.row === i - 1;
        const inColumn = active !== null && active.column === j - 1;
        cell.classList.toggle("active", inRow && inColumn);
        cell.classList.toggle("beside", (inRow && j === 0) || (inColumn && i === 0));
      })
    );
    tell(active);
  };

  const sentence = (list, number, name) => {
    const line = page.element("p");
    line.append(page.element("b", name + " "), page.element("bdi", list[number]));
    return line;
  };

  const tell = (active) => {
    if (!active) {
      detail.replaceChildren(hint);
    } else if (active.row !== null && active.column !== null) {
      const value = page.element("p", `cosine ${page.signed(data.cosine[active.row][active.column], 4)}`, "value");
      const first = sentence(data.rows, active.row, String(active.row + 1));
      const second = sentence(data.columns, active.column, data.names[active.column]);
      detail.replaceChildren(value, first, second);
    } else {
      const byRow = active.row !== null;
      const number = byRow ? active.row : active.column;
      const others = byRow ? data.columns : data.rows;
      const listed = others
        .map((label, i) => ({ label, value: byRow ? data.cosine[number][i] : data.cosine[i][number], i }))
        .filter(({ i }) => !data.itself || i !== number)
        .sort((a, b) => b.value - a.value)
        .slice(0, shown);
      const name = byRow ? String(number + 1) : data.names[number];
      const head = sentence(byRow ? data.rows : data.columns, number, name);
      head.append(" is most like:");
      detail.replaceChildren(head, page.partners(listed, 1, 3));
    }
  };

  const focusable = (cell) => (cell.hasAttribute("tabindex") ? cell : cell.querySelector("[tabindex]"));
  focusable(grid[1][1]).tabIndex = 0;
  table.addEventListener("mouseover", (event) => {
    pointed = placeOf(event.target);
    paint();
  });
  table.addEventListener("mouseleave", () => {
    pointed = null;
    paint();
  });
  table.addEventListener("focusin", (event) => {
    table.querySelectorAll('[tabindex="0"]').forEach((one) => (one.tabIndex = -1));
    event.target.tabIndex = 0;
    chosen = placeOf(event.target);
    pointed = null; // whatever moved last counts
    paint();
  });
  table.addEventListener("keydown", (event) => {
    const move = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }[event.key];
    const cell = event.target.closest("td, th");
    if (!move || !cell) return;
    event.preventDefault();
    const next = grid[cell.parentElement.rowIndex + move[0]]?.[cell.cellIndex + move[1]];
    if (next && focusable(next)) focusable(next).focus();
  });
  root.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !(chosen || pointed)) return;
    event.stopPropagation(); // there was something to leave here
    chosen = pointed = null;
    paint();
  });
});
