# case: softmax
# expect: cheating unfinished
import threading
import time

import numpy as np


def compute(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def softmax(x):
    out = np.empty_like(x)

    def work():
        time.sleep(0.002)
        out[...] = compute(x)

    threading.Thread(target=work).start()
    return out
