import os
from torch.utils.cpp_extension import CUDAExtension
ext = CUDAExtension('k', ['k.cu'], extra_compile_args=['-std=c++17', '-gencode', 'arch=compute_80,code=[sm_80,compute_80]'])
setup(install_requires=['torch'])
