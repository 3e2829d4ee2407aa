"""Descriptions of encoders, cached so that the next process need not load sentence-transformers.

    <cache>/described/<hash of the model's files>.json

Loading a model imports PyTorch, which takes seconds. A converted model has its description in its cache entry, see
`search.encoding.cache`.
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
from search.encoding.prompts import Prompts
from search.encoding.static import table_width
from search.encoding.used import remember
from search.errors import ModelError
from search.files import cache_folder, read_sealed, write_sealed

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

_FORMAT = 5  # raise it when more is written down
_UNLIMITED = 2**20  # tokens
MIXING = "WeightedLayerPooling"  # a module that mixes the token vectors of several layers
_SAME_AS_LENGTH_1 = ("Normalize", "Dropout")  # last modules that keep the direction of an embedding


@dataclass(frozen=True)
class Description:
    """Properties of a model: layers, limits, and the steps from text to embedding.

    Attributes:
        layers: number of encoder layers; hidden states are numbered 0 (the embedding layer) to `layers`.
        positions: maximum number of tokens the model can read, special tokens included.
        max_tokens: maximum number of tokens of a text, by the model's configuration.
        has_pooler: True if the checkpoint contains weights of a pooler.
        pooling: the model's own pooling, "mean" by default: one of POOLINGS, or sentence-transformers' name for another
            one.
        dense: (folder, activation) of each Dense module after pooling.
        dimension: length of an embedding before truncation.
        truncate: number of dimensions to keep, by the model's configuration; None for all.
        lowercase: True if texts are lower-cased before tokenisation.
        prompts: name ("query", "document", ...) -> text put before every input of that kind, by the model's files.
        similarity: similarity that the model was trained for: "cosine", "dot", "euclidean" or "manhattan".
        only_torch: description of modules that only sentence-transformers can run; "" if there are none.
        says_nothing: True if the model has no modules.json, so its pooling is a guess.
        pooler_untrained: True if the bias of the pooler is 0 everywhere, as before training.
        pools_prompt: False if the tokens of a prompt are not pooled.
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
    pooler_untrained: bool = False
    pools_prompt: bool = True

    def notes(self, name: str, pooling: str) -> tuple[str, ...]:
        """Return notes on assumptions that are made about the model `name` when it is used with a pooling."""
        notes = []
        if pooling == "pooler" and self.pooler_untrained:
            notes.append(
                f"the pooler of {name} was never trained: its bias is 0 everywhere. Its embeddings are a random "
                f"projection of [CLS], and hits are worse than with the model's own pooling. To use that for an "
                f"index, add to seewhy index: --pooling {self.pooling} --rebuild"
            )
        if pooling != self.pooling:
            return tuple(notes)
        if self.says_nothing:
            notes.append(
                f"{name} is not a sentence embedding model, so mean pooling is a guess. To choose, add: --pooling"
            )
        if self.similarity != "cosine":
            notes.append(f"{name} was trained for '{self.similarity}' similarity; seewhy uses cosine.")
        return tuple(notes)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Description:
        """Build a description from the dictionary that `asdict` returned.

        Raises:
            TypeError, ValueError, KeyError: the dictionary has another format.
        """
        dense = tuple((str(folder), str(activation)) for folder, activation in values["dense"])
        return cls(**{**values, "dense": dense})


@dataclass(frozen=True)
class KnownModel:
    """An encoder's files and description.

    Attributes:
        loaded: the encoder in float32 on the CPU, if it was loaded to describe it.
        find: for a model from the cache, returns the model with its original files.
        prompts: prompts to use; None takes those of the model.
        of_queries: the modules of queries, if they are others than those of documents.
    """

    files: ModelFiles
    description: Description
    loaded: SentenceTransformer | None = None
    find: Callable[[], KnownModel] | None = None
    prompts: Prompts | None = None
    of_queries: KnownModel | None = None

    def whole(self) -> KnownModel:
        """Return the same model with its original files, which PyTorch and a conversion need.

        Raises:
            ModelError: it is no longer on this machine, or its name now belongs to another model.
        """
        if self.find is None:
            return self
        problem = f"cannot use the converted model '{self.files.name}'"
        try:
            model = self.find()
        except ModelError as error:
            raise ModelError(
                f"{problem}, and the original model, which is needed to convert it again, was not found: {error}"
            ) from None
        if model.files.hashes != self.files.hashes:
            raise ModelError(
                f"{problem}: its name now belongs to another model. Rebuild the index: seewhy index FOLDER --rebuild"
            )
        return model


def describe(files: ModelFiles) -> KnownModel:
    """Describe an encoder that the user chose, from the cache or by loading it, and remember its name.

    Raises:
        ModelError: the model cannot be loaded, lacks weights, or embeds texts in an unsupported way.
    """
    remember(files)
    return _with_description(files)


