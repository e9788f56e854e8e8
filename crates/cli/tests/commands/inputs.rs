//! Inputs of `typeloom run` that are written on the command line.

use super::support::Folder;

fn folder(name: &str) -> Folder {
    let folder = Folder::new(name);
    let text = "<ir_version: 10, opset_import: [\"\": 21]>\n\
        main (int64 steps, bool[N] mask, float[N, 2] x, string s, float a, float \"a=b\") => (t, m, z, r, c, d) {\n\
        t = Identity(steps) m = Not(mask) z = Neg(x) r = Identity(s) c = Neg(a) d = Neg(\"a=b\") }";
    folder.write(
        "m.onnx",
        typeloom_project::parts::onnx::text::model_bytes(text).unwrap_or_else(|error| panic!("{error}")),
    );
    folder
}

/// The rest of the line of an output.
fn output(text: &str, name: &str) -> String {
    let outputs = text.lines().skip_while(|line| *line != "outputs");
    let mut words = outputs.filter_map(|line| line.trim_start().strip_prefix(&format!("{name} ")));
    words
        .next()
        .unwrap_or_else(|| panic!("no `{name}` in {text}"))
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
}

#[test]
fn scalars_and_lists_are_values_of_the_type_of_the_input() {
    let folder = folder("literals");
    let run = folder.run(&[
        "run",
        "m.onnx",
        "-i",
        "steps=4",
        "-i",
        "mask=[1, 0, true]",
        "-i",
        "x=[[1, 2.5], [3, 4], [5, -6]]",
        "-i",
        "s=a=b",
        "-i",
        "a=1",
        "-i",
        "a=b=2",
    ]);
    assert_eq!(run.code, 0, "{}", run.err);
    assert_eq!(output(&run.out, "t"), "int64 4");
    assert_eq!(output(&run.out, "m"), "bool[3] 0, 1, 0");
    assert_eq!(output(&run.out, "z"), "float[3, 2] -1, -2.5, -3, -4, -5, 6");
    assert_eq!(output(&run.out, "r"), "string \"a=b\"");
    // The longest name of an input counts.
    assert_eq!(
        (output(&run.out, "c"), output(&run.out, "d")),
        ("float -1".to_owned(), "float -2".to_owned())
    );
    assert!(run.out.contains("N = 3") && !run.out.contains("generated"), "{}", run.out);
}

#[test]
fn a_value_that_does_not_fit_is_an_error_that_names_the_input() {
    let folder = folder("misfits");
    for (input, expected) in [
        ("steps=4.5", "input `steps`: `4.5` is no value of type int64"),
        ("steps=[4]", "input `steps`: int64[1] is not int64"),
        ("mask=[2]", "input `mask`: `2` is no value of type bool"),
        ("x=[1, 2]", "input `x`: float[2] is not float[N, 2]"),
        ("x=[[1, 2, 3]]", "input `x`: float[1, 3] is not float[N, 2]"),
        ("x=[[1], [2, 3]]", "input `x`: list [1] has 2 elements, and those before it have 1"),
        ("x=[[1, 2]", "input `x`: `,` or `]` is expected at ``"),
        ("x=m.onnx", "input `x`: `m.onnx` is neither a value nor a `.npy` or `.pb` file"),
        ("y=1", "the model has no input `y`; it has `steps`, `mask`, `x`, `s`, `a` and `a=b`"),
        ("steps", "an input is written NAME=VALUE or NAME=FILE, not `steps`"),
        ("x=gone.npy", "cannot read `gone.npy`"),
    ] {
        let run = folder.run(&["run", "m.onnx", "-i", input]);
        assert!(
            run.code == 2 && run.err.starts_with(&format!("typeloom: {expected}")),
            "{input}: {}",
            run.err
        );
    }
    let twice = folder.run(&["run", "m.onnx", "-i", "mask=[1, 0]", "-i", "x=[[1, 2]]"]);
    assert!(twice.code == 2 && twice.err.contains("input `x`"), "{}", twice.err);
}

