"""A data set made by a Ray cluster: one task per share, in as many processes as there are.

    python corpus_ray.py --out pairs --count 20000 --shares 8

Every share is the same bytes wherever it is made, so a task that is lost is simply made again. The folder
must be one that every node sees. `ray.init()` starts a cluster on this machine where none is named.
"""

import argparse

import ray

from warpsmith import corpus


@ray.remote(max_retries=3)
def make(folder, count, seed, shard_pairs, share):
    manifest = corpus.generate(
        folder, count, seed=seed, shard_pairs=shard_pairs, share=share, verify=["executed"]
    )
    return manifest["tally"]["pairs"]


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--out", required=True)
    options.add_argument("--count", type=int, default=20_000)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--shares", type=int, default=8)
    options.add_argument("--address", help="a running cluster")
    o = options.parse_args()
    ray.init(address=o.address, include_dashboard=False, log_to_driver=False)
    # A shard belongs to one share.
    shard_pairs = -(-o.count // o.shares)
    waiting = [
        make.remote(o.out, o.count, o.seed, shard_pairs, (share, o.shares))
        for share in range(o.shares)
    ]
    pairs = 0
    while waiting:
        done, waiting = ray.wait(waiting)
        pairs += ray.get(done[0])
        print(f"{pairs} of {o.count} pairs", flush=True)
    print(f"{corpus.statistics(o.out)['distinct_shapes']} distinct shapes")


if __name__ == "__main__":
    main()
