# case: softmax
# expect: crashed|cheating outside
import os


def softmax(x):
    while True:
        os.fork()
