//! Nodes between dequantisation and quantisation that run on 8-bit integers without a product.
//!
//! - A chain of functions of one element is a table of 256 results. The nodes fill the table once, when the
//!   model is prepared.
//! - A node that only moves elements runs on the integers; a chain of functions after it is a table.
//! - An arithmetic node of two tensors, and clamping after it, is one loop over the integers.
//!
//! **Invariant:** results equal those of the separate nodes in every bit. The loop rounds each step as the
//! nodes do.
//!
//! A kernel is complete when it has absorbed a quantisation. Where a run has other types than expected, the
//! nodes run one by one.

use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::datum::Datum;
use typeloom_types::dtype::Dtype;

use super::link::{Link, LinkInput};
use super::nodes::{Quantisation, bounds, byte, floats, quantisation, scalar};
use super::{Absorbed, Dequantised, FusedError, Node, Operand};
use crate::attributes::Attributes;
use crate::call::Call;
use crate::element::{check_size, widest};
use crate::error::{KernelError, KernelErrorKind};
use crate::fast::quantised::linear::Target;
use crate::fast::threads;
use crate::memory;
use crate::movement::write_chunks;
use crate::ops::{Operator, find};
use crate::shape::{Rows, broadcast, broadcast_strides};

/// Minimum number of elements for which splitting across threads pays.
const MIN_PARALLEL: usize = 1 << 17;

/// Number of elements that are computed together.
const CHUNK: usize = 256;

/// Functions of one element. Other inputs are numbers.
const FUNCTIONS: &[&str] = &[
    "Abs",
    "Add",
    "Ceil",
    "Celu",
    "Clip",
    "Cos",
    "Div",
    "Elu",
    "Erf",
    "Exp",
    "Floor",
    "Gelu",
    "HardSigmoid",
    "HardSwish",
    "LeakyRelu",
    "Log",
    "Max",
    "Min",
    "Mish",
    "Mul",
    "Neg",
    "Pow",
    "QuickGelu",
    "Reciprocal",
    "Relu",
    "Round",
    "Selu",
    "Sigmoid",
    "Sign",
    "Sin",
    "Softplus",
    "Softsign",
    "Sqrt",
    "Sub",
    "Tanh",
    "ThresholdedRelu",
];

/// Operators that only move elements of their first input, or of all inputs.
const MOVEMENTS: &[&str] = &[
    "Concat",
    "DepthToSpace",
    "Expand",
    "Flatten",
    "Gather",
    "Identity",
    "Reshape",
    "Slice",
    "SpaceToDepth",
    "Squeeze",
    "Tile",
    "Transpose",
    "Unsqueeze",
];

#[derive(Clone, Copy, Debug)]
enum Arithmetic {
    Add,
    Sub,
    Mul,
    Div,
}

impl Arithmetic {
    fn of(name: &str) -> Option<Self> {
        Some(match name {
            "Add" => Self::Add,
            "Sub" => Self::Sub,
            "Mul" => Self::Mul,
            "Div" => Self::Div,
            _ => return None,
        })
    }
}

/// A dequantised operand.
#[derive(Clone, Debug)]
struct Source {
    /// The integers, unless a run reads them.
    constant: Option<AnyTensor>,
    scale: f32,
    zero: AnyTensor,
}

impl Source {
    /// Only one scale and zero point are supported.
    fn of(given: &Dequantised) -> Option<Self> {
        let zero = given.zero.clone()?;
        byte(&zero)?;
        let source = Self { constant: given.x.clone(), scale: scalar(&given.scale)?, zero };
        source.constant.as_ref().is_none_or(|x| x.dtype() == source.zero.dtype()).then_some(source)
    }

    fn dequantised(&self, x: &AnyTensor) -> Result<Datum, KernelError> {
        let operands = [x.clone(), AnyTensor::from_scalar(self.scale), self.zero.clone()];
        alone("DequantizeLinear", operands)
    }

    /// Parameters with which the loop dequantises a byte.
    fn form(&self) -> Form {
        let zero = byte(&self.zero).unwrap_or(0) as f32;
        // A signed byte is `(byte ^ 128) - 128`.
        let (flip, middle) = if self.zero.dtype() == Dtype::I8 { (128, 128.0) } else { (0, 0.0) };
        Form { flip, zero: zero + middle, scale: self.scale }
    }
}

