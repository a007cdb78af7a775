# case: softmax
# expect: correct
import os
import tempfile

import numpy as np


folder = tempfile.mkdtemp()
np.save(os.path.join(folder, "log2e.npy"), np.float32(1.4426950408889634))


def softmax(x):
    scale = np.load(os.path.join(folder, "log2e.npy"))
    e = np.exp2((x - x.max(axis=1, keepdims=True)) * scale)
    return e / e.sum(axis=1, keepdims=True)
