"""The types of kernels as Python values: scalars, vectors, matrices, quaternions and transforms.

Arithmetic happens in the type's own precision, as in a kernel; components read as plain numbers.
"""

from __future__ import annotations

import builtins
from functools import lru_cache
from typing import Any, Iterator

import numpy as np


class scalar:
    """A number of one of the kernel language's types."""

    numpy_type: Any = np.float32

    def __init__(self, value: Any = 0):
        number = getattr(value, "value", value)
        self.value = self.numpy_type(number).item()

    def __float__(self) -> float:
        return float(self.value)

    def __int__(self) -> int:
        return int(self.value)

    def __index__(self) -> int:
        if isinstance(self.value, float):
            raise TypeError(f"{type(self).__name__} is not an integer")
        return int(self.value)

    def __bool__(self) -> builtins.bool:
        return builtins.bool(self.value)

    def __eq__(self, other: object) -> builtins.bool:
        return builtins.bool(self.value == getattr(other, "value", other))

    def __hash__(self) -> int:
        return hash(self.value)

    def __repr__(self) -> str:
        return repr(self.value)


class bool(scalar):
    numpy_type = np.bool_


class int8(scalar):
    numpy_type = np.int8


class uint8(scalar):
    numpy_type = np.uint8


class int16(scalar):
    numpy_type = np.int16


class uint16(scalar):
    numpy_type = np.uint16


class int32(scalar):
    numpy_type = np.int32


class uint32(scalar):
    numpy_type = np.uint32


class int64(scalar):
    numpy_type = np.int64


class uint64(scalar):
    numpy_type = np.uint64


class float16(scalar):
    numpy_type = np.float16


class float32(scalar):
    numpy_type = np.float32


class float64(scalar):
    numpy_type = np.float64


SCALARS = (bool, int8, uint8, int16, uint16, int32, uint32, int64, uint64, float16, float32, float64)

_FROM_PYTHON = {float: float32, int: int32, builtins.bool: bool}
_FROM_NUMPY = {np.dtype(scalar.numpy_type): scalar for scalar in SCALARS}


def scalar_type(dtype: Any) -> type[scalar]:
    """The kernel language's scalar for a Python, NumPy or Warp type; TypeError where there is none."""
    if dtype in _FROM_PYTHON:
        return _FROM_PYTHON[dtype]
    if isinstance(dtype, type) and issubclass(dtype, scalar) and dtype is not scalar:
        return dtype
    try:
        return _FROM_NUMPY[np.dtype(dtype)]
    except (KeyError, TypeError):
        raise TypeError(f"{dtype!r} is not a scalar type of kernels") from None


