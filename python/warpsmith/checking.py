"""Whether a callable is right: compared with a reference in float64, on fresh inputs, element by element."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from typing import Any, Callable, Sequence

from . import _native
from .benchmarking import html_escape, replace_file
from .truth import Truth, truth_of

#: NumPy's names of types, as the engine calls them.
SCALARS = {
    "float16": "f16", "float32": "f32", "float64": "f64", "int8": "i8", "int16": "i16", "int32": "i32",
    "int64": "i64", "uint8": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64", "bool": "u8",
}  # fmt: skip


@dataclass(frozen=True)
class Verification:
    """What was compared, and what is wrong."""

    name: str
    #: One line for each run of each input: its inputs in words, and how every output compares.
    checks: list[dict[str, Any]] = field(repr=False)
    #: What is wrong, in sentences; empty where everything is right.
    problems: list[str]

    @property
    def ok(self) -> bool:
        """Whether everything was right."""
        return not self.problems

    @property
    def error_over_plain(self) -> float | None:
        """The error, over that of the reference in the inputs' own type: 1 to 4 is rounding."""
        ratios = [
            output["error_over_plain"]
            for check in self.checks
            for output in check["outputs"]
            if output.get("error_over_plain") is not None
        ]
        return max(ratios, default=None)

    def summary(self) -> str:
        """A few lines for people."""
        verdict = "right" if self.ok else "WRONG"
        ratio = self.error_over_plain
        beside = f", error {ratio:.2f} times that of the same formula" if ratio is not None else ""
        lines = [f"{self.name}: {verdict} in {len(self.checks)} checks{beside}"]
        return "\n".join(lines + [f"  {problem}" for problem in self.problems[:5]])

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values."""
        return {"name": self.name, "ok": self.ok, "problems": self.problems, "checks": self.checks}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything as JSON, in the envelope that the program's reports have."""
        replace_file(path, json.dumps({"verb": "verify", "body": self.to_dict()}))

    def __repr__(self) -> str:
        return f"<Verification {self.summary()}>"

    def _repr_html_(self) -> str:
        return f"<pre>{html_escape(self.summary())}</pre>"


def verify(
    fn: Callable[..., Any],
    reference: Callable[..., Any],
    *args: Any,
    inputs: int = 3,
    seed: int | None = None,
    tolerance: tuple[float, float] | None = None,
    name: str | None = None,
) -> Verification:
    """Compare `fn(*args)` with `reference(*args)` on these arrays and on fresh ones of the same shapes.

    The reference gets NumPy arrays on the host, also in float64 where it supports that: what it says there is
    the truth, and how far it moves with its inputs' last bits says what rounding may do. `tolerance` is
    `(absolute, relative)` where that is to decide instead.

    Arrays may be NumPy's, PyTorch's or CuPy's, or
    whatever speaks DLPack; `fn` gets the same kind as was given. Inputs must come out unchanged, and two runs
    on the same input must agree as far as the truth goes.

    >>> import numpy as np, warpsmith
    >>> x = np.random.default_rng(0).standard_normal((64, 100), dtype=np.float32)
    >>> warpsmith.verify(lambda x: x.sum(axis=1), lambda x: np.sum(x, axis=1), x).ok
    True
    >>> half = lambda x: x.astype(np.float16).sum(axis=1).astype(np.float32)
    >>> warpsmith.verify(half, lambda x: np.sum(x, axis=1), x).ok
    False
    """
    import numpy as np

    if inputs < 1:
        raise ValueError(f"inputs is {inputs!r}; it is at least 1")
    random = np.random.default_rng(seed)
    given = [host_array(value) for value in args]
    title = name or getattr(fn, "__name__", None) or type(fn).__name__
    checks: list[dict[str, Any]] = []
    problems: list[str] = []
    for round_ in range(inputs):
        words = "as given" if round_ == 0 else "normal" if round_ % 2 else "uniform"
        hosts = [_fresh(value, words, random) for value in given]
        truths = truth_of(lambda values: _outputs(reference(*values)), hosts)
        for run in range(2):
            passed = [_like(host, value) for host, value in zip(hosts, args)]
            results = _outputs(fn(*passed))
            if len(results) != len(truths):
                raise ValueError(f"{title} returns {len(results)} results, the reference {len(truths)}")
            compared = [
                _compared(f"result{at}" if len(results) > 1 else "result", one, truth, tolerance)
                for at, (one, truth) in enumerate(zip(results, truths))
            ]
            checks.append({"inputs": words, "run": run, "outputs": compared})
            for output in compared:
                if output["wrong"]:
                    problems.append(f"{words}, run {run + 1}: {_words(output)}")
            for at, (host, value) in enumerate(zip(hosts, passed)):
                if isinstance(host, np.ndarray) and host_array(value).tobytes() != host.tobytes():
                    problems.append(f"{words}: argument {at} was changed")
    return Verification(title, checks, list(dict.fromkeys(problems)))


