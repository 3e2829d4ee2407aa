"""What one stage hands to the next: small frozen records, no behaviour that needs a model or a disk.

documents.py     Document, Passage and where they stand      hits.py     Hit
tokens.py        Token, TokenVectors                         reports.py  Progress, Changes, Report, Status
explanations.py  Explanation and what it is made of          checks.py   CheckReport, RepairReport
words.py         Word, WordMatrices                          sentences.py  Similarities
faithfulness.py  Faithfulness, Removal
comparisons.py   Contrast, WhyNot                            evaluations.py  Evaluation and what it is made of
inspections.py   Inspection, Tokenization, ContextualCosines    attention.py  Attention
results.py       Cluster, Surroundings                       filling.py    Filled, NextSentence
training.py      TrainingReport
labels.py        Labelling, LabelReport and the like         tags.py        Tagged, TagReport
annotations.py   Annotation, Annotator, Mention              answers.py    Answers and what it is made of
"""

from search.records.annotations import Annotation, Annotator, Mention
from search.records.answers import Answer, AnswerPlace, Answers, ReadWindow
from search.records.attention import Attention
from search.records.checks import CheckReport, Finding, RepairReport, RepairStep, Severity
from search.records.comparisons import Cause, Contrast, Difference, WhyNot
from search.records.documents import Document, LineMap, Passage, Section
from search.records.evaluations import (
    Comparison,
    Estimate,
    Evaluation,
    JudgedQuery,
    Latency,
    Measured,
    Setting,
    Task,
)
from search.records.explanations import (
    Audit,
    Explanation,
    Highlight,
    Occurrence,
    Pair,
    Partner,
    Share,
    Term,
)
from search.records.faithfulness import Faithfulness, Removal
from search.records.filling import Filled, Guess, Mask, NextSentence
from search.records.hits import Expansion, Hit
from search.records.inspections import (
    ContextualCosines,
    EmbeddingLayer,
    InputToken,
    InputWord,
    Inspection,
    ModelShape,
    ParameterPart,
    Pooler,
    Tokenization,
    TokenizedStretch,
    TokenizerComparison,
)
from search.records.labels import (
    Calibration,
    CalibrationBin,
    ClassFigures,
    Example,
    LabelExplanation,
    LabelledIndex,
    LabelledText,
    Labelling,
    LabelReport,
    LabelTraining,
)
from search.records.reports import Changes, Progress, RandomPairs, Report, SkippedGroup, Status
from search.records.results import Cluster, Copy, Neighbour, Surroundings
from search.records.sentences import Similarities
from search.records.tags import FieldCount, Tagged, TaggedWord, TagReport, TagTask
from search.records.tokens import ConvertedModel, Part, Token, TokenVectors
from search.records.training import CurvePoint, Objective, TrainingFile, TrainingReport
from search.records.words import Word, WordKind, WordMatrices

__all__ = [
    "Annotation",
    "Annotator",
    "Answer",
    "AnswerPlace",
    "Answers",
    "Attention",
    "Audit",
    "Calibration",
    "CalibrationBin",
    "Cause",
    "Changes",
    "CheckReport",
    "ClassFigures",
    "Cluster",
    "Comparison",
    "ContextualCosines",
    "Contrast",
    "ConvertedModel",
    "Copy",
    "CurvePoint",
    "Difference",
    "Document",
    "EmbeddingLayer",
    "Estimate",
    "Evaluation",
    "Example",
    "Expansion",
    "Explanation",
    "Faithfulness",
    "FieldCount",
    "Filled",
    "Finding",
    "Guess",
    "Highlight",
    "Hit",
    "InputToken",
    "InputWord",
    "Inspection",
    "JudgedQuery",
    "LabelExplanation",
    "LabelReport",
    "LabelTraining",
    "LabelledIndex",
    "LabelledText",
    "Labelling",
    "Latency",
    "LineMap",
    "Mask",
    "Measured",
    "Mention",
    "ModelShape",
    "Neighbour",
    "NextSentence",
    "Objective",
    "Occurrence",
    "Pair",
    "ParameterPart",
    "Part",
    "Partner",
    "Passage",
    "Pooler",
    "Progress",
    "RandomPairs",
    "ReadWindow",
    "Removal",
    "RepairReport",
    "RepairStep",
    "Report",
    "Section",
    "Setting",
    "Severity",
    "Share",
    "Similarities",
    "SkippedGroup",
    "Status",
    "Surroundings",
    "TagReport",
    "TagTask",
    "Tagged",
    "TaggedWord",
    "Task",
    "Term",
    "Token",
    "TokenVectors",
    "Tokenization",
    "TokenizedStretch",
    "TokenizerComparison",
    "TrainingFile",
    "TrainingReport",
    "WhyNot",
    "Word",
    "WordKind",
    "WordMatrices",
]
