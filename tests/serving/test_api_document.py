"""What the OpenAPI document says of the API is so: requests that are made of it, right ones and wrong ones."""

from collections import Counter
from typing import Any

import pytest
from starlette.testclient import TestClient

from search.serving.app import application
from search.serving.models import Found
from search.serving.served import Served
from search.serving.settings import Settings

schemathesis = pytest.importorskip("schemathesis")


def test_the_example_of_an_answer_is_one(served: Served) -> None:
    document = TestClient(application(served), "http://localhost").get("/openapi.json").json()
    for method in ("get", "post"):
        answered = document["paths"]["/api/v1/search"][method]["responses"]["200"]["content"]
        example = answered["application/json"]["example"]
        (hit,) = Found.model_validate(example).hits  # type: ignore[attr-defined]
        assert [hit.text[start:end] for start, end in hit.highlights] == [
            "Keys",
            "spare",
            "keys",
            "behind",
            "door",
        ]
        assert hit.score == pytest.approx(
            hit.ranking.weight * hit.cosine + (1 - hit.ranking.weight) * hit.lexical
        )


def test_each_operation_answers_with_one_kind_of_content(served: Served) -> None:
    """A client that is generated of two has a union that it cannot read."""
    paths = TestClient(application(served), "http://localhost").get("/openapi.json").json()["paths"]
    for path, operations in paths.items():
        for operation in operations.values():
            kind = "application/x-ndjson" if path.endswith(".ndjson") else "application/json"
            assert list(operation["responses"]["200"]["content"]) == [kind], path
    assert {path for path in paths if path.endswith(".ndjson")} == {
        f"/api/v1/{name}.ndjson" for name in ("search", "similar", "documents")
    }


@pytest.mark.parametrize(
    ("token", "needed"), [("", [{}, {"token": []}]), ("a-token-of-sixteen", [{"token": []}])]
)
def test_the_document_says_that_a_token_may_be_needed(served: Served, token: str, needed: Any) -> None:
    asked = TestClient(application(served, Settings(token=token)), "http://localhost")
    document = asked.get("/openapi.json", headers={"authorization": f"Bearer {token}"}).json()
    assert document["security"] == needed
    scheme = document["components"]["securitySchemes"]["token"]
    assert (scheme["type"], scheme["scheme"]) == ("http", "bearer")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_requests_that_are_made_of_the_document_are_answered_as_it_says(served: Served) -> None:
    from schemathesis.config import SchemathesisConfig
    from schemathesis.engine import from_schema
    from schemathesis.engine.events import NonFatalError, ScenarioFinished

    app = application(served, Settings(allowed_hosts=("testserver",)))
    config = SchemathesisConfig.from_dict(
        {
            "seed": 1,
            "base-url": "http://testserver",
            "workers": 1,
            "generation": {"max-examples": 3, "deterministic": True, "no-shrink": True},
            "checks": {
                # What a schema cannot say: that an id, an index or a generation is there, or a filter can be read.
                "positive_data_acceptance": {"expected-statuses": [200, 304, 400, 404, 410]},
            },
            "operations": [
                # In an address, a list of one text is that text.
                {
                    "include-name": "GET /api/v1/similarity",
                    "checks": {"negative_data_rejection": {"enabled": False}},
                },
                # They have the parameters of others.
                {
                    "include-path-regex": "/(contrast|why-not|similar|status)$",
                    "phases": {"coverage": {"enabled": False}},
                },
            ],
            "phases": {"stateful": {"enabled": False}},
        }
    )
    schema = schemathesis.openapi.from_asgi("/openapi.json", app, config=config)
    wrong: dict[str, Any] = {}
    checked: Counter[str] = Counter()
    for event in from_schema(schema).execute():
        assert not isinstance(event, NonFatalError), event.value
        if isinstance(event, ScenarioFinished):
            for checks in event.recorder.checks.values():
                for check in checks:
                    checked[check.name] += 1
                    if check.failure_info:
                        key = (event.label, check.name, check.failure_info.failure.message[:150])
                        wrong.setdefault(key, check.failure_info.code_sample)
    assert wrong == {}
    assert min(checked.values()) > 50
