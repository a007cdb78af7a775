#!/usr/bin/env python3
"""How often the audit is right on code that nobody tuned it on: sample, judge blind, report.

  precision.py sample  CHECKOUTS --program WARPSMITH --sheet sheet.json [--seed 1] [--count 150] [--severity error]
  precision.py judge   CHECKOUTS --sheet sheet.json --verdicts verdicts.json --by NAME --round N
  precision.py report  --verdicts xtask/precision/verdicts.json

CHECKOUTS holds folders named owner+name@commit. `sample` audits each and draws findings above information
without replacement, rule by rule in turns, so that a rule with a thousand places does not hide the others.
`judge` shows a finding with its lines and asks y, n or u (undecided); project and confidence stay hidden.
`report` prints the share that is right by severity and by rule, round by round, apart for projects that the
rules were tuned on and for held-out ones. A verdict keeps which of the two its project was when it was judged;
a project that served to change a rule moves to TUNED in the same commit, and is no longer held out after it.
Standard library only.
"""
import argparse, datetime, json, math, os, random, subprocess, sys
from collections import defaultdict

# Projects whose findings or labels were read while rules were written.
TUNED = {
    "ggml-org/llama.cpp", "karpathy/llm.c", "Dao-AILab/flash-attention", "bitsandbytes-foundation/bitsandbytes",
    "facebookresearch/xformers", "tinygrad/tinygrad", "vllm-project/vllm", "NVIDIA/cuda-samples", "cupy/cupy",
    "graphdeco-inria/diff-gaussian-rasterization", "rapidsai/rmm", "facebookresearch/faiss", "pytorch/pytorch",
    "kokkos/kokkos", "microsoft/onnxruntime", "opencv/opencv", "NVlabs/tiny-cuda-nn", "NVIDIA/apex",
    "facebookresearch/pytorch3d", "NVlabs/instant-ngp", "mit-han-lab/torchsparse", "open-mmlab/mmcv", "dmlc/dgl",
    "rusty1s/pytorch_scatter", "NVIDIA/MinkowskiEngine", "NVIDIA/TransformerEngine", "NVIDIA/nccl-tests",
    "NVlabs/nvdiffrast", "charlesq34/pointnet2", "deepspeedai/DeepSpeed", "dmlc/xgboost",
    "facebookresearch/detectron2", "flashinfer-ai/flashinfer", "lightgbm-org/LightGBM", "nerfstudio-project/gsplat",
    "pyg-team/pyg-lib", "state-spaces/mamba", "1ytic/warp-rnnt", "AutoGPTQ/AutoGPTQ", "Dao-AILab/causal-conv1d",
    "KhryptorGraphics/AutoVoice", "NVIDIA/nvbench", "NVIDIA/warp", "ashawkey/torch-ngp",
    "erikwijmans/Pointnet2_PyTorch", "fundamentalvision/Deformable-DETR", "ggml-org/whisper.cpp",
    "graphdeco-inria/gaussian-splatting", "huggingface/candle", "pytorch/extension-cpp", "traveller59/spconv",
    "open-mmlab/OpenPCDet", "OpenNMT/CTranslate2", "NVIDIA/FasterTransformer", "mit-han-lab/llm-awq",
    "thu-ml/SageAttention", "alicevision/popsift", "lmnt-com/haste", "NVlabs/curobo", "bytedance/lightseq",
    "pytorch/vision", "hpcaitech/ColossalAI", "marian-nmt/marian-dev", "xlite-dev/LeetCUDA", "k2-fsa/k2",
    "NVIDIAGameWorks/kaolin", "AlexeyAB/darknet", "BVLC/caffe", "HazyResearch/ThunderKittens",
    "Tencent/TurboTransformers", "turboderp/exllamav2", "stotko/stdgpu", "idiap/fast-transformers",
    "CannyLab/tsne-cuda", "NVIDIA/flownet2-pytorch", "SqueezeAILab/SqueezeLLM", "IST-DASLab/marlin", "sxyu/svox2",
    "hustvl/Vim", "rusty1s/pytorch_cluster", "IDEA-Research/GroundingDINO", "InternLM/lmdeploy", "gunrock/gunrock",
    "NVIDIA/Megatron-LM", "rapidsai/cuspatial", "openmm/openmm", "MIC-DKFZ/nnDetection", "Jittor/jittor",
    "BBuf/how-to-optim-algorithm-in-cuda", "facebookresearch/sam2", "NVIDIA/stdexec",
    "sgl-project/sglang", "NVIDIA/cutlass", "colmap/colmap", "siboehm/SGEMM_CUDA", "HuguesTHOMAS/KPConv-PyTorch",
    "google-deepmind/mujoco_warp", "ScalingIntelligence/KernelBench",
    "CharlesShang/DCNv2", "HawkAaron/warp-transducer", "HazyResearch/flash-fft-conv", "ModelTC/lightllm",
    "NVIDIA-AI-IOT/torch2trt", "NVIDIA/DeepLearningExamples", "NVIDIA/TensorRT", "Vahe1994/AQLM",
    "arrayfire/arrayfire", "baidu-research/warp-ctc", "casper-hansen/AutoAWQ_kernels", "deepseek-ai/DeepGEMM",
    "espnet/espnet", "facebookresearch/SparseConvNet", "facebookresearch/maskrcnn-benchmark",
    "facebookresearch/votenet", "flashlight/flashlight", "ginkgo-project/ginkgo",
    "huggingface/text-generation-inference", "kaldi-asr/kaldi", "kwea123/ngp_pl", "laekov/fastmoe",
    "microsoft/Swin-Transformer", "moderngpu/moderngpu", "open-mmlab/mmdetection3d", "poodarchu/Det3D",
    "predibase/lorax", "princeton-vl/DROID-SLAM", "rapidsai/raft", "sshaoshuai/PointRCNN",
    "EleutherAI/gpt-neox", "IDEA-Research/DINO", "POSTECH-CVLab/point-transformer", "Pointcept/Pointcept",
    "SeanNaren/warp-ctc", "XPixelGroup/BasicSR", "bigscience-workshop/petals", "czczup/ViT-Adapter",
    "deepseek-ai/DeepEP", "deepseek-ai/FlashMLA", "dvlab-research/PointGroup", "facebookresearch/DensePose",
    "facebookresearch/Mask2Former", "facebookresearch/fairseq", "huggingface/transformers", "isl-org/Open3D",
    "lllyasviel/stable-diffusion-webui-forge", "mapillary/inplace_abn", "microsoft/BitNet", "princeton-vl/DPVO",
    "princeton-vl/RAFT", "spcl/QuaRot", "tianweiy/CenterPoint", "torch-points3d/torch-points-kernels",
    "traveller59/second.pytorch", "turboderp-org/exllamav3", "xinntao/EDVR", "zju3dv/snake",
    "ClementPinard/Pytorch-Correlation-extension", "Cornell-RelaxML/quip-sharp", "Guangxuan-Xiao/torch-int",
    "HandH1998/QQQ", "IST-DASLab/Sparse-Marlin", "MhLiao/DB", "MhLiao/MaskTextSpotter",
    "SJTU-Thinklab-Det/r3det-on-mmdetection", "SamsungLabs/fcaf3d", "ShangHua-Gao/RBN", "ShichenLiu/SoftRas",
    "ThibaultGROUEIX/ChamferDistancePytorch", "Vegeta2020/CIA-SSD", "Zzh-tju/DIoU", "aim-uofa/AdelaiDet",
    "baowenbo/DAIN", "csuhan/s2anet", "daniilidis-group/neural_renderer", "dingjiansw101/AerialDetection",
    "feihuzhang/GANet", "hzxie/GRNet", "lucasjinreal/DCNv2_latest", "skyhehe123/SA-SSD", "tianzhi0549/FCOS",
    "youngwanLEE/CenterMask", "zeliu98/Group-Free-3D", "zju3dv/clean-pvnet",
    "Haiyang-W/DSVT", "HuangJunJie2017/BEVDet", "Megvii-BaseDetection/BEVDepth",
    "Yuliang-Liu/bezier_curve_text_spotting", "chengyangfu/retinamask", "dvlab-research/SparseTransformer",
    "dvlab-research/Stratified-Transformer", "hailanyi/VirConv", "lxtGH/SFSegNets", "sfzhang15/ATSS",
    "thangvubk/SoftGroup", "wjf5203/SeqFormer", "zhangyp15/MonoFlex", "zjhuang22/maskscoring_rcnn",
    "CVMI-Lab/PAConv", "JDAI-CV/fast-reid", "LLNL/RAJA", "NVIDIA-Merlin/HugeCTR", "NVIDIA/NVFlare",
    "NVIDIA/Torch-TensorRT", "NVIDIA/nvcomp", "NVIDIA/nvvl", "NVIDIA/partialconv", "NVIDIA/retinanet-examples",
    "Oneflow-Inc/oneflow", "PRBonn/lidar-bonnetal", "PaddlePaddle/FastDeploy", "PaddlePaddle/Paddle3D",
    "PaddlePaddle/PaddleNLP", "Project-MONAI/MONAI", "Qiskit/qiskit-aer", "VITA-Group/LightGaussian",
    "WXinlong/SOLO", "apache/incubator-mxnet", "autowarefoundation/autoware_ai_perception", "bytedance/byteps",
    "chainer/chainer", "facebookresearch/Detectron", "facebookresearch/ParlAI", "horovod/horovod",
    "intel-isl/Open3D-ML", "lmb-freiburg/flownet2", "lucidrains/flash-cosine-sim-attention", "microsoft/CNTK",
    "microsoft/DeepSpeed-MII", "mozilla/DeepSpeech", "pytorch/FBGEMM", "rapidsai/cusignal",
    "sniklaus/softmax-splatting", "sony/nnabla-ext-cuda", "sshaoshuai/MTR", "tensorflow/lingvo", "torch/cunn",
    "torchmd/torchmd-net",
    "1ytic/pytorch-edit-distance", "ADLab-AutoDrive/BEVFusion", "AliyunContainerService/gpushare-device-plugin",
    "AliyunContainerService/gpushare-scheduler-extender", "AllenXiangX/SnowflakeNet", "AniZpZ/AutoSmoothQuant",
    "BlinkDL/RWKV-CUDA", "CEED/libCEED", "CVMI-Lab/PLA", "CVMI-Lab/ST3D", "Colin97/MSN-Point-Cloud-Completion",
    "Dao-AILab/fast-hadamard-transform", "Duankaiwen/CenterNet", "FateScript/CenterNet-better",
    "HDETR/H-Deformable-DETR", "HazyResearch/H3", "HazyResearch/butterfly", "HazyResearch/m2", "HazyResearch/safari",
    "IDEA-Research/DAB-DETR", "IDEA-Research/DN-DETR", "IDEA-Research/MaskDINO", "IDEA-Research/detrex",
    "InternLM/InternEvo", "JonathonLuiten/diff-gaussian-rasterization-w-depth", "Kai-46/ARF-svox2",
    "KaihuaTang/Scene-Graph-Benchmark.pytorch", "LittlePey/SFD", "MCG-NJU/SparseBEV",
    "MILVLG/bottom-up-attention.pytorch", "MasterBin-IIAU/UNINEXT", "MasterBin-IIAU/Unicorn",
    "Megvii-BaseDetection/cvpods", "NVIDIA/DIGITS", "NVIDIA/k8s-device-plugin", "NVIDIA/sentiment-discovery",
    "NVlabs/BundleSDF", "NVlabs/FB-BEV", "NVlabs/FoundationPose", "NVlabs/ODISE", "NVlabs/PWC-Net",
    "NVlabs/neuralangelo", "NVlabs/wetectron", "Nightmare-n/GD-MAE", "Oneflow-Inc/libai", "OpenBMB/BMInf",
    "OpenDriveLab/UniAD", "OpenDroneMap/ODM", "Owen-Liuyuxuan/visualDet3D", "PJLab-ADG/3DTrans", "PJLab-ADG/LoGoNet",
    "PeizeSun/OneNet", "PeizeSun/SparseR-CNN", "PeizeSun/TransTrack", "PygmalionAI/aphrodite-engine",
    "SHI-Labs/OneFormer", "Sense-X/Co-DETR", "SwinTransformer/Swin-Transformer-Object-Detection", "SysCV/qd-3dt",
    "SysCV/transfiner", "TRAILab/CaDDN", "TRAILab/PDV", "Tencent/PatrickStar", "TencentARC/GFPGAN", "TencentARC/VQFR",
    "TuSimple/centerformer", "V2AI/Det3D", "Vegeta2020/SE-SSD", "ViTAE-Transformer/DeepSolo",
    "YukeWang96/GNNAdvisor_OSDI21", "airsplay/py-bottom-up-attention", "anibali/docker-pytorch",
    "aqlaboratory/openfold", "ashawkey/nerf2mesh", "ashawkey/raytracing", "b-flo/warp-transducer", "blakechen97/SASA",
    "chaofengc/FeMaSR", "daerduoCarey/PyTorchEMD", "daveredrum/Scan2Cap", "deepmodeling/deepmd-kit",
    "determined-ai/determined", "djiajunustc/Voxel-R-CNN", "dmlc/decord", "dvlab-research/DSGN", "efeslab/Atom",
    "ethnhe/PVN3D", "facebookresearch/theseus", "fcjian/TOOD", "feihuzhang/DSMNet", "flexflow/FlexFlow",
    "floydhub/dl-docker", "gnina/gnina", "graspnet/graspnet-baseline", "hailanyi/CasA", "hailanyi/TED",
    "haofeixu/aanet", "hbb1/diff-surfel-rasterization", "hkzhang95/DynamicRCNN", "hpcaitech/FastFold",
    "hustvl/QueryInst", "ifzhang/ByteTrack", "implus/GFocal", "introlab/rtabmap", "j96w/DenseFusion",
    "jbwang1997/OBBDetection", "jwyang/graph-rcnn.pytorch", "k2-fsa/icefall", "kakaobrain/sparse-detr",
    "koide3/fast_gicp", "krrish94/chamferdist", "lbin/DCNv2", "leggedrobotics/elevation_mapping_cupy",
    "megvii-research/MOTRv2", "megvii-research/NAFNet", "microsoft/DynamicHead", "microsoft/GLIP",
    "microsoft/RegionCLIP", "microsoft/fastseq", "microsoft/scene_graph_benchmark", "microsoft/superbenchmark",
    "mindprince/nvidia_gpu_prometheus_exporter", "mlpc-ucsd/TESTR", "naver-ai/vidt", "nutonomy/second.pytorch",
    "open-mmlab/mmaction", "open-mmlab/mmdeploy", "open-mmlab/mmdetection", "openmm/NNPOps", "parlance/ctcdecode",
    "paul007pl/MVP_Benchmark", "paul007pl/VRCNet", "princeton-vl/CornerNet", "princeton-vl/CornerNet-Lite",
    "princeton-vl/RAFT-Stereo", "pytorch/builder", "pytorch/serve", "quiver-team/torch-quiver", "researchmm/TracKit",
    "rmurai0610/diff-gaussian-rasterization-w-pose", "roboflow/inference", "rusty1s/pytorch_sparse",
    "rusty1s/pytorch_spline_conv", "sczhou/CodeFormer", "skyhehe123/MSF", "skyhehe123/VoxSeT",
    "sshaoshuai/Pointnet2.PyTorch", "state-spaces/s4", "swz30/Restormer", "tkestack/vcuda-controller", "tusen-ai/SST",
    "ufoym/deepo", "unlimblue/KNN_CUDA", "usyd-fsalab/fp6_llm", "visinf/irr", "visinf/self-mono-sf",
    "wookayin/gpustat", "wudongming97/RMOT", "wutong16/Density_aware_Chamfer_Distance", "xingyizhou/ExtremeNet",
    "xinntao/Real-ESRGAN", "yifanzhang713/IA-SSD", "yifita/3PU_pytorch", "yifita/DSS", "zaiweizhang/H3DNet",
    "zhulf0804/PointPillars",
    "ELS-RD/kernl", "EricLBuehler/mistral.rs", "IST-DASLab/FP-Quant", "XuehaiPan/nvitop",
    "Zhongdao/Towards-Realtime-MOT", "ckkelvinchan/BasicVSR_PlusPlus", "cresset-template/cresset",
    "dendenxu/fast-gaussian-rasterization", "dusty-nv/ros_deep_learning", "facebookresearch/d2go", "hansen7/OcCo",
    "onnx/onnx-tensorrt", "open-mmlab/mmpose", "openai/blocksparse", "peteanderson80/bottom-up-attention",
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
            verdicts.append(dict(row, right=right, why=answer[1:].strip(), tuned=row["repo"] in TUNED, round=a.round,
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
