"""Explain why a passage has its score.

traced.py         what the embedding of a text consists of: a vector for each of its tokens, and an offset
traced_numpy.py     computed in NumPy, for the BERT family
traced_torch.py     computed in PyTorch, for any architecture
tracers.py          which of the two
explanation.py    builds an `Explanation` from two texts and a score
    word_shares.py    what the query's words add to the scores of all hits, without reading the passages
    addends.py        addends of a score besides its cosine: keywords, rerankers
left_out.py       a query without what some of its words add
deletion_test.py  the cosine without the words that contribute most
counterfactual.py  the smallest change that moves a passage out of the first hits, or among them
xray.py           pieces, embeddings, attention and poolings beside the contributions
explainer.py      explanations of a ranking: why a hit, why one above another, why not
"""
