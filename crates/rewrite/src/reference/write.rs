//! The splice of inferred types into the bytes of a model.
//!
//! Most values have the type of another one, so the encoded types of tensors are kept by [`TensorKey`]. A new
//! entry of `value_info` then costs a lookup and a copy of the name and the type.
//!
//! **Invariant:** a name that a graph defines twice gets the type of its last definition.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use smallvec::SmallVec;
use typeloom_onnx::messages::{ModelProto, TypeProto, ValueInfoProto, read};
use typeloom_onnx::splice::{Records, Splice, Spliced};
use typeloom_onnx::view::{GraphView, ValueInfoView};
use typeloom_onnx::wire::{Field, Fields};
use typeloom_solver::model::{Checked, TensorKey};
use typeloom_solver::program::{Body, GraphId, Origin, StepId, ValueId};
use typeloom_solver::solve_error::{SolveError, SolveErrorKind};

use super::complete::{Named, Tensor};
use super::encode::{TypeRecord, TypeRecords};
use super::weaker::{self, Weaker};
use super::{Names, UnknownExtents, merge};
use crate::annotate::AnnotateError;
use crate::coerce::layout::Source;
use crate::fields::{GRAPH_INPUT, GRAPH_OUTPUT, GRAPH_VALUE_INFO};

// Field numbers of `ValueInfoProto`.
pub(super) const VALUE_NAME: u32 = 1;
pub(super) const VALUE_TYPE: u32 = 2;

/// The length of most entries of `value_info`, in bytes.
const ENTRY: usize = 48;

/// Maximum number of encoded types, and of values, that are searched without an index.
const MAX_SCANNED: usize = 8;

/// Writes the types of all values into the model that was checked.
pub(super) fn write<'a>(
    checked: &mut Checked<'a>,
    unknown: UnknownExtents,
) -> Result<Spliced<'a>, AnnotateError> {
    let bytes = checked.model().ok_or(AnnotateError::NoModel)?.bytes();
    let mut graphs = checked.body().graph_views()?;
    weaker::retain_entered(checked, &mut graphs);
    let is_duplicate = |error: &SolveError<'_>| matches!(error.kind, SolveErrorKind::DuplicateValue { .. });
    let mut writer = Writer {
        splice: Splice::new::<ModelProto>(bytes),
        names: Names { form: unknown, ..Names::default() },
        is_declared: SmallVec::from_elem(false, checked.value_count()),
        has_duplicates: checked.body().errors().iter().any(is_duplicate),
        records: TypeRecords::default(),
        encoded: SmallVec::new(),
        positions: None,
        recent: 0,
        weaker: SmallVec::new(),
    };
    for (graph, view) in &graphs {
        let start = checked.body().graph(*graph).leading_nodes;
        let fields = Fields::new(view.bytes().get(start..).unwrap_or_default(), view.offset() + start);
        writer.names.declarations.push(Source::Graph(*view).declarations_in(fields)?);
    }
    for (position, (graph, view)) in graphs.into_iter().enumerate() {
        writer.graph(checked, graph, view, position)?;
    }
    Ok(writer.splice.finish()?)
}

/// The last value of each name in one graph.
enum Defined<'a> {
    /// Of a small body: its values are searched.
    Few(GraphId),
    Many(HashMap<&'a [u8], ValueId, RandomState>),
}

impl<'a> Defined<'a> {
    fn of(body: &Body<'a>, graph: GraphId) -> Self {
        if body.values().len() <= MAX_SCANNED {
            return Self::Few(graph);
        }
        let own = body.values().filter(|value| body.value(*value).graph == graph);
        Self::Many(own.map(|value| (body.value_name_bytes(value), value)).collect())
    }

    fn get(&self, body: &Body<'a>, name: &[u8]) -> Option<ValueId> {
        match self {
            Self::Few(graph) => {
                let is_same = |value: &ValueId| {
                    body.value(*value).graph == *graph && body.value_name_bytes(*value) == name
                };
                body.values().rev().find(is_same)
            }
            Self::Many(defined) => defined.get(name).copied(),
        }
    }
}

