"""`struct`: records with fields of kernel types, as values and as elements of arrays."""

from __future__ import annotations

import typing
from typing import Any

import numpy as np

from . import types
from .array_type import ArrayType


class Struct:
    """The type that a class under `@struct` describes; call it for an instance."""

    def __init__(self, cls: type):
        self.cls = cls
        self.key = self.__name__ = cls.__name__
        self.vars: dict[str, Any] = typing.get_type_hints(cls)
        self.__module__ = cls.__module__

    def __call__(self) -> StructInstance:
        return StructInstance(self)

    def numpy_dtype(self) -> Any:
        """The record as C lays it out; TypeError where a field is an array."""
        fields: list[Any] = []
        for name, dtype in self.vars.items():
            if isinstance(dtype, ArrayType):
                raise TypeError(f"arrays of {self.key} are not in warpsmith.warp: the field {name} is an array")
            if isinstance(dtype, Struct):
                fields.append((name, dtype.numpy_dtype()))
            else:
                scalar, shape = types.element_of(dtype)
                fields.append((name, scalar.numpy_type, shape))
        return np.dtype(fields, align=True)


class StructInstance:
    """One record."""

    def __init__(self, struct: Struct):
        values = {name: _default(dtype) for name, dtype in struct.vars.items()}
        object.__setattr__(self, "_struct", struct)
        object.__setattr__(self, "_fields", values)

    def __getattr__(self, name: str) -> Any:
        try:
            return object.__getattribute__(self, "_fields")[name]
        except KeyError:
            raise AttributeError(f"{self._struct.key} has no field {name!r}") from None

    def __setattr__(self, name: str, value: Any) -> None:
        dtype = self._struct.vars.get(name)
        if dtype is None:
            raise RuntimeError(f"{self._struct.key} has no field {name!r}")
        if types.is_composite(dtype) and not isinstance(value, dtype):
            value = dtype(value) if isinstance(value, types._Composite) else dtype(*value)
        self._fields[name] = value

    def numpy_value(self) -> Any:
        """The record as one value of `numpy_dtype`."""
        dtype = self._struct.numpy_dtype()
        return np.array([self._tuple()], dtype)[0]

    def _tuple(self) -> tuple[Any, ...]:
        def plain(value: Any) -> Any:
            return value._tuple() if isinstance(value, StructInstance) else types._plain(value)

        return tuple(plain(value) for value in self._fields.values())

    def __repr__(self) -> str:
        fields = "".join(f"\t{name}={value!r},\n" for name, value in self._fields.items())
        return f"{self._struct.key}(\n{fields})"


def _default(dtype: Any) -> Any:
    if isinstance(dtype, ArrayType):
        return None
    if isinstance(dtype, Struct):
        return dtype()
    if types.is_composite(dtype):
        return dtype()
    return types.scalar_type(dtype)().value


def struct(cls: type) -> Struct:
    """Makes a class with annotated fields a type of kernels."""
    return Struct(cls)
