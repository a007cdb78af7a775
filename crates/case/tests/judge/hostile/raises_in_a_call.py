# case: softmax
# expect: crashed 6


def softmax(x):
    return 1 / 0
