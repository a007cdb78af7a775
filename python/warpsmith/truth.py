"""What is right, and how far rounding may be from it: a reference in float64, and how it moves.

The program runs this file too, in the process of a KernelBench problem: it needs NumPy and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Sequence

#: A reference over plain arrays: a list of arrays in, a list of arrays out.
Reference = Callable[[Sequence[Any]], Sequence[Any]]


@dataclass
class Truth:
    """One output as it should be."""

    values: Any
    """The right values, in float64 where the reference supports that."""
    plain: Any
    """What the same formula gives in the type of the inputs: the yardstick for rounding."""
    spread: Any | None
    """How far a value moves when every input moves by one part in 2**23."""
    fan_in: float
    """How many input elements decide one output element."""
    wide: bool
    """Whether the values come from float64."""


def truth_of(reference: Reference, arrays: Sequence[Any]) -> list[Truth]:
    """The right outputs for these inputs, each with what rounding may do to it.

    >>> import numpy as np
    >>> from warpsmith.truth import truth_of
    >>> [out] = truth_of(lambda inputs: [inputs[0].sum(axis=1)], [np.ones((3, 100), np.float32)])
    >>> out.values.tolist(), round(out.fan_in), out.wide
    ([100.0, 100.0, 100.0], 100, True)
    """
    import numpy as np

    def is_float(array: Any) -> bool:
        return isinstance(array, np.ndarray) and array.dtype.kind == "f"

    plain = list(reference(arrays))
    whole = [Truth(one, one, None, 1.0, False) for one in plain]
    if not any(is_float(array) for array in arrays):
        return whole
    wide = [array.astype(np.float64) if is_float(array) else array for array in arrays]
    try:
        with np.errstate(all="ignore"):
            right = [np.asarray(one) for one in reference(wide)]
    except Exception:  # noqa: BLE001 (a function for float32 alone is a reference all the same)
        return whole
    if any(a.shape != b.shape for a, b in zip(right, plain)):
        return whole
    random = np.random.default_rng(1)
    spread = [np.zeros(one.shape) for one in right]
    with np.errstate(all="ignore"):
        # Normal steps: steps of one size cancel each other where terms do.
        for _ in range(3):
            moved = [
                one * (1 + 2.0**-23 * random.standard_normal(one.shape)) if is_float(one) else one
                for one in wide
            ]
            for index, one in enumerate(reference(moved)):
                step = np.abs(np.asarray(one, np.float64) - right[index])
                spread[index] = np.fmax(spread[index], step)
        for index, one in enumerate(spread):
            # An element's own steps may be small by chance; those of its array are not.
            if one.size:
                spread[index] = np.fmax(one, 0.25 * np.nanmedian(one))
        fan_in = _fan_in(reference, wide, right, random)
    return [
        Truth(values, own, moves if values.dtype.kind == "f" else None, terms, True)
        for values, own, moves, terms in zip(right, plain, spread, fan_in)
    ]


def _fan_in(reference: Reference, wide: list[Any], right: list[Any], random: Any) -> list[float]:
    """Single elements are changed: what changes with them depends on them."""
    import numpy as np

    most = [1.0] * len(right)
    for position, array in enumerate(wide):
        if not isinstance(array, np.ndarray) or array.dtype.kind != "f" or array.size == 0:
            continue
        flat = array.copy().reshape(-1)
        at = int(random.integers(flat.size))
        flat[at] = flat[at] * 1.5 + 0.5
        moved = list(wide)
        moved[position] = flat.reshape(array.shape)
        for index, one in enumerate(reference(moved)):
            changed = int(np.count_nonzero(np.asarray(one) != right[index]))
            most[index] = max(most[index], changed * array.size / max(right[index].size, 1))
    return most
