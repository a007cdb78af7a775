"""Writes a live Warp kernel as one self-contained source text.

The text has the kernel and what it reaches: functions with their overloads, structs, constants, type
aliases and the line that instantiates a generic kernel. `Unsliceable` says why a kernel has no such text.
"""
import ast
import builtins
import enum
import inspect
import textwrap
import types
import typing

import numpy as np
import warp as wp
import warp._src.codegen as codegen
import warp._src.context as context
import warp._src.types as warp_types

MODULES = {"warp": "warp", "numpy": "numpy", "math": "math"}
MODULE_DEFAULTS = context.Module("defaults", None).options
TYPES = (int, float, bool, str, type(None))


class Unsliceable(Exception):
    """The kernel reaches something that has no short text."""


def _public_names():
    names = {}
    for name in sorted(vars(wp), key=lambda name: (len(name), name)):
        value = getattr(wp, name)
        if not name.startswith("_") and isinstance(value, (type, context.Function)):
            names.setdefault(id(value), f"wp.{name}")
    return names


PUBLIC = _public_names()


def slice_kernel(kernel):
    """The text of a kernel, or of one overload of a generic kernel."""
    writer = _Writer()
    base = kernel.generic_parent or kernel
    writer.module_options(base)
    writer.function(base.func, base.adj.source, writer.kernel_decorator(base))
    if kernel.generic_parent is not None:
        bound = ", ".join(writer.type(t) for t in kernel.adj.arg_types.values())
        writer.definitions.append(f"wp.overload({base.func.__name__}, [{bound}])\n")
    return writer.text()


def _without_decorators(source):
    source = textwrap.dedent(source)
    node = ast.parse(source).body[0]
    if not isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        raise Unsliceable("not written as a definition")
    lines = source.splitlines()
    # `ast` counts the definition's own line, behind its decorators.
    return "\n".join(lines[node.lineno - 1 :]).rstrip() + "\n"


