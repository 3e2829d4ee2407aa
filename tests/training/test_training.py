"""Trainings of a tiny model, a few steps each: what is saved, what is said, how one goes on that was stopped."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr

from search import Encoder, bert
from search.errors import InputError, ModelError, OptionalDependency
from search.records.evaluations import TrainingReport
from search.records.reports import Progress
from search.training import train
from search.training.examples import Example, Examples
from search.training.measures import Correlation, Figures, Ranking
from search.training.work import WorkFolder
from tests.conftest import save_tiny_bert
from tests.training.conftest import trainable, write_graded, write_lines, write_pairs

pytestmark = trainable
QUICK = {"lr": 1e-3, "batch_size": 8}


class Stop(Exception):
    """Stands for a kill."""


def weights(folder: Path) -> str:
    return hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()


@pytest.fixture(scope="module")
def dropping(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model with dropout, so that a training draws random numbers at every step."""
    folder = save_tiny_bert(tmp_path_factory.mktemp("models") / "dropping")
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    config |= {"hidden_dropout_prob": 0.2, "attention_probs_dropout_prob": 0.2}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory, dropping: Path) -> TrainingReport:
    """Two epochs on graded sentences."""
    place = tmp_path_factory.mktemp("done")
    write_graded(place / "dev.tsv", 12, seed=1)
    return train(
        write_graded(place / "graded.tsv", 40),
        place / "out",
        model=str(dropping),
        dev=place / "dev.tsv",
        dev_share=0.3,
        epochs=2,
        **QUICK,
    )


def test_bert_has_it_under_its_name() -> None:
    assert bert.train is train


def test_the_result_is_a_model_like_any_other(done: TrainingReport, dropping: Path) -> None:
    from sentence_transformers import SentenceTransformer

    out, texts = Path(done.out), ["turn the key", "open the door to the water"]
    encoder = Encoder(done.out, engine="torch", device="cpu")
    assert (encoder.pooling, encoder.max_tokens) == ("mean", 64)
    assert encoder.files.weights_sha256 == done.sha256 == weights(out) != weights(dropping)
    theirs = SentenceTransformer(done.out, device="cpu").encode(texts)
    np.testing.assert_allclose(encoder.encode(texts), theirs, atol=1e-6)
    assert not list(out.rglob("*.bin")) and not list(out.rglob("*.pt"))
    assert [path.name for path in out.parent.iterdir() if path.name.startswith(".")] == []


def test_figures_are_those_of_the_models(done: TrainingReport, dropping: Path) -> None:
    """Before and after again, by the public encoder and SciPy."""
    rows = [
        line.split("\t")
        for line in (Path(done.out).parent / "dev.tsv").read_text(encoding="utf-8").splitlines()[1:]
    ]
    gold = [float(row[2]) for row in rows]
    for model, said in ((str(dropping), done.before), (done.out, done.after)):
        encoder = Encoder(model, engine="torch", device="cpu")
        first, second = (encoder.encode([row[side] for row in rows]) for side in (0, 1))
        expected = spearmanr((first * second).sum(axis=1), gold).statistic
        assert said["spearman"].mean == pytest.approx(expected, abs=1e-6)
    gap = done.difference["spearman"]
    assert gap.mean == pytest.approx(done.after["spearman"].mean - done.before["spearman"].mean)
    assert gap.low <= gap.mean <= gap.high
    assert done.improved == (gap.mean > 0)


def test_the_best_checkpoint_is_kept(done: TrainingReport) -> None:
    """Chosen by what is held out of the training data, not by what the figures are of."""
    assert done.steps == 8
    assert {"train": 28, "chosen_by": 12, "held_out": 12}.items() <= done.counts.items()
    assert [point.step for point in done.scores] == list(range(9))
    best = max(done.scores[1:], key=lambda point: point.value)
    assert done.kept == best.step
    assert done.before["spearman"].mean != done.scores[0].value
    assert len(done.losses) == 8
    assert any(
        f"step {done.kept} was kept as the best of 8 on 12 examples of the training data that were held out for that: "
        f"spearman {done.scores[0].value:.4f} before, {best.value:.4f} there" in note
        for note in done.notes
    )