class _Composite:
    """Values of several components: `_shape_` of one scalar type."""

    _shape_: tuple[int, ...] = ()
    _wp_scalar_type_: type[scalar] = float32

    def __init__(self, *components: Any):
        self._values = self._read(components)

    @classmethod
    def _read(cls, components: tuple[Any, ...]) -> Any:
        numpy_type = cls._wp_scalar_type_.numpy_type
        if not components:
            return np.zeros(cls._shape_, numpy_type)
        if len(components) == 1:
            only = components[0]
            if isinstance(only, _Composite):
                only = only._values
            if isinstance(only, (scalar, int, float, np.generic)):
                return np.full(cls._shape_, getattr(only, "value", only), numpy_type)
            components = (only,)
        flat = np.concatenate([np.ravel(np.asarray(_plain(part))) for part in components])
        if flat.size != np.prod(cls._shape_, dtype=int):
            raise ValueError(f"{cls.__name__} has {np.prod(cls._shape_)} components: got {flat.size}")
        return flat.astype(numpy_type).reshape(cls._shape_)

    @classmethod
    def _of(cls, values: Any) -> Any:
        made = cls.__new__(cls)
        made._values = np.asarray(values, cls._wp_scalar_type_.numpy_type).reshape(cls._shape_)
        return made

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self._values.astype(dtype) if dtype is not None else self._values.copy()

    def __len__(self) -> int:
        return self._shape_[0]

    def __iter__(self) -> Iterator[Any]:
        return (self[n] for n in range(len(self)))

    def __getitem__(self, key: Any) -> Any:
        found = self._values[key]
        if not isinstance(found, np.ndarray):
            return found.item()
        return _like(found, self._wp_scalar_type_)

    def __setitem__(self, key: Any, value: Any) -> None:
        self._values[key] = _plain(value)

    def __eq__(self, other: object) -> Any:
        if not isinstance(other, (_Composite, tuple, list, np.ndarray)):
            return NotImplemented
        theirs = np.asarray(_plain(other))
        return theirs.shape == self._values.shape and builtins.bool((self._values == theirs).all())

    __hash__ = None  # type: ignore[assignment]

    def __pos__(self) -> Any:
        return self._of(self._values)

    def __neg__(self) -> Any:
        return self._of(-self._values)

    def __add__(self, other: Any) -> Any:
        return self._pairwise(other, np.add)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self._pairwise(other, np.subtract)

    def __rsub__(self, other: Any) -> Any:
        return self._of(np.subtract(self._theirs(other), self._values))

    def __mul__(self, other: Any) -> Any:
        return self._scaled(other, np.multiply)

    def __rmul__(self, other: Any) -> Any:
        return self._scaled(other, np.multiply)

    def __truediv__(self, other: Any) -> Any:
        with np.errstate(divide="ignore", invalid="ignore"):
            return self._scaled(other, np.divide)

    def __rtruediv__(self, other: Any) -> Any:
        with np.errstate(divide="ignore", invalid="ignore"):
            return self._of(np.divide(self._number(other), self._values))

    def _pairwise(self, other: Any, operation: Any) -> Any:
        return self._of(operation(self._values, self._theirs(other)))

    def _theirs(self, other: Any) -> Any:
        theirs = np.asarray(_plain(other), self._values.dtype)
        if theirs.shape != self._values.shape:
            raise TypeError(f"{type(self).__name__} and {other!r} have different shapes")
        return theirs

    def _number(self, other: Any) -> Any:
        if not isinstance(other, (scalar, int, float, np.generic)):
            raise TypeError(f"{type(self).__name__} is multiplied and divided by numbers")
        return self._values.dtype.type(getattr(other, "value", other))

    def _scaled(self, other: Any, operation: Any) -> Any:
        return self._of(operation(self._values, self._number(other)))

    def __repr__(self) -> str:
        rows = [_listed(row) for row in self._values] if self._values.ndim == 2 else None
        return "[" + ",\n ".join(rows) + "]" if rows else _listed(self._values)


def _listed(values: Any) -> str:
    return "[" + ", ".join(repr(value.item()) for value in values) + "]"


def _plain(value: Any) -> Any:
    """Numbers, and arrays of them, from whatever holds components."""
    if isinstance(value, _Composite):
        return value._values
    if isinstance(value, scalar):
        return value.value
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    return value


def _like(values: Any, dtype: type[scalar]) -> Any:
    if values.ndim == 1:
        return vector(len(values), dtype)._of(values)
    return matrix(values.shape, dtype)._of(values)


class _Vector(_Composite):
    def _component(self, at: int) -> Any:
        if at >= len(self):
            raise AttributeError(f"a vector of {len(self)} has no component {'xyzw'[at]!r}")
        return self._values[at].item()

    def _set_component(self, at: int, value: Any) -> None:
        self._component(at)
        self._values[at] = _plain(value)

    x = property(lambda self: self._component(0), lambda self, value: self._set_component(0, value))
    y = property(lambda self: self._component(1), lambda self, value: self._set_component(1, value))
    z = property(lambda self: self._component(2), lambda self, value: self._set_component(2, value))
    w = property(lambda self: self._component(3), lambda self, value: self._set_component(3, value))


class _Matrix(_Composite):
    def __matmul__(self, other: Any) -> Any:
        theirs = np.asarray(_plain(other), self._values.dtype)
        if theirs.ndim not in (1, 2) or theirs.shape[0] != self._shape_[1]:
            raise TypeError(f"{type(self).__name__} @ {other!r}: the sizes do not fit")
        return _like(self._values @ theirs, self._wp_scalar_type_)

    def __rmatmul__(self, other: Any) -> Any:
        theirs = np.asarray(_plain(other), self._values.dtype)
        if theirs.ndim != 1 or theirs.shape[0] != self._shape_[0]:
            raise TypeError(f"{other!r} @ {type(self).__name__}: the sizes do not fit")
        return _like(theirs @ self._values, self._wp_scalar_type_)

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, (_Matrix, _Vector)):
            return self @ other
        return super().__mul__(other)


