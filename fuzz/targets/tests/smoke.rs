//! Seeded smoke run of the fuzz targets: each returns within a time limit, on a small stack, with bounded
//! memory.

#[path = "smoke/harness.rs"]
mod harness;
#[path = "smoke/hostile.rs"]
mod hostile;
#[path = "smoke/models.rs"]
mod models;
#[path = "smoke/mutations.rs"]
mod mutations;
#[path = "smoke/operators.rs"]
mod operators;
#[path = "smoke/seeds.rs"]
mod seeds;

use harness::{memory_is_bounded, survive};
use mutations::mutilate;
use typeloom_components::codec::deflated::Deflated;
use typeloom_components::codec::int8::Int8;
use typeloom_components::model::{Network, Settings};
use typeloom_components::source::npy;
use typeloom_contracts::codec::Codec;
use typeloom_fuzz_targets as target;
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::datum::{Datum, WireReqId};
use typeloom_testing::{Random, number};

/// Targets that take the bytes of a model.
const BINARY: [fn(&[u8]); 7] = [
    target::view,
    target::messages,
    target::check,
    target::transform,
    target::compile,
    target::scene,
    target::link_models,
];

fn all_binary(bytes: &[u8]) {
    BINARY.iter().for_each(|target| target(bytes));
}

/// Runs inputs by name on the targets of [`BINARY`]: on all, or in a plain run on every sixth, counted over
/// all names. So each name has a target, and the target differs between neighbours.
fn survive_binary(cases: impl IntoIterator<Item = (String, Vec<Vec<u8>>)>) {
    let step = number(6, 1);
    for (case, (name, inputs)) in cases.into_iter().enumerate() {
        let targets = BINARY.iter().enumerate();
        for (_, target) in targets.filter(|(at, _)| (case * BINARY.len() + at).is_multiple_of(step)) {
            survive(&name, &inputs, *target);
        }
    }
}

#[test]
fn models_pass_through_every_target() {
    for (name, bytes) in models::small().into_iter().chain(seeds::models()) {
        survive(&name, &[bytes], all_binary);
    }
}

#[test]
fn truncated_models_are_refused_or_checked() {
    for (name, bytes) in models::small().into_iter().chain(seeds::models()) {
        let step = (bytes.len() / 8).max(1);
        let cut: Vec<_> = (0..bytes.len()).step_by(step).map(|end| bytes[..end].to_vec()).collect();
        survive(&format!("truncated {name}"), &cut, all_binary);
    }
}

#[test]
fn mutilated_models_are_refused_or_checked() {
    let mutilated = |models: Vec<(String, Vec<u8>)>, first: u64, count: usize| {
        let mutants = move |(seed, (name, bytes)): (u64, (String, Vec<u8>))| {
            let mut rng = Random(seed);
            (format!("mutilated {name}"), (0..count).map(|_| mutilate(&mut rng, &bytes)).collect())
        };
        (first..).zip(models).map(mutants)
    };
    survive_binary(mutilated(seeds::models(), 0, 24).chain(mutilated(models::small(), 1000, 3)));
}

#[test]
fn mutilated_texts_are_refused_or_checked() {
    for (seed, text) in seeds::TEXTS.iter().enumerate() {
        let mut rng = Random(2000 + seed as u64);
        let mutants: Vec<_> = (0..60).map(|_| mutilate(&mut rng, text.as_bytes())).collect();
        survive("mutilated text", &mutants, target::text);
    }
}

#[test]
fn hostile_models_are_refused_or_checked() {
    let models = hostile::models().into_iter().step_by(number(3, 1));
    survive_binary(models.map(|(name, bytes)| (name.to_owned(), vec![bytes])));
    memory_is_bounded();
}

#[test]
fn hostile_texts_are_refused_or_checked() {
    for (name, text) in hostile::texts() {
        survive(name, &[text.into_bytes()], target::text);
    }
    memory_is_bounded();
}

#[test]
fn operators_survive_hostile_arguments() {
    let targets: [fn(&[u8]); 2] = [target::check, target::transform];
    let models = operators::models();
    let cases = models.iter().flat_map(|case| targets.map(|target| (case, target)));
    for ((name, models), target) in cases.step_by(number(5, 1)) {
        survive(name, models, target);
    }
    memory_is_bounded();
}

