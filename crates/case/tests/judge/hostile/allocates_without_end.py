# case: softmax
# expect: out_of_memory
import numpy as np


def softmax(x):
    kept = []
    while True:
        kept.append(np.ones(1 << 22))
