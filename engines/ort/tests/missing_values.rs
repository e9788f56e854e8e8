//! ONNX Runtime 1.31 computes no value for an output of an `If` that its optimiser inlines into a branch of
//! another `If`. The run must return an error and not panic.

use std::path::PathBuf;

use typeloom_onnx::messages::read;
use typeloom_ort::Ort;
use typeloom_runtime::engine::Engine as _;
use typeloom_tensor::any_tensor::AnyTensor;

const MODEL: &str = r#"<ir_version: 10, opset_import: ["" : 18]>
g (float[7] x, bool flag) => (y, z) <int64 zero = {0}, int64 two = {2}, int64[1] nine = {9}> {
    y, z = If <
        then_branch = given () => (p, q) <int64 first = {0}> {
            shape = Shape (x)
            extent = Gather (shape, first)
            is_two = Equal (extent, two)
            o, p = If <
                then_branch = yes () => (r, s) { r = Constant <value = int64[2] {0, 1}> () s = Identity (r) },
                else_branch = no () => (t, u) <int64[1] three = {3}> { t = Identity (three) u = Identity (t) }
            > (is_two)
            q = Identity (p)
        },
        else_branch = missing () => (v, w) { v = Identity (zero) w = Identity (nine) }
    > (flag)
}"#;

#[test]
fn an_output_without_a_value_is_an_error() {
    let Ok(library) = std::env::var("ORT_DYLIB_PATH") else {
        assert!(std::env::var("CI").is_err(), "ORT_DYLIB_PATH names no shared library");
        return;
    };
    let engine = Ort::load(&PathBuf::from(library)).expect("ORT_DYLIB_PATH names ONNX Runtime");
    let bytes = typeloom_onnx::text::model_bytes(MODEL).expect("the text is a model");
    let model = read(bytes.into()).expect("the bytes are a model");
    let loaded = engine.load(&model).expect("the model is valid");
    let run = |flag: bool| {
        let x = AnyTensor::from_slice(&[7], &[0.0_f32; 7]).expect("seven elements");
        let flag = AnyTensor::from_scalar(flag);
        loaded.program.run(vec![x, flag])
    };
    assert_eq!(
        run(true).map(|outputs| outputs.len()),
        Err("ONNX Runtime gave no value for an output".to_owned())
    );
    assert_eq!(run(false).map(|outputs| outputs.len()), Ok(2), "the session can be used again");
}