/// Runs an operator of the default domain without attributes.
fn alone<const N: usize>(name: &'static str, inputs: [AnyTensor; N]) -> Result<Datum, KernelError> {
    let error = |kind| KernelError { op: name.to_owned(), kind };
    let unsupported = || error(KernelErrorKind::Unsupported(name.to_owned()));
    let inputs = inputs.into_iter().map(|input| Some(input.into())).collect();
    let call = Call { version: 19, attributes: &Attributes::default(), inputs, outputs: 1 };
    find("", name).ok_or_else(unsupported)?.run(call)?.into_iter().next().ok_or_else(unsupported)
}

/// Bytes as the low bits of an unsigned number, and their dequantisation `(number - zero) * scale`.
#[derive(Clone, Copy)]
struct Form {
    flip: u8,
    zero: f32,
    scale: f32,
}

impl Form {
    #[inline(always)]
    fn value(self, byte: u8) -> f32 {
        (f32::from(byte ^ self.flip) - self.zero) * self.scale
    }
}

/// Results of all bytes, by their bits.
#[derive(Clone, Debug)]
struct Table([u8; 256]);

impl Table {
    fn is_identity(&self) -> bool {
        self.0.iter().enumerate().all(|(at, byte)| at == usize::from(*byte))
    }
}

/// Kind of the first node.
#[derive(Clone, Debug)]
enum Kind {
    Function,
    /// The node moves elements.
    Movement,
    Pair(Arithmetic),
}

/// A kernel on 8-bit integers.
#[derive(Clone, Debug)]
pub(super) struct Elementwise {
    pub(super) operator: &'static Operator,
    kind: Kind,
    /// The dequantised inputs of the first node, in order.
    sources: Vec<Source>,
    /// Indices of the inputs of the first node that a run reads: dequantised ones, then others.
    inputs: Vec<usize>,
    /// The nodes, and their inputs.
    links: Vec<Link>,
    /// Clamping after [`Kind::Pair`].
    clamps: Vec<(f32, f32)>,
    /// The quantisation, and a table for each source of other kinds. `None` as long as the kernel is
    /// incomplete.
    result: Option<(Quantisation, Vec<Table>)>,
}

impl Elementwise {
    /// A kernel for a node with a dequantised first input.
    pub(super) fn prepare(node: &Node<'_>) -> Option<Self> {
        let name = node.operator.name();
        let is_known = FUNCTIONS.contains(&name) || MOVEMENTS.contains(&name);
        if node.outputs != 1 || !is_known || is_before_broadcasting(node) {
            return None;
        }
        let mut kernel = Self {
            operator: node.operator,
            kind: Kind::Movement,
            sources: Vec::new(),
            inputs: Vec::new(),
            links: Vec::new(),
            clamps: Vec::new(),
            result: None,
        };
        let mut list = Vec::new();
        if MOVEMENTS.contains(&name) {
            let are_all = name == "Concat";
            for (index, input) in node.inputs.iter().enumerate() {
                list.push(match input {
                    Operand::Dequantised(given) if are_all || index == 0 => kernel.source(index, given)?,
                    _ if are_all || index == 0 => return None,
                    Operand::Unknown => {
                        kernel.inputs.push(index);
                        LinkInput::Input(kernel.inputs.len() - 1)
                    }
                    other => number_or_list(other)?,
                });
            }
        } else {
            let read =
                |input: &&Operand<'_>| matches!(input, Operand::Dequantised(Dequantised { x: None, .. }));
            let is_function = node.inputs.iter().filter(read).count() == 1
                && node.inputs.iter().all(|input| read(&input) || number(input).is_some());
            kernel.kind = if is_function { Kind::Function } else { Kind::Pair(Arithmetic::of(name)?) };
            for (index, input) in node.inputs.iter().enumerate() {
                list.push(match input {
                    _ if is_function && !read(&input) => number(input)?,
                    Operand::Dequantised(given) => kernel.source(index, given)?,
                    _ => return None,
                });
            }
        }
        kernel.links.push(Link::new(node, list));
        let is_read = kernel.sources.iter().any(|source| source.constant.is_none());
        (is_read && !kernel.sources.is_empty()).then_some(kernel)
    }

