use std::path::PathBuf;

use prost::Message as _;
use typeloom::check::{Checked, Options, check};
use typeloom_onnx::messages::{GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorProto};
use typeloom_testing::number;

use super::*;

/// A file in memory.
struct File<'a>(&'a [u8]);

impl Source for File<'_> {
    fn read(&mut self, start: u64, end: u64) -> Result<Bytes, FetchError> {
        Ok(Bytes::copy_from_slice(&self.0[start as usize..end as usize]))
    }
}

/// The skeleton of a file, with the limits of small records lowered to `small`.
fn walk(file: &[u8], small: u64) -> (Vec<u8>, Counts) {
    let mut source = File(file);
    let size = file.len() as u64;
    let first = Bytes::copy_from_slice(&file[..file.len().min(16)]);
    let reader = Reader::new(&mut source, Limits::default(), size, first, Counts::default());
    let mut walk = Walk { reader, small };
    (walk.model(size).expect("the limits suffice"), walk.reader.counts())
}

/// Result of a check: codes of diagnostics, and types of values.
fn outcome(file: &[u8]) -> Vec<String> {
    let lines = |mut checked: Checked<'_>| {
        let found: Vec<String> = checked.diagnostics().iter().map(|one| one.code.name().to_owned()).collect();
        found.into_iter().chain(checked.values().iter().map(ToString::to_string)).collect()
    };
    match check(file, &Options::default()) {
        Ok(checked) => lines(checked),
        Err(_) => vec!["refused".to_owned()],
    }
}

/// A model `y = Add(x, w)` with the initializer `w`.
fn model(w: TensorProto) -> Vec<u8> {
    let node = NodeProto {
        op_type: "Identity".into(),
        input: vec!["w".into()],
        output: vec!["y".into()],
        ..NodeProto::default()
    };
    let y = typeloom_onnx::messages::ValueInfoProto { name: "y".into(), ..Default::default() };
    let graph = GraphProto {
        name: "g".into(),
        node: vec![node],
        initializer: vec![TensorProto { name: "w".into(), ..w }],
        output: vec![y],
        ..GraphProto::default()
    };
    let opset = OperatorSetIdProto { domain: "".into(), version: Some(21), ..Default::default() };
    let model = ModelProto {
        ir_version: Some(10),
        graph: Some(graph),
        opset_import: vec![opset],
        ..ModelProto::default()
    };
    model.encode_to_vec()
}

fn raw(data_type: i32, dims: &[i64], bytes: usize) -> TensorProto {
    TensorProto {
        data_type: Some(data_type),
        dims: dims.to_vec(),
        raw_data: Some(vec![1; bytes].into()),
        ..TensorProto::default()
    }
}

#[test]
fn weights_are_neither_read_nor_copied() {
    let file = model(raw(1, &[1 << 20], 4 << 20));
    let (skeleton, counts) = walk(&file, SMALL);
    assert!(skeleton.len() < 300, "{}", skeleton.len());
    assert!(counts.bytes < 3000, "{counts:?}");
    assert_eq!(outcome(&skeleton), outcome(&file));
    assert_eq!(outcome(&file), ["w: float[1048576]", "y: float[1048576]"]);
}

#[test]
fn integers_that_may_decide_shapes_stay() {
    let tensor = raw(7, &[4096], 4096 * 8);
    let file = model(tensor.clone());
    assert_eq!(walk(&file, SMALL).0, file);
    // The payload precedes dims and type.
    let mut reversed =
        Records::new().bytes(9, tensor.raw_data.as_deref().unwrap_or_default()).as_wire().to_vec();
    reversed.extend(TensorProto { raw_data: None, ..tensor }.encode_to_vec());
    let mut body = Vec::new();
    put(5, &reversed, &mut body);
    let mut file = Vec::new();
    put(7, &body, &mut file);
    assert!(walk(&file, SMALL).0.len() > 4096 * 8);
}