struct Writer<'a> {
    splice: Splice<'a>,
    names: Names<'a>,
    /// The values with a declaration that has a type, by position.
    is_declared: SmallVec<[bool; 16]>,
    /// Whether a graph defines a name twice.
    has_duplicates: bool,
    records: TypeRecords,
    /// The encoded types of tensors.
    encoded: SmallVec<[(TensorKey, Option<TypeRecord>); 2]>,
    /// The positions of keys in `encoded`, once it is longer than [`MAX_SCANNED`].
    positions: Option<HashMap<TensorKey, usize, RandomState>>,
    /// The position that was used last: a node often has the type of the node before it.
    recent: usize,
    /// See [`Self::weaker`], by position of the operator, once known.
    weaker: SmallVec<[Option<Option<Weaker>>; 16]>,
}

impl<'a> Writer<'a> {
    /// Writes the types of a graph. `position` is that of its declarations.
    fn graph(
        &mut self,
        checked: &mut Checked<'a>,
        graph: GraphId,
        view: GraphView<'a>,
        position: usize,
    ) -> Result<(), AnnotateError> {
        let mut defined: Option<Defined<'a>> = None;
        let is_nested = graph != checked.body().root();
        let (mut inputs, mut outputs) = (0.., 0..);
        for at in 0..self.names.declarations[position].len() {
            let (field, info) = self.names.declarations[position][at];
            let value = match field.number {
                GRAPH_INPUT => inputs
                    .next()
                    .and_then(|at: usize| checked.body().graph(graph).inputs.get(at).copied())
                    .filter(|_| is_nested),
                GRAPH_OUTPUT => {
                    outputs.next().and_then(|at: usize| checked.body().graph(graph).outputs.get(at).copied())
                }
                _ => {
                    let defined = defined.get_or_insert_with(|| Defined::of(checked.body(), graph));
                    defined.get(checked.body(), info.parse()?.name.as_bytes())
                }
            };
            let Some(value) = value.filter(|value| checked.body().value(*value).graph == graph) else {
                continue;
            };
            let is_made = matches!(checked.body().value(value).origin, Origin::Step(_));
            if !is_made && field.number != GRAPH_INPUT {
                continue;
            }
            if self.complete(checked, view.offset(), &field, info, value)? {
                self.is_declared[value.index()] = true;
            }
        }
        if self.has_duplicates && defined.is_none() {
            defined = Some(Defined::of(checked.body(), graph));
        }
        let body = checked.shared_body();
        let (from, to) = body.graph(graph).steps;
        let mut records = Records::new();
        for step in (from..to).map(StepId::new) {
            if body.step(step).graph != graph {
                continue;
            }
            for value in body.outputs(step).iter().flatten().copied() {
                let name = body.value_name_bytes(value);
                let is_last = !self.has_duplicates
                    || defined.as_ref().is_some_and(|defined| defined.get(&body, name) == Some(value));
                let is_new = is_last && !std::mem::replace(&mut self.is_declared[value.index()], true);
                if is_new && let Some(ty) = self.encoded(checked, value, Some(step)) {
                    if records.as_wire().is_empty() {
                        records = Records::with_capacity((to - step.index()) * ENTRY);
                    }
                    records.push_named(GRAPH_VALUE_INFO, (VALUE_NAME, name), self.records.as_wire(ty));
                }
            }
        }
        if !records.as_wire().is_empty() {
            self.splice.append(view.offset(), records);
        }
        Ok(())
    }

