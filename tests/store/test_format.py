"""The files of a segment, read back by what indexes/README.md tells of their bytes, and by nothing else."""

import re
import struct
import zlib
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from search.store import codes
from search.store.composing import written
from search.store.terms import Stemmer
from tests.conftest import REPOSITORY
from tests.store.test_blocks import passages

README = (REPOSITORY / "indexes" / "README.md").read_text(encoding="utf-8")


def told(heading: str, first: str) -> list[list[str]]:
    """The rows of the table below a heading whose first column is called so, but for those of heads."""
    table = README.split(f"\n{heading}\n")[1].split(f"\n| {first} |")[1].split("\n\n")[0]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in table.split("\n")[2:]]


@pytest.mark.parametrize(("n", "d"), [(1, 1), (70, 16), (5, 1041)])
def test_codes(tmp_path: Path, n: int, d: int) -> None:
    vectors = np.random.default_rng(n).standard_normal((n, d)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    file = tmp_path / "segment.faiss"
    file.touch()
    scale, checksum = codes.write(file, 7 * np.arange(1, n + 1), vectors)
    content = file.read_bytes()
    whole = len(content) // (8 * 509) * 509
    sums = np.frombuffer(content, dtype="<u8", count=whole).reshape(-1, 509).sum(axis=0, dtype="u8")
    assert checksum == zlib.crc32(sums.astype("<u8").tobytes() + content[8 * whole :])
    header = struct.pack("<iqqqBi", d, n, 1 << 20, 1 << 20, 1, 0)
    numbers = struct.pack("<iifQQQQ", 8, 0, 0.0, d, d, 0, n * d)
    assert content[:118] == b"IxMp" + header + b"IxSQ" + header + numbers
    assert [row[0] for row in told("### The codes", "offset")][-2:] == ["118 + n d", "126 + n d"]
    behind, ids = 118 + n * d, 126 + n * d
    assert content[behind:ids] == n.to_bytes(8, "little")
    assert np.frombuffer(content[ids:], dtype="<i8").tolist() == [7 * number for number in range(1, n + 1)]
    (snippet,) = re.findall(r"```python\n(codes = .*?)```", README, re.DOTALL)
    names: dict[str, Any] = {"numpy": np, "content": content, "n": n, "d": d, "peak": scale.peak}
    exec(snippet, names)
    off = np.linalg.norm(vectors - names["nearly"], axis=1).max()
    assert off <= scale.error / 2**24 <= off + 2 / 2**24


@pytest.mark.parametrize("n", [0, 1, 300])
def test_words(n: int) -> None:
    texts = passages(n, first=1000)
    content = written(Stemmer(), texts)
    assert content[:16] == b"seewhy words 2\0\0"
    count, terms, postings, *sizes, first_id = struct.unpack_from("<IIQQQq", content, 32)
    groups = -(-terms // 64)
    entries = {"n": count, "g + 1": groups + 1, "t": terms, "m": postings}
    start, arrays = 72, {}
    for width, (name, number, _) in zip(content[16:25], told("### The words", "array"), strict=True):
        size = entries[number] if number in entries else sizes["stems firsts".split().index(name.strip("`"))]
        arrays[name.strip("`")] = np.frombuffer(content, dtype=f"<u{width}", count=size, offset=start)
        start = -(-(start + width * size) // 8) * 8
    assert start == len(content)

    stems, firsts = (arrays[name].tobytes().split(b"\n")[:-1] for name in ("stems", "firsts"))
    assert stems == sorted(stems) and firsts == stems[::64] and len(stems) == terms
    assert [first_id + int(offset) for offset in arrays["ids"]] == [id_ for id_, _ in texts]
    ends = [0, *accumulate(arrays["counts"].tolist())]
    assert arrays["posting_starts"].tolist() == [*ends[:-1:64], ends[-1]]
    lengths = np.zeros(n, dtype=int)
    for begin, end in pairwise(ends):
        rows, times = (arrays[name][begin:end] for name in ("rows", "frequencies"))
        lengths[rows] += times
    assert lengths.tolist() == arrays["lengths"].tolist()
    assert [arrays["stem_starts"][group] for group in range(groups)] == [
        sum(len(stem) + 1 for stem in stems[: 64 * group]) for group in range(groups)
    ]
