//! Conditions on symbols from index tensors, compared with runs.
//!
//! Random programs compute integer tensors from ranges and extents, and read a tensor at them. For random
//! extents, the test compares the conditions that the solver derives with a run on the kernels:
//!
//! - a run at extents that violate a condition fails;
//! - a run at extents that satisfy all conditions has no index outside of its axis, except for a small part
//!   of the programs, which compute elements that are no affine functions of their positions;
//! - every value of a run has the derived shape.
//!
//! `TYPELOOM_SEED` repeats a run.

#![expect(clippy::print_stdout, reason = "the counts of a run are for the reader of its output")]

use std::fmt::Write;
use std::time::{SystemTime, UNIX_EPOCH};

use typeloom_differential::choices::Choices;
use typeloom_dim::{Condition, DimId};
use typeloom_ops::check::check;
use typeloom_runtime::options::Verify;
use typeloom_runtime::session::Session;
use typeloom_solver::model::{Mode, Options};
use typeloom_solver::solution::{Equation, Type};
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::datum::Datum;

/// Number of programs of a short run.
const PROGRAMS: u64 = 150;
/// Number of bindings at which each program runs.
const BINDINGS: usize = 24;

const SYMBOLS: [&str; 4] = ["N", "M", "P", "Q"];

/// The constants and the extents that programs use.
const PROLOGUE: &str = "
  c0 = Constant <value_int = 0> () c1 = Constant <value_int = 1> () c2 = Constant <value_int = 2> ()
  c3 = Constant <value_int = 3> () cm1 = Constant <value_int = -1> () flat = Constant <value_ints = [-1]> ()
  a0 = Constant <value_ints = [0]> () a1 = Constant <value_ints = [1]> () a2 = Constant <value_ints = [2]> ()
  table = Constant <value_ints = [2, 0, 1]> ()
  sN = Shape <start = 0, end = 1> (x) N0 = Squeeze (sN) sM = Shape <start = 1, end = 2> (x) M0 = Squeeze (sM)
  sP = Shape <start = 0, end = 1> (k) P0 = Squeeze (sP) sQ = Shape <start = 1, end = 2> (k) Q0 = Squeeze (sQ)";

/// A program under construction: its nodes, and the names of its integers by rank.
struct Program {
    nodes: String,
    count: usize,
    ranks: [Vec<String>; 3],
}

impl Program {
    fn new() -> Self {
        let constants = ["c0", "c1", "c2", "c3", "N0", "M0", "P0", "Q0"];
        let scalars = constants.map(str::to_owned).to_vec();
        Self { nodes: String::new(), count: 0, ranks: [scalars, Vec::new(), Vec::new()] }
    }

    /// Adds a node, and returns the name of its output.
    fn node(&mut self, call: &str) -> String {
        self.count += 1;
        let name = format!("v{}", self.count);
        writeln!(self.nodes, "  {name} = {call}").expect("a string can be written to");
        name
    }

    fn integer(&mut self, rank: usize, call: &str) -> String {
        let name = self.node(call);
        self.ranks[rank].push(name.clone());
        name
    }

    fn pick(&self, rank: usize, choices: &mut Choices) -> String {
        choices.pick(&self.ranks[rank]).clone()
    }

    /// A sum, difference, product, minimum or maximum of extents and constants.
    fn scalar(&mut self, choices: &mut Choices) {
        let (a, b) = (self.pick(0, choices), self.pick(0, choices));
        let op = *choices.pick(&["Add", "Add", "Sub", "Mul", "Min", "Max"]);
        self.integer(0, &format!("{op} ({a}, {b})"));
    }

