"""Which picture names the words that the score needs?

    python benchmarks/faithfulness.py CRANFIELD [CACM ...] [--queries 40] [--hits 1] [--documents 0] [--mask]
        [--pooling cls]

Each folder is in BEIR layout (corpus.jsonl, queries.jsonl). Its corpus is indexed with the default model, some of its
queries, drawn by --seed, are asked, and every picture ranks the words of the best hits' passages, which are taken
without their titles:

| picture | a word's rank is by |
|---|---|
| contributions | what it added to the score, as `seewhy explain` marks it |
| cosine, middle layer | its highest cosine with a word of the query, in the similarity matrix that is shown |
| cosine, last layer | the same in the last layer |
| attention, last layer | what it receives of the passage's attention, mean over heads |
| attention, all layers | the same, mean over layers |
| gradient length | of the derivative of the cosine by its input embedding |
| gradient x input | that derivative times the input embedding |
| integrated gradients | search/explaining/gradients.py, from [PAD] |
| each word cut out | how far the cosine falls without it alone: what the test itself asks |
| random | chance; mean of --draws |

Then the first 1, 3 and 5 words of the ranking are cut out and the rest is encoded again: the further the cosine
falls, the better. And the other way round: only these words are kept, and the more is left of the cosine,
the better ("comprehensiveness" and "sufficiency" in DeYoung et al. 2020, ERASER). Printed are means over queries (of
the mean over a query's hits), with 95 % confidence intervals by bootstrap over queries; in the last column the
difference from contributions, query by query, mean of the three. With --mask words are replaced by [MASK] instead
of cut out.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from adds_up import indexed, records
from machine import headline
from numpy.typing import NDArray

import search
from search.encoding.description import KnownModel
from search.encoding.encoder import with_context
from search.encoding.torch_engine import TorchEngine
from search.explaining.deletion_test import without_words
from search.explaining.explanation import explain_pair, middle_layer, similarity_matrix
from search.explaining.gradients import Differentiable
from search.records.explanations import Explanation
from search.records.tokens import TokenVectors, Word
from search.records.visible_text import visible

COUNTS = (1, 3, 5)
RESAMPLES = 5000
OURS, ORACLE, RANDOM = "contributions", "each word cut out", "random"

Scores = NDArray[np.float64]
Figures = dict[str, list[Scores]]  # picture -> for each query (2, len(COUNTS)): drop without, cosine kept


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--queries", type=int, default=40)
    parser.add_argument("--hits", type=int, default=1)
    parser.add_argument(
        "--documents", type=int, default=0, help="index only the first so many; 0 for all"
    )
    parser.add_argument("--pooling", default="mean")
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--mask", action="store_true", help="replace words by [MASK], do not cut them out"
    )
    args = parser.parse_args()
    print(headline("numpy", "openvino", "torch", "transformers"))
    started, found, whole = time.perf_counter(), Figures(), []
    chance = np.random.default_rng(args.seed)
    for folder in args.folders:
        queries = [item["text"] for item in records(folder / "queries.jsonl", 0) if item["text"].strip()]
        some = sorted(chance.permutation(len(queries))[: args.queries].tolist())
        with tempfile.TemporaryDirectory() as place:
            index = indexed(folder, Path(place), args.pooling, args.documents)
            judge = Judge(index.encoder, masked if args.mask else without_words, args.draws, args.seed)
            for query in (queries[i] for i in some):
                hits = index.query(search.Question.of(query), args.hits, mode="dense", per_document=1)
                explained = explained_texts(
                    index.encoder, query, [visible(hit.text, hit.hidden) for hit in hits]
                )
                judged = [judge(why) for why in explained]
                whole += [why.cosine for why in explained]
                for picture in judged[0]:
                    found.setdefault(picture, []).append(
                        np.mean([one[picture] for one in judged], axis=0)
                    )
    way = "replaced by [MASK]" if args.mask else "cut out"
    print(
        f"{', '.join(folder.name for folder in args.folders)}: {len(found[RANDOM])} queries, {len(whole)} "
        f"passages, mean cosine {np.mean(whole):.3f}; seed {args.seed}; {time.perf_counter() - started:.0f} s"
    )
    report(f"fall of the cosine, words {way}", found, 0, args.seed)
    report("cosine of these words alone", found, 1, args.seed)


def explained_texts(encoder: search.Encoder, query: str, texts: Sequence[str]) -> list[Explanation]:
    """Why texts without title and headings have their cosines."""
    layer = middle_layer(encoder.n_layers)
    (asked,) = encoder.tokens([query], role="query", layers=[layer, -1])
    return [
        explain_pair(asked, text, encoder=encoder, layer=layer, roles=("query", "document"))
        for text in encoder.tokens(texts, role="document", layers=[layer, -1])
    ]


class Judge:
    """Ranks a passage's words by each picture, and encodes what is left without the first of them."""

    def __init__(
        self,
        encoder: search.Encoder,
        remove: Callable[[str, Sequence[Word]], str],
        draws: int,
        seed: int,
    ) -> None:
        self._encoder, self._remove, self._draws = encoder, remove, draws
        self._engine = TorchEngine(KnownModel(encoder.files, encoder.description), "cpu")
        self._engine.model.set_attn_implementation("eager")  # the others do not give the weights
        self._slopes = Differentiable(encoder, self._engine)
        self._chance = np.random.default_rng(seed)

    def __call__(self, why: Explanation) -> dict[str, Scores]:
        """(2, len(COUNTS)) for each picture: fall of the cosine without its words, cosine of them alone."""
        passage = [word for word in why.words().passage if word.kind == "word"]
        asked = self._encoder.encode([why.query], role="query")[0].astype(np.float64)

        def cosines(texts: Sequence[str]) -> Scores:
            found = self._encoder.encode(
                [with_context(why.context, text) for text in texts], role="document"
            )
            return np.asarray(found.astype(np.float64) @ asked)

        whole, *alone = cosines([why.passage, *(self._remove(why.passage, [word]) for word in passage)])
        weights = dict(self._weights(why, asked, passage)) | {ORACLE: whole - np.array(alone)}
        orders = [(name, np.argsort(-by_word, kind="stable")) for name, by_word in weights.items()]
        orders += [(RANDOM, self._chance.permutation(len(passage))) for _ in range(self._draws)]
        chosen = [[passage[i] for i in order[:count]] for _, order in orders for count in COUNTS]
        texts = [self._remove(why.passage, words) for words in chosen]
        texts += [kept(why.passage, words) for words in chosen]
        cut, left = cosines(texts).reshape(2, len(orders), len(COUNTS))
        by_name: dict[str, list[Scores]] = {}
        for row, (name, _) in enumerate(orders):
            by_name.setdefault(name, []).append(np.stack([whole - cut[row], left[row]]))
        return {name: np.mean(rows, axis=0) for name, rows in by_name.items()}

    def _weights(
        self, why: Explanation, asked: Scores, passage: list[Word]
    ) -> Iterator[tuple[str, Scores]]:
        """How much each picture makes of each word of a passage, (len(passage),)."""

        def by_word(of_token: Scores) -> Scores:
            return np.array([of_token[slice(*word.tokens)].sum() for word in passage])

        query, text = self._tokens(why)
        yield OURS, by_word(why.sums[1])
        yield "cosine, middle layer", best_cosine(why, passage)
        last = similarity_matrix(query.vectors, text.vectors)
        yield "cosine, last layer", best_cosine(replace(why, similarity=last), passage)
        attention = self._attention(text)
        yield "attention, last layer", by_word(attention[-1])
        yield "attention, all layers", by_word(attention.mean(axis=0))
        slope, point = self._gradient(text, asked)
        yield "gradient length", by_word(np.linalg.norm(slope, axis=1))
        yield "gradient x input", by_word((slope * point).sum(axis=1))
        way = self._slopes.path(text, "document")
        yield "integrated gradients", by_word(self._slopes.products(way, asked[None])[0])

    def _tokens(self, why: Explanation) -> tuple[TokenVectors, TokenVectors]:
        (query,) = self._encoder.tokens([why.query], role="query")
        (text,) = self._encoder.tokens([why.passage], contexts=[why.context], role="document")
        return query, text

    def _attention(self, text: TokenVectors) -> Scores:
        """(layers, n): the attention that each token receives, mean over heads and over the tokens that attend."""
        torch = self._engine._torch
        ids = torch.tensor([[token.id for token in text.tokens]])
        with torch.inference_mode():
            output = self._engine.model(input_ids=ids, output_attentions=True)
        return np.stack([layer[0].mean(dim=(0, 1)).double().numpy() for layer in output.attentions])

    def _gradient(self, text: TokenVectors, asked: Scores) -> tuple[Scores, Scores]:
        """Two (n, h): the derivative of the cosine by each token's input embedding, and that embedding."""
        torch = self._engine._torch
        way = self._slopes.path(text, "document")
        point = (way.start + way.way)[None].requires_grad_()
        cosine = (self._slopes._embed(way, point) @ torch.from_numpy(asked).float()).sum()
        (slope,) = torch.autograd.grad(cosine, point)
        return slope[0].double().numpy(), point[0].detach().double().numpy()


