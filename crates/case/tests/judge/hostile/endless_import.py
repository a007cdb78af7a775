# case: softmax
# expect: timed_out


while True:
    pass
