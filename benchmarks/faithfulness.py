"""Which picture names the words that the score needs?

    python benchmarks/faithfulness.py CRANFIELD [CACM ...] [--queries 40] [--hits 1] [--documents 0] [--mask]
        [--words 0] [--pooling cls] [--quick]

Each folder is in BEIR layout (corpus.jsonl, queries.jsonl). Its corpus is indexed with the default model, some of its
queries, drawn by --seed, are asked, and every picture ranks the words of the best hits' passages, which are taken
without their titles, and the words of the query:

| picture | a word's rank is by |
|---|---|
| contributions | what it adds to the cosine, as typed, as `seewhy explain` marks it |
| traced to the last layer | the same of its last vectors, as is usual; exact with pooling mean |
| cosine, middle layer | its highest cosine with a word of the other text, in the similarity matrix that is shown |
| cosine, last layer | the same in the last layer |
| attention, last layer | the attention of its text that it receives, mean over heads |
| attention, all layers | the same, mean over layers |
| gradient length | of the derivative of the cosine by its input embedding |
| gradient x input | that derivative times the input embedding |
| integrated gradients | from [PAD] to the text (Sundararajan, Taly & Yan 2017), 32 Gauss-Legendre nodes |
| each word cut out | how far the cosine falls without it alone: what the test itself asks |
| random | chance; mean of --draws |

Then the first 1, 3 and 5 words of the ranking are cut out and the rest is encoded again: the further the cosine
falls, the better. And the other way round: only these words are kept, and the more is left of the cosine,
the better ("comprehensiveness" and "sufficiency" in DeYoung et al. 2020, ERASER). Printed are means over queries (of
the mean over a query's hits), with 95 % confidence intervals by bootstrap over queries; in the last column the
difference from contributions, query by query, mean of the three. The third table is the correlation with how far
the cosine falls without each word alone, below it the shares of the cosine that content words, all else and the offset
get. With --mask words are replaced by [MASK] instead of cut out; with --quick only contributions, those of the last
layer, each word cut out and chance are compared.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import get_args

import numpy as np
from adds_up import indexed, records
from machine import headline
from numpy.typing import NDArray

import search
from search.encoding.description import KnownModel
from search.encoding.prompts import Role
from search.encoding.torch_engine import TorchEngine
from search.explaining.deletion_test import without_words
from search.explaining.explanation import Layers, explain_pair, similarity_matrix
from search.records.explanations import STOP_WORDS, Explanation, Side
from search.records.tokens import Word, by_words
from search.records.visible_text import visible

COUNTS = (1, 3, 5)
RESAMPLES = 5000
OURS, ORACLE, RANDOM = "contributions", "each word cut out", "random"

Scores = NDArray[np.float64]
# Picture -> for each query (2, len(COUNTS) + 2): drop without the words, cosine of them alone; last the correlations.
Figures = dict[str, list[Scores]]
NODES = 32
MOST = 10  # best hits to choose from


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--queries", type=int, default=40)
    parser.add_argument("--hits", type=int, default=1)
    parser.add_argument(
        "--documents", type=int, default=0, help="index only the first so many; 0 for all"
    )
    parser.add_argument(
        "--words",
        type=int,
        default=0,
        help="only hits of at least so many words; five words are much of a title",
    )
    parser.add_argument("--pooling", default="mean")
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--mask", action="store_true", help="replace words by [MASK], do not cut them out"
    )
    parser.add_argument("--quick", action="store_true", help="compare few pictures")
    args = parser.parse_args()
    print(headline("numpy", "openvino", "torch", "transformers"))
    started, whole = time.perf_counter(), []
    figures: dict[Side, Figures] = {side: {} for side in get_args(Side)}
    shares: dict[Side, list[Scores]] = {side: [] for side in get_args(Side)}
    chance = np.random.default_rng(args.seed)
    for folder in args.folders:
        queries = [item["text"] for item in records(folder / "queries.jsonl", 0) if item["text"].strip()]
        some = sorted(chance.permutation(len(queries))[: args.queries].tolist())
        with tempfile.TemporaryDirectory() as place:
            index = indexed(folder, Path(place), args.pooling, args.documents)
            remove = masked if args.mask else without_words
            judge = Judge(index.encoder, remove, args.draws, args.seed, args.quick)
            for query in (queries[i] for i in some):
                hits = index.query(search.Question.of(query), MOST, mode="dense", per_document=1)
                texts = [visible(hit.text, hit.hidden) for hit in hits]
                texts = [text for text in texts if len(text.split()) >= args.words][: args.hits]
                if not texts:
                    continue
                explained = explained_texts(index.encoder, query, texts)
                whole += [why.cosine for why in explained]
                for side in get_args(Side):
                    judged = [judge(why, side) for why in explained]
                    for picture in judged[0]:
                        rows = [by_picture[picture] for by_picture in judged]
                        figures[side].setdefault(picture, []).append(np.mean(rows, axis=0))
                    shares[side] += [shares_of(why, side) for why in explained]
    way = "replaced by [MASK]" if args.mask else "cut out"
    print(
        f"{', '.join(folder.name for folder in args.folders)}: {len(figures['query'][RANDOM])} queries, {len(whole)} "
        f"passages, mean cosine {np.mean(whole):.3f}; seed {args.seed}; {time.perf_counter() - started:.0f} s"
    )
    for side, of_side in figures.items():
        report(f"words of the {side}: fall of the cosine, words {way}", of_side, 0, args.seed)
        report(f"words of the {side}: cosine of these words alone", of_side, 1, args.seed)
        print(f"\nwords of the {side}: correlation with each word cut out, Pearson's and of ranks")
        for name, rows in of_side.items():
            linear, of_ranks = np.nanmean(np.array(rows)[:, 0, -2:], axis=0)
            print(f"{name:24}{linear:>8.2f}{of_ranks:>8.2f}")
        content, rest, offset = np.median(shares[side], axis=0)
        print(
            f"median share of the cosine: content words {content:.2f}, all else {rest:.2f}, offset {offset:+.2f}"
        )


def explained_texts(encoder: search.Encoder, query: str, texts: Sequence[str]) -> list[Explanation]:
    """Why texts without title and headings have their cosines."""
    (asked,) = encoder.inputs([query], role="query")
    layers = Layers.of(None, encoder.n_layers)
    return [explain_pair(asked, text, encoder, layers) for text in encoder.inputs(texts, role="document")]


def shares_of(why: Explanation, side: Side) -> Scores:
    """Shares of the cosine of words that are no stop words, of all other tokens, and of the offset."""
    words, sums, offset = of_side(why, side)
    content = sum(
        added
        for word, added in zip(words, sums.tolist(), strict=True)
        if word.kind == "word" and word.text.casefold() not in STOP_WORDS
    )
    return np.array([content, sums.sum() - content, offset]) / why.cosine


def of_side(why: Explanation, side: Side) -> tuple[tuple[Word, ...], Scores, float]:
    words = why.words()
    if side == "query":
        return words.query, words.query_sums, why.offset
    return words.passage, words.passage_sums, why.passage_offset


class Judge:
    """Ranks a text's words by each picture, and encodes what is left without the first of them."""

    def __init__(
        self,
        encoder: search.Encoder,
        remove: Callable[[str, Sequence[Word]], str],
        draws: int,
        seed: int,
        quick: bool,
    ) -> None:
        self._encoder, self._remove, self._draws, self._quick = encoder, remove, draws, quick
        self._engine = TorchEngine(KnownModel(encoder.files, encoder.description), "cpu")
        self._engine.model.set_attn_implementation("eager")  # the others do not give the weights
        self._chance = np.random.default_rng(seed)

    def __call__(self, why: Explanation, side: Side) -> dict[str, Scores]:
        """(2, len(COUNTS) + 2) for each picture: fall of the cosine without its words, cosine of them alone."""
        role: Role = "query" if side == "query" else "document"
        other_role: Role = "document" if side == "query" else "query"
        text, other = (why.query, why.passage) if side == "query" else (why.passage, why.query)
        words = [word for word in of_side(why, side)[0] if word.kind == "word"]
        towards = self._encoder.encode([other], role=other_role)[0].astype(np.float64)

        def cosines(texts: Sequence[str]) -> Scores:
            encoded = self._encoder.encode([text or "." for text in texts], role=role)
            return np.asarray(encoded.astype(np.float64) @ towards)

        whole, *alone = cosines([text, *(self._remove(text, [word]) for word in words)])
        falls = whole - np.array(alone)
        weights = dict(self._weights(why, side, towards, words)) | {ORACLE: falls}
        orders = [(name, np.argsort(-by_word, kind="stable")) for name, by_word in weights.items()]
        orders += [(RANDOM, self._chance.permutation(len(words))) for _ in range(self._draws)]
        chosen = [[words[i] for i in order[:count]] for _, order in orders for count in COUNTS]
        texts = [self._remove(text, some) for some in chosen]
        texts += [kept(text, some) for some in chosen]
        cut, left = cosines(texts).reshape(2, len(orders), len(COUNTS))
        by_name: dict[str, list[Scores]] = {}
        for row, (name, order) in enumerate(orders):
            like = weights.get(name, -np.argsort(order).astype(float))
            correlations = correlated(like, falls)
            rows = np.stack([[*(whole - cut[row]), *correlations], [*left[row], *correlations]])
            by_name.setdefault(name, []).append(rows)
        return {name: np.mean(rows, axis=0) for name, rows in by_name.items()}

    def _weights(
        self, why: Explanation, side: Side, towards: Scores, words: list[Word]
    ) -> Iterator[tuple[str, Scores]]:
        """How much each picture makes of each word of a text, (len(words),)."""

        def by_word(of_token: Scores) -> Scores:
            return np.array([of_token[slice(*word.tokens)].sum() for word in words])

        table = why.layers(side)
        yield OURS, by_word(table[0, :-1])
        yield "traced to the last layer", by_word(table[-1, :-1])
        if self._quick:
            return
        (query,) = self._encoder.tokens([why.query], role="query")
        (passage,) = self._encoder.tokens([why.passage], role="document")
        for name, cosines in (
            ("cosine, middle layer", why.similarity),
            ("cosine, last layer", similarity_matrix(query.vectors, passage.vectors)),
        ):
            yield name, best_cosine(why, side, cosines, words)
        tokens = why.query_tokens if side == "query" else why.passage_tokens
        attention, point = self._attention_and_inputs([token.id for token in tokens])
        yield "attention, last layer", by_word(attention[-1])
        yield "attention, all layers", by_word(attention.mean(axis=0))
        slope = self._slopes(point[None], towards)[0]
        yield "gradient length", by_word(np.linalg.norm(slope, axis=1))
        yield "gradient x input", by_word((slope * point).sum(axis=1))
        start = point.copy()
        moving = [i for i, token in enumerate(tokens) if not token.special]
        start[moving] = self._table()[self._engine.pad]
        nodes, shares = np.polynomial.legendre.leggauss(NODES)
        points = start + ((nodes + 1) / 2)[:, None, None] * (point - start)
        mean = np.einsum("t,tnh->nh", shares / 2, self._slopes(points, towards))
        yield "integrated gradients", by_word((mean * (point - start)).sum(axis=1))

    def _table(self) -> Scores:
        table = self._engine.model.get_input_embeddings().weight
        return np.asarray(table.detach().double().numpy())

    def _attention_and_inputs(self, ids: list[int]) -> tuple[Scores, Scores]:
        """(layers, n): attention that each token receives, mean over heads and tokens; (n, h): its input embedding."""
        torch = self._engine._torch
        with torch.inference_mode():
            output = self._engine.model(input_ids=torch.tensor([ids]), output_attentions=True)
        received = [layer[0].mean(dim=(0, 1)).double().numpy() for layer in output.attentions]
        return np.stack(received), self._table()[ids]

    def _slopes(self, points: Scores, towards: Scores) -> Scores:
        """Derivatives (t, n, h) of the cosine by the input embeddings, at t points."""
        torch, engine, encoder = self._engine._torch, self._engine, self._encoder
        inputs = torch.from_numpy(points).float().requires_grad_()
        mask = torch.ones(inputs.shape[:2], dtype=torch.long)
        output = engine.model(inputs_embeds=inputs, attention_mask=mask)
        pooler = output.pooler_output if encoder.pooling == "pooler" else None
        vectors = engine.after(output.last_hidden_state, mask, encoder.pooling, pooler)
        vectors = vectors / vectors.norm(dim=1, keepdim=True)
        cosines = vectors @ torch.from_numpy(towards).float()
        (slopes,) = torch.autograd.grad(cosines.sum(), inputs)
        return np.asarray(slopes.double().numpy())


