"""Names of the models that were used on this machine, by the hashes of their files.

    <cache>/used/<weights>-<tokenizer>-<config>.json

An index from somebody else may name any model or folder. It is loaded only under a name that the user gave before.
"""

from __future__ import annotations

from contextlib import suppress

from search.encoding.models import ModelFiles
from search.files import cache_folder, cache_home, read_sealed, write_sealed


def short_hashes(weights: str, tokenizer: str, config: str) -> str:
    """Return the name of what the cache has of the model whose files have these hashes."""
    return f"{weights[:24]}-{tokenizer[:12]}-{config[:12]}"


def remember(files: ModelFiles) -> None:
    """Store the name of a model that the user chose. Without a writable cache, nothing is stored."""
    if name_here(*files.hashes) != files.name:
        with suppress(OSError):
            file = cache_folder("used") / f"{short_hashes(*files.hashes)}.json"
            write_sealed(file, {"hashes": list(files.hashes), "name": files.name})


def name_here(weights: str, tokenizer: str, config: str) -> str:
    """Return the name under which the model with these hashes was used last; "" if it never was."""
    with suppress(OSError, ValueError, KeyError):
        file = cache_home() / "used" / f"{short_hashes(weights, tokenizer, config)}.json"
        content = read_sealed(file)
        if content["hashes"] == [weights, tokenizer, config]:
            return str(content["name"])
    # Earlier versions had the name in the entry of a converted model only.
    with suppress(OSError, ValueError, KeyError, TypeError):
        entry = cache_home() / "models" / short_hashes(weights, tokenizer, config) / "entry.json"
        return str(read_sealed(entry)["files"]["name"])
    return ""
