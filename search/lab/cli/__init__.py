"""The commands `seewhy lab ...`.

inspect.py  inspect, vocabulary
predict.py  fill, next, ask
label.py    tag, label
train.py    train
"""