    fn vector(&mut self, choices: &mut Choices) {
        let (a, b) = (self.pick(0, choices), self.pick(0, choices));
        let extent = *choices.pick(&["sN", "sM", "sP", "sQ"]);
        let call = match choices.below(10) {
            0..4 => format!("Range (c0, {b}, c1)"),
            4 => format!("Range ({a}, {b}, c1)"),
            5 => format!("Range ({a}, {b}, c2)"),
            6 => format!("Range ({b}, cm1, cm1)"),
            7 => {
                let ones = self.node(&format!("ConstantOfShape <value = int64[1] {{1}}> ({extent})"));
                format!(
                    "CumSum <exclusive = {}, reverse = {}> ({ones}, c0)",
                    choices.below(2),
                    choices.below(2)
                )
            }
            8 => {
                let ones = self.node(&format!("ConstantOfShape <value = int64[1] {{1}}> ({extent})"));
                let rows = self.node(&format!("NonZero ({ones})"));
                format!("Squeeze ({rows}, a0)")
            }
            _ => {
                let range = self.node(&format!("Range (c0, {b}, c1)"));
                format!("Add ({range}, {a})")
            }
        };
        self.integer(1, &call);
    }

    /// A function of one tensor that keeps its shape.
    fn function(&mut self, choices: &mut Choices) {
        let rank = 1 + choices.below(2);
        if self.ranks[rank].is_empty() {
            return;
        }
        let (x, s) = (self.pick(rank, choices), self.pick(0, choices));
        let call = match choices.below(13) {
            0 => format!("Add ({x}, {s})"),
            1 => format!("Sub ({x}, {s})"),
            2 => format!("Sub ({s}, {x})"),
            3 => format!("Mul ({s}, {x})"),
            4 => format!("Min ({x}, {s})"),
            5 => format!("Max ({s}, {x})"),
            6 => format!("Neg ({x})"),
            7 => format!("Div ({x}, {})", choices.pick(&["c2", "c3", "N0", "Q0"])),
            8 => format!("Mod ({x}, {})", choices.pick(&["c2", "c3", "M0", "P0"])),
            9 => {
                let is_negative = self.node(&format!("Less ({x}, c0)"));
                let from_end = self.node(&format!("Add ({x}, {s})"));
                format!("Where ({is_negative}, {from_end}, {x})")
            }
            10 => {
                let float = self.node(&format!("Cast <to = 1> ({x})"));
                format!("Cast <to = 7> ({float})")
            }
            11 => format!("Abs ({x})"),
            _ => format!("Clip ({x}, c1, c3)"),
        };
        self.integer(rank, &call);
    }

    /// A tensor made of others, or of the elements of one in another order.
    fn move_elements(&mut self, choices: &mut Choices) {
        if self.ranks[1].is_empty() {
            return;
        }
        let (v, w) = (self.pick(1, choices), self.pick(1, choices));
        let s = *choices.pick(&["a1", "a2", "sN", "sQ"]);
        let has_table = !self.ranks[2].is_empty();
        let (rank, call) = match choices.below(if has_table { 13 } else { 8 }) {
            0..3 => {
                let row = self.node(&format!("Unsqueeze ({v}, a0)"));
                let column = self.node(&format!("Unsqueeze ({w}, a1)"));
                (2, format!("{} ({row}, {column})", choices.pick(&["Add", "Sub", "Add", "Mul", "Min"])))
            }
            3 => (1, format!("Concat <axis = 0> ({v}, {w})")),
            4 => (1, format!("Slice ({v}, {}, {s})", choices.pick(&["a0", "a1"]))),
            5 => (1, format!("Slice ({v}, flat, a0, a0, flat)")),
            6 => (1, format!("Gather ({v}, {w})")),
            7 => (1, format!("Tile ({v}, {s})")),
            8 => (2, format!("Transpose ({})", self.pick(2, choices))),
            9 => (1, format!("Reshape ({}, flat)", self.pick(2, choices))),
            10 => (2, format!("Add ({}, {v})", self.pick(2, choices))),
            11 => (2, format!("Concat <axis = 1> ({t}, {t})", t = self.pick(2, choices))),
            _ => (1, format!("Gather ({}, c0)", self.pick(2, choices))),
        };
        self.integer(rank, &call);
    }

