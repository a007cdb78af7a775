"""The source of a kernel that is a live function, with everything that it uses: text on its own.

Names are looked up where Python would: in the closure, then in the module. A function brings along the
functions that it calls, a struct its fields, a constant its value; `wp.static` is evaluated. Functions,
structs and types are recognised by what they carry, so that Warp's own objects and those of
`warpsmith.warp` are read alike.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import numbers
import textwrap
import types as python_types
from typing import Any, Callable, NamedTuple

#: Modules whose names the compiler knows itself.
_WARP = ("warp", "warpsmith.warp")
_KNOWN_MODULES = {"math": "math", "numpy": "np"}
_SUFFIXES = {"float16": "h", "float32": "f", "float64": "d"}
_MISSING = object()
_HEADER = "import math\nimport numpy as np\nimport warp as wp\nfrom typing import Any, Callable, Tuple\n\n"


class Place(NamedTuple):
    """Where a line of the text comes from: a file, its line, and how far that is indented more."""

    file: str
    line: int
    indent: int


def source_of(kernel: Any) -> tuple[str, str, str, list[Place | None]]:
    """Source that stands on its own, the file that it comes from, the kernel's name, and where its lines come from."""
    function = _function(kernel)
    source = SourceText()
    text, name = source.kernel(function)
    return text, inspect.getsourcefile(function) or "kernels.py", name, source.places()


def _function(value: Any) -> Callable[..., Any]:
    # The decorators keep the function in `func`.
    function: Callable[..., Any] = inspect.unwrap(getattr(value, "func", value))
    return function


def _is_warp(value: Any) -> bool:
    return inspect.ismodule(value) and value.__name__ in _WARP


def type_text(value: Any) -> str | None:
    """A type as source text; None where it is not one that kernels know by itself."""
    if value in (int, float, bool):
        return str(value.__name__)
    if value is Any:
        return "Any"
    if not isinstance(value, type):
        return None
    scalar = getattr(value, "_wp_scalar_type_", None)
    if scalar is None:
        return f"wp.{value.__name__}" if value.__module__.partition(".")[0] in ("warp", "warpsmith") else None
    shape = tuple(getattr(value, "_shape_", ()))
    for kind, size in (("quat", 4), ("transform", 7)):
        if shape == (size,) and any(base.__name__.startswith(kind) for base in value.__mro__):
            return f"wp.{kind}{_SUFFIXES[scalar.__name__]}"
    if len(shape) == 1:
        return f"wp.types.vector(length={shape[0]}, dtype=wp.{scalar.__name__})"
    return f"wp.types.matrix(shape={shape}, dtype=wp.{scalar.__name__})"


