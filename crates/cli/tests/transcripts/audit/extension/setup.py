from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension

setup(
    name="scale",
    ext_modules=[CUDAExtension("scale", ["scale.cu"], extra_compile_args={"nvcc": ["-gencode", "arch=compute_80,code=sm_80"]})],
    cmdclass={"build_ext": BuildExtension},
    install_requires=["torch>=2.0,<2.2"],
    python_requires=">=3.10",
)