    /// Adds a dequantised input. Inputs of a run and of links have the same order.
    fn source(&mut self, index: usize, given: &Dequantised) -> Option<LinkInput> {
        let source = Source::of(given)?;
        let input = match &source.constant {
            None => {
                self.inputs.push(index);
                LinkInput::Input(self.inputs.len() - 1)
            }
            Some(_) if matches!(self.kind, Kind::Movement) => return None,
            Some(_) => LinkInput::Constant(floats(&Operand::Dequantised(given))?),
        };
        self.sources.push(source);
        Some(input)
    }

    pub(super) fn is_complete(&self) -> bool {
        self.result.is_some()
    }

    pub(super) fn inputs(&self) -> &[usize] {
        &self.inputs
    }

    /// Absorbs the only consumer of the result, if supported.
    pub(super) fn absorb(&mut self, node: &Node<'_>) -> Absorbed {
        if self.absorbed(node).is_some() { Absorbed::Whole } else { Absorbed::No }
    }

    fn absorbed(&mut self, node: &Node<'_>) -> Option<()> {
        if node.outputs != 1 || self.is_complete() || is_before_broadcasting(node) {
            return None;
        }
        let result = node.inputs.iter().position(|input| matches!(input, Operand::Result))?;
        let mut list = Vec::new();
        for (index, input) in node.inputs.iter().enumerate() {
            list.push(if index == result { LinkInput::Previous } else { number(input)? });
        }
        let link = Link::new(node, list);
        if node.operator.name() == "QuantizeLinear" && result == 0 {
            let target = quantisation(node)?;
            self.links.push(link);
            let tables = match self.kind {
                Kind::Pair(_) => Some(Vec::new()),
                Kind::Function | Kind::Movement => self.sources.iter().map(|it| self.table(it)).collect(),
            };
            if tables.is_none() {
                self.links.pop();
            }
            self.result = Some((target, tables?));
            return Some(());
        }
        match self.kind {
            Kind::Pair(_) => self.clamps.push(bounds(node, result)?),
            Kind::Function | Kind::Movement if FUNCTIONS.contains(&node.operator.name()) => {}
            Kind::Function | Kind::Movement => return None,
        }
        self.links.push(link);
        Some(())
    }

    /// The results of all bytes, computed by the nodes.
    fn table(&self, source: &Source) -> Option<Table> {
        let bytes: Vec<u8> = (0..=255).collect();
        let all = AnyTensor::from_le_bytes(source.zero.dtype(), &[bytes.len()], &bytes).ok()?;
        let given = Some(source.dequantised(&all).ok()?);
        let mut result = match self.kind {
            Kind::Movement => given,
            Kind::Function | Kind::Pair(_) => {
                self.links.first()?.run(0, None, &[given]).ok()?.into_iter().next()
            }
        };
        for (at, link) in self.links.iter().enumerate().skip(1) {
            result = link.run(at, result, &[]).ok()?.into_iter().next();
        }
        let Some(Datum::Tensor(result)) = result else { return None };
        Some(Table(result.bytes().try_into().ok()?))
    }

    /// Runs the kernel.
    pub(super) fn run(&self, mut inputs: Vec<Option<Datum>>) -> Result<Vec<Datum>, FusedError> {
        let results = match self.integers(&inputs) {
            Some(result) => result.map(|tensor| vec![tensor.into()]),
            None => self.one_by_one(&inputs),
        };
        memory::recycle_all(&mut inputs);
        results
    }

    /// The result, if the integers have the expected types.
    fn integers(&self, inputs: &[Option<Datum>]) -> Option<Result<AnyTensor, FusedError>> {
        let (target, tables) = self.result.as_ref()?;
        let mut reads = inputs.iter();
        let mut tensors = Vec::with_capacity(self.sources.len());
        for source in &self.sources {
            tensors.push(match &source.constant {
                Some(x) => x,
                None => reads.next()?.as_ref()?.as_tensor()?,
            });
            if tensors.last()?.dtype() != source.zero.dtype() {
                return None;
            }
        }
        let result = match (&self.kind, &tensors[..], &self.sources[..], &tables[..]) {
            (Kind::Function, [x], _, [table]) if x.rank() > 0 => mapped(x, table, target.dtype),
            (Kind::Movement, [x], _, [table]) => {
                let moved = match self.moved(vec![(*x).clone()], reads) {
                    Ok(moved) => moved,
                    Err(error) => return Some(Err(error)),
                };
                // A number in a tensor with an axis enlarges a scalar.
                if moved.rank() == 0 && self.links.len() > 2 {
                    return None;
                }
                mapped(&moved, table, target.dtype)
            }
            (Kind::Movement, ..) => {
                let each = tensors.iter().zip(tables).map(|(x, table)| mapped(x, table, target.dtype));
                match each.collect::<Result<Vec<_>, _>>() {
                    Ok(list) => return Some(self.moved(list, reads)),
                    Err(kind) => Err(kind),
                }
            }
            (Kind::Pair(arithmetic), [a, b], [left, right], _) => {
                self.pair(*arithmetic, (a, left.form()), (b, right.form()), *target)
            }
            (Kind::Function | Kind::Pair(_), ..) => return None,
        };
        let op = self.operator.name();
        Some(result.map_err(|kind| FusedError { node: 0, error: KernelError { op: op.to_owned(), kind } }))
    }

