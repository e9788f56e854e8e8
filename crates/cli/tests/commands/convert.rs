//! `typeloom convert`: its output for programs, given inputs, and what it refuses.

use serde_json::Value;

use super::support::Folder;

const MODEL: &str = "h = Relu(x)\ny = Softmax(h)";

fn json(run: &super::support::Run) -> Value {
    assert_eq!(run.code, 0, "{run:?}");
    serde_json::from_str(&run.out).expect("the output is JSON")
}

#[test]
fn a_conversion_is_written_and_has_no_errors() {
    let folder = Folder::new("convert");
    folder.model("m.onnx", MODEL);
    let found =
        json(&folder.run(&["convert", "m.onnx", "--to", "float16", "-o", "h.onnx", "--format", "json"]));
    assert_eq!((&found["converted"], found["casts"].as_array().map(Vec::len)), (&Value::from(2), Some(0)));
    assert_eq!(folder.run(&["check", "h.onnx"]).code, 0);
    // An existing output is replaced on request, but not the model itself.
    let again = ["convert", "m.onnx", "--to", "bfloat16", "-o", "h.onnx", "--force"];
    assert_eq!((folder.run(&again[..6]).code, folder.run(&again).code), (2, 0));
    let refused = folder.run(&["convert", "m.onnx", "--to", "float16", "-o", "m.onnx"]);
    assert!(refused.code == 2 && refused.err.contains("--in-place"), "{refused:?}");
}

#[test]
fn an_impossible_conversion_writes_nothing() {
    let folder = Folder::new("convert-refused");
    folder.model("m.onnx", MODEL);
    folder.model("wrong.onnx", "h = Relu(x)\ny = MatMul(h, n)");
    for (arguments, reason) in [
        (&["m.onnx", "--to", "int8"][..], "there is no conversion to int8"),
        (&["m.onnx", "--to", "float"], "nothing to convert"),
        (&["m.onnx", "--to", "float16", "--keep", "Gelu"], "`Gelu`"),
        (&["wrong.onnx", "--to", "float16"], "not converted"),
        #[cfg(feature = "run")]
        (&["m.onnx", "--to", "float16", "--data", "m.onnx"], "not an `.npz` file"),
        #[cfg(feature = "run")]
        (&["m.onnx", "--to", "float16", "--tolerance=-1"], "tolerance"),
    ] {
        let run = folder.run(&[&["convert"], arguments, &["-o", "h.onnx"]].concat());
        assert!(run.code > 0 && !folder.exists("h.onnx"), "{run:?}");
        assert!(format!("{}{}", run.out, run.err).contains(reason), "{run:?}");
    }
}