#[test]
fn wrong_payloads_are_reported() {
    let floats = vec![1.0; 4000];
    let strings = TensorProto { string_data: vec![vec![b'x'; 9000].into(); 2], ..raw(8, &[2], 0) };
    let tensors = [
        raw(1, &[4000], 16_004),
        raw(1, &[4000], 15_996),
        raw(8, &[4000], 16_000),
        TensorProto { float_data: floats.clone(), ..raw(1, &[4000], 16_000) },
        TensorProto { float_data: floats.clone(), raw_data: None, ..raw(11, &[4000], 0) },
        TensorProto { float_data: floats.clone(), raw_data: None, ..raw(1, &[4001], 0) },
        TensorProto { data_location: Some(1), ..raw(1, &[4000], 16_000) },
        TensorProto { double_data: vec![1.0; 4000], raw_data: None, ..raw(1, &[4000], 0) },
        TensorProto { dims: vec![-1], ..raw(1, &[], 16_000) },
        TensorProto { raw_data: None, dims: vec![3], ..strings.clone() },
    ];
    for tensor in tensors {
        let file = model(tensor);
        let (skeleton, _) = walk(&file, SMALL);
        assert!(skeleton.len() < 1000, "{}", skeleton.len());
        let found = outcome(&file);
        assert!(!found[0].starts_with("w:"), "{found:?}");
        assert_eq!(outcome(&skeleton), found);
    }
    let right = [
        TensorProto { float_data: floats.clone(), raw_data: None, ..raw(1, &[4000], 0) },
        TensorProto { float_data: floats, raw_data: None, ..raw(14, &[2000], 0) },
        TensorProto { int32_data: vec![300; 9000], raw_data: None, ..raw(6, &[9000], 0) },
        TensorProto { raw_data: None, ..strings },
    ];
    for tensor in right {
        let file = model(tensor);
        let (skeleton, _) = walk(&file, SMALL);
        assert!(skeleton.len() < 1000, "{}", skeleton.len());
        let found = outcome(&file);
        assert!(found[0].starts_with("w:"), "{found:?}");
        assert_eq!(outcome(&skeleton), found);
    }
}

#[test]
fn truncated_and_damaged_files_are_reported() {
    let file = model(raw(1, &[4000], 16_000));
    for end in (1..file.len()).step_by(37) {
        let (skeleton, _) = walk(&file[..end], SMALL);
        assert_eq!(outcome(&skeleton)[..], outcome(&file[..end])[..], "{end}");
    }
    for at in 0..200.min(file.len()) {
        let step = number(4, 1);
        for bit in (at % step..8).step_by(step) {
            let mut damaged = file.clone();
            damaged[at] ^= 1 << bit;
            let (skeleton, _) = walk(&damaged, SMALL);
            // A payload in another place may be copied or cut, but the verdict is the same.
            let is_ok = |found: &[String]| found.first().is_some_and(|line| line.starts_with("w:"));
            let (found, full) = (outcome(&skeleton), outcome(&damaged));
            assert_eq!(is_ok(&found), is_ok(&full), "byte {at}, bit {bit}: {found:?}, {full:?}");
        }
    }
}

#[test]
fn deep_nesting_ends() {
    let mut body = vec![0; 5000];
    for _ in 0..300 {
        let mut outer = Vec::new();
        put(6, &body, &mut outer);
        let mut node = Vec::new();
        put(5, &outer, &mut node);
        body.clear();
        put(1, &node, &mut body);
    }
    let mut file = Vec::new();
    put(7, &body, &mut file);
    let (skeleton, _) = walk(&file, SMALL);
    assert!(skeleton.len() <= file.len() + 10);
}

/// The models of the repository, and the recorded ones, where they are available: every sixth of them in a
/// plain run.
fn models() -> Vec<PathBuf> {
    let repository = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let beside = repository.join("../shared/conformance");
    let root = std::env::var_os("TYPELOOM_CONFORMANCE").map_or(beside, PathBuf::from);
    if !root.is_dir() {
        assert_ne!(std::env::var("CI").as_deref(), Ok("true"), "the recorded models are missing");
        eprintln!("skipped: no recorded models");
    }
    let mut models = files(root);
    models.sort();
    models = models.into_iter().step_by(number(6, 1)).collect();
    models.extend(files(repository.join("models")));
    models
}

/// The models in a folder.
fn files(root: PathBuf) -> Vec<PathBuf> {
    let mut folders = vec![root];
    let mut models = Vec::new();
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(&folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "onnx") {
                models.push(path);
            }
        }
    }
    models
}

#[test]
fn skeletons_check_like_their_models() {
    let mut rewritten = 0;
    for path in models() {
        let Ok(file) = std::fs::read(&path) else { continue };
        let (skeleton, _) = walk(&file, SMALL);
        assert_eq!(outcome(&skeleton), outcome(&file), "{}", path.display());
        // With a lower limit, more records are written again. Floats of fewer elements decide no shapes.
        let (skeleton, _) = walk(&file, 64);
        assert_eq!(outcome(&skeleton), outcome(&file), "{}", path.display());
        rewritten += usize::from(skeleton != file);
    }
    eprintln!("{rewritten} models were written again");
}
