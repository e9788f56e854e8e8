"""Contracts for serving: the libraries of the systems read them, compilers accept them, and values of real runs satisfy them."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typeloom as tl

from conftest import HEAD, LIMIT

ROOT = Path(__file__).parents[3]
FORMATS = ["triton", "oip", "mlflow", "json-schema", "openapi", "c-header", "rust", "python"]
READ = ["triton", "oip", "mlflow"]

#: Names that end strings and comments, repeat after conversion, or are keywords.
NAMES = [
    'a"b', "a'b", "a\\", "a*/b", "/*", "class", "self", "data", "linux", "np", "dict", "x.y", "x/y", "x_y", "X_y",
    "\u4e2d\u6587", "\u202ebidi", "{0}", "%s", "0", "'''", '"""', "check", "to_dict", "symbols", "a</script>", "??/", "\U000e0041",
]


SYMBOLS = ["class", "self", "data", "np", "linux", 'a"b', "\u4e2d\u6587", "x y", "x.y", "x_y", "check", "axis_0", "a'b"]


def hostile() -> str:
    """A model with hostile names of inputs, outputs and symbols."""

    def quoted(name: str) -> str:
        return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'

    inputs = ", ".join(
        f"float[N, {quoted(SYMBOLS[at % len(SYMBOLS)])}] {quoted(name)}" for at, name in enumerate(NAMES)
    )
    outputs = ", ".join(quoted(name + "!") for name in NAMES)
    nodes = "  ".join(f"{quoted(name + '!')} = Neg({quoted(name)})" for name in NAMES)
    return HEAD + f"g ({inputs}) => ({outputs}) {{ {nodes} }}"


#: All element types that some format has, tensors without axes, defaults, expressions, unknown extents and equal ones.
MIXED = HEAD + """g (float[N, N, 3] square, bool flag, string[K] text, float16[N] half, int8[2, 3] small, uint64[?] any,
    float[3] scale = {1, 2, 3}, double[K] wide) => (y, z, total, words, f, h, s, a, d) {
    y = Mul(square, scale)  z = NonZero(square)  total = ReduceSum<keepdims = 0>(square)  words = Identity(text)
    f = Not(flag)  h = Neg(half)  s = Neg(small)  a = Identity(any)  d = Concat<axis = 0>(wide, wide)
}"""


def light() -> list[Path]:
    import onnx

    return sorted((Path(onnx.__file__).parent / "backend/test/data/light").glob("light_*.onnx"))


def models() -> list[Any]:
    files = [*sorted((ROOT / "models").glob("*.onnx")), *light()]
    assert len(files) > 13
    parameters = [pytest.param(file, id=file.stem) for file in files]
    return [*parameters, pytest.param(MIXED, id="mixed"), pytest.param(hostile(), id="hostile")]


def shape(port: tl.Parameter) -> list[int | str]:
    """The extents: numbers, and other ones as text."""
    shown = [str(dim) for dim in port.type.shape or []]
    return [int(dim) if dim.isdigit() else dim for dim in shown]


def signed(port: tl.Parameter) -> list[int]:
    return [dim if isinstance(dim, int) else -1 for dim in shape(port)]


@pytest.fixture(params=models())
def interface(request: pytest.FixtureRequest) -> tl.Interface:
    return tl.describe(request.param)


def test_texts_do_not_change_from_call_to_call(interface: tl.Interface) -> None:
    for name in FORMATS:
        text = interface.to_contract(name, model_name="m")
        assert text == interface.to_contract(name, model_name="m")
        assert text.endswith("\n")
        assert not any(ord(c) < 32 and c != "\n" for c in text)
        assert "\u202e" not in text


def test_contracts_describe_their_model(interface: tl.Interface) -> None:
    for name in READ:
        contract = tl.Interface.from_contract(interface.to_contract(name, model_name="m"))
        for diff in [contract.diff(interface, mode="full"), interface.diff(contract, mode="full")]:
            assert diff and not diff.differences, diff


# Triton


def triton(text: str) -> Any:
    from google.protobuf import text_format
    from tritonclient.grpc import model_config_pb2

    return text_format.Parse(text, model_config_pb2.ModelConfig())


