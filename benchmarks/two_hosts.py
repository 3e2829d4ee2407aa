"""Is an answer the same from another host, and what does a reader say when the link is cut?

    sudo python benchmarks/two_hosts.py [FOLDER] [--delay 20] [--loss 1]

Two network namespaces of Linux stand for two hosts, joined by a cable of their own (veth): a Milvus server (milvus-
lite) listens in one, and in the other FOLDER is indexed and published, and then asked: the index in the folder and
the server must give the same hits with the same scores. Once more with a delay and packets lost, where the kernel has
`tc netem`. Then the cable is pulled: a reader must end with one sentence that names the server. It is plugged in
again, at first while a reader waits.

Needs root, Linux and `ip`; elsewhere it says so, and ends.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from machine import headline

REPOSITORY = Path(__file__).resolve().parent.parent
QUESTIONS = ("how are embeddings pooled", "is a score the sum of its addends", "which words count", "attention heads",
             "what happens when a run is killed")  # fmt: skip
SERVER, READER, PORT = "10.213.77.1", "10.213.77.2", 19530  # in namespaces of their own: nobody else is there
ADDRESS = f"milvus://{SERVER}:{PORT}/hosts"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, nargs="?", default=REPOSITORY / "corpora" / "handbook")
    parser.add_argument("--delay", type=float, default=20, help="ms each way")
    parser.add_argument("--loss", type=float, default=1, help="percent of packets")
    parser.add_argument("--quick", action="store_true", help="only publish and ask, the cable as it is")
    parser.add_argument("--child", choices=CHILDREN, help=argparse.SUPPRESS)
    parser.add_argument("--index", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        print(json.dumps(CHILDREN[args.child](args)))
        return
    print(headline("pymilvus", "milvus-lite"), end="\n\n")
    if why := refused():
        print(f"not run: {why}")
        return
    with tempfile.TemporaryDirectory() as place, hosts() as (server, reader):
        os.environ |= {"PYTHONPATH": str(REPOSITORY), "SEEWHY_HOME": str(Path(place) / "home")}
        run(Path(place), args, server, reader)


def refused() -> str:
    """Why there can be no two hosts here; "" where they can be."""
    if not sys.platform.startswith("linux") or not shutil.which("ip"):
        return "network namespaces are a thing of Linux, made with the command ip."
    if os.geteuid() != 0:
        return "only root can make network namespaces."
    name = f"seewhy{os.getpid()}t"
    tried = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True, encoding="utf-8")
    if tried.returncode:
        return f"this machine makes no network namespaces: {tried.stderr.strip()}"
    ip("netns", "del", name)
    return ""


@contextmanager
def hosts() -> Iterator[tuple[str, str]]:
    """The names of two namespaces that are joined by a cable, whose ends have their names."""
    names = [f"seewhy{os.getpid()}{letter}" for letter in "ab"]
    with ExitStack() as stack:
        for name in names:
            ip("netns", "add", name)
            stack.callback(ip, "netns", "del", name)
        ip(
            "link",
            "add",
            names[0],
            "netns",
            names[0],
            "type",
            "veth",
            "peer",
            "name",
            names[1],
            "netns",
            names[1],
        )
        for name, address in zip(names, (SERVER, READER), strict=True):
            ip("-n", name, "addr", "add", f"{address}/24", "dev", name)
            ip("-n", name, "link", "set", name, "up")
            ip("-n", name, "link", "set", "lo", "up")
        yield names[0], names[1]


def run(place: Path, args: argparse.Namespace, server: str, reader: str) -> None:
    index = str(place / "index")
    command = [sys.executable, "-m", "milvus_lite", "server", "--data-dir", str(place / "data"),
               "--host", SERVER, "--port", str(PORT)]  # fmt: skip
    with (place / "log").open("wb") as log:
        milvus = subprocess.Popen(on(server, *command), stdout=log, stderr=log)
    try:

        def child(what: str) -> subprocess.Popen[str]:
            itself = [sys.executable, __file__, str(args.folder), "--child", what, "--index", index]
            return subprocess.Popen(on(reader, *itself), stdout=subprocess.PIPE, text=True, encoding="utf-8")

        print(f"published from the other host: {answer(child('publish'))}")
        told("the cable as it is", answer(child("ask")))
        if args.quick:
            return
        if slowed(reader, args):
            told(
                f"{args.delay:g} ms and {args.loss:g} % lost, each packet of the reader", answer(child("ask"))
            )
            subprocess.run(["tc", "-n", reader, "qdisc", "del", "dev", reader, "root"], check=True)
        for what, host in (("the reader's end pulled", reader), ("the server's end pulled", server)):
            ip("-n", host, "link", "set", host, "down")
            told(what, answer(child("ask")))
            ip("-n", host, "link", "set", host, "up")
        ip("-n", reader, "link", "set", reader, "down")
        waiting = child("ask")
        time.sleep(3)
        ip("-n", reader, "link", "set", reader, "up")
        told("plugged in 3 s after a reader began", answer(waiting))
        told("plugged in", answer(child("ask")))
    finally:
        milvus.kill()
        milvus.wait()


def publish(args: argparse.Namespace) -> dict[str, Any]:
    from search import Index
    from search.store.milvus.ledger import Place, keep_place
    from search.store.milvus.publishing import publish as published

    index = Index.build(args.folder, index=args.index, offline=True)
    keep_place(index.path, Place(ADDRESS, "FLAT"))
    return {"passages": published(index.path, index.encoder).written}


def ask(args: argparse.Namespace) -> dict[str, Any]:
    """Ask both, and say what was the same; or the error."""
    from search import Index
    from search.errors import SearchError

    started = time.perf_counter()
    try:
        folder = Index.open(args.index, offline=True)
        server = Index.open(ADDRESS, offline=True)
        times, off, same = [], 0.0, 0
        for question in QUESTIONS:
            mine = folder.query(question)
            before = time.perf_counter()
            theirs = server.query(question)
            times.append(1000 * (time.perf_counter() - before))
            same += [hit.passage_id for hit in mine] == [hit.passage_id for hit in theirs]
            off = max([off, *(abs(a.score - b.score) for a, b in zip(mine, theirs, strict=True))])
    except SearchError as error:
        return {"error": str(error), "seconds": time.perf_counter() - started}
    return {"same": same, "of": len(QUESTIONS), "off": off, "ms": statistics.median(times)}


CHILDREN: dict[str, Callable[[argparse.Namespace], dict[str, Any]]] = {"publish": publish, "ask": ask}


def told(how: str, said: dict[str, Any]) -> None:
    if "error" in said:
        print(f"{how}: an error after {said['seconds']:.1f} s: {said['error']}")
    else:
        print(f"{how}: {said['same']} of {said['of']} lists of hits are the same, scores off by {said['off']:.1e}, "
              f"{said['ms']:.0f} ms a query, median")  # fmt: skip


def slowed(reader: str, args: argparse.Namespace) -> bool:
    """Delay and lose packets, if the kernel can."""
    netem = ["netem", "delay", f"{args.delay}ms", "loss", f"{args.loss}%"]
    command = ["tc", "-n", reader, "qdisc", "add", "dev", reader, "root", *netem]
    done = (
        subprocess.run(command, capture_output=True, text=True, encoding="utf-8")
        if shutil.which("tc")
        else None
    )
    if done is None or done.returncode:
        print(f"no delay, no loss: {done.stderr.strip() if done else 'there is no command tc'}")
        return False
    return True


def answer(child: subprocess.Popen[str]) -> dict[str, Any]:
    out, _ = child.communicate()
    if child.returncode:
        sys.exit(f"a child ended with {child.returncode}")
    return dict(json.loads(out.splitlines()[-1]))


def on(host: str, *command: str) -> list[str]:
    """A command in a namespace."""
    return ["ip", "netns", "exec", host, *command]


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)


if __name__ == "__main__":
    main()