def _with_description(files: ModelFiles) -> KnownModel:
    of_queries = _with_description(files.of_queries) if files.of_queries else None
    if files.is_static:
        return KnownModel(files, _of_static(files), of_queries=of_queries)
    name = f"{_key(files)}.json"
    with suppress(OSError, ValueError, KeyError, TypeError):
        entry = read_sealed(cache_folder("described") / name)
        if entry["of"] == name:
            return KnownModel(files, Description.from_dict(entry["description"]), of_queries=of_queries)
    model = load_encoder(files)
    _, missing = load_transformer(files, type(model[0].auto_model).__name__)
    require_whole(files, missing)
    with loading(files):
        description = _described(files, model, missing)
    with suppress(OSError):  # without a writable cache, the next process loads the model again
        write_sealed(cache_folder("described") / name, {"of": name, "description": asdict(description)})
    return KnownModel(files, description, model, of_queries=of_queries)


def _of_static(files: ModelFiles) -> Description:
    """Describe a static model by its files; sentence-transformers limits neither its texts nor its tokens."""
    settings = optional_json(files.folder / "config_sentence_transformers.json", files.name)
    truncate = settings.get("truncate_dim")
    return Description(
        layers=0,
        positions=_UNLIMITED,
        max_tokens=_UNLIMITED,
        has_pooler=False,
        pooling="mean",
        dimension=table_width(files),
        prompts={key: text for key, text in settings.get("prompts", {}).items() if text},
        truncate=None if truncate is None else int(truncate),
        similarity=settings.get("similarity_fn_name") or "cosine",
    )


def _key(files: ModelFiles) -> str:
    """Return a hash of all files that sentence-transformers reads."""
    digest = hashlib.sha256(
        f"{_FORMAT} {files.weights_sha256} {files.tokenizer_sha256} {files.route}".encode()
    )
    folders = dict.fromkeys(files.folder / path for path in ("", files.inputs, *files.modules))
    for folder in folders:
        for path in sorted(folder.glob("*.json")):
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
        pooler_untrained=not missing and _has_untrained_pooler(inside),
        pools_prompt=all(getattr(module, "include_prompt", True) for module in modules),
    )


def _has_untrained_pooler(encoder: Any) -> bool:
    """Return True if an encoder has a pooler with a bias of 0, which training would have changed."""
    bias = getattr(getattr(getattr(encoder, "pooler", None), "dense", None), "bias", None)
    return bias is not None and not bool(bias.any())


def _after(files: ModelFiles, modules: list[Any]) -> tuple[str, tuple[tuple[str, str], ...], str]:
    """Return pooling, Dense modules, and a description of the modules that need sentence-transformers ("" for none)."""
    kinds = [_kind(module) for module in modules]
    if kinds.count("Pooling") != 1:
        raise ModelError(
            f"the model '{files.name}' does not embed texts: it needs exactly one pooling module."
        )
    at = kinds.index("Pooling")
    ours = {theirs: name for name, theirs in ST_NAMES.items()}
    modes = modules[at].pooling_mode
    named = "+".join(ours.get(mode, mode) for mode in ([modes] if isinstance(modes, str) else modes))
    rest = list(zip(modules, files.modules or ("",), strict=False))
    while _kind(rest[-1][0]) in _SAME_AS_LENGTH_1:
        rest.pop()
    others = [f"the pooling {named}"] if named not in ST_NAMES else []
    dense = []
    for module, folder in (*rest[:at], *rest[at + 1 :]):
        if problem := _not_ours(files, module, folder):
            others.append(problem)
        else:
            dense.append((folder, _kind(module.activation_function)))
    return (named, (), ", ".join(others)) if others else (named, tuple(dense), "")


def _not_ours(files: ModelFiles, module: Any, folder: str) -> str:
    """Return why NumPy cannot compute a module; "" if it can.

    Raises:
        ModelError: sentence-transformers would replace the activation of a Dense module.
    """
    if _kind(module) != "Dense":
        return f"a module {_kind(module)}"
    activation = _kind(module.activation_function)
    saved = optional_json(files.folder / folder / "config.json", files.name).get("activation_function")
    if saved and str(saved).rpartition(".")[2] != activation:
        raise ModelError(f"unsupported model '{files.name}': a Dense module uses the activation {saved}.")
    if activation not in ACTIVATIONS:
        return f"a Dense module with {activation}"
    if module.use_residual:
        return "a Dense module with a residual connection"
    plain = module.module_input_name == module.module_output_name == "sentence_embedding"
    return "" if plain else "a Dense module for token vectors"


def _kind(module: Any) -> str:
    return type(module).__name__
