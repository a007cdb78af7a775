# case: softmax
# expect: cheating outside|crashed
import os


def softmax(x):
    os.kill(-1, 9)
    return x
