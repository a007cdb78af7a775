#!/usr/bin/env python3
"""How often the audit is right on code that nobody tuned it on: sample, judge blind, report.

  precision.py sample  CHECKOUTS --program WARPSMITH --sheet sheet.json [--seed 1] [--count 150] [--severity error]
  precision.py judge   CHECKOUTS --sheet sheet.json --verdicts verdicts.json --by NAME --round N
  precision.py report  --verdicts xtask/precision/verdicts.json

CHECKOUTS holds folders named owner+name@commit. `sample` audits each and draws findings above information
without replacement, rule by rule in turns, so that a rule with a thousand places does not hide the others.
`judge` shows a finding with its lines and asks y, n or u (undecided); project and confidence stay hidden.
`report` prints the share that is right by severity and by rule, round by round, apart for projects that the
rules were tuned on and for held-out ones. A verdict keeps which of the two its project was when it was judged:
rules are changed after every round, so that a project with verdicts of an earlier round is tuned on.
Standard library only.
"""
import argparse, datetime, json, math, os, random, subprocess, sys
from collections import defaultdict

# Projects whose findings or labels were read while rules were written, and that have no verdicts.
TUNED = {
    "1ytic/warp-rnnt", "AlexeyAB/darknet", "AutoGPTQ/AutoGPTQ", "BVLC/caffe", "Dao-AILab/causal-conv1d",
    "Dao-AILab/flash-attention", "HazyResearch/ThunderKittens", "KhryptorGraphics/AutoVoice",
    "NVIDIA/MinkowskiEngine", "NVIDIA/TransformerEngine", "NVIDIA/apex", "NVIDIA/cuda-samples", "NVIDIA/nccl-tests",
    "NVIDIA/nvbench", "NVIDIA/warp", "NVIDIAGameWorks/kaolin", "NVlabs/instant-ngp", "NVlabs/nvdiffrast",
    "NVlabs/tiny-cuda-nn", "ScalingIntelligence/KernelBench", "Tencent/TurboTransformers", "ashawkey/torch-ngp",
    "bitsandbytes-foundation/bitsandbytes", "charlesq34/pointnet2", "cupy/cupy", "deepspeedai/DeepSpeed",
    "dmlc/dgl", "dmlc/xgboost", "erikwijmans/Pointnet2_PyTorch", "facebookresearch/detectron2",
    "facebookresearch/faiss", "facebookresearch/pytorch3d", "facebookresearch/xformers", "flashinfer-ai/flashinfer",
    "fundamentalvision/Deformable-DETR", "ggml-org/llama.cpp", "ggml-org/whisper.cpp",
    "graphdeco-inria/diff-gaussian-rasterization", "graphdeco-inria/gaussian-splatting", "huggingface/candle",
    "karpathy/llm.c", "kokkos/kokkos", "lightgbm-org/LightGBM", "microsoft/onnxruntime", "mit-han-lab/torchsparse",
    "nerfstudio-project/gsplat", "open-mmlab/mmcv", "opencv/opencv", "pyg-team/pyg-lib", "pytorch/extension-cpp",
    "pytorch/pytorch", "rapidsai/rmm", "rusty1s/pytorch_scatter", "state-spaces/mamba", "tinygrad/tinygrad",
    "traveller59/spconv", "turboderp/exllamav2", "vllm-project/vllm",
}


def checkouts(folder):
    for name in sorted(os.listdir(folder)):
        if "@" in name and os.path.isdir(os.path.join(folder, name)):
            repo, commit = name.rsplit("@", 1)
            yield repo.replace("+", "/", 1), commit, os.path.join(folder, name)


def sample(a):
    by_rule = defaultdict(list)
    for repo, commit, path in checkouts(a.checkouts):
        run = subprocess.run([a.program, "audit", path, "--every-place", "--as", "json"], capture_output=True, text=True)
        if run.returncode not in (0, 1):
            print(f"{repo}: {run.stderr.strip()}", file=sys.stderr)
            continue
        for f in json.loads(run.stdout)["findings"]:
            if f["severity"] != "info" and a.severity in (None, f["severity"]):
                place = f.get("span") or {"file": "", "line": 0}
                by_rule[f["severity"], f["code"]].append(dict(
                    repo=repo, commit=commit, rule=f["code"], severity=f["severity"], file=place["file"],
                    line=place["line"], message=f["message"], seen=[e["seen"] for e in f.get("evidence", [])]))
    draw = random.Random(a.seed)
    for rows in by_rule.values():
        draw.shuffle(rows)
    # Errors first: they are fewer and weigh more. Then one of each rule in turns.
    order, sheet = sorted(by_rule, key=lambda key: (key[0] != "error", key[1])), []
    while len(sheet) < a.count and any(by_rule[key] for key in order):
        for key in order:
            if by_rule[key] and len(sheet) < a.count:
                sheet.append(by_rule[key].pop())
    draw.shuffle(sheet)
    with open(a.sheet, "w") as out:
        json.dump(dict(seed=a.seed, drawn=datetime.date.today().isoformat(), findings=sheet), out, indent=1)
    print(f"{len(sheet)} findings of {len(by_rule)} rules")


