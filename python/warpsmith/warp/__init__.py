"""Programs written for `import warp as wp`: `import warpsmith.warp as wp` instead.

Kernels are compiled by Warpsmith and run on the CPU or on a CUDA GPU; nothing of NVIDIA Warp is needed. What is
not here raises with its name.

>>> import numpy as np
>>> import warpsmith.warp as wp
>>> wp.normalize(wp.vec3(3.0, 0.0, 4.0))
[0.6000000238418579, 0.0, 0.800000011920929]
>>> wp.array([1.0, 2.0, 3.0], dtype=float, device="cpu").numpy()
array([1., 2., 3.], dtype=float32)
"""

from __future__ import annotations

import math as _math
from typing import Any as _Any

from . import config, types
from .arrays import (
    array,
    array1d,
    array2d,
    array3d,
    array4d,
    clone,
    copy,
    device_from_torch,
    device_to_torch,
    dtype_from_numpy,
    dtype_from_torch,
    dtype_to_numpy,
    dtype_to_torch,
    empty,
    empty_like,
    from_dlpack,
    from_numpy,
    from_torch,
    full,
    full_like,
    ones,
    ones_like,
    stream_from_torch,
    to_dlpack,
    to_torch,
    zeros,
    zeros_like,
)
from .builtin_calls import call as _call
from .builtin_calls import names as _builtin_names
from .definitions import (
    Function,
    Kernel,
    clear_kernel_cache,
    constant,
    force_load,
    func,
    func_grad,
    func_native,
    func_replay,
    get_module_options,
    kernel,
    load_module,
    overload,
    set_module_options,
    static,
)
from .devices import (
    Device,
    ScopedDevice,
    get_cuda_device,
    get_cuda_device_count,
    get_cuda_devices,
    get_device,
    get_devices,
    get_mempool_used_mem_current,
    get_mempool_used_mem_high,
    get_preferred_device,
    init,
    is_conditional_graph_supported,
    is_cpu_available,
    is_cuda_available,
    is_device_available,
    is_mempool_enabled,
    is_mempool_supported,
    set_device,
    set_mempool_enabled,
    synchronize,
    synchronize_device,
    synchronize_event,
    synchronize_stream,
)
from .graphs import (
    Event,
    Graph,
    ScopedCapture,
    ScopedStream,
    Stream,
    capture_begin,
    capture_end,
    capture_if,
    capture_launch,
    capture_while,
    get_event_elapsed_time,
    get_stream,
    record_event,
    set_stream,
    wait_event,
    wait_stream,
)
from .indexed_arrays import indexedarray, indexedarray1d, indexedarray2d, indexedarray3d, indexedarray4d
from .launching import Launch, get_suggested_block_size, launch, launch_tiled
from .mapping import map
from .objects import (
    Bvh,
    BvhQuery,
    HashGrid,
    HashGridQuery,
    Mesh,
    MeshQuery,
    MeshQueryAABB,
    MeshQueryPoint,
    MeshQueryRay,
)
from .structs import Struct, struct
from .tape import Tape
from .textures import Texture, Texture1D, Texture2D, Texture3D, TextureAddressMode, TextureFilterMode
from .timer import (
    TIMING_ALL,
    TIMING_GRAPH,
    TIMING_KERNEL,
    TIMING_KERNEL_BUILTIN,
    TIMING_MEMCPY,
    TIMING_MEMSET,
    ScopedTimer,
)
from .types import (
    bool,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)
from .volumes import Volume
from . import utils  # isort: skip

globals().update(types.named_types())
quaternion, transformation = types.quaternion, types.transformation

pi = PI = _math.pi
e = E = _math.e
tau = TAU = _math.tau
inf = INF = _math.inf
nan = NAN = _math.nan
half_pi = HALF_PI = _math.pi / 2
LOG_DEBUG, LOG_INFO, LOG_WARNING, LOG_ERROR = 10, 20, 30, 40


def __getattr__(name: str) -> _Any:
    if name in ("optim", "render", "examples", "geometry"):
        import importlib

        return importlib.import_module(f".{name}", __name__)
    if name in _builtin_names():

        def builtin(*arguments: _Any, **named: _Any) -> _Any:
            return _call(name, arguments, named)

        builtin.__name__ = name
        builtin._builtin = name  # type: ignore[attr-defined]
        return builtin
    raise AttributeError(f"{name} is not in warpsmith.warp")
