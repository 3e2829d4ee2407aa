"""A head is used for the task that its checkpoint was saved for, and for no other."""

import json
from pathlib import Path

import pytest

import search.bert
from search import ModelError
from search.lab.bert.checkpoint import KINDS, Task, load_head
from tests.conftest import Run
from tests.lab.bert.conftest import save_tiny_head

MOODS = ("negative", "neutral", "positive")
COMMANDS = {
    "fill": "lab fill",
    "next": "lab next",
    "answer": "lab ask",
    "tag": "lab tag",
    "label": "lab label apply",
}


@pytest.fixture(scope="module")
def heads(tmp_path_factory: pytest.TempPathFactory) -> dict[Task, Path]:
    """A tiny BERT saved with each head."""
    folder = tmp_path_factory.mktemp("heads")
    classes = {"tag": MOODS, "label": MOODS}
    return {task: save_tiny_head(folder / task, task, labels=classes.get(task, ())) for task in KINDS}


@pytest.mark.parametrize("task", KINDS)
@pytest.mark.parametrize("target", KINDS)
def test_a_head_is_loaded_for_its_own_task_only(
    task: Task, target: Task, heads: dict[Task, Path]
) -> None:
    name = str(heads[task])
    if task == target:
        assert load_head(target, name).task == target
        return
    with pytest.raises(ModelError) as refusal:
        load_head(target, name)
    if {task, target} == {"fill", "next"}:  # BERT's two heads are saved as any of three classes
        assert f"has no head for {KINDS[target].named}" in str(refusal.value)
    else:
        (saved_as,) = json.loads((heads[task] / "config.json").read_text("utf-8"))["architectures"]
        assert f"is a {saved_as}: its head predicts {KINDS[task].named}" in str(refusal.value)
        assert f"Use it with: seewhy {COMMANDS[task]} --model {name}" in str(refusal.value)


def test_a_text_classifier_tags_no_words(run: Run, heads: dict[Task, Path]) -> None:
    text = ("--text", "Ada lives in London")
    for task in ("ner", "pos"):
        code, out, err = run("lab", "tag", "--task", task, *text, "--model", heads["label"])
        assert (code, out) == (1, "")
        assert "is a BertForSequenceClassification" in err and "--task" not in err
    advice = err.partition("Use it with: seewhy ")[2].split()
    assert run(*advice, *text)[0] == 0


@pytest.mark.parametrize("kind", ["bert", "distilbert"])
def test_an_undeclared_classifier_is_judged_by_its_weights(kind: str, tmp_path: Path) -> None:
    for task in ("label", "tag"):
        folder = save_tiny_head(tmp_path / task, task, kind=kind, labels=MOODS)
        config = json.loads((folder / "config.json").read_text("utf-8"))
        del config["architectures"]
        (folder / "config.json").write_text(json.dumps(config), "utf-8")
    with pytest.raises(ModelError, match="is a classifier of texts, by its weights: .*lab label apply"):
        search.bert.tag("the key", model=str(tmp_path / "label"), task="pos")
    assert len(search.bert.tag("the key", model=str(tmp_path / "tag"), task="pos").words) == 2
    assert search.bert.label(["the key"], model=str(tmp_path / "label")).classes == MOODS


def test_a_tagger_is_not_trained_on_from_a_classifier_of_texts(tmp_path: Path) -> None:
    """Its head has the same shape, and weights that mean something else."""
    pytest.importorskip("datasets")
    from search.encoding.models import find_model
    from search.lab.training import trainers
    from search.lab.training.tasks import Entities, TrainingSettings

    settings = TrainingSettings(epochs=1, lr=1e-4)
    bias = {}
    for task in ("label", "tag"):
        files = find_model(str(save_tiny_head(tmp_path / task, task, labels=MOODS)))
        head = trainers.load(Entities(), files, MOODS, settings)
        bias[task] = head.model.classifier.bias.abs().sum().item()
    assert bias["tag"] > 0 == bias["label"]  # a new head begins with biases of 0
