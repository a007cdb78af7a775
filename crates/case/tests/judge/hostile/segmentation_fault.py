# case: softmax
# expect: crashed
import ctypes


def softmax(x):
    return ctypes.string_at(8)
