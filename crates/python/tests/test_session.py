"""Sessions: arrays in and out, errors, threads."""

from __future__ import annotations

import gc
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import typeloom as tl

from conftest import HEAD

DOUBLE = HEAD + "g (float[N, M] x) => (y) { y = Add(x, x) }"


def test_arrays_of_all_layouts_are_inputs() -> None:
    session = tl.Session(DOUBLE)
    base = np.arange(12, dtype=np.float32).reshape(3, 4)
    for array in (base, base.T, base[::2], base[:, ::-1], np.asfortranarray(base), base.astype(">f4"), base[:0]):
        [result] = session.run({"x": array})
        np.testing.assert_array_equal(result, array * 2)
    assert session.run([base])[0].tolist() == (base * 2).tolist()
    assert session(x=base)[0].shape == (3, 4)


def test_inputs_are_used_in_place_and_results_are_views() -> None:
    session = tl.Session(HEAD + "g (float[N] x) => (y, z) { y = Identity(x)  z = Neg(x) }")
    array = np.ones(1 << 20, np.float32)
    y, z = session.run([array])
    assert np.shares_memory(y, array)
    assert not z.flags.writeable and z.base is not None
    del session, array
    gc.collect()
    assert y[0] == 1.0 and z[-1] == -1.0


@pytest.mark.parametrize(
    "name",
    ["float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool",
     "complex64", "complex128"],
)
def test_element_types_pass_through(name: str) -> None:
    onnx_name = {"float32": "float", "float64": "double"}.get(name, name)
    array = np.array([[0, 1], [1, 0]], np.dtype(name))
    [result] = tl.Session(HEAD + f"g ({onnx_name}[2, 2] x) => (y) {{ y = Transpose(x) }}").run([array])
    assert result.dtype == array.dtype
    np.testing.assert_array_equal(result, array.T)


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "float8_e5m2", "int4", "uint4"])
def test_element_types_of_ml_dtypes_pass_through(name: str) -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    onnx_name = name.replace("_", "")
    array = np.array([[0, 1, 2], [3, 2, 1]]).astype(getattr(ml_dtypes, name))
    model = f'<ir_version: 10, opset_import: ["" : 21]> g ({onnx_name}[2, 3] x) => (y) {{ y = Transpose(x) }}'
    [result] = tl.Session(model).run([array])
    assert result.dtype == array.dtype
    np.testing.assert_array_equal(result.astype(np.float32), array.T.astype(np.float32))


def test_strings_sequences_and_optionals() -> None:
    strings = tl.Session(HEAD + "g (string[N] x) => (y) { y = Identity(x) }")
    assert strings.run([np.array(["a", "größe", ""])])[0].tolist() == ["a", "größe", ""]
    sequence = tl.Session(HEAD + "g (seq(float[N]) x) => (y, n) { y = Identity(x)  n = SequenceLength(x) }")
    arrays, count = sequence.run([[np.ones(2, np.float32), np.zeros(2, np.float32)]])
    assert [array.tolist() for array in arrays] == [[1.0, 1.0], [0.0, 0.0]] and count == 2
    optional = tl.Session(HEAD + "g (optional(float[2]) x) => (y) { y = OptionalHasElement(x) }")
    assert optional.run([None])[0] == np.False_ and optional.run([np.ones(2, np.float32)])[0] == np.True_


def test_maps_are_dictionaries() -> None:
    head = '<ir_version: 9, opset_import: ["" : 21, "ai.onnx.ml" : 3]> '
    node = '"ai.onnx.ml".ZipMap <classlabels_strings = ["no", "ja"]>'
    scores = tl.Session(head + f"g (float[N, 2] x) => (y) {{ y = {node} (x) }}")
    [maps] = scores.run([np.array([[0.25, 0.75], [1, 0]], np.float32)])
    assert maps == [{"ja": 0.75, "no": 0.25}, {"ja": 0.0, "no": 1.0}]
    node = '"ai.onnx.ml".DictVectorizer <int64_vocabulary = [3, 2, 1]>'
    row = tl.Session(head + f"g (map(int64, float) x) => (y) {{ y = {node} (x) }}")
    assert row.run([{3: 0.5, 1: 2}])[0].tolist() == [[0.5, 0.0, 2.0]]
    assert row.run([{}])[0].tolist() == [[0.0, 0.0, 0.0]]
    for wrong in ({"a": 1.0}, {1: [1.0, 2.0]}, {1: "a"}, [1.0], None):
        with pytest.raises((tl.TypeloomError, TypeError, ValueError)):
            row.run([wrong])
    node = '"ai.onnx.ml".DictVectorizer <string_vocabulary = ["a"]>'
    words = tl.Session(head + f"g (map(string, float) x) => (y) {{ y = {node} (x) }}")
    assert words.run([{"ü": 1.0, "a": 3.0}])[0].tolist() == [[3.0]]
    with pytest.raises(TypeError):
        words.run([{1: 1.0}])
    texts = tl.Session(head + 'g (map(int64, string) x) => (y) { y = "ai.onnx.ml".CastMap(x) }')
    assert texts.run([{5: "2", -1: "0.5"}])[0].tolist() == [[0.5, 2.0]]