def validate(config: Any) -> None:
    """The checks of the server (``ValidateIOShape``)."""
    for tensor in [*config.input, *config.output]:
        assert tensor.name and tensor.data_type
        assert len(tensor.dims) > 0
        assert all(dim >= 1 or dim == -1 for dim in tensor.dims)
        if tensor.HasField("reshape"):
            assert config.max_batch_size > 0 or len(tensor.reshape.shape) > 0


def test_triton_reads_configurations(interface: tl.Interface) -> None:
    config = triton(interface.to_contract("triton", model_name='m"\n'))
    validate(config)
    assert (config.name, config.platform, config.max_batch_size) == ('m"\n', "onnxruntime_onnx", 0)
    assert [tensor.name for tensor in config.input] == [it.name for it in interface.inputs]
    assert [tensor.name for tensor in config.output] == [it.name for it in interface.outputs]
    assert [tensor.optional for tensor in config.input] == [it.optional for it in interface.inputs]
    for tensor, port in zip([*config.input, *config.output], [*interface.inputs, *interface.outputs]):
        assert list(tensor.dims) == (signed(port) or [1])


def test_a_configuration_has_a_name_on_request() -> None:
    interface = tl.describe(ROOT / "models/decoder.onnx")
    assert triton(interface.to_contract("triton")).name == ""
    assert json.loads(interface.to_contract("oip"))["name"] == "decoder"
    assert json.loads(tl.describe(MIXED).to_contract("oip"))["name"] == "model"


def test_triton_forms_batches_of_a_proved_axis() -> None:
    decoder = tl.describe(ROOT / "models/decoder.onnx")
    whole = triton(decoder.to_contract("triton", model_name="m"))
    text = decoder.to_contract("triton", model_name="m", max_batch=8)
    config = triton(text)
    validate(config)
    assert config.max_batch_size == 8
    for one, other in zip([*whole.input, *whole.output], [*config.input, *config.output]):
        assert list(one.dims) == [-1, *other.dims]
    contract = tl.Interface.from_contract(text)
    assert contract.diff(decoder, mode="full")
    assert "the server passes batches of at most 8" in contract.diff(decoder).notes


def test_scalars_of_a_batch_are_reshaped() -> None:
    interface = tl.describe(HEAD + "g (float[N] x) => (y) { y = Neg(x) }")
    text = interface.to_contract("triton", model_name="m", max_batch=4)
    config = triton(text)
    validate(config)
    assert list(config.input[0].dims) == [1] and config.input[0].HasField("reshape")
    assert tl.Interface.from_contract(text).diff(interface, mode="full")


@pytest.mark.parametrize(
    ("graph", "port"),
    [
        ("g (float[N, 3] x, float[3] w) => (y) { y = Mul(x, w) }", "input `w` has the type `float[3]`"),
        ("g (float[N, 3] x) => (y) { y = ReduceSum<keepdims = 0>(x) }", "output `y` has the type `float`"),
        ("g (float[N, N] x) => (y) { y = Neg(x) }", "input `x` has the type `float[N, N]`, whose axis 1"),
        ("g (float[N] x) => (y) { y = Concat<axis = 0>(x, x) }", "output `y` has the type `float[2*N]`"),
        ("g (float[2, 3] x) => (y) { y = Neg(x) }", "input `x` has the type `float[2, 3]`"),
    ],
)
def test_batches_that_are_not_proved_are_refused(graph: str, port: str) -> None:
    with pytest.raises(tl.TypeloomError) as error:
        tl.describe(HEAD + graph).to_contract("triton", model_name="m", max_batch=8)
    assert port in str(error.value)


@pytest.mark.parametrize(
    ("ports", "refused"),
    [
        ("float8e4m3fn[N] x", ["triton", "oip", "openapi", "mlflow"]),
        ("complex64[N] x", ["triton", "oip", "openapi", "json-schema"]),
        ("bfloat16[N] x", ["mlflow"]),
        ("seq(float[N]) x", FORMATS),
        ("float[...] x", ["triton", "oip", "mlflow"]),
        ("float[0, 2] x", ["triton"]),
    ],
)
def test_types_that_a_format_lacks_are_errors_with_the_name(ports: str, refused: list[str]) -> None:
    interface = tl.describe(HEAD + f"g ({ports}) => (y) {{ y = Identity(x) }}")
    for name in FORMATS:
        if name in refused:
            with pytest.raises(tl.TypeloomError) as error:
                interface.to_contract(name, model_name="m")
            assert "input `x`" in str(error.value)
        else:
            assert interface.to_contract(name, model_name="m")


