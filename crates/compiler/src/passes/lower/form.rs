//! The rewriting of one node: its operands, and a builder of primitives.
//!
//! A rule reads operands, attributes and constants, builds values by the methods named after primitives, and
//! declares the node's results. Each built value has an element type and the known extents. The solver types
//! the result again, so an error in this bookkeeping cannot lead to a wrong type.
//!
//! **Invariant:** the nodes of a form are primitives on the node's own slot. Axes, shapes, indices and masks
//! are initializers.

use std::cell::Cell;
use std::collections::HashSet;

use bytes::Bytes;
use typeloom_module::graph::attributes::IntoAttribute;
use typeloom_module::ir;
use typeloom_onnx::messages::{AttributeProto, NodeProto, TensorProto};
use typeloom_solver::value_type::{Dim, Element, ValueType};
use typeloom_types::dtype::{Dtype, DtypeClass};

use super::constants::{Constants, bytes_of};

mod attributes;

/// The reason why a node has no form in primitives.
#[derive(Clone, Debug)]
pub(super) struct Refusal(pub(super) String);

/// The result of a rule: the value of the first output.
pub(super) type Lowered<T = Operand> = Result<T, Refusal>;

/// Refuses a node for a reason.
pub(super) fn refuse<T>(reason: impl Into<String>) -> Lowered<T> {
    Err(Refusal(reason.into()))
}

/// Extents; `None` where they are not numbers.
pub(super) type Extents = Vec<Option<i64>>;

/// A tensor of a known element type in a form.
#[derive(Clone, Debug)]
pub(super) struct Operand {
    pub(super) name: String,
    ty: ValueType,
    dtype: Dtype,
}

impl Operand {
    /// Converts a value of a program, if it is a tensor or scalar of a known element type.
    pub(super) fn of_value(name: &str, ty: &ValueType) -> Option<Self> {
        let (Element::Tensor(dtype) | Element::Scalar(dtype)) = ty.element else { return None };
        Some(Self { name: name.to_owned(), ty: ty.clone(), dtype: dtype? })
    }

    /// A tensor that a form computes.
    fn new(name: String, dtype: Dtype, shape: Option<Extents>) -> Self {
        let dim = |extent: Option<i64>| {
            extent.and_then(|extent| usize::try_from(extent).ok()).map_or(Dim::Unknown, Dim::Fixed)
        };
        let shape = shape.map(|shape| shape.into_iter().map(dim).collect());
        let ty = ValueType { node: Some(dtype.type_node()), element: Element::Tensor(Some(dtype)), shape };
        Self { name, ty, dtype }
    }

    /// The element type.
    pub(super) fn dtype(&self) -> Dtype {
        self.dtype
    }

    /// The extents; `None` if the rank is unknown.
    pub(super) fn shape(&self) -> Option<Extents> {
        let extent = |dim: &Dim| dim.fixed().and_then(|extent| i64::try_from(extent).ok());
        Some(self.ty.shape.as_ref()?.iter().map(extent).collect())
    }

    /// The number of axes.
    pub(super) fn rank(&self) -> Lowered<usize> {
        match &self.ty.shape {
            Some(shape) => Ok(shape.len()),
            None => refuse(format!("the rank of `{}` is not known", self.name)),
        }
    }

    /// The extents, if all are numbers.
    pub(super) fn extents(&self) -> Lowered<Vec<i64>> {
        let all = self.shape().and_then(|shape| shape.into_iter().collect());
        let all: Vec<i64> =
            all.ok_or_else(|| Refusal(format!("the extents of `{}` are not all numbers", self.name)))?;
        match all.iter().all(|extent| (0..=LARGEST).contains(extent)) {
            true => Ok(all),
            false => refuse(format!("`{}` is too large", self.name)),
        }
    }

    /// One extent.
    pub(super) fn extent(&self, axis: usize) -> Lowered<i64> {
        let found = self.shape().and_then(|shape| *shape.get(axis)?);
        match found {
            Some(extent) if (0..=LARGEST).contains(&extent) => Ok(extent),
            Some(_) => refuse(format!("`{}` is too large", self.name)),
            None => refuse(format!("extent {axis} of `{}` is not a number", self.name)),
        }
    }
}

