"""The probes of measured targets, without a runtime and without the network."""

import random
import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TOOLS), str(TOOLS / "facts")]

onnx = pytest.importorskip("onnx")

import measured  # noqa: E402: the path is set above
import measuring  # noqa: E402: as above
import node_probes  # noqa: E402: as above
from node_properties import list_class, number, properties  # noqa: E402: as above
from onnx import helper, parser  # noqa: E402: as above


@pytest.fixture(scope="module")
def known():
    return node_probes.signatures()


def answer(inputs: dict, outputs: dict) -> dict:
    return {"ok": True, "inputs": inputs, "value_info": {}, "outputs": outputs}


def floats(*shape) -> dict:
    return {"k": "tensor", "e": "float", "s": list(shape)}


def test_signatures_have_all_versions_and_contributed_operators(known):
    assert [(one.version, one.until) for one in known["ai.onnx::Relu"]][:2] == [(1, 5), (6, 12)]
    (gelu,) = known["com.microsoft::BiasGelu"]
    assert [port.name for port in gelu.inputs] == ["A", "B"]
    assert "float" in gelu.types["T"]


def test_properties_of_a_node(known):
    model = parser.parse_model(
        """<ir_version: 10, opset_import: ["" : 13]>
        g (float[N, 3] x) => (y) <float w = {1.0}> { y = Gemm<alpha = 0.00001>(x, w) }"""
    )
    versions = known["ai.onnx::Gemm"]
    signature = next(one for one in versions if one.version == 13)
    found = properties(signature, versions, model.graph, model.graph.node[0], answer({"x": floats("N", 3)}, {"y": floats("N", 3)}))
    assert found["type.T"] == "float"
    assert (found["rank.A"], found["extents.A"], found["constant.A"]) == ("2", "open", "false")
    assert (found["rank.B"], found["extents.B"], found["constant.B"]) == ("0", "fixed", "true")
    assert (found["rank.C"], found["extents.C"], found["constant.C"]) == ("none", "none", "false")
    assert (found["attribute.alpha"], found["attribute.beta"], found["attribute.transA"]) == ("0.00001", "1", "0")


@pytest.mark.parametrize(
    ("values", "expected"),
    [(None, "none"), ([], "empty"), ([0, 0], "zeros"), ([1], "ones"), ([1, -1], "negative"), ([2, 2], "uniform"), ([1, 2], "mixed")],
)
def test_classes_of_lists(values, expected):
    attribute = None
    if values is not None:
        attribute = onnx.AttributeProto(name="a", type=onnx.AttributeProto.INTS, ints=values)
    assert list_class(attribute) == expected


def test_floats_are_written_without_an_exponent():
    assert [number(value) for value in (1.0, 1e-5, -0.75, 100.0)] == ["1", "0.00001", "-0.75", "100"]


def test_an_input_becomes_an_attribute_of_an_older_version(known):
    versions = known["ai.onnx::ReduceSum"]
    values = [node_probes.written_value(versions[-1], at, value) for at, value in enumerate([(2, 3), [1]])]
    example = node_probes.Probe(versions[-1], values, {}, 1, 13)
    old = node_probes.adapted(example, versions[0])
    assert len(old.inputs) == 1
    assert list(old.attributes["axes"].ints) == [1]


def test_probes_are_valid_messages_and_the_same_for_one_seed(known):
    versions = known["ai.onnx::Add"]
    values = [node_probes.written_value(versions[-1], at, (2, 3)) for at in range(2)]
    example = node_probes.Probe(versions[-1], values, {}, 1, 14)

    def made() -> list[bytes]:
        chance = random.Random(3)
        return [node_probes.model(node_probes.changed(example, chance, ("T", "int32"), {})).SerializeToString() for _ in range(20)]

    models = made()
    assert models == made()
    elements = {value.type.tensor_type.elem_type for one in models for value in onnx.load_from_string(one).graph.input}
    assert elements == {onnx.TensorProto.INT32}


def row(outcome: str, **values: str) -> dict:
    properties = {name.replace("_", "."): value for name, value in values.items()}
    return {"operator": "ai.onnx::Elu", "version": 6, "properties": properties, "outcome": outcome}


def test_an_attribute_that_never_matters_is_left_out():
    rows = [row("+" if rank < 7 else "-", rank_X=str(rank), attribute_alpha=alpha) for rank in range(9) for alpha in ("1", "2")]
    assert set(measuring.pruned(rows)[0]["properties"]) == {"rank.X"}


def test_an_attribute_that_decides_is_kept():
    rows = [row("+" if alpha == "1" else "-", rank_X=str(rank), attribute_alpha=alpha) for rank in range(9) for alpha in ("1", "2")]
    assert set(measuring.pruned(rows)[0]["properties"]) == {"rank.X", "attribute.alpha"}


def test_only_the_presence_of_an_attribute_can_matter():
    rows = [row("-" if alpha == "none" else "+", rank_X=str(rank), attribute_alpha=alpha) for rank in range(9) for alpha in ("1", "2", "none")]
    found = {(one["properties"]["has.alpha"], one["outcome"]) for one in measuring.pruned(rows)}
    assert found == {("true", "+"), ("false", "-")}


def test_extents_apart_from_the_axis_are_compared(known):
    text = """<ir_version: 10, opset_import: ["" : 13]> g (float[2, 3] x, int64[N, 4] i) => (y) { y = GatherElements <axis = 1> (x, i) }"""
    model, versions = parser.parse_model(text), known["ai.onnx::GatherElements"]

    def equal(*indices) -> str:
        types = answer({"x": floats(2, 3), "i": {**floats(*indices), "e": "int64"}}, {"y": floats(*indices)})
        return properties(versions[-1], versions, model.graph, model.graph.node[0], types)["gather.equal"]

    assert [equal("N", 4), equal(2, 4), equal(1, 4)] == ["true", "true", "false"]


def test_an_attribute_without_enough_pairs_is_kept():
    rows = [row("+", rank_X=str(rank), attribute_alpha=alpha) for rank in range(3) for alpha in ("1", "2")]
    assert set(measuring.pruned(rows)[0]["properties"]) == {"rank.X", "attribute.alpha"}


def serve_lengths(pipe) -> None:
    """Rejects models with an `x`, and ends at a model with a `!`."""
    while True:
        try:
            models = pipe.recv()
        except EOFError:
            return
        if any(b"!" in model for model in models):
            return
        pipe.send(["rejected" if b"x" in model else "" for model in models])


def test_a_crash_concerns_one_model():
    models = [b"a", b"x", b"!", b"b", b"c"]
    assert measuring.ask_all(serve_lengths, models, 1) == ["", "rejected", "crashed", "", ""]