def test_other_fields_of_a_configuration_are_kept_apart() -> None:
    from google.protobuf import text_format

    interface = tl.describe(ROOT / "models/decoder.onnx")
    config = triton(interface.to_contract("triton", model_name="decoder"))
    config.instance_group.add(count=2, gpus=[0, 1])
    config.parameters["key"].string_value = 'a "value"\n\u00e9'
    config.dynamic_batching.preferred_batch_size.extend([1, 2])
    for text in [
        text_format.MessageToString(config),
        text_format.MessageToString(config, as_utf8=True, as_one_line=True),
        text_format.MessageToString(config, use_short_repeated_primitives=True, pointy_brackets=True),
    ]:
        assert tl.Interface.from_contract(text).diff(interface, mode="full")


# Open Inference Protocol


def test_the_protocol_reads_metadata(interface: tl.Interface) -> None:
    from google.protobuf import json_format
    from tritonclient.grpc import service_pb2

    text = interface.to_contract("oip", model_name="m")
    metadata = json_format.Parse(text, service_pb2.ModelMetadataResponse())
    assert [tensor.name for tensor in metadata.inputs] == [it.name for it in interface.inputs]
    for tensor, port in zip([*metadata.inputs, *metadata.outputs], [*interface.inputs, *interface.outputs]):
        assert list(tensor.shape) == signed(port)
    # What a server answers over gRPC, as JSON: integers of 64 bits are strings.
    again = tl.Interface.from_contract(json_format.MessageToJson(metadata))
    assert not again.diff(interface).differences


# MLflow


def test_mlflow_reads_signatures(interface: tl.Interface, tmp_path: Path) -> None:
    import yaml
    from mlflow.models import Model, ModelSignature

    text = interface.to_contract("mlflow", model_name="m")
    signature = ModelSignature.from_dict(json.loads(text))
    assert signature.inputs.input_names() == [it.name for it in interface.inputs]
    # The block of an `MLmodel`, written by MLflow and by this package.
    model = Model(signature=signature)
    model.save(str(tmp_path / "MLmodel"))
    assert Model.load(str(tmp_path / "MLmodel")).signature == signature
    assert tl.diff(tmp_path / "MLmodel", str(tmp_path / "MLmodel"))
    assert not tl.Interface.from_contract(tmp_path / "MLmodel").diff(interface).differences
    (tmp_path / "MLmodel").write_text("signature: " + text)
    assert yaml.safe_load((tmp_path / "MLmodel").read_text())["signature"] == json.loads(text)
    assert Model.load(str(tmp_path / "MLmodel")).signature == signature


# Values


def values(interface: tl.Interface, sizes: dict[str, int]) -> dict[str, np.ndarray[Any, Any]]:
    """Arrays for all inputs; symbols have the given sizes."""
    random = np.random.default_rng(1)
    arrays = {}
    for port in interface.inputs:
        extents = [dim if isinstance(dim, int) else sizes.setdefault(dim, 2) for dim in shape(port)]
        element = port.type.element
        if element == "string":
            arrays[port.name] = np.array(["a"] * int(np.prod(extents)), dtype=object).reshape(extents)
        else:
            numpy = {"float": "float32", "double": "float64"}.get(element or "", element)
            arrays[port.name] = random.integers(0, 2, extents).astype(numpy)
    return arrays


RUN = [*sorted((ROOT / "models").glob("*.onnx")), *[file for file in light() if "squeezenet" in file.name], MIXED, hostile()]


@pytest.fixture(params=RUN, ids=lambda it: it.stem if isinstance(it, Path) else str(RUN.index(it)))
def run(request: pytest.FixtureRequest) -> tuple[tl.Interface, dict[str, Any], dict[str, Any]]:
    """The interface of a model with inputs and outputs of a run."""
    interface = tl.describe(request.param)
    inputs = values(interface, {"past": 3})
    outputs = tl.Session(request.param).run(inputs)
    return interface, inputs, {port.name: np.asarray(value) for port, value in zip(interface.outputs, outputs)}