/// Methods named after primitives.
macro_rules! primitives {
    ($($method:ident $op:literal $kind:ident($($operand:ident),*);)*) => {
        $(
            pub(super) fn $method(&mut self, $($operand: &Operand),*) -> Operand {
                self.$kind($op, $($operand),*)
            }
        )*
    };
}

/// The primitives that one node becomes.
pub(super) struct Form<'a> {
    pub(super) node: &'a NodeProto,
    /// The version of ONNX's operators that the program imports.
    pub(super) version: i64,
    /// The storage type of the slot's backend, if it is a single element type.
    storage: Option<Dtype>,
    inputs: Vec<Option<Operand>>,
    pub(super) outputs: Vec<Option<Operand>>,
    constants: &'a Constants,
    taken: &'a mut HashSet<String>,
    stem: String,
    results: Vec<(usize, Operand)>,
    misfit: Option<Dtype>,
    /// The first version that has all operators of the form.
    since: i64,
    literals: Vec<(Dtype, u64, Operand)>,
    /// A bit for each attribute of the node that the rule read, by position.
    read: Cell<u64>,
    pub(super) nodes: Vec<NodeProto>,
    pub(super) initializers: Vec<TensorProto>,
}

impl<'a> Form<'a> {
    pub(super) fn new(
        node: &'a NodeProto,
        version: i64,
        storage: Option<Dtype>,
        typed: impl Fn(&str) -> Option<Operand>,
        constants: &'a Constants,
        taken: &'a mut HashSet<String>,
    ) -> Self {
        let ports = |names: &[String]| names.iter().map(|name| typed(name)).collect();
        let stem = node.output.iter().find(|name| !name.is_empty()).cloned().unwrap_or_default();
        Self {
            node,
            version,
            storage,
            inputs: ports(&node.input),
            outputs: ports(&node.output),
            constants,
            taken,
            stem,
            results: Vec::new(),
            misfit: None,
            since: 1,
            literals: Vec::new(),
            read: Cell::new(0),
            nodes: Vec::new(),
            initializers: Vec::new(),
        }
    }

    /// Renames the results to the node's outputs and checks the form.
    pub(super) fn finish(&mut self, first: Operand) -> Lowered<()> {
        let mut renamed: Vec<(String, String)> = Vec::new();
        let others = std::mem::take(&mut self.results);
        for (at, value) in std::iter::once((0, first)).chain(others) {
            let Some(output) = self.node.output.get(at).filter(|name| !name.is_empty()).cloned() else {
                continue;
            };
            let value = match self.outputs.get(at).and_then(Option::as_ref) {
                Some(typed) if typed.dtype() != value.dtype() => self.cast(&value, typed.dtype()),
                Some(_) | None => value,
            };
            let made = self.nodes.iter().any(|node| node.output.contains(&value.name));
            if made && renamed.iter().all(|(from, _)| *from != value.name) {
                renamed.push((value.name, output));
            } else {
                self.node_to("Identity", &[&value.name], Vec::new(), output);
            }
        }
        for name in self.nodes.iter_mut().flat_map(|node| node.input.iter_mut().chain(&mut node.output)) {
            if let Some((_, to)) = renamed.iter().find(|(from, _)| from == name) {
                name.clone_from(to);
            }
        }
        if let Some(name) = self.unread() {
            return refuse(format!("its form does not read attribute `{name}`"));
        }
        if self.since > self.version {
            return refuse(format!(
                "its form needs operators of version {}, and the program imports {}",
                self.since, self.version
            ));
        }
        if let Some(dtype) = self.misfit {
            return refuse(format!(
                "its form would compute on {}, which the backend does not store",
                dtype.type_node().id
            ));
        }
        let left = self
            .node
            .output
            .iter()
            .find(|name| !name.is_empty() && !self.nodes.iter().any(|node| node.output.contains(name)));
        match left {
            Some(left) => refuse(format!("its output `{left}` has no form")),
            None => Ok(()),
        }
    }

