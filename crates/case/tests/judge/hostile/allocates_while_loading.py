# case: softmax
# expect: out_of_memory
import numpy as np


kept = [np.ones(1 << 22) for _ in range(100000)]
