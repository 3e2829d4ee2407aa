"""What one stage hands to the next: small frozen records, no behaviour that needs a model or a disk.

documents.py     Document, Passage and where they stand      hits.py     Hit
tokens.py        Token, TokenVectors                         reports.py  Progress, Report, Status
explanations.py  Explanation and what it is made of
"""

from search.records.documents import Document, LineMap, Passage, Section
from search.records.explanations import Explanation, Highlight, Pair, Term, Word, WordKind, WordMatrices
from search.records.hits import Hit
from search.records.reports import Progress, Report, SkippedGroup, Status
from search.records.tokens import ConvertedModel, Part, Token, TokenVectors

__all__ = [
    "ConvertedModel",
    "Document",
    "Explanation",
    "Highlight",
    "Hit",
    "LineMap",
    "Pair",
    "Part",
    "Passage",
    "Progress",
    "Report",
    "Section",
    "SkippedGroup",
    "Status",
    "Term",
    "Token",
    "TokenVectors",
    "Word",
    "WordKind",
    "WordMatrices",
]