    // --- inputs, attributes and constants of the node

    /// Returns a required input.
    pub(super) fn input(&self, at: usize) -> Lowered<Operand> {
        match self.inputs.get(at) {
            Some(Some(operand)) => Ok(operand.clone()),
            Some(None) | None => refuse(format!("input {at} is not a tensor of a known element type")),
        }
    }

    /// Returns an optional input.
    pub(super) fn optional(&self, at: usize) -> Lowered<Option<Operand>> {
        match self.node.input.get(at) {
            None => Ok(None),
            Some(name) if name.is_empty() => Ok(None),
            Some(_) => self.input(at).map(Some),
        }
    }

    /// Returns all inputs.
    pub(super) fn all(&self) -> Lowered<Vec<Operand>> {
        (0..self.node.input.len()).map(|at| self.input(at)).collect()
    }

    /// Returns an input of floats for computations: 16-bit floats are widened to 32 bits if the backend
    /// stores both.
    pub(super) fn real(&mut self, at: usize) -> Lowered<Operand> {
        let operand = self.input(at)?;
        self.widened(operand)
    }

    /// Returns an input of floats without widening, for forms that are the definition of the operator.
    pub(super) fn floats(&self, at: usize) -> Lowered<Operand> {
        let operand = self.input(at)?;
        match operand.dtype() {
            Dtype::F16 | Dtype::BF16 | Dtype::F32 | Dtype::F64 => Ok(operand),
            other => refuse(format!("there is no form for {}", other.type_node().id)),
        }
    }

    /// As [`real`](Self::real), for an optional input.
    pub(super) fn optional_real(&mut self, at: usize) -> Lowered<Option<Operand>> {
        match self.optional(at)? {
            Some(operand) => self.widened(operand).map(Some),
            None => Ok(None),
        }
    }

    fn widened(&mut self, operand: Operand) -> Lowered<Operand> {
        match operand.dtype() {
            Dtype::F32 | Dtype::F64 => Ok(operand),
            Dtype::F16 | Dtype::BF16 if self.storage.is_none() => Ok(self.cast(&operand, Dtype::F32)),
            Dtype::F16 | Dtype::BF16 => Ok(operand),
            other => refuse(format!("there is no form for {}", other.type_node().id)),
        }
    }

    /// Whether an output is used.
    pub(super) fn wants(&self, at: usize) -> bool {
        self.node.output.get(at).is_some_and(|name| !name.is_empty())
    }

    /// Returns the numbers of a constant input.
    pub(super) fn constant(&self, at: usize) -> Lowered<Option<Vec<f64>>> {
        let Some(name) = self.node.input.get(at).filter(|name| !name.is_empty()) else { return Ok(None) };
        match self.constants.numbers(name) {
            Some(numbers) => Ok(Some(numbers)),
            None => refuse(format!("input `{name}` is not a constant")),
        }
    }

    /// As [`constant`](Self::constant), for integers.
    pub(super) fn constant_ints(&self, at: usize) -> Lowered<Option<Vec<i64>>> {
        Ok(self.constant(at)?.map(|numbers| numbers.iter().map(|number| clamped(*number as i64)).collect()))
    }

    /// Declares the value of an output other than the first, in the order of outputs.
    pub(super) fn result(&mut self, at: usize, value: &Operand) {
        self.results.push((at, value.clone()));
    }

    // --- nodes and initializers

    fn fresh(&mut self, op: &str) -> String {
        ir::fresh(self.taken, &format!("{}.{}", self.stem, op.to_lowercase()))
    }

    fn node_to(&mut self, op: &str, inputs: &[&str], attribute: Vec<AttributeProto>, output: String) {
        self.nodes.push(NodeProto {
            op_type: Some(op.to_owned()),
            input: inputs.iter().map(|input| (*input).to_owned()).collect(),
            output: vec![output],
            attribute,
            metadata_props: self.node.metadata_props.clone(),
            ..NodeProto::default()
        });
    }

