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
        for item in value if isinstance(value, list) else [value]:
            typed += [flag] if value is True else [flag, str(item)]
    return typed


def assert_same(hits: list[search.Hit], rows: list[dict[str, Any]]) -> None:
    assert len(rows) == len(hits)
    for hit, row in zip(hits, rows, strict=True):
        assert {name: row[name] for name in FIELDS} == {name: getattr(hit, name) for name in FIELDS}
        assert row["metadata"] == dict(hit.metadata)
        for name in NUMBERS:
            assert row[name] == (
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
        filters = {name: value for name, value in (("where", where), ("since", since)) if value}
        answer = agent("search", query=QUERY, k=5, mode=mode, max_tokens=8_000, **filters)
        assert answer["total"] == index.status().passages
        assert len(answer["results"]) == len(hits)
        for result, hit in zip(answer["results"], hits, strict=True):
            name = Path(hit.path).name
            assert name in result["place"] and result["place"].endswith(
                f":{hit.line_start}-{hit.line_end}"
            )
            assert result["text"] == hit.text
            assert result["score"] == round(hit.score, 3)


def test_documents_are_the_same_on_all_surfaces(index: search.Index, api: Api, agent: Api) -> None:
    for result, hit in zip(
        agent("search", query=QUERY, k=4)["results"], index.query(QUERY, 4), strict=True
    ):
        assert agent("fetch", id=result["id"], around=0)["text"] == hit.text
        assert hit.text in agent("fetch", id=result["id"], around=5, max_tokens=8_000)["text"]
    hit = index.query(QUERY, 1)[0]
    document, answer = index.document(hit.document_id), api(f"documents/{hit.document_id}")
    assert (answer["text"], len(answer["passages"])) == (document.text, len(document.passages))
    assert hit.text in [passage["text"] for passage in answer["passages"]]


def test_an_explanation_is_the_same_on_all_surfaces(
    index: search.Index, run: Run, api: Api, agent: Api
) -> None:
    for mode in ("hybrid", "dense", "lexical"):
        hit = index.query(QUERY, 3, mode=mode)[1]
        why = index.explain(QUERY, hit)
        output = json.loads(
            run("explain", QUERY, "2", "-i", "contract", "--json", "-m", mode, "-k", "3")[1]
        )
        answer = api("explain", q=QUERY, passage=hit.passage_id, mode=mode)
        for report in (output, answer):
            assert report["score"] == pytest.approx(hit.score, abs=SCORE)
            assert report["cosine"] == pytest.approx(why.cosine, abs=SCORE)
            assert abs(report["residual"]) < SCORE
            assert [token["text"] for token in report["passage_tokens"]] == [
                t.text for t in why.passage_tokens
            ]
            for name in ("contributions", "similarity"):
                assert report[name] == [
                    pytest.approx(row, abs=1e-5) for row in getattr(why, name).tolist()
                ]
            terms = {term["term"]: term["contribution"] for term in report["terms"]}
            assert terms == {term.term: pytest.approx(term.contribution, abs=SCORE) for term in why.terms}
        id_ = agent("search", query=QUERY, k=3, mode=mode)["results"][1]["id"]
        result = agent("explain", query=QUERY, id=id_, mode=mode)
        assert result["score"] == pytest.approx(hit.score, abs=SCORE)
        shares = [(share["word"], share["adds"]) for share in result["shares"]]
        expected = sorted(why.shares(), key=lambda share: -abs(share.contribution))
        assert shares == [
            (share.text, pytest.approx(share.contribution, abs=SCORE)) for share in expected
        ]


def test_layers_are_the_same_on_all_surfaces(index: search.Index, run: Run, api: Api) -> None:
    hit = index.query(QUERY, 1)[0]
    for layer in (0, 2, "last"):
        expected = index.explain(QUERY, hit, layer=layer).similarity
        output = run("explain", QUERY, "1", "-i", "contract", "--json", "--layer", layer)[1]
        for report in (json.loads(output), api("explain", q=QUERY, passage=hit.passage_id, layer=layer)):
            assert report["similarity"] == [pytest.approx(row, abs=1e-5) for row in expected.tolist()]


def test_a_contrast_is_the_same_on_all_surfaces(index: search.Index, run: Run, api: Api) -> None:
    hits = index.query(QUERY, 8)
    contrast = index.contrast(QUERY, hits[0], hits[7])
    output = json.loads(run("contrast", QUERY, "1", "8", "-i", "contract", "--json")[1])
    answer = api("contrast", q=QUERY, a=hits[0].passage_id, b=hits[7].passage_id)
    for report in (output, answer):
        assert report["gap"] == pytest.approx(contrast.gap, abs=SCORE)
        assert [(word["text"], word["gap"]) for word in report["words"]] == [
            (word.text, pytest.approx(word.gap, abs=SCORE)) for word in contrast.words
        ]
        assert [report[side]["passage_id"] for side in "ab"] == [hits[0].passage_id, hits[7].passage_id]


def test_why_not_is_the_same_on_all_surfaces(
    index: search.Index, run: Run, api: Api, agent: Api, folder: Path
) -> None:
    for name in ("txt/t05.txt", "md/m07.md"):
        why = index.why_not(QUERY, folder / name, k=5)
        assert why.hit is not None
        output = json.loads(
            run("why-not", QUERY, folder / name, "-i", "contract", "--json", "-k", "5")[1]
        )
        answer = api("why-not", q=QUERY, document=why.hit.document_id, k=5)
        for report in (output, answer):
            assert (report["cause"], report["hit"]["rank"]) == (why.cause, why.hit and why.hit.rank)
            assert report["hit"]["score"] == pytest.approx(why.hit.score, abs=SCORE)
        result = agent("why_not", query=QUERY, document=name, k=5)
        assert (result["cause"], result["rank"]) == (why.cause, why.hit and why.hit.rank)
        assert result["score"] == pytest.approx(why.hit.score, abs=6e-5)


def test_similar_passages_and_duplicates_are_the_same_on_all_surfaces(
    index: search.Index, run: Run, api: Api
) -> None:
    for options in (
        {"k": 4},
        {"where": "kind=jsonl", "offset": 2},
        {"same_document": True, "per_document": 0},
    ):
        hit = index.query(QUERY, 1, where="path:md/**")[0]
        hits = index.similar(hit.passage_id, **options)
        output = run("similar", f"p{hit.passage_id}", "-i", "contract", "--json", *flags(options))[1]
        assert_same(hits, json.loads(output))
        assert_same(hits, api("similar", passage=hit.passage_id, **options)["hits"])
    expected = index.duplicates(0.9999)
    report = json.loads(run("duplicates", "-i", "contract", "--json", "--threshold", "0.9999")[1])
    assert len(expected) > 1
    assert [[passage["passage_id"] for passage in cluster["passages"]] for cluster in report] == [
        [passage.passage_id for passage in cluster.passages] for cluster in expected
    ]


def test_status_counts_the_same_on_all_surfaces(
    index: search.Index, run: Run, api: Api, agent: Api, folder: Path
) -> None:
    status = index.status()
    output, answer = json.loads(run("status", "-i", "contract", "--json")[1]), api("status")
    for report in (output, answer):
        for name in ("documents", "passages", "tokens", "dimension", "model", "pooling", "folder"):
            assert report[name] == getattr(status, name), name
    (entry,) = agent("status")["indexes"]
    assert (entry["documents"], entry["passages"], entry["folder"]) == (
        status.documents,
        status.passages,
        str(folder),
    )
    names = [row["name"] for row in json.loads(run("list", "--json")[1])]
    assert names.count("contract") == 1
    assert json.loads(run("check", "-i", "contract", "--json")[1])["ok"] is True


def test_similarities_are_the_same_on_all_surfaces(
    index: search.Index, run: Run, api: Api, tiny_model: Path
) -> None:
    texts = ["a key", "the door of the water", "Open the lock!"]
    expected = [
        pytest.approx(row, abs=SCORE) for row in search.similarity(texts, model=index.encoder).tolist()
    ]
    assert (
        json.loads(run("similarity", *texts, "--model", tiny_model, "--json")[1])["cosines"] == expected
    )
    assert api("similarity", text=texts)["cosines"] == expected


def test_over_http_the_next_page_continues_the_list(index: search.Index, api: Api) -> None:
    whole, hits, more = index.query(QUERY, 21), [], {}
    for _ in range(3):
        answer = api("search", q=QUERY, k=7, **more)
        hits += answer["hits"]
        more = {"next": answer["next"]}
    assert_same(whole, hits)


@pytest.mark.parametrize(
    "parameters",
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
def test_over_http_invalid_parameters_are_a_problem(api: Api, parameters: dict[str, Any]) -> None:
    with pytest.raises(urllib.error.HTTPError) as error:
        api("search", **{"q": QUERY, **parameters})
    assert 400 <= error.value.code < 500
    assert json.load(error.value)["status"] == error.value.code


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["-k", "0"], 2), (["--mode", "best"], 2), (["--weigth", "1"], 2), (["--where", "lang="], 1),
        (["--since", "soon"], 1), (["--without", "zebra"], 1),
    ],
    ids=str,
)  # fmt: skip
def test_a_command_refuses_in_one_line(
    index: search.Index, run: Run, arguments: list[str], expected: int
) -> None:
    code, out, message = run("query", QUERY, "-i", "contract", "--json", *arguments)
    assert (code, out) == (expected, "")
    assert message.strip() and "Traceback" not in message


