"""The static model of this machine: a table of token vectors, distilled from the default model without any text.

    <home>/models/static/     files as model2vec writes them; see `search.encoding.static`

1. Each token of the vocabulary is encoded alone (Tulkens & van Dongen 2024, "Model2Vec").
2. Its vector is multiplied by a / (a + p), p the probability of the token (Arora et al. 2017, "A Simple but Tough-to-
   Beat Baseline for Sentence Embeddings"). The vocabulary is sorted by frequency, so p follows from the rank (Zipf).
3. Random sequences of words are encoded, and a linear map is fitted to them: it takes the mean of the vectors of a
   sequence to its embedding (least squares).
4. The dimensions are reduced to those in which the means vary most (PCA).

The model depends on the machine in its last digits, so embeddings of two machines cannot be compared.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from search.encoding.description import KnownModel
from search.encoding.engine import batches
from search.encoding.engines import open_engine
from search.encoding.models import STATIC_MODEL, has_static_model, static_folder
from search.encoding.pooling import pool, unit
from search.encoding.static import WEIGHTS
from search.encoding.tokenizer import Encoded, load_tokenizer
from search.errors import ModelError
from search.files import make_private

if TYPE_CHECKING:
    import tokenizers
    from numpy.typing import NDArray

DIMENSION = 256
SEQUENCES = 6000  # of random words
LONGEST = 60  # words of a sequence
_SIF = 1e-4  # the number a above


def make_static_model(teacher: KnownModel) -> None:
    """Distil the static model of this machine, unless another process did so meanwhile. Takes about a minute.

    Args:
        teacher: a model with mean pooling.

    Raises:
        ModelError: the teacher cannot be used, or the files cannot be written.
    """
    from filelock import FileLock

    folder = static_folder()
    new = folder.with_name(f"{STATIC_MODEL}.new")
    try:
        make_private(folder.parent)
        with FileLock(folder.with_name(f"{STATIC_MODEL}.lock")):
            if has_static_model():
                return
            shutil.rmtree(new, ignore_errors=True)
            make_private(new)
            _write(distilled(teacher), teacher, new)
            shutil.rmtree(folder, ignore_errors=True)
            new.rename(folder)
    except OSError as error:
        raise ModelError(
            f"cannot store the static model in '{folder}' ({error.strerror or error})."
        ) from None


def _write(table: NDArray[np.float32], teacher: KnownModel, folder: Path) -> None:
    from safetensors.numpy import save_file

    save_file({"embeddings": table.astype(np.float16)}, folder / WEIGHTS)
    shutil.copyfile(teacher.files.inputs_folder / "tokenizer.json", folder / "tokenizer.json")
    (folder / "config.json").write_text(json.dumps({"model_type": "model2vec", "normalize": True}))


def distilled(teacher: KnownModel) -> NDArray[np.float32]:
    """Return the (v, DIMENSION) vectors of the v tokens of a teacher's vocabulary."""
    files, description = teacher.files, teacher.description
    tokenizer = load_tokenizer(files.inputs_folder, files.name, description.lowercase)
    size = tokenizer.get_vocab_size()
    alone = unit(
        _encode(teacher, [_with_special(tokenizer, [token]) for token in range(size)]), files.name
    )
    probability = 1 / np.arange(2, size + 2)
    probability /= probability.sum()
    table = (alone - alone.mean(axis=0)) * (_SIF / (_SIF + probability))[:, None]

    sequences = random_sequences(tokenizer)
    targets = unit(_encode(teacher, [_with_special(tokenizer, ids) for ids in sequences]), files.name)
    means = np.stack([table[ids].mean(axis=0) for ids in sequences])
    with_constant = np.column_stack([means, np.ones(len(means))])
    # The constant is left out: it is what all texts have in common.
    linear = np.linalg.lstsq(with_constant, targets, rcond=None)[0][:-1]
    _, _, directions = np.linalg.svd(means @ linear, full_matrices=False)
    return (table @ linear @ directions[:DIMENSION].T).astype(np.float32)


def random_sequences(tokenizer: tokenizers.Tokenizer) -> list[list[int]]:
    """Return token IDs of random sequences of 2 to LONGEST words; frequent words are more frequent, but not as much."""
    tokens = (tokenizer.id_to_token(id_) or "" for id_ in range(tokenizer.get_vocab_size()))
    words = [id_ for id_, token in enumerate(tokens) if len(token) > 1 and token.isalpha()]
    probability = (np.arange(len(words)) + 10.0) ** -0.7
    probability /= probability.sum()
    rng = np.random.default_rng(0)
    lengths = rng.integers(2, LONGEST, SEQUENCES)
    return [rng.choice(words, length, p=probability).tolist() for length in lengths]


def _with_special(tokenizer: tokenizers.Tokenizer, ids: list[int]) -> Encoded:
    """Return token IDs between those that the tokenizer puts around a text."""
    around = tokenizer.encode("")
    first = around.ids[: len(around.ids) // 2]
    whole = [*first, *ids, *around.ids[len(first) :]]
    return Encoded(whole, [0] * len(whole))


def _encode(teacher: KnownModel, texts: list[Encoded]) -> NDArray[np.float32]:
    """Return the mean of the last hidden states of each text."""
    engine = open_engine(teacher)
    plan = list(batches([len(text.ids) for text in texts], engine.batch_tokens))
    vectors = np.empty((len(texts), teacher.description.dimension), dtype=np.float32)
    runs = engine.run(([texts[i] for i in positions] for positions in plan), [engine.n_layers])
    for positions, hidden in zip(plan, runs, strict=True):
        states = hidden.layers[engine.n_layers]
        vectors[positions] = pool(states, hidden.mask, "mean", None)
    return vectors