def test_without_a_file_to_measure_with_a_share_does_both(
    graded: Path, tiny_model: Path, tmp_path: Path
) -> None:
    """And the note says that this flatters; so it does where no share is left for the choice."""
    for name, more in (
        ("a", {}),
        ("b", {"dev": write_graded(tmp_path / "dev.tsv", 12, seed=1), "dev_share": 0}),
    ):
        found = train(graded, tmp_path / name, model=str(tiny_model), **QUICK, **more)
        assert found.before["spearman"].mean == pytest.approx(found.scores[0].value, abs=1e-9)
        assert found.after["spearman"].mean == pytest.approx(
            max(point.value for point in found.scores[1:]), abs=1e-9
        )
        assert "chosen_by" not in found.counts
        assert any("which flatters them a little" in note for note in found.notes)


def test_the_card(done: TrainingReport, dropping: Path) -> None:
    text = (Path(done.out) / "README.md").read_text(encoding="utf-8")
    assert text.startswith("---\nlibrary_name: sentence-transformers\n")
    assert "# dropping, trained further" in text
    after, before = done.after["spearman"], done.before["spearman"]
    assert f"| spearman | {before.mean:.4f} (" in text and f"| {after.mean:.4f} (" in text
    assert done.base_sha256 == weights(dropping)
    for said in (
        done.base_sha256,
        done.sha256,
        "CosineSimilarityLoss",
        "- lr: 0.001",
        "- seed: 0",
        "graded.tsv",
        "dev.tsv",
    ):
        assert said in text
    for file in done.files:
        path = Path(done.out).parent / file.name
        assert file.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
        assert f"| {file.role} | {file.name} | {file.rows} | `{file.sha256}` |" in text
    assert f"torch {done.versions['torch']}" in text
    assert str(dropping.parent) not in text and str(Path(done.out).parent) not in text


def test_a_stopped_run_goes_on_to_the_same_weights(
    done: TrainingReport, dropping: Path, tmp_path: Path
) -> None:
    """Stopped in the middle of the second epoch, after a checkpoint; and while a checkpoint was being written."""
    data = Path(done.out).parent
    out, work = tmp_path / "out", tmp_path / ".out.training"

    given = {"model": str(dropping), "dev": data / "dev.tsv", "dev_share": 0.3, "epochs": 2, **QUICK}

    def again(**more: object) -> TrainingReport:
        return train(data / "graded.tsv", out, **{**given, **more})

    def kill(state: Progress) -> None:
        if state.done == 7:
            raise Stop

    with pytest.raises(Stop):
        again(progress=kill)
    assert not out.exists()
    assert (work / "checkpoint-6" / "trainer_state.json").is_file()
    shutil.copytree(work / "checkpoint-6", work / "checkpoint-7")  # a kill while it was being saved
    (work / "checkpoint-7" / "trainer_state.json").write_text(
        '{"best_metric": 0.5, "log_hi', encoding="utf-8"
    )
    with pytest.raises(InputError, match="Go on with it: --resume. Or delete that folder"):
        again()
    with pytest.raises(
        InputError, match="the unfinished training is another one .*lr was 0.001 and is 0.002"
    ):
        again(resume=True, lr=0.002)
    seen: list[int] = []
    found = again(resume=True, progress=lambda state: seen.append(state.done))
    assert seen == [7, 8]
    assert (found.resumed, found.sha256) == (6, done.sha256)
    assert (found.scores, found.losses) == (done.scores, done.losses)
    assert found.after == done.after
    assert not work.exists()