def plain(array: Any) -> Any:
    return np.asarray(array).tolist()


def resized(array: np.ndarray[Any, Any], axis: int) -> np.ndarray[Any, Any]:
    """An array with one more element on an axis."""
    return np.concatenate([array, np.take(array, [0], axis)], axis)


def test_json_schemas_accept_the_values_of_a_run(run: tuple[tl.Interface, dict[str, Any], dict[str, Any]]) -> None:
    import jsonschema

    interface, inputs, outputs = run
    document = json.loads(interface.to_contract("json-schema", model_name="m"))
    jsonschema.Draft202012Validator.check_schema(document)
    request = jsonschema.Draft202012Validator(document)
    response = jsonschema.Draft202012Validator(document | {"$ref": "#/$defs/response"})
    body = {name: plain(array) for name, array in inputs.items()}
    request.validate(body)
    response.validate({name: plain(array) for name, array in outputs.items()})
    for port in interface.inputs:
        without = {name: value for name, value in body.items() if name != port.name}
        assert request.is_valid(without) == port.optional
        for axis, dim in enumerate(shape(port)):
            other = body | {port.name: plain(resized(inputs[port.name], axis))}
            assert request.is_valid(other) == (not isinstance(dim, int)), (port, axis)
    assert not request.is_valid(body | {"other": 1})


def test_openapi_accepts_requests_of_the_protocol(run: tuple[tl.Interface, dict[str, Any], dict[str, Any]]) -> None:
    import jsonschema
    from openapi_spec_validator import OpenAPIV31SpecValidator

    interface, inputs, outputs = run
    document = json.loads(interface.to_contract("openapi", model_name="a {model}/1"))
    OpenAPIV31SpecValidator(document).validate()
    assert list(document["paths"]) == ["/v2/models/a%20%7Bmodel%7D%2F1/infer"]
    types = {it["name"]: it for it in [*json.loads(interface.to_contract("oip"))["inputs"]]}
    types |= {it["name"] + "\0out": it for it in [*json.loads(interface.to_contract("oip"))["outputs"]]}

    def tensor(name: str, kind: str, array: np.ndarray[Any, Any], flat: bool) -> dict[str, Any]:
        data = plain(array.reshape(-1)) if flat or array.ndim == 0 else plain(array)
        datatype = types[name + kind]["datatype"]
        return {"name": name, "datatype": datatype, "shape": list(array.shape), "data": data}

    schemas = document["components"]["schemas"]
    request = jsonschema.Draft202012Validator(schemas["InferenceRequest"])
    response = jsonschema.Draft202012Validator(schemas["InferenceResponse"])
    for flat in [True, False]:
        tensors = [tensor(name, "", array, flat) for name, array in inputs.items()]
        request.validate({"inputs": tensors})
        request.validate({"inputs": tensors[::-1], "outputs": [{"name": interface.outputs[0].name}]})
        assert not request.is_valid({"inputs": [*tensors, tensors[0]]})
        wrong = tensors[0] | {"datatype": "OTHER"}
        assert not request.is_valid({"inputs": [wrong, *tensors[1:]]})
        found = [tensor(name, "\0out", array, flat) for name, array in outputs.items()]
        response.validate({"model_name": "a {model}/1", "outputs": found})
    for port, it in zip(interface.inputs, tensors):
        without = [other for other in tensors if other is not it]
        assert request.is_valid({"inputs": without}) == port.optional


def test_mlflow_enforces_the_schema_on_arrays(run: tuple[tl.Interface, dict[str, Any], dict[str, Any]]) -> None:
    utils = pytest.importorskip("mlflow.models.utils")
    from mlflow.exceptions import MlflowException
    from mlflow.models import ModelSignature

    interface, inputs, _ = run
    signature = ModelSignature.from_dict(json.loads(interface.to_contract("mlflow")))
    arrays = {name: array.astype(str) if array.dtype == object else array for name, array in inputs.items()}
    utils._enforce_schema(arrays, signature.inputs)
    for port in interface.inputs:
        for axis, dim in enumerate(shape(port)):
            other = arrays | {port.name: resized(arrays[port.name], axis)}
            if isinstance(dim, int):
                with pytest.raises(MlflowException):
                    utils._enforce_schema(other, signature.inputs)
            else:
                utils._enforce_schema(other, signature.inputs)


