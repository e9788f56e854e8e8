//! One node being written in primitives: what is known of its operands, and a builder of primitives.
//!
//! A rule asks for operands, attributes and constants, makes values by the methods named after primitives, and says which of
//! them are the node's results. What it makes carries an element type and the extents that are known; the solver types it
//! again afterwards, so a mistake of this bookkeeping is an error and never a wrong type.
//!
//! **Invariant:** the nodes of a form are primitives on the node's own slot. Axes, shapes, indices and masks are initializers.

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

/// Why a node has no form in primitives here.
#[derive(Clone, Debug)]
pub(super) struct Refusal(pub(super) String);

/// What a rule gives.
pub(super) type Lowered<T = ()> = Result<T, Refusal>;

/// No form, for this reason.
pub(super) fn refuse<T>(reason: impl Into<String>) -> Lowered<T> {
    Err(Refusal(reason.into()))
}

/// Extents as far as they are numbers.
pub(super) type Extents = Vec<Option<i64>>;

/// A tensor of a known element type in a form.
#[derive(Clone, Debug)]
pub(super) struct Operand {
    pub(super) name: String,
    ty: ValueType,
    dtype: Dtype,
}

impl Operand {
    /// A value of a program, if it is a tensor or scalar of a known element type.
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

    /// The extents as far as they are numbers; `None` if the rank is unknown.
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

    /// The extents, where they are all numbers.
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

/// The primitives that one node becomes.
pub(super) struct Form<'a> {
    pub(super) node: &'a NodeProto,
    /// The version of ONNX's operators that the program imports.
    pub(super) version: i64,
    /// What the slot's backend stores, where that is one element type.
    held: Option<Dtype>,
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
    /// Which attributes of the node the rule read: a bit each, by their positions.
    read: Cell<u64>,
    pub(super) nodes: Vec<NodeProto>,
    pub(super) initializers: Vec<TensorProto>,
}

