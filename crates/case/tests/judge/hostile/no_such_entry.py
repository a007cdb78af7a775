# case: softmax
# expect: compile_failure


def other(x):
    return x
