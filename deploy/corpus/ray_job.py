"""A data set made by a Ray cluster: one task per share, each running the `warpsmith` program.

    python deploy/corpus/ray_job.py --out /shared/pairs --count 100000 --tasks 16

Ray places the tasks and starts failed ones again; a share that was stopped goes on where it was. The
folder must be one that every node sees. The files are the same as those of one long run.
"""

import argparse
import json
import subprocess

import ray


@ray.remote(max_retries=3, retry_exceptions=True)
def share(program, arguments, task, tasks, threads):
    """Makes one share of the data set; what the program reports about it."""
    command = [program, "corpus", "generate", *arguments, "--format", "json", "--quiet"]
    command += ["--shards", f"{task}/{tasks}", "--threads", str(threads)]
    done = subprocess.run(command, capture_output=True, text=True)
    # 1 is a data set with findings: its report says which, and running again would not change it.
    if done.returncode not in (0, 1):
        raise RuntimeError(f"share {task}: {done.stderr.strip()}")
    return json.loads(done.stdout)["body"]


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--out", required=True)
    options.add_argument("--count", type=int, default=100_000)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--tasks", type=int, default=8)
    options.add_argument("--threads", type=int, default=1)
    options.add_argument("--shard-pairs", type=int, default=5_000)
    options.add_argument("--verify", default="executed")
    options.add_argument("--program", default="warpsmith")
    options.add_argument("--address", help="a running cluster; a local one is started without it")
    o = options.parse_args()
    ray.init(address=o.address)
    arguments = ["--out", o.out, "--count", str(o.count), "--seed", str(o.seed)]
    arguments += ["--shard-pairs", str(o.shard_pairs), "--verify", o.verify]
    waiting = [
        share.options(num_cpus=o.threads).remote(o.program, arguments, task, o.tasks, o.threads)
        for task in range(o.tasks)
    ]
    pairs = 0
    while waiting:
        done, waiting = ray.wait(waiting)
        pairs += ray.get(done[0])["pairs"]
        print(f"{pairs} of {o.count} pairs, {len(waiting)} shares to come", flush=True)
    for verb in ("card", "verify"):
        subprocess.run([o.program, "corpus", verb, o.out], check=True)


if __name__ == "__main__":
    main()
