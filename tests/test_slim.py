"""A slim installation: what searching needs and no more, with the default model converted in a package."""

import re
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

from search import Encoder
from search.encoding import cache
from tests.conftest import REPOSITORY, Run

LEFT_OUT = {"torch", "transformers", "sentence-transformers", "scipy", "scikit-learn"}


def test_the_requirements_are_those_of_the_project_less_what_is_left_out() -> None:
    project = (REPOSITORY / "pyproject.toml").read_text(encoding="utf-8")
    lists = re.findall(r"(?ms)^(dependencies|server|mcp) = \[(.*?)\]$", project)
    wanted = {line for _, some in lists for line in re.findall(r'"([a-z][^"]*)"', some)}
    slim = (REPOSITORY / "requirements-slim.txt").read_text(encoding="utf-8").splitlines()
    needed = {line for line in wanted if re.split(r"[<>=]", line)[0] not in LEFT_OUT}
    assert {line for line in slim if line and line[0] != "#"} == needed


def test_the_model_of_a_package_needs_no_pytorch(
    tiny_model: Path, tmp_path: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = Encoder(str(tiny_model), engine="openvino").encode(["turn the key"])
    (entry,) = (place for place in (own_cache / "models").iterdir() if place.is_dir())
    package = tmp_path / "seewhy_model"
    shutil.copytree(entry, package / entry.name)
    (package / "__init__.py").touch()
    shutil.rmtree(own_cache)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(cache, "DEFAULT_MODEL", str(tiny_model))
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)  # type: ignore[arg-type]
    encoder = Encoder(str(tiny_model))
    np.testing.assert_allclose(encoder.encode(["turn the key"]), expected, atol=1e-6)
    assert (own_cache / "models" / entry.name).is_dir() and encoder.engine.name == "openvino"


@pytest.mark.parametrize("package", ["torch", "sklearn"])
def test_what_is_left_out_is_named(run: Run, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*given: object, **named: object) -> None:
        raise ModuleNotFoundError(f"No module named '{package}'", name=package)

    monkeypatch.setattr("search.bert.inspect", fails)
    code, out, err = run("lab", "inspect", "key")
    assert (code, out) == (1, "")
    assert f"this needs the package '{package}'. Run: pip install " in err
