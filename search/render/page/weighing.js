// What if meaning counted less, or a word of the query nothing? The hits are ranked again here, at once and exactly as
// the server would, as long as the bound of what it sent proves it; see whatif.js.
"use strict";

page.define("what-if", (root) => {
  const whole = root.closest("search-page");
  const { elements } = root.closest("form");
  const details = root.querySelector("details");
  const said = root.querySelector("[role=status]");
  const results = whole.querySelector(".results");
  let known = null; // the candidates of the query that is shown
  let cards = new Map(); // passage id -> its hit on the page, also while it is not among the hits
  let loading = new AbortController();

  const load = async () => {
    loading.abort();
    loading = new AbortController();
    known = null;
    cards = new Map([...results.querySelectorAll(".hit")].map((one) => [Number(one.dataset.passage), one]));
    results.classList.remove("weighed");
    said.textContent = "";
    root.querySelector(".weight").hidden = elements.mode.value !== "hybrid";
    root.hidden = elements.mode.value === "dense";
    if (results.querySelector("[data-reranked]")) {
      said.textContent = "The best hits were looked at again, one by one. Another weight leaves that out: the server is asked.";
      return;
    }
    if (!details.open || !cards.size || elements.mode.value === "dense") return;
    const { signal } = loading;
    const reply = await fetch("/what-if?" + whole.asked(), { signal }).catch(() => null);
    const found = reply?.ok ? await reply.json() : null;
    if (signal.aborted || !found) return;
    known = found;
    say(true);
  };

  const say = (exact, missing = 0) => {
    const others = known.whole ? "there are no others" : "no other passage can be among the hits";
    const more = missing ? ` ${missing} more ${missing === 1 ? "is" : "are"} being fetched \u2026` : "";
    said.textContent = exact
      ? `Ranked by the page itself, exactly: it knows ${known.pool.length} passages, and ${others}.${more}`
      : "The bound no longer holds: a passage that the page does not know may be among the hits. Asking the server …";
  };

  const wanted = () => ({
    weight: Number(elements.weight.value),
    without: [...root.querySelectorAll("[name=without]:checked")].map((one) => one.value),
    k: Number(elements.k.value),
    per_document: Number(elements.per_document.value),
  });

  // Numbers and bar of a hit, as search/render/page/hit_list.py writes them.
  const dress = (card, rank, score, best, weight) => {
    const { cosine } = known.pool.find((one) => one.passage_id === Number(card.dataset.passage));
    const meaning = weight * (cosine ?? 0);
    const parts = { meaning, words: score - meaning };
    card.querySelector(".rank").textContent = rank;
    card.querySelector(".score b").textContent = score.toFixed(3);
    let start = 0;
    for (const [name, value] of Object.entries(parts)) {
      const number = card.querySelector(`[data-part-of="${name}"]`);
      const bar = card.querySelector("rect." + name);
      if (!number || !bar) continue;
      number.textContent = Math.abs(value) < 0.0005 ? "0.000" : value.toFixed(3);
      const width = best > 0 ? (100 * Math.max(value, 0)) / best : 0;
      bar.setAttribute("x", start.toFixed(1));
      bar.setAttribute("width", width.toFixed(1));
      start += width;
    }
  };

  const rank = () => {
    const how = wanted();
    root.querySelector("output").textContent = how.weight.toFixed(2);
    if (!known) return false;
    const { ids, scores, exact } = whatIf(known, how);
    const best = Math.max(...scores.map(Math.abs), 0);
    const there = ids.map((id, at) => {
      const card = cards.get(id);
      if (card) dress(card, at + 1, scores[at], best, known.mode === "hybrid" ? how.weight : known.weight);
      return card;
    });
    results.querySelector(".hits").replaceChildren(...there.filter(Boolean));
    for (const way of results.querySelectorAll("a.why, a.contrast")) {
      const address = new URL(way.href);
      address.searchParams.delete("without");
      for (const word of how.without) address.searchParams.append("without", word);
      if (known.mode === "hybrid") address.searchParams.set("weight", how.weight);
      way.href = address;
    }
    results.classList.add("weighed"); // what was said of the scores is of other ones
    say(exact, there.filter((card) => !card).length);
    return exact && there.every(Boolean);
  };

  root.addEventListener("input", (event) => {
    if (event.target.matches("[name=weight], [name=without]") && !rank()) whole.soon();
  });
  details.addEventListener("toggle", load);
  whole.addEventListener("answered", load);
  load();
});
