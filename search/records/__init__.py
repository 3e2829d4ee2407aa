"""Records passed between stages: small frozen dataclasses that need neither a model nor a disk.

documents.py     ParsedDocument, Passage, LineMap; Annotation, Annotator, Mention
tokens.py        Token, TokenVectors, Word, WordMatrices
fingerprint.py   Fingerprint of embeddings
hits.py          Hit, Verdict, IdentifierCount, Absence, Cluster, Surroundings
contents.py      StoredPassage, DocumentText, Gap; Facet
explanations.py  Explanation; shares.py: contributions of words; alignment.py: words that match
occurrences.py   WordOccurrence: a word of a passage, by its likeness to a use of the word
comparisons.py   Contrast, WhyNot, Similarities
counterfactuals.py  Counterfactual, RankChange
xrays.py         XRay: pieces, embeddings, attention and poolings of two texts; RankByMeaning
evaluations.py   Evaluation, Comparison, Estimate
model_cards.py   ModelCard: published facts about an embedding model
exports.py       FaissExport, VectorExport, Measurement of a FAISS index
document_map.py  DocumentMap: documents as points
suggestions.py   Suggestion: a question that the index can answer
memory_document.py  Document of an index of documents from memory; own_embedding.py: embeddings that it brings
reports.py       Progress, Changes, Report, Status, CheckReport
rows.py          rows of tables of other libraries
filter_text.py   filters that a program gives as a mapping, as text
options.py       options that several functions share; option_tools.py: their validation; Ranking
notebook_mixin.py  display of a record in a notebook
visible_text.py  visible text: a source text without its markup
"""
