"""The reference of the Python package, from the docstrings in its sources.

The page lists the names in `__all__` of each public module, in order. A class of another public module is described there. The sources
are parsed and not imported, so that the site is built without the package.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "crates" / "python" / "python" / "typeloom"

HEAD = """# Reference

Generated from the docstrings, whose examples run as tests.
"""

Definition = ast.ClassDef | ast.FunctionDef


def path_of(module: str) -> Path:
    """The file of a module."""
    path = PACKAGE.joinpath(*module.split(".")[1:])
    files = [path / "__init__.py", path.with_suffix(".py"), path.with_suffix(".pyi")]
    return next(file for file in files if file.exists())


@cache
def source(module: str) -> ast.Module:
    return ast.parse(path_of(module).read_text(encoding="utf-8"))


def modules() -> list[str]:
    """The public modules."""
    found = []
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        parts = parts[:-1] if parts[-1] == "__init__" else parts
        if not any(part.startswith("_") for part in parts):
            found.append(".".join(["typeloom", *parts]))
    return sorted(found)


def exported(module: str) -> list[str]:
    """The names in `__all__`."""
    for statement in source(module).body:
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "__all__":
            return list(ast.literal_eval(statement.value))
    return []


def top_level(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a module, with those in conditions."""
    for statement in body:
        yield statement
        if isinstance(statement, ast.If):
            yield from top_level(statement.body + statement.orelse)


def find(module: str, name: str) -> tuple[str, Definition] | None:
    """The module that defines a class or function, and its definition; `None` for other names."""
    for statement in top_level(source(module).body):
        if isinstance(statement, Definition) and statement.name == name and not has(statement, "overload"):
            return module, statement
        if isinstance(statement, ast.ImportFrom) and statement.module and statement.module.startswith("typeloom"):
            for alias in statement.names:
                if (alias.asname or alias.name) == name and statement.module != module:
                    return find(statement.module, alias.name)
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Name) and ast.unparse(statement.targets[0]) == name:
            found = find(module, statement.value.id)
            if found is not None:
                return found
    return None


def has(item: Definition, decorator: str) -> bool:
    return any(ast.unparse(used).split("(")[0].split(".")[-1] == decorator for used in item.decorator_list)


def without_annotations(arguments: ast.arguments, *, bound: bool) -> str:
    """The parameters of a function, without `self` or `cls` for a bound one."""
    for argument in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]:
        if argument is not None:
            argument.annotation = None
    shown = ast.unparse(arguments)
    return shown.partition(",")[2].strip() if bound else shown


def signature(module: str, item: Definition, *, is_method: bool = False) -> str:
    """The parameters of a function or class, without the annotations, which the text explains."""
    if isinstance(item, ast.FunctionDef):
        if has(item, "property") or has(item, "cached_property"):
            return ""
        return f"({without_annotations(item.args, bound=is_method and not has(item, 'staticmethod'))})"
    for member in item.body:
        if isinstance(member, ast.FunctionDef) and member.name in ("__init__", "__new__"):
            return signature(module, member, is_method=True)
    if has(item, "dataclass"):
        return f"({', '.join(fields(module, item))})"
    return next((signature(*base) for base in bases(module, item)), "")


def bases(module: str, item: ast.ClassDef) -> Iterator[tuple[str, ast.ClassDef]]:
    """The base classes in the package, with their modules."""
    for base in item.bases:
        found = find(module, ast.unparse(base).split("[")[0])
        if found is not None and isinstance(found[1], ast.ClassDef):
            yield found[0], found[1]


def fields(module: str, item: ast.ClassDef) -> Iterator[str]:
    """The fields of a dataclass with their defaults, those of its bases first."""
    for base in bases(module, item):
        yield from fields(*base)
    for field in item.body:
        if isinstance(field, ast.AnnAssign) and "ClassVar" not in ast.unparse(field.annotation):
            default = f"={ast.unparse(field.value)}" if field.value is not None else ""
            yield ast.unparse(field.target) + default


def block(title: str, item: Definition, level: int) -> list[str]:
    """The section of one name."""
    text = ast.get_docstring(item)
    return [f"{'#' * level} `{title}`", "", "```text", inspect.cleandoc(text), "```", ""] if text else []


def alias(module: str, name: str) -> list[str]:
    """The section of a type alias: its definition, and the text below it; empty for other names."""
    body = source(module).body
    for statement, text in zip(body, body[1:], strict=False):
        if isinstance(statement, ast.AnnAssign) and ast.unparse(statement.target) == name and isinstance(text, ast.Expr):
            definition = textwrap.fill(f"{name} = {ast.unparse(statement.value)}", 120, subsequent_indent="    ")
            return [f"### `{name}`", "", "```text", f"{ast.literal_eval(text.value)}\n\n{definition}", "```", ""]
    return []


def page() -> str:
    """The whole page."""
    lines = [HEAD]
    public = modules()
    for module in public:
        lines += [f"## `{module}`", "", (ast.get_docstring(source(module)) or "").split("\n\n")[0], ""]
        for name in exported(module):
            found = find(module, name)
            if found is None:
                lines += alias(module, name)
                continue
            home, item = found
            if home != module and home in public:
                lines += [f"### `{name}`", "", f"See `{home}`.", ""]
                continue
            lines += block(name + signature(home, item), item, 3)
            if isinstance(item, ast.ClassDef):
                for member in item.body:
                    if isinstance(member, ast.FunctionDef) and not member.name.startswith("_"):
                        lines += block(f"{name}.{member.name}{signature(home, member, is_method=True)}", member, 4)
    return "\n".join(lines).rstrip() + "\n"
