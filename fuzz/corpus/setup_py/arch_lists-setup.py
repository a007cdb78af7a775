import os
from torch.utils.cpp_extension import CUDAExtension
os.environ["TORCH_CUDA_ARCH_LIST"] = "3.7;7.5;8.6"
ext = CUDAExtension('k', ['k.cu'])
