//! Verdicts about contracts and models.

use typeloom_interface::{Interface, PortIdentity, compare};
use typeloom_pool::compat::Direction;
use typeloom_serving::{Contract, Format, Options, ReadError, write};

use crate::support::{interface, port, rich};

/// The differences that a contract has to a model, and whether callers of the contract can use the model.
fn verdict(contract: &str, model: &Interface) -> (bool, Vec<String>) {
    let contract = Contract::read(contract.as_bytes(), None).expect("the contract is well formed");
    let part = contract.project(model).interface;
    let comparison = compare(&contract.interface(), &part, Direction::Backward, PortIdentity::Name);
    let shown = comparison.to_string().lines().map(str::to_owned).collect();
    (comparison.is_compatible(), shown)
}

/// A configuration with one input and one output.
fn config(input: &str, output: &str) -> String {
    format!(
        "input {{ name: 'x' data_type: TYPE_FP32 dims: [{input}] }}\n\
         output {{ name: 'y' data_type: TYPE_FP32 dims: [{output}] }}"
    )
}

#[test]
fn inputs_may_be_wider_in_the_model_and_outputs_narrower() {
    let model = |input: &str, output: &str| interface(&[port("x", &[input])], &[port("y", &[output])]);
    for (contract, own, is_compatible, difference) in [
        (("3", "3"), ("3", "3"), true, None),
        (("3", "3"), ("N", "3"), true, Some("inputs.x.shape[0]: extent-changed (3 to ?)")),
        (("-1", "3"), ("3", "3"), false, Some("inputs.x.shape[0]: extent-changed (? to 3)")),
        (("3", "-1"), ("3", "3"), true, Some("outputs.y.shape[0]: extent-changed (? to 3)")),
        (("3", "3"), ("3", "N"), false, Some("outputs.y.shape[0]: extent-changed (3 to ?)")),
        (("-1", "-1"), ("N", "N"), true, None),
    ] {
        let (found, differences) = verdict(&config(contract.0, contract.1), &model(own.0, own.1));
        assert_eq!((found, differences.first().map(String::as_str)), (is_compatible, difference));
        assert!(differences.len() < 2, "{differences:?}");
    }
}

#[test]
fn ports_are_compared_by_name() {
    let tensors = |names: &[&str]| -> Vec<_> { names.iter().map(|name| port(name, &["2"])).collect() };
    let contract =
        write(Format::Oip, &interface(&tensors(&["a", "b"]), &tensors(&["c", "d"])), &Options::named("m"))
            .expect("the types are supported");
    let all = |inputs: &[&str], outputs: &[&str]| {
        verdict(&contract, &interface(&tensors(inputs), &tensors(outputs)))
    };
    assert_eq!(all(&["b", "a"], &["d", "c"]), (true, Vec::new()));
    assert_eq!(all(&["a"], &["c", "d"]), (false, vec!["inputs.b: input-removed (float[2] to )".to_owned()]));
    assert_eq!(all(&["a", "b", "e"], &["c", "d"]).1, ["inputs.e: input-added ( to float[2])"]);
    assert!(!all(&["a", "b", "e"], &["c", "d"]).0);
    assert!(all(&["a", "b"], &["c", "d", "e"]).0);
    assert!(!all(&["a", "b"], &["c"]).0);
    let mut optional = port("e", &["2"]);
    optional.optional = true;
    let model = interface(&[tensors(&["a", "b"]), vec![optional]].concat(), &tensors(&["c", "d"]));
    assert!(verdict(&contract, &model).0);
}

#[test]
fn batches_add_an_axis_to_all_tensors() {
    let model = interface(&[port("x", &["N", "3"])], &[port("y", &["N"])]);
    let config = "max_batch_size: 8 input { name: 'x' data_type: TYPE_FP32 dims: 3 } \
                  output { name: 'y' data_type: TYPE_FP32 dims: 1 reshape { shape: [ ] } }";
    assert_eq!(verdict(config, &model), (true, Vec::new()));
    let fixed = interface(&[port("x", &["4", "3"])], &[port("y", &["4"])]);
    assert_eq!(
        verdict(config, &fixed).1.first().map(String::as_str),
        Some("inputs.x.shape[0]: extent-changed (? to 4)")
    );
}

#[test]
fn one_element_is_compared_with_a_tensor_without_axes() {
    let scalar = interface(&[port("x", &[])], &[port("y", &[])]);
    assert_eq!(verdict(&config("1", "1, 1"), &scalar), (true, Vec::new()));
    assert!(!verdict(&config("2", "1"), &scalar).0);
    let oip = r#"{"inputs": [{"name": "x", "datatype": "FP32", "shape": [1]}], "outputs": []}"#;
    assert!(!verdict(oip, &scalar).0);
}

#[test]
fn facts_that_a_contract_lacks_are_notes() {
    let model = rich();
    let text = write(Format::Triton, &model, &Options::named("m")).expect("the types are supported");
    let contract =
        Contract::read(text.as_bytes(), Some("config.pbtxt")).expect("the text is a configuration");
    assert_eq!(
        contract.project(&model).notes,
        [
            "triton cannot express: N: the same number in 3 axes (inputs.x.shape[0], inputs.text */ \"\n.shape[1], outputs.y.shape[0])",
            "triton cannot express: outputs.z.shape[0] is 2*N",
            "triton cannot express: the model needs N <= 64",
        ]
    );
    let config = "max_batch_size: 2 sequence_batching { } output { name: 'y' data_type: TYPE_FP32 dims: 1 }";
    let contract = Contract::read(config.as_bytes(), None).expect("the text is a configuration");
    let notes = contract.project(&interface(&[], &[])).notes;
    assert_eq!(
        notes,
        [
            "the inputs and outputs of `sequence_batching` are not compared",
            "the server passes batches of at most 2",
        ]
    );
}

#[test]
fn a_single_tensor_without_a_name_is_the_first_one() {
    let tensor = r#"[{"type": "tensor", "tensor-spec": {"dtype": "float32", "shape": [-1, 3]}}]"#;
    let signature = serde_json::json!({"inputs": tensor, "outputs": tensor}).to_string();
    let model = interface(&[port("x", &["N", "3"])], &[port("y", &["N", "3"])]);
    assert_eq!(verdict(&signature, &model), (true, Vec::new()));
    let other = interface(&[port("x", &["N", "4"])], &[port("y", &["N", "3"])]);
    assert!(!verdict(&signature, &other).0);
}

#[test]
fn files_that_are_no_contracts_are_not_recognised() {
    for bytes in [
        &b"\x08\x0a\x12\x00"[..],
        b"",
        b"{}",
        b"{\"a\": [1]}",
        b"ir_version: 8 graph { input { name: 'x' } }",
        b"<ir_version: 10> g () => () {}",
        b"name: \"model\"",
        b"[1, 2]",
        b"\xff\xfe",
    ] {
        assert_eq!(Contract::format_of(bytes, Some("file")), None, "{bytes:?}");
    }
    let large = vec![b' '; typeloom_serving::MAX_BYTES + 1];
    assert!(matches!(Contract::read_as(Format::Triton, &large), Err(ReadError::TooLarge { .. })));
    assert_eq!(Contract::read_as(Format::Rust, b"").err(), Some(ReadError::WriteOnly(Format::Rust)));
}
