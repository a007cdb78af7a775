"""`Texture1D`, `Texture2D` and `Texture3D`: numbers on a grid, which kernels sample between its points.

They are sampled in software, on the CPU and on a GPU with the same arithmetic.
"""

from __future__ import annotations

import enum
from typing import Any

import numpy as np

from .. import _native
from . import types
from .arrays import array
from .devices import get_device
from .objects import Described


class TextureFilterMode(enum.IntEnum):
    """How a texture is sampled between its texels."""

    CLOSEST = 0
    LINEAR = 1


class TextureAddressMode(enum.IntEnum):
    """What lies beside a texture."""

    WRAP = 0
    CLAMP = 1
    MIRROR = 2
    BORDER = 3


#: The kinds of texels, by their number in the runtime.
_TEXELS: list[Any] = [
    types.uint8, types.uint16, types.float32, types.int8, types.int16, types.float16, types.uint32, types.int32,
]  # fmt: skip
#: What only a GPU's own textures have.
_ONLY_ON_GPUS = ("cuda_array", "surface_access")


class Texture:
    """A texture; make a `Texture1D`, `Texture2D` or `Texture3D`."""

    _rank = 0

    def __init__(
        self,
        data: Any = None,
        sizes: tuple[int, ...] = (),
        num_channels: int = 0,
        dtype: Any = None,
        filter_mode: Any = None,
        address_mode: Any = None,
        address_mode_u: Any = None,
        address_mode_v: Any = None,
        address_mode_w: Any = None,
        normalized_coords: bool = True,
        num_mip_levels: int = 1,
        mip_filter_mode: Any = None,
        device: Any = None,
        **unknown: Any,
    ):
        name = type(self).__name__
        if self._rank == 0:
            raise RuntimeError("make a Texture1D, a Texture2D or a Texture3D")
        unsupported = [key for key, value in unknown.items() if value]
        if num_mip_levels != 1:
            unsupported.append("num_mip_levels")
        if unsupported:
            raise NotImplementedError(f"{name}({', '.join(unsupported)}=…) is not in warpsmith.warp")
        if any(key not in _ONLY_ON_GPUS for key in unknown):
            raise TypeError(f"{name} takes no {', '.join(sorted(set(unknown) - set(_ONLY_ON_GPUS)))}")
        self.device = get_device(device)
        asked = [int(size) for size in sizes]
        texels, found, channels = (None, asked, num_channels) if data is None else self._texels(data)
        if any(one and one != other for one, other in zip(asked, found)) or num_channels not in (0, channels):
            raise ValueError(f"the {name} is {asked} with {num_channels} channels, and its data {found} with {channels}")
        self.dtype = types.scalar_type(dtype if texels is None or dtype is not None else texels.dtype)
        if self.dtype not in _TEXELS:
            raise ValueError(f"Unsupported texture dtype: {self.dtype.__name__}")
        if texels is not None and texels.dtype != self.dtype.numpy_type:
            raise ValueError(f"the {name} is of {self.dtype.__name__}, and its data of {texels.dtype}")
        if any(size <= 0 for size in found) or channels not in (1, 2, 4):
            raise ValueError(f"a {name} has a size of at least 1 along each axis, and 1, 2 or 4 channels")
        whole = self.dtype in (types.int32, types.uint32)
        chosen = (not whole) if filter_mode is None else TextureFilterMode(filter_mode)
        if whole and chosen:
            raise ValueError("32-bit integer textures require filter_mode=TextureFilterMode.CLOSEST")
        self.filter_mode = TextureFilterMode(int(chosen))
        modes = (address_mode_u, address_mode_v, address_mode_w)
        self._address = [_address(address_mode, mode, axis) for axis, mode in enumerate(modes)]
        self._sizes, self.num_channels, self.normalized_coords = found, int(channels), bool(normalized_coords)
        self.num_mip_levels = 1
        self._described = Described(self.device, self)
        self.id = self._described.id
        self._put(np.zeros(self._shape(), self.dtype.numpy_type) if texels is None else texels)

    @classmethod
    def _texels(cls, data: Any) -> tuple[Any, list[int], int]:
        """Texels, the sizes from the width on, and the channels that data has."""
        if isinstance(data, array):
            vector = len(types.element_of(data.dtype)[1])
            texels = data.numpy()
        else:
            vector, texels = 0, np.asarray(data)
        if texels.ndim not in (cls._rank, cls._rank + 1) or (vector and texels.ndim == cls._rank):
            raise ValueError(f"{cls._rank}D texture data has {cls._rank} or {cls._rank + 1} dimensions, not {texels.ndim}")
        channels = 1 if texels.ndim == cls._rank else texels.shape[-1]
        return texels, list(texels.shape[: cls._rank][::-1]), channels

    def _shape(self) -> tuple[int, ...]:
        channels = () if self.num_channels == 1 else (self.num_channels,)
        return (*self._sizes[::-1], *channels)

    def _put(self, texels: Any) -> None:
        self._host = np.ascontiguousarray(texels).reshape(self._shape())
        linear = self.filter_mode == TextureFilterMode.LINEAR
        self._described.put(
            _native.texture(
                (self.width, self.height, self.depth), self.num_channels, _TEXELS.index(self.dtype), linear, self.normalized_coords,
                (int(self._address[0]), int(self._address[1]), int(self._address[2])), self._host.tobytes(),
            )
        )  # fmt: skip

    def copy_from(self, src: Any) -> None:
        """Takes the texels of an array or of another texture of the same size and type."""
        texels, sizes, channels = (
            (src._host, src._sizes, src.num_channels) if isinstance(src, Texture) else self._texels(src)
        )
        if sizes != self._sizes or channels != self.num_channels:
            raise ValueError(f"Incompatible shapes for copy: {sizes} with {channels} channels to {self._sizes}")
        if texels.dtype != self.dtype.numpy_type:
            raise ValueError(f"Incompatible data types for copy: {texels.dtype} to {self.dtype.__name__}")
        self._put(texels)

    def copy_to(self, dst: Any) -> None:
        """Copies the texels to an array or another texture of the same size and type."""
        if isinstance(dst, Texture):
            dst.copy_from(self)
        elif isinstance(dst, array):
            dst.assign(self._host.reshape(dst.numpy().shape))
        else:
            dst[...] = self._host.reshape(np.shape(dst))

    def numpy(self) -> Any:
        """The texels."""
        return self._host.copy()

    def native(self) -> Any:
        return self._described.native()

    @property
    def ndim(self) -> int:
        return self._rank

    @property
    def width(self) -> int:
        return self._sizes[0]

    @property
    def height(self) -> int:
        return (*self._sizes, 1)[1]

    @property
    def depth(self) -> int:
        return (*self._sizes, 1, 1)[2]

    @property
    def address_mode_u(self) -> TextureAddressMode:
        return self._address[0]

    @property
    def address_mode_v(self) -> TextureAddressMode:
        return self._address[1]

    @property
    def address_mode_w(self) -> TextureAddressMode:
        return self._address[2]

    @classmethod
    def numpy_dtype(cls) -> Any:
        """A texture as an element of an array: its number or address, and its sizes."""
        sizes = [(name, np.int32) for name in ("width", "height", "depth")[: cls._rank]]
        return np.dtype([("tex", np.uint64), *sizes], align=True)

    def numpy_value(self) -> Any:
        """The texture as one value of `numpy_dtype`."""
        return np.array([(self.id, *self._sizes)], self.numpy_dtype())[0]

    def components(self) -> list[int]:
        """The texture as an argument of a kernel."""
        return [int(self.id), *self._sizes]


def _address(common: Any, own: Any, axis: int) -> TextureAddressMode:
    if own is None and isinstance(common, tuple):
        own = common[axis] if axis < len(common) else None
    elif own is None:
        own = common
    return TextureAddressMode.CLAMP if own is None else TextureAddressMode(own)


class Texture1D(Texture):
    """Texels along a line."""

    _rank = 1

    def __init__(self, data: Any = None, width: int = 0, *rest: Any, **named: Any):
        super().__init__(data, (width,), *rest, **named)


class Texture2D(Texture):
    """Texels on a plane."""

    _rank = 2

    def __init__(self, data: Any = None, width: int = 0, height: int = 0, *rest: Any, **named: Any):
        super().__init__(data, (width, height), *rest, **named)


class Texture3D(Texture):
    """Texels in space."""

    _rank = 3

    def __init__(self, data: Any = None, width: int = 0, height: int = 0, depth: int = 0, *rest: Any, **named: Any):
        super().__init__(data, (width, height, depth), *rest, **named)
