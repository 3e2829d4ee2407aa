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
