# case: softmax
# expect: crashed|timed_out


def softmax(x):
    with open("large", "wb") as file:
        while True:
            file.write(bytes(1 << 20))
