# case: softmax
# expect: compile_failure 5|compile_failure 6


def softmax(x:
    return x