def best_cosine(why: Explanation, passage: list[Word]) -> Scores:
    """Each passage word's highest cosine with a word of the query, by whole words."""
    words = why.words()
    rows = [i for i, word in enumerate(words.query) if word.kind == "word"]
    columns = [words.passage.index(word) for word in passage]
    return np.asarray(words.similarity[rows][:, columns].max(axis=0), dtype=np.float64)


def kept(text: str, words: Sequence[Word]) -> str:
    """These words alone, in the order of the text."""
    return " ".join(text[word.start : word.end] for word in sorted(words, key=lambda word: word.start))


def masked(text: str, words: Sequence[Word]) -> str:
    """A text with [MASK] in place of each of some words, whatever the number of its tokens."""
    for word in sorted(words, key=lambda word: -word.start):
        text = f"{text[: word.start]} [MASK] {text[word.end :]}"
    return text


def report(title: str, found: Figures, which: int, seed: int) -> None:
    """A table: mean and interval for each count, then the difference from contributions with all counts' mean."""
    columns = "".join(f"{f'{count} word' + 's' * (count > 1):>26}" for count in COUNTS)
    print(f"\n{title}\n{'':24}{columns}{'less ' + OURS:>28}")
    ours = np.array(found[OURS])[:, which]
    for name, rows in found.items():
        values = np.array(rows)[:, which]
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
