// @ts-check
// What every page has: light and dark, what it keeps, custom elements with their data, and lists of partners with bars.

export const page = (() => {
  const element = (name, text, className) => {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    if (className) made.className = className;
    return made;
  };

  const signed = (value, places) =>
    (value < 0 ? "\u2212" : "+") + Math.abs(value).toFixed(places);

  const bar = (value, end) => {
    const space = "http://www.w3.org/2000/svg";
    const svg = document.createElementNS(space, "svg");
    svg.setAttribute("class", "level");
    svg.setAttribute("viewBox", "0 0 100 10");
    svg.setAttribute("preserveAspectRatio", "none");
    svg.setAttribute("aria-hidden", "true");
    const rect = document.createElementNS(space, "rect");
    rect.setAttribute("class", value < 0 ? "minus" : "plus");
    rect.setAttribute("width", String(100 * Math.min(Math.abs(value) / end, 1)));
    rect.setAttribute("height", "10");
    svg.append(rect);
    return svg;
  };

  // A table of {label, value}, strongest first.
  const partners = (list, end, places) => {
    const table = element("table", undefined, "added");
    const body = element("tbody");
    for (const { label, value } of list) {
      const row = element("tr");
      const name = element("th");
      name.scope = "row";
      name.append(element("bdi", label));
      const graph = element("td");
      graph.append(bar(value, end));
      row.append(name, element("td", signed(value, places)), graph);
      body.append(row);
    }
    table.append(body);
    return table;
  };

  const levels = 9;
  const shade = (target, value, end) => {
    const level = Math.round(levels * Math.min(Math.abs(value) / end, 1));
    for (let i = 0; i <= levels; i++) target.classList.toggle("l" + i, i === level);
    target.classList.toggle("minus", value < 0 && level > 0);
  };

  // A custom element, made once it stands in a page, also if that is later. Its data stand in it as JSON.
  const define = (name, start) =>
    customElements.define(
      name,
      class extends HTMLElement {
        connectedCallback() {
          if (this.started) return;
          this.started = true;
          const data = this.querySelector(':scope > script[type="application/json"]');
          start(this, data && JSON.parse(data.textContent));
        }
      }
    );

  // What the user chose, kept in this browser; for as long as the page is there where that refuses, and of a file.
  const here = new Map();
  const inBrowser = (name, does, otherwise) => {
    try {
      if (location.protocol.startsWith("http")) return does(localStorage, "seewhy-" + name);
    } catch {}
    return otherwise();
  };
  const kept = {
    get: (name) =>
      here.get(name) ?? inBrowser(name, (store, key) => JSON.parse(store.getItem(key)), () => null),
    set: (name, value) => {
      here.delete(name);
      inBrowser(name, (store, key) => store.setItem(key, JSON.stringify(value)), () => here.set(name, value));
    },
    forget: (name) => {
      here.delete(name);
      inBrowser(name, (store, key) => store.removeItem(key), () => null);
    },
  };

  // HTML that the server made, as a fragment.
  const fragment = async (address) => {
    const headers = { "X-Seewhy-Fragment": "1", Accept: "text/html" };
    const reply = await fetch(address, { headers, credentials: "same-origin" });
    const made = document.createElement("template");
    made.innerHTML = await reply.text();
    return { status: reply.status, later: Number(reply.headers.get("Retry-After")), content: made.content };
  };
  const away = "The server does not answer. Start it again with: seewhy serve";

  return { element, signed, bar, partners, shade, kept, define, fragment, away };
})();

page.define("theme-switch", (root) => {
  const whole = document.documentElement;
  const names = ["as the system", "light", "dark"];
  const button = page.element("button", undefined, "tool");
  button.type = "button";
  button.innerHTML =
    '<svg class="icon" viewBox="0 0 16 16" aria-hidden="true"><circle cx="8" cy="8" r="5.5"/><path d="M8 2.5a5.5 5.5 0 0 1 0 11z" fill="currentColor"/></svg>';
  const show = (name) => {
    if (name === names[0]) delete whole.dataset.theme;
    else whole.dataset.theme = name;
    button.title = `Theme: ${name}`;
    button.setAttribute("aria-label", button.title);
  };
  button.addEventListener("click", () => {
    const next = names[(names.indexOf(whole.dataset.theme ?? names[0]) + 1) % names.length];
    show(next);
    page.kept.set("theme", next);
  });
  const kept = page.kept.get("theme");
  show(names.includes(kept) ? kept : names[0]);
  root.append(button);
});