    fn make(
        &mut self,
        op: &str,
        inputs: &[&str],
        attributes: Vec<AttributeProto>,
        dtype: Dtype,
        shape: Option<Extents>,
    ) -> Operand {
        let name = self.fresh(op);
        self.node_to(op, inputs, attributes, name.clone());
        Operand::new(name, dtype, shape)
    }

    /// Notes that the form computes on an element type, which the backend has to store.
    fn needs_storage(&mut self, dtype: Dtype) {
        if self.storage.is_some_and(|storage| storage != dtype) {
            self.misfit.get_or_insert(dtype);
        }
    }

    fn initializer(&mut self, dtype: Dtype, dims: &[i64], bytes: Vec<u8>) -> Operand {
        let name = self.fresh("const");
        self.initializers.push(TensorProto {
            name: Some(name.clone()),
            dims: dims.to_vec(),
            data_type: Some(dtype.onnx_number()),
            raw_data: Some(Bytes::from(bytes)),
            ..TensorProto::default()
        });
        Operand::new(name, dtype, Some(dims.iter().copied().map(Some).collect()))
    }

    /// A constant tensor of 64-bit integers: axes, a shape, indices.
    pub(super) fn whole(&mut self, dims: &[i64], values: &[i64]) -> Operand {
        self.initializer(Dtype::I64, dims, values.iter().flat_map(|value| value.to_le_bytes()).collect())
    }

    fn list(&mut self, values: &[i64]) -> Operand {
        self.whole(&[values.len() as i64], values)
    }

    /// A constant condition.
    pub(super) fn mask(&mut self, dims: &[i64], values: &[bool]) -> Operand {
        self.initializer(Dtype::Bool, dims, values.iter().map(|value| u8::from(*value)).collect())
    }

    /// Constant data.
    pub(super) fn tensor(&mut self, dtype: Dtype, dims: &[i64], values: &[f64]) -> Operand {
        self.needs_storage(dtype);
        let Some(bytes) = bytes_of(dtype, values) else {
            self.misfit.get_or_insert(dtype);
            return Operand::new(String::new(), dtype, None);
        };
        let tensor = TensorProto {
            dims: dims.to_vec(),
            data_type: Some(dtype.onnx_number()),
            raw_data: Some(Bytes::from(bytes)),
            ..TensorProto::default()
        };
        let shape = Some(dims.iter().copied().map(Some).collect());
        self.make("Constant", &[], vec![tensor.into_attribute("value")], dtype, shape)
    }

    /// A constant that is not data of the backend and has no slot.
    pub(super) fn host(&mut self, dtype: Dtype, dims: &[i64], values: &[f64]) -> Operand {
        let storage = self.storage.take();
        let constant = self.tensor(dtype, dims, values);
        self.storage = storage;
        if let Some(node) = self.nodes.last_mut() {
            node.metadata_props.retain(|entry| entry.key() == typeloom_module::names::SOURCE_LOCATION);
        }
        constant
    }

    /// A single number of an operand's element type.
    pub(super) fn number(&mut self, like: &Operand, value: f64) -> Operand {
        self.literal(like.dtype(), value)
    }

    pub(super) fn literal(&mut self, dtype: Dtype, value: f64) -> Operand {
        let known = self.literals.iter().find(|(of, bits, _)| *of == dtype && *bits == value.to_bits());
        if let Some((.., operand)) = known {
            return operand.clone();
        }
        let operand = self.tensor(dtype, &[], &[value]);
        self.literals.push((dtype, value.to_bits(), operand.clone()));
        operand
    }

    // --- primitives

    primitives! {
        add "Add" binary(a, b);
        sub "Sub" binary(a, b);
        mul "Mul" binary(a, b);
        div "Div" binary(a, b);
        neg "Neg" unary(x);
        abs "Abs" unary(x);
        exp "Exp" unary(x);
        log "Log" unary(x);
        sqrt "Sqrt" unary(x);
        equal "Equal" compare(a, b);
        greater "Greater" compare(a, b);
        less "Less" compare(a, b);
    }

