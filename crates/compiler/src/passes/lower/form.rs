//! The rewriting of one node: its ports and constants, and the nodes that replace it.
//!
//! A rule reads operands, attributes and constants, builds values from [`Operand`]s, and returns the value of
//! the node's first output. Each built value has an element type and the shape as far as it is known. The
//! solver types the result again, so an error in this bookkeeping cannot lead to a wrong type.
//!
//! **Invariant:** the nodes of a form are primitives on the node's own slot. Axes, shapes, indices and masks
//! are initializers.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use bytes::Bytes;
use typeloom_onnx::messages::{AttributeProto, IntoAttribute, TensorProto};
use typeloom_ops::catalogue::Standard;
use typeloom_program::domain::Domain;
use typeloom_program::facts::Types;
use typeloom_program::program::{GraphId, Names, Node, NodeId, Program, ValueId};
use typeloom_solver::catalogue::{Catalogue as _, Lookup};
use typeloom_solver::elem::Elem;
use typeloom_tensor::value_type::{Dim, Element, ValueType};
use typeloom_types::dtype::Dtype;
use typeloom_types::plural::counted;
use typeloom_types::tree::TypeNode;
use typeloom_types::tree::builtin::TYPE_SCALAR;

use crate::representation::counts_to;
use crate::unit::Unit;

use super::constants::{Constants, bytes_of};

mod attributes;
mod operand;
mod primitives;

pub(super) use operand::Operand;
use operand::ValueRef;

/// The reason why a node has no form in primitives.
#[derive(Clone, Debug)]
pub(super) struct Refusal(pub(super) String);

pub(super) type OrRefusal<T> = Result<T, Refusal>;

/// The result of a rule: the value of the first output.
pub(super) type Lowered<'f> = OrRefusal<Operand<'f>>;

/// Refuses a node for a reason.
pub(super) fn refuse<T>(reason: impl Into<String>) -> OrRefusal<T> {
    Err(Refusal(reason.into()))
}

/// Refuses a node because of the element type of an operand.
pub(super) fn refuse_dtype<T>(dtype: Dtype) -> OrRefusal<T> {
    refuse(format!("there is no form for {}", dtype.type_node().id))
}

/// A shape as in a [`ValueType`]; `None` if the rank is unknown.
pub(super) type Shape = Option<Arc<[Dim]>>;

/// The form of one node, shared by its operands.
pub(super) type Form<'f> = &'f Rewriting<'f>;

/// The rewriting of one node.
pub(super) struct Rewriting<'f> {
    program: &'f Program,
    types: &'f Types,
    pub(super) node: &'f Node,
    /// The version of ONNX's operators that the program imports.
    pub(super) version: i64,
    /// The storage type of the slot's backend, if it is a single element type.
    storage: Option<Dtype>,
    /// Whether the backend stores single numbers and no tensors.
    stores_scalars: bool,
    constants: &'f Constants,
    /// A bit for each attribute of the node that the rule read, by position.
    read: Cell<u64>,
    built: RefCell<Built>,
}

/// The origin of a value of a form.
enum Source {
    /// A value of the program: an input of the node, or one of its outputs.
    Program(ValueId),
    /// A result or constant of the form, named after its operator.
    Form(Box<str>),
}

/// A value of a form.
struct BuiltValue {
    source: Source,
    shape: Shape,
}

/// A node of a form. Values are positions in [`Built::values`].
struct BuiltNode {
    op: Box<str>,
    inputs: Vec<usize>,
    attributes: Vec<AttributeProto>,
    output: usize,
    /// Whether the node is on the slot of the rewritten one.
    is_on_slot: bool,
}

/// The nodes and values of a form.
#[derive(Default)]
pub(super) struct Built {
    nodes: Vec<BuiltNode>,
    initializers: Vec<(usize, TensorProto)>,
    values: Vec<BuiltValue>,
    literals: Vec<(u64, ValueRef)>,
    /// The values of outputs other than the first.
    results: Vec<(usize, ValueRef)>,
    /// A computation that the storage of the backend does not represent.
    misfit: Option<String>,
    /// The first version that has all operators of the form.
    since: i64,
}