class SourceText:
    """Definitions in the order in which they are needed, each once and under a name of its own."""

    def __init__(self, custom_gradients: bool = True):
        self.custom_gradients = custom_gradients
        #: Whether a function with a gradient of its own was met.
        self.has_custom_gradients = False
        self._parts: list[str] = []
        #: By the position of a part, where its lines come from.
        self._places: dict[int, list[Place | None]] = {}
        self._names: dict[int, str] = {}
        self._constants: dict[tuple[str, str], str] = {}
        self._taken: set[str] = {"wp", "math", "np", "Any"}
        # What an id stands for must live as long as the id is used.
        self._kept: list[Any] = []

    def kernel(self, function: Callable[..., Any], overload: list[str] | None = None) -> tuple[str, str]:
        """The text with the kernel last, and its name in it; `overload` are types for a generic one."""
        name = self._name(function, function.__name__)
        self._define(function, name, "@wp.kernel")
        if overload is not None:
            self._parts.append(f"wp.overload({name}, [{', '.join(overload)}])")
        return self.text(), name

    def add(self, part: str) -> None:
        """A definition that stands on its own, behind the others."""
        self._parts.append(part)

    def text(self) -> str:
        """Everything so far."""
        return _HEADER + "\n\n".join(self._parts) + "\n"

    def places(self) -> list[Place | None]:
        """Where each line of the text comes from; None for those that are made here."""
        found: list[Place | None] = [None] * _HEADER.count("\n")
        for at, part in enumerate(self._parts):
            found += self._places.get(at) or [None] * (part.count("\n") + 1)
            found.append(None)
        return found

    def type(self, value: Any, otherwise: str) -> str:
        """A type as text, with the struct that it names; `otherwise` where it is none."""
        if isinstance(value, python_types.GenericAlias) or (not isinstance(value, type) and hasattr(value, "dtype")):
            dtype, ndim = getattr(value, "dtype", None), getattr(value, "ndim", None)
            if dtype is None or type(value).__name__ not in ("ArrayType", "array", "_ArrayAnnotation"):
                return otherwise
            return f"wp.array(dtype={self.type(dtype, 'Any')}, ndim={ndim})"
        if self._is_struct(value):
            return self._struct(value)
        try:
            return type_text(value) or otherwise
        except TypeError:
            return otherwise

    def _name(self, value: Any, wanted: str) -> str:
        name, count = wanted, 1
        while name in self._taken:
            count += 1
            name = f"{wanted}_{count}"
        self._taken.add(name)
        self._names[id(value)] = name
        self._kept.append(value)
        return name

    @staticmethod
    def _is_struct(value: Any) -> bool:
        return not isinstance(value, type) and isinstance(getattr(value, "cls", None), type) and hasattr(value, "vars")

    def _struct(self, value: Any) -> str:
        if id(value) in self._names:
            return self._names[id(value)]
        fields = []
        for field, described in value.vars.items():
            dtype = getattr(described, "type", described)
            fields.append(f"    {field}: {self.type(dtype, str(dtype))}")
        name = self._name(value, value.cls.__name__)
        self._parts.append("\n".join([f"@wp.struct\nclass {name}:", *fields]))
        return name

    def function(self, value: Any) -> str:
        """The name of a function that kernels call, which is defined first where it was not yet."""
        function = _function(value)
        if id(function) in self._names:
            return self._names[id(function)]
        name = self._name(function, function.__name__)
        if getattr(value, "native_snippet", None) is not None:
            self._define(function, name, self._native(value))
            return name
        overloads = getattr(value, "definitions", None) or [function]
        for one in overloads:
            self._names[id(one)] = name
        for one in overloads:
            self._define(one, name, "@wp.func")
        for kind in ("grad", "replay"):
            own = getattr(value, f"custom_{kind}", None)
            if own is not None:
                self.has_custom_gradients = True
                if self.custom_gradients:
                    own_name = self._name(own, own.__name__)
                    self._define(own, own_name, f"@wp.func_{kind}({name})")
        return name

    def plain_function(self, function: Callable[..., Any], kinds: list[str]) -> str:
        """The name of a Python function or lambda that is called with arguments of these types."""
        wanted = function.__name__ if function.__name__.isidentifier() else "mapped"
        name = self._name(function, wanted)
        self._define(function, name, "@wp.func", kinds)
        return name

    @staticmethod
    def _native(value: Any) -> str:
        snippets = {"": value.native_snippet}
        for kind in ("adj", "replay"):
            own = getattr(value, f"{kind}_snippet", None)
            if own is not None:
                snippets[f"{kind}_snippet="] = own
        return f"@wp.func_native({', '.join(name + repr(text) for name, text in snippets.items())})"

    def _define(
        self, function: Callable[..., Any], name: str, decorator: str, kinds: list[str] | None = None
    ) -> None:
        tree = definition_of(function)
        if kinds is not None:
            tree.returns = None
            for argument, kind in zip(tree.args.args, kinds):
                argument.annotation = ast.parse(kind, mode="eval").body
        tree.decorator_list = []
        tree.name = name
        Resolver(self, function).resolve(tree, kinds is None)
        text = ast.unparse(tree)
        places: list[Place | None] = [None] * (decorator.count("\n") + 1)
        self._places[len(self._parts)] = places + _places_of(function, tree, text)
        self._parts.append(f"{decorator}\n{text}")

    def value(self, value: Any, wanted: str) -> str | None:
        """What a name's value is in the text; None where the compiler must see the name itself."""
        if _is_warp(value):
            return "wp"
        if inspect.ismodule(value):
            return _KNOWN_MODULES.get(value.__name__)
        if isinstance(value, bool) or (isinstance(value, numbers.Number) and not isinstance(value, complex)):
            return self._constant(value.item() if hasattr(value, "item") else value, wanted)
        if self._is_struct(value):
            return self._struct(value)
        if isinstance(value, type):
            return self._constructor(value)
        scalar = getattr(type(value), "_wp_scalar_type_", None)
        if scalar is not None:
            parts = ", ".join(repr(part) for part in _components(value))
            return f"{self._constructor(type(value))}({parts})"
        if hasattr(value, "value") and type(value).__module__.partition(".")[0] in ("warp", "warpsmith"):
            return f"wp.{type(value).__name__}({value.value!r})"
        function = getattr(value, "func", value)
        if inspect.isfunction(function) and function.__module__.partition(".")[0] != "warp":
            return self.function(value)
        return None

    def _constructor(self, value: Any) -> str | None:
        """The name of a type that is called: a name of its own where the type is an expression."""
        text = type_text(value)
        if text is None or "(" not in text:
            return text
        return self._defined(value.__name__, text)

    def _constant(self, value: Any, wanted: str) -> str:
        text = repr(value)
        if text in ("inf", "-inf", "nan"):
            return f'float("{text}")'
        return self._defined(wanted, f"wp.constant({text})")

    def _defined(self, wanted: str, text: str) -> str:
        known = self._constants.get((wanted, text))
        if known is None:
            known = self._constants[(wanted, text)] = self._name(object(), wanted)
            self._parts.append(f"{known} = {text}")
        return known


