"""Records of the laboratory.

lab_record.py           a result that draws itself in a terminal, in a notebook and as a plot
inspections.py          inspections of a model
predictions.py          predictions of task heads
training.py             reports of training runs
encoder_comparisons.py  two encoders on the passages of one index, or on a pair of texts
probes.py               accuracy of linear probes by layer
"""
