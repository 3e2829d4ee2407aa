// @ts-check
// An explained hit as a picture, to paste into a chat: query, passage with its shades, and the bar of the score.

const [WIDTH, EDGE, SCALE] = [1200, 56, 2];
const INK = { text: "#16191d", quiet: "#59616c", line: "#e2e5ea", meaning: "#2f6fd0", keyword: "#b56c00", rest: "#c3c9d2" };
const SHADES = ["#dfeafb", "#c5dbfa", "#a3c7f8"];
const FAMILY = 'system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';

/**
 * The words of a passage, each with the highlight it has.
 * @param {Element} passage
 */
const wordsOf = (passage) =>
  [...passage.childNodes].flatMap((node) => {
    const mark = node instanceof Element ? node.classList : null;
    const shade = mark ? Number((/\bs([123])\b/.exec(mark.value) ?? [0, 1])[1]) : 0;
    const parts = (node.textContent ?? "").split(/(\n|[^\S\n]+)/).filter(Boolean);
    return parts.map((text) => ({ text, shade, exact: Boolean(mark?.contains("exact")) }));
  });

/**
 * Draw onto a canvas; without `height`, only measure. Returns the height.
 * @param {CanvasRenderingContext2D} at
 * @param {any} hit
 * @param {string} query
 */
const draw = (at, hit, query) => {
  const font = (size, weight = 400) => (at.font = `${weight} ${size}px ${FAMILY}`);
  const write = (text, x, y, colour = INK.text) => {
    at.fillStyle = colour;
    at.fillText(text, x, y);
  };
  const fitted = (text, width) => {
    if (at.measureText(text).width <= width) return text;
    while (text && at.measureText(`${text}…`).width > width) text = text.slice(0, -1);
    return `${text}…`;
  };
  const box = (x, y, width, height, colour, round = 3) => {
    at.fillStyle = colour;
    at.beginPath();
    at.roundRect(x, y, Math.max(width, 0), height, round);
    at.fill();
  };
  const inner = WIDTH - 2 * EDGE;

  let y = 76;
  font(30, 600);
  write(fitted(query, inner), EDGE, y);
  y += 22;
  box(EDGE, y, inner, 2, INK.line, 0);
  y += 50;
  font(26, 600);
  write(fitted(hit.title, inner), EDGE, y);
  y += 34;
  font(19);
  write(fitted(hit.place, inner), EDGE, y, INK.quiet);
  y += 46;

  font(26);
  let x = EDGE;
  for (const { text, shade, exact } of hit.words) {
    const width = at.measureText(text).width;
    if (text === "\n" || (x + width > WIDTH - EDGE && text.trim())) [x, y] = [EDGE, y + 42];
    if (!text.trim()) {
      if (x > EDGE && text !== "\n") x += width;
      continue;
    }
    if (shade) box(x - 3, y - 27, width + 6, 36, SHADES[shade - 1], 5);
    if (exact) box(x - 3, y + 6, width + 6, 3, INK.keyword, 0);
    write(text, x, y);
    x += width;
  }

  y += 40;
  const wide = inner - 100;
  for (const { name, start, width, meaning, minus, rest } of hit.parts) {
    const [left, long] = [EDGE + start * wide, width * wide];
    if (rest || minus) box(left, y, long - 3, 22, minus ? INK.line : INK.rest);
    else {
      box(left, y, long * meaning - 1, 22, INK.meaning);
      box(left + long * meaning, y, long * (1 - meaning) - 3, 22, INK.keyword);
    }
    font(19);
    if (at.measureText(name).width < long) write(name, left, y + 48, rest ? INK.quiet : INK.text);
  }
  font(26, 600);
  at.textAlign = "right";
  write(hit.score.toFixed(2), WIDTH - EDGE, y + 21);
  at.textAlign = "left";

  y += 100;
  font(19);
  x = EDGE;
  for (const [name, colour] of [["meaning", INK.meaning], ["keyword", INK.keyword], ["rest", INK.rest]]) {
    box(x, y - 14, 18, 14, colour);
    write(name, x + 26, y, INK.quiet);
    x += 50 + at.measureText(name).width;
  }
  write("The bar is the score; its parts sum to it.", x + 8, y, INK.quiet);
  font(22, 650);
  at.textAlign = "right";
  write("seewhy", WIDTH - EDGE, y);
  at.textAlign = "left";
  return y + 44;
};

/**
 * Return the picture of a hit.
 * @param {any} element
 * @param {string} query
 * @returns {Promise<Blob>}
 */
export const card = (element, query) => {
  const text = (css) => element.querySelector(css)?.textContent.trim() ?? "";
  const parts = [...element.querySelectorAll(".seg")].map((seg) => {
    const [m, k] = [Number(seg.dataset.m), Number(seg.dataset.k)];
    const [start, width] = ["x", "width"].map((name) => parseFloat(seg.getAttribute(name)) / 100);
    const name = seg.querySelector("title").textContent.split(": ")[0];
    const rest = seg.querySelector(".r") !== null;
    return { name, start, width, rest, minus: m + k < 0, meaning: m + k ? Math.min(Math.max(m / (m + k), 0), 1) : 1 };
  });
  const hit = {
    title: text("h2"),
    place: text(".where"),
    words: wordsOf(element.querySelector(".passage")),
    parts,
    score: Number(element.querySelector("data").value),
  };
  const canvas = document.createElement("canvas");
  const at = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  const height = draw(at, hit, query);
  [canvas.width, canvas.height] = [WIDTH * SCALE, height * SCALE];
  at.scale(SCALE, SCALE);
  at.fillStyle = "#ffffff";
  at.fillRect(0, 0, WIDTH, height);
  draw(at, hit, query);
  return new Promise((resolve) => canvas.toBlob((blob) => resolve(/** @type {Blob} */ (blob)), "image/png"));
};
