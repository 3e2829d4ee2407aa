"""Spoken questions to the household folder, with the real model."""

from pathlib import Path
from shutil import copytree, ignore_patterns

import search
from tests.conftest import REPOSITORY

HOUSEHOLD = REPOSITORY / "corpora" / "household"
QUESTIONS = {
    "what did we agree about the deposit": "home/lease.md",
    "does the landlord have to pay for the boiler": "home/lease.md",
    "can we have a cat": "mail/2024-06-03-cat.eml",
    "why do I keep getting headaches": "health/migraine-diary.md",
    "what do I do if Mila can't breathe after eating nuts": "health/mila-emergency-plan.md",
    "is my bike insured if it gets stolen at night": "money/contents-insurance.md",
    "may I grill on the balcony": "home/house-rules.pdf",
    "who paid for the water that ran into the flat below": "money/claim-water-damage.txt",
    "which membership should we cancel": "money/subscriptions.md",
    "when does the boat leave": "travel/coast-plan.md",
    "mould in the bedroom": "home/letter-damp-window.docx",
    "the internet is not working": "manuals/router.txt",
}


def test_the_document_that_answers_is_among_the_first_three(tmp_path: Path) -> None:
    index = search.Index.build(str(HOUSEHOLD), index=str(tmp_path / "household"), offline=True)
    assert len({path.suffix for path in HOUSEHOLD.rglob("*.*")}) == 8
    successes = [
        question
        for question, path in QUESTIONS.items()
        if any(HOUSEHOLD / path == Path(hit.path) for hit in index.query(question, k=3))
    ]
    assert len(successes) >= 11  # 12 when this was written
    readme = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    [hit] = index.query("when do we get the deposit back", k=1)
    assert f"{hit.score:.3f}  corpora/household/home/lease.md:{hit.line_start}-{hit.line_end}" in readme


def test_the_mailbox_that_answers_comes_first(tmp_path: Path) -> None:
    copy = tmp_path / "letters"
    copytree(
        HOUSEHOLD,
        copy,
        ignore=ignore_patterns("lease.md", "*.eml", "manuals", "kitchen", "school", "travel"),
    )
    message = (HOUSEHOLD / "mail" / "2024-02-12-deposit.eml").read_text(encoding="utf-8")
    reply = message.replace("Could we pay it in two halves", "As we agreed, we pay it in two halves")
    with (copy / "mail" / "archive.mbox").open("a", encoding="utf-8") as mailbox:
        mailbox.write(f"From anna@example.org Mon Feb 12 20:14:05 2024\n{reply}\n")
    index = search.Index.build(str(copy), index=str(tmp_path / "index"), offline=True)
    [hit] = index.query("what did we agree about the deposit", k=1)
    assert (hit.document, hit.metadata["from"]) == ("mail/archive.mbox#6", "Anna")
    lines = (copy / "mail" / "archive.mbox").read_text(encoding="utf-8").splitlines()
    assert hit.text.startswith(lines[hit.line_start - 1])