def key(row):
    return [row[k] for k in ("repo", "commit", "rule", "file", "line")]


def judge(a):
    with open(a.sheet) as kept:
        sheet = json.load(kept)["findings"]
    verdicts = []
    if os.path.exists(a.verdicts):
        with open(a.verdicts) as kept:
            verdicts = json.load(kept)
    known = {json.dumps(key(v)) for v in verdicts}
    tuned = TUNED | {v["repo"] for v in verdicts if v["round"] < a.round}
    for row in sheet:
        if json.dumps(key(row)) in known:
            continue
        print(f"\n{row['rule']}: {row['message']}\n  {row['file']}:{row['line']}  {'; '.join(row['seen'])}")
        path = os.path.join(a.checkouts, row["repo"].replace("/", "+", 1) + "@" + row["commit"], row["file"])
        if row["line"] and os.path.isfile(path):
            with open(path, errors="replace") as source:
                lines = source.read().split("\n")
            for n in range(max(0, row["line"] - 6), min(len(lines), row["line"] + 6)):
                print(f"{'>' if n + 1 == row['line'] else ' '} {n + 1:6} {lines[n][:150]}")
        answer = input("right? y, n, u or q, and why: ").strip()
        if answer[:1] == "q":
            break
        if answer[:1] in ("y", "n", "u"):
            right = {"y": True, "n": False, "u": None}[answer[0]]
            verdicts.append(dict(row, right=right, why=answer[1:].strip(), tuned=row["repo"] in tuned, round=a.round,
                                 by=a.by, on=datetime.date.today().isoformat()))
            verdicts[-1].pop("seen", None)
            with open(a.verdicts, "w") as out:
                out.write("[\n" + ",\n".join(json.dumps(v, ensure_ascii=False) for v in verdicts) + "\n]\n")


def wilson(hits, n):
    p, z = hits / n, 1.959964
    centre, half = p + z * z / (2 * n), z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return f"{100 * p:.0f} % [{100 * (centre - half) / (1 + z * z / n):.0f}, {100 * (centre + half) / (1 + z * z / n):.0f}]"


def report(a):
    with open(a.verdicts) as kept:
        verdicts = [v for v in json.load(kept) if v["right"] is not None]
    for round, tuned in sorted({(v["round"], v["tuned"]) for v in verdicts}):
        rows = [v for v in verdicts if (v["round"], v["tuned"]) == (round, tuned)]
        kind = "tuned on" if tuned else "held out"
        print(f"round {round}, {kind}: {len(rows)} findings of {len({v['repo'] for v in rows})} projects")
        groups = defaultdict(list)
        for v in rows:
            groups[v["severity"] + "s"].append(v["right"])
            groups[v["rule"]].append(v["right"])
        for group in sorted(groups, key=lambda g: (g not in ("errors", "warnings"), g)):
            print(f"  {group:<9} {sum(groups[group]):>3} of {len(groups[group]):>3}  {wilson(sum(groups[group]), len(groups[group]))}")


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    sub = ap.add_subparsers(required=True)
    for verb, run in (("sample", sample), ("judge", judge), ("report", report)):
        p = sub.add_parser(verb)
        p.set_defaults(run=run)
        if verb != "report":
            p.add_argument("checkouts")
            p.add_argument("--sheet", required=True)
        if verb == "sample":
            p.add_argument("--program", default="warpsmith"), p.add_argument("--seed", type=int, default=1)
            p.add_argument("--count", type=int, default=150)
            p.add_argument("--severity", choices=["error", "warning"], help="draw only these")
        else:
            p.add_argument("--verdicts", required=True)
        if verb == "judge":
            p.add_argument("--by", required=True), p.add_argument("--round", type=int, required=True)
    a = ap.parse_args()
    a.run(a)


if __name__ == "__main__":
    main()