def host_array(value: Any) -> Any:
    """An array of the host with the same contents; numbers stay what they are."""
    import numpy as np

    if isinstance(value, (int, float, bool, str)) or value is None:
        return value
    if isinstance(value, np.ndarray):
        return value
    if hasattr(value, "detach"):
        value = value.detach().cpu()
        return value.float().numpy() if str(value.dtype) == "torch.bfloat16" else value.numpy()
    if hasattr(value, "get") and hasattr(value, "__cuda_array_interface__"):
        return value.get()
    if hasattr(value, "__dlpack__") or hasattr(value, "__array__"):
        return np.asarray(value) if hasattr(value, "__array__") else np.from_dlpack(value)
    raise TypeError(f"an argument is of type {type(value).__name__}; arrays and numbers can be verified")


def _fresh(value: Any, words: str, random: Any) -> Any:
    """Other contents of the same shape and type; whole numbers are shuffled, because they may be indices."""
    import numpy as np

    if not isinstance(value, np.ndarray) or words == "as given":
        return value
    if value.dtype.kind == "f":
        drawn = random.standard_normal(value.shape) if words == "normal" else random.random(value.shape)
        return drawn.astype(value.dtype)
    return random.permutation(value.reshape(-1)).reshape(value.shape)


def _like(host: Any, value: Any) -> Any:
    """A copy of `host` as the kind of array that `value` is, where `value` lies."""
    import sys

    import numpy as np

    if not isinstance(host, np.ndarray):
        return host
    torch, cupy = sys.modules.get("torch"), sys.modules.get("cupy")
    if torch is not None and isinstance(value, torch.Tensor):
        return torch.from_numpy(host.copy()).to(device=value.device, dtype=value.dtype)
    if cupy is not None and isinstance(value, cupy.ndarray):
        return cupy.asarray(host)
    return host.copy()


def _outputs(result: Any) -> list[Any]:
    results = list(result) if isinstance(result, (tuple, list)) else [result]
    if not results or any(one is None for one in results):
        raise ValueError("a callable returned nothing; return the results")
    import numpy as np

    return [np.asarray(host_array(one)) for one in results]


def _compared(name: str, actual: Any, truth: Truth, tolerance: tuple[float, float] | None) -> dict[str, Any]:
    import numpy as np

    scalar = SCALARS.get(truth.plain.dtype.name)
    if scalar is None:
        raise TypeError(f"the reference returns {truth.plain.dtype}, numbers expected")
    if actual.shape != truth.plain.shape:
        raise ValueError(f"{name} has the shape {actual.shape}, the reference's {truth.plain.shape}")

    def wide(array: Any) -> bytes:
        return np.ascontiguousarray(array, np.float64).tobytes()

    with np.errstate(all="ignore"):
        own = np.ascontiguousarray(actual.astype(truth.plain.dtype))
    is_float = truth.plain.dtype.kind == "f"
    compared: dict[str, Any] = json.loads(
        _native.compare_output(
            name,
            scalar,
            list(own.shape),
            own.tobytes(),
            wide(truth.values),
            wide(truth.plain) if is_float else None,
            wide(truth.spread) if truth.spread is not None else None,
            truth.fan_in,
            truth.wide,
            tolerance,
        )
    )
    return compared


def _words(output: dict[str, Any]) -> str:
    first = output.get("first") or {}
    pattern = f"; pattern: {output['pattern']}" if output.get("pattern") else ""
    return (
        f"{output['wrong']} of {output['compared']} elements of {output['name']} are wrong, first at "
        f"{first.get('index')}: {first.get('actual')}, expected {first.get('expected')}{pattern}"
    )


__all__: Sequence[str] = ("Verification", "verify")
