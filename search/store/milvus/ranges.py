"""All that a server has, though it gives only so many rows a request: the range of ids is cut where a request was.

So an answer is never cut itself, no iterator is kept on the server, and none is lost with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from search.errors import SearchError

Rows: TypeAlias = "list[dict[str, Any]]"

# Bytes of the embeddings, or of other long fields, that one request may come back with; a server takes part in it from
# 64 MB on.
MOST_BYTES = 16 << 20


def in_parts(
    ask: Callable[[str], Rows],
    key: str,
    is_cut: Callable[[Rows], bool],
    ids_of: Callable[[Rows], list[int]] | None = None,
) -> Iterator[Rows]:
    """The rows of some requests which together ask for all, in the order of their ranges; none of them is cut.

    Args:
        ask: what a request gives for an expression of a range of `key`; "" for all.
        key: a field of whole numbers, of which rows share few.
        is_cut: whether there may be more than these that matter. It is asked in the order of the requests.
        ids_of: the keys of rows; None where each row has its own under that name.
    """
    ranges = [""]
    while ranges:
        where = ranges.pop()
        rows = ask(where)
        if not is_cut(rows):
            yield rows
            continue
        ids = sorted(ids_of(rows) if ids_of else [int(row[key]) for row in rows])
        middle = ids[(len(ids) - 1) // 2]
        if middle == ids[-1]:
            raise SearchError(
                f"the server gives no more than {len(rows)} rows, and that many have one number."
            )
        upper, lower = f"{key} > {middle}", f"{key} <= {middle}"
        ranges += [f"{where} and {half}" if where else half for half in (upper, lower)]


def both(*expressions: str) -> str:
    """The expression of what passes all of some expressions, of which "" is none."""
    return " and ".join(f"({expression})" for expression in expressions if expression)
