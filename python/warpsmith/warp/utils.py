"""`wp.utils`: sums, products, scans and sorts of whole arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import graphs, types
from .arrays import array, numpy_type, zeros
from .timer import ScopedTimer  # noqa: F401 - Warp has it here, too


def array_sum(values: array, out: array | None = None, value_count: int | None = None, axis: int | None = None) -> Any:
    """The sum of the elements, added one after the other; along `axis`, or of all."""
    memory = values._memory if value_count is None else values._memory[:value_count]
    return _reduced(values, memory, out, axis)


def array_inner(a: array, b: array, out: array | None = None, count: int | None = None, axis: int | None = None) -> Any:
    """The sum of the products of elements; of vectors their dot products."""
    product = a._memory[:count] * b._memory[:count]
    inner = len(numpy_type(a.dtype)[1])
    if inner:
        product = _in_order(product.reshape((*product.shape[: product.ndim - inner], -1)), -1)
    scalar = a if not inner else zeros(1, types.element_of(a.dtype)[0], a.device)
    return _reduced(scalar, product, out, axis)


def _in_order(values: Any, axis: int) -> Any:
    """The sum from the first to the last: NumPy's own adds in pairs, and rounds otherwise."""
    if values.shape[axis] == 0:
        return np.zeros(np.delete(values.shape, axis), values.dtype)
    return np.take(np.cumsum(values, axis=axis, dtype=values.dtype), -1, axis=axis)


def _reduced(values: array, memory: Any, out: array | None, axis: int | None) -> Any:
    inner = numpy_type(values.dtype)[1]
    if axis is None:
        result = _in_order(memory.reshape((-1, *inner)), 0)
    else:
        result = np.expand_dims(_in_order(memory, axis), axis)
    if out is not None:
        with out._writing() as memory:
            memory[...] = result.reshape(memory.shape)
        return None
    if axis is not None:
        return array._over(result, values.dtype, values.device)
    return result if inner else result.item()


def array_scan(in_array: array, out_array: array, inclusive: bool = True) -> None:
    """The running sum; without the element itself where it is not `inclusive`."""
    if in_array.size != out_array.size or in_array.dtype is not out_array.dtype:
        raise RuntimeError("array_scan takes two arrays of one size and type")

    def scan() -> None:
        values = in_array._memory
        sums = np.cumsum(values, axis=0, dtype=values.dtype)
        with out_array._writing() as memory:
            if inclusive:
                memory[...] = sums
            else:
                memory[1:] = sums[:-1]
                memory[:1] = 0

    graphs.do(scan)


def radix_sort_pairs(keys: array, values: array, count: int, **_: Any) -> None:
    """Sorts the first `count` keys, and the values with them; equal keys stay in order."""
    if keys.size < 2 * count or values.size < 2 * count:
        raise RuntimeError("radix_sort_pairs needs arrays of twice the count")

    def sort() -> None:
        with keys._writing() as by, values._writing() as along:
            order = np.argsort(by[:count], kind="stable")
            by[:count] = by[:count][order]
            along[:count] = along[:count][order]

    graphs.do(sort)


def segmented_sort_pairs(keys: array, values: array, count: int, segment_start_indices: array, **options: Any) -> None:
    """Sorts each segment by itself."""
    starts = segment_start_indices._memory
    ends = options.get("segment_end_indices")
    stops = starts[1:] if ends is None else ends._memory

    def sort() -> None:
        with keys._writing() as by, values._writing() as along:
            for start, stop in zip(starts, stops):
                order = np.argsort(by[start:stop], kind="stable")
                by[start:stop] = by[start:stop][order]
                along[start:stop] = along[start:stop][order]

    graphs.do(sort)


def runlength_encode(values: array, run_values: array, run_lengths: array, run_count: Any = None, **_: Any) -> Any:
    """Runs of equal values: each value, its length, and how many there are."""
    memory = values._memory
    firsts = np.flatnonzero(np.concatenate([[True], memory[1:] != memory[:-1]])) if memory.size else np.zeros(0, int)
    lengths = np.diff(np.append(firsts, memory.size))
    with run_values._writing() as found, run_lengths._writing() as counts:
        found[: firsts.size] = memory[firsts]
        counts[: firsts.size] = lengths
    if run_count is not None:
        with run_count._writing() as total:
            total[...] = firsts.size
        return None
    return int(firsts.size)


def array_cast(in_array: array, out_array: array, count: int | None = None) -> None:
    """The values as another type."""

    def cast() -> None:
        source = in_array._memory
        with out_array._writing() as target:
            if count is not None:
                target, source = target[:count], source[:count]
            target[...] = source.astype(target.dtype).reshape(target.shape)

    graphs.do(cast)