def load(path: Path, text: str) -> Any:
    """A generated module."""
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules[path.stem]
    return module


def test_a_python_module_checks_the_values_of_a_run(
    run: tuple[tl.Interface, dict[str, Any], dict[str, Any]], tmp_path: Path
) -> None:
    interface, inputs, outputs = run
    module = load(tmp_path / "contract_module.py", interface.to_contract("python"))
    given = module.Inputs.from_dict(inputs)
    assert {name: plain(array) for name, array in given.to_dict().items()} == {
        name: plain(array) for name, array in inputs.items()
    }
    symbols = given.check()
    module.Outputs.from_dict(outputs).check(symbols)
    required = {port.name for port in interface.inputs if not port.optional}
    module.Inputs.from_dict({name: inputs[name] for name in required}).check()
    uses = [str(dim) for port in interface.inputs for dim in shape(port)]
    for port in interface.inputs:
        for axis, dim in enumerate(shape(port)):
            changed = module.Inputs.from_dict(inputs | {port.name: resized(inputs[port.name], axis)})
            is_fixed = isinstance(dim, int)
            if is_fixed or uses.count(str(dim)) > 1:
                with pytest.raises(ValueError):
                    changed.check()
            else:
                changed.check()
        other = module.Inputs.from_dict(inputs | {port.name: np.zeros((), "datetime64[s]")})
        with pytest.raises(TypeError):
            other.check()


# Compilers


def compiles(command: list[str], folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=LIMIT, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def main(interface: tl.Interface, header: str) -> str:
    """A program that prints the number of elements of every port, with all extents 3."""
    code = '#include "contract.h"\n#include <stdio.h>\n#include <string.h>\nint main(void) {\n'
    for line in header.splitlines():
        if line.startswith("static inline int64_t "):
            function, ty = line.split("(")[0].split()[-1], line.split("const ")[1].split(" *")[0]
            code += f"  {{ {ty} tensor; memset(&tensor, 0, sizeof tensor);\n"
            body = header[header.index(f"typedef struct {ty} {{") :].split("}")[0]
            for field in body.splitlines():
                if field.startswith("  int64_t ") and "*" not in field.split(";")[0]:
                    code += f"    tensor.{field.split(';')[0].split()[-1]} = 3;\n"
            code += f'    printf("%d\\n", (int){function}(&tensor)); }}\n'
    return code + "  return 0;\n}\n"


@pytest.mark.parametrize(("compiler", "standard"), [("cc", "c99"), ("c++", "c++11")])
def test_c_and_cpp_compile_the_header(interface: tl.Interface, compiler: str, standard: str, tmp_path: Path) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"there is no {compiler}")
    header = interface.to_contract("c-header", model_name="2 models*/")
    (tmp_path / "contract.h").write_text(header)
    source = "main.c" if compiler == "cc" else "main.cpp"
    (tmp_path / source).write_text(main(interface, header))
    flags = [f"-std={standard}", "-pedantic", "-Wall", "-Wextra", "-Werror"]
    compiles([compiler, *flags, source, "-o", "program"], tmp_path)
    counts = [int(line) for line in compiles([str(tmp_path / "program")], tmp_path).split()]
    expected = [
        int(np.prod([dim if isinstance(dim, int) else 3 for dim in shape(port)]))
        for port in [*interface.inputs, *interface.outputs]
    ]
    assert counts == expected


def test_rustc_compiles_the_module(interface: tl.Interface, tmp_path: Path) -> None:
    if shutil.which("rustc") is None:
        pytest.skip("there is no rustc")
    (tmp_path / "contract.rs").write_text(interface.to_contract("rust", model_name="m\n*/"))
    compiles(["rustc", "--edition", "2024", "--crate-type", "lib", "-D", "warnings", "contract.rs"], tmp_path)


