import pytest

import warpsmith

SCALE = """
import warp as wp

@wp.kernel
def scale(x: wp.array(dtype=float), a: float):
    i = wp.tid()
    x[i] = a * x[i]
"""


def test_source_becomes_cuda_and_cpu_text():
    kernel = warpsmith.compile(SCALE)
    assert "scale_HASH_cuda_kernel_forward" in kernel.cuda
    assert "scale_HASH_cpu_kernel_backward" in kernel.cpu
    assert kernel.translation_unit.endswith(kernel.cuda)


def test_a_refusal_names_line_and_code():
    with pytest.raises(warpsmith.KernelRefused) as refused:
        warpsmith.compile(SCALE.replace("a * x[i]", "a * 'text'"))
    assert refused.value.findings[0]["code"].startswith("K")
    assert "kernels.py:7" in str(refused.value)


class Decorated:
    """What Warp's decorator leaves of a function."""

    def __init__(self, function):
        self.func = function


def kernel(function):
    return Decorated(function)


class wp:  # Decorator and types as the source spells them.
    kernel = staticmethod(kernel)
    array = dict


def test_a_decorated_function_is_found_by_its_source():
    @wp.kernel
    def double(n: int):
        m = n * 2  # noqa: F841

    assert "double" in warpsmith.compile(double).cuda


FACTOR = 3.0


def tripled(x: float):
    return FACTOR * x


def test_a_bare_function_brings_what_it_uses():
    def all_tripled(x: wp.array(dtype=float)):
        i = wp.tid()
        x[i] = tripled(x[i])

    import numpy as np

    x = np.ones(3, np.float32)
    warpsmith.compile(all_tripled).launch(3, x)
    assert (x == 3).all()


DOUBLED = """
import warp as wp

@wp.kernel
def doubled(x: wp.array(dtype=float), i: wp.array(dtype=int)):
    n = wp.tid()
    x[n] = 2.0 * x[i[n]]
"""


def test_numpy_arrays_run_on_vulkan():
    import numpy as np

    kernel = warpsmith.compile(DOUBLED)
    x = np.linspace(0, 1, 1000, dtype=np.float32)
    own = np.arange(1000, dtype=np.int32)
    expected = 2 * x
    try:
        kernel.launch(1000, x, own, device="vulkan")
    except RuntimeError as error:
        pytest.skip(f"no Vulkan device: {error}")
    assert (x == expected).all()
    with pytest.raises(warpsmith.KernelRefused) as refused:
        kernel.launch(1000, x, own + 1, device="vulkan")
    assert refused.value.findings[0]["code"] == "K101"


PRINTING = """
import warp as wp

@wp.kernel
def k(x: wp.array(dtype=float), times: int):
    i = wp.tid()
    for j in range(times):
        wp.printf("%d: %.2f", i, x[i])
"""


def test_kernels_print_on_vulkan():
    import numpy as np

    kernel = warpsmith.compile(PRINTING)
    x = np.linspace(0, 1, 3, dtype=np.float32)
    try:
        printed = kernel.launch(3, x, 2, device="vulkan")
    except RuntimeError as error:
        pytest.skip(f"no Vulkan device: {error}")
    assert printed == kernel.launch(3, x, 2, device="cpu")
    assert printed[::2] == ["0: 0.00", "1: 0.50", "2: 1.00"]
    with pytest.warns(UserWarning, match="more lines were printed"):
        assert len(kernel.launch(3, x, 50_000, device="vulkan")) < 150_000


def test_devices_that_are_none_are_refused():
    import numpy as np

    kernel = warpsmith.compile(DOUBLED)
    for device in ["cuda", "vulkan:x", "gpu"]:
        with pytest.raises(ValueError, match="'vulkan:N'"):
            kernel.launch(1, np.ones(1, np.float32), np.zeros(1, np.int32), device=device)