#[test]
fn operators_on_hostile_shapes_return_a_result_or_an_error() {
    for operator in 0..target::operator_count() {
        let mut rng = Random(11_000 + operator as u64);
        let models: Vec<Vec<u8>> = (0..number(1, 8))
            .map(|_| {
                let number = u16::try_from(operator).expect("there are fewer operators");
                number.to_le_bytes().into_iter().chain((0..64).map(|_| rng.bits() as u8)).collect()
            })
            .collect();
        survive(&format!("operator {operator}"), &models, target::operators);
    }
    memory_is_bounded();
}

/// Every target of `fuzz/` runs in a test of this file.
#[test]
fn every_fuzz_target_has_a_test() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../fuzz_targets");
    let own = include_str!("smoke.rs");
    for file in std::fs::read_dir(folder).expect("the targets are there") {
        let text = std::fs::read_to_string(file.expect("the folder can be read").path()).expect("it is text");
        let call = text.split("typeloom_fuzz_targets::").nth(1).expect("a target calls a function");
        let name = call.split('(').next().unwrap_or_default();
        assert!(own.contains(&format!("target::{name}")), "`{name}` is not run");
    }
}

#[test]
fn bundles_are_refused_or_imported() {
    for (name, bytes) in hostile::bundles() {
        survive(&name, std::slice::from_ref(&bytes), target::bundle);
        let mut rng = Random(3000 + bytes.len() as u64);
        let mutants: Vec<_> = (0..60).map(|_| mutilate(&mut rng, &bytes)).collect();
        survive(&format!("mutilated {name}"), &mutants, target::bundle);
    }
}