def test_an_index_opens_by_name_folder_or_path_and_unknown_names_are_refused(
    index: search.Index, folder: Path, run: Run, tmp_path: Path
) -> None:
    for name in ("nosuchindex", str(tmp_path)):
        with pytest.raises(search.IndexNotFound):
            search.Index.open(name)
        code, out, message = run("query", QUERY, "-i", name, "--json")
        assert (code, out) == (1, "") and message.strip()
    with pytest.raises(search.InputError):
        search.Index.build(tmp_path / "nosuchfolder", index=str(tmp_path / "index"))
    expected = [hit.score for hit in index.query(QUERY)]
    for name in ("contract", folder, index.path, str(index.path)):
        assert [hit.score for hit in search.Index.open(name).query(QUERY)] == expected


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
    code, out, message = run("index", folder, "-i", "contract", "--model", other_model, "--json")
    assert (code, out) == (1, "") and str(other_model) in message
    assert run("index", folder, "-i", "contract", "--model", other_model)[0] == 1
    same = search.Index.open("contract", model=str(tiny_model))
    assert same.fingerprint == index.fingerprint
    assert [hit.score for hit in same.query(QUERY)] == before


def loaded_modules(code: str, *modules: str) -> list[str]:
    """Names of the modules, of those asked for, that a new process has loaded after it ran this."""
    script = f"import sys\n{code}\nprint('loaded:', *[m for m in {modules!r} if m in sys.modules])"
    process = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, cwd=REPOSITORY
    )
    assert process.returncode == 0, process.stderr
    return process.stdout.splitlines()[-1].removeprefix("loaded:").split()


