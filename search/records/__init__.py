"""What one stage hands to the next: small frozen records, no behaviour that needs a model or a disk.

documents.py     Document, Passage and where they stand; Annotation, Annotator, Mention
tokens.py        Token, TokenVectors, Word, WordMatrices           fingerprint.py   Fingerprint of embeddings
hits.py          Hit, Cluster, Surroundings
contents.py      DocumentText, PassageText, Gap; Facet
explanations.py  Explanation and what it is made of
comparisons.py   Contrast, WhyNot, Similarities
predictions.py   what models say of texts: Filled, NextSentence, Labelling, Tagged, Answers
inspections.py   a look inside: tokenization, attention, shape of the model, cosines in context
evaluations.py   Evaluation, EntityEvaluation, TrainingReport
reports.py       Progress, Changes, Report, Status, CheckReport, RepairReport
options.py       options that several functions take
displayed.py     how a record shows itself in a notebook
"""
