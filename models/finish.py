"""From an exporter's message to the committed file: cleaned, checked, compared with its network.

Cleaning is deterministic and leaves the graph alone. Provenance keeps its meaning but no path of the machine
that exported: a source file is named relative to this folder or to the folder of the packages.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import onnx
import onnxruntime
import torch

from recipe import Recipe

HERE = Path(__file__).resolve().parent
PACKAGES = Path(torch.__file__).resolve().parent.parent

# Keys that say where a node comes from; other keys repeat what the graph says.
PROVENANCE = ("pkg.torch.onnx.class_hierarchy", "pkg.torch.onnx.name_scopes", "pkg.torch.onnx.stack_trace")


def finish(model: onnx.ModelProto, recipe: Recipe) -> bytes:
    """The bytes to commit; raises where they are not fit to be."""
    for graph in graphs(model):
        if not recipe.keep_value_info:
            del graph.value_info[:]
        for holder in (graph, *graph.node, *graph.input, *graph.output, *graph.value_info, *graph.initializer):
            clean(holder, recipe.keep_provenance)
    for function in model.functions:
        clean(function, recipe.keep_provenance)
    clean(model, keep=False)
    onnx.checker.check_model(model, full_check=True)
    data = model.SerializeToString(deterministic=True)
    for path in (HERE, PACKAGES, Path.home(), Path.cwd()):
        if path.parts[1:] and bytes(path) in data:
            raise ValueError(f"{recipe.file} holds the path {path}")
    return data


def graphs(model: onnx.ModelProto) -> Iterator[onnx.GraphProto]:
    """Every graph of the model, those in attributes and functions included."""
    todo = [model.graph, *model.functions]
    while todo:
        owner = todo.pop()
        if isinstance(owner, onnx.GraphProto):
            yield owner
        for node in owner.node:
            for attribute in node.attribute:
                todo.extend(attribute.graphs)
                if attribute.type == onnx.AttributeProto.GRAPH:
                    todo.append(attribute.g)


def clean(holder, keep: bool) -> None:
    """Keeps the provenance of `holder`, without paths, and drops everything else that describes it."""
    kept = [(p.key, relative(p.value)) for p in holder.metadata_props if keep and p.key in PROVENANCE]
    del holder.metadata_props[:]
    for key, value in sorted(kept):
        holder.metadata_props.add(key=key, value=value)
    holder.ClearField("doc_string")


def relative(text: str) -> str:
    """`File "/anywhere/models/decoder.py"` becomes `File "decoder.py"`; frames of generated code go.

    Generated code has no file, its name counts what the process generated before, and its source line is
    the exporter's and not the author's.
    """

    def shorten(found: re.Match) -> str:
        path = Path(found[1])
        for root in (HERE, PACKAGES):
            if path.is_relative_to(root):
                path = path.relative_to(root)
        if path.is_absolute():
            raise ValueError(f"a node comes from {path}, which is neither ours nor a package's")
        return f'File "{path.as_posix()}"'

    frames = re.split(r'^(?= *File ")', text, flags=re.MULTILINE)
    kept = "".join(frame for frame in frames if not frame.lstrip().startswith('File "<'))
    return re.sub(r'File "([^"]*)"', shorten, kept).rstrip("\n")


def compare(data: bytes, recipe: Recipe) -> None:
    """Runs the file on the recipe's inputs; raises where it does not do what the recipe says."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    for case in recipe.cases:
        with torch.no_grad():
            want = leaves(recipe.network(*case))
        have = run(session, recipe, case)
        if len(want) != len(have):
            raise ValueError(f"{recipe.file}: {len(have)} outputs instead of {len(want)}")
        for expected, found in zip(want, have):
            torch.testing.assert_close(torch.from_numpy(found), expected, rtol=1e-3, atol=1e-4)
    for case in recipe.refused:
        try:
            run(session, recipe, case)
        except onnxruntime.capi.onnxruntime_pybind11_state.Fail:
            continue
        raise ValueError(f"{recipe.file} accepts what it should refuse")


def run(session: onnxruntime.InferenceSession, recipe: Recipe, case: tuple) -> list:
    feed = {name: value.numpy() for name, value in zip(recipe.inputs, leaves(case), strict=True)}
    return session.run(None, feed)


def leaves(tree) -> list[torch.Tensor]:
    """The tensors of nested tuples and lists, in order."""
    if isinstance(tree, torch.Tensor):
        return [tree]
    return [leaf for part in tree for leaf in leaves(part)]
