# case: axpy
# expect: correct
import numpy as np


def axpy(**arguments):
    return arguments["a"] * arguments["x"] + arguments["y"]
