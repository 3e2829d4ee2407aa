"""What do other libraries need for the same passages: LanceDB, Chroma, txtai and Milvus Lite, beside seewhy?

    python benchmarks/scale.py INDEX --sizes 200000 --steps built --place PLACE --export PLACE/export
    python benchmarks/peers.py PLACE/export PLACE/200000/index --environments FOLDER [--only NAME ...]

Each gets the same vectors and texts, in a virtual environment of its own, made in FOLDER where it is not there; what
cannot be installed is left out, with a sentence. No encoder runs anywhere: vectors of queries are read from a file, by
seewhy as well. Each task is a process: building; one that opens the index and answers one query, cold; one that answers
all, warm. Every hit comes with its text. Words are asked as each library does it by default, so hits differ; recall is
that of the ten nearest by meaning. See peers_libraries.py.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from machine import headline, process
from peers_libraries import PEERS

REPOSITORY = Path(__file__).resolve().parent.parent
ABILITIES = ("dense", "words", "hybrid")
Figures = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("export", type=Path)
    parser.add_argument("index", type=Path, help="seewhy's, of the same passages")
    parser.add_argument(
        "--environments", type=Path, help="where virtual environments are, or are to be made"
    )
    parser.add_argument("--place", type=Path, help="where the indexes of the others are made, and stay")
    parser.add_argument("--only", nargs="+", choices=PEERS, default=list(PEERS))
    parser.add_argument("--repeats", type=int, default=5, help="cold processes")
    args = parser.parse_args()
    print(headline("numpy", "faiss-cpu"), end="\n\n")
    os.environ |= {"PYTHONPATH": str(REPOSITORY), "HF_HUB_OFFLINE": "1"}
    with tempfile.TemporaryDirectory() as temporary:
        place = args.place or Path(temporary)
        columns = {name: measured(name, place, args) for name in args.only}
    table({name: figures for name, figures in columns.items() if figures})


def environment(name: str, folder: Path | None) -> Path | None:
    """The Python that has a library, installed first if need be; None, with a sentence, where that cannot be."""
    packages = PEERS[name].packages
    if not packages:
        return Path(sys.executable)
    if folder is None:
        print(f"{name}: left out, as no --environments are given")
        return None
    home = folder / packages[-1]
    python = home / "bin" / "python"
    if not python.exists():
        print(f"{name}: installing {' '.join(packages)}", flush=True)
        subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
    pip = [str(python), "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
    installed = subprocess.run([*pip, "--constraint", str(REPOSITORY / "constraints.txt"), *packages])
    if installed.returncode:
        print(f"{name}: left out, as {' '.join(packages)} cannot be installed")
        return None
    return python


def measured(name: str, place: Path, args: argparse.Namespace) -> Figures:
    """All figures of a library; nothing where it cannot be installed or does not answer."""
    python = environment(name, args.environments)
    if python is None:
        return {}
    here = args.index if name == "seewhy" else place / name.replace(", ", "-").replace(" ", "-")
    place.mkdir(parents=True, exist_ok=True)

    def task(what: str) -> Figures:
        script = Path(__file__).with_name("peers_libraries.py")
        return process(
            [str(python), *map(str, (script, args.export, here, name, what))], family=True, told=True
        )

    figures: Figures = {}
    try:
        kept = here.with_suffix(".json")
        if name != "seewhy" and not kept.exists():
            kept.write_text(json.dumps(task("build")), encoding="utf-8")
        figures["build"] = json.loads(kept.read_text(encoding="utf-8")) if name != "seewhy" else None
        figures["warm"] = task("warm")
        for ability in ABILITIES:
            runs = (
                [task(ability) for _ in range(args.repeats + 1)][1:] if ability in figures["warm"] else []
            )
            figures[ability] = (
                {key: statistics.median(one[key] for one in runs) for key in runs[0]} if runs else None
            )
    except RuntimeError as error:
        print(f"{name}: left out, as it failed: {error}")
        return {}
    figures["bytes"] = sum(path.stat().st_size for path in here.rglob("*") if path.is_file())
    return figures


def table(columns: dict[str, Figures]) -> None:
    def row(name: str, told: Callable[[Figures], str]) -> None:
        print(f"| {name} | {' | '.join(map(told, columns.values()))} |")

    def cold(ability: str) -> Callable[[Figures], str]:
        usage = "{wall:.2f} s, {cpu:.2f} s, {mb:,.0f} MB"
        return lambda one: usage.format(**one[ability]) if one[ability] else "no"

    def warm(ability: str) -> Callable[[Figures], str]:
        return lambda one: (
            "{:.1f} ms".format(1e3 * one["warm"][ability]["seconds"]) if one[ability] else "no"
        )

    print(f"\n| | {' | '.join(columns)} |\n|---|{'---|' * len(columns)}")
    for ability in ABILITIES:
        row(f"cold, {ability}: clock, processor, peak memory", cold(ability))
        row(f"warm, {ability}: median", warm(ability))
    row("recall@10, dense", lambda one: f"{one['warm']['dense']['recall']:.4f}")
    row("warm: peak memory", lambda one: f"{one['warm']['mb']:,.0f} MB")
    row("on disk", lambda one: f"{one['bytes'] / 2**20:,.0f} MB")
    usage = "{wall:.0f} s, {cpu:.0f} s, {mb:,.0f} MB"
    row(
        "build: clock, processor, peak memory",
        lambda one: usage.format(**one["build"]) if one["build"] else "",
    )


if __name__ == "__main__":
    main()
