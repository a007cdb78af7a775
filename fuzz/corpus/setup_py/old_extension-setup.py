from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension

setup(
    ext_modules=[CUDAExtension('op', ['csrc/op.cpp', 'csrc/old.cu'])],
    cmdclass={'build_ext': BuildExtension})