/// A description that uses every part of the format, for the operators of the target's model.
const DESCRIPTION: &str = r#"typeloom-operators 1
group f float float16
domain d 1
op A 1
  type T tensor(f)
  in x T
  in w T
  in n tensor(int64)
  out y T
  attr k int = 1
  attr mode string = "y"
  attr list ints
  shape x [a, k * b, r...]
  shape w [c, m]
  let e = max(value(n, 0), a) - min(b, 3) % 2
  require axis(x, -1) = c
  when mode = "x" and has(n) and not has(list): shape y [a]
  when rank(x) = 3 and k >= 2: shape y [e // k, list[1], size(r), _, if(a < b, a, -b)]
op B 1
  in x tensor(float)
  out y tensor(float)
  like Transpose 13
op C 1
  type T tensor(f)
  in x T
  in u T optional
  out y T
  attr k int = 1
  shape x [p...]
  shape u [q...]
  shape y [broadcast(p, q)..., any(p)..., ones(q)..., 5 // k]
op D 1
  type T tensor(float+int64)
  in x T variadic 1 mixed
  out y T
  shape out y [axis(x, 9), value(x, 7)]
"#;

#[test]
fn descriptions_of_operators_are_refused_or_used() {
    typeloom_ops::described::Described::parse(DESCRIPTION).expect("the description is in the form");
    for (seed, text) in [DESCRIPTION, typeloom_ops::described::Described::MICROSOFT].into_iter().enumerate() {
        let mut rng = Random(4000 + seed as u64);
        let mut mutants: Vec<_> = (0..number(24, 120)).map(|_| mutilate(&mut rng, text.as_bytes())).collect();
        mutants.push(text.as_bytes().to_vec());
        survive("descriptions", &mutants, target::described);
    }
    let deep = |open: &str, close: &str| {
        let (open, close) = (open.repeat(4000), close.repeat(4000));
        format!(
            "typeloom-operators 1\ndomain d 1\nop A 1\n  in x tensor(float)\n  shape x [{open}1{close}]\n"
        )
        .into_bytes()
    };
    survive(
        "deep descriptions",
        &[deep("(", ")"), deep("-", ""), deep("min(1,", ")"), deep("if(not has(x),1,", ")")],
        target::described,
    );
    memory_is_bounded();
}

#[test]
fn contracts_for_serving_are_refused_or_read() {
    let seeds = [
        "name: \"m\" max_batch_size: 4\ninput [{ name: 'x' data_type: TYPE_FP32 dims: [ -1, 3 ] }]\noutput { name: \"y\\n\" \
         data_type: TYPE_STRING dims: [1] reshape { shape: [ ] } optional: true } other < a: [1.5e3, -0x7] >",
        r#"{"name": "m", "inputs": [{"name": "x", "datatype": "FP32", "shape": ["-1", 3]}], "outputs": [{"name": "y", "datatype": "BYTES"}]}"#,
        r#"{"signature": {"inputs": "[{\"type\": \"tensor\", \"tensor-spec\": {\"dtype\": \"str\", \"shape\": [-1]}}]"}}"#,
        "a: 1\nsignature:\n  inputs: '[{\"name\": \"x\", \"type\": \"tensor\",\n    \"tensor-spec\": {\"dtype\": \"int64\", \
         \"shape\": [2]}}]'\n  outputs: \"[]\"\nb: 2\n",
    ];
    for (seed, text) in seeds.into_iter().enumerate() {
        let mut rng = Random(7000 + seed as u64);
        let mut mutants: Vec<_> = (0..400).map(|_| mutilate(&mut rng, text.as_bytes())).collect();
        mutants.push(text.as_bytes().to_vec());
        survive("contracts", &mutants, target::contract);
        assert!(typeloom_serving::Contract::read(text.as_bytes(), None).is_ok(), "{text}");
    }
    let deep = ["input {", "a: [{", "a <", "[", "{\"inputs\":", "signature:\n  inputs: '[\n\n", "a: \""];
    survive("deep contracts", &deep.map(|open| open.repeat(20_000).into_bytes()), target::contract);
    memory_is_bounded();
}

#[test]
fn messages_of_the_wire_are_refused_or_taken() {
    let seeds = [
        Datum::Tensor(AnyTensor::from_slice(&[2, 3], &[1.0_f32; 6]).expect("a small tensor")),
        Datum::Tensor(AnyTensor::from_strings(&[2], &["a", "bc"]).expect("a small tensor")),
        Datum::Sequence(vec![Datum::Trigger, Datum::Optional(Some(Box::new(Datum::Peers(vec![]))))]),
        Datum::Composite(vec![("part".to_owned(), Datum::Request(WireReqId(300)))]),
    ];
    for (seed, value) in seeds.iter().enumerate() {
        let message = target::wire_message(value);
        let mut rng = Random(5000 + seed as u64);
        let mut inputs: Vec<_> = (0..150).map(|_| mutilate(&mut rng, &message)).collect();
        inputs.extend((0..message.len()).map(|end| message[..end].to_vec()));
        inputs.push(message);
        survive("messages", &inputs, target::wire);
    }
    memory_is_bounded();
}

#[test]
fn messages_of_codecs_are_refused_or_decoded() {
    let tensor =
        AnyTensor::from_slice(&[2, 3], &[0.5_f32, -1.0, 3.0, 0.0, 1e9, 2.0]).expect("a small tensor");
    let by_row: Int8 = Int8::along(0);
    let messages = [
        Int8::<AnyTensor>::default().encode(&tensor).expect("finite"),
        by_row.encode(&tensor).expect("finite"),
        Deflated::<AnyTensor>::default().encode(&tensor).expect("any tensor"),
    ];
    for (seed, message) in messages.iter().enumerate() {
        let mut rng = Random(6000 + seed as u64);
        let mut inputs: Vec<_> = (0..400).map(|_| mutilate(&mut rng, message)).collect();
        inputs.extend((0..message.len()).map(|end| message[..end].to_vec()));
        survive("messages of codecs", &inputs, target::codecs);
    }
    memory_is_bounded();
}

#[test]
fn models_are_refused_or_networks() {
    let text = r#"<ir_version: 10, opset_import: ["" : 18]> g (float[N, 2, 7, 8] x) => (y)
        <float[2, 2, 3, 2] w = {1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1}, float[2] b = {1, 2}, float[2, 3] v = {1,1,1,1,1,1}>
        { c = Conv <strides = [2, 3], pads = [0, 1, 1, 1]> (x, w, b)  p = GlobalAveragePool(c)  f = Flatten(p)
          g = Gemm <alpha = 0.5> (f, v)  s = Softmax(g)  j = Concat <axis = 1> (s, g)  t = Transpose <perm = [1, 0]> (j)
          y = ReduceMean <keepdims = 0> (t) }"#;
    let model = typeloom_onnx::text::model_bytes(text).expect("it is a model");
    let network = Network::<AnyTensor>::from_bytes(&model, &Settings::default()).expect("it is a network");
    assert_eq!(network.not_differentiable(), None);
    let mut rng = Random(8000);
    let mut inputs: Vec<_> = (0..200).map(|_| mutilate(&mut rng, &model)).collect();
    inputs.push(model);
    inputs.extend(models::small().into_iter().map(|(_, bytes)| bytes));
    survive("networks", &inputs, target::network);
    memory_is_bounded();
}

#[test]
fn generated_programs_keep_the_laws() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../seeds/programs");
    let files = std::fs::read_dir(folder).expect("the streams of bytes are there");
    let mut paths: Vec<_> = files.map(|file| file.expect("the folder can be read").path()).collect();
    paths.sort();
    assert!(paths.len() > 10, "there are few streams of bytes");
    for (seed, path) in paths.iter().enumerate().step_by(number(4, 1)) {
        let bytes = std::fs::read(path).expect("the file can be read");
        let mut rng = Random(9000 + seed as u64);
        let mut inputs: Vec<_> = (0..2).map(|_| mutilate(&mut rng, &bytes)).collect();
        inputs.push(bytes);
        survive(&path.display().to_string(), &inputs, target::programs);
    }
    memory_is_bounded();
}

#[test]
fn files_of_samples_are_refused_or_read() {
    let tensor = AnyTensor::from_slice(&[5, 2], &[1_i16; 10]).expect("a small tensor");
    let header = br#"{"x":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]}}"#;
    let mut safetensors = (header.len() as u64).to_le_bytes().to_vec();
    safetensors.extend(header);
    safetensors.extend([0; 8]);
    let fortran =
        b"\x93NUMPY\x01\x00\x39\x00{'descr': '>f2', 'fortran_order': True, 'shape': (2, 3)}\nabcdefghijkl";
    let files = [
        npy::written(&tensor).expect("NumPy has the type"),
        fortran.to_vec(),
        safetensors,
        b"a,b\n1,2\n3,\"4\"\n".to_vec(),
    ];
    for (seed, file) in files.iter().enumerate() {
        let mut rng = Random(7000 + seed as u64);
        let mut inputs: Vec<_> = (0..number(80, 400)).map(|_| mutilate(&mut rng, file)).collect();
        inputs.extend((0..=file.len()).step_by(number(5, 1)).map(|end| file[..end].to_vec()));
        survive("files of samples", &inputs, target::samples);
    }
    memory_is_bounded();
}

#[test]
fn crates_are_refused_or_described() {
    let seed = include_bytes!("smoke/sample.rustdoc.json");
    survive("a crate", &[seed.to_vec()], target::rustdoc);
    let step = seed.len() / number(4, 16);
    let cut: Vec<_> = (0..seed.len()).step_by(step).map(|end| seed[..end].to_vec()).collect();
    survive("a truncated crate", &cut, target::rustdoc);
    // Mutating only digits keeps most inputs valid JSON and changes the ids, which link all items.
    let digits: Vec<usize> = (0..seed.len()).filter(|at| seed[*at].is_ascii_digit()).collect();
    let mut rng = Random(4000);
    let mutants: Vec<_> = (0..number(6, 150))
        .map(|_| {
            let mut mutant = seed.to_vec();
            for _ in 0..8 {
                let at = digits[rng.below(digits.len())];
                mutant[at] = b'0' + u8::try_from(rng.below(10)).unwrap_or(0);
            }
            mutant
        })
        .collect();
    survive("a crate with other ids", &mutants, target::rustdoc);
    memory_is_bounded();
}

#[test]
fn scenes_are_refused_or_shown() {
    for (seed, (name, bytes)) in models::small().into_iter().enumerate() {
        let Ok(mut checked) = typeloom_ops::check::check(&bytes, &typeloom_solver::model::Options::default())
        else {
            continue;
        };
        let diagnostics = checked.diagnostics();
        let encoded = typeloom_view::wire::encode(&typeloom_view::scene::scene(&mut checked, &diagnostics));
        let mut rng = Random(5000 + seed as u64);
        let mutants: Vec<_> = (0..number(8, 40)).map(|_| mutilate(&mut rng, &encoded)).collect();
        survive(&format!("mutilated scene of {name}"), &mutants, target::scene);
    }
    let mut rng = Random(6000);
    let request: &[u8] = br#"{"ask":"draw","expanded":["g0","n0"],"highlight":["v0"],"max_items":10}"#;
    let requests: Vec<_> = (0..number(40, 200)).map(|_| mutilate(&mut rng, request)).collect();
    survive("mutilated requests", &requests, target::scene);
    memory_is_bounded();
}
