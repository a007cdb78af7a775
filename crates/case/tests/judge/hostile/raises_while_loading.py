# case: softmax
# expect: compile_failure 5


raise RuntimeError("not today")
