//! Evaluation of dims at given values of their leaves.
//!
//! A dim is first compiled to a [`DimProgram`], a list of steps in which operands precede their uses, so that
//! a search can evaluate it at thousands of bindings. Compilation visits every node once, follows bound
//! variables, and uses an explicit stack.
//!
//! Arithmetic is checked 128-bit arithmetic. A step that overflows, divides by zero, or has an undefined
//! operand is undefined.

use std::collections::HashMap;

use crate::arena::{Dims, Kind};
use crate::bind::PostOrder;
use crate::id::DimId;
use crate::poly::floor_of_quotient;

/// A step. Operands are positions of earlier steps.
#[derive(Clone, Debug)]
enum Step {
    Constant(i128),
    /// A leaf, by its position.
    Leaf(usize),
    Sum(Vec<(i128, usize)>),
    Product(Vec<usize>),
    Floor(usize, usize),
    Min(Vec<usize>),
}

/// Dims that are compiled for repeated evaluation.
#[derive(Clone, Debug)]
pub(crate) struct DimProgram {
    steps: Vec<Step>,
    roots: Vec<usize>,
    leaves: Vec<DimId>,
}

impl DimProgram {
    /// Compiles all `roots`.
    pub(crate) fn new(dims: &Dims, roots: &[DimId]) -> Self {
        let mut program = Self { steps: Vec::new(), roots: Vec::new(), leaves: Vec::new() };
        let mut done: HashMap<DimId, usize> = HashMap::new();
        for &root in roots {
            let at = program.compile(dims, root, &mut done);
            program.roots.push(at);
        }
        program
    }

    fn compile(&mut self, dims: &Dims, root: DimId, done: &mut HashMap<DimId, usize>) -> usize {
        let mut order = PostOrder(vec![root]);
        while let Some((top, parts)) = order.next(dims, |node| done.contains_key(&node)) {
            let operands: Vec<usize> = parts.iter().filter_map(|part| done.get(part).copied()).collect();
            let at = self.step(dims, top, operands);
            done.insert(top, at);
        }
        done.get(&root).copied().unwrap_or(0)
    }

    /// Adds the step of a node with compiled operands; returns its position.
    fn step(&mut self, dims: &Dims, dim: DimId, operands: Vec<usize>) -> usize {
        let step = match dims.kind(dim) {
            None => Step::Constant(i128::from(dim.inline_value().unwrap_or(0))),
            Some(Kind::Constant(value)) => Step::Constant(i128::from(value)),
            Some(Kind::Symbol(_) | Kind::Variable(_)) => match operands[..] {
                // A bound variable equals its value.
                [value] => return value,
                _ => {
                    self.leaves.push(dim);
                    Step::Leaf(self.leaves.len() - 1)
                }
            },
            Some(Kind::Floor { .. }) => Step::Floor(operands[0], operands[1]),
            Some(Kind::Min(_)) => Step::Min(operands),
            Some(Kind::Product(_)) => Step::Product(operands),
            Some(Kind::Sum(span)) => {
                let coefficients = dims.sum_terms(span).iter().map(|term| i128::from(term.coefficient));
                Step::Sum(coefficients.zip(operands).collect())
            }
        };
        self.steps.push(step);
        self.steps.len() - 1
    }

    /// The symbols and unbound variables that occur, each once.
    pub(crate) fn leaves(&self) -> &[DimId] {
        &self.leaves
    }

    /// The number of steps, which bounds the work of one run.
    pub(crate) fn len(&self) -> usize {
        self.steps.len()
    }

    /// Evaluates all steps. `leaf` returns the value of the leaf at a position of [`DimProgram::leaves`].
    pub(crate) fn run(&self, results: &mut Results, leaf: impl Fn(usize) -> Option<i64>) {
        results.0.clear();
        for step in &self.steps {
            let values = &results.0;
            let value = match step {
                Step::Constant(value) => Some(*value),
                Step::Leaf(position) => leaf(*position).map(i128::from),
                Step::Sum(terms) => terms.iter().try_fold(0i128, |sum, &(coefficient, at)| {
                    sum.checked_add(values[at]?.checked_mul(coefficient)?)
                }),
                Step::Product(factors) => {
                    factors.iter().try_fold(1i128, |product, &at| product.checked_mul(values[at]?))
                }
                Step::Floor(a, b) => values[*a].zip(values[*b]).and_then(|(a, b)| floor_of_quotient(a, b)),
                Step::Min(arguments) => {
                    arguments.iter().try_fold(i128::MAX, |least, &at| Some(least.min(values[at]?)))
                }
            };
            results.0.push(value);
        }
    }

    /// The value of a root after a run; `None` if it is undefined.
    pub(crate) fn result(&self, results: &Results, root: usize) -> Option<i128> {
        results.0[self.roots[root]]
    }
}

/// The values of the steps of the last run, reused between runs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Results(Vec<Option<i128>>);

impl Dims {
    /// Evaluates a dim at values of its symbols and unbound anonymous variables.
    ///
    /// `None` if a leaf has no value, a divisor is zero, or a number overflows.
    #[must_use]
    pub fn evaluate(&self, dim: DimId, values: &[(DimId, i64)]) -> Option<i64> {
        let program = DimProgram::new(self, &[dim]);
        let mut results = Results::default();
        program.run(&mut results, |position| {
            let leaf = program.leaves[position];
            values.iter().find(|(symbol, _)| *symbol == leaf).map(|(_, value)| *value)
        });
        program.result(&results, 0).and_then(|value| i64::try_from(value).ok())
    }
}
