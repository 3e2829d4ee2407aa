"""What one stage hands to the next: small frozen records, no behaviour that needs a model or a disk.

documents.py     Document, Passage and where they stand      hits.py     Hit
tokens.py        Token, TokenVectors                         reports.py  Progress, Changes, Report, Status
explanations.py  Explanation and what it is made of          checks.py   CheckReport, RepairReport
sentences.py     Similarities
comparisons.py   Contrast, WhyNot
"""

from search.records.checks import CheckReport, Finding, RepairReport, RepairStep, Severity
from search.records.comparisons import Cause, Contrast, Difference, WhyNot
from search.records.documents import Document, LineMap, Passage, Section
from search.records.explanations import (
    Audit,
    Explanation,
    Highlight,
    Pair,
    Partner,
    Share,
    Term,
    Word,
    WordKind,
    WordMatrices,
)
from search.records.hits import Hit
from search.records.reports import Changes, Progress, Report, SkippedGroup, Status
from search.records.sentences import Similarities
from search.records.tokens import ConvertedModel, Part, Token, TokenVectors

__all__ = [
    "Audit",
    "Cause",
    "Changes",
    "CheckReport",
    "Contrast",
    "ConvertedModel",
    "Difference",
    "Document",
    "Explanation",
    "Finding",
    "Highlight",
    "Hit",
    "LineMap",
    "Pair",
    "Part",
    "Partner",
    "Passage",
    "Progress",
    "RepairReport",
    "RepairStep",
    "Report",
    "Section",
    "Severity",
    "Share",
    "Similarities",
    "SkippedGroup",
    "Status",
    "Term",
    "Token",
    "TokenVectors",
    "WhyNot",
    "Word",
    "WordKind",
    "WordMatrices",
]