    pub(super) fn unary(&mut self, op: &str, x: &Operand) -> Operand {
        self.needs_storage(x.dtype());
        self.make(op, &[&x.name], Vec::new(), x.dtype(), x.shape())
    }

    pub(super) fn binary(&mut self, op: &str, a: &Operand, b: &Operand) -> Operand {
        self.needs_storage(a.dtype());
        self.needs_storage(b.dtype());
        self.make(op, &[&a.name, &b.name], Vec::new(), a.dtype(), broadcast(&a.shape(), &b.shape()))
    }

    fn compare(&mut self, op: &str, a: &Operand, b: &Operand) -> Operand {
        let compared = self.binary(op, a, b);
        let shape = compared.shape();
        Operand::new(compared.name, Dtype::Bool, shape)
    }

    pub(super) fn select(&mut self, condition: &Operand, a: &Operand, b: &Operand) -> Operand {
        self.needs_storage(a.dtype());
        self.needs_storage(b.dtype());
        self.since = self.since.max(9);
        let shape = broadcast(&condition.shape(), &broadcast(&a.shape(), &b.shape()));
        self.make("Where", &[&condition.name, &a.name, &b.name], Vec::new(), a.dtype(), shape)
    }

    pub(super) fn cast(&mut self, x: &Operand, to: Dtype) -> Operand {
        self.needs_storage(x.dtype());
        if x.dtype() == to {
            return x.clone();
        }
        self.since = self.since.max(6);
        self.make("Cast", &[&x.name], vec![to.into_attribute("to")], to, x.shape())
    }

    /// A cast with the rounding attributes of the node.
    pub(super) fn cast_with_rounding(&mut self, x: &Operand, to: Dtype) -> Operand {
        self.needs_storage(x.dtype());
        let mut attributes = vec![to.into_attribute("to")];
        let rounding =
            self.node.attribute.iter().filter(|it| ["saturate", "round_mode"].contains(&it.name()));
        attributes.extend(rounding.cloned());
        self.pass_over(&["saturate", "round_mode"]);
        self.make("Cast", &[&x.name], attributes, to, x.shape())
    }

    pub(super) fn matmul(&mut self, a: &Operand, b: &Operand) -> Operand {
        self.needs_storage(a.dtype());
        let shape = match (a.shape(), b.shape()) {
            (Some(left), Some(right)) if left.len() >= 2 && right.len() >= 2 => {
                let (rows, columns) = (left[left.len() - 2], right[right.len() - 1]);
                let outer = broadcast(
                    &Some(left[..left.len() - 2].to_vec()),
                    &Some(right[..right.len() - 2].to_vec()),
                );
                outer.map(|mut outer| {
                    outer.extend([rows, columns]);
                    outer
                })
            }
            (Some(_) | None, Some(_) | None) => None,
        };
        self.make("MatMul", &[&a.name, &b.name], Vec::new(), a.dtype(), shape)
    }

    /// A reduction over these axes.
    pub(super) fn reduce(&mut self, op: &str, x: &Operand, axes: &[usize], keep: bool) -> Operand {
        self.needs_storage(x.dtype());
        let shape = x.shape().map(|shape| {
            let kept = shape.iter().enumerate().filter_map(|(axis, extent)| match axes.contains(&axis) {
                true => keep.then_some(Some(1)),
                false => Some(*extent),
            });
            kept.collect()
        });
        if axes.is_empty() {
            return x.clone();
        }
        let axes: Vec<i64> = axes.iter().map(|axis| *axis as i64).collect();
        let since = if op == "ReduceSum" { 13 } else { 18 };
        let mut attributes = vec![i64::from(keep).into_attribute("keepdims")];
        if self.version >= since {
            let axes = self.list(&axes);
            return self.make(op, &[&x.name, &axes.name], attributes, x.dtype(), shape);
        }
        attributes.push(axes.into_attribute("axes"));
        self.make(op, &[&x.name], attributes, x.dtype(), shape)
    }

