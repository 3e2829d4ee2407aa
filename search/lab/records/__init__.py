"""Records of the laboratory.

lab_record.py           results that draw themselves in a terminal, in a notebook and as a plot
inspections.py          inspections of a model
model_parts.py          tensors and modules of a model, without a text
predictions.py          predictions of task heads
training.py             reports of training runs
encoder_comparisons.py  two encoders on the passages of one index, or on a pair of texts
probes.py               accuracy of linear probes by layer
"""
