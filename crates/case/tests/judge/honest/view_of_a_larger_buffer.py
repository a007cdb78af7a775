# case: softmax
# expect: correct
import numpy as np


def softmax(x):
    room = np.zeros((x.shape[0], x.shape[1] + 32), np.float32)
    room[:, : x.shape[1]] = np.exp(x - x.max(axis=1, keepdims=True))
    return room[:, : x.shape[1]] / room.sum(axis=1, keepdims=True)
