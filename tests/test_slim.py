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


def test_slim_requirements_are_those_of_the_project_less_pytorch() -> None:
    project = (REPOSITORY / "pyproject.toml").read_text(encoding="utf-8")
    lists = re.findall(r"(?ms)^(dependencies|server|mcp) = \[(.*?)\]$", project)
    requirements = {line for _, block in lists for line in re.findall(r'"([a-z][^"]*)"', block)}
    slim = (REPOSITORY / "requirements-slim.txt").read_text(encoding="utf-8").splitlines()
    expected = {line for line in requirements if re.split(r"[<>=]", line)[0] not in LEFT_OUT}
    assert {line for line in slim if line and line[0] != "#"} == expected


def test_the_lock_has_the_tested_version_and_a_hash_of_each_requirement() -> None:
    """`pip install --require-hashes` refuses a lock that lacks any; .ci/lock writes it."""
    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name

    def lines(name: str) -> list[str]:
        text = (REPOSITORY / name).read_text(encoding="utf-8").replace("\\\n", " ")
        return [line for line in text.splitlines() if line and line[0] != "#"]

    versions = {}
    for line in lines("requirements-slim.lock"):
        specification, *hashes = re.split(r"\s+--hash=", line.strip())
        assert hashes and all(re.fullmatch(r"sha256:[0-9a-f]{64}", value) for value in hashes), line
        requirement = Requirement(specification)
        (pinned,) = requirement.specifier
        assert pinned.operator == "==", line
        versions[requirement.name] = pinned.version
    pins = (line.split("==") for line in lines("constraints.txt"))
    constraints = {canonicalize_name(name): version for name, version in pins}
    for requirement in map(Requirement, lines("requirements-slim.txt")):
        if requirement.marker and "python_version < '3.11'" in str(requirement.marker).replace('"', "'"):
            continue
        version = versions[requirement.name]
        assert version in requirement.specifier and constraints[requirement.name] == version, (
            requirement.name
        )
    assert not LEFT_OUT & versions.keys()


def test_typer_is_bounded_as_long_as_a_private_part_of_it_is_used() -> None:
    uses = any(
        re.search(r"\btyper\._", path.read_text(encoding="utf-8"))
        for path in (REPOSITORY / "search").rglob("*.py")
    )
    (bound,) = re.findall(r'"typer([^"]*)"', (REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    assert not uses or re.search(r"<0\.\d+$", bound)


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
def test_a_missing_package_is_named_with_its_installation(
    run: Run, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*arguments: object, **options: object) -> None:
        raise ModuleNotFoundError(f"No module named '{package}'", name=package)

    monkeypatch.setattr("search.lab.bert.inspecting.inspect", fails)
    code, out, err = run("lab", "inspect", "key")
    assert (code, out) == (1, "")
    assert f"this needs the package '{package}'. Run: pip install " in err
