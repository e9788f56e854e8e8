//! Soundness of inferred types with control flow: no run contradicts an inferred type, in any branch and for
//! any number of iterations, and every rejected program fails in at least one run.
//!
//! Programs are generated from a seed: element-wise and structural operators, branches on inputs and on
//! extents, loops whose state grows, shrinks or changes rank. Each runs at several bindings of its symbols,
//! for all conditions and several trip counts, with every value compared with its inferred type.

use std::collections::HashMap;
use std::fmt::Write as _;

use typeloom_onnx::messages::TensorProto;
use typeloom_onnx::prost::Message as _;
use typeloom_ops::catalogue::Standard;
use typeloom_runtime::error::{NodeError, RunError};
use typeloom_runtime::options::{RunLimits, Verify};
use typeloom_runtime::session::Session;
use typeloom_solver::model::{Mode, Options, check};
use typeloom_solver::universe::Universe;
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::datum::Datum;
use typeloom_testing::number;

const SEED: u64 = 0x14_2026;
/// Number of programs.
fn programs() -> usize {
    number(50, 200)
}

/// Linear congruential generator (Knuth's MMIX).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).expect("the generator is correct") % limit
    }
}

/// A program during its generation.
struct Program {
    random: Random,
    next: usize,
}

impl Program {
    fn name(&mut self) -> String {
        self.next += 1;
        format!("v{}", self.next)
    }

    fn pick(&mut self, pool: &[String]) -> String {
        // Prefers recent values, for deep programs.
        let from = if self.random.below(3) == 0 { 0 } else { pool.len().saturating_sub(3) };
        pool[from + self.random.below(pool.len() - from)].clone()
    }

    /// Adds one or more nodes and returns the name of their result.
    fn node(&mut self, pool: &[String], depth: usize, text: &mut String) -> String {
        let a = self.pick(pool);
        let b = self.pick(pool);
        let y = self.name();
        let choices = if depth < 2 { 16 } else { 11 };
        match self.random.below(choices) {
            0 => writeln!(text, "{y} = Relu({a})"),
            1 => writeln!(text, "{y} = Add({a}, {b})"),
            2 | 3 => writeln!(text, "{y} = Concat<axis = 0>({a}, {b})"),
            4 => writeln!(text, "{y} = ReduceSum<keepdims = 0>({a}, first)"),
            5 => writeln!(text, "{y} = ReduceSum<keepdims = 1>({a}, first)"),
            6 => writeln!(text, "{y} = Unsqueeze({a}, first)"),
            7 => writeln!(text, "{y} = Transpose({a})"),
            8 => writeln!(text, "{y} = Slice({a}, first, two, first)"),
            9 => writeln!(text, "{y} = Slice({a}, one, many, first)"),
            10 => writeln!(text, "{y} = MatMul({a}, {b})"),
            11..=13 => {
                let condition = self.condition(pool, text);
                let (p, q) = (self.graph(pool, depth), self.graph(pool, depth));
                writeln!(
                    text,
                    "{y} = If({condition}) <then_branch = yes () => ({}) {{ {} }}, else_branch = no () => ({}) {{ {} }}>",
                    p.0, p.1, q.0, q.1
                )
            }
            _ => {
                let turns = match self.random.below(4) {
                    0 => "turns".to_owned(),
                    1 => "scalar_two".to_owned(),
                    2 => self.extent(&a, text),
                    _ => "scalar_zero".to_owned(),
                };
                let go = ["", "c0", "yes"][self.random.below(3)];
                let (state, number, on) = (self.name(), self.name(), self.name());
                let mut inner: Vec<String> = pool.to_vec();
                inner.extend([state.clone(), state.clone(), state.clone()]);
                let mut body = String::new();
                let next = self.node(&inner, depth + 1, &mut body);
                let (out, end) = (self.name(), self.name());
                let ends = if self.random.below(3) == 0 { "Identity(c1)".to_owned() } else { format!("Identity({on})") };
                let all = self.name();
                writeln!(
                    text,
                    "{y}, {all} = Loop({turns}, {go}, {a}) <body = turn (int64 {number}, bool {on}, {state}) \
                     => ({end}, {next}, {out}) {{ {body} {end} = {ends} {out} = Neg({state}) }}>"
                )
            }
        }
        .expect("the generator is correct");
        y
    }

    /// A graph without inputs: its output and its nodes.
    fn graph(&mut self, pool: &[String], depth: usize) -> (String, String) {
        let mut text = String::new();
        let mut own = pool.to_vec();
        for _ in 0..=self.random.below(2) {
            let made = self.node(&own, depth + 1, &mut text);
            own.push(made);
        }
        (own.pop().expect("the generator is correct"), text)
    }

    fn extent(&mut self, of: &str, text: &mut String) -> String {
        let (shape, extent, scalar) = (self.name(), self.name(), self.name());
        writeln!(
            text,
            "{shape} = Shape<start = 0, end = 1>({of})\n{extent} = ReduceSum<keepdims = 0>({shape})\n{scalar} = Identity({extent})"
        )
        .expect("the generator is correct");
        scalar
    }

