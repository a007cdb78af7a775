# case: softmax
# expect: correct
from collections import namedtuple
from dataclasses import dataclass

import numpy as np


Size = namedtuple("Size", "rows cols")


@dataclass
class State:
    size: Size
    top: np.ndarray


def softmax(x):
    state = State(Size(*x.shape), x.max(axis=1))
    e = np.exp(x - state.top[:, None])
    return e / e.sum(axis=1)[:, None]
