"""Records of the laboratory.

inspections.py          inspections of a model
predictions.py          predictions of task heads
training.py             reports of training runs
encoder_comparisons.py  two encoders on the passages of one index
"""