def test_importing_the_library_loads_nothing_heavy() -> None:
    heavy = ("torch", "transformers", "sentence_transformers", "faiss", "pydantic", "openvino")
    assert loaded_modules("import search; assert search.__version__", *heavy) == []
    assert loaded_modules("import pydantic", *heavy) == ["pydantic"]


def test_a_query_loads_no_torch(index: search.Index) -> None:
    code = (
        "import runpy; sys.argv = ['seewhy', 'query', 'water', '-i', 'contract', '--json', '--engine', 'openvino']\n"
        "try: runpy.run_module('search', run_name='__main__')\nexcept SystemExit as end: assert not end.code"
    )
    assert loaded_modules(code, "torch", "transformers", "sentence_transformers", "openvino") == [
        "openvino"
    ]


def test_results_go_to_stdout_and_messages_to_stderr(index: search.Index) -> None:
    process = command("query", QUERY, "-i", "contract", "--json", "-k", "3")
    assert (process.returncode, len(json.loads(process.stdout))) == (0, 3)
    process = command("query", "zebra", "-i", "contract", "--json", "-m", "lexical")
    assert (process.returncode, json.loads(process.stdout)) == (0, [])
    process = command("query", QUERY, "-i", "contract", "-q")
    assert process.returncode == 0 and process.stdout and not process.stderr