impl Built {
    /// Adds the form to a graph of the program in the place of the node `origin`; returns its nodes.
    pub(super) fn add(
        self,
        unit: &mut Unit,
        graph: GraphId,
        origin: NodeId,
        names: &mut Names,
    ) -> Vec<NodeId> {
        let stem = unit.program[origin].outputs.iter().copied().flatten().next();
        let stem = unit.program.name_of(stem).to_owned();
        let mut values = Vec::with_capacity(self.values.len());
        for value in self.values {
            values.push(match value.source {
                Source::Program(value) => value,
                Source::Form(op) => unit.program.add_value(graph, names.fresh(&format!("{stem}.{op}"))),
            });
        }
        for (value, tensor) in self.initializers {
            unit.program.add_initializer(graph, values[value], tensor);
        }
        let mut nodes = Vec::with_capacity(self.nodes.len());
        for BuiltNode { op, inputs, attributes, output, is_on_slot } in self.nodes {
            let inputs = inputs.into_iter().map(|input| Some(values[input])).collect();
            let mut node = Node::new(Domain::Onnx, &op, inputs, vec![Some(values[output])]);
            node.attributes = attributes;
            let id = unit.program.add_node(node);
            if is_on_slot {
                unit.facts.replaces(id, origin);
            } else {
                unit.facts.is_made_by(id, origin);
            }
            nodes.push(id);
        }
        nodes
    }
}

impl<'f> Rewriting<'f> {
    pub(super) fn new(
        program: &'f Program,
        types: &'f Types,
        node: &'f Node,
        version: i64,
        stored: Option<&TypeNode>,
        constants: &'f Constants,
    ) -> Self {
        let (read, built) = (Cell::new(0), RefCell::default());
        let storage = stored.and_then(|node| Dtype::from_node_id(node.id));
        let stores_scalars = stored.is_some_and(|node| node.is_subtype_of(&TYPE_SCALAR));
        Self { program, types, node, version, storage, stores_scalars, constants, read, built }
    }

    pub(super) fn into_built(self) -> Built {
        self.built.into_inner()
    }

    /// Makes the results the node's outputs and checks the form.
    pub(super) fn finish(&'f self, first: Operand<'f>) -> OrRefusal<()> {
        let others = std::mem::take(&mut self.built.borrow_mut().results);
        for (at, value) in std::iter::once((0, first.value)).chain(others) {
            let Some(output) = self.node.outputs.get(at).copied().flatten() else { continue };
            let value = Operand { form: self, value };
            let value = value.cast(self.output(at).and_then(element).unwrap_or(value.dtype()));
            let position = value.value.at;
            let mut built = self.built.borrow_mut();
            let is_own = matches!(built.values[position].source, Source::Form(_))
                && built.nodes.iter().any(|node| node.output == position);
            if is_own {
                built.values[position].source = Source::Program(output);
            } else {
                drop(built);
                let output = self.value(Source::Program(output), value.dtype(), None).value.at;
                self.push("Identity", vec![position], Vec::new(), output);
            }
        }
        let built = self.built.borrow();
        if let Some(name) = self.unread() {
            return refuse(format!("its form does not read attribute `{name}`"));
        }
        if built.since > self.version {
            return refuse(format!(
                "its form needs operators of version {}, and the program imports {}",
                built.since, self.version
            ));
        }
        if let Some(misfit) = &built.misfit {
            return refuse(format!("its form would {misfit}"));
        }
        let made = built.nodes.iter().map(|node| &built.values[node.output].source);
        let made: Vec<ValueId> = made
            .filter_map(|source| match source {
                Source::Program(value) => Some(*value),
                Source::Form(_) => None,
            })
            .collect();
        match self.node.outputs.iter().flatten().find(|output| !made.contains(output)) {
            Some(left) => refuse(format!("its output `{}` has no form", self.program[*left].name)),
            None => Ok(()),
        }
    }

    // --- ports and constants of the node

