"""What the OpenAPI document says of the API is so: requests that are made of it, right ones and wrong ones."""

from collections import Counter
from typing import Any

import pytest
from starlette.testclient import TestClient

from search.serving.app import application
from search.serving.served import Served
from search.serving.settings import Settings

schemathesis = pytest.importorskip("schemathesis")


def test_each_address_and_parameter_is_described(served: Served) -> None:
    document = TestClient(application(served), "http://localhost").get("/openapi.json").json()
    for path, operations in document["paths"].items():
        for operation in operations.values():
            assert operation["description"], path
            content = operation["responses"]["200"]["content"]
            assert path.endswith(".ndjson") or "$ref" in str(content["application/json"]), path
            for parameter in operation.get("parameters", ()):
                assert parameter.get("description") or "$ref" in str(parameter) or parameter["in"] == "path", (
                    path, parameter["name"],
                )  # fmt: skip
    assert {path for path in document["paths"] if path.endswith(".ndjson")} == {
        f"/api/v1/{name}.ndjson" for name in ("search", "similar", "documents")
    }


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
