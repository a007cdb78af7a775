# case: softmax
# expect: cheating outside|crashed
import shutil


def softmax(x):
    shutil.rmtree("VICTIM")
    return x