    /// A sum over axes that are known at run time only.
    pub(super) fn sum_over(&mut self, x: &Operand, axes: &Operand, keep: bool) -> Operand {
        self.needs_storage(x.dtype());
        let attributes = vec![i64::from(keep).into_attribute("keepdims")];
        self.make("ReduceSum", &[&x.name, &axes.name], attributes, x.dtype(), None)
    }

    /// The same elements in another shape, with 0 and -1 as in `Reshape`.
    pub(super) fn reshape(&mut self, x: &Operand, shape: &[i64]) -> Operand {
        self.needs_storage(x.dtype());
        let found = shape.iter().enumerate().map(|(axis, extent)| match extent {
            0 => x.shape().and_then(|shape| *shape.get(axis)?),
            -1 => {
                let all = x.shape().and_then(|shape| known_total(&shape));
                let others = total(shape.iter().copied().filter(|extent| *extent != -1)).unwrap_or(0);
                all.filter(|_| others > 0).map(|all| all / others)
            }
            extent => Some(*extent),
        });
        let found = found.collect();
        let target = self.list(shape);
        self.make("Reshape", &[&x.name, &target.name], Vec::new(), x.dtype(), Some(found))
    }

    /// Reshapes to extents that may be unknown: an unknown extent becomes 0, if it is that of the operand's
    /// axis at this position, or else the one -1.
    pub(super) fn reshape_to(&mut self, x: &Operand, wanted: &[Option<i64>]) -> Lowered<Operand> {
        let own = x.shape().unwrap_or_default();
        let mut open = 0;
        let mut target = Vec::with_capacity(wanted.len());
        for (axis, extent) in wanted.iter().enumerate() {
            target.push(match extent {
                Some(0) => return refuse("a reshape of a tensor without elements"),
                Some(extent) => *extent,
                // No rule changes an unknown extent at this position, so both are equal.
                None if own.get(axis) == Some(&None) && own[..axis] == wanted[..axis] => 0,
                None => {
                    open += 1;
                    -1
                }
            });
        }
        if open > 1 {
            return refuse("more than one extent of a reshape is not a number");
        }
        Ok(self.reshape(x, &target))
    }

    pub(super) fn transpose(&mut self, x: &Operand, perm: &[usize]) -> Operand {
        self.needs_storage(x.dtype());
        if perm.iter().enumerate().all(|(at, axis)| at == *axis) {
            return x.clone();
        }
        let shape = x.shape().map(|shape| perm.iter().map(|axis| shape[*axis]).collect());
        let perm: Vec<i64> = perm.iter().map(|axis| *axis as i64).collect();
        self.make("Transpose", &[&x.name], vec![perm.into_attribute("perm")], x.dtype(), shape)
    }

    pub(super) fn concat(&mut self, parts: &[Operand], axis: usize) -> Operand {
        let Some(first) = parts.first() else {
            return Operand::new(String::new(), Dtype::F32, None);
        };
        self.needs_storage(first.dtype());
        let mut shape = first.shape();
        if let Some(shape) = &mut shape {
            shape[axis] = parts.iter().map(|part| part.shape().and_then(|shape| shape[axis])).sum();
        }
        let names: Vec<&str> = parts.iter().map(|part| part.name.as_str()).collect();
        self.make("Concat", &names, vec![(axis as i64).into_attribute("axis")], first.dtype(), shape)
    }

    /// The positions `from..to` of one axis.
    pub(super) fn slice(&mut self, x: &Operand, axis: usize, from: i64, to: i64) -> Operand {
        self.needs_storage(x.dtype());
        let mut shape = x.shape();
        if let Some(shape) = &mut shape {
            shape[axis] = Some(to - from);
        }
        let axis = axis as i64;
        if self.version < 10 {
            let attributes = vec![
                vec![from].into_attribute("starts"),
                vec![to].into_attribute("ends"),
                vec![axis].into_attribute("axes"),
            ];
            return self.make("Slice", &[&x.name], attributes, x.dtype(), shape);
        }
        let (starts, ends, axes) = (self.list(&[from]), self.list(&[to]), self.list(&[axis]));
        self.make("Slice", &[&x.name, &starts.name, &ends.name, &axes.name], Vec::new(), x.dtype(), shape)
    }

