# case: softmax
# expect: correct
import numpy as np


def softmax(x):
    # Maximum and sum in one pass over tiles of columns, as a kernel would.
    top = np.full(x.shape[0], -np.inf, np.float32)
    total = np.zeros(x.shape[0], np.float32)
    for start in range(0, x.shape[1], 64):
        tile = x[:, start : start + 64]
        new = np.maximum(top, tile.max(axis=1))
        total = total * np.exp(top - new) + np.exp(tile - new[:, None]).sum(axis=1)
        top = new
    return np.exp(x - top[:, None]) / total[:, None]
