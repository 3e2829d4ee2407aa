// @ts-check
// whatIf(candidates, wanted): ranks what `Index.candidates` gave by another weight, or for another selection. Sums are made in the order in which the server makes them, so scores are the same to the last bit.

export const whatIf = (() => {
  // Of the bound: scores are worked out in another way.
  const OF_SCORE = 1e-12;
  const ROUNDING = 1e-9;

  // The terms that are not left out, by number.
  const kept = ({ terms, without }) => terms.map((_, i) => i).filter((i) => !without.includes(terms[i]));

  const added = (addends, terms) => terms.reduce((sum, i) => sum + addends[i], 0);

  // All that rank, best first; equal scores in the order of ids. Where meaning counts nothing, those with a word.
  const ranked = ({ pool, scale }, weight, terms) => {
    const scored = [];
    for (const item of pool) {
      const lexical = added(item.addends, terms) / scale;
      if (weight > 0 || lexical > 0)
        scored.push({ ...item, score: weight * (item.cosine ?? 0) + (1 - weight) * lexical });
    }
    return scored.sort((a, b) => b.score - a.score || a.passage_id - b.passage_id);
  };

  // The highest score of any passage that is not among the candidates; -Infinity if no such passage ranks.
  const highest = ({ bound, weight: w0, whole }, weight, terms) => {
    const most = terms.length ? bound.lexical : 0;
    if (whole || (weight === 0 && most <= 0)) return -Infinity;
    const score = bound.score + OF_SCORE;
    const cosine = (lexical) => (w0 > 0 ? Math.min(bound.cosine, (score - (1 - w0) * lexical) / w0) : bound.cosine);
    const limit = w0 > 0 ? most : Math.min(most, score);
    // The corners of what can be: no word, the most by words, and where both bounds meet.
    const corners = [0, limit];
    if (w0 > 0 && w0 < 1) corners.push(Math.min(Math.max((score - w0 * bound.cosine) / (1 - w0), 0), limit));
    return Math.max(...corners.map((lexical) => weight * cosine(lexical) + (1 - weight) * lexical)) + ROUNDING;
  };

  // As search/ranking/selection.py selects: null where more of the ranking has to be known.
  const selected = (best, whole, { k, perDocument, allCopies, minScore }) => {
    let worth = best.filter(({ score }) => minScore === null || score >= minScore);
    whole ||= worth.length < best.length; // what is behind scores even less
    if (!allCopies) {
      const texts = new Set();
      worth = worth.filter(({ copied }) => copied === null || (!texts.has(copied) && texts.add(copied)));
    }
    if (perDocument > 0) {
      const seen = new Map();
      const others = [];
      const within = [];
      for (const item of worth) {
        const count = (seen.get(item.document) ?? 0) + 1;
        seen.set(item.document, count);
        (count <= perDocument ? within : others).push(item);
      }
      worth = whole ? [...within, ...others] : within;
    }
    return whole || worth.length >= k ? worth.slice(0, k) : null;
  };

  // wanted: {k, weight, per_document, all_copies, min_score}, each as for `Index.query`; what is not said is
  // as it was asked for, else the default of `Index.query`. The weight is that of the hybrid ranking, else it is fixed.
  // Gives {ids, scores, exact}: exact if these are the hits of the server for certain.
  return (candidates, wanted = {}) => {
    const weight = candidates.mode === "hybrid" ? wanted.weight ?? candidates.weight : candidates.weight;
    const terms = kept(candidates);
    const selection = {
      k: wanted.k ?? 10,
      perDocument: wanted.per_document ?? 3,
      allCopies: wanted.all_copies ?? false,
      minScore: wanted.min_score ?? null,
    };
    const best = ranked(candidates, weight, terms);
    const most = highest(candidates, weight, terms);
    const none = selection.minScore !== null && most < selection.minScore; // of the others is worth it
    const sure = none ? best : best.filter(({ score }) => score > most);
    const certain = selected(sure, none || most === -Infinity, selection);
    const hits = certain ?? selected(best, true, selection);
    return {
      ids: hits.map(({ passage_id: id }) => id),
      scores: hits.map(({ score }) => score),
      exact: certain !== null,
    };
  };
})();