    /// A read of the input at one of the tensors.
    fn read(&mut self, choices: &mut Choices) {
        let rank = if self.ranks[2].is_empty() || choices.percent(40) { 1 } else { 2 };
        let i = self.pick(rank, choices);
        let call = match choices.below(5) {
            0 | 1 => format!("Gather <axis = {}> (x, {i})", choices.below(2)),
            2 => {
                let all = self.node("Reshape (x, flat)");
                let index = self.node(&format!("Reshape ({i}, flat)"));
                format!("{} ({all}, {index})", choices.pick(&["Gather", "GatherElements"]))
            }
            _ => {
                let j = self.pick(rank, choices);
                let (a, b) = (
                    self.node(&format!("Unsqueeze ({i}, flat)")),
                    self.node(&format!("Unsqueeze ({j}, flat)")),
                );
                let tuples = self.node(&format!("Concat <axis = -1> ({a}, {b})"));
                format!("GatherND (x, {tuples})")
            }
        };
        self.node(&call);
    }

    fn generate(choices: &mut Choices) -> Self {
        let mut program = Self::new();
        for _ in 0..choices.below(3) {
            program.scalar(choices);
        }
        for _ in 0..=choices.below(3) {
            program.vector(choices);
        }
        for _ in 0..choices.below(5) {
            if choices.percent(50) { program.function(choices) } else { program.move_elements(choices) }
        }
        program.read(choices);
        program
    }

    fn text(&self) -> String {
        let outputs: Vec<String> = (1..=self.count).map(|at| format!("v{at}")).collect();
        format!(
            "<ir_version: 10, opset_import: [\"\": 21]> g (float[N, M] x, float[P, Q] k) => ({}) {{{PROLOGUE}\n{}}}",
            outputs.join(", "),
            self.nodes
        )
    }
}

/// The results of all runs.
#[derive(Default, Debug)]
struct Counts {
    runs: u64,
    /// Runs that succeed.
    valid: u64,
    /// Runs that fail at extents that violate a condition.
    foreseen: u64,
    /// Runs that fail at extents that satisfy all conditions.
    missed: u64,
}

fn ones(shape: &[i64]) -> Datum {
    let shape: Vec<usize> = shape.iter().map(|extent| usize::try_from(*extent).unwrap_or(0)).collect();
    let count = shape.iter().product();
    Datum::Tensor(AnyTensor::from_vec(&shape, vec![1.0_f32; count]).expect("a small tensor"))
}

fn condition(equation: &Equation) -> Condition {
    let Equation { left, right, need: relation, .. } = *equation;
    Condition { relation, left, right }
}