    fn condition(&mut self, pool: &[String], text: &mut String) -> String {
        match self.random.below(6) {
            0 => "c0".to_owned(),
            1 => "c1".to_owned(),
            2 => {
                let y = self.name();
                writeln!(text, "{y} = Not(c0)").expect("the generator is correct");
                y
            }
            3 => {
                let y = self.name();
                writeln!(text, "{y} = And(c0, c1)").expect("the generator is correct");
                y
            }
            at => {
                let of = self.pick(pool);
                let (extent, y) = (self.extent(&of, text), self.name());
                let op = if at == 4 { "Equal" } else { "Greater" };
                let limit = ["scalar_one", "scalar_two"][self.random.below(2)];
                writeln!(text, "{y} = {op}({extent}, {limit})").expect("the generator is correct");
                y
            }
        }
    }
}

fn program(seed: u64) -> String {
    let mut program = Program { random: Random(seed), next: 0 };
    let mut pool: Vec<String> = ["x", "w", "u"].map(str::to_owned).into();
    let mut text = String::new();
    for _ in 0..3 + program.random.below(4) {
        let made = program.node(&pool, 0, &mut text);
        pool.push(made);
    }
    let last = pool.pop().expect("the generator is correct");
    format!(
        "<ir_version: 10, opset_import: [\"\": 21]>\n\
         g (bool c0, bool c1, int64 turns, float[n, 3] x, float[2, k] w, float[k] u) => ({last})\n\
         <int64[1] first = {{0}}, int64[1] one = {{1}}, int64[1] two = {{2}}, int64[1] many = {{9}}, int64 scalar_zero = {{0}}, \
         int64 scalar_one = {{1}}, int64 scalar_two = {{2}}, bool yes = {{1}}> {{\n{text}}}"
    )
}

fn zeros(shape: &[usize]) -> Datum {
    Datum::Tensor(
        AnyTensor::zeros(typeloom_types::dtype::Dtype::F32, shape).expect("the generator is correct"),
    )
}

fn inputs(n: usize, k: usize, conditions: usize, turns: i64) -> HashMap<String, Datum> {
    let truth = |bit: usize| Datum::Tensor(AnyTensor::from_scalar(conditions & bit != 0));
    [
        ("c0", truth(1)),
        ("c1", truth(2)),
        ("turns", Datum::Tensor(AnyTensor::from_scalar(turns))),
        ("x", zeros(&[n, 3])),
        ("w", zeros(&[2, k])),
        ("u", zeros(&[k])),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into()
}

/// Whether a run failed because a value is not of its inferred type.
fn is_contradiction(error: &RunError) -> bool {
    match error {
        RunError::Input { .. } => true,
        RunError::Node { error: NodeError::Mismatch { .. }, .. } => true,
        RunError::Node { error: NodeError::Nested(inner), .. } => is_contradiction(inner),
        _ => false,
    }
}

#[test]
fn no_run_contradicts_an_inferred_type_and_rejected_models_fail() {
    let universe = Universe::standard().clone();
    let options = Options { mode: Mode::Permissive, ..Options::default() };
    let limits = RunLimits::default();
    let (mut accepted, mut runs) = (0, 0);
    for at in 0..programs() {
        let seed = SEED.wrapping_mul(1_000_003).wrapping_add(at as u64);
        let text = program(seed);
        let proto = typeloom_onnx::text::parse_model(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let bytes = proto.encode_to_vec();
        let mut checked = check(&bytes, &Standard, &universe, &options).expect("the generator is correct");
        let is_ok = checked.is_ok();
        let none = |_: &TensorProto| Err("there are no other files".to_owned());
        let session =
            if is_ok { Session::of_checked(&mut checked, &none) } else { Session::new(&proto, &none) };
        let session =
            session.unwrap_or_else(|error| panic!("seed {seed}: {error}\n{text}")).with_limits(limits);
        let mut failed = false;
        for (n, k) in [(1, 1), (1, 3), (2, 3), (3, 2), (4, 1), (2, 2), (5, 4)] {
            for conditions in 0..4 {
                for turns in [0, 1, 3] {
                    let verify = if is_ok { Verify::EveryValue } else { Verify::Inputs };
                    let outcome = session.run(inputs(n, k, conditions, turns), verify);
                    runs += 1;
                    if let Err(error) = outcome {
                        failed = true;
                        // Types are only guaranteed for runs that succeed: a node's requirements on its
                        // inputs refine types before it.
                        let ends = || session.run(inputs(n, k, conditions, turns), Verify::Inputs).is_ok();
                        assert!(
                            !(is_ok && is_contradiction(&error) && ends()),
                            "seed {seed}: n = {n}, k = {k}, conditions {conditions}, {turns} iterations: {error}\n{text}"
                        );
                    }
                }
            }
        }
        let mut diagnostics = || {
            let found = typeloom_solver::diagnostic::diagnose(&mut checked);
            found.into_iter().map(|found| format!("{}: {}\n", found.code, found.message)).collect::<String>()
        };
        assert!(is_ok || failed, "seed {seed} runs always, but is rejected:\n{}{text}", diagnostics());
        accepted += usize::from(is_ok);
    }
    assert!(accepted > programs() / 10, "{accepted} programs of {} are accepted", programs());
    assert!(runs > 0);
}
