// Move among hits by keyboard, and put an explanation or a contrast beside them. All of it are links, too.
"use strict";

page.away = "The server does not answer. Start it again with: seewhy serve";

// HTML that the server made, as a fragment; an error is shown with what the server says of it.
page.fragment = async (address, signal) => {
  const headers = { "X-Seewhy-Fragment": "1", Accept: "text/html" };
  const reply = await fetch(address, { headers, signal, credentials: "same-origin" });
  const made = document.createElement("template");
  made.innerHTML = await reply.text();
  return { status: reply.status, later: Number(reply.headers.get("Retry-After")), content: made.content };
};

page.typing = (event) =>
  event.defaultPrevented || event.isComposing || event.ctrlKey || event.metaKey || event.altKey ||
  event.target.closest("input:not([type=checkbox], [type=range]), textarea, select, dialog[open]") !== null ||
  event.target.isContentEditable;

page.define("hit-list", (root) => {
  const beside = root.querySelector(".beside");
  const narrow = window.matchMedia("(max-width: 59.99rem)");
  let current = null; // passage id of the hit that keys are about
  let first = null; // marked for contrast
  let shown = ""; // what stands beside, as in the address: "why=12"
  let asked = 0;

  const hits = () => [...root.querySelectorAll(".hit")];
  const hit = () => hits().find((one) => one.dataset.passage === current);
  const link = (one, name) => one && one.querySelector("a." + name);

  const go = (step) => {
    const all = hits();
    if (!all.length) return;
    const at = all.findIndex((one) => one.contains(document.activeElement));
    const from = at < 0 ? all.findIndex((one) => one.dataset.passage === current) : at;
    const to = all[Math.max(0, Math.min(from < 0 ? 0 : from + step, all.length - 1))];
    link(to, "open").focus({ preventScroll: true });
    to.scrollIntoView({ block: "nearest" });
  };
  root.goTo = go;

  const remember = (what) => {
    shown = what;
    history.replaceState(history.state, "", location.pathname + location.search + (what ? "#" + what : ""));
  };

  // What stands beside is of another query.
  const clear = () => {
    asked++;
    shown = "";
    beside.hidden = true;
    beside.replaceChildren();
  };
  root.leave = () => {
    clear();
    first = null;
  };

  const close = () => {
    if (!beside || beside.hidden) return false;
    clear();
    remember("");
    const back = hit();
    if (back) link(back, "open").focus();
    return true;
  };
  root.close = close;

  const open = async (address, what) => {
    if (!beside) return void (location.href = address);
    const mine = ++asked;
    const { content } = await page.fragment(address).catch(() => ({ content: page.element("div", page.away, "warn") }));
    if (mine !== asked) return;
    const button = page.element("button", "Close", "close");
    button.type = "button";
    button.addEventListener("click", close);
    const bar = page.element("div", undefined, "bar-of");
    bar.append(content.querySelector("h2") ?? "", button);
    beside.replaceChildren(bar, content);
    beside.hidden = false;
    beside.scrollTop = 0;
    remember(what);
    if (narrow.matches) beside.focus();
  };

  // Also of a passage that is not among the hits.
  const explain = (passage) => {
    const way = link(hits().find((one) => link(one, "why")), "why");
    if (!way) return;
    const address = new URL(way.href);
    address.searchParams.set("passage", passage);
    open(address, "why=" + passage);
  };

  const contrast = (a, b) => {
    const way = link(hits().find((one) => link(one, "contrast")), "contrast");
    if (!way) return;
    const address = new URL(way.href);
    const order = hits().map((one) => one.dataset.passage);
    const [upper, lower] = [a, b].sort((one, other) => order.indexOf(one) - order.indexOf(other));
    address.searchParams.set("a", upper);
    address.searchParams.set("b", lower);
    open(address, `contrast=${upper},${lower}`);
  };

  const mark = (one) => {
    if (!one || !one.querySelector(".mark")) return;
    const passage = one.dataset.passage;
    const before = first;
    first = before === passage ? null : before === null ? passage : null;
    dress();
    if (before !== null && before !== passage) contrast(before, passage);
  };

  // What only a script can do.
  const dress = () => {
    for (const one of hits()) {
      for (const button of one.querySelectorAll(".copy, .mark")) button.hidden = false;
      const marker = one.querySelector(".mark");
      if (marker) marker.setAttribute("aria-pressed", String(one.dataset.passage === first));
    }
    for (const way of root.querySelectorAll("a.contrast")) way.hidden = way.nextElementSibling !== null;
  };
  new MutationObserver(dress).observe(root.querySelector(".results"), { childList: true });
  dress();

  root.addEventListener("focusin", (event) => {
    const one = event.target.closest(".hit");
    if (one) current = one.dataset.passage;
  });
  root.addEventListener("click", (event) => {
    const one = event.target.closest(".hit");
    const target = event.target.closest("a, button");
    if (!one || !target || event.ctrlKey || event.metaKey || event.shiftKey) return;
    current = one.dataset.passage;
    if (target.matches("a.open")) history.replaceState({ left: current }, ""); // Back returns to it
    if (target.matches("a.why") && beside) {
      event.preventDefault();
      explain(current);
    } else if (target.matches(".mark")) mark(one);
    else if (target.matches(".copy"))
      navigator.clipboard.writeText(target.dataset.copied).then(
        () => {
          target.firstChild.textContent = "Copied";
          setTimeout(() => (target.firstChild.textContent = "Copy"), 1500);
        },
        () => getSelection().selectAllChildren(target.parentElement.querySelector("bdi")) // to be copied by hand
      );
  });

  const keys = {
    j: () => go(1),
    k: () => go(-1),
    e: () => (shown === "why=" + current ? close() : hit() && explain(current)),
    c: () => mark(hit()),
    s: () => hit() && link(hit(), "similar").click(),
  };
  const arrows = { ArrowDown: 1, ArrowUp: -1 };
  document.addEventListener("keydown", (event) => {
    if (page.typing(event)) return;
    if (event.key === "Escape" && close()) return event.preventDefault();
    if (page.kept.get("keys") === false) return;
    const step = event.target.closest(".hit") ? arrows[event.key] : undefined;
    const does = step ? () => go(step) : event.shiftKey ? undefined : keys[event.key];
    if (!does) return;
    event.preventDefault();
    does();
  });

  // A link that was shared opens what stood beside.
  root.restore = () => {
    const [, name, ids] = location.hash.match(/^#(why|contrast)=([\d,]+)$/) || [];
    if (!name || shown === location.hash.slice(1)) return;
    const [a, b] = ids.split(",");
    current = a;
    if (name === "why") explain(a);
    else if (b) contrast(a, b);
  };
  root.restore();
  current = history.state?.left ?? current;
  if (history.state?.left && hit()) link(hit(), "open").focus();
});