    /// Inserts axes of extent 1 at these positions of the result.
    pub(super) fn unsqueeze(&mut self, x: &Operand, axes: &[usize]) -> Operand {
        self.needs_storage(x.dtype());
        let shape = x.shape().map(|shape| {
            let mut rest = shape.iter();
            (0..shape.len() + axes.len())
                .filter_map(|at| if axes.contains(&at) { Some(Some(1)) } else { rest.next().copied() })
                .collect()
        });
        let axes: Vec<i64> = axes.iter().map(|axis| *axis as i64).collect();
        if self.version < 13 {
            return self.make("Unsqueeze", &[&x.name], vec![axes.into_attribute("axes")], x.dtype(), shape);
        }
        let axes = self.list(&axes);
        self.make("Unsqueeze", &[&x.name, &axes.name], Vec::new(), x.dtype(), shape)
    }

    /// The entries along an axis at constant indices.
    pub(super) fn gather(&mut self, x: &Operand, axis: usize, dims: &[i64], indices: &[i64]) -> Operand {
        let indices = self.whole(dims, indices);
        self.gather_at(x, axis, &indices)
    }

    /// The entries along an axis at computed indices.
    pub(super) fn gather_at(&mut self, x: &Operand, axis: usize, indices: &Operand) -> Operand {
        self.needs_storage(x.dtype());
        let shape = x.shape().zip(indices.shape());
        let shape = shape.map(|(shape, dims)| [&shape[..axis], &dims[..], &shape[axis + 1..]].concat());
        let attributes = vec![(axis as i64).into_attribute("axis")];
        self.make("Gather", &[&x.name, &indices.name], attributes, x.dtype(), shape)
    }

    // --- shared computations

    /// The element type of truth values: the storage type of the backend, or 32-bit floats.
    pub(super) fn truth_dtype(&self) -> Dtype {
        self.storage.unwrap_or(Dtype::F32)
    }

    /// A condition as 1 and 0.
    pub(super) fn truth(&mut self, condition: &Operand) -> Operand {
        let dtype = self.truth_dtype();
        if self.storage.is_none() {
            return self.cast(condition, dtype);
        }
        let (one, zero) = (self.literal(dtype, 1.0), self.literal(dtype, 0.0));
        self.select(condition, &one, &zero)
    }

    /// Evaluates a polynomial by Horner's scheme. The coefficient of the highest power is first.
    pub(super) fn polynomial(&mut self, x: &Operand, coefficients: &[f64]) -> Operand {
        let (first, rest) = coefficients.split_first().expect("a polynomial has coefficients");
        let mut sum = self.number(x, *first);
        for coefficient in rest {
            let product = self.mul(&sum, x);
            let coefficient = self.number(x, *coefficient);
            sum = self.add(&product, &coefficient);
        }
        sum
    }

    /// Whether numbers are above 0.
    pub(super) fn is_positive(&mut self, x: &Operand) -> Operand {
        let zero = self.number(x, 0.0);
        self.greater(x, &zero)
    }

    /// The negation of a condition.
    pub(super) fn not(&mut self, condition: &Operand) -> Operand {
        let truth = self.truth(condition);
        let one = self.number(&truth, 1.0);
        self.less(&truth, &one)
    }

    /// The maximum; NaN if either operand is.
    pub(super) fn max(&mut self, a: &Operand, b: &Operand) -> Operand {
        let first = self.greater(a, b);
        self.either(&first, a, b)
    }

    /// The minimum; NaN if either operand is.
    pub(super) fn min(&mut self, a: &Operand, b: &Operand) -> Operand {
        let first = self.less(a, b);
        self.either(&first, a, b)
    }

