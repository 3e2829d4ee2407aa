"""The library, the command, HTTP and agents give the same answers; what cannot be asked is refused by all."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.error
from pathlib import Path
from typing import Any

import pytest

import search
from tests.conftest import REPOSITORY, Run
from tests.contract.conftest import Api, command
from tests.contract.oracle import SCORE, SINCE

QUERY = "rotate the token of water -lock"
FIELDS = (
    "rank", "mode", "path", "title", "heading", "text", "start", "end", "line_start", "line_end", "passage_id",
    "document_id",
)  # fmt: skip
NUMBERS = ("score", "cosine", "lexical")
# As the library takes them; `flags` as the command does.
OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"k": 3, "mode": "dense"},
    {"k": 25, "mode": "lexical", "per_document": 1},
    {"weight": 0.3, "offset": 4, "k": 5},
    {"where": 'lang=en and tags in ("C++", ops)', "since": SINCE},
    {"group": True, "k": 4, "per_document": 2},
    {"min_score": 0.8, "all_copies": True, "k": 50},
    {"rerank": "late", "k": 6},
    {"without": ["token"], "per_document": 0},
    {"where": 'text:"the token" and not text:water', "k": 12},
    {"where": "lang=nowhere"},
    {"sort": "date", "k": 12, "until": "yesterday"},
)


def flags(options: dict[str, Any]) -> list[str]:
    """Options of the library as the command takes them."""
    typed = []
    for name, value in options.items():
        flag = {"k": "--top-k"}.get(name, f"--{name.replace('_', '-')}")
        for one in value if isinstance(value, list) else [value]:
            typed += [flag] if value is True else [flag, str(one)]
    return typed


def assert_same(hits: list[search.Hit], said: list[dict[str, Any]]) -> None:
    assert len(said) == len(hits)
    for hit, one in zip(hits, said, strict=True):
        assert {name: one[name] for name in FIELDS} == {name: getattr(hit, name) for name in FIELDS}
        assert one["metadata"] == dict(hit.metadata)
        for name in NUMBERS:
            assert one[name] == (
                None if getattr(hit, name) is None else pytest.approx(getattr(hit, name), abs=SCORE)
            )


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_a_query_is_the_same_by_command_and_http(
    index: search.Index, run: Run, api: Api, options: dict[str, Any]
) -> None:
    hits = index.query(QUERY, **options)
    assert bool(hits) == (options.get("where") != "lang=nowhere")
    code, out, _ = run("query", QUERY, "-i", "contract", "--json", *flags(options))
    assert code == 0
    assert_same(hits, json.loads(out))
    code, out, _ = run(
        "query", QUERY, "-i", "contract", "--jsonl", "--engine", "openvino", "-q", *flags(options)
    )
    assert code == 0
    assert_same(hits, [json.loads(line) for line in out.splitlines()])
    answer = api("search", q=QUERY, **options)
    assert_same(hits, answer["hits"])
    assert answer["generation"] == index.generation


@pytest.mark.parametrize("mode", ["hybrid", "dense", "lexical"])
def test_an_agent_has_the_same_hits(index: search.Index, agent: Api, mode: str) -> None:
    for where, since in ((None, None), ("lang=en", None), ("not kind=csv", SINCE)):
        hits = index.query(QUERY, 5, mode=mode, where=where, since=since)
        given = {name: value for name, value in (("where", where), ("since", since)) if value}
        answer = agent("search", query=QUERY, k=5, mode=mode, max_tokens=8_000, **given)
        assert answer["total"] == index.status().passages
        assert len(answer["results"]) == len(hits)
        for one, hit in zip(answer["results"], hits, strict=True):
            name = Path(hit.path).name
            assert name in one["place"] and one["place"].endswith(f":{hit.line_start}-{hit.line_end}")
            assert one["text"] == hit.text
            assert one["score"] == round(hit.score, 3)


def test_documents_are_the_same_by_all(index: search.Index, api: Api, agent: Api) -> None:
    for one, hit in zip(agent("search", query=QUERY, k=4)["results"], index.query(QUERY, 4), strict=True):
        assert agent("fetch", id=one["id"], around=0)["text"] == hit.text
        assert hit.text in agent("fetch", id=one["id"], around=5, max_tokens=8_000)["text"]
    hit = index.query(QUERY, 1)[0]
    document, said = index.document(hit.document_id), api(f"documents/{hit.document_id}")
    assert (said["text"], len(said["passages"])) == (document.text, len(document.passages))
    assert hit.text in [passage["text"] for passage in said["passages"]]


def test_an_explanation_is_the_same_by_all(index: search.Index, run: Run, api: Api, agent: Api) -> None:
    for mode in ("hybrid", "dense", "lexical"):
        hit = index.query(QUERY, 3, mode=mode)[1]
        why = index.explain(QUERY, hit)
        typed = json.loads(
            run("explain", QUERY, "2", "-i", "contract", "--json", "-m", mode, "-k", "3")[1]
        )
        asked = api("explain", q=QUERY, passage=hit.passage_id, mode=mode)
        for said in (typed, asked):
            assert said["score"] == pytest.approx(hit.score, abs=SCORE)
            assert said["cosine"] == pytest.approx(why.cosine, abs=SCORE)
            assert abs(said["residual"]) < SCORE
            assert [token["text"] for token in said["passage_tokens"]] == [
                t.text for t in why.passage_tokens
            ]
            for name in ("contributions", "similarity"):
                assert said[name] == [pytest.approx(row, abs=1e-5) for row in getattr(why, name).tolist()]
            terms = {term["term"]: term["contribution"] for term in said["terms"]}
            assert terms == {term.term: pytest.approx(term.contribution, abs=SCORE) for term in why.terms}
        id_ = agent("search", query=QUERY, k=3, mode=mode)["results"][1]["id"]
        told = agent("explain", query=QUERY, id=id_, mode=mode)
        assert told["score"] == pytest.approx(hit.score, abs=SCORE)
        shares = [(share["word"], share["adds"]) for share in told["shares"]]
        wanted = sorted(why.shares(), key=lambda share: -abs(share.contribution))
        assert shares == [(share.text, pytest.approx(share.contribution, abs=SCORE)) for share in wanted]


def test_layers_are_the_same_by_all(index: search.Index, run: Run, api: Api) -> None:
    hit = index.query(QUERY, 1)[0]
    for layer in (0, 2, "last"):
        wanted = index.explain(QUERY, hit, layer=layer).similarity
        typed = run("explain", QUERY, "1", "-i", "contract", "--json", "--layer", layer)[1]
        for said in (json.loads(typed), api("explain", q=QUERY, passage=hit.passage_id, layer=layer)):
            assert said["similarity"] == [pytest.approx(row, abs=1e-5) for row in wanted.tolist()]


def test_a_contrast_is_the_same_by_all(index: search.Index, run: Run, api: Api) -> None:
    hits = index.query(QUERY, 8)
    contrast = index.contrast(QUERY, hits[0], hits[7])
    typed = json.loads(run("contrast", QUERY, "1", "8", "-i", "contract", "--json")[1])
    asked = api("contrast", q=QUERY, a=hits[0].passage_id, b=hits[7].passage_id)
    for said in (typed, asked):
        assert said["gap"] == pytest.approx(contrast.gap, abs=SCORE)
        assert [(word["text"], word["gap"]) for word in said["words"]] == [
            (word.text, pytest.approx(word.gap, abs=SCORE)) for word in contrast.words
        ]
        assert [said[side]["passage_id"] for side in "ab"] == [hits[0].passage_id, hits[7].passage_id]


def test_why_not_is_the_same_by_all(
    index: search.Index, run: Run, api: Api, agent: Api, folder: Path
) -> None:
    for name in ("txt/t05.txt", "md/m07.md"):
        why = index.why_not(QUERY, folder / name, k=5)
        assert why.hit is not None
        typed = json.loads(run("why-not", QUERY, folder / name, "-i", "contract", "--json", "-k", "5")[1])
        asked = api("why-not", q=QUERY, document=why.hit.document_id, k=5)
        for said in (typed, asked):
            assert (said["cause"], said["hit"]["rank"]) == (why.cause, why.hit and why.hit.rank)
            assert said["hit"]["score"] == pytest.approx(why.hit.score, abs=SCORE)
        told = agent("why_not", query=QUERY, document=name, k=5)
        assert (told["cause"], told["rank"]) == (why.cause, why.hit and why.hit.rank)
        assert told["score"] == pytest.approx(why.hit.score, abs=6e-5)


def test_similar_passages_and_duplicates_are_the_same_by_all(
    index: search.Index, run: Run, api: Api
) -> None:
    for options in (
        {"k": 4},
        {"where": "kind=jsonl", "offset": 2},
        {"same_document": True, "per_document": 0},
    ):
        hit = index.query(QUERY, 1, where="path:md/**")[0]
        hits = index.similar(hit.passage_id, **options)
        typed = run("similar", f"p{hit.passage_id}", "-i", "contract", "--json", *flags(options))[1]
        assert_same(hits, json.loads(typed))
        assert_same(hits, api("similar", passage=hit.passage_id, **options)["hits"])
    wanted = index.duplicates(0.9999)
    said = json.loads(run("duplicates", "-i", "contract", "--json", "--threshold", "0.9999")[1])
    assert len(wanted) > 1
    assert [[one["passage_id"] for one in cluster["passages"]] for cluster in said] == [
        [one.passage_id for one in cluster.passages] for cluster in wanted
    ]


def test_status_counts_the_same_by_all(
    index: search.Index, run: Run, api: Api, agent: Api, folder: Path
) -> None:
    status = index.status()
    typed, asked = json.loads(run("status", "-i", "contract", "--json")[1]), api("status")
    for said in (typed, asked):
        for name in ("documents", "passages", "tokens", "dimension", "model", "pooling", "folder"):
            assert said[name] == getattr(status, name), name
    (told,) = agent("status")["indexes"]
    assert (told["documents"], told["passages"], told["folder"]) == (
        status.documents,
        status.passages,
        str(folder),
    )
    names = [one["name"] for one in json.loads(run("list", "--json")[1])]
    assert names.count("contract") == 1
    assert json.loads(run("check", "-i", "contract", "--json")[1])["ok"] is True


def test_similarities_are_the_same_by_all(
    index: search.Index, run: Run, api: Api, tiny_model: Path
) -> None:
    texts = ["a key", "the door of the water", "Open the lock!"]
    wanted = [
        pytest.approx(row, abs=SCORE) for row in search.similarity(texts, model=index.encoder).tolist()
    ]
    assert json.loads(run("similarity", *texts, "--model", tiny_model, "--json")[1])["cosines"] == wanted
    assert api("similarity", text=texts)["cosines"] == wanted


def test_over_http_a_list_goes_on(index: search.Index, api: Api) -> None:
    whole, seen, more = index.query(QUERY, 21), [], {}
    for _ in range(3):
        answer = api("search", q=QUERY, k=7, **more)
        seen += answer["hits"]
        more = {"next": answer["next"]}
    assert_same(whole, seen)


@pytest.mark.parametrize(
    "given",
    [
        {"k": 0},
        {"mode": "best"},
        {"weight": 2},
        {"weigth": 0.5},
        {"where": "lang="},
        {"q": ""},
        {"since": "soon"},
    ],
    ids=str,
)
def test_over_http_what_cannot_be_asked_is_a_problem(api: Api, given: dict[str, Any]) -> None:
    with pytest.raises(urllib.error.HTTPError) as error:
        api("search", **{"q": QUERY, **given})
    assert 400 <= error.value.code < 500
    assert json.load(error.value)["status"] == error.value.code


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        (["-k", "0"], 2), (["--mode", "best"], 2), (["--weigth", "1"], 2), (["--where", "lang="], 1),
        (["--since", "soon"], 1), (["--without", "zebra"], 1),
    ],
    ids=str,
)  # fmt: skip
def test_a_command_refuses_in_one_line(
    index: search.Index, run: Run, arguments: list[str], wanted: int
) -> None:
    code, out, said = run("query", QUERY, "-i", "contract", "--json", *arguments)
    assert (code, out) == (wanted, "")
    assert said.strip() and "Traceback" not in said


def test_an_index_has_names_and_others_are_refused(
    index: search.Index, folder: Path, run: Run, tmp_path: Path
) -> None:
    for name in ("nosuchindex", str(tmp_path)):
        with pytest.raises(search.IndexNotFound):
            search.Index.open(name)
        code, out, said = run("query", QUERY, "-i", name, "--json")
        assert (code, out) == (1, "") and said.strip()
    with pytest.raises(search.InputError):
        search.Index.build(tmp_path / "nosuchfolder", index=str(tmp_path / "index"))
    wanted = [hit.score for hit in index.query(QUERY)]
    for name in ("contract", folder, index.path, str(index.path)):
        assert [hit.score for hit in search.Index.open(name).query(QUERY)] == wanted


def test_embeddings_of_another_model_are_refused(
    index: search.Index, run: Run, folder: Path, tiny_model: Path, other_model: Path
) -> None:
    before = [hit.score for hit in index.query(QUERY)]
    for refused in ({"model": str(other_model)}, {"pooling": "max"}):
        with pytest.raises(search.FingerprintMismatch) as error:
            search.Index.open("contract", **refused)
        assert all(name in str(error.value) for name in refused.values())
    with pytest.raises(search.FingerprintMismatch):
        search.Index.build(folder, index="contract", model=str(other_model))
    code, out, said = run("index", folder, "-i", "contract", "--model", other_model, "--json")
    assert (code, out) == (1, "") and str(other_model) in said
    assert run("index", folder, "-i", "contract", "--model", other_model)[0] == 1
    same = search.Index.open("contract", model=str(tiny_model))
    assert same.fingerprint == index.fingerprint
    assert [hit.score for hit in same.query(QUERY)] == before


def loaded(code: str, *modules: str) -> list[str]:
    """Those of some modules that a new process has loaded after it ran this."""
    script = f"import sys\n{code}\nprint('loaded:', *[m for m in {modules!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=REPOSITORY)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1].removeprefix("loaded:").split()


def test_importing_the_library_loads_nothing_heavy() -> None:
    heavy = ("torch", "transformers", "sentence_transformers", "faiss", "pydantic", "openvino")
    assert loaded("import search; assert search.__version__", *heavy) == []
    assert loaded("import pydantic", *heavy) == ["pydantic"]


def test_a_query_loads_no_torch(index: search.Index) -> None:
    code = (
        "import runpy; sys.argv = ['seewhy', 'query', 'water', '-i', 'contract', '--json', '--engine', 'openvino']\n"
        "try: runpy.run_module('search', run_name='__main__')\nexcept SystemExit as end: assert not end.code"
    )
    assert loaded(code, "torch", "transformers", "sentence_transformers", "openvino") == ["openvino"]


def test_results_and_messages_go_apart(index: search.Index) -> None:
    done = command("query", QUERY, "-i", "contract", "--json", "-k", "3")
    assert (done.returncode, len(json.loads(done.stdout))) == (0, 3)
    done = command("query", "zebra", "-i", "contract", "--json", "-m", "lexical")
    assert (done.returncode, json.loads(done.stdout)) == (0, [])
    done = command("query", QUERY, "-i", "contract", "-q")
    assert done.returncode == 0 and done.stdout and not done.stderr