/// Compares the conditions of one program with its runs.
fn examine(text: &str, choices: &mut Choices, counts: &mut Counts) -> Result<(), String> {
    let model = typeloom_onnx::text::parse_model(text).expect("the generator writes valid text");
    let bytes = typeloom_onnx::text::model_bytes(text).expect("the generator writes valid text");
    let options = Options { mode: Mode::Permissive, ..Options::default() };
    let mut checked = check(&bytes, &options).expect("the model can be checked");
    let is_ok = checked.is_ok();
    let conditions: Vec<Condition> = checked.equations().iter().map(condition).collect();
    let outputs = model.graph.as_ref().map_or(&[][..], |graph| &graph.output);
    let names: Vec<String> = outputs.iter().map(|output| output.name().to_owned()).collect();
    let mut shapes: Vec<(String, Vec<DimId>)> = Vec::new();
    for name in &names {
        let Some(value) = checked.find(name) else { continue };
        if let Type::Tensor(tensor) = checked.proven_type_of(value)
            && let Some(shape) = tensor.shape
        {
            shapes.push((name.clone(), shape.to_vec()));
        }
    }
    let mut all: Vec<(String, DimId)> = Vec::new();
    for (name, at, axis) in [("x", 0, "N"), ("x", 1, "M"), ("k", 0, "P"), ("k", 1, "Q")] {
        let value = checked.find(name).expect("an input");
        if let Type::Tensor(tensor) = checked.proven_type_of(value)
            && let Some(shape) = tensor.shape
        {
            all.push((axis.to_owned(), shape[at]));
        }
    }
    let session = Session::new(&model, &|_| Err("no other files are read".to_owned()))
        .map_err(|error| error.to_string())?;
    let mut fails = 0;
    for _ in 0..BINDINGS {
        let extents: Vec<i64> = SYMBOLS.iter().map(|_| choices.between(1, 6)).collect();
        let values: Vec<(DimId, i64)> =
            all.iter().map(|(_, dim)| *dim).zip(extents.iter().copied()).collect();
        let inputs = [("x", ones(&extents[..2])), ("k", ones(&extents[2..]))];
        let outcome = session.run(inputs, Verify::Inputs);
        let violated =
            conditions.iter().find(|condition| checked.dims().holds(**condition, &values) == Some(false));
        counts.runs += 1;
        match (outcome, violated) {
            (Ok(_), Some(condition)) => {
                let condition = checked.dims().display_condition(*condition);
                return Err(format!(
                    "it runs with {SYMBOLS:?} = {extents:?}, against the condition {condition}"
                ));
            }
            (Ok(outcome), None) => {
                counts.valid += 1;
                for (name, shape) in &shapes {
                    let Some(found) = outcome.get(name).and_then(Datum::as_tensor) else { continue };
                    let expected = shape.iter().map(|dim| checked.dims().evaluate(*dim, &values));
                    let differs = |(found, expected): (&usize, Option<i64>)| {
                        expected.is_some_and(|expected| usize::try_from(expected) != Ok(*found))
                    };
                    if found.shape().len() != shape.len() || found.shape().iter().zip(expected).any(differs) {
                        let shown: Vec<String> =
                            shape.iter().map(|dim| checked.dims().display(*dim).to_string()).collect();
                        return Err(format!(
                            "`{name}` is {:?}, not {shown:?} with {SYMBOLS:?} = {extents:?}",
                            found.shape()
                        ));
                    }
                }
            }
            (Err(_), Some(_)) => {
                (fails, counts.foreseen) = (fails + 1, counts.foreseen + 1);
            }
            (Err(error), None) => {
                fails += 1;
                if is_ok {
                    counts.missed += 1;
                    if std::env::var_os("TYPELOOM_SHOW").is_some() {
                        println!("missed with {extents:?}: {error}\n{text}");
                    }
                }
            }
        }
    }
    if !is_ok && fails == 0 {
        Err(format!("it is rejected and runs: {:?}", checked.errors()))
    } else {
        Ok(())
    }
}

/// Checks the programs from this seed on.
fn hold(first: u64, programs: u64) {
    let mut counts = Counts::default();
    for seed in first..first + programs {
        let mut choices = Choices::seeded(seed);
        let text = Program::generate(&mut choices).text();
        if let Err(message) = examine(&text, &mut choices, &mut counts) {
            panic!("TYPELOOM_SEED={seed}: {message}\n{text}");
        }
    }
    println!("{counts:?}");
    assert!(counts.valid * 10 > counts.runs, "{counts:?}");
    assert!(counts.foreseen > 9 * counts.missed, "{counts:?}");
}

#[test]
fn conditions_of_fresh_programs_are_those_of_their_runs() {
    let seed = match std::env::var("TYPELOOM_SEED") {
        Ok(text) => text.trim().parse().expect("TYPELOOM_SEED is a number"),
        Err(_) => {
            SystemTime::now().duration_since(UNIX_EPOCH).expect("the clock is past 1970").as_secs()
                % 1_000_000_000
                * 1000
        }
    };
    println!("TYPELOOM_SEED={seed}");
    hold(seed, PROGRAMS);
}

#[test]
fn conditions_of_known_programs_are_those_of_their_runs() {
    hold(1, PROGRAMS);
}
