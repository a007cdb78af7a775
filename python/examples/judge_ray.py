"""Candidates judged by a Ray cluster: one task per share, one GPU per task where there are GPUs.

    python judge_ray.py candidates.jsonl --case softmax.toml --shares 8

Each share writes its own verdicts beside the candidates and goes on where it stopped, so a task that is lost
is simply started again. The folder must be one that every node sees.
"""

import argparse
import json
import pathlib
import subprocess
import sys

import ray


@ray.remote(max_retries=3)
def judge(candidates, case, share, shares, device):
    command = [sys.executable, "-m", "warpsmith", "judge", candidates, "--case", case, "--quiet"]
    command += ["--shards", f"{share}/{shares}", "--device", device]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode not in (0, 1, 3):
        raise RuntimeError(done.stderr)
    return share


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("candidates")
    options.add_argument("--case", required=True)
    options.add_argument("--shares", type=int, default=2)
    options.add_argument("--address", help="a running cluster")
    o = options.parse_args()
    ray.init(address=o.address, include_dashboard=False, log_to_driver=False)
    gpus = int(ray.cluster_resources().get("GPU", 0))
    task = judge.options(num_gpus=1) if gpus else judge
    # Ray shows a task its own GPU as the first one.
    device = "cuda" if gpus else "cpu"
    waiting = [task.remote(o.candidates, o.case, share, o.shares, device) for share in range(o.shares)]
    for done in ray.get(waiting):
        print(f"share {done} of {o.shares} is judged", flush=True)
    path = pathlib.Path(o.candidates)
    verdicts = [
        json.loads(line)
        for share in range(o.shares)
        for line in path.with_suffix(f".verdicts-{share}-of-{o.shares}.jsonl").read_text().splitlines()
    ] if o.shares > 1 else [json.loads(line) for line in path.with_suffix(".verdicts.jsonl").read_text().splitlines()]
    for one in sorted(verdicts, key=lambda one: one["id"]):
        print(one["id"], one["verdict"], one.get("detail", ""))


if __name__ == "__main__":
    main()