impl<'a> Form<'a> {
    pub(super) fn new(
        node: &'a NodeProto,
        version: i64,
        held: Option<Dtype>,
        typed: impl Fn(&str) -> Option<Operand>,
        constants: &'a Constants,
        taken: &'a mut HashSet<String>,
    ) -> Self {
        let ports = |names: &[String]| names.iter().map(|name| typed(name)).collect();
        let stem = node.output.iter().find(|name| !name.is_empty()).cloned().unwrap_or_default();
        Self {
            node,
            version,
            held,
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

    /// Gives the results their names.
    pub(super) fn finish(&mut self) -> Lowered {
        let mut renamed: Vec<(String, String)> = Vec::new();
        for (at, value) in std::mem::take(&mut self.results) {
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

    // --- what the node says

    /// An input that has to be there.
    pub(super) fn input(&self, at: usize) -> Lowered<Operand> {
        match self.inputs.get(at) {
            Some(Some(operand)) => Ok(operand.clone()),
            Some(None) | None => refuse(format!("input {at} is not a tensor of a known element type")),
        }
    }

    /// An input that may be left out.
    pub(super) fn optional(&self, at: usize) -> Lowered<Option<Operand>> {
        match self.node.input.get(at) {
            None => Ok(None),
            Some(name) if name.is_empty() => Ok(None),
            Some(_) => self.input(at).map(Some),
        }
    }

    /// All inputs.
    pub(super) fn all(&self) -> Lowered<Vec<Operand>> {
        (0..self.node.input.len()).map(|at| self.input(at)).collect()
    }

    /// An input of floats to compute with: 16-bit floats are widened to 32 bits where the backend stores both.
    pub(super) fn real(&mut self, at: usize) -> Lowered<Operand> {
        let operand = self.input(at)?;
        self.widened(operand)
    }

    /// An input of floats, computed with as it is: for forms that are the operator's own definition.
    pub(super) fn floats(&self, at: usize) -> Lowered<Operand> {
        let operand = self.input(at)?;
        match operand.dtype() {
            Dtype::F16 | Dtype::BF16 | Dtype::F32 | Dtype::F64 => Ok(operand),
            other => refuse(format!("there is no form for {}", other.type_node().id)),
        }
    }

    /// As [`real`](Self::real), of an input that may be left out.
    pub(super) fn optional_real(&mut self, at: usize) -> Lowered<Option<Operand>> {
        match self.optional(at)? {
            Some(operand) => self.widened(operand).map(Some),
            None => Ok(None),
        }
    }

    fn widened(&mut self, operand: Operand) -> Lowered<Operand> {
        match operand.dtype() {
            Dtype::F32 | Dtype::F64 => Ok(operand),
            Dtype::F16 | Dtype::BF16 if self.held.is_none() => Ok(self.cast(&operand, Dtype::F32)),
            Dtype::F16 | Dtype::BF16 => Ok(operand),
            other => refuse(format!("there is no form for {}", other.type_node().id)),
        }
    }

    /// Whether an output is asked for.
    pub(super) fn wants(&self, at: usize) -> bool {
        self.node.output.get(at).is_some_and(|name| !name.is_empty())
    }

    /// The numbers of an input that is a constant.
    pub(super) fn constant(&self, at: usize) -> Lowered<Option<Vec<f64>>> {
        let Some(name) = self.node.input.get(at).filter(|name| !name.is_empty()) else { return Ok(None) };
        match self.constants.numbers(name) {
            Some(numbers) => Ok(Some(numbers)),
            None => refuse(format!("input `{name}` is not a constant")),
        }
    }

    /// As [`constant`](Self::constant), of whole numbers.
    pub(super) fn constant_ints(&self, at: usize) -> Lowered<Option<Vec<i64>>> {
        Ok(self.constant(at)?.map(|numbers| numbers.iter().map(|number| clamped(*number as i64)).collect()))
    }

    /// Says what an output is.
    pub(super) fn result(&mut self, at: usize, value: &Operand) {
        self.results.push((at, value.clone()));
    }

    // --- making nodes

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

    /// Data on the slot is what its backend stores.
    fn holds(&mut self, dtype: Dtype) {
        if self.held.is_some_and(|held| held != dtype) {
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

    /// A constant list or tensor of 64-bit integers: axes, a shape, indices.
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
        self.holds(dtype);
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

    /// A constant that is no data of the backend: it stands on no slot.
    pub(super) fn host(&mut self, dtype: Dtype, dims: &[i64], values: &[f64]) -> Operand {
        let held = self.held.take();
        let constant = self.tensor(dtype, dims, values);
        self.held = held;
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

    pub(super) fn unary(&mut self, op: &str, x: &Operand) -> Operand {
        self.holds(x.dtype());
        self.make(op, &[&x.name], Vec::new(), x.dtype(), x.shape())
    }

    pub(super) fn binary(&mut self, op: &str, a: &Operand, b: &Operand) -> Operand {
        self.holds(a.dtype());
        self.holds(b.dtype());
        self.make(op, &[&a.name, &b.name], Vec::new(), a.dtype(), broadcast(&a.shape(), &b.shape()))
    }

    pub(super) fn add(&mut self, a: &Operand, b: &Operand) -> Operand {
        self.binary("Add", a, b)
    }

    pub(super) fn sub(&mut self, a: &Operand, b: &Operand) -> Operand {
        self.binary("Sub", a, b)
    }

    pub(super) fn mul(&mut self, a: &Operand, b: &Operand) -> Operand {
        self.binary("Mul", a, b)
    }

    pub(super) fn div(&mut self, a: &Operand, b: &Operand) -> Operand {
        self.binary("Div", a, b)
    }

    pub(super) fn neg(&mut self, x: &Operand) -> Operand {
        self.unary("Neg", x)
    }

    pub(super) fn abs(&mut self, x: &Operand) -> Operand {
        self.unary("Abs", x)
    }

    pub(super) fn exp(&mut self, x: &Operand) -> Operand {
        self.unary("Exp", x)
    }

    pub(super) fn log(&mut self, x: &Operand) -> Operand {
        self.unary("Log", x)
    }

    pub(super) fn sqrt(&mut self, x: &Operand) -> Operand {
        self.unary("Sqrt", x)
    }

    fn compare(&mut self, op: &str, a: &Operand, b: &Operand) -> Operand {
        let compared = self.binary(op, a, b);
        let shape = compared.shape();
        Operand::new(compared.name, Dtype::Bool, shape)
    }

    pub(super) fn equal(&mut self, a: &Operand, b: &Operand) -> Operand {
        self.compare("Equal", a, b)
    }

    pub(super) fn greater(&mut self, a: &Operand, b: &Operand) -> Operand {
        self.compare("Greater", a, b)
    }

    pub(super) fn less(&mut self, a: &Operand, b: &Operand) -> Operand {
        self.compare("Less", a, b)
    }

    pub(super) fn select(&mut self, condition: &Operand, a: &Operand, b: &Operand) -> Operand {
        self.holds(a.dtype());
        self.holds(b.dtype());
        self.since = self.since.max(9);
        let shape = broadcast(&condition.shape(), &broadcast(&a.shape(), &b.shape()));
        self.make("Where", &[&condition.name, &a.name, &b.name], Vec::new(), a.dtype(), shape)
    }

    pub(super) fn cast(&mut self, x: &Operand, to: Dtype) -> Operand {
        self.holds(x.dtype());
        if x.dtype() == to {
            return x.clone();
        }
        self.since = self.since.max(6);
        self.make("Cast", &[&x.name], vec![to.into_attribute("to")], to, x.shape())
    }

    /// A cast that rounds as the node's own attributes say.
    pub(super) fn cast_as_said(&mut self, x: &Operand, to: Dtype) -> Operand {
        self.holds(x.dtype());
        let mut attributes = vec![to.into_attribute("to")];
        let rounding =
            self.node.attribute.iter().filter(|it| ["saturate", "round_mode"].contains(&it.name()));
        attributes.extend(rounding.cloned());
        self.pass_over(&["saturate", "round_mode"]);
        self.make("Cast", &[&x.name], attributes, to, x.shape())
    }

    pub(super) fn matmul(&mut self, a: &Operand, b: &Operand) -> Operand {
        self.holds(a.dtype());
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
        self.holds(x.dtype());
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

    /// A sum over axes that are found when it runs.
    pub(super) fn sum_over(&mut self, x: &Operand, axes: &Operand, keep: bool) -> Operand {
        self.holds(x.dtype());
        let attributes = vec![i64::from(keep).into_attribute("keepdims")];
        self.make("ReduceSum", &[&x.name, &axes.name], attributes, x.dtype(), None)
    }

    /// The same elements in another shape: 0 copies an extent, -1 is what is left.
    pub(super) fn reshape(&mut self, x: &Operand, shape: &[i64]) -> Operand {
        self.holds(x.dtype());
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

    /// A shape as `Reshape` takes it: extents that are numbers, 0 where the operand's own axis at that position is meant,
    /// and at most one -1.
    pub(super) fn reshape_to(&mut self, x: &Operand, wanted: &[Option<i64>]) -> Lowered<Operand> {
        let own = x.shape().unwrap_or_default();
        let mut open = 0;
        let mut target = Vec::with_capacity(wanted.len());
        for (axis, extent) in wanted.iter().enumerate() {
            target.push(match extent {
                Some(0) => return refuse("a reshape of a tensor without elements"),
                Some(extent) => *extent,
                // The only extent that both leave open at this position is one that no rule changes.
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
        self.holds(x.dtype());
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
        self.holds(first.dtype());
        let mut shape = first.shape();
        if let Some(shape) = &mut shape {
            shape[axis] = parts.iter().map(|part| part.shape().and_then(|shape| shape[axis])).sum();
        }
        let names: Vec<&str> = parts.iter().map(|part| part.name.as_str()).collect();
        self.make("Concat", &names, vec![(axis as i64).into_attribute("axis")], first.dtype(), shape)
    }

    /// The positions `from..to` of one axis.
    pub(super) fn slice(&mut self, x: &Operand, axis: usize, from: i64, to: i64) -> Operand {
        self.holds(x.dtype());
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

    /// With axes of extent 1 at these positions of the result.
    pub(super) fn unsqueeze(&mut self, x: &Operand, axes: &[usize]) -> Operand {
        self.holds(x.dtype());
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

    /// The entries along an axis that indices name.
    pub(super) fn gather_at(&mut self, x: &Operand, axis: usize, indices: &Operand) -> Operand {
        self.holds(x.dtype());
        let shape = x.shape().zip(indices.shape());
        let shape = shape.map(|(shape, dims)| [&shape[..axis], &dims[..], &shape[axis + 1..]].concat());
        let attributes = vec![(axis as i64).into_attribute("axis")];
        self.make("Gather", &[&x.name, &indices.name], attributes, x.dtype(), shape)
    }

    // --- what many rules need

    /// An element type to say truth in: what the backend stores, or 32-bit floats.
    pub(super) fn carrier(&self) -> Dtype {
        self.held.unwrap_or(Dtype::F32)
    }

    /// A condition as 1 and 0.
    pub(super) fn truth(&mut self, condition: &Operand) -> Operand {
        let dtype = self.carrier();
        if self.held.is_none() {
            return self.cast(condition, dtype);
        }
        let (one, zero) = (self.literal(dtype, 1.0), self.literal(dtype, 0.0));
        self.select(condition, &one, &zero)
    }

    /// Where a number is above zero.
    pub(super) fn is_positive(&mut self, x: &Operand) -> Operand {
        let zero = self.number(x, 0.0);
        self.greater(x, &zero)
    }

    /// The other way round.
    pub(super) fn not(&mut self, condition: &Operand) -> Operand {
        let truth = self.truth(condition);
        let one = self.number(&truth, 1.0);
        self.less(&truth, &one)
    }

    /// The greater of two; NaN where either is.
    pub(super) fn max(&mut self, a: &Operand, b: &Operand) -> Operand {
        let first = self.greater(a, b);
        self.either(&first, a, b)
    }

    /// The less of two; NaN where either is.
    pub(super) fn min(&mut self, a: &Operand, b: &Operand) -> Operand {
        let first = self.less(a, b);
        self.either(&first, a, b)
    }

    fn either(&mut self, first: &Operand, a: &Operand, b: &Operand) -> Operand {
        let floats = matches!(a.dtype().class(), DtypeClass::Float);
        // Floats are compared for equality as of version 11.
        let other = if floats && self.version >= 11 {
            let is_number = self.equal(a, a);
            self.select(&is_number, b, a)
        } else {
            b.clone()
        };
        self.select(first, a, &other)
    }

    /// Axes that may count from the end, as positions in order.
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

    /// With the extents that a value has to have, by copies along axes of extent 1.
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

/// The largest extent and attribute that rules compute with, so that sums and products of two fit. No tensor that can be had is
/// larger, and what attributes say beyond any extent they say at this number as well.
const LARGEST: i64 = 1 << 30;

fn clamped(value: i64) -> i64 {
    value.clamp(-LARGEST, LARGEST)
}

/// The product of extents.
pub(super) fn total(extents: impl IntoIterator<Item = i64>) -> Lowered<i64> {
    let product = extents.into_iter().try_fold(1_i64, i64::checked_mul);
    product.filter(|total| *total <= 1 << 48).ok_or_else(|| Refusal("a tensor is too large".to_owned()))
}

/// The product of extents that are all numbers.
pub(super) fn known_total(extents: &[Option<i64>]) -> Option<i64> {
    let known: Option<Vec<i64>> = extents.iter().copied().collect();
    total(known?).ok()
}

/// The most elements of a constant that a form makes.
const MAX_ELEMENTS: i64 = 1 << 22;

/// A count that is small enough for a constant.
pub(super) fn bounded(count: i64) -> Lowered<usize> {
    match usize::try_from(count) {
        Ok(fits) if count <= MAX_ELEMENTS => Ok(fits),
        Ok(_) | Err(_) => refuse(format!("a constant of {count} elements is too large")),
    }
}

/// The extents of two operands together.
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
