# case: softmax
# expect: cheating forged
import json
import os

import numpy as np


def compute(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def softmax(x):
    out = compute(x)
    line = json.dumps({"nonce": 1, "ns": 1, "changed": [], "aliases": [], "outputs": [out.nbytes], "bytes": out.nbytes})
    for number in range(3, 64):
        try:
            if os.readlink(f"/proc/self/fd/{number}").startswith("socket"):
                os.write(number, line.encode() + b"\n" + out.tobytes())
        except OSError:
            pass
    return out
