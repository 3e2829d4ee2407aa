"""What one stage hands to the next: small frozen records, no behaviour that needs a model or a disk.

documents.py     Document, Passage and where they stand      hits.py     Hit
tokens.py        Token, TokenVectors                         reports.py  Progress, Changes, Report, Status
explanations.py  Explanation and what it is made of          checks.py   CheckReport, RepairReport
words.py         Word, WordMatrices                          sentences.py  Similarities
faithfulness.py  Faithfulness, Removal
comparisons.py   Contrast, WhyNot                            evaluations.py  Evaluation and what it is made of
inspections.py   Inspection, Tokenization, ContextualCosines    attention.py  Attention
results.py       Cluster, Surroundings
"""

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
from search.records.reports import Changes, Progress, RandomPairs, Report, SkippedGroup, Status
from search.records.results import Cluster, Copy, Neighbour, Surroundings
from search.records.sentences import Similarities
from search.records.tokens import ConvertedModel, Part, Token, TokenVectors
from search.records.words import Word, WordKind, WordMatrices

__all__ = [
    "Attention",
    "Audit",
    "Cause",
    "Changes",
    "CheckReport",
    "Cluster",
    "Comparison",
    "ContextualCosines",
    "Contrast",
    "ConvertedModel",
    "Copy",
    "Difference",
    "Document",
    "EmbeddingLayer",
    "Estimate",
    "Evaluation",
    "Expansion",
    "Explanation",
    "Faithfulness",
    "Finding",
    "Highlight",
    "Hit",
    "InputToken",
    "InputWord",
    "Inspection",
    "JudgedQuery",
    "Latency",
    "LineMap",
    "Measured",
    "ModelShape",
    "Neighbour",
    "Occurrence",
    "Pair",
    "ParameterPart",
    "Part",
    "Partner",
    "Passage",
    "Pooler",
    "Progress",
    "RandomPairs",
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
    "Task",
    "Term",
    "Token",
    "TokenVectors",
    "Tokenization",
    "TokenizedStretch",
    "TokenizerComparison",
    "WhyNot",
    "Word",
    "WordKind",
    "WordMatrices",
]
