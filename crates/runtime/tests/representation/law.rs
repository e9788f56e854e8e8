//! **Law.** A module that compiles strictly for a backend of one element type runs on it, with the results of
//! the embedded backend, for every element type and all parts of the contract that the backend can have.
//!
//! Random modules of operators on a slot, and of the same operators assigned to the backend by
//! `run_on_backend`. A seed is one module: `TYPELOOM_SEED=7` repeats the module of a message. A number without
//! a form in the storage is the only permitted error of a run.

#![expect(clippy::print_stdout, reason = "the test prints how many modules are refused")]

use typeloom_compiler::compiler::Compiler;
use typeloom_compiler::error::BuildError;
use typeloom_module::graph::Graph;
use typeloom_module::graph::operators::OperatorMethods;
use typeloom_module::graph::operators::attributes::{
    ArgMaxAttrs, CastAttrs, GatherAttrs, ReduceMaxAttrs, ReduceSumAttrs, ReshapeAttrs, SplitAttrs,
    TransposeAttrs, TriluAttrs,
};
use typeloom_module::graph::value::ValueRef;
use typeloom_module::module::Module;
use typeloom_runtime::components::Components;
use typeloom_runtime::error::{ComponentError, NodeError, RunError};
use typeloom_runtime::executor::Executor;
use typeloom_runtime::options::Verify;
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_testing::{Random, number};
use typeloom_types::dtype::{Dtype, DtypeClass};

use super::own::{DTYPES, Parts, backend};
use super::{Inputs, named, same};
use crate::modules::support::seeds;

/// The extents of the inputs.
const ROWS: usize = 2;
const COLUMNS: usize = 3;

/// A random module over data of one element type.
#[derive(Clone, Copy)]
struct Sample {
    seed: u64,
    dtype: Dtype,
    /// Whether nodes are on the slot `compute`.
    is_on_slot: bool,
}

/// A value with its type.
#[derive(Clone)]
struct Known {
    value: ValueRef,
    dtype: Dtype,
    shape: Vec<usize>,
}

impl Module for Sample {
    fn name(&self) -> &str {
        "sample"
    }

    fn body(&self, g: &mut Graph) {
        let Self { seed, dtype, is_on_slot } = *self;
        let input = |name: &str, dtype: Dtype, shape: &[usize]| {
            let value = g.input(name).of(&*format!("{}{shape:?}", dtype.onnx_name()));
            Known { value, dtype, shape: shape.to_vec() }
        };
        let matrix = [ROWS, COLUMNS];
        let mut known = vec![
            input("x", dtype, &matrix),
            input("y", dtype, &matrix),
            input("mask", Dtype::Bool, &matrix),
            input("at", Dtype::I64, &[COLUMNS]),
        ];
        for (name, given) in ["x", "y", "mask", "at"].iter().zip(&known) {
            g.output(&format!("{name}.same"), &g.identity(&given.value));
        }
        let slot = is_on_slot.then(|| g.backend("compute"));
        let random = &mut Random(seed);
        for at in 0..1 + random.below(8) {
            // Some nodes stay on the session, and a few on the slot have data of another type.
            let on_session = random.one_in(5);
            let any_type = random.one_in(10);
            let m: &dyn OperatorMethods = match &slot {
                Some(slot) if !on_session => slot,
                _ => g,
            };
            let mut added = node(m, g, random, dtype, &known, any_type);
            for (output, made) in added.iter().enumerate() {
                g.output(&format!("n{at}.{output}"), &made.value);
            }
            known.append(&mut added);
        }
    }
}

/// Picks a value of one of the element types.
fn pick(random: &mut Random, known: &[Known], fits: impl Fn(&Known) -> bool) -> Known {
    let fitting: Vec<&Known> = known.iter().filter(|known| fits(known)).collect();
    (*random.pick(&fitting)).clone()
}

