"""Problems, wherever they are raised."""

from collections.abc import Iterator

from fastapi import Depends, FastAPI
from starlette.testclient import TestClient

from search.serving.problems import Problem, install


def test_a_problem_passes_through_contexts() -> None:
    def held() -> Iterator[None]:
        yield

    app = FastAPI()
    install(app)

    @app.get("/", dependencies=[Depends(held)])
    def page() -> None:
        raise Problem(410, "generation-gone", "that state of the index is gone.")

    answer = TestClient(app).get("/")
    assert (answer.status_code, answer.json()["code"]) == (410, "generation-gone")
