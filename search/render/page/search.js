// Ask while one types: words at once, meaning after a pause, then what every token counts. All HTML is the server's.
"use strict";

page.define("search-page", (root) => {
  const form = root.querySelector("form.ask");
  const field = form.elements.q;
  const list = root.querySelector("hit-list");
  const dialog = root.querySelector("dialog");
  const said = root.querySelector(".said");
  const wide = window.matchMedia("(min-width: 60rem)").matches;
  const part = (name) => root.querySelector(`[data-part="${name}"]`);
  const pause = 200; // ms without a key, after which meaning is asked for
  const rest = 1200; // ms after which a query was meant: Back returns to it
  let asking = new AbortController();
  let paused = 0;
  let resting = 0;
  let settled = true;

  // The form as an address; what is as it is by default stands in none.
  const asked = () => {
    const query = new URLSearchParams();
    for (const [name, value] of new FormData(form)) {
      const { mode } = form.elements;
      if (name === "weight" && (mode.value !== "hybrid" || Number(value) === Number(root.dataset.weight))) continue;
      if (name === "without" && mode.value === "dense") continue;
      if (value.trim() !== "" && value !== form.elements[name].dataset?.default) query.append(name, value);
    }
    if (part("facets").querySelector(".narrow")) query.append("facets", "1");
    return query;
  };

  // Another query begins. Of its address only the first is kept, until its answer has come: browsers bound how often.
  const remember = () => {
    const query = asked();
    list.leave();
    if (settled) history.pushState(null, "", "/?" + query);
    settled = false;
    document.title = query.has("q") ? `${query.get("q")} - seewhy` : "seewhy";
  };
  const shownQuery = () => new URLSearchParams(location.search).get("q");

  const queries = () => [page.kept.get("queries")].flat().filter((one) => String(one?.address).startsWith("/?"));

  const settle = () => {
    clearTimeout(resting);
    settled = true;
    const query = asked();
    if (!query.has("q") || !part("results").querySelector(".hit")) return;
    const last = queries().filter((one) => one.q !== query.get("q"));
    page.kept.set("queries", [{ q: query.get("q"), address: "/?" + query }, ...last].slice(0, 12));
  };

  // Parts of an answer take the place of those that are there; a hit that has the focus keeps it.
  const put = (content, names) => {
    for (const name of names) {
      const [there, made] = [part(name), content.querySelector(`[data-part="${name}"]`)];
      if (!there || !made) continue;
      const held = there.contains(document.activeElement) && document.activeElement.closest("[data-passage]");
      const opened = there.querySelector("details")?.open ?? wide;
      there.hidden = made.hidden;
      if (there.innerHTML !== made.innerHTML) there.replaceChildren(...made.childNodes);
      for (const one of there.querySelectorAll("details")) one.open = opened;
      const again = held && there.querySelector(`[data-passage="${held.dataset.passage}"] .open`);
      if (again) again.focus({ preventScroll: true });
    }
  };

  const tell = (line) => {
    const alert = page.element("p", line, "warn");
    alert.setAttribute("role", "alert");
    part("results").replaceChildren(alert);
  };

  // Asks; whatever was asked before and has not come is dropped. Gives the answer, or null.
  const ask = async (query) => {
    asking.abort();
    asking = new AbortController();
    const { signal } = asking;
    part("results").setAttribute("aria-busy", "true");
    try {
      const { status, later, content } = await page.fragment("/?" + query, signal);
      if (signal.aborted) return null;
      if (status === 503 && later) setTimeout(() => signal.aborted || soon(0), 1000 * later);
      const answer = content.querySelector("search-page");
      if (!answer) tell(content.querySelector("[role=alert]")?.textContent || "The server cannot answer that.");
      return answer;
    } catch (error) {
      if (!signal.aborted) tell(page.away);
      return null;
    } finally {
      if (!signal.aborted) part("results").setAttribute("aria-busy", "false");
    }
  };

  // The bar above the page names the index, and leads to pages of it.
  const title = ({ value, selectedOptions }) => {
    const bar = document.querySelector(".site");
    bar.querySelector("bdi").textContent = selectedOptions[0].text;
    for (const way of bar.querySelectorAll("a")) {
      const address = new URL(way.href);
      address.searchParams.set("index", value);
      way.href = address;
    }
  };

  const words = async () => {
    if (form.elements.mode.value === "dense" || !field.value.trim()) return;
    const query = asked();
    query.set("words", "1");
    const answer = await ask(query);
    if (answer?.querySelector(".hit")) put(answer, ["results"]);
  };

  const all = async (address) => {
    const query = address ?? asked();
    const answer = await ask(query);
    if (!answer) return false;
    Object.assign(root.dataset, { generation: answer.dataset.generation, weight: answer.dataset.weight });
    if (!address) {
      if (query.has("q")) query.set("generation", answer.dataset.generation);
      history.replaceState(null, "", "/?" + query + location.hash);
    }
    put(answer, ["results", "facets", "words"]);
    title(form.elements.index);
    const count = part("results").querySelectorAll(".hit").length;
    said.textContent = field.value.trim() ? `${count || "No"} ${count === 1 ? "hit" : "hits"}` : "";
    start();
    root.dispatchEvent(new Event("answered"));
    clearTimeout(resting);
    resting = setTimeout(settle, rest);
    if (count && form.elements.mode.value !== "lexical") shades();
    return true;
  };

  // What every token counts takes one more pass through the model, so it comes last.
  const shades = async () => {
    const before = asking;
    await new Promise((painted) => requestAnimationFrame(() => setTimeout(painted))); // the hits come first
    if (before !== asking) return;
    const query = asked();
    query.set("shades", "1");
    const answer = await ask(query);
    for (const one of answer?.querySelectorAll(".hit") || []) {
      const there = part("results").querySelector(`[data-passage="${one.dataset.passage}"] .passage`);
      if (there) there.replaceWith(one.querySelector(".passage"));
    }
    const legend = answer?.querySelector(".legend");
    if (legend) part("results").querySelector(".legend")?.replaceWith(legend);
  };

  const soon = (wait) => {
    clearTimeout(paused);
    clearTimeout(resting);
    paused = setTimeout(() => all(), wait);
  };

  Object.assign(root, { asked, soon: () => soon(pause) });

  // Only a word of the query can be left out of it.
  const forget = () => {
    const there = new Set(field.value.toLowerCase().match(/[\p{L}\p{N}]+/gu));
    for (const one of form.querySelectorAll("[name=without]:checked"))
      one.checked = one.value.toLowerCase().match(/[\p{L}\p{N}]+/gu)?.every((word) => there.has(word)) ?? false;
  };

  field.addEventListener("input", (event) => {
    if (event.isComposing) return; // an input method is at work; compositionend follows
    forget();
    remember();
    words();
    soon(pause);
  });
  field.addEventListener("compositionend", () => field.dispatchEvent(new Event("input")));
  form.addEventListener("change", (event) => {
    if (event.target === field) return;
    remember();
    soon(event.target.matches("[name=weight], [name=without]") ? pause : 0);
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (shownQuery() !== field.value) remember();
    clearTimeout(paused);
    all().then(settle);
  });
  root.addEventListener("focusin", (event) => event.target.closest(".hit") && settle());
  root.addEventListener("click", (event) => {
    const choice = event.target.closest("a[data-where]");
    if (!choice || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    form.elements.where.value = choice.dataset.where;
    form.querySelector(".limits").open = true;
    remember();
    soon(0);
  });

  const fill = () => {
    const query = new URLSearchParams(location.search);
    for (const name of ["index", "q", "mode", "where", "since", "until", "k", "per_document"]) {
      const control = form.elements[name];
      control.value = query.get(name) ?? control.dataset.default ?? control.options?.[0].value ?? "";
    }
    form.elements.weight.value = query.get("weight") ?? root.dataset.weight;
    const without = query.getAll("without");
    for (const one of form.querySelectorAll("[name=without]")) one.checked = without.includes(one.value);
  };
  window.addEventListener("popstate", async () => {
    list.leave();
    clearTimeout(paused);
    settled = true;
    fill();
    if (!(await all(new URLSearchParams(location.search)))) return;
    fill(); // the words of this query are only there now
    list.restore();
  });

  // The last queries, on a page without a query; they are in this browser alone.
  const start = () => {
    const last = root.querySelector(".last");
    if (!last) return;
    last.hidden = !queries().length;
    last.querySelector("ul").replaceChildren(
      ...queries().map(({ q, address }) => {
        const [item, way] = [page.element("li"), page.element("a", q)];
        way.href = address;
        item.append(way);
        return item;
      })
    );
  };

  const settings = () => {
    const { keys } = dialog.querySelector(".settings").elements;
    keys.checked = page.kept.get("keys") !== false;
    dialog.addEventListener("change", () => {
      page.kept.set("keys", keys.checked);
    });
    dialog.querySelector(".forget").addEventListener("click", (event) => {
      page.kept.forget("queries");
      event.target.textContent = "Forgotten";
      start();
    });
    root.querySelector(".foot").hidden = false;
    root.querySelector(".keys").addEventListener("click", () => dialog.showModal());
  };

  const keys = {
    "/": () => (field.focus(), field.select()),
    "?": () => dialog.showModal(),
  };
  document.addEventListener("keydown", (event) => {
    if (event.target === field && event.key === "ArrowDown" && !event.isComposing) {
      event.preventDefault();
      list.goTo(0);
    }
    if (event.target === field && event.key === "Escape" && !event.isComposing) {
      event.preventDefault(); // by which the field would be emptied
      if (!list.close()) field.blur();
    }
    if (page.typing(event)) return;
    const does = event.key === "Escape" ? () => field.focus() : page.kept.get("keys") === false ? null : keys[event.key];
    if (!does) return;
    event.preventDefault();
    does();
  });

  settings();
  start();
  for (const one of root.querySelectorAll(".narrow")) one.open = wide;
  if (field.value.trim()) {
    resting = setTimeout(settle, rest);
    if (part("results").querySelector(".hit") && form.elements.mode.value !== "lexical") shades();
  } else field.focus();
});
