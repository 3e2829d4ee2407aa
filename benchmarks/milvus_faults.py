"""Is an answer of an index on Milvus ever mixed, or lost, when the server is killed while it is written to?

    python benchmarks/milvus_faults.py [--rounds 20] [--kills 20] [--passages 300] [--seed 20] [--model NAME]

Every file of a folder says which state it is of. A writer changes all of them, or some, and publishes, round by round;
four readers look at all passages of a state, two of them of one that they keep open while the next is published; the
server, milvus-lite on loopback, is killed (-9) and started again on its data at times that the seed draws, also in the
middle of a publication. Counted are looks, errors that readers get while there is no server, and answers that are of
no state that was published: there may be none. At the end the server has what the folder's index has.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from machine import headline

from search import Index
from search.errors import ChangedMeanwhile, IndexNotFound, StoreUnavailable
from search.store.milvus.address import Address
from search.store.milvus.store import MilvusStore
from search.store.sqlite import SQLiteStore
from tests.milvus_server import MilvusServer

READERS = 4
TOGETHER = 10  # paragraphs of a file


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--kills", type=int, default=20, help="at least so many; rounds go on until then")
    parser.add_argument("--passages", type=int, default=300)
    parser.add_argument("--seed", type=int, default=20)
    parser.add_argument("--model", default=None)
    args = parser.parse_args()
    print(headline("pymilvus", "milvus-lite", "numpy"))
    with tempfile.TemporaryDirectory() as place:
        os.environ |= {"SEEWHY_HOME": str(Path(place) / "home"), "HF_HUB_OFFLINE": "1"}
        Run(Path(place), args.passages, args.seed, args.model).all(args.rounds, args.kills)


class Run:
    """A folder, a server, readers and one that kills.

    Attributes:
        states: what each state says that may answer: a text for every file, by its name.
        counts: of what was seen.
    """

    def __init__(self, place: Path, passages: int, seed: int, model: str | None) -> None:
        self.folder, self.files = place / "folder", max(2, passages // TOGETHER)
        self.folder.mkdir()
        self.server = MilvusServer(place / "data")
        self.address = f"{self.server.uri}/notes"
        self.random = random.Random(seed)
        self.states: list[dict[str, str]] = []
        self.counts = Counter[str]()
        self.model, self.over = model, threading.Event()

    def all(self, rounds: int, kills: int) -> None:
        self.server.start()
        self.change(everything=True)
        index = Index.build(self.folder, store=self.address, model=self.model)
        threads = [threading.Thread(target=self.read, args=(number % 2 == 1,)) for number in range(READERS)]
        threads.append(threading.Thread(target=self.kill))
        for thread in threads:
            thread.start()
        try:
            number = 0
            while number < rounds or self.counts["kills"] < kills:
                number += 1
                self.change(everything=number % 3 == 0)
                self.publish(index)
        finally:
            self.over.set()
            for thread in threads:
                thread.join()
        same = self.seen(MilvusStore(Address.parse(self.address))) == self.seen(SQLiteStore(index.path))
        self.server.kill()
        self.counts["lost"] = int(not same)
        for what in ("published", "publications cut off", "kills", "looks", "errors", "mixed", "lost"):
            print(f"{self.counts[what]:8,} {what}")

    def change(self, *, everything: bool) -> None:
        """The next state of the folder."""
        said = dict(self.states[-1]) if self.states else {}
        names = [f"{number}.txt" for number in range(self.files)]
        for name in names if everything else self.random.sample(names, 1 + self.files // 10):
            said[name] = str(len(self.states))
            paragraphs = [
                f"The key of {name} is {said[name]}, in the water of door {p}." for p in range(TOGETHER)
            ]
            (self.folder / name).write_text("\n\n".join(paragraphs), encoding="utf-8")
        self.states.append(said)

    def publish(self, index: Index) -> None:
        while True:
            try:
                index.update()
            except StoreUnavailable:
                self.counts["publications cut off"] += 1
            else:
                self.counts["published"] += 1
                return

    def kill(self) -> None:
        """The server, between publications and within them."""
        while not self.over.wait(self.random.uniform(0.2, 3)):
            self.server.kill()
            self.counts["kills"] += 1
            time.sleep(self.random.uniform(0, 0.5))
            self.server.start()

    def read(self, kept: bool) -> None:
        """Look at all passages, and again: of the newest state each time, or of one that is kept open meanwhile."""
        while not self.over.is_set():
            try:
                store = MilvusStore(Address.parse(self.address))
                with store.reading() as snapshot:
                    looks = []
                    for _ in range(1 + kept):
                        ids = snapshot.ids().tolist()
                        looks.append({one.document: one.text for one in snapshot.stored(ids).values()})
                        time.sleep(0.2 * kept)
            except (StoreUnavailable, ChangedMeanwhile, IndexNotFound) as error:
                self.counts["errors"] += not isinstance(error, ChangedMeanwhile)
                continue
            self.counts["looks"] += 1
            self.counts["mixed"] += not (looks[0] == looks[-1] and self.is_a_state(looks[0]))

    def is_a_state(self, texts: dict[str, str]) -> bool:
        """Whether texts of files are those of one state of the folder."""
        return any(
            texts.keys() == said.keys() and all(f"is {said[name]}," in text for name, text in texts.items())
            for said in self.states
        )

    def seen(self, store: MilvusStore | SQLiteStore) -> dict[int, object]:
        """All that an index holds."""
        with store.reading() as snapshot:
            stored = snapshot.stored(snapshot.ids().tolist())
            return {id_: (one.document, one.text) for id_, one in stored.items()}


if __name__ == "__main__":
    main()
