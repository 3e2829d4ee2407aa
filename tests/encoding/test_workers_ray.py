"""Workers on a Ray cluster of two nodes, of which one is killed and replaced in the middle of the work."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from search import Index, Progress
from search.encoding.workers import RAY_ENVIRONMENT
from tests.encoding.test_workers import assert_alike, many, small_batches, two_at_work

__all__ = ["many", "small_batches", "two_at_work"]

# How soon a node is missed that was killed.
HEALTH = {
    "health_check_initial_delay_ms": 0,
    "health_check_period_ms": 200,
    "health_check_timeout_ms": 500,
    "health_check_failure_threshold": 2,
}


@pytest.fixture(scope="module")
def cluster(shared_cache: Path) -> Iterator[Any]:
    """Two nodes that can compute, besides the one that keeps them together; this machine's alone."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in RAY_ENVIRONMENT.items():  # Ray is imported here, not by the workers
            patch.setenv(name, value)
        patch.setenv("TOKENIZERS_PARALLELISM", "true")  # older ones would warn of forks
        from ray.cluster_utils import Cluster

        head = {"num_cpus": 1, "include_dashboard": False, "_system_config": HEALTH}
        ray_cluster = Cluster(initialize_head=True, head_node_args=head)
        patch.setenv("RAY_ADDRESS", ray_cluster.address)
        yield ray_cluster
        ray_cluster.shutdown()


def test_the_index_is_the_same_if_a_node_is_killed_and_replaced(
    cluster: Any,
    many: Path,
    tiny_model: Path,
    tmp_path: Path,
    small_batches: None,
    capfd: Any,
    two_at_work: threading.Event,
) -> None:
    node = cluster.add_node(num_cpus=1)
    nodes: list[Any] = []

    def progress(state: Progress) -> None:
        if state.stage == "encoding" and state.passages and not nodes and two_at_work.wait(60):
            cluster.remove_node(node, allow_graceful=False)
            nodes.append(cluster.add_node(num_cpus=1))

    alone = Index.build(many, model=str(tiny_model), index=str(tmp_path / "alone"))
    parallel = Index.build(
        many, model=str(tiny_model), index=str(tmp_path / "parallel"), workers="ray", progress=progress
    )
    assert_alike(alone.path, parallel.path)
    assert alone.report and parallel.report and nodes
    assert parallel.report.passages == alone.report.passages == 60
    assert "workers died" in " ".join(parallel.report.notes)
    assert capfd.readouterr() == ("", "")