class _Writer:
    def __init__(self):
        self.imports = {"import warp as wp"}
        self.constants = []
        self.definitions = []
        self.names = {}

    def text(self):
        head = "\n".join(sorted(self.imports)) + "\n\n" + "".join(self.constants)
        return "\n\n".join([head.rstrip("\n") + "\n", *self.definitions])

    # A name means one thing in a file.
    def claim(self, name, value):
        known = self.names.get(name)
        if known is None:
            self.names[name] = value
            return True
        if known is not value:
            raise Unsliceable(f"two things are called `{name}`")
        return False

    def module_options(self, kernel):
        options = kernel.module.options
        own = {k: v for k, v in options.items() if k in MODULE_DEFAULTS and v != MODULE_DEFAULTS[k]}
        if own:
            self.constants.append(f"wp.set_module_options({self.expression(own)})\n")

    def kernel_decorator(self, kernel):
        arguments = [f"{key}={self.expression(value)}" for key, value in kernel.options.items()]
        if kernel.key != codegen.make_full_qualified_name(kernel.func):
            arguments.insert(0, f"name={kernel.key!r}")
        return f"@wp.kernel({', '.join(arguments)})" if arguments else "@wp.kernel"

    def function(self, func, source, decorator):
        """Writes a decorated Python function after everything that it names."""
        body = _without_decorators(source)
        tree = ast.parse(body)
        body = self.annotations(func, body, tree.body[0])
        self.reach(func, ast.parse(body))
        self.definitions.append((f"{decorator}\n" if decorator else "") + body)

    def annotations(self, func, body, node):
        """Replaces annotations whose names are gone: those of a factory's variables."""
        arguments = node.args.posonlyargs + node.args.args + node.args.kwonlyargs
        noted = [(a.arg, a.annotation) for a in arguments] + [("return", node.returns)]
        lines = body.splitlines(keepends=True)
        for name, annotation in reversed(noted):
            if annotation is None:
                continue
            free = [n.id for n in ast.walk(annotation) if isinstance(n, ast.Name)]
            if all(self.find(func, n)[0] or hasattr(builtins, n) for n in free):
                continue
            if annotation.lineno != annotation.end_lineno:
                raise Unsliceable("an annotation over several lines")
            value = self.type(func.__annotations__[name])
            line = lines[annotation.lineno - 1].encode()
            line = line[: annotation.col_offset] + value.encode() + line[annotation.end_col_offset :]
            lines[annotation.lineno - 1] = line.decode()
        return "".join(lines)

    @staticmethod
    def find(func, name):
        code = func.__code__
        if name in code.co_freevars:
            try:
                return True, func.__closure__[code.co_freevars.index(name)].cell_contents
            except ValueError:
                return False, None
        if name in func.__globals__:
            return True, func.__globals__[name]
        return False, None

    def reach(self, func, tree):
        node = tree.body[0]
        arguments = {a.arg for a in ast.walk(node.args) if isinstance(a, ast.arg)}
        for found in ast.walk(tree):
            if isinstance(found, ast.Name) and found.id not in arguments and found.id != node.name:
                known, value = self.find(func, found.id)
                if known:
                    self.bind(found.id, value)

    def bind(self, name, value):
        """Makes `name` mean `value` in the text."""
        if isinstance(value, types.ModuleType):
            if value.__name__ not in MODULES:
                raise Unsliceable(f"the module `{value.__name__}`")
            self.imports.add(f"import {value.__name__}" + ("" if name == value.__name__ else f" as {name}"))
            return
        if getattr(builtins, name, None) is value:
            return
        if getattr(typing, name, None) is value:
            self.imports.add(f"from typing import {name}")
            return
        if getattr(value, "__name__", None) == name and self.define(value):
            return
        if self.claim(name, value):
            self.constants.append(f"{name} = {self.expression(value)}\n")

    def define(self, value):
        """Writes the definition of something that has one; says whether it has."""
        if isinstance(value, context.Function) and not value.is_builtin():
            if self.claim(value.func.__name__, value):
                self.warp_function(value)
            return True
        if isinstance(value, codegen.Struct):
            if self.claim(value.cls.__name__, value):
                self.struct(value)
            return True
        if isinstance(value, type) and issubclass(value, enum.Enum):
            if self.claim(value.__name__, value):
                self.enumeration(value)
            return True
        if isinstance(value, types.FunctionType) and value.__module__.startswith("warp."):
            if self.claim(value.__name__, value):
                self.function(value, inspect.getsource(value), "")
            return True
        return False

    def warp_function(self, function):
        if function.func.__module__.startswith("warp._src"):
            raise Unsliceable(f"`{function.key}` of Warp's library")
        overloads = {id(f): f for f in [*function.user_templates.values(), *function.user_overloads.values()]}
        own = [f for f in overloads.values() if f.generic_parent is None and not f.adj.custom_reverse_mode]
        for overload in sorted(own, key=lambda f: f.adj.fun_lineno):
            self.function(overload.func, overload.adj.source, self.function_decorator(overload))
            name = overload.func.__name__
            if overload.custom_grad_func is not None:
                grad = overload.custom_grad_func
                self.function(grad.func, grad.adj.source, f"@wp.func_grad({name})")
            if overload.custom_replay_func is not None:
                replay = overload.custom_replay_func
                self.function(replay.func, replay.adj.source, f"@wp.func_replay({name})")

    def function_decorator(self, function):
        if function.native_snippet is not None:
            snippets = [
                ("snippet", function.native_snippet),
                ("adj_snippet", function.adj_native_snippet),
                ("replay_snippet", function.replay_snippet),
            ]
            return f"@wp.func_native({', '.join(f'{k}={v!r}' for k, v in snippets if v is not None)})"
        arguments = []
        if function.key != codegen.make_full_qualified_name(function.func):
            arguments.append(f"name={function.key!r}")
        if function.inline_hint is not None:
            arguments.append(f"inline={function.inline_hint == 'forceinline'}")
        return f"@wp.func({', '.join(arguments)})" if arguments else "@wp.func"

    def struct(self, struct):
        fields = [f"    {name}: {self.type(var.type)}\n" for name, var in struct.vars.items()]
        name = struct.cls.__name__
        self.definitions.append(f"@wp.struct\nclass {name}:\n" + ("".join(fields) or "    pass\n"))

    def enumeration(self, value):
        base = next(b for b in value.__mro__[1:] if b.__module__ == "enum")
        self.imports.add(f"from enum import {base.__name__}")
        members = [f"    {m.name} = {self.expression(m.value)}\n" for m in value]
        self.definitions.append(f"class {value.__name__}({base.__name__}):\n" + "".join(members))

    def type(self, value):
        """A type as one writes it in an annotation."""
        if value in (int, float, bool):
            return value.__name__
        if value is typing.Any:
            self.imports.add("from typing import Any")
            return "Any"
        if id(value) in PUBLIC:
            return PUBLIC[id(value)]
        if isinstance(value, type) and issubclass(value, np.generic):
            self.imports.add("import numpy as np")
            return f"np.{value.__name__}"
        if isinstance(value, codegen.Struct):
            self.define(value)
            return value.cls.__name__
        for kind in ("array", "indexedarray", "fabricarray", "indexedfabricarray"):
            if warp_types.matches_array_class(value, getattr(wp, kind)):
                return f"wp.{kind}(dtype={self.type(value.dtype)}, ndim={value.ndim})"
        if isinstance(value, type) and hasattr(value, "_wp_generic_type_str_"):
            if any("_wp_generic_type_str_" in vars(base) for base in value.__mro__[1:]) and value.__module__ != "warp._src.types":
                raise Unsliceable(f"a class derived from a type of Warp, `{value.__name__}`")
            dtype = self.type(value._wp_scalar_type_)
            if warp_types.type_is_quaternion(value):
                return f"wp.types.quaternion(dtype={dtype})"
            if warp_types.type_is_transformation(value):
                return f"wp.types.transformation(dtype={dtype})"
            if warp_types.type_is_matrix(value):
                return f"wp.types.matrix(shape={value._shape_}, dtype={dtype})"
            if warp_types.type_is_vector(value):
                return f"wp.types.vector(length={value._length_}, dtype={dtype})"
        raise Unsliceable(f"a type without a text, `{value!r:.60}`")

    def expression(self, value):
        """An expression with this value."""
        if isinstance(value, enum.Enum):
            if type(value).__module__.startswith("warp."):
                public = PUBLIC.get(id(type(value)))
                if public is None and not self.define(type(value)):
                    raise Unsliceable(f"the enumeration `{type(value).__name__}`")
                return f"{public or type(value).__name__}.{value.name}"
            raise Unsliceable(f"the enumeration `{type(value).__name__}`")
        if type(value) is float and value != value or value in (float("inf"), float("-inf")):
            return f'float("{value}")'
        if type(value) in TYPES:
            return repr(value)
        if type(value) in (list, tuple):
            inside = ", ".join(self.expression(v) for v in value)
            return f"[{inside}]" if type(value) is list else f"({inside}{',' * (len(value) == 1)})"
        if type(value) is dict:
            return "{" + ", ".join(f"{self.expression(k)}: {self.expression(v)}" for k, v in value.items()) + "}"
        if self.define(value):
            return getattr(value, "__name__", None) or value.cls.__name__
        if isinstance(value, context.Function) and id(value) in PUBLIC:
            return PUBLIC[id(value)]
        if type(value) in warp_types.scalar_types:
            return f"{self.type(type(value))}({self.expression(value.value)})"
        if hasattr(type(value), "_wp_generic_type_str_"):
            parts = np.array(value).reshape(-1).tolist()
            return f"{self.type(type(value))}({', '.join(self.expression(p) for p in parts)})"
        return self.type(value)