def test_wrong_inputs_are_named() -> None:
    session = tl.Session(HEAD + "g (float[N, 2] x, float[N] w) => (y) { y = MatMul(w, x) }")
    x, w = np.ones((3, 2), np.float32), np.ones(3, np.float32)
    assert session.run([x, w])[0].tolist() == [3.0, 3.0]
    for inputs, name in (
        ({"x": x}, "w"),
        ({"x": x, "w": w, "z": w}, "z"),
        ({"x": x.astype(np.float64), "w": w}, "x"),
        ({"x": x, "w": np.ones(4, np.float32)}, "w"),
        ({"x": np.ones((3, 3), np.float32), "w": w}, "x"),
    ):
        with pytest.raises(tl.TypeloomError, match=f"`{name}`"):
            session.run(inputs)
    with pytest.raises(ValueError):
        session.run([x, w, w])
    with pytest.raises(TypeError):
        session.run({"x": np.array(["2020-01-01"], dtype="datetime64[D]"), "w": w})
    assert session.run([x, w])[0].tolist() == [3.0, 3.0]


def test_a_model_with_errors_is_refused(wrong: str) -> None:
    with pytest.raises(tl.ModelError) as error:
        tl.Session(wrong)
    assert error.value.diagnostics[0].code == "dim-mismatch"
    with pytest.raises(ValueError):
        tl.Session(DOUBLE, backend="none")


def test_objects_with_dlpack_are_inputs() -> None:
    class Foreign:
        def __init__(self, array: np.ndarray[Any, Any]) -> None:
            self.array = array

        def __dlpack__(self, **options: Any) -> Any:
            return self.array.__dlpack__(**options)

        def __dlpack_device__(self) -> Any:
            return self.array.__dlpack_device__()

    array = np.ones((2, 2), np.float32)
    assert tl.Session(DOUBLE).run([Foreign(array)])[0].tolist() == [[2.0, 2.0], [2.0, 2.0]]
    y = tl.Session(DOUBLE).run([array])[0]
    assert np.from_dlpack(y).tolist() == y.tolist()


def test_a_session_runs_on_many_threads() -> None:
    session = tl.Session(HEAD + "g (float[N, N] x) => (y) { h = MatMul(x, x)  y = Add(h, x) }")

    def run(seed: int) -> bool:
        x = np.random.default_rng(seed).integers(-4, 5, (32, 32)).astype(np.float32)
        return bool((session.run([x])[0] == x @ x + x).all())

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(run, range(400)))


def test_a_run_has_limits() -> None:
    loop = HEAD + """g (int64 n, float[1] x) => (y) <bool c = {1}> {
        y = Loop (n, c, x) <body = b (int64 i, bool k, float[1] s) => (k2, t) { k2 = Identity(k)  t = Add(s, s) }>
    }"""
    session = tl.Session(loop, max_steps=1000)
    assert session.run([np.int64(3), np.ones(1, np.float32)])[0].tolist() == [8.0]
    with pytest.raises(tl.TypeloomError):
        session.run([np.int64(1 << 40), np.ones(1, np.float32)])
    with pytest.raises(tl.TypeloomError):
        tl.Session(HEAD + "g (int64[1] n) => (y) { y = ConstantOfShape(n) }", max_memory=1 << 20).run(
            [np.array([1 << 30])]
        )
    # The default grows with the model and its inputs, as for the command.
    repeated = tl.Session(HEAD + "g (float[N] x, int64[1] n) => (y) { y = Expand(x, n) }")
    assert repeated.run([np.ones(1, np.float32), np.array([4])])[0].tolist() == [1.0] * 4
    with pytest.raises(tl.TypeloomError, match="bytes"):
        repeated.run([np.ones(1, np.float32), np.array([1 << 30])])
    large = np.ones(40 << 20, np.float32)
    assert repeated.run([large, np.array([len(large)])])[0].shape == large.shape
    product = tl.Session(HEAD + "g (float[N, N] x) => (y) { y = MatMul(x, x) }", max_work=10_000)
    assert product.run([np.eye(2, dtype=np.float32)])[0].tolist() == [[1.0, 0.0], [0.0, 1.0]]
    with pytest.raises(tl.TypeloomError, match="10000 units of work"):
        product.run([np.eye(256, dtype=np.float32)])
