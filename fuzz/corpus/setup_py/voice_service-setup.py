from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension
import torch
import os
import sys

def cuda_there():
    if not torch.cuda.is_available():
        print("a GPU is needed")
        return False
    return True

available = cuda_there()
if not available:
    sys.exit(1)

ARCHS = os.environ.get('TORCH_CUDA_ARCH_LIST', None)
flags = []
for arch in (ARCHS or '70;75').split(';'):
    flags += ['-gencode', f'arch=compute_{arch},code=sm_{arch}']
flags += ['-gencode', f'arch=compute_{arch},code=compute_{arch}']

setup(
    ext_modules=[CUDAExtension(
        name='voice.kernels',
        sources=['src/kernels.cu'],
        extra_compile_args={'cxx': ['-std=c++14'], 'nvcc': ['--use_fast_math'] + flags},
    )],
    cmdclass={'build_ext': BuildExtension},
    install_requires=[
        'torch>=2.0.0,<2.2.0',
    ],
    python_requires='>=3.8',
)