def _places_of(function: Callable[..., Any], tree: ast.FunctionDef, text: str) -> list[Place | None]:
    """Where the lines of a definition's text come from: each belongs to the statement that begins last before it."""
    file = inspect.getsourcefile(function)
    lines: list[Place | None] = [None] * (text.count("\n") + 1)
    if file is None:
        return lines
    source, first = inspect.getsourcelines(function)
    indent = len(source[0]) - len(source[0].lstrip())
    statements = [node for node in ast.walk(tree) if isinstance(node, ast.stmt)]
    written = [node for node in ast.walk(ast.parse(text).body[0]) if isinstance(node, ast.stmt)]
    for statement, there in zip(statements, written):
        lines[there.lineno - 1] = Place(file, max(first, 1) + statement.lineno - 1, indent)
    for at in range(1, len(lines)):
        lines[at] = lines[at] or lines[at - 1]
    return lines


def definition_of(function: Callable[..., Any]) -> ast.FunctionDef:
    """The definition of a function; that of a lambda as if it had a name."""
    try:
        text = textwrap.dedent(inspect.getsource(function))
    except OSError as error:
        raise OSError(f"the source of {function.__name__} is not available: define it in a file") from error
    if function.__name__ == "<lambda>":
        found = _lambda_of(function, text)
        made = ast.parse("def mapped(): pass").body[0]
        assert isinstance(made, ast.FunctionDef)
        made.args, made.body = found.args, [ast.Return(found.body)]
        return ast.fix_missing_locations(made)
    tree = ast.parse(text).body[0]
    if not isinstance(tree, ast.FunctionDef):
        raise TypeError(f"{function.__name__} is not a function defined by `def`")
    return tree


def _lambda_of(function: Callable[..., Any], text: str) -> ast.Lambda:
    """The lambda of a piece of source, which may begin and end in the middle of an expression."""
    code = function.__code__
    found: list[ast.Lambda] = []
    start = text.find("lambda")
    while start >= 0:
        for end in range(len(text), start, -1):
            try:
                tree = ast.parse(f"({text[start:end]})", mode="eval").body
            except SyntaxError:
                continue
            if isinstance(tree, ast.Tuple):
                tree = tree.elts[0]
            if isinstance(tree, ast.Lambda):
                found.append(tree)
                break
        start = text.find("lambda", start + 1)
    names = list(code.co_varnames[: code.co_argcount])
    fitting = [one for one in found if [argument.arg for argument in one.args.args] == names]
    used = set(code.co_names) | set(code.co_freevars)
    fitting = [one for one in fitting if _outer_names(one) == used] if len(fitting) > 1 else fitting
    if len({ast.dump(one) for one in fitting}) != 1:
        raise OSError("which lambda of the line it is cannot be told: give it a name with `def`")
    return fitting[0]