def test_a_rust_program_checks_lengths(tmp_path: Path) -> None:
    if shutil.which("rustc") is None:
        pytest.skip("there is no rustc")
    interface = tl.describe(HEAD + "g (float[N, 3] x, float[3] w = {1, 2, 3}) => (y) { y = Mul(x, w) }")
    (tmp_path / "contract.rs").write_text(interface.to_contract("rust"))
    (tmp_path / "main.rs").write_text(
        "mod contract;\nuse contract::{Inputs, Model, Outputs};\nstruct Double;\nimpl Model for Double {\n"
        "type Error = ();\nfn run(&self, it: Inputs<'_>) -> Result<Outputs, ()> {\n"
        "it.check().map_err(|_| ())?; Ok(Outputs { y: it.x.iter().map(|x| 2.0 * x).collect(), n: it.n }) }\n}\n"
        "fn main() {\nlet x = [1.0; 6];\n"
        "let outputs = Double.run(Inputs { x: &x, w: None, n: 2 }).unwrap();\n"
        "assert_eq!(outputs.y_shape(), [2, 3]);\nassert!(outputs.check().is_ok());\n"
        "let error = Inputs { x: &x, w: Some(&x), n: 2 }.check().unwrap_err();\n"
        'assert_eq!(error.to_string(), "\\"w\\" has 6 elements, and the shape [3]");\n'
        "assert!(Inputs { x: &x, w: None, n: usize::MAX }.check().is_err());\n}\n"
    )
    compiles(["rustc", "--edition", "2021", "main.rs", "-A", "dead_code", "-o", "program"], tmp_path)
    compiles([str(tmp_path / "program")], tmp_path)


def test_type_checkers_accept_the_modules(tmp_path: Path) -> None:
    for at, model in enumerate([ROOT / "models/decoder.onnx", MIXED, hostile(), HEAD + "g () => () { }"]):
        (tmp_path / f"contract{at}.py").write_text(tl.describe(model).to_contract("python"))
    (tmp_path / "use.py").write_text(
        "import numpy as np\nfrom contract0 import Inputs, Model, Outputs\n"
        "def call(model: Model, given: dict[str, np.ndarray[tuple[int, ...], np.dtype[np.float32]]]) -> Outputs:\n"
        "    inputs = Inputs.from_dict(given)\n    outputs = model(inputs)\n    outputs.check(inputs.check())\n    return outputs\n"
    )
    compiles([sys.executable, "-m", "mypy", "--strict", "--python-version", "3.10", "."], tmp_path)
    (tmp_path / "pyrightconfig.json").write_text('{"typeCheckingMode": "strict", "pythonVersion": "3.10"}')
    compiles([sys.executable, "-m", "pyright", "--pythonpath", sys.executable], tmp_path)


# Errors


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("platform: ", "line 1, column 11: expected a value, found the end of the file"),
        ("input { name: 'x' }", "line 1, column 7: the tensor has no `data_type`"),
        ("max_batch_size: 'x'", "line 1, column 17: expected an integer"),
        ("max_batch_size: 0", "the contract lists no inputs and outputs"),
        ("input { name: 'x' data_type: TYPE_FP32 dims: 0 }", "line 1, column 46: an extent is -1 or at least 1"),
        ('{"inputs": [{"name": "x", "datatype": "FP99", "shape": [1]}]}', "inputs[0].datatype: unknown data type `FP99`"),
        ('{"inputs": [{"name": "x", "datatype": "FP32", "shape": [-2]}]}', "inputs[0].shape[0]: an extent is"),
        ('{"inputs": "[]x"}', "inputs: line 1, column 3: trailing characters"),
        ("nothing", "no Triton configuration"),
        ("input { name: 'x' data_type: 11 dims: 1 } input { name: 'x' data_type: 11 dims: 1 }", "`x` is listed twice"),
    ],
)
def test_malformed_contracts_are_errors_with_a_position(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "config.pbtxt").write_text(text)
    is_config = not text.startswith("{") and text != "nothing"
    with pytest.raises(tl.TypeloomError) as error:
        tl.Interface.from_contract(tmp_path / "config.pbtxt" if is_config else text)
    assert message in str(error.value)


def test_unknown_formats_and_options_are_errors() -> None:
    interface = tl.describe(MIXED)
    with pytest.raises(ValueError, match="no format `x`"):
        interface.to_contract("x")
    with pytest.raises(tl.TypeloomError, match="only `triton` has a maximum batch size"):
        interface.to_contract("oip", max_batch=1)