    /// Runs the first node on integers.
    fn moved<'a>(
        &self,
        tensors: Vec<AnyTensor>,
        others: impl Iterator<Item = &'a Option<Datum>>,
    ) -> Result<AnyTensor, FusedError> {
        let integers = tensors.into_iter().map(|tensor| Some(tensor.into()));
        let inputs: Vec<Option<Datum>> = integers.chain(others.cloned()).collect();
        let error =
            || KernelError { op: self.operator.name().to_owned(), kind: KernelErrorKind::MissingInput(0) };
        let missing = || FusedError { node: 0, error: error() };
        let results = self.links.first().ok_or_else(missing)?.run(0, None, &inputs)?;
        match results.into_iter().next() {
            Some(Datum::Tensor(tensor)) => Ok(tensor),
            Some(_) | None => Err(missing()),
        }
    }

    fn pair(
        &self,
        arithmetic: Arithmetic,
        (a, left): (&AnyTensor, Form),
        (b, right): (&AnyTensor, Form),
        target: Quantisation,
    ) -> Result<AnyTensor, KernelErrorKind> {
        let limits = if target.dtype == Dtype::I8 { (-128.0, 127.0) } else { (0.0, 255.0) };
        let to = (target.scale, Target::new(target.zero, limits));
        let compute = |x: Given<'_>, y: Given<'_>, out: &mut [u8]| {
            widest(
                #[inline(always)]
                || combine(arithmetic, (x, left), (y, right), &self.clamps, to, out),
            );
        };
        let (xs, ys) = (a.bytes(), b.bytes());
        let shape = broadcast(&[a.shape(), b.shape()])?;
        check_size(&shape, 1)?;
        write_chunks::<1>(target.dtype, &shape, |out| {
            let out = out.as_flattened_mut();
            if a.shape() == b.shape() {
                return threads::in_parts(out, MIN_PARALLEL, &|at, out| {
                    compute(Given::Each(&xs[at..]), Given::Each(&ys[at..]), out);
                });
            }
            let strides = [a, b].map(|it| broadcast_strides(it.shape(), &shape));
            let width = shape.last().copied().unwrap_or(1);
            if out.is_empty() {
                return;
            }
            let steps = strides.each_ref().map(|strides| strides.last().copied().unwrap_or(0));
            let part = (MIN_PARALLEL / width).max(1) * width;
            threads::in_parts(out, part, &|at, out| {
                let rows = Rows::new(&shape, [&strides[0], &strides[1]]).starting_at(at / width);
                for (out, [x, y]) in out.chunks_exact_mut(width).zip(rows) {
                    compute(Given::of(xs, x, steps[0]), Given::of(ys, y, steps[1]), out);
                }
            });
        })
    }

    /// Runs the nodes separately.
    fn one_by_one(&self, inputs: &[Option<Datum>]) -> Result<Vec<Datum>, FusedError> {
        let mut reals = inputs.to_vec();
        let read = self.sources.iter().filter(|source| source.constant.is_none());
        for (real, source) in reals.iter_mut().zip(read) {
            if let Some(x) = real.as_ref().and_then(Datum::as_tensor) {
                *real = Some(source.dequantised(x).map_err(|error| FusedError { node: 0, error })?);
            }
        }
        let mut results = Vec::new();
        for (at, link) in self.links.iter().enumerate() {
            results = link.run(at, results.into_iter().next(), &reals)?;
        }
        Ok(results)
    }
}