    /// Completes a declaration. Returns whether the value needs no entry of `value_info`.
    fn complete(
        &mut self,
        checked: &mut Checked<'a>,
        graph: usize,
        field: &Field<'a>,
        info: ValueInfoView<'a>,
        value: ValueId,
    ) -> Result<bool, AnnotateError> {
        let declared = info.parse()?.ty.map(|ty| ty.bytes());
        let step = checked.body().value(value).origin.step();
        let Some(record) = self.encoded(checked, value, step) else {
            return Ok(declared.is_some_and(|ty| !ty.is_empty()));
        };
        let inferred = self.records.ty(record);
        // Most declarations are complete.
        if declared == Some(inferred) {
            return Ok(true);
        }
        if let Some(named) = Named::read(info.bytes()) {
            let mut records = Records::new();
            match Tensor::read(named.ty).zip(Tensor::read(inferred)) {
                _ if named.ty.is_empty() => {
                    let ty = self.records.as_wire(record);
                    records.push_named(field.number, (VALUE_NAME, named.name), ty);
                }
                Some((mut declared, inferred)) => {
                    if !declared.complete(inferred) {
                        return Ok(true);
                    }
                    let ty = Records::new().bytes(VALUE_TYPE, declared.to_wire());
                    records.push_named(field.number, (VALUE_NAME, named.name), ty.as_wire());
                }
                None => {}
            }
            if !records.as_wire().is_empty() {
                self.splice.replace(graph, field, records);
                return Ok(!named.ty.is_empty() || field.number != GRAPH_OUTPUT);
            }
        }
        let inferred: TypeProto = read(bytes::Bytes::copy_from_slice(inferred))?;
        let old: ValueInfoProto = read(bytes::Bytes::copy_from_slice(info.bytes()))?;
        let has_type = old.r#type.as_ref().is_some_and(|ty| ty.value.is_some());
        let mut new = old.clone();
        merge(new.r#type.get_or_insert_default(), inferred);
        if new != old {
            self.splice.replace(graph, field, Records::new().message(field.number, &new));
        }
        Ok(has_type || field.number != GRAPH_OUTPUT)
    }

    /// The encoded type of a value, which `step` defines; `None` if nothing is known.
    #[inline]
    fn encoded(
        &mut self,
        checked: &mut Checked<'a>,
        value: ValueId,
        step: Option<StepId>,
    ) -> Option<TypeRecord> {
        let weakened = step.and_then(|step| {
            let operator = self.weaker(checked, step)?;
            weaker::weakened(checked, operator, step, value)
        });
        let key = if weakened.is_some() { None } else { checked.tensor_key(value) };
        let Some(key) = key else {
            let ty = weakened.unwrap_or_else(|| checked.type_of(value));
            return self.records.encode(&mut self.names, checked.dims(), &ty);
        };
        let at = match self.position(key) {
            Some(at) => at,
            None => {
                let (elem, shape) = checked.tensor_of(key);
                let (dims, shape) = (checked.dims(), shape.as_deref());
                let ty = self.records.encode_tensor(&mut self.names, dims, elem, shape);
                self.insert(key, ty)
            }
        };
        self.recent = at;
        self.encoded[at].1
    }

    /// The position of a key in `encoded`.
    #[inline]
    fn position(&self, key: TensorKey) -> Option<usize> {
        if self.encoded.get(self.recent).is_some_and(|(known, _)| *known == key) {
            return Some(self.recent);
        }
        match &self.positions {
            None => self.encoded.iter().position(|(known, _)| *known == key),
            Some(positions) => positions.get(&key).copied(),
        }
    }

    fn insert(&mut self, key: TensorKey, ty: Option<TypeRecord>) -> usize {
        let at = self.encoded.len();
        self.encoded.push((key, ty));
        match &mut self.positions {
            Some(positions) => {
                positions.insert(key, at);
            }
            None if at == MAX_SCANNED => {
                self.positions = Some(self.encoded.iter().map(|(key, _)| *key).zip(0..).collect());
            }
            None => {}
        }
        at
    }

    /// The operator of a step, if the reference infers less for it than typeloom.
    fn weaker(&mut self, checked: &Checked<'_>, step: StepId) -> Option<Weaker> {
        let at = checked.body().step(step).op.index();
        if self.weaker.len() <= at {
            self.weaker.resize(at + 1, None);
        }
        *self.weaker[at].get_or_insert_with(|| Weaker::of(checked, step))
    }
}
