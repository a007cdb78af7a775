# case: softmax
# expect: cheating outside
import os


while True:
    os.fork()