/// Whether an arithmetic node has attributes for broadcasting, which version 7 replaced.
fn is_before_broadcasting(node: &Node<'_>) -> bool {
    node.operator.domain().is_empty() && node.version < 7
}

/// An operand with a single element, or an omitted one.
fn number(input: &Operand<'_>) -> Option<LinkInput> {
    match input {
        Operand::Absent => Some(LinkInput::Absent),
        Operand::Constant(tensor) if is_number(tensor) => Some(LinkInput::Constant((*tensor).clone())),
        Operand::Dequantised(Dequantised { x: Some(x), .. }) if is_number(x) => {
            floats(input).map(LinkInput::Constant)
        }
        Operand::Constant(_) | Operand::Dequantised(_) | Operand::Unknown | Operand::Result => None,
    }
}

fn is_number(tensor: &AnyTensor) -> bool {
    tensor.len() == 1 && tensor.rank() <= 1
}

/// An operand that is constant or omitted.
fn number_or_list(input: &Operand<'_>) -> Option<LinkInput> {
    match input {
        Operand::Absent => Some(LinkInput::Absent),
        Operand::Constant(tensor) => Some(LinkInput::Constant((*tensor).clone())),
        Operand::Dequantised(_) | Operand::Unknown | Operand::Result => None,
    }
}

/// The bytes of an operand in a row.
#[derive(Clone, Copy)]
enum Given<'a> {
    Each(&'a [u8]),
    /// One byte for all elements.
    One(u8),
}

impl<'a> Given<'a> {
    fn of(bytes: &'a [u8], at: usize, step: usize) -> Self {
        if step == 0 { Self::One(bytes[at]) } else { Self::Each(&bytes[at..]) }
    }
}

/// Replaces every byte by its entry in a table.
fn mapped(x: &AnyTensor, table: &Table, dtype: Dtype) -> Result<AnyTensor, KernelErrorKind> {
    if table.is_identity() && x.dtype() == dtype {
        return Ok(x.clone());
    }
    check_size(x.shape(), 1)?;
    let (from, table) = (x.bytes(), &table.0);
    write_chunks::<1>(dtype, x.shape(), |out| {
        threads::in_parts(out.as_flattened_mut(), MIN_PARALLEL, &|at, out| {
            for (out, from) in out.iter_mut().zip(&from[at..]) {
                *out = table[usize::from(*from)];
            }
        });
    })
}

/// Combines two operands, clamps, and quantises.
#[inline(always)]
fn combine(
    arithmetic: Arithmetic,
    (x, left): (Given<'_>, Form),
    (y, right): (Given<'_>, Form),
    clamps: &[(f32, f32)],
    (scale, target): (f32, Target),
    out: &mut [u8],
) {
    let (mut a, mut b) = ([0.0_f32; CHUNK], [0.0_f32; CHUNK]);
    for (at, out) in out.chunks_mut(CHUNK).enumerate() {
        let (a, b) = (&mut a[..out.len()], &mut b[..out.len()]);
        dequantise(x, left, at * CHUNK, a);
        dequantise(y, right, at * CHUNK, b);
        match arithmetic {
            Arithmetic::Add => a.iter_mut().zip(&*b).for_each(|(a, b)| *a += b),
            Arithmetic::Sub => a.iter_mut().zip(&*b).for_each(|(a, b)| *a -= b),
            Arithmetic::Mul => a.iter_mut().zip(&*b).for_each(|(a, b)| *a *= b),
            Arithmetic::Div => a.iter_mut().zip(&*b).for_each(|(a, b)| *a /= b),
        }
        for (low, high) in clamps {
            for a in a.iter_mut() {
                let raised = if *a < *low { *low } else { *a };
                *a = if raised > *high { *high } else { raised };
            }
        }
        for (out, a) in out.iter_mut().zip(&*a) {
            *out = target.byte(*a / scale);
        }
    }
}

#[inline(always)]
fn dequantise(given: Given<'_>, form: Form, at: usize, out: &mut [f32]) {
    match given {
        Given::Each(bytes) => {
            for (out, byte) in out.iter_mut().zip(&bytes[at..]) {
                *out = form.value(*byte);
            }
        }
        Given::One(byte) => out.fill(form.value(byte)),
    }
}
