"""Question -> ranked hits."""

from search.query.rank import dense

__all__ = ["dense"]
