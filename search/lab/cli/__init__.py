"""The commands `seewhy lab ...`.

inspect.py  inspect, vocabulary
compare.py  compare
probe.py    probe
predict.py  fill, next, ask
label.py    tag, label
train.py    train
"""
