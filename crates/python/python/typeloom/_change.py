"""Functions that make new models from old ones."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from typeloom import _core
from typeloom._api import _settings
from typeloom._errors import LinkError, ModelError
from typeloom._files import write
from typeloom._html import counted
from typeloom._items import items
from typeloom._model import Form, ModelLike, form_of
from typeloom._operators import Operators
from typeloom._report import Diagnostic, Report
from typeloom._rewritten import Rewritten
from typeloom._types import DimLike, Type

if TYPE_CHECKING:
    from typeloom.typing import CompileCast, LinkCast, Policy, Precision

__all__ = ["annotate", "compile", "convert", "fix", "link", "specialize", "strip"]

_Path = str | os.PathLike[str]


def annotate(
    model: Any,
    *,
    output: _Path | None = None,
    marks: bool = True,
    partial: bool = False,
    strict: bool = True,
    seeds: Mapping[str, str | Type] | None = None,
    assume: Mapping[str, DimLike] | None = None,
    merge_symbols: bool = False,
    operators: Operators | None = None,
    external_data_dir: _Path | None = None,
) -> Rewritten:
    """Writes the proven types of all values into a model.

    >>> import typeloom as tl
    >>> text = '<ir_version: 10, opset_import: ["" : 21]> g (float[2] x) => (float[2] y) { h = Relu(x)  y = Abs(h) }'
    >>> annotated = tl.annotate(text)
    >>> annotated, "float[2] h" in annotated.model
    (<text>: 1 type added, 0 filled in, True)

    Args:
        model: the model.
        output: a file for the result. Nothing is written in place unless it is the path of the model.
        marks: tag the written types, so that `strip` can remove them.
        partial: annotate a model with errors as far as its types are proven.

    For the other arguments see `check`.

    Returns:
        The new model with the numbers of types that were added and filled in. All bytes that do not concern types are
        unchanged.

    Raises:
        ModelError: the model has errors.
        TypeloomError: the file is malformed in a part that checks do not read.
    """
    form = form_of(model)
    settings = _settings(strict, seeds, assume, merge_symbols, operators, external_data_dir=external_data_dir)
    marked = "tagged" if marks else "untagged"
    file, problems, ok, (added, filled) = _core.annotate(form.model, settings, form.name, marked, partial)
    if problems:
        raise ModelError([Diagnostic(raw) for raw in problems])
    text = f"{form.name}: {counted(added, 'type')} added, {filled} filled in"
    return _rewritten(form, file, {"added": added, "filled": filled}, text, ok, output)


def _rewritten(
    form: Form, file: bytes | None, changes: dict[str, Any], text: str, ok: bool, output: _Path | None
) -> Rewritten:
    rewritten = Rewritten._of(form, file, changes, text, ok)
    if output is not None:
        rewritten.save(output)
    return rewritten


def specialize(
    model: Any,
    assume: Mapping[str, DimLike],
    *,
    output: _Path | None = None,
    strict: bool = True,
    seeds: Mapping[str, str | Type] | None = None,
    operators: Operators | None = None,
    external_data_dir: _Path | None = None,
) -> Rewritten:
    """Makes a model for given sizes: symbols become numbers, and what is constant then is removed.

    >>> import typeloom as tl
    >>> text = '''<ir_version: 10, opset_import: ["" : 21]>
    ... g (float[N, 4] x, float[k] z) => (float[N, 4] y) { s = Shape(x)  e = Expand(z, s)  y = Add(x, e) }'''
    >>> small = tl.specialize(text, {"N": 3})
    >>> small.changes["constants"], small.changes["nodes"]
    (1, {'before': 3, 'after': 2})
    >>> [(place["symbol"], place["value"]) for place in small.changes["open"]]
    [('k', 'z')]

    Args:
        model: the model.
        assume: the sizes, by symbol: a number, another symbol, or an expression such as ``past + seq``. Other symbols stay.
        output: a file for the result.

    For the other arguments see `check`.

    Returns:
        The new model. With inputs of these sizes, its outputs are those of the model, to the last bit. ``Rewritten.changes`` has
        the ``branches`` that were taken, the number of ``constants``, the number of ``nodes`` before and after, the extents that
        are ``open`` with their cause, and the ``conditions`` that the numbers set for other symbols.

    Raises:
        ModelError: the model has errors for these sizes.
        TypeloomError: a symbol does not exist, or a size contradicts another one.
    """
    form = form_of(model)
    settings = _settings(strict, seeds, assume, False, operators, external_data_dir=external_data_dir)
    file, problems, changes, text = _core.specialize(form.model, settings, form.name)
    if problems:
        raise ModelError([Diagnostic(raw) for raw in problems])
    return _rewritten(form, file, changes, text, not changes["conditions"], output)


def strip(model: Any, *, output: _Path | None = None) -> Any:
    """Removes the types that `annotate` added.

    >>> import typeloom as tl
    >>> text = '<ir_version: 10, opset_import: ["" : 21]> g (float[2] x) => (float[2] y) { h = Relu(x)  y = Abs(h) }'
    >>> tl.strip(tl.annotate(text)) == tl.annotate(text).model
    False

    Args:
        model: the model.
        output: a file for the result.

    Returns:
        The model in the form of the argument; bytes for a path. ``strip(annotate(model))`` equals the model byte for byte.

    Raises:
        OSError: the file cannot be read or written.
        TypeloomError: the bytes are no model.
    """
    form = form_of(model)
    return _result(form, _core.strip(form.model), [], output)


def _result(form: Form, file: bytes | None, problems: list[dict[str, Any]], output: _Path | None) -> Any:
    """The new model in the form of the old one."""
    if problems:
        raise ModelError([Diagnostic(raw) for raw in problems])
    if output is not None:
        write(output, form.read() if file is None else file)
    return form.result(file)


def fix(
    model: Any,
    *,
    policy: Policy = "minority",
    unsafe_fixes: bool = False,
    partial: bool = False,
    targets: str | Sequence[str] = (),
    assume: Mapping[str, DimLike] | None = None,
    output: _Path | None = None,
    external_data_dir: _Path | None = None,
    operators: Operators | None = None,
) -> Rewritten:
    """Inserts the fewest conversions that make a model type-check, sorts its nodes, and corrects false declared shapes.

    >>> import typeloom as tl
    >>> fixed = tl.fix('''<ir_version: 10, opset_import: ["" : 21]>
    ... g (float[2] x, double[2] w) => (y) { y = Mul(x, w) }''', policy="lossless")
    >>> bool(tl.check(fixed))
    True

    Args:
        model: the model.
        policy: the conversions that are allowed: ``minority``, ``lossless``, ``widest``, ``fewest`` or ``to=TYPE``.
        unsafe_fixes: also apply repairs that can change results: an attribute with an error is removed, integers are converted
            to a type that does not hold them.
        partial: return the model even if errors remain, provided that a change was made.
        targets: runtimes and devices, by name, for which exact changes are made: a computed input with a proved value becomes an
            initializer, for example. `check` with the same argument lists the issues that remain.
        assume: sizes of symbols; the repaired model is changed as by `specialize`.
        output: a file for the result.
        external_data_dir: see `check`.
        operators: operators of other domains.

    Returns:
        The new model with the changes. ``Rewritten.model`` has the form of the argument.

    Raises:
        ModelError: errors remain.
        TypeloomError: there is no such policy, or the bytes are no model.
    """
    form = form_of(model)
    settings = _settings(True, None, assume, False, operators, targets, external_data_dir=external_data_dir)
    file, is_ok, changes, text = _core.fix(form.model, settings, form.name, policy, unsafe_fixes)
    if not is_ok and not (partial and file is not None):
        report = Report(_core.check(form.model, settings, form.name), form.name)
        raise ModelError(report.diagnostics)
    return _rewritten(form, file, changes, text, is_ok, output)


def convert(
    model: Any,
    to: Precision,
    *,
    keep_io: bool = False,
    keep: str | Sequence[str] = (),
    targets: str | Sequence[str] = (),
    output: _Path | None = None,
    external_data_dir: _Path | None = None,
    operators: Operators | None = None,
) -> Rewritten:
    """Converts a model to another floating-point precision, with the fewest casts.

    >>> import typeloom as tl
    >>> half = tl.convert('<ir_version: 10, opset_import: ["" : 21]> g (float[N] x) => (float[N] y) { y = Softmax(x) }', "float16")
    >>> tl.infer(half)["y"]
    Type('float16[N]')

    Args:
        model: the model.
        to: the new element type: ``float16``, ``bfloat16`` or ``float``.
        keep_io: keep the types of the inputs and outputs.
        keep: operators, names of nodes and values, and patterns of names such as ``/encoder/*``, that keep their types.
        targets: runtimes and devices, by name: nodes whose converted form one of them rejects keep their types.
        output: a file for the result.
        external_data_dir: see `check`. Converted tensors are read from there, and stored in the model.
        operators: operators of other domains.

    Returns:
        The new model with the changes. ``Rewritten.model`` has the form of the argument.

    Raises:
        ModelError: the model has errors.
        TypeloomError: there is no conversion to the type, nothing can be converted, or a tensor cannot be read.
    """
    form = form_of(model)
    settings = _settings(True, None, None, False, operators, targets, external_data_dir=external_data_dir)
    names = [keep] if isinstance(keep, str) else list(keep)
    converted = _core.convert(form.model, settings, form.name, to, keep_io, names)
    if converted is None:
        report = Report(_core.check(form.model, settings, form.name), form.name)
        raise ModelError(report.diagnostics)
    file, changes, text = converted
    return _rewritten(form, file, changes, text, True, output)


def link(
    first: Any,
    second: ModelLike,
    *,
    map: Mapping[str, str | Sequence[str]] | None = None,
    cast: LinkCast = "never",
    narrow: bool = False,
    accept_unproven: bool = False,
    outputs: str | Sequence[str] | None = None,
    keep_all: bool = False,
    prefixes: tuple[str, str] = ("", ""),
    output: _Path | None = None,
    copy_external_data: bool = False,
    strict: bool = True,
    operators: Operators | None = None,
) -> Any:
    """Joins two models by their types: the result computes `second` on outputs of `first`.

    >>> import typeloom as tl
    >>> head = '<ir_version: 10, opset_import: ["" : 21]> '
    >>> encoder = head + "e (float[N, 8] x) => (float[N, 8] y) { y = Relu(x) }"
    >>> linked = tl.link(encoder, head + "h (float[B, 8] x) => (float[B, 8] z) { z = Exp(x) }", map={"y": "x"})
    >>> tl.infer(linked)["z"]
    Type('float[N, 8]')
    >>> try:
    ...     tl.link(encoder, head + "h (float[B, 4] x) => (float[B, 4] z) { z = Exp(x) }", map={"y": "x"})
    ... except tl.LinkError as error:
    ...     print(error)
    error[extent]: axis 1 of `y` is 8, but `x` needs 4
    --> <text>: output `y`: float[N, 8] (output of Relu node #0)
    --> <text>: input `x`: float[B, 4] (graph input)

    Args:
        first: the model that runs first.
        second: the model that runs on outputs of the first one.
        map: the inputs of `second` for outputs of `first`; without it, outputs and inputs of equal names are connected.
        cast: casts that are inserted where element types differ: ``never``, ``lossless`` or ``any``.
        narrow: replace a symbol of `first` by the only value that `second` accepts.
        accept_unproven: accept types that are not proved to fit; a run can then fail.
        outputs: the outputs of the result, by their names in it; by default those of `first` that are not connected, and
            all of `second`.
        keep_all: keep all outputs of both models.
        prefixes: texts with which all names of values and nodes of each model begin.
        output: a file for the result. The locations of tensors in other files are relative to its folder.
        copy_external_data: copy these files next to `output`.
        strict: values without a proven type and unknown operators are errors.
        operators: operators of other domains.

    Returns:
        The linked model in the form of `first`; bytes for a path.

    Raises:
        LinkError: the models do not fit. `LinkError.errors` has both sides of each reason.
        ModelError: a model has errors of its own, or nodes of `second` reject the types of `first`.
        TypeloomError: files of tensors have no location in the result.
    """
    if isinstance(prefixes, str):
        raise TypeError("prefixes are two texts, one for each model")
    forms = (form_of(first), form_of(second))
    settings = _settings(strict, None, None, False, operators)
    options = {
        "map": [
            (source, target)
            for source, targets in (map or {}).items()
            for target in items(targets)
        ],
        "cast": cast,
        "narrow": narrow,
        "accept_unproven": accept_unproven,
        "outputs": keep_all if outputs is None else items(outputs),
        "prefixes": list(prefixes),
        "output": output,
        "copy_external_data": copy_external_data,
    }
    models = (forms[0].model, forms[1].model)
    names = (forms[0].name, forms[1].name)
    file, record, text, problems = _core.link(models, names, settings, options)
    if problems:
        raise ModelError([Diagnostic(raw) for raw in problems])
    if file is None:
        raise LinkError(text.rstrip(), record["errors"])
    return _result(forms[0], file, [], output)


def compile(
    model: Any,
    *,
    output: _Path | None = None,
    cast: CompileCast = "never",
    permissive: bool = False,
    without: str | Sequence[str] = (),
) -> Any:
    """Runs the passes of the compiler on a model.

    >>> import typeloom as tl
    >>> text = '<ir_version: 10, opset_import: ["" : 21]> g (float[2] x) => (y) { y = Relu(x) }'
    >>> bool(tl.check(tl.compile(text)))
    True

    Args:
        model: the model.
        output: a file for the result.
        cast: the conversion of an edge whose two ends are declared with different types: ``never``, ``lossless`` or
            ``as-declared``.
        permissive: accept values without a proven type.
        without: passes to leave out.

    Returns:
        The compiled model in the form of the argument; bytes for a path.

    Raises:
        ModelError: the model has errors.
        TypeloomError: there is no such pass or policy.
    """
    form = form_of(model)
    file, problems = _core.compile(form.model, form.name, cast, permissive, items(without))
    return _result(form, file, problems, output)
