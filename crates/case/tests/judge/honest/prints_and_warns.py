# case: softmax
# expect: correct
import logging
import warnings

import numpy as np


log = logging.getLogger("softmax")


def softmax(x):
    print("rows", x.shape[0])
    log.warning("cols %d", x.shape[1])
    warnings.warn("as a library does", stacklevel=2)
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)