/// Records a random node and returns its results.
fn node(
    m: &dyn OperatorMethods,
    g: &Graph,
    random: &mut Random,
    data: Dtype,
    known: &[Known],
    any_type: bool,
) -> Vec<Known> {
    let matrix = |it: &Known| it.shape == [ROWS, COLUMNS];
    let is_data = |it: &Known| it.dtype == data || (any_type && it.dtype != Dtype::Bool);
    let x = pick(random, known, |it| matrix(it) && is_data(it));
    let y = pick(random, known, |it| matrix(it) && it.dtype == x.dtype);
    let mask = pick(random, known, |it| matrix(it) && it.dtype == Dtype::Bool);
    let other = pick(random, known, |it| matrix(it) && it.dtype == Dtype::Bool);
    let (a, b, p, q) = (&x.value, &y.value, &mask.value, &other.value);
    let of = |value: ValueRef, dtype: Dtype, shape: &[usize]| Known { value, dtype, shape: shape.to_vec() };
    let alike = |value: ValueRef| vec![of(value, x.dtype, &x.shape)];
    let truth = |value: ValueRef| vec![of(value, Dtype::Bool, &x.shape)];
    let is_float = x.dtype.class() == DtypeClass::Float;
    let is_number = x.dtype != Dtype::Bool;
    let is_wide = is_number && x.dtype.size_bytes() >= Some(4);
    // Operators that the element type does not have are other ones.
    let choice = random.below(46);
    match choice {
        0 => truth(m.equal(a, b)),
        1 | 2 if is_number => truth(if choice == 1 { m.less(a, b) } else { m.greater(a, b) }),
        3 if is_number => truth(m.less_or_equal(a, b)),
        4 if is_number => truth(m.greater_or_equal(a, b)),
        5 => truth(m.not(p)),
        6 => truth(m.and(p, q)),
        7 => truth(m.or(p, q)),
        8 => truth(m.xor(p, q)),
        9..=12 => alike(m.where_(p, a, b)),
        13 | 14 if is_number => alike(if choice == 13 { m.add(a, b) } else { m.sub(a, b) }),
        15 if is_number => alike(m.max(&[a, b])),
        16 if is_number => alike(m.min(&[a, b])),
        17 if is_float || x.dtype.class() == DtypeClass::SignedInt => alike(m.relu(a)),
        18 if is_number => alike(m.sign(a)),
        19 if is_float => alike(m.floor(a)),
        20 if is_float => alike(m.ceil(a)),
        21 if is_number => alike(m.clip(a, Some(&g.constant(&tensor(x.dtype, &[], &[0.0]))), None)),
        22 => alike(m.trilu(a, None, TriluAttrs { upper: Some(i64::from(random.one_in(2))) })),
        23 if is_number => {
            vec![of(
                m.arg_max(a, ArgMaxAttrs { keepdims: Some(0), ..Default::default() }),
                Dtype::I64,
                &[COLUMNS],
            )]
        }
        24 if is_float || matches!(x.dtype, Dtype::I32 | Dtype::I64) => {
            alike(m.pow(&m.abs(a), &g.ints(&[2])))
        }
        25..=27 => {
            let to = *random.pick(&DTYPES);
            vec![of(m.cast(a, to, CastAttrs::default()), to, &x.shape)]
        }
        28 | 29 => {
            let at = pick(random, known, |it| it.dtype == Dtype::I64 && it.shape == [COLUMNS]);
            let axis = Some([1, -1][random.below(2)]);
            alike(m.gather(a, &at.value, GatherAttrs { axis }))
        }
        30 => alike(m.gather(a, &g.ints(&[-1, 0, 1]), GatherAttrs { axis: Some(1) })),
        31 => {
            let parts = m.split(a, None, SplitAttrs { axis: Some(1), num_outputs: Some(3) }, 3);
            parts.into_iter().map(|part| of(part, x.dtype, &[ROWS, 1])).collect()
        }
        32 => {
            let flat = m.reshape(a, &g.ints(&[3, -1]), ReshapeAttrs::default());
            alike(m.transpose(&flat, TransposeAttrs::default()))
        }
        33 => vec![of(m.concat(&[a, b], 0), x.dtype, &[2 * ROWS, COLUMNS])],
        34 => vec![of(
            m.expand(&m.unsqueeze(a, &g.ints(&[0])), &g.ints(&[2, 1, 1])),
            x.dtype,
            &[2, ROWS, COLUMNS],
        )],
        35 => vec![of(m.tile(a, &g.ints(&[1, 2])), x.dtype, &[ROWS, 2 * COLUMNS])],
        36 => vec![of(
            m.pad(a, &g.ints(&[0, 1, 0, 0]), None, None, Default::default()),
            x.dtype,
            &[ROWS, COLUMNS + 1],
        )],
        37 if is_number && !matches!(x.dtype, Dtype::U16 | Dtype::I16) => {
            vec![of(m.reduce_max(a, None, ReduceMaxAttrs::default()), x.dtype, &[1, 1])]
        }
        40 => truth(m.equal(p, q)),
        41 => truth(m.where_(p, q, &m.not(p))),
        42 | 43 => {
            let to = *random.pick(&DTYPES);
            vec![of(m.cast(p, to, CastAttrs::default()), to, &mask.shape)]
        }
        44 => truth(m.gather(p, &g.ints(&[-1, 0, 1]), GatherAttrs { axis: Some(1) })),
        45 => vec![of(m.concat(&[p, q], 0), Dtype::Bool, &[2 * ROWS, COLUMNS])],
        38 if is_wide => vec![of(m.reduce_sum(a, None, ReduceSumAttrs::default()), x.dtype, &[1, 1])],
        _ => alike(m.identity(a)),
    }
}

