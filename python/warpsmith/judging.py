"""Candidates that somebody else wrote, judged by the program in processes of their own."""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable, Iterable, Iterator, Mapping

from .benchmarking import html_escape, replace_file
from .checking import SCALARS, host_array


@dataclass(frozen=True)
class Judgement:
    """The verdict on one candidate."""

    id: str
    #: "correct", "wrong", "cheating", "compile_failure", "crashed", "timed_out", "out_of_memory" or "not_run".
    verdict: str
    #: How far, where, which kind: in words.
    detail: str
    #: Time of the reference over time of the candidate with its 95 % interval, where both were timed.
    speedup: tuple[float, float, float] | None
    #: What a cheating candidate does.
    kind: str | None
    evidence: list[str] = field(repr=False)
    #: The line of the program's result.
    line: dict[str, Any] = field(repr=False)

    @classmethod
    def of(cls, line: dict[str, Any]) -> Judgement:
        speed = line.get("speed")
        return cls(
            line["id"],
            line["verdict"],
            line.get("detail", ""),
            (speed["speedup"], speed["low"], speed["high"]) if speed else None,
            line.get("kind"),
            line.get("evidence", []),
            line,
        )


@dataclass(frozen=True)
class Judgements:
    """Verdicts in the order of the candidates."""

    results: list[Judgement]

    def __getitem__(self, id: str) -> Judgement:
        for result in self.results:
            if result.id == id:
                return result
        raise KeyError(id)

    def __iter__(self) -> Iterator[Judgement]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)

    def summary(self) -> str:
        """A line for each candidate."""
        lines = []
        for one in self.results:
            speed = f"×{one.speedup[0]:.2f} ({one.speedup[1]:.2f} to {one.speedup[2]:.2f})" if one.speedup else ""
            lines.append(f"{one.id}: {one.verdict} {one.kind or ''} {speed or one.detail}".replace("  ", " ").strip())
        return "\n".join(lines)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the verdicts as lines of JSON, as the program does."""
        text = "".join(json.dumps(one.line) + "\n" for one in self.results)
        replace_file(path, text)

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{html_escape(one.id)}</td><td>{one.verdict}</td><td>{html_escape(one.detail)}</td></tr>"
            for one in self.results
        )
        return f"<table><tr><th>candidate</th><th>verdict</th><th></th></tr>{rows}</table>"


def judge(
    candidates: Mapping[str, str | os.PathLike[str] | Callable[..., Any]] | Iterable[Mapping[str, Any]],
    case: str | os.PathLike[str] | None = None,
    *,
    reference: Callable[..., Any] | None = None,
    arrays: Mapping[str, Any] | None = None,
    forbid: Iterable[str] = (),
    device: str = "auto",
    seconds: float = 10.0,
    memory_mib: int = 4096,
    jobs: int | None = None,
    seed: int | None = None,
    share: tuple[int, int] = (0, 1),
) -> Judgements:
    """Judge candidates: right, wrong, cheating, and how fast relative to the reference.

    `candidates` maps ids to source text, to files (`Path`), or to functions, whose whole file is the source;
    or it is the program's own lines as dictionaries. `case` is a case or a KernelBench problem. Without one,
    `reference` is a function of named arrays and `arrays` shows the shapes and types of its arguments.
    Every candidate runs in a confined process of its own; this process runs none of their lines.

    >>> import numpy as np, warpsmith
    >>> def double(x):
    ...     import numpy as np
    ...     return np.float32(2) * x
    >>> text = "import numpy as np\\ndef double(x):\\n    return x + x\\n"
    >>> zeros = "import numpy as np\\ndef double(x):\\n    return np.zeros_like(x)\\n"
    >>> x = np.ones((64, 64), np.float32)
    >>> found = warpsmith.judge({"a": text, "b": zeros}, reference=double, arrays={"x": x})  # doctest: +SKIP
    >>> [one.verdict for one in found]  # doctest: +SKIP
    ['correct', 'cheating']
    """
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        if case is None:
            if reference is None or arrays is None:
                raise ValueError("either a case, or a reference with arrays is needed")
            case = _case_of(place, reference, arrays)
        lines = _lines(candidates, getattr(reference, "__name__", None))
        ids = [line["id"] for line in lines]
        (place / "candidates.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
        verdicts = place / "verdicts.jsonl"
        command = [sys.executable, "-m", "warpsmith", "judge", str(place / "candidates.jsonl"), "--quiet"]
        command += ["--case", str(case), "--output", str(verdicts), "--device", device]
        command += ["--limit", f"{seconds}s", "--memory", str(memory_mib), "--shards", f"{share[0]}/{share[1]}"]
        for name in forbid:
            command += ["--forbid", name]
        if jobs is not None:
            command += ["--jobs", str(jobs)]
        if seed is not None:
            command += ["--seed", str(seed)]
        # Candidates run on this Python, with what is installed here.
        environment = {"WARPSMITH_PYTHON": sys.executable, **os.environ}
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment)
        if done.returncode not in (0, 1, 3):
            raise RuntimeError(done.stderr.strip() or f"exit code {done.returncode}")
        found = [Judgement.of(json.loads(line)) for line in verdicts.read_text("utf-8").splitlines()]
    return Judgements(sorted(found, key=lambda one: ids.index(one.id)))


def _lines(candidates: Any, entry: str | None) -> list[dict[str, Any]]:
    if not isinstance(candidates, Mapping):
        return [dict(line) for line in candidates]
    lines = []
    for id, candidate in candidates.items():
        line: dict[str, Any] = {"id": id}
        if isinstance(candidate, str):
            line["source"] = candidate
        elif isinstance(candidate, os.PathLike):
            line["file"] = os.path.abspath(candidate)
        elif callable(candidate):
            file = inspect.getsourcefile(candidate)
            if file is None:
                raise ValueError(f"candidate {id!r} has no source file; give its text")
            line.update(source=Path(file).read_text("utf-8"), entry=candidate.__name__)
        else:
            raise TypeError(f"candidate {id!r} is a {type(candidate).__name__}; text, a path or a function expected")
        if entry is not None:
            line.setdefault("entry", entry)
        lines.append(line)
    return lines


def _case_of(folder: Path, reference: Callable[..., Any], arrays: Mapping[str, Any]) -> Path:
    """A case from a function and examples of its arguments; its output is found by one call."""
    import textwrap

    import numpy as np

    hosts = {name: host_array(value) for name, value in arrays.items()}
    result = reference(**arrays)
    results = {"out": result}
    if isinstance(result, (tuple, list)):
        results = {f"out{at}": one for at, one in enumerate(result)}
    outputs = {name: np.asarray(host_array(one)) for name, one in results.items()}
    file = inspect.getsourcefile(reference)
    text = textwrap.dedent(inspect.getsource(reference))
    try:
        whole = Path(file).read_text("utf-8") if file else text
        compile(whole, "reference.py", "exec")
    except (OSError, SyntaxError):
        whole = text
    (folder / "reference.py").write_text(whole, "utf-8")
    sizes: dict[int, str] = {}
    for array in [*hosts.values(), *outputs.values()]:
        for extent in getattr(array, "shape", ()):
            sizes.setdefault(extent, f"n{extent}")
    lines = [f'source = "reference.py:{reference.__name__}"', f'reference = "reference.py:{reference.__name__}"']
    lines += ["tails = false", "[sizes]", *[f"{name} = [{extent}]" for extent, name in sizes.items()]]
    for direction, named in (("in", hosts), ("out", outputs)):
        for name, array in named.items():
            lines += ["[[arguments]]", f'name = "{name}"']
            if not isinstance(array, np.ndarray):
                kind = "i64" if isinstance(array, int) else "f32"
                lines += [f'type = "{kind}"', f"value = {array!r}"]
                continue
            if array.dtype.name not in SCALARS:
                raise TypeError(f"`{name}` is of type {array.dtype}, numbers expected")
            shape = ", ".join(f'"{sizes[extent]}"' for extent in array.shape) or "1"
            lines += [f'direction = "{direction}"', f'type = "{SCALARS[array.dtype.name]}"', f"shape = [{shape}]"]
    path = folder / "case.toml"
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path