    /// Returns a required input.
    pub(super) fn input(&'f self, at: usize) -> Lowered<'f> {
        let value = self.node.inputs.get(at).copied().flatten();
        let typed = value.and_then(|value| {
            let ty = self.types.get(value)?;
            Some((value, element(ty)?, ty.shape.clone()))
        });
        match typed {
            Some((value, dtype, shape)) => Ok(self.value(Source::Program(value), dtype, shape)),
            None => refuse(format!("input {at} is not a tensor of a known element type")),
        }
    }

    /// Returns an optional input.
    pub(super) fn optional(&'f self, at: usize) -> OrRefusal<Option<Operand<'f>>> {
        self.node.inputs.get(at).copied().flatten().map(|_| self.input(at)).transpose()
    }

    /// Returns all inputs.
    pub(super) fn all(&'f self) -> OrRefusal<Vec<Operand<'f>>> {
        (0..self.node.inputs.len()).map(|at| self.input(at)).collect()
    }

    /// Returns an input of floats for computations: 16-bit floats are widened to 32 bits if the backend
    /// stores both.
    pub(super) fn real(&'f self, at: usize) -> Lowered<'f> {
        let operand = self.floats(at)?;
        let widens = self.storage.is_none() && is_half(operand.dtype());
        Ok(if widens { operand.cast(Dtype::F32) } else { operand })
    }

    /// Returns an input of floats without widening, for forms that are the definition of the operator.
    pub(super) fn floats(&'f self, at: usize) -> Lowered<'f> {
        let operand = self.input(at)?;
        match operand.dtype() {
            Dtype::F16 | Dtype::BF16 | Dtype::F32 | Dtype::F64 => Ok(operand),
            other => refuse_dtype(other),
        }
    }

    /// As [`real`](Self::real), for an optional input.
    pub(super) fn optional_real(&'f self, at: usize) -> OrRefusal<Option<Operand<'f>>> {
        self.optional(at)?.map(|_| self.real(at)).transpose()
    }

    /// As [`real`](Self::real) for 16-bit floats; any other element type is unchanged.
    pub(super) fn widened(&'f self, at: usize) -> Lowered<'f> {
        let operand = self.input(at)?;
        if is_half(operand.dtype()) { self.real(at) } else { Ok(operand) }
    }

    /// The solved type of an output.
    fn output(&self, at: usize) -> Option<&'f ValueType> {
        self.types.get((*self.node.outputs.get(at)?)?)
    }

    /// The element type of an output.
    pub(super) fn output_dtype(&self, at: usize) -> OrRefusal<Dtype> {
        let found = self.output(at).and_then(element);
        found.ok_or_else(|| Refusal("the element type of its result is not known".to_owned()))
    }

    /// The shape of the first output.
    pub(super) fn output_shape(&self) -> OrRefusal<Arc<[Dim]>> {
        let found = self.output(0).and_then(|ty| ty.shape.clone());
        found.ok_or_else(|| Refusal("the rank of its result is not known".to_owned()))
    }

    /// Whether an output is used.
    pub(super) fn is_output_used(&self, at: usize) -> bool {
        self.node.outputs.get(at).is_some_and(Option::is_some)
    }

    /// Returns the numbers of a constant input.
    pub(super) fn constant(&self, at: usize) -> OrRefusal<Option<Vec<f64>>> {
        let Some(value) = self.node.inputs.get(at).copied().flatten() else { return Ok(None) };
        match self.constants.numbers(value) {
            Some(numbers) => Ok(Some(numbers)),
            None => refuse(format!("input `{}` is not a constant", self.program[value].name)),
        }
    }

    /// As [`constant`](Self::constant), for integers.
    pub(super) fn constant_ints(&self, at: usize) -> OrRefusal<Option<Vec<i64>>> {
        Ok(self.constant(at)?.map(|numbers| numbers.iter().map(|number| clamped(*number as i64)).collect()))
    }

    /// Returns a constant input of one integer.
    pub(super) fn constant_int(&self, at: usize) -> Option<i64> {
        match self.constant_ints(at).ok()??[..] {
            [number] => Some(number),
            _ => None,
        }
    }

    /// Declares the value of an output other than the first, in the order of outputs.
    pub(super) fn result(&self, at: usize, value: Operand<'_>) {
        self.built.borrow_mut().results.push((at, value.value));
    }

    // --- values, nodes and initializers

    fn value(&'f self, source: Source, dtype: Dtype, shape: Shape) -> Operand<'f> {
        let values = &mut self.built.borrow_mut().values;
        values.push(BuiltValue { source, shape });
        Operand { form: self, value: ValueRef { at: values.len() - 1, dtype } }
    }

    fn push(&self, op: &str, inputs: Vec<usize>, attributes: Vec<AttributeProto>, output: usize) {
        let node = BuiltNode { op: op.into(), inputs, attributes, output, is_on_slot: true };
        self.built.borrow_mut().nodes.push(node);
    }

    /// Adds a node and returns its output.
    fn make(
        &'f self,
        op: &str,
        inputs: &[Operand<'f>],
        attributes: Vec<AttributeProto>,
        dtype: Dtype,
        shape: Shape,
    ) -> Operand<'f> {
        let result = self.value(Source::Form(op.to_lowercase().into()), dtype, shape);
        let inputs = inputs.iter().map(|input| input.value.at).collect();
        self.push(op, inputs, attributes, result.value.at);
        result
    }

    /// Notes that the form computes on an element type, which the backend has to store.
    fn needs_storage(&self, dtype: Dtype) {
        if self.storage.is_some_and(|storage| storage != dtype) {
            self.misfits(format!("compute on {}, which the backend does not store", dtype.type_node().id));
        }
    }

    /// Notes that the form has an operator on data of an element type.
    fn needs_operator(&self, op: &str, dtype: Dtype) {
        self.needs_storage(dtype);
        // ONNX's operators on numbers take these two types.
        if matches!(dtype, Dtype::F32 | Dtype::F64) {
            return;
        }
        let Lookup::Found(operator) = Standard.lookup(Domain::Onnx.name(), op, self.version) else { return };
        // Data ports accept floats, as in `program_operators`.
        let mut allowed = operator.schema.type_vars.iter().map(|variable| variable.allowed.tensor);
        if allowed.find(|it| it.contains(Elem::FLOAT)).is_some_and(|it| !it.contains(Elem::of(dtype))) {
            self.misfits(format!("compute `{op}` on {}, which ONNX does not define", dtype.type_node().id));
        }
    }

    /// Whether the backend stores one element type, and the form computes something that it cannot represent.
    pub(super) fn is_misfit(&self) -> bool {
        self.storage.is_some() && self.built.borrow().misfit.is_some()
    }

    fn misfits(&self, misfit: String) {
        self.built.borrow_mut().misfit.get_or_insert(misfit);
    }

    /// Notes that the form has indices up to `last`.
    fn needs_positions(&self, last: i64) {
        let most = self.storage.and_then(counts_to);
        if most.is_some_and(|most| u64::try_from(last).is_ok_and(|last| last > most)) {
            self.misfits(format!("use the index {last}, which the backend does not represent"));
        }
    }

    /// Notes that the form has an operator of a version.
    fn needs_version(&self, version: i64) {
        let since = &mut self.built.borrow_mut().since;
        *since = version.max(*since);
    }

    fn initializer(&'f self, dtype: Dtype, dims: &[i64], bytes: Vec<u8>) -> Operand<'f> {
        let value = self.value(Source::Form("const".into()), dtype, shape_of(dims));
        self.built.borrow_mut().initializers.push((value.value.at, tensor(dtype, dims, bytes)));
        value
    }

    /// A constant tensor of 64-bit integers: axes, a shape, indices.
    fn whole(&'f self, dims: &[i64], values: &[i64]) -> Operand<'f> {
        self.initializer(Dtype::I64, dims, bytes_of_integers(values))
    }

    fn list(&'f self, values: &[i64]) -> Operand<'f> {
        self.whole(&[values.len() as i64], values)
    }

    /// A constant condition.
    pub(super) fn mask(&'f self, dims: &[i64], values: &[bool]) -> Operand<'f> {
        self.initializer(Dtype::Bool, dims, values.iter().map(|value| u8::from(*value)).collect())
    }

    /// Constant data.
    pub(super) fn tensor(&'f self, dtype: Dtype, dims: &[i64], values: &[f64]) -> Operand<'f> {
        self.needs_storage(dtype);
        if self.stores_scalars {
            self.misfits("have a constant, which is a tensor".to_owned());
        }
        let bytes = bytes_of(dtype, values).unwrap_or_else(|| {
            self.misfits(format!("have a constant of {}", dtype.type_node().id));
            Vec::new()
        });
        let value = tensor(dtype, dims, bytes).into_attribute("value");
        self.make("Constant", &[], vec![value], dtype, shape_of(dims))
    }

    /// A constant of 64-bit integers that is not data of the backend and has no slot.
    pub(super) fn host(&'f self, dims: &[i64], values: &[i64]) -> Operand<'f> {
        let value = tensor(Dtype::I64, dims, bytes_of_integers(values)).into_attribute("value");
        let constant = self.make("Constant", &[], vec![value], Dtype::I64, shape_of(dims));
        if let Some(node) = self.built.borrow_mut().nodes.last_mut() {
            node.is_on_slot = false;
        }
        constant
    }

    /// The numbers from 0 on, in a tensor of these extents.
    pub(super) fn iota(&'f self, dtype: Dtype, dims: &[i64]) -> Lowered<'f> {
        let count = bounded(total(dims.iter().copied())?)?;
        let numbers: Vec<f64> = (0..count).map(|at| at as f64).collect();
        Ok(self.tensor(dtype, dims, &numbers))
    }

    /// A single number. Equal numbers of a form are one constant.
    pub(super) fn literal(&'f self, dtype: Dtype, number: f64) -> Operand<'f> {
        let is_same = |(bits, value): &&(u64, ValueRef)| value.dtype == dtype && *bits == number.to_bits();
        let known = self.built.borrow().literals.iter().find(is_same).map(|(_, value)| *value);
        if let Some(value) = known {
            return Operand { form: self, value };
        }
        let literal = self.tensor(dtype, &[], &[number]);
        self.built.borrow_mut().literals.push((number.to_bits(), literal.value));
        literal
    }

    /// Whether the backend stores masks only, and computes no numbers.
    pub(super) fn stores_masks(&self) -> bool {
        self.storage == Some(Dtype::Bool)
    }

    /// The element type of truth values: the storage type of the backend, or 32-bit floats.
    pub(super) fn truth_dtype(&self) -> Dtype {
        self.storage.unwrap_or(Dtype::F32)
    }

    /// Returns sorted positions of axes that may count from the end.
    pub(super) fn axes(&self, given: &[i64], rank: usize) -> OrRefusal<Vec<usize>> {
        let mut axes = given.iter().map(|axis| self.axis(*axis, rank)).collect::<OrRefusal<Vec<_>>>()?;
        axes.sort_unstable();
        axes.dedup();
        Ok(axes)
    }

    pub(super) fn axis(&self, given: i64, rank: usize) -> OrRefusal<usize> {
        let from_end = if given < 0 { given + rank as i64 } else { given };
        match usize::try_from(from_end) {
            Ok(axis) if axis < rank => Ok(axis),
            Ok(_) | Err(_) => refuse(format!("axis {given} is not one of {rank}")),
        }
    }
}

/// The element type of a tensor or scalar.
fn element(ty: &ValueType) -> Option<Dtype> {
    if let Element::Tensor(dtype) | Element::Scalar(dtype) = ty.element { dtype } else { None }
}

fn bytes_of_integers(values: &[i64]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn is_half(dtype: Dtype) -> bool {
    matches!(dtype, Dtype::F16 | Dtype::BF16)
}

fn tensor(dtype: Dtype, dims: &[i64], bytes: Vec<u8>) -> TensorProto {
    TensorProto {
        dims: dims.to_vec(),
        data_type: Some(dtype.onnx_number()),
        raw_data: Some(Bytes::from(bytes)),
        ..TensorProto::default()
    }
}

fn shape_of(dims: &[i64]) -> Shape {
    Some(dims.iter().copied().map(fixed).collect())
}

/// An extent as a dim; negative ones are unknown.
pub(super) fn fixed(extent: i64) -> Dim {
    usize::try_from(extent).map_or(Dim::Unknown, Dim::Fixed)
}

/// The number of a dim.
pub(super) fn number_of(dim: &Dim) -> Option<i64> {
    dim.fixed().and_then(|extent| i64::try_from(extent).ok())
}

/// The extents of a tensor of this rank with one axis that is not 1.
pub(super) fn along(rank: usize, axis: usize, extent: i64) -> Vec<i64> {
    let mut dims = vec![1; rank];
    dims[axis] = extent;
    dims
}

/// The largest extent and attribute in computations of rules, so that sums and products of two fit into an
/// `i64`. No tensor is larger, and larger attributes have the same effect as this number.
const LARGEST: i64 = 1 << 30;

fn clamped(value: i64) -> i64 {
    value.clamp(-LARGEST, LARGEST)
}

/// The product of extents.
pub(super) fn total(extents: impl IntoIterator<Item = i64>) -> OrRefusal<i64> {
    let product = extents.into_iter().try_fold(1_i64, i64::checked_mul);
    product.filter(|total| *total <= 1 << 48).ok_or_else(|| Refusal("a tensor is too large".to_owned()))
}

/// The product of dims, if all are numbers.
pub(super) fn known_total(dims: &[Dim]) -> Option<i64> {
    let known: Option<Vec<i64>> = dims.iter().map(number_of).collect();
    total(known?).ok()
}

/// Maximum number of elements of a constant in a form.
const MAX_ELEMENTS: i64 = 1 << 22;

/// Checks that a count is small enough for a constant.
pub(super) fn bounded(count: i64) -> OrRefusal<usize> {
    match usize::try_from(count) {
        Ok(fits) if count <= MAX_ELEMENTS => Ok(fits),
        Ok(_) | Err(_) => refuse(format!("a constant of {} is too large", counted(count, "element"))),
    }
}