fn tensor(dtype: Dtype, shape: &[usize], numbers: &[f64]) -> AnyTensor {
    let numbers = AnyTensor::from_slice(shape, numbers).expect("as many numbers as the shape has");
    typeloom_cpu::ops::cast::convert_exactly(&numbers, dtype).expect("small numbers have every type")
}

/// Small numbers that every element type represents.
fn inputs(sample: Sample) -> Inputs {
    let random = &mut Random(sample.seed ^ 0x5eed);
    let numbers: &[f64] = match sample.dtype.class() {
        DtypeClass::Float => &[-2.5, -2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 3.0],
        DtypeClass::SignedInt => &[-3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 4.0],
        DtypeClass::UnsignedInt => &[0.0, 1.0, 2.0, 3.0, 5.0],
        _ => &[0.0, 1.0],
    };
    let mut some = |dtype: Dtype, shape: &[usize], numbers: &[f64]| {
        let picked: Vec<f64> = (0..shape.iter().product()).map(|_| *random.pick(numbers)).collect();
        tensor(dtype, shape, &picked)
    };
    named([
        ("x", some(sample.dtype, &[ROWS, COLUMNS], numbers)),
        ("y", some(sample.dtype, &[ROWS, COLUMNS], numbers)),
        ("mask", some(Dtype::Bool, &[ROWS, COLUMNS], &[0.0, 1.0])),
        ("at", some(Dtype::I64, &[COLUMNS], &[-2.0, -1.0, 0.0, 1.0])),
    ])
}

#[derive(Default)]
struct Counts {
    run: usize,
    refused: usize,
    without_form: usize,
}

/// Compiles and runs one module with a compiler; panics if the law does not hold.
fn check(
    about: &str,
    counts: &mut Counts,
    artifact: Result<typeloom_compiler::artifact::Artifact, BuildError>,
    components: &Components,
    inputs: &Inputs,
    expected: &[(String, typeloom_tensor::datum::Datum)],
) {
    let artifact = match artifact {
        Ok(artifact) => artifact,
        Err(error) => {
            counts.refused += 1;
            if std::env::var_os("TYPELOOM_SEED").is_some() {
                println!("{about}: {error}");
            }
            return;
        }
    };
    let executor = Executor::new(&artifact, components).unwrap_or_else(|error| panic!("{about}: {error}"));
    match executor.run(inputs.clone(), Verify::EveryValue) {
        Ok(outcome) => {
            counts.run += 1;
            same(&outcome.outputs, expected).unwrap_or_else(|error| panic!("{about}: {error}"));
        }
        Err(RunError::Node {
            error: NodeError::Component(ComponentError::Representation { .. }), ..
        }) => counts.without_form += 1,
        Err(error) => panic!("{about}: {error}"),
    }
}

#[test]
fn a_module_that_compiles_for_a_backend_of_one_element_type_runs() {
    let (mut on_slot, mut assigned) = (Counts::default(), Counts::default());
    let seeds = seeds(number(120, 2000));
    let count = seeds.clone().count();
    for seed in seeds {
        let random = &mut Random(seed.wrapping_mul(0x1234_5678_9abc_def1));
        let (dtype, parts) = (*random.pick(&DTYPES), *random.pick(&Parts::ALL));
        let sample = Sample { seed, dtype, is_on_slot: false };
        let inputs = inputs(sample);
        let about = |way: &str| format!("TYPELOOM_SEED={seed}: {dtype} {parts:?} {way}");
        let run = || -> Result<_, Box<dyn std::error::Error>> {
            let plain = Compiler::new().compile(sample)?;
            let executor = Executor::new(&plain, &Components::new())?;
            let expected = executor.run(inputs.clone(), Verify::EveryValue)?;
            Ok((plain, expected.outputs))
        };
        let (plain, expected) = run().unwrap_or_else(|error| panic!("{}: {error}", about("on the session")));
        let (components, assigning) = backend(dtype, parts);
        let bound = Compiler::new().with_bindings(components.bindings().clone());
        let module = bound.compile(Sample { is_on_slot: true, ..sample });
        check(&about("on the slot"), &mut on_slot, module, &components, &inputs, &expected);
        let model = assigning.compile(plain.model().clone());
        check(&about("assigned"), &mut assigned, model, &components, &inputs, &expected);
    }
    for (way, Counts { run, refused, without_form }) in [("on a slot", &on_slot), ("assigned", &assigned)] {
        println!("{way}: {run} run, {refused} are refused, {without_form} have a number without a form");
        // A single seed can be a refused module.
        assert!(count < 100 || *run * 2 > count, "most modules compile {way}");
    }
}
