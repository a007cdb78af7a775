"""`warp.geometry`: surfaces of fields on a grid, by marching cubes."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from . import tape, types
from .arrays import array

#: Corners of a cell, the first index fastest; edges join corners that differ in one axis.
_CORNERS = [(n & 1, n >> 1 & 1, n >> 2 & 1) for n in range(8)]
_EDGES = [(a, a | 1 << axis, axis) for axis in range(3) for a in range(8) if not a >> axis & 1]


class IsoSurfaceMarchingCubes:
    """The surface on which a field has one value, as triangles."""

    def __init__(self, nx: int, ny: int, nz: int, *unknown: Any, domain_bounds_lower_corner: Any = None,
                 domain_bounds_upper_corner: Any = None, **options: Any):
        unsupported = [str(value) for value in unknown if value] + [name for name, value in options.items() if value]
        if unsupported:
            raise NotImplementedError(f"IsoSurfaceMarchingCubes({', '.join(unsupported)}) is not in warpsmith.warp")
        self.nx, self.ny, self.nz = int(nx), int(ny), int(nz)
        self.lower, self.upper = domain_bounds_lower_corner, domain_bounds_upper_corner
        self.verts: array | None = None
        self.indices: array | None = None

    def resize(self, nx: int, ny: int, nz: int) -> None:
        """Takes fields of another shape from now on."""
        self.nx, self.ny, self.nz = int(nx), int(ny), int(nz)

    def surface(self, field: array, threshold: float) -> None:
        """Finds the surface and keeps it in `verts` and `indices`."""
        if tuple(field.shape) != (self.nx, self.ny, self.nz):
            raise ValueError(f"the field has the shape {field.shape}, not {(self.nx, self.ny, self.nz)}")
        self.verts, self.indices = self.extract(field, threshold, lower=self.lower, upper=self.upper)

    @classmethod
    def extract(cls, field: array, threshold: float = 0.0, *, lower: Any = None, upper: Any = None) -> tuple[array, array]:
        """The vertices and the triangles of the surface of one field."""
        if field.ndim != 3 or min(field.shape) < 2:
            raise ValueError("a field has three dimensions of at least two nodes each")
        if field.dtype is not types.float32:
            raise TypeError("a field is an array of float32")
        if field.requires_grad and tape.is_recording():
            raise NotImplementedError("gradients of IsoSurfaceMarchingCubes are not in warpsmith.warp")
        points, triangles = _surface(field.numpy(), np.float32(threshold))
        if lower is not None or upper is not None:
            low = np.zeros(3, np.float32) if lower is None else np.array([*lower], np.float32)
            size = np.array(field.shape, np.float32) - 1
            high = size if upper is None else np.array([*upper], np.float32)
            points = low + points * ((high - low) / size)
        return (
            array(points.astype(np.float32), dtype=types.named_types()["vec3"], device=field.device),
            array(triangles.ravel().astype(np.int32), dtype=types.int32, device=field.device),
        )


class IsoSurfaceNets:
    """Can be named, and refuses to be made."""

    def __init__(self, *_: Any, **__: Any):
        raise NotImplementedError("IsoSurfaceNets is not in warpsmith.warp: use IsoSurfaceMarchingCubes")


def __getattr__(name: str) -> Any:
    raise AttributeError(f"geometry.{name} is not in warpsmith.warp")


def _surface(field: Any, threshold: Any) -> tuple[Any, Any]:
    inside = field < threshold
    points: list[Any] = []
    numbers: list[Any] = []
    count = 0
    for axis in range(3):
        first = tuple(slice(None, -1) if n == axis else slice(None) for n in range(3))
        second = tuple(slice(1, None) if n == axis else slice(None) for n in range(3))
        crossed = inside[first] != inside[second]
        numbering = np.full(crossed.shape, -1, np.int64)
        at = np.argwhere(crossed)
        numbering[crossed] = count + np.arange(len(at))
        count += len(at)
        a, b = field[first][crossed], field[second][crossed]
        part = at.astype(np.float32)
        part[:, axis] += (threshold - a) / (b - a)
        points.append(part)
        numbers.append(numbering)
    cells = np.zeros([size - 1 for size in field.shape], np.uint8)
    for corner, offset in enumerate(_CORNERS):
        window = tuple(slice(step, size - 1 + step) for step, size in zip(offset, field.shape))
        cells |= inside[window].astype(np.uint8) << corner
    found = []
    for case in np.unique(cells):
        triangles = _triangles()[case]
        if not triangles:
            continue
        at = np.argwhere(cells == case)
        corners = []
        for edge in (edge for triangle in triangles for edge in triangle):
            corner, _, axis = _EDGES[edge]
            where = at + np.array(_CORNERS[corner])
            corners.append(numbers[axis][tuple(where.T)])
        found.append(np.stack(corners, axis=1).reshape(-1, 3))
    faces = np.concatenate(found) if found else np.zeros((0, 3), np.int64)
    return np.concatenate(points), faces


@functools.cache
def _triangles() -> list[list[tuple[int, int, int]]]:
    """For each choice of corners inside, triangles as edges that the surface crosses.

    On each side of the cell, the surface goes round every run of outer corners; the pieces of all sides make
    closed lines, which are cut into triangles. Cells that share a side agree on it.
    """
    sides = []
    for axis in range(3):
        u, v = [1 << n for n in range(3) if n != axis]
        around = [0, u, u | v, v]
        # Seen from outside, corners run against the clock.
        for far in (0, 1):
            order = around if (axis != 1) == bool(far) else around[::-1]
            sides.append([corner | far << axis for corner in order])
    edge_of = {frozenset((a, b)): n for n, (a, b, _) in enumerate(_EDGES)}
    table: list[list[tuple[int, int, int]]] = []
    for case in range(256):
        follows: dict[int, int] = {}
        for side in sides if case not in (0, 255) else ():
            held = [case >> corner & 1 == 0 for corner in side]
            for n in range(4):
                if not held[n] or held[n - 1]:
                    continue
                last = n
                while held[(last + 1) % 4]:
                    last += 1
                entered = edge_of[frozenset((side[n - 1], side[n]))]
                left = edge_of[frozenset((side[last % 4], side[(last + 1) % 4]))]
                follows[left] = entered
        triangles = []
        while follows:
            line = [next(iter(follows))]
            while follows[line[-1]] != line[0]:
                line.append(follows[line[-1]])
            for edge in line:
                del follows[edge]
            triangles += [(line[0], line[n], line[n + 1]) for n in range(1, len(line) - 1)]
        table.append(triangles)
    return table
