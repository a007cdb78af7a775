import os
import torch
from torch.utils.cpp_extension import CUDAExtension
if not torch.cuda.is_available() and os.environ.get("FORCE_CUDA") != "1":
    raise RuntimeError("set FORCE_CUDA=1")
ext = CUDAExtension('k', ['k.cu'], extra_compile_args=['-gencode', 'arch=compute_80,code=[sm_80,compute_80]'])
