import numpy as np
import pytest

import warpsmith
from warpsmith import _native, arrays

SAXPY = """
import warp as wp

@wp.kernel
def saxpy(x: wp.array(dtype=float), y: wp.array(dtype=float), a: float):
    i = wp.tid()
    y[i] = a * x[i] + y[i]
"""


class OnGpu:
    """An array that says it lies on a GPU."""

    def __init__(self, **changes):
        self.__cuda_array_interface__ = {
            "shape": (4,),
            "typestr": "<f4",
            "data": (4096, False),
            "version": 3,
            "stream": 7,
            **changes,
        }


def test_dlpack_capsules_say_where_an_array_lies_without_being_used_up():
    array = np.arange(6, dtype=np.int16).reshape(2, 3)
    capsule = array.__dlpack__()
    address, shape, dtype, device = _native.dlpack_facts(capsule)
    assert (address, shape, dtype, device) == (array.ctypes.data, [2, 3], "int16", (1, 0))
    np.from_dlpack(_Producer(capsule))
    with pytest.raises(ValueError, match="unused"):
        _native.dlpack_facts(capsule)
    with pytest.raises(ValueError, match="not contiguous"):
        _native.dlpack_facts(np.zeros((4, 4)).T[:, ::2].__dlpack__())


class _Producer:
    def __init__(self, capsule):
        self.capsule = capsule

    def __dlpack__(self, **_):
        return self.capsule

    def __dlpack_device__(self):
        return (1, 0)


def test_an_interface_is_read_and_what_kernels_cannot_take_is_refused():
    array = arrays.on_gpu(OnGpu())
    assert (array.address, array.shape, array.dtype) == (4096, (4,), "float32")
    assert array.stream == 7
    assert arrays.on_gpu(OnGpu(strides=(4,))).shape == (4,)
    with pytest.raises(ValueError, match="contiguous"):
        arrays.on_gpu(OnGpu(strides=(8,)))
    with pytest.raises(ValueError, match="may not be written"):
        arrays.on_gpu(OnGpu(data=(4096, True)))
    with pytest.raises(ValueError, match="numbers that kernels take"):
        arrays.on_gpu(OnGpu(typestr="<c8"))


def test_host_arrays_run_on_the_interpreter_in_place():
    kernel = warpsmith.compile(SAXPY)
    x = np.arange(8, dtype=np.float32)
    y = np.ones(8, np.float32)
    kernel.launch(8, x, y, 2)
    assert (y == 2 * x + 1).all()
    strided = np.zeros(16, np.float32)
    kernel.launch((8,), x, strided[::2], 1.0)
    assert (strided[::2] == x).all() and (strided[1::2] == 0).all()


def test_leaving_an_array_is_found_on_the_host():
    kernel = warpsmith.compile(SAXPY)
    x, y = np.zeros(4, np.float32), np.zeros(4, np.float32)
    with pytest.raises(warpsmith.KernelRefused) as refused:
        kernel.launch(5, x, y, 1.0)
    assert refused.value.findings


def test_arguments_that_do_not_fit_are_refused_by_name():
    kernel = warpsmith.compile(SAXPY)
    x = np.zeros(4, np.float32)
    with pytest.raises(TypeError, match="2 arguments"):
        kernel.launch(4, x, x)
    with pytest.raises(TypeError, match="y is .*float64"):
        kernel.launch(4, x, x.astype(np.float64), 1.0)
    with pytest.raises(TypeError, match="shape"):
        kernel.launch(4, x, x.reshape(2, 2), 1.0)
    with pytest.raises(ValueError, match="y is not on the GPU"):
        kernel.launch(4, OnGpu(), x, 1.0)


def test_elements_that_are_vectors_take_an_inner_dimension():
    kernel = warpsmith.compile(
        """
import warp as wp

@wp.kernel
def turn(x: wp.array(dtype=wp.vec3), by: wp.vec3):
    i = wp.tid()
    x[i] = wp.cross(by, x[i])
"""
    )
    x = np.eye(3, dtype=np.float32)
    expected = np.cross([0, 0, 1], x)
    kernel.launch(3, x, [0.0, 0.0, 1.0])
    assert np.allclose(x, expected)


def test_a_gpu_array_without_a_gpu_is_an_error_and_not_a_fallback():
    kernel = warpsmith.compile(SAXPY)
    if warpsmith.check()["machine"]["gpus"]:
        pytest.skip("there is a GPU, on which the made-up addresses are nobody's")
    with pytest.raises(RuntimeError):
        kernel.launch(4, OnGpu(), OnGpu(), 1.0)


def test_torch_tensors_on_a_gpu_are_used_where_they_lie():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    if not torch.cuda.is_available():
        pytest.skip("PyTorch has no GPU here")
    kernel = warpsmith.compile(SAXPY)
    x = torch.randn(1 << 20, device="cuda")
    y = torch.randn(1 << 20, device="cuda")
    before, expected = y.data_ptr(), 2.5 * x + y
    kernel.launch(1 << 20, x, y, 2.5)
    assert y.data_ptr() == before
    assert torch.allclose(y, expected, rtol=0, atol=1e-6)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        torch.cuda._sleep(50_000_000)
        y.zero_()
        kernel.launch(1 << 20, x, y, 1.0)
    side.synchronize()
    assert torch.equal(x, y)