    fn either(&mut self, first: &Operand, a: &Operand, b: &Operand) -> Operand {
        let floats = matches!(a.dtype().class(), DtypeClass::Float);
        // Equality of floats exists since version 11.
        let other = if floats && self.version >= 11 {
            let is_number = self.equal(a, a);
            self.select(&is_number, b, a)
        } else {
            b.clone()
        };
        self.select(first, a, &other)
    }

    /// Returns sorted positions of axes that may count from the end.
    pub(super) fn axes(&self, given: &[i64], rank: usize) -> Lowered<Vec<usize>> {
        let mut axes = given.iter().map(|axis| self.axis(*axis, rank)).collect::<Lowered<Vec<_>>>()?;
        axes.sort_unstable();
        axes.dedup();
        Ok(axes)
    }

    pub(super) fn axis(&self, given: i64, rank: usize) -> Lowered<usize> {
        let from_end = if given < 0 { given + rank as i64 } else { given };
        match usize::try_from(from_end) {
            Ok(axis) if axis < rank => Ok(axis),
            Ok(_) | Err(_) => refuse(format!("axis {given} is not one of {rank}")),
        }
    }

    /// Broadcasts a value to the target extents.
    pub(super) fn expand(&mut self, x: &Operand, target: &[Option<i64>]) -> Lowered<Operand> {
        let rank = x.rank()?;
        let mut x = x.clone();
        if rank < target.len() {
            let axes: Vec<usize> = (0..target.len() - rank).collect();
            x = self.unsqueeze(&x, &axes);
        }
        for (axis, extent) in target.iter().enumerate() {
            match (x.shape().and_then(|shape| shape[axis]), extent) {
                (Some(own), Some(extent)) if own == *extent => {}
                (Some(1), Some(extent)) => {
                    x = self.gather(&x, axis, &[*extent], &vec![0; bounded(*extent)?]);
                }
                (Some(own), _) if own != 1 => {}
                (_, Some(1)) => {}
                (Some(_) | None, Some(_) | None) => {
                    return refuse(format!("extent {axis} of the result is not a number"));
                }
            }
        }
        Ok(x)
    }
}

/// The largest extent and attribute in computations of rules, so that sums and products of two fit into an
/// `i64`. No tensor is larger, and larger attributes have the same effect as this number.
const LARGEST: i64 = 1 << 30;

fn clamped(value: i64) -> i64 {
    value.clamp(-LARGEST, LARGEST)
}

/// The product of extents.
pub(super) fn total(extents: impl IntoIterator<Item = i64>) -> Lowered<i64> {
    let product = extents.into_iter().try_fold(1_i64, i64::checked_mul);
    product.filter(|total| *total <= 1 << 48).ok_or_else(|| Refusal("a tensor is too large".to_owned()))
}

/// The product of extents, if all are numbers.
pub(super) fn known_total(extents: &[Option<i64>]) -> Option<i64> {
    let known: Option<Vec<i64>> = extents.iter().copied().collect();
    total(known?).ok()
}

/// Maximum number of elements of a constant in a form.
const MAX_ELEMENTS: i64 = 1 << 22;

/// Checks that a count is small enough for a constant.
pub(super) fn bounded(count: i64) -> Lowered<usize> {
    match usize::try_from(count) {
        Ok(fits) if count <= MAX_ELEMENTS => Ok(fits),
        Ok(_) | Err(_) => refuse(format!("a constant of {count} elements is too large")),
    }
}

/// The extents of two broadcast operands.
pub(super) fn broadcast(a: &Option<Extents>, b: &Option<Extents>) -> Option<Extents> {
    let (a, b) = (a.as_ref()?, b.as_ref()?);
    let rank = a.len().max(b.len());
    let at = |shape: &Extents, axis: usize| match (axis + shape.len()).checked_sub(rank) {
        Some(own) => shape[own],
        None => Some(1),
    };
    let both = (0..rank).map(|axis| match (at(a, axis), at(b, axis)) {
        (Some(1), other) | (other, Some(1)) => other,
        (Some(extent), Some(_) | None) | (None, Some(extent)) => Some(extent),
        (None, None) => None,
    });
    Some(both.collect())
}