#[test]
fn a_seed_is_a_type_and_a_number_for_it_names_the_other_option() {
    let folder = folder("seeds");
    let run = folder.run(&["run", "m.onnx", "--seed", "3"]);
    assert_eq!(
        (run.code, run.err.as_str()),
        (2, "typeloom: a seed is written NAME=TYPE, not `3`; `run` has --random-seed for generated inputs\n")
    );
    let typed = folder.run(&["run", "m.onnx", "--seed", "x=float[5, 2]", "--random-seed", "3"]);
    assert!(
        typed.code == 0 && typed.out.contains("N = 5") && typed.out.contains("from seed 3"),
        "{}",
        typed.out
    );
}

#[test]
fn maps_are_objects_or_stored_messages_and_others_are_refused() {
    use typeloom_project::parts::onnx::messages::{MapProto, SequenceProto, TensorProto};
    use typeloom_project::parts::onnx::prost::Message as _;
    use typeloom_project::parts::tensor::any_tensor::AnyTensor;
    let folder = Folder::new("maps");
    let text = "<ir_version: 9, opset_import: [\"\": 21, \"ai.onnx.ml\": 3]>\n\
        g (map(int64, float) m) => (y) { y = \"ai.onnx.ml\".DictVectorizer <int64_vocabulary = [1, 2, 3]> (m) }";
    folder.write(
        "m.onnx",
        typeloom_project::parts::onnx::text::model_bytes(text).unwrap_or_else(|error| panic!("{error}")),
    );
    let stored = |keys: &[i64], values: &[f32]| {
        let tensor_values =
            values.iter().map(|value| TensorProto::from(&AnyTensor::from_scalar(*value))).collect();
        let values = SequenceProto { tensor_values, ..SequenceProto::default() };
        let map = MapProto {
            key_type: Some(7),
            keys: keys.to_vec(),
            values: Some(Box::new(values)),
            ..MapProto::default()
        };
        map.encode_to_vec()
    };
    folder.write("good.pb", stored(&[3, -1, 1], &[0.5, 9.0, 2.0]));
    folder.write("twice.pb", stored(&[3, 3], &[0.5, 9.0]));
    folder.write("short.pb", stored(&[3, 1], &[0.5]));
    folder.write("empty.pb", stored(&[], &[]));
    for (value, expected) in [
        ("m={\"3\": 0.5, \"-1\": 9, \"1\": 2}", "float[1, 3] 2, 0, 0.5"),
        ("m={}", "float[1, 3] 0, 0, 0"),
        ("m=good.pb", "float[1, 3] 2, 0, 0.5"),
    ] {
        let run = folder.run(&["run", "m.onnx", "--verify", "-i", value]);
        assert_eq!(run.code, 0, "{value}: {}", run.err);
        assert_eq!(output(&run.out, "y"), expected, "{value}");
    }
    for (value, expected) in [
        ("m=[1]", "input `m`: an object of JSON with the entries of a map is expected at `[1]`"),
        ("m={\"a\": 1}", "input `m`: `a` is no value of type int64"),
        ("m={\"1\": true}", "input `m`: `true` is no value of type float"),
        ("m={\"1\": [1, 2]}", "input `m`: map(int64, float[2]) of 1 is not map(int64, float)"),
        ("m=twice.pb", "cannot read `twice.pb`: `` has a key twice"),
        ("m=short.pb", "cannot read `short.pb`: `` has not one tensor for each key"),
        (
            "m=empty.pb",
            "cannot read `empty.pb`: `` is an empty map, which does not state the type of its values",
        ),
    ] {
        let run = folder.run(&["run", "m.onnx", "-i", value]);
        assert!(
            run.code == 2 && run.err.starts_with(&format!("typeloom: {expected}")),
            "{value}: {}",
            run.err
        );
    }
    let run = folder.run(&["run", "m.onnx"]);
    assert!(run.code == 0 && run.out.contains("map(int64, float) of 2"), "{}{}", run.out, run.err);
}
