"""Descriptions of encoders by sentence-transformers, kept so that the next process need not load it.

    <cache>/described/<hash of the model's files>.json

Loading takes seconds, as PyTorch has to be imported; reading the file takes none. It is also kept beside the
converted model, see `search.encoding.cache`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from search.encoding.loading import load_encoder, load_transformer, loading, positions, require_whole
from search.encoding.models import ModelFiles, optional_json
from search.encoding.pooling import ACTIVATIONS, ST_NAMES
from search.errors import ModelError
from search.files import cache_folder, read_sealed, write_sealed

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

_FORMAT = 3  # raise it when more is written down
_SAME_AS_LENGTH_1 = ("Normalize", "Dropout")  # at the end they change no direction


@dataclass(frozen=True)
class Description:
    """Properties of a model: layers, limits, and the steps from text to embedding.

    Attributes:
        layers: encoder layers; hidden states are numbered 0 (the embedding layer) to `layers`.
        positions: most tokens that could be read, special ones included.
        max_tokens: most tokens of one text by the model's own configuration.
        has_pooler: its files hold the weights of a pooler.
        pooling: its own, by our name where it has one, "mean" by default.
        dense: for each Dense module after pooling, its folder and its activation.
        dimension: length of an embedding of its modules.
        truncate: how many dimensions of it are kept by its own configuration, None for all.
        lowercase: texts are put into lower case before the tokenizer reads them.
        prompts: name ("query", "document", ...) to the text put before every input of that kind.
        similarity: the one that it was trained for: "cosine", "dot", "euclidean" or "manhattan".
        only_torch: which of its modules only sentence-transformers can do, for people to read; "" where there
            is none.
        says_nothing: the model was not made for sentence embeddings, or does not say so.
    """

    layers: int
    positions: int
    max_tokens: int
    has_pooler: bool
    pooling: str
    dimension: int
    prompts: dict[str, str]
    dense: tuple[tuple[str, str], ...] = ()
    truncate: int | None = None
    lowercase: bool = False
    similarity: str = "cosine"
    only_torch: str = ""
    says_nothing: bool = False

    def notes(self, name: str, pooling: str) -> tuple[str, ...]:
        """Notes on assumptions about the model `name` with a pooling, for people to read."""
        if pooling != self.pooling:
            return ()
        notes = []
        if self.says_nothing:
            notes.append(
                f"{name} is no sentence model: it is pooled by mean, as a guess. Choose with --pooling."
            )
        if self.similarity != "cosine":
            notes.append(
                f"{name} was made for similarity by '{self.similarity}'; seewhy compares by cosine."
            )
        return tuple(notes)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Description:
        """The inverse of `asdict` and JSON; TypeError, ValueError or KeyError for anything else."""
        dense = tuple((str(folder), str(activation)) for folder, activation in values["dense"])
        return cls(**{**values, "dense": dense})


@dataclass(frozen=True)
class KnownModel:
    """An encoder's files and description.

    Attributes:
        loaded: the encoder itself, in float32 on the CPU, if describing it had to load it.
        find: finds the model's own files, of one from the cache.
    """

    files: ModelFiles
    description: Description
    loaded: SentenceTransformer | None = None
    find: Callable[[], KnownModel] | None = None

    def whole(self) -> KnownModel:
        """The same model with its own files, which PyTorch and a conversion need.

        Raises:
            ModelError: it is no longer here, or another model has its name now.
        """
        if self.find is None:
            return self
        problem = f"the converted model of '{self.files.name}' cannot be used"
        try:
            model = self.find()
        except ModelError as error:
            raise ModelError(
                f"{problem}, and to make it again the model itself is needed: {error}"
            ) from None
        if model.files.hashes != self.files.hashes:
            raise ModelError(
                f"{problem}: another model has that name now. Rebuild with: seewhy index FOLDER --rebuild"
            )
        return model


def describe(files: ModelFiles) -> KnownModel:
    """Describe an encoder, from the cache or by loading it.

    Raises:
        ModelError: it cannot be loaded, lacks weights, or makes embeddings in a way that is not supported.
    """
    name = f"{_key(files)}.json"
    with suppress(OSError, ValueError, KeyError, TypeError):
        entry = read_sealed(cache_folder("described") / name)
        if entry["of"] == name:
            return KnownModel(files, Description.from_dict(entry["description"]))
    model = load_encoder(files)
    _, missing = load_transformer(files)
    require_whole(files, missing)
    with loading(files):
        description = _described(files, model, missing)
    with suppress(OSError):  # a cache that cannot be written to costs only loading again
        write_sealed(cache_folder("described") / name, {"of": name, "description": asdict(description)})
    return KnownModel(files, description, model)


def _key(files: ModelFiles) -> str:
    """A hash of all that sentence-transformers reads of a model."""
    digest = hashlib.sha256(f"{_FORMAT} {files.weights_sha256} {files.tokenizer_sha256}".encode())
    for place in (files.folder, *(files.folder / module for module in files.modules)):
        for path in sorted(place.glob("*.json")):
            if path.name not in ("tokenizer.json", "vocab.json"):
                digest.update(f"\n{path.relative_to(files.folder)}\n".encode())
                digest.update(path.read_bytes())
    return digest.hexdigest()


def _described(files: ModelFiles, model: SentenceTransformer, missing: Sequence[str]) -> Description:
    transformer: Any
    transformer, *modules = model
    inside, truncate = transformer.auto_model, model.truncate_dim
    model.truncate_dim = None
    pooling, dense, only_torch = _after(files, modules)
    prompts = {str(key): str(text) for key, text in model.prompts.items() if text}
    if prompts and not all(getattr(module, "include_prompt", True) for module in modules):
        raise ModelError(
            f"the model '{files.name}' keeps prompts out of pooling, which is not supported."
        )
    return Description(
        layers=int(inside.config.num_hidden_layers),
        positions=positions(inside),
        max_tokens=model.max_seq_length or positions(inside),
        has_pooler=not missing and getattr(inside, "pooler", None) is not None,
        pooling=pooling,
        dimension=int(model.get_embedding_dimension() or inside.config.hidden_size),
        prompts=prompts,
        dense=dense,
        truncate=None if truncate is None else int(truncate),
        lowercase=bool(transformer.do_lower_case),
        similarity=str(model.similarity_fn_name),
        only_torch=only_torch,
        says_nothing=not files.modules,
    )


def _after(files: ModelFiles, modules: list[Any]) -> tuple[str, tuple[tuple[str, str], ...], str]:
    """Pooling, Dense modules, and what only sentence-transformers can do, of the modules after the transformer."""
    kinds = [_kind(module) for module in modules]
    if kinds.count("Pooling") != 1:
        raise ModelError(f"the model '{files.name}' makes no embeddings of texts: it does not pool once.")
    ours = {theirs: mine for mine, theirs in ST_NAMES.items()}
    modes = modules[kinds.index("Pooling")].pooling_mode
    named = "+".join(ours.get(mode, mode) for mode in ([modes] if isinstance(modes, str) else modes))
    rest = list(zip(modules, files.modules or ("",), strict=False))
    while _kind(rest[-1][0]) in _SAME_AS_LENGTH_1:
        rest.pop()
    others = [f"the pooling {named}"] if named not in ST_NAMES else []
    dense = []
    for module, folder in rest[kinds[0] == "Pooling" :]:
        if problem := _not_ours(files, module, folder):
            others.append(problem)
        else:
            dense.append((folder, _kind(module.activation_function)))
    return (named, (), ", ".join(others)) if others else (named, tuple(dense), "")


def _not_ours(files: ModelFiles, module: Any, folder: str) -> str:
    """Reason why NumPy cannot compute a module, "" for a Dense module that it can.

    Raises:
        ModelError: sentence-transformers does not trust its activation, and would take another.
    """
    if _kind(module) != "Dense":
        return f"a module {_kind(module)}"
    activation = _kind(module.activation_function)
    saved = optional_json(files.folder / folder / "config.json", files.name).get("activation_function")
    if saved and str(saved).rpartition(".")[2] != activation:
        raise ModelError(
            f"the model '{files.name}' has a Dense module with {saved}, which is not supported."
        )
    if activation not in ACTIVATIONS:
        return f"a Dense module with {activation}"
    if module.use_residual:
        return "a Dense module with a residual"
    plain = module.module_input_name == module.module_output_name == "sentence_embedding"
    return "" if plain else "a Dense module of token vectors"


def _kind(module: Any) -> str:
    return type(module).__name__
