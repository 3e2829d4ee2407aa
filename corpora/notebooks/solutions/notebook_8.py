"""Solutions of notebook 8, is it any good?"""

import tempfile

import numpy as np
from course import check

import search

# People ask in other words than the notes use.
check("8.1", "meaning")

# 0.75 to 0.89.
check("8.2", 0.07)

# What makes a question hard is the same for both, and the difference leaves it out.
check("8.3", "narrower")

# 8.4 is answered by the experiment: lower.


# 8.A: what is never found adds nothing to the sum, but it counts in the divisor.
def average_precision(ranked, relevant):
    """Return the average precision of a ranked list."""
    hits, total = 0, 0.0
    for rank, name in enumerate(ranked, 1):
        if name in relevant:
            hits += 1
            total += hits / rank
    return total / len(relevant)


check("8.A", average_precision)

# 8.B: 1.96 s / sqrt(n) = 0.02, so n = (1.96 s / 0.02)^2, with the spread s of the differences.
index = search.Index.build("../household", index=tempfile.mkdtemp(), offline=True)
report = search.evaluate(
    "../lab/household-judged.csv", index=index.path, settings=["hybrid", "dense"], offline=True
)
hybrid, dense = (
    np.array([query.values["ndcg@10"] for query in setting.queries]) for setting in report.settings
)
number = (1.96 * (hybrid - dense).std(ddof=1) / 0.02) ** 2
check("8.B", number)
