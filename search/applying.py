"""The task heads of BERT at work on an index: answers, entities, labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from search.asking import Asking
from search.store.database import reading
from search.store.layout import DATABASE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from search.bert.linear_head import LinearHead
    from search.records.annotations import Annotation, Annotator
    from search.records.predictions import Answers, LabelledIndex, TagReport, TagTask
    from search.records.reports import Progress


class Applying(Asking):
    """The part of an `Index` that reads its passages with a checkpoint that has a task head."""

    def ask(
        self,
        question: str,
        *,
        model: str,
        k: int = 10,
        answers: int = 3,
        mode: str = "hybrid",
        weight: float | None = None,
        phrases: bool = False,
        where: str | None = None,
        rerank: str | None = None,
        per_document: int = 0,
        reader_weight: float = 1.0,
        no_answer_margin: float = 0.0,
        max_answer: int = 30,
        device: str | None = None,
        progress: Callable[[Progress], None] | None = None,
    ) -> Answers:
        """The spans of the k best passages that answer a question, best first; see `search.bert.answering`.

        Args:
            question: at most so long that the reader has room for a passage beside it.
            model: the reader, a checkpoint with a head for answer spans, such as deepset/roberta-base-squad2.
            k: how many passages are read.
            answers: most answers that come back, at least 1.
            mode, weight, phrases, where, rerank, per_document: as for `query`; the index's own encoder retrieves.
            reader_weight: what the reader's probability counts in the score, in [0, 1]; the retrieval score counts
                the rest. Whether a span is an answer at all is told by its margin alone.
            no_answer_margin: by how much a span's score has to reach that of no answer.
            max_answer: most tokens of an answer.
            device: "cpu", "cuda", ...; None takes a GPU where there is one.
            progress: called after every window that was read.

        Raises:
            InputError: as for `query`; a question that is too long for the reader, or a number that cannot be worked
                with.
            ModelError: the reader cannot be found or loaded, or has no head for answer spans.
        """
        from search.bert.answering import Reading, answer_from, required
        from search.bert.heads import load_head
        from search.ranking.placing import Placer

        how = Reading.of(answers, reader_weight, no_answer_margin, max_answer)
        how.check_scale(mode, rerank)
        reader = load_head("answer", required(model), self._offline, device)
        hits = self.query(
            question,
            k,
            mode=mode,
            weight=weight,
            phrases=phrases,
            where=where,
            rerank=rerank,
            per_document=per_document,
        )
        return answer_from(question, hits, reader, how, Placer(self._vectors), progress)

    def tag(
        self,
        model: str,
        *,
        task: TagTask = "ner",
        name: str | None = None,
        prefix: str = "",
        replace: bool = False,
        device: str | None = None,
        progress: Callable[[Progress], None] | None = None,
    ) -> TagReport:
        """Find entities, or parts of speech, in all passages; filters such as "person='Ada Lovelace'" then find them.

        Passages that were tagged before by the same checkpoint are left alone, so a run that was stopped is gone on
        with, and after an update only new passages are read.

        Args:
            model: a checkpoint with a head for classes of tokens, such as dslim/bert-base-NER.
            task: "ner" or "pos".
            name: of the annotations; None for that of the task.
            prefix: stands before the names of their fields, where others have the same.
            replace: put these in place of annotations of this name that something else made.
            device: "cpu", "cuda", ...; None takes a GPU where there is one.
            progress: called after every batch of passages, with the stage "tagging".

        Raises:
            InputError: the checkpoint's classes are not those of the task, a field's name is taken, or there are
                annotations of this name that something else made.
            ModelError: the model cannot be found or loaded, or has no head for classes of tokens.
            IndexLocked: another process is writing to the index.
        """
        from search.annotating.tagging import tag_index

        return tag_index(
            self.path,
            model,
            task=task,
            name=name,
            prefix=prefix,
            replace=replace,
            offline=self._offline,
            device=device,
            progress=progress,
        )

    def label(
        self,
        model: str | None = None,
        *,
        head: LinearHead | str | Path | None = None,
        name: str | None = None,
        replace: bool = False,
        device: str | None = None,
        progress: Callable[[Progress], None] | None = None,
    ) -> LabelledIndex:
        """Label all passages that have no label yet; filters such as "sentiment=positive" then find them.

        Args:
            model: a checkpoint that was trained to classify texts.
            head: instead, a head that was trained with `search.bert.train_labels`, or its folder.
            name, replace, device, progress: as for `search.annotating.labelling`, which says more.

        Raises:
            HeadMismatch: the head was trained on other embeddings.
            InputError: labels of that name were given by another model or head, or the name is taken.
            IndexLocked: another process is writing to the index.
        """
        from search.annotating.labelling import label_index

        return label_index(
            self.path,
            model=model,
            head=head,
            name=name,
            replace=replace,
            offline=self._offline,
            device=device,
            progress=progress,
        )

    def remove_annotations(self, name: str) -> Annotator:
        """Forget all annotations of a name. Returns what there was of them; what there is, is in `status()`.

        Raises:
            InputError: the index has none of that name.
            IndexLocked: another process is writing to the index.
        """
        from search.store.annotating import remove_annotator

        return remove_annotator(self.path, name)

    def annotations(self, passages: Sequence[int]) -> dict[int, list[Annotation]]:
        """What annotators say of passages, by their ids, with the spans of entities in the documents' texts.

        A passage that nothing was said of is left out.
        """
        from search.store.annotations import annotations_of

        with reading(self.path / DATABASE) as connection:
            return annotations_of(connection, passages)
