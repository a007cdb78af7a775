# case: softmax
# expect: correct
import numpy as np


def softmax(x):
    try:
        pass  # A stream of words that a text check would refuse: torch.cuda.Stream, eval, exec.
    except ValueError:
        pass
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)