def _outer_names(tree: ast.Lambda) -> set[str]:
    """Names that a lambda takes from outside, and its attributes, as Python's code lists them."""
    own = {argument.arg for argument in tree.args.args}
    names = {node.id for node in ast.walk(tree.body) if isinstance(node, ast.Name)} - own
    return names | {node.attr for node in ast.walk(tree.body) if isinstance(node, ast.Attribute)}


def _components(value: Any) -> list[Any]:
    found: list[Any] = []
    for part in value:
        if isinstance(part, numbers.Number):
            found.append(part)
        else:
            found.extend(_components(part))
    return found


class Resolver(ast.NodeTransformer):
    """Puts values of the closure and the module in the place of their names."""

    def __init__(self, text: SourceText, function: Callable[..., Any]):
        self.text = text
        self.locals = set(function.__code__.co_varnames) | set(function.__code__.co_cellvars)
        self.scope: dict[str, Any] = dict(getattr(function, "__globals__", {}))
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
            try:
                self.scope[name] = cell.cell_contents
            except ValueError:
                # Not yet assigned, such as a function that calls itself.
                pass
        self.scope.setdefault("__builtins__", builtins)
        self.annotations = dict(getattr(function, "__annotations__", {}))

    def resolve(self, tree: ast.FunctionDef, annotated: bool = True) -> None:
        """Resolves a definition; without `annotated` its annotations are text of ours already."""
        arguments = tree.args
        for argument in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]:
            if argument.annotation is not None and annotated:
                argument.annotation = self._annotation(argument.annotation, self.annotations.get(argument.arg))
        arguments.defaults = [self.visit(default) for default in arguments.defaults]
        if tree.returns is not None:
            tree.returns = self._annotation(tree.returns, self.annotations.get("return"))
        tree.body = [self.visit(statement) for statement in tree.body]

    def _annotation(self, node: ast.expr, value: Any) -> ast.expr:
        if isinstance(value, str):
            try:
                value = eval(value, self.scope)  # noqa: S307 - the program's own annotation
            except Exception:
                return node
        text = self.text.type(value, "")
        if text:
            return ast.parse(text, mode="eval").body
        visited: ast.expr = self.visit(node)
        return visited

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if not isinstance(node.ctx, ast.Load) or node.id in self.locals:
            return node
        value = self.scope.get(node.id, _MISSING)
        if value is _MISSING:
            return node
        return self._placed(value, node.id, node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        path: list[str] = []
        root: ast.expr = node
        while isinstance(root, ast.Attribute):
            path.insert(0, root.attr)
            root = root.value
        if not isinstance(root, ast.Name) or root.id in self.locals or root.id not in self.scope:
            self.generic_visit(node)
            return node
        value = self.scope[root.id]
        if _is_warp(value) or value is getattr(builtins, root.id, None):
            self.generic_visit(node)
            return node
        for attribute in path:
            value = getattr(value, attribute, _MISSING)
        if value is _MISSING:
            self.generic_visit(node)
            return node
        return self._placed(value, path[-1], node)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        called = node.func
        if isinstance(called, ast.Attribute) and called.attr == "static" and isinstance(called.value, ast.Name):
            if _is_warp(self.scope.get(called.value.id)) and len(node.args) == 1:
                code = compile(ast.fix_missing_locations(ast.Expression(node.args[0])), "<static>", "eval")
                try:
                    value = eval(code, self.scope)  # noqa: S307 - the program's own expression
                except NameError:
                    # It depends on a variable of a loop that is unrolled: the compiler evaluates it.
                    self.generic_visit(node)
                    return node
                if isinstance(value, str):
                    return ast.Constant(value)
                return self._placed(value, "static", node)
        self.generic_visit(node)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        return node

    def _placed(self, value: Any, wanted: str, node: ast.expr) -> ast.expr:
        text = self.text.value(value, wanted)
        return node if text is None else ast.parse(text, mode="eval").body
