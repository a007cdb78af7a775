"""Opens a data set's folder by its card, and one of its files by itself, as users do."""

import glob
import sys

from datasets import load_dataset

folder = sys.argv[1]
pairs = load_dataset(folder)
row = pairs["train"][0]
assert row["python"].startswith("import warp as wp"), row["python"]
assert "_cuda_kernel_forward(" in row["cuda_forward"]
assert len(row["minhash"]) == 16 and "tid" in row["builtins"], row
shapes = [set(part["hash_shape"]) for part in pairs.values()]
assert sum(map(len, shapes)) == len(set().union(*shapes)), "a shape is in two splits"
files = sorted(glob.glob(folder + "/data/train/*.parquet"))
alone = load_dataset("parquet", data_files=files, split="train")
assert alone.num_rows == pairs["train"].num_rows
print("rows", sum(part.num_rows for part in pairs.values()), "splits", len(pairs))
