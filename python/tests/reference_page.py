"""The Python reference as a page, from the signatures and documentation of the installed package.

    python python/tests/reference_page.py docs/reference/python.md
"""

import dataclasses
import importlib
import inspect
import os
import sys
import tempfile

import warpsmith

MODULES = (
    "voice",
    "voice.feature",
    "voice.effects",
    "voice.onset",
    "voice.stream",
    "voice.filters",
    "voice.util",
    "voice.decompose",
    "voice.torchaudio",
    "voice.torchaudio.functional",
    "voice.torchaudio.transforms",
    "voice.torchaudio.compliance.kaldi",
    "synth",
    "corpus",
)
NOTE = "<!-- Written by `cargo xtask docs` from the package itself; changes here are lost. -->\n"


def signature(name, value):
    try:
        return f"{name}{inspect.signature(value)}"
    except (TypeError, ValueError):
        return name


def entry(name, value, depth):
    """A heading, the signature, and the documentation with its examples."""
    is_exception = inspect.isclass(value) and issubclass(value, BaseException)
    shown = name if is_exception else signature(name, value)
    text = [f"{'#' * depth} {name}\n", f"```text\n{shown}\n```\n", documentation(value)]
    if inspect.isclass(value):
        for member, attribute in vars(value).items():
            if member.startswith("_"):
                continue
            if isinstance(attribute, property):
                line = inspect.getdoc(attribute) or ""
                text.append(f"- `{member}`: {line.splitlines()[0] if line else 'a value'}\n")
            elif inspect.isfunction(attribute):
                text.append(entry(f"{name}.{member}", attribute, depth + 1))
    return "\n".join(text)


def documentation(value):
    words = inspect.getdoc(value) or ""
    if dataclasses.is_dataclass(value):
        names = [field.name for field in dataclasses.fields(value) if field.name[0] != "_"]
        words += f"\n\nFields: {', '.join(f'`{name}`' for name in names)}."
    lines, example = [], False
    for line in words.splitlines():
        begins = line.lstrip().startswith(">>>")
        if begins and not example:
            lines.append("```pycon")
            example = True
        elif example and not line.strip():
            lines.append("```")
            example = False
        lines.append(line)
    if example:
        lines.append("```")
    return "\n".join(lines) + "\n"


def page():
    """The whole page."""
    parts = [NOTE, "# Python\n", f"{inspect.getdoc(warpsmith).splitlines()[0]}\n"]
    for name in sorted(warpsmith.__all__, key=str.lower):
        if name not in MODULES and name != "__version__":
            parts.append(entry(f"warpsmith.{name}", getattr(warpsmith, name), 2))
    for module_name in MODULES:
        module = importlib.import_module(f"warpsmith.{module_name}")
        parts.append(f"## warpsmith.{module_name}\n\n{inspect.getdoc(module)}\n")
        for name, value in vars(module).items():
            own = getattr(value, "__module__", None) == module.__name__
            public = name in getattr(module, "__all__", [name] if own else [])
            shown = inspect.isfunction(value) or inspect.isclass(value)
            if public and shown and not name.startswith("_"):
                parts.append(entry(f"warpsmith.{module_name}.{name}", value, 3))
    return "\n".join(parts)


def main():
    path = sys.argv[1]
    handle, part = tempfile.mkstemp(dir=os.path.dirname(path) or ".")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(page())
    os.chmod(part, 0o644)
    os.replace(part, path)


if __name__ == "__main__":
    main()