class _Quaternion(_Vector):
    _shape_ = (4,)

    def __mul__(self, other: Any) -> Any:
        if not isinstance(other, _Quaternion):
            return super().__mul__(other)
        ax, ay, az, aw = self._values
        bx, by, bz, bw = other._values
        return self._of(
            [
                aw * bx + bw * ax + ay * bz - by * az,
                aw * by + bw * ay + az * bx - bz * ax,
                aw * bz + bw * az + ax * by - bx * ay,
                aw * bw - ax * bx - ay * by - az * bz,
            ]
        )


class _Transform(_Composite):
    _shape_ = (7,)

    def __init__(self, *components: Any):
        if not components:
            self._values = np.zeros(7, self._wp_scalar_type_.numpy_type)
            return
        if len(components) == 1:
            components = tuple(components[0])
        if len(components) == 2:
            components = (*components[0], *components[1])
        self._values = self._read((list(components),))

    @property
    def p(self) -> Any:
        return vector(3, self._wp_scalar_type_)._of(self._values[:3])

    @property
    def q(self) -> Any:
        return quaternion(self._wp_scalar_type_)._of(self._values[3:])

    def __mul__(self, other: Any) -> Any:
        if not isinstance(other, _Transform):
            return super().__mul__(other)
        from .builtin_calls import call

        return call("transform_multiply", (self, other), {})


@lru_cache(None)
def _make(base: type[_Composite], shape: tuple[int, ...], dtype: type[scalar], name: str) -> Any:
    return type(name, (base,), {"_shape_": shape, "_wp_scalar_type_": dtype})


_SUFFIXES = {
    float16: "h", float32: "f", float64: "d", int8: "b", uint8: "ub", int16: "s", uint16: "us",
    int32: "i", uint32: "ui", int64: "l", uint64: "ul",
}  # fmt: skip


def vector(length: int, dtype: Any) -> Any:
    """The type of vectors of `length` components."""
    found: Any = scalar_type(dtype)
    return _make(_Vector, (int(length),), found, f"vec{length}{_SUFFIXES.get(found, '')}")


def matrix(shape: tuple[int, ...], dtype: Any) -> Any:
    """The type of matrices of `shape`."""
    found: Any = scalar_type(dtype)
    rows, cols = shape
    return _make(_Matrix, (int(rows), int(cols)), found, f"mat{rows}{cols}{_SUFFIXES.get(found, '')}")


def quaternion(dtype: Any) -> Any:
    """The type of quaternions, `x`, `y`, `z`, `w`."""
    found: Any = scalar_type(dtype)
    return _make(_Quaternion, (4,), found, f"quat{_SUFFIXES[found]}")


def transformation(dtype: Any) -> Any:
    """The type of rigid transforms: a position and a quaternion."""
    found: Any = scalar_type(dtype)
    return _make(_Transform, (7,), found, f"transform{_SUFFIXES[found]}")


def is_composite(dtype: Any) -> builtins.bool:
    return isinstance(dtype, type) and issubclass(dtype, _Composite)


def element_of(dtype: Any) -> tuple[type[scalar], tuple[int, ...]]:
    """The scalar and the shape of one element of `dtype`."""
    if is_composite(dtype):
        return dtype._wp_scalar_type_, dtype._shape_
    return scalar_type(dtype), ()


def component_list(value: Any) -> list[Any]:
    """The components of a value, one after the other."""
    found: list[Any] = np.ravel(np.asarray(_plain(value))).tolist()
    return found


def named_types() -> dict[str, Any]:
    """`vec3`, `mat33d`, `quatf` and the others that have names."""
    names: dict[str, Any] = {}
    for dtype, suffix in _SUFFIXES.items():
        plain = ["", suffix] if dtype is float32 else [suffix]
        for end in plain:
            for size in (2, 3, 4):
                names[f"vec{size}{end}"] = vector(size, dtype)
                if suffix in "hfd":
                    names[f"mat{size}{size}{end}"] = matrix((size, size), dtype)
            if suffix in "hfd":
                names[f"quat{end}"] = quaternion(dtype)
                names[f"transform{end}"] = transformation(dtype)
                names[f"spatial_vector{end}"] = vector(6, dtype)
                names[f"spatial_matrix{end}"] = matrix((6, 6), dtype)
    return names
