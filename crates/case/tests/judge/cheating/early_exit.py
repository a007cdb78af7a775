# case: softmax
# expect: crashed
import os


def softmax(x):
    os._exit(0)