def test_a_run_that_was_stopped_at_its_end_goes_on_from_there(
    graded: Path, tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All steps were done, and only the result was not saved."""
    given = {"model": str(tiny_model), **QUICK}

    def broken(*given: object) -> None:
        raise Stop

    whole = train(graded, tmp_path / "whole", **given)
    with monkeypatch.context() as patch:
        patch.setattr("search.training.trainer.save_model", broken)
        with pytest.raises(Stop):
            train(graded, tmp_path / "out", **given)
    seen: list[int] = []
    found = train(
        graded, tmp_path / "out", resume=True, progress=lambda state: seen.append(state.done), **given
    )
    assert (seen, found.resumed) == ([], whole.steps)
    assert (found.sha256, found.steps, found.kept, found.scores) == (
        whole.sha256, whole.steps, whole.kept, whole.scores,
    )  # fmt: skip


def test_what_failed_before_its_first_checkpoint_is_in_nobodys_way(
    graded: Path, tiny_model: Path, tmp_path: Path
) -> None:
    def kill(state: Progress) -> None:
        raise Stop

    for _ in range(2):
        with pytest.raises(Stop):
            train(graded, tmp_path / "out", model=str(tiny_model), progress=kill, **QUICK)
    assert not list(tmp_path.glob(".*"))
    assert train(graded, tmp_path / "out", model=str(tiny_model), resume=True, **QUICK).resumed == 0


def test_two_trainings_into_one_folder(graded: Path, tiny_model: Path, tmp_path: Path) -> None:
    """The second one is refused, and takes nothing from the first."""
    with WorkFolder(tmp_path / "out").held({}, False):
        with pytest.raises(InputError, match="an unfinished training lies in"):
            train(graded, tmp_path / "out", model=str(tiny_model), **QUICK)
        assert (tmp_path / ".out.training" / "plan.json").is_file()
    assert not list(tmp_path.glob(".*"))


def test_the_seed_decides(done: TrainingReport, dropping: Path, tmp_path: Path) -> None:
    """Another seed, other weights; that the same one gives the same is seen where a run goes on."""
    data = Path(done.out).parent
    given = {"model": str(dropping), "dev": data / "dev.tsv", "dev_share": 0.3, "epochs": 2, **QUICK}
    assert train(data / "graded.tsv", tmp_path / "out", seed=1, **given).sha256 != done.sha256


def test_nothing_is_overwritten(graded: Path, tiny_model: Path, tmp_path: Path) -> None:
    full, file = tmp_path / "full", tmp_path / "file"
    full.mkdir()
    (full / "a.txt").write_text("kept", encoding="utf-8")
    file.write_text("kept", encoding="utf-8")
    for place, message in (
        (full, "there is something at .*, and nothing is overwritten"),
        (file, "there is something at .*, and nothing is overwritten"),
        (tmp_path / "no" / "where", "there is no folder"),
    ):
        with pytest.raises(InputError, match=message):
            train(graded, place, model=str(tiny_model))
    assert (full / "a.txt").read_text(encoding="utf-8") == file.read_text(encoding="utf-8") == "kept"
    assert not list(tmp_path.glob(".*"))


def test_pairs_that_nothing_is_learned_from(pairs: Path, tiny_model: Path, tmp_path: Path) -> None:
    """A learning rate that changes nothing: no evaluation is better than the first."""
    found = train(pairs, tmp_path / "out", model=str(tiny_model), lr=1e-12, batch_size=4)
    assert found.loss == "MultipleNegativesRankingLoss"
    assert (found.steps, found.kept) == (6, 2)
    assert found.counts["queries"] == 3 and found.counts["ranked_passages"] == 24
    assert found.before == found.after
    assert found.difference["ndcg@10"].mean == 0
    assert not found.improved
    assert "the figures are not better than before: keep that model, or train otherwise" in found.notes


def test_triplets_and_texts_that_are_cut(tiny_model: Path, tmp_path: Path) -> None:
    rows = [{"query": f"key {i}", "passage": f"door {i}", "negative": f"water {i}"} for i in range(12)]
    rows[0]["passage"] = "long " * 100
    data = write_lines(tmp_path / "a.jsonl", *rows, rows[1])
    dev = write_lines(tmp_path / "dev.jsonl", *({**row, "query": f"lock {i}"} for i, row in enumerate(rows)))
    found = train(data, tmp_path / "out", model=str(tiny_model), dev=dev, dev_share=0, batch_size=4)
    assert (found.objective, found.counts["duplicates"], found.counts["cut"]) == ("triplets", 1, 1)
    assert "1 of 36 texts are longer than 64 tokens and are cut there" in found.notes
    assert found.counts["ranked_passages"] == 24


def test_prompts_of_the_model_are_used(tmp_path: Path, pairs: Path) -> None:
    """What is learned and measured is what an index would encode, "query: " and "passage: " before the texts."""
    base = save_tiny_bert(tmp_path / "base")
    prompts = {"query": "find: ", "passage": "text: "}
    (base / "config_sentence_transformers.json").write_text(
        json.dumps({"prompts": prompts}), encoding="utf-8"
    )
    plain = save_tiny_bert(tmp_path / "plain")
    with_prompts = train(pairs, tmp_path / "a", model=str(base), **QUICK)
    without = train(pairs, tmp_path / "b", model=str(plain), **QUICK)
    assert with_prompts.sha256 != without.sha256
    assert Encoder(with_prompts.out).prompt("query") == "find: "


def test_too_little_to_learn_from(tiny_model: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds 2 examples; at least 3"):
        train(write_pairs(tmp_path / "a.csv", 2), tmp_path / "out", model=str(tiny_model))
    same = write_lines(tmp_path / "b.jsonl", *({"text1": "a", "text2": str(i), "score": 1} for i in range(5)))
    with pytest.raises(InputError, match="all scores of .* are the same"):
        train(same, tmp_path / "out", model=str(tiny_model))
    with pytest.raises(InputError, match="holds graded and .* pairs. Give two of one shape"):
        train(
            write_graded(tmp_path / "g.tsv"),
            tmp_path / "out",
            model=str(tiny_model),
            dev=write_pairs(tmp_path / "p.csv"),
        )


def test_a_model_that_is_no_encoder(graded: Path, tmp_path: Path) -> None:
    folder = save_tiny_bert(tmp_path / "m")
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    (folder / "config.json").write_text(json.dumps({**config, "model_type": "gpt2"}), encoding="utf-8")
    with pytest.raises(ModelError, match="a model of type 'gpt2', which is no BERT-like encoder"):
        train(graded, tmp_path / "out", model=str(folder))
    assert not (tmp_path / ".out.training").exists()


def test_a_missing_extra_is_named(
    graded: Path, tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "search.training.run.find_spec", lambda name: None if name == "datasets" else object()
    )
    with pytest.raises(OptionalDependency, match=r"'datasets'.*pip install 'seewhy\[training\]'"):
        train(graded, tmp_path / "out", model=str(tiny_model))


def test_nothing_is_printed(
    graded: Path, tiny_model: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    train(graded, tmp_path / "out", model=str(tiny_model), **QUICK)
    assert capfd.readouterr() == ("", "")


class _Fixed:
    """A model whose embeddings are known."""

    def __init__(self, vectors: dict[str, tuple[float, float]]) -> None:
        self.vectors = vectors
        self.prompts: set[str] = set()

    def encode(self, texts: list[str], prompt: str, **given: object) -> np.ndarray:
        self.prompts.add(prompt)
        return np.array([self.vectors[text] for text in texts], dtype=np.float32)


def test_a_ranking_worked_by_hand() -> None:
    """The query's passage is second; the query itself, which is a passage of another, is not ranked."""
    dev = Examples("pairs", (Example(("q", "a")),))
    others = Examples("pairs", (Example(("r", "q")), Example(("r", "b")), Example(("r", "c"))))
    model = _Fixed({"q": (1, 0), "a": (0.8, 0.6), "b": (0.6, 0.8), "c": (0.96, 0.28)})
    measure = Ranking(dev, others, {"query": "find: "}, 0)
    found = measure.figures(model)
    assert (measure.queries, measure.passages, model.prompts) == (1, 4, {"find: ", ""})
    assert found.metrics["mrr@10"].mean == 0.5
    assert found.metrics["ndcg@10"].mean == pytest.approx(1 / np.log2(3)) == measure.score(model)
    assert found.metrics["success@1"].mean == 0
    better = measure.difference(
        found, Figures(found.metrics, {name: one + 0.25 for name, one in found.values.items()})
    )
    assert better["mrr@10"].mean == 0.25


def test_a_correlation_worked_by_hand() -> None:
    rows = tuple(
        Example(("q", name), score) for name, score in (("a", 0.9), ("b", 0.1), ("c", 0.5), ("d", 0.4))
    )
    good = _Fixed({"q": (1, 0), "a": (1, 0), "b": (0, 1), "c": (0.8, 0.6), "d": (0.6, 0.8)})
    bad = _Fixed({**good.vectors, "a": (0, 1), "b": (1, 0)})
    measure = Correlation(Examples("graded", rows), 0)
    before, after = measure.figures(bad), measure.figures(good)
    assert after.metrics["spearman"].mean == pytest.approx(1) and before.metrics[
        "spearman"
    ].mean == pytest.approx(-0.8)
    gap = measure.difference(before, after)
    assert gap["spearman"].mean == pytest.approx(1.8)
    pearson = [
        np.corrcoef(one.values["cosine"], [row.score for row in rows])[0, 1] for one in (before, after)
    ]
    assert gap["pearson"].mean == pytest.approx(pearson[1] - pearson[0], abs=1e-6)
