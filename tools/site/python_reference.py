"""The reference of the Python package, from the docstrings in its sources.

Each object has one section: its signature with types, and its docstring as Markdown. The names of `typeloom` are in the groups of
`GROUPS`, `check` first; the public modules follow, each in the order of its `__all__`. The sources are parsed and not imported, so
that the site is built without the package.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "crates" / "python" / "python" / "typeloom"

HEAD = """# Reference

```python
import typeloom as tl
```

Generated from the docstrings, whose examples run as tests.
"""

#: What users do, and the names of `typeloom` for it: the function, then the objects that it returns.
GROUPS: list[tuple[str, list[str]]] = [
    (
        "Check a model",
        ["check", "Report", "Values", "Type", "Dim", "Origin", "Diagnostic", "Label", "Location", "Coverage", "infer", "explain",
         "Explanation", "targets", "Placement", "PlacedNode"],
    ),
    ("Change a model", ["fix", "specialize", "convert", "annotate", "Rewritten", "strip", "compile", "link"]),
    ("Memory and arithmetic", ["cost", "Cost"]),
    ("Compare interfaces", ["describe", "Interface", "Parameter", "diff", "Diff", "Difference"]),
    ("Run a model", ["Session", "Port"]),
    ("View a model", ["view", "View"]),
    ("Describe operators", ["operator", "Operators", "Operator", "RuleContext", "RuleInput"]),
    ("Read and write texts", ["model_from_text", "model_to_text", "ModelLike"]),
    ("Errors", ["TypeloomError", "ModelError", "LinkError"]),
    ("Replace functions of onnx", ["patch"]),
    ("Types of other languages", ["Pool"]),
    ("Version", ["__version__"]),
]  # fmt: skip

#: The modules after `typeloom`, most used first; others follow in alphabetical order.
MODULES = ["testing", "typing", "registry", "fleet", "types", "onnx", "onnx_ir", "pool", "term"]

#: The names that precede the others of their module.
FIRST = {
    "typeloom.registry": ["Registry"],
    "typeloom.fleet": ["check", "FleetResult"],
    "typeloom.pool": ["Pool", "Bundle"],
    "typeloom.term": ["parse", "Ty"],
}

#: Constants that the stub of the extension declares, or that have no docstring.
CONSTANTS = {"__version__": ("__version__: str", "The version of the package.")}

#: Sections of docstrings, and their titles on the page.
SECTIONS = {
    "Args": "Arguments",
    "Arguments": "Arguments",
    "Attributes": "Attributes",
    "Returns": "Returns",
    "Yields": "Yields",
    "Raises": "Raises",
    "Example": "Example",
    "Examples": "Examples",
    "Note": "Note",
}
#: Sections whose entries have names.
NAMED = {"Arguments", "Attributes", "Raises"}

#: Maximum length of a signature on one line.
WIDTH = 100

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
    """The public modules, in the order of the page."""
    found = []
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        parts = parts[:-1] if parts[-1] == "__init__" else parts
        if not any(part.startswith("_") for part in parts):
            found.append(".".join(["typeloom", *parts]))

    def rank(module: str) -> tuple[int, str]:
        parts = module.split(".")[1:2]
        return (MODULES.index(parts[0]) if parts and parts[0] in MODULES else len(MODULES) if parts else -1), module

    return sorted(found, key=rank)


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
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Name) and ast.unparse(statement.targets[0]) == name:
            found = find(module, statement.value.id)
            if found is not None:
                return found
    origin = imported(module, name)
    return None if origin is None else find(*origin)


def imported(module: str, name: str) -> tuple[str, str] | None:
    """The module of the package that a name is imported from, and its name there."""
    for statement in top_level(source(module).body):
        if isinstance(statement, ast.ImportFrom) and (statement.module or "").startswith("typeloom"):
            for alias in statement.names:
                if (alias.asname or alias.name) == name and statement.module != module:
                    return str(statement.module), alias.name
    return None


def has(item: Definition, decorator: str) -> bool:
    return any(ast.unparse(used).split("(")[0].split(".")[-1] == decorator for used in item.decorator_list)


def is_property(item: Definition) -> bool:
    return has(item, "property") or has(item, "cached_property")


def plain(annotation: ast.expr | None) -> str:
    """A type, without the quotes of names that are defined later."""
    text = ast.unparse(annotation) if annotation is not None else ""
    return re.sub(r"\b_Path\b", "str | PathLike[str]", re.sub(r"'([\w.\[\], |]+)'", r"\1", text))


def parameters(arguments: ast.arguments, *, bound: bool) -> list[str]:
    """The parameters of a function with their types and defaults, without `self` or `cls` for a bound one."""

    def shown(argument: ast.arg, default: ast.expr | None) -> str:
        text = f"{argument.arg}: {plain(argument.annotation)}" if argument.annotation else argument.arg
        if default is None:
            return text
        return f"{text} = {ast.unparse(default)}" if argument.annotation else f"{text}={ast.unparse(default)}"

    positional = [*arguments.posonlyargs, *arguments.args]
    missing: list[ast.expr | None] = [None] * (len(positional) - len(arguments.defaults))
    found = [shown(*pair) for pair in zip(positional, missing + list(arguments.defaults), strict=True)]
    if arguments.posonlyargs:
        found.insert(len(arguments.posonlyargs), "/")
    if bound:
        found = found[1:] if found[1:2] != ["/"] else found[2:]
    if arguments.vararg is not None:
        found.append("*" + shown(arguments.vararg, None))
    elif arguments.kwonlyargs:
        found.append("*")
    found += [shown(*pair) for pair in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)]
    if arguments.kwarg is not None:
        found.append("**" + shown(arguments.kwarg, None))
    return found


def call(name: str, shown: list[str], result: str = "") -> str:
    """A signature: on one line if it fits, otherwise with one parameter on each line."""
    end = f" -> {result}" if result else ""
    line = f"{name}({', '.join(shown)}){end}"
    if len(line) <= WIDTH:
        return line
    return f"{name}(\n" + "".join(f"    {parameter},\n" for parameter in shown) + f"){end}"


def signature(module: str, name: str, item: Definition, *, is_method: bool = False) -> str:
    """The signature of a function, class or property, with types."""
    if isinstance(item, ast.FunctionDef):
        if is_property(item):
            return f"{name}: {plain(item.returns)}" if item.returns else name
        bound = is_method and not has(item, "staticmethod")
        return call(name, parameters(item.args, bound=bound), plain(item.returns))
    shown = creation(module, item)
    # A class with internal parameters is created by the package only.
    is_internal = shown is None or any(re.search(r"\b_\w|^raw\b|^counts\b", parameter) for parameter in shown)
    return f"class {name}" if is_internal else call(f"class {name}", shown or [])


def creation(module: str, item: ast.ClassDef) -> list[str] | None:
    """The parameters with which a class is called, if they are known."""
    for member in item.body:
        if isinstance(member, ast.FunctionDef) and member.name in ("__init__", "__new__"):
            return parameters(member.args, bound=True)
    if has(item, "dataclass"):
        return list(fields(module, item))
    return next((creation(*base) for base in bases(module, item)), None)


def bases(module: str, item: ast.ClassDef) -> Iterator[tuple[str, ast.ClassDef]]:
    """The base classes in the package, with their modules."""
    for base in item.bases:
        found = find(module, ast.unparse(base).split("[")[0])
        if found is not None and isinstance(found[1], ast.ClassDef):
            yield found[0], found[1]


def fields(module: str, item: ast.ClassDef) -> Iterator[str]:
    """The fields of a dataclass with their types and defaults, those of its bases first."""
    for base in bases(module, item):
        yield from fields(*base)
    for field in item.body:
        if isinstance(field, ast.AnnAssign) and "ClassVar" not in ast.unparse(field.annotation):
            default = f" = {ast.unparse(field.value)}" if field.value is not None else ""
            yield f"{ast.unparse(field.target)}: {plain(field.annotation)}{default}"


def rendered(text: str) -> list[str]:
    """A docstring as Markdown: examples as code, sections as lists."""
    lines = inspect.cleandoc(text).split("\n")
    out: list[str] = []
    at = 0
    while at < len(lines):
        line = lines[at]
        title = SECTIONS.get(line[:-1]) if line.endswith(":") else None
        if line.startswith(">>>"):
            end = next((number for number in range(at, len(lines)) if not lines[number].strip()), len(lines))
            out += ["```pycon", *lines[at:end], "```", ""]
            at = end
        elif title is not None:
            end = next(
                (number for number in range(at + 1, len(lines)) if lines[number].strip() and not lines[number].startswith(" ")),
                len(lines),
            )
            body = textwrap.dedent("\n".join(lines[at + 1 : end])).strip("\n")
            out += [f"**{title}**", ""]
            out += entries(title, body) if title in NAMED else rendered(body)
            at = end
        else:
            # The mark of a literal block, which Markdown recognises by its indentation.
            out.append(line.removesuffix("::") + (":" if line.endswith("::") and line != "::" else ""))
            at += 1
    return [*out, ""]


def entries(title: str, body: str) -> list[str]:
    """The entries `name: text` of a section as a list."""
    out: list[str] = []
    for line in body.split("\n"):
        entry = re.match(r"([\w.*]+(?:, [\w.*]+)*): (.*)", line)
        if entry is None:
            out.append(line if line.startswith("  ") else f"  {line}".rstrip())
        else:
            # The names of arguments do not become links, those of errors do.
            mark = "" if title == "Raises" else "**"
            names = ", ".join(f"{mark}`{name}`{mark}" for name in entry.group(1).split(", "))
            out.append(f"- {names}: {entry.group(2)}")
    return [*out, ""]


def heading(title: str, level: int) -> str:
    """A heading with an anchor of its own: those of `diff` and `Diff` differ in case only."""
    return f"{'#' * level} `{title}` {{#{anchor(title)}}}"


def anchor(title: str) -> str:
    """The anchor of a name: underscores at both ends would be emphasis."""
    return title.strip("_")


def block(title: str, shown: str, text: str, level: int) -> list[str]:
    """The section of one name."""
    return [heading(title, level), "", "```python", shown, "```", "", *rendered(text)]


def alias(module: str, name: str, title: str) -> list[str]:
    """The section of a type alias or constant: its definition, and the text below it; empty for other names."""
    if name in CONSTANTS:
        return block(title, *CONSTANTS[name], 3)
    body = source(module).body
    for statement, text in zip(body, body[1:], strict=False):
        if not isinstance(statement, ast.AnnAssign) or statement.value is None or not isinstance(text, ast.Expr):
            continue
        if ast.unparse(statement.target) == name:
            definition = textwrap.fill(f"{name} = {ast.unparse(statement.value)}", WIDTH, subsequent_indent="    ")
            return block(title, definition, str(ast.literal_eval(text.value)), 3)
    origin = imported(module, name)
    return [] if origin is None else alias(*origin, title)


def section(module: str, name: str) -> list[str]:
    """The section of a name with the sections of its members; empty for a name without a docstring."""
    title = ".".join([*module.split(".")[1:], name])
    found = find(module, name)
    if found is None:
        return alias(module, name, title)
    home, item = found
    text = ast.get_docstring(item)
    if not text:
        return []
    # A name of another public module is described there.
    for other in modules():
        if home == other != module and name in exported(other):
            see = f"{other.removeprefix('typeloom.')}.{name}"
            return [heading(title, 3), "", f"See [`{see}`](#{anchor(see)}).", ""]
    lines = block(title, signature(home, name, item), text, 3)
    if isinstance(item, ast.ClassDef):
        for member in item.body:
            if isinstance(member, ast.FunctionDef) and not member.name.startswith("_") and not has(member, "overload"):
                about = ast.get_docstring(member)
                if about:
                    full = f"{title}.{member.name}"
                    lines += block(full, signature(home, f"{name}.{member.name}", member, is_method=True), about, 4)
    return lines


def ordered(module: str) -> list[str]:
    """The names of a module other than `typeloom`."""
    first = FIRST.get(module, [])
    return [*first, *(name for name in exported(module) if name not in first)]


def linked(lines: list[str]) -> list[str]:
    """The lines with links from names to their sections."""
    headings = {found.group(1) for line in lines if (found := re.match(r"#+ `([^`]+)` {", line))}
    is_code = False
    out = []
    for line in lines:
        is_code ^= line.startswith("```")
        if not is_code and not line.startswith(("#", "```")):
            line = re.sub(
                r"(?<![`\[*])`(?:typeloom\.|tl\.)?([\w.]+)`(?!`|\])",
                lambda name: f"[{name.group()}](#{anchor(name.group(1))})" if name.group(1) in headings else name.group(),
                line,
            )
        out.append(line)
    return out


def page() -> str:
    """The whole page."""
    public = modules()
    lines = [HEAD, "| to | use |", "|---|---|"]
    lines += [f"| {task.lower()} | {', '.join(f'`{name}`' for name in names)} |" for task, names in GROUPS]
    lines += [f"| modules | {', '.join(f'`{module}`' for module in public[1:])} |", ""]
    for task, names in GROUPS:
        lines += [f"## {task}", ""]
        for name in names:
            lines += section("typeloom", name)
    for module in public[1:]:
        lines += [f"## `{module}`", "", (ast.get_docstring(source(module)) or "").split("\n\n")[0], ""]
        for name in ordered(module):
            lines += section(module, name)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(linked(lines))).rstrip() + "\n"
