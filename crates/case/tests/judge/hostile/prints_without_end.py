# case: softmax
# expect: timed_out


def softmax(x):
    while True:
        print("x" * 1000)
