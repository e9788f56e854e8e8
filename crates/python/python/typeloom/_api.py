"""Functions that answer questions about models; `_change` has those that make new models."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

from typeloom import _core
from typeloom._errors import ModelError, TypeloomError
from typeloom._html import pre
from typeloom._interface import Diff, Interface
from typeloom._items import items
from typeloom._model import ModelLike, form_of
from typeloom._operators import Operators
from typeloom._report import Diagnostic, Report
from typeloom._types import DimLike, Type
from typeloom._view import View

if TYPE_CHECKING:
    from typing_extensions import Self

    from typeloom.registry import Registry, Verdict
    from typeloom.typing import Level, Mode

__all__ = [
    "Cost",
    "Explanation",
    "check",
    "cost",
    "describe",
    "diff",
    "explain",
    "infer",
    "targets",
    "view",
]

_Path = str | os.PathLike[str]


def _settings(
    strict: bool | None,
    seeds: Mapping[str, str | Type] | None,
    assume: Mapping[str, DimLike] | None,
    merge_symbols: bool | None,
    operators: Operators | None,
    targets: str | os.PathLike[str] | Sequence[_Path] = (),
    external_data: bool | None = None,
    external_data_dir: _Path | None = None,
    severities: Mapping[str, Level] | None = None,
    inline: bool | None = None,
    config: bool | _Path = False,
    baseline: _Path | None = None,
) -> _core.Settings:
    return _core.Settings(
        strict=strict,
        seeds=[(name, str(ty)) for name, ty in (seeds or {}).items()],
        assume=[(symbol, str(dim)) for symbol, dim in (assume or {}).items()],
        merge_symbols=merge_symbols,
        operators=None if operators is None else operators._core,
        targets=[targets] if isinstance(targets, (str, os.PathLike)) else list(targets),
        external_data=external_data,
        external_data_dir=external_data_dir,
        severities=list((severities or {}).items()),
        inline=inline,
        config=config,
        baseline=baseline,
    )


@overload
def check(
    model: list[ModelLike] | tuple[ModelLike, ...],
    *,
    config: bool | _Path = ...,
    baseline: _Path | None = ...,
    strict: bool | None = ...,
    seeds: Mapping[str, str | Type] | None = ...,
    assume: Mapping[str, DimLike] | None = ...,
    merge_symbols: bool | None = ...,
    operators: Operators | None = ...,
    external_data: bool | None = ...,
    external_data_dir: _Path | None = ...,
    targets: str | os.PathLike[str] | Sequence[_Path] = ...,
    severities: Mapping[str, Level] | None = ...,
    inline: bool | None = ...,
    against: str | None = ...,
    registry: Registry | _Path | None = ...,
) -> list[Report]: ...
@overload
def check(
    model: ModelLike,
    *,
    config: bool | _Path = ...,
    baseline: _Path | None = ...,
    strict: bool | None = ...,
    seeds: Mapping[str, str | Type] | None = ...,
    assume: Mapping[str, DimLike] | None = ...,
    merge_symbols: bool | None = ...,
    operators: Operators | None = ...,
    external_data: bool | None = ...,
    external_data_dir: _Path | None = ...,
    targets: str | os.PathLike[str] | Sequence[_Path] = ...,
    severities: Mapping[str, Level] | None = ...,
    inline: bool | None = ...,
    against: str | None = ...,
    registry: Registry | _Path | None = ...,
) -> Report: ...
def check(
    model: ModelLike | list[ModelLike] | tuple[ModelLike, ...],
    *,
    config: bool | _Path = False,
    baseline: _Path | None = None,
    strict: bool | None = None,
    seeds: Mapping[str, str | Type] | None = None,
    assume: Mapping[str, DimLike] | None = None,
    merge_symbols: bool | None = None,
    operators: Operators | None = None,
    external_data: bool | None = None,
    external_data_dir: _Path | None = None,
    targets: str | os.PathLike[str] | Sequence[_Path] = (),
    severities: Mapping[str, Level] | None = None,
    inline: bool | None = None,
    against: str | None = None,
    registry: Registry | _Path | None = None,
) -> Report | list[Report]:
    """Proves the type of every value of a model.

    >>> import typeloom as tl
    >>> report = tl.check('''<ir_version: 10, opset_import: ["" : 21]>
    ... g (float[batch, 4] x) => (y) { y = Relu(x) }''', assume={"batch": 8})
    >>> report.values["y"]
    Type('float[8, 4]')

    Args:
        model: a model, or a list of models.
        config: the settings file, which ``typeloom check`` reads: a path, or `True` for the nearest one above each model (above the
            current folder for a model in memory). Other arguments take precedence over it. By default, no file is read, so that
            a call has the same result in every folder.
        baseline: the file with known problems that ``typeloom check --update-baseline`` wrote, instead of that of the settings
            file. They are not reported; `Report.known` has their number.
        strict: values without a proven type and unknown operators are errors. This is the default.
        seeds: types of values of the main graph, by name.
        assume: replacements of symbols: a number, another symbol, or an expression.
        merge_symbols: treat symbols that the graph requires to be equal as one; by default they stay apart.
        operators: operators of other domains.
        external_data: look for the files of tensors that are stored outside of the model, and read small tensors in them,
            such as shapes, which is the default. Bytes and messages have no folder, so nothing is looked for without
            `external_data_dir`.
        external_data_dir: the folder of these files; that of the model by default.
        targets: runtimes or devices that are to run the model, by name, also groups such as ``qnn``; `targets` lists them.
            A path is a file with facts about a target, whose name is that of the file without extension; a text that is no
            known name can be a path. `Report.targets` has the verdicts, `Report.placements` the places of nodes on devices;
            the reasons are diagnostics.
        severities: the severity of problems, as in the table ``severities`` of a settings file: ``allow``, ``warn`` or ``deny``
            for a code, a glob of codes, a group, ``all`` or ``warnings``. The last entry that matches a code decides.
        inline: exceptions that the model contains, ``typeloom.allow`` in its metadata, count, which is the default.
            `Report.excepted` has their number.
        against: a version in a registry, such as ``vision/net@production``, or a subject, for the versions that a push would be
            compared with. The differences are diagnostics of a model without errors, and errors if they break the compatibility
            mode; `Report.against` has the comparison.
        registry: the registry of `against`, or its URL or folder. The default is that of `typeloom.registry.Registry`, except
            that the settings file of the current folder, if `config` is given, replaces the folder ``.typeloom-registry``.

    Returns:
        A report for each model. Problems of a model are diagnostics in its report, also of a file that is no model. They are
        those of ``typeloom check`` with the same settings.

    Raises:
        OSError: the file, the settings file, the baseline or the registry cannot be read.
        TypeloomError: an option or the settings file is wrong: a seed is no type, or names no value; there is no such target
            or version.
        TypeError: the object is no model.
    """
    settings = _settings(
        strict,
        seeds,
        assume,
        merge_symbols,
        operators,
        targets,
        external_data,
        external_data_dir,
        severities,
        inline,
        config,
        baseline,
    )
    comparison = None if against is None else _comparison(registry, against, settings)

    def one(model: ModelLike) -> Report:
        form = form_of(model)
        core = _core.check(form.model, settings, form.name, comparison is not None)
        return Report(core, form.name, None if comparison is None else comparison(core))

    return [one(each) for each in model] if isinstance(model, (list, tuple)) else one(model)


def _comparison(
    registry: Registry | _Path | None, reference: str, settings: _core.Settings
) -> Callable[[_core.Report], Verdict | None]:
    """Compares the model of a report with versions of a registry. A wrong reference is an error before the first model."""
    from typeloom.registry import VARIABLE, Registry

    if registry is None and not os.environ.get(VARIABLE):
        registry = settings.registry()
    opened = registry if isinstance(registry, Registry) else Registry(registry)
    opened.show(reference)
    return lambda core: opened._against(core, reference)


@overload
def targets() -> list[str]: ...
@overload
def targets(name: str) -> dict[str, Any]: ...
def targets(name: str | None = None) -> list[str] | dict[str, Any]:
    """The names of the targets of `check`: versions of runtimes, newest first, and devices. With a name, what is known about it.

    >>> import typeloom as tl
    >>> tl.targets()[:2]
    ['onnxruntime-1.32', 'onnxruntime-1.31']
    >>> tl.targets("qnn-npu")["device"]
    'Qualcomm NPU'
    >>> tl.targets("qnn")
    {'name': 'qnn', 'targets': ['qnn-gpu', 'qnn-npu']}

    Args:
        name: a target, or a group of targets.

    Returns:
        The names, for the argument ``targets`` of `check`. With the name of a target, the object that
        ``typeloom targets NAME --format json`` prints; with that of a group, its name and those of its targets.

    Raises:
        TypeloomError: there is no such target or group.
    """
    return _core.targets() if name is None else _core.target(name)


def infer(
    model: ModelLike,
    *,
    strict: bool = True,
    seeds: Mapping[str, str | Type] | None = None,
    assume: Mapping[str, DimLike] | None = None,
    merge_symbols: bool = False,
    operators: Operators | None = None,
    external_data_dir: _Path | None = None,
) -> dict[str, Type]:
    """The types of all values by name, those of the main graph first.

    >>> import typeloom as tl
    >>> tl.infer('''<ir_version: 10, opset_import: ["" : 21]> g (float[N] x) => (y) { y = Neg(x) }''')
    {'x': Type('float[N]'), 'y': Type('float[N]')}

    A model with errors has types too, as far as they are known.

    Args:
        model: the model.
        strict: values without a proven type and unknown operators are errors.
        seeds: types of values of the main graph, by name.
        assume: replacements of symbols.
        merge_symbols: treat symbols that the graph requires to be equal as one.
        operators: operators of other domains.
        external_data_dir: the folder of the files of external tensors; that of the model by default.

    Returns:
        The types by name: the values of ``check(model).values``.

    Raises:
        OSError: the file cannot be read.
        TypeloomError: a seed is no type, or names no value.
        TypeError: the object is no model.
    """
    report = check(
        model,
        strict=strict,
        seeds=seeds,
        assume=assume,
        merge_symbols=merge_symbols,
        operators=operators,
        external_data_dir=external_data_dir,
    )
    return dict(report.values)


def describe(
    model: ModelLike,
    *,
    strict: bool = True,
    seeds: Mapping[str, str | Type] | None = None,
    assume: Mapping[str, DimLike] | None = None,
    merge_symbols: bool = False,
    operators: Operators | None = None,
    external_data_dir: _Path | None = None,
) -> Interface:
    """The interface of a model: inputs, outputs, symbols, conditions, digest.

    >>> import typeloom as tl
    >>> interface = tl.describe('''<ir_version: 10, opset_import: ["" : 21]>
    ... g (float[N] x) => (y) { y = Neg(x) }''')
    >>> interface.symbols
    ['N']

    Args:
        model: the model.
        strict: values without a proven type and unknown operators are errors.
        seeds: types of values of the main graph, by name.
        assume: replacements of symbols.
        merge_symbols: treat symbols that the graph requires to be equal as one.
        operators: operators of other domains.
        external_data_dir: the folder of the files of external tensors; that of the model by default.

    Returns:
        The interface, which is independent of the names of inner values and of the weights.

    Raises:
        ModelError: the model has errors.
        OSError: the file cannot be read.
    """
    form = form_of(model)
    settings = _settings(strict, seeds, assume, merge_symbols, operators, external_data_dir=external_data_dir)
    core, problems = _core.describe(form.model, settings, form.name)
    if core is None:
        raise ModelError([Diagnostic(raw) for raw in problems])
    return Interface(core, form.name)


def diff(
    old: ModelLike | Interface,
    new: ModelLike | Interface,
    *,
    mode: Mode = "backward",
    by_name: bool = False,
    operators: Operators | None = None,
) -> Diff:
    """Whether one model can replace another.

    >>> import typeloom as tl
    >>> head = '<ir_version: 10, opset_import: ["" : 21]> '
    >>> tl.diff(head + "g (float[N, 3] x) => (y) { y = Relu(x) }", head + "g (float[N, 4] x) => (y) { y = Relu(x) }")
    inputs.x.shape[1]: 3 -> 4 (breaks both ways)
    outputs.y.shape[1]: 3 -> 4 (breaks both ways)
    not backward compatible

    Args:
        old: a model, an interface, or the path of a contract for serving: ``*.pbtxt``, ``*.json`` or ``MLmodel``; see
            `Interface.from_contract`.
        new: the same.
        mode: ``backward``: existing callers can use the new one; ``forward``: the old one can be used where the new one is
            expected; ``full``: both.
        by_name: callers bind by name alone, so that the order of inputs and outputs does not matter.
        operators: operators of other domains.

    Returns:
        The differences; true if the new model is compatible.

    Raises:
        ModelError: a model has errors.
    """
    return _interface_of(old, operators).diff(_interface_of(new, operators), mode=mode, by_name=by_name)


def _interface_of(model: ModelLike | Interface, operators: Operators | None) -> Interface:
    """The interface of one side of a comparison."""
    if isinstance(model, Interface):
        return model
    if isinstance(model, (str, os.PathLike)) and os.fspath(model).endswith((".pbtxt", ".json", "MLmodel")):
        from pathlib import Path

        return Interface.from_contract(Path(model))
    return describe(model, operators=operators)


class _Text(str):
    """A text with its data; a terminal and a notebook show it with its line breaks."""

    raw: dict[str, Any]

    def __new__(cls, text: str, raw: dict[str, Any]) -> Self:
        made = super().__new__(cls, text)
        made.raw = raw
        return made

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return pre(self)


class Cost(_Text):
    """The cost of a model as text; a terminal and a notebook show it with its line breaks.

    Attributes:
        raw: the cost as data, as in ``typeloom cost --format json``. An amount is a dictionary with its ``text``, and with its
            ``number`` unless a symbol decides it.
    """


def cost(
    model: ModelLike,
    *,
    solve: str | None = None,
    memory: int | None = None,
    nodes: int = 10,
    strict: bool = True,
    seeds: Mapping[str, str | Type] | None = None,
    assume: Mapping[str, DimLike] | None = None,
    merge_symbols: bool = False,
    operators: Operators | None = None,
    external_data_dir: _Path | None = None,
) -> Cost:
    """Memory and arithmetic of a model, as functions of its symbols.

    >>> import typeloom as tl
    >>> model = '''<ir_version: 10, opset_import: ["" : 21]>
    ... g (float[batch, 64] x, float[64, 256] w) => (y) { h = MatMul(x, w)  y = Relu(h) }'''
    >>> cost = tl.cost(model, solve="batch", memory=1 << 20)
    >>> cost.raw["work"]["macs"]["text"], cost.raw["peak"]["embedded"]["text"]
    ('16384*batch', '1280*batch + 65536')
    >>> cost.raw["solve"]["most"]["embedded"]
    768
    >>> tl.cost(model, assume={"batch": 2}).raw["peak"]["plain"]["number"]
    70144

    Args:
        model: the model.
        solve: a symbol whose largest value is searched for which weights and activations fit into `memory`.
        memory: the number of bytes for `solve`.
        nodes: the number of nodes that are listed, those with the most operations first.
        strict: values without a proven type and unknown operators are errors.
        seeds: types of values of the main graph, by name.
        assume: replacements of symbols.
        merge_symbols: treat symbols that the graph requires to be equal as one.
        operators: operators of other domains.
        external_data_dir: the folder of the files of external tensors; that of the model by default.

    Returns:
        The cost.

    Raises:
        ModelError: the model has errors.
        TypeloomError: the memory is no function of the symbol `solve` alone.
        OSError: the file cannot be read.
    """
    if (solve is None) != (memory is None):
        raise TypeError("solve and memory belong together")
    question = None if solve is None or memory is None else (solve, memory)
    form = form_of(model)
    settings = _settings(strict, seeds, assume, merge_symbols, operators, external_data_dir=external_data_dir)
    found, problems = _core.cost(form.model, settings, form.name, question, nodes)
    if found is None:
        raise ModelError([Diagnostic(raw) for raw in problems])
    raw, text = found
    return Cost(text, raw)


class Explanation(_Text):
    """The text of an explanation; a terminal and a notebook show it with its line breaks.

    Attributes:
        raw: the explanation as data.
    """


def explain(
    subject: ModelLike,
    value: str | None = None,
    *,
    operators: Operators | None = None,
    seeds: Mapping[str, str | Type] | None = None,
    assume: Mapping[str, DimLike] | None = None,
    external_data_dir: _Path | None = None,
) -> Explanation:
    """The reasons for the type of a value of a model, or the page of a diagnostic code.

    >>> import typeloom as tl
    >>> text = '<ir_version: 10, opset_import: ["" : 21]> g (float[N] x) => (y) { y = Relu(x) }'
    >>> tl.explain(text, "y").raw["type"]
    'float[N]'
    >>> "dims" in tl.explain("dim-mismatch")
    True

    Args:
        subject: a model, or a code such as ``dim-mismatch`` if `value` is missing.
        value: the name of a value of the model.
        operators: operators of other domains.
        seeds: types of values of the main graph, by name.
        assume: replacements of symbols.
        external_data_dir: the folder of the files of external tensors; that of the model by default.

    Returns:
        The text, which is also data: `Explanation.raw`.

    Raises:
        TypeloomError: there is no such value or code.
        TypeError: the subject is no text, and there is no `value`.
    """
    if value is None:
        if not isinstance(subject, str):
            raise TypeError("name the value of the model to explain")
        page = _core.explain_code(subject)
        if page is None:
            raise TypeloomError(f"there is no diagnostic code `{subject}`")
        return Explanation(page, {"code": subject})
    form = form_of(subject)
    settings = _settings(True, seeds, assume, False, operators, external_data_dir=external_data_dir)
    raw, text = _core.explain(form.model, settings, form.name, value)
    return Explanation(text, raw)


def view(
    model: ModelLike,
    new: ModelLike | None = None,
    *,
    config: bool | _Path = False,
    baseline: _Path | None = None,
    strict: bool | None = None,
    seeds: Mapping[str, str | Type] | None = None,
    assume: Mapping[str, DimLike] | None = None,
    merge_symbols: bool | None = None,
    operators: Operators | None = None,
    external_data: bool | None = None,
    external_data_dir: _Path | None = None,
    targets: str | Sequence[str] = (),
    severities: Mapping[str, Level] | None = None,
    inline: bool | None = None,
) -> View:
    """The graph of a model with types, problems and their causes, as a page for browsers.

    A notebook shows the result; ``save`` writes it. A model with errors has a page too.

    >>> import typeloom as tl
    >>> tl.view('''<ir_version: 10, opset_import: ["" : 21]>
    ... g (float[N] x, double[N] w) => (y) { y = Mul(x, w) }''')
    <View of <text>: 1 node, 1 error>

    Args:
        model: the model.
        new: another version of the model. The page then shows both, and the added, removed and changed nodes and types.
        targets: devices and runtimes, by name; the page shows their verdicts, and where the nodes run. It needs one model.

    The page has the problems that `check` reports. For the other arguments see `check`.

    Returns:
        The page, which `View.save` writes.

    Raises:
        OSError: the file cannot be read.
        ModelError: the file is no model.
        ValueError: there are two models, and `targets`.
    """
    if new is not None and items(targets):
        raise ValueError("targets need one model: the page of two models has no verdicts")
    form = form_of(model)
    settings = _settings(
        strict,
        seeds,
        assume,
        merge_symbols,
        operators,
        targets,
        external_data,
        external_data_dir,
        severities,
        inline,
        config,
        baseline,
    )
    other = None if new is None else form_of(new)
    page, problems = _core.view(form.model, None if other is None else (other.model, other.name), settings, form.name)
    if page is None:
        raise ModelError([Diagnostic(raw) for raw in problems])
    html, nodes, errors, changes = page
    return View(html, (other or form).name, nodes, errors, changes)
