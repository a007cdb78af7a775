# case: softmax
# expect: cheating outside
import socket

import numpy as np


def compute(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def softmax(x):
    try:
        socket.create_connection(("192.0.2.1", 80), timeout=0.01)
    except OSError:
        pass
    return compute(x)
