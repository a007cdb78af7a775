# case: softmax
# expect: cheating spying|cheating tampered|cheating clock
import gc

import numpy as np


def compute(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def softmax(x):
    # The judge's own reader of the clock lies in a cell of one of its functions.
    for one in gc.get_objects():
        for cell in getattr(one, "__closure__", None) or ():
            try:
                if getattr(cell.cell_contents, "__name__", "") == "perf_counter_ns":
                    cell.cell_contents = lambda: 0
            except ValueError:
                pass
    return compute(x)