def correlated(a: Scores, b: Scores) -> tuple[float, float]:
    """Pearson's correlation and Spearman's of ranks; NaN for fewer than three words or equal values."""
    from scipy.stats import pearsonr, spearmanr

    if len(a) < 3 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return float("nan"), float("nan")
    return float(pearsonr(a, b).statistic), float(spearmanr(a, b).statistic)


def best_cosine(why: Explanation, side: Side, cosines: NDArray[np.floating], words: list[Word]) -> Scores:
    """Each word's highest cosine with a word of the other text, by whole words."""
    matrices = why.words()
    cells = by_words(np.maximum, cosines, matrices.query, matrices.passage)
    mine, others = matrices.query, matrices.passage
    if side == "passage":
        mine, others, cells = others, mine, cells.T
    columns = [j for j, word in enumerate(others) if word.kind == "word"]
    rows = [mine.index(word) for word in words]
    return np.asarray(cells[rows][:, columns].max(axis=1), dtype=np.float64)


def kept(text: str, words: Sequence[Word]) -> str:
    """These words alone, in the order of the text."""
    return " ".join(text[word.start : word.end] for word in sorted(words, key=lambda word: word.start))


def masked(text: str, words: Sequence[Word]) -> str:
    """A text with [MASK] in place of each of some words, whatever the number of its tokens."""
    for word in sorted(words, key=lambda word: -word.start):
        text = f"{text[: word.start]} [MASK] {text[word.end :]}"
    return text


def report(title: str, figures: Figures, which: int, seed: int) -> None:
    """A table: mean and interval for each count, then the difference from contributions with all counts' mean."""
    columns = "".join(f"{f'{count} word' + 's' * (count > 1):>26}" for count in COUNTS)
    print(f"\n{title}\n{'':24}{columns}{'less ' + OURS:>28}")
    ours = np.array(figures[OURS])[:, which, : len(COUNTS)]
    for name, rows in figures.items():
        values = np.array(rows)[:, which, : len(COUNTS)]
        cells = "".join(f"{interval(values[:, j], seed):>26}" for j in range(len(COUNTS)))
        apart = interval((values - ours).mean(axis=1), seed) if name != OURS else ""
        print(f"{name:24}{cells}{apart:>28}")


def interval(values: Scores, seed: int) -> str:
    """Mean and 95 % interval of one number a query, by resampling queries."""
    drawn = np.random.default_rng(seed).integers(len(values), size=(RESAMPLES, len(values)))
    low, high = np.percentile(values[drawn].mean(axis=1), [2.5, 97.5])
    return f"{values.mean():.3f} ({low:.3f} to {high:.3f})"


if __name__ == "__main__":
    main()
