"""Tasks made and judged by a Ray cluster: one share of the specifications to a task, one GPU to a share.

    python deploy/corpus/tasks_ray.py --output /shared/tasks --count 500 --shares 16

Each share has a folder of its own. A task that is lost is started again and goes on where it stopped: what is
written stays, and what is judged is not judged again. Without GPUs the Warp-style kernels are judged, on the
interpreter. The folder must be one that every node sees.
"""

import argparse
import json
import pathlib
import subprocess

import ray


def call(program, *arguments):
    done = subprocess.run([program, *arguments, "--format", "json", "--quiet"], capture_output=True, text=True)
    # 1 is a set with wrong kernels, which is what some of them are for.
    if done.returncode not in (0, 1):
        raise RuntimeError(f"{' '.join(arguments)}: {done.stderr.strip()}")
    return json.loads(done.stdout)["body"]


@ray.remote(max_retries=3, retry_exceptions=True)
def share(program, folder, first, count, device):
    """Makes and judges one share; what the files hold then."""
    make = ["corpus", "tasks", "--count", str(count), "--first", str(first), "--output", folder]
    call(program, *make)
    for name in ["warp"] if device == "cpu" else ["warp", "candidates", "fault_candidates"]:
        call(program, "judge", f"{folder}/{name}.jsonl", "--device", device)
    # Again, now with what the judge found: times, difficulties, and how mistakes show.
    return call(program, *make)


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--output", required=True)
    options.add_argument("--count", type=int, default=500, help="tasks of a share")
    options.add_argument("--shares", type=int, default=4)
    options.add_argument("--program", default="warpsmith")
    options.add_argument("--address", help="a running cluster; a local one is started without it")
    o = options.parse_args()
    ray.init(address=o.address, include_dashboard=False, log_to_driver=False)
    gpus = int(ray.cluster_resources().get("GPU", 0))
    task, device = (share.options(num_gpus=1), "cuda") if gpus else (share, "cpu")
    folder = pathlib.Path(o.output)
    waiting = [
        task.remote(o.program, str(folder / f"share-{n}"), n * o.count, o.count, device) for n in range(o.shares)
    ]
    tasks = timed = 0
    while waiting:
        done, waiting = ray.wait(waiting)
        counts = ray.get(done[0])
        tasks, timed = tasks + counts["tasks"], timed + counts["timed"]
        print(f"{tasks} tasks, {timed} kernels with a measured time, {len(waiting)} shares to come", flush=True)


if __name__ == "__main__":
    main()
