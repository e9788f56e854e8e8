//! The results of a check.
//!
//! [`Checked`] answers questions about a solved model. It keeps the tables of the solve, and computes an
//! answer when it is asked: a type in a table can be a variable that was bound after it was stored, so
//! queries of types take `&mut self`.
//!
//! ```text
//! g (float[N] x) => (y) { y = NonZero (x) }
//!
//! type_of(x)     Tensor { elem: float, shape: [N] }
//! type_of(y)     Tensor { elem: int64, shape: [1, ?] }, with an extent that the data decides
//! coverage()     2 values: 1 typed, 1 with an unknown extent
//! ```
//!
//! A type has up to three versions. [`Checked::type_of`] is the one to show. [`Checked::proven_type_of`] is
//! without assumed declarations, and the only one to write into a file. [`Checked::alternatives`] lists the
//! possible types if the shape depends on branches.
//!
//! **Invariant:** [`Checked::is_ok`] is decided by all errors: those of the main graph, of its calls, and of
//! functions that cannot be read. Warnings do not count.
//!
//! **Invariant:** values with equal [`TensorKey`]s have equal types, so a caller can convert each type once.
//!
//! **Cost:** a query of a type is linear in the type. Queries by name, such as [`Checked::find`], and over
//! all nodes, such as [`Checked::external_data`], are linear in the model.
//!
//! **Limits:** types inside functions are in the module `functions`, and are kept only if
//! [`Options::functions`](super::Options::functions) asks for them.

use std::sync::Arc;

use typeloom_dim::shape::{DimVec, ShapeId};
use typeloom_dim::{Condition, Decision, DimId, Dims, is_placeholder};
use typeloom_onnx::view::{ModelView, TensorView, TypeKindView};
use typeloom_tensor::value_type::Dim;

use super::{Checked, Coverage, ExternalTensor, SideData, case};
use crate::analysis::conditions;
use crate::elem::Elem;
use crate::program::{Body, DeclarationKind, Initializer, Origin, StepId, StepKind, ValueId};
use crate::rule::{Ints, Port};
use crate::signature::FormalType;
use crate::solution::{Equation, EquationSource, Requirement, Text, Type, TypeWriter};
use crate::solve_error::{ErrorSite, SolveError, SolveErrorKind};
use crate::state::Core;
use crate::state::constants::Data;
use crate::universe::Universe;
use typeloom_types::suggest::nearest;

/// Identifies the type of a dense tensor in one check: values with equal keys have equal types.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TensorKey {
    elem: Elem,
    shape: Option<ShapeId>,
}

impl<'a> Checked<'a> {
    /// The checked model, if there is one.
    #[must_use]
    pub fn model(&self) -> Option<&ModelView<'a>> {
        self.model.as_ref()
    }

    /// The source of tensors in other files that the check used.
    #[must_use]
    pub fn side_data(&self) -> Option<Arc<dyn SideData>> {
        self.core.side_data.clone()
    }

    /// The errors of the main graph, in graph order.
    #[must_use]
    pub fn errors(&self) -> &[SolveError<'a>] {
        &self.errors
    }

    /// A declared dim under the assumptions of the caller; `None` if they do not concern it. `declared` is
    /// the name, if the dim has one.
    pub fn assumed_dim(&mut self, declared: Option<&str>, kind: DeclarationKind) -> Option<Dim> {
        let Core { dims, assumptions, .. } = &mut *self.core;
        if assumptions.is_empty() {
            return None;
        }
        let assumed = match declared.filter(|name| !name.trim().is_empty() && !is_placeholder(name)) {
            Some(name) => {
                let dim = dims.parse(name).ok()?;
                Some(assumptions.substitute_in(dims, dim)).filter(|assumed| *assumed != dim)
            }
            None if kind == DeclarationKind::Input => assumptions.unnamed,
            None => None,
        };
        Some(Dim::of(assumed?, dims))
    }

    /// The declarations of the main graph and of the graphs nested in it that contradict the graph, each
    /// value with the list that declares it.
    #[must_use]
    pub fn contradicted_declarations(&self) -> Vec<(ValueId, DeclarationKind)> {
        let of_value = self.frame.rare.value_errors.iter().filter_map(|(value, error)| match &error.kind {
            SolveErrorKind::Contradiction { declared_in, .. } => Some((*value, *declared_in)),
            SolveErrorKind::DefaultContradicts { .. } => Some((*value, DeclarationKind::Input)),
            _ => None,
        });
        let refuted = self.errors.iter().flat_map(|error| match &error.kind {
            SolveErrorKind::RefutedClaim(claim) => vec![(claim.value, claim.declared_in)],
            // The model runs for finitely many extents only if the declaration is true.
            SolveErrorKind::ForcedSymbol { equation, .. } if error.is_error(self.mode) => {
                match equation.source {
                    EquationSource::Declared(value) => {
                        vec![(value, DeclarationKind::Value), (value, DeclarationKind::Output)]
                    }
                    EquationSource::Ports { .. } | EquationSource::Call => Vec::new(),
                }
            }
            _ => Vec::new(),
        });
        of_value.chain(refuted).collect()
    }

    /// The values of functions with a declaration that the body contradicts, each with the body; a value can
    /// be listed for several calls.
    #[must_use]
    pub fn contradictions_in_functions(&self) -> Vec<(Arc<Body<'a>>, ValueId)> {
        let mut found = Vec::new();
        for frame in self.rare.instances.iter().map(|instance| &instance.frame) {
            let is_false = |kind: &SolveErrorKind<'_>| matches!(kind, SolveErrorKind::Contradiction { .. });
            let errors = frame.rare.value_errors.iter().filter(|(_, error)| is_false(&error.kind));
            found.extend(errors.map(|(value, _)| (Arc::clone(&frame.body), *value)));
        }
        found
    }

    /// The errors of the main graph and of the functions that it calls.
    pub fn all_errors(&self) -> impl Iterator<Item = &SolveError<'a>> {
        let in_functions = self.rare.instances.iter().flat_map(|instance| instance.frame.all_errors());
        self.errors.iter().chain(in_functions)
    }

    /// Whether there is more to report than unknown operators and names of nodes. A model with functions
    /// always has more, because their errors are reported at their calls.
    #[must_use]
    pub fn has_findings(&self) -> bool {
        !self.errors.is_empty()
            || !self.operators.functions().is_empty()
            || self.rare.proven.is_some()
            || !self.rare.requirements.is_empty()
            || !self.rare.cases.is_empty()
    }

    /// Whether there is no error, including functions.
    #[must_use]
    pub fn is_ok(&self) -> bool {
        let fine = |error: &SolveError<'_>| !error.is_error(self.mode);
        self.errors.iter().all(fine)
            && self.rare.function_errors.is_empty()
            && self.rare.instances.iter().all(|instance| instance.frame.all_errors().all(fine))
    }

    /// The tensors of the main graph and its nested graphs with data in other files: initializers, parts of
    /// sparse initializers, and attributes of nodes whose operators take tensors.
    #[must_use]
    pub fn external_data(&self) -> Vec<ExternalTensor<'a>> {
        let body = &self.frame.body;
        let mut found = Vec::new();
        let mut add = |site: ErrorSite, view: TensorView<'a>| {
            found.extend(ExternalTensor::of(view).map(|external| ExternalTensor { site, ..external }));
        };
        for value in body.values() {
            let Some(at) = body.value(value).origin.initializer() else { continue };
            match body.initializers[at.index()] {
                Initializer::Dense(tensor) => add(ErrorSite::Value(value), tensor),
                Initializer::Sparse(sparse) => {
                    let Ok(sparse) = sparse.parse() else { continue };
                    let parts = [sparse.values, sparse.indices].into_iter().flatten();
                    parts.for_each(|tensor| add(ErrorSite::Value(value), tensor));
                }
            }
        }
        for step in (0..body.steps.len()).map(StepId::new) {
            let record = body.step(step);
            let schema = self.operators.op(record.op).kind.schema();
            if schema.is_some_and(|schema| !schema.takes_tensors) || matches!(record.kind, StepKind::Exit(_))
            {
                continue;
            }
            let attributes = record.attribute_part().attributes().flatten();
            for attribute in attributes.filter_map(|attribute| attribute.parse().ok()) {
                let tensors = attribute.t.into_iter().chain(attribute.tensors().flatten());
                tensors.for_each(|tensor| add(ErrorSite::Step(step), tensor));
            }
        }
        found
    }

    /// Adds an error for a tensor whose data in another file cannot be read.
    pub fn report_missing_data(&mut self, site: ErrorSite, reason: String) {
        self.errors.push(SolveError { site, kind: SolveErrorKind::MissingExternalData { reason } });
        self.errors.sort_by_key(|error| error.site);
    }

    /// The integers of a value whose elements are all known, such as a stored or computed shape.
    #[must_use]
    pub fn integers(&self, value: ValueId) -> Option<Vec<i64>> {
        let data = self.frame.slots[value.index()].data?;
        let ints = self.core.constants.get(data).as_ints()?;
        ints.items.iter().map(|item| self.core.dims.as_constant(*item)).collect()
    }

    /// The elements of a value as extents, in terms of symbols. `None` if they are unknown or more than
    /// `max`.
    #[must_use]
    pub fn elements(&self, value: ValueId, max: usize) -> Option<Arc<Ints>> {
        let data = self.frame.slots[value.index()].data?;
        self.core.constants.get(data).as_ints().filter(|ints| ints.items.len() <= max)
    }

    /// Whether the elements of a value are known in some form, as numbers or in terms of symbols.
    #[must_use]
    pub fn is_followed(&self, value: ValueId) -> bool {
        let data = self.frame.slots[value.index()].data;
        data.is_some_and(|data| *self.core.constants.get(data) != Data::Opaque)
    }

    /// The inputs of the main graph that are declared without an element type, each with the nodes whose
    /// outputs have its element type by their signature.
    #[must_use]
    pub fn undefined_operands(&self) -> Vec<(StepId, ValueId)> {
        let body = &self.frame.body;
        let is_undefined = |value: &ValueId| {
            let mut declarations =
                body.declarations(*value).filter_map(|declaration| declaration.ty.parse().ok());
            declarations.all(|ty| matches!(ty.kind, TypeKindView::Tensor { elem: 0, .. }))
        };
        let mut found = Vec::new();
        for value in body.graph(body.root()).inputs.iter().copied().filter(is_undefined) {
            for step in body.consumers().of(value).iter().copied() {
                let Some(schema) = self.operators.op(body.step(step).op).kind.schema() else { continue };
                let variable = |port| match schema.formal(port)?.ty {
                    FormalType::Var(variable) => Some(variable),
                    FormalType::Tensor(_) => None,
                };
                let mut inputs = body.inputs(step).iter().enumerate();
                let at = inputs.find(|(_, input)| **input == Some(value)).map(|(at, _)| at);
                let own = at.and_then(|at| variable(Port::In(at)));
                let is_passed_on = |at| own.is_some() && variable(Port::Out(at)) == own;
                if (0..body.outputs(step).len()).any(is_passed_on) {
                    found.push((step, value));
                }
            }
        }
        found
    }

    /// The domain and the name of the operator of a step. The domain `ai.onnx` is empty.
    #[must_use]
    pub fn operator(&self, step: StepId) -> (&'a str, &'a str) {
        let op = self.operators.op(self.frame.body.step(step).op);
        (op.domain, op.name)
    }

    /// The operators that nodes use and no catalogue has: domain and name.
    #[must_use]
    pub fn unknown_operators(&self) -> Vec<(&'a str, &'a str)> {
        self.operators.unknown()
    }

    /// The main graph with all nested graphs.
    #[must_use]
    pub fn body(&self) -> &Body<'a> {
        &self.frame.body
    }

    /// As [`Checked::body`], for a caller that changes the results.
    #[must_use]
    pub fn shared_body(&self) -> Arc<Body<'a>> {
        Arc::clone(&self.frame.body)
    }

    /// The number of values, including those of nested graphs.
    #[must_use]
    pub fn value_count(&self) -> usize {
        self.body().values.len()
    }

    /// Names of values that are similar to `name`, most similar first.
    #[must_use]
    pub fn names_like(&self, name: &str) -> Vec<String> {
        nearest(name, self.body().names())
    }

    /// The value with this name in the main graph, or else in the first nested graph that has one.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<ValueId> {
        let body = self.body();
        let named = |value: &ValueId| body.value_name(*value) == name;
        let mut values = body.values().filter(named);
        let first = values.next()?;
        let main = std::iter::once(first).chain(values).find(|value| body.value(*value).graph == body.root());
        Some(main.unwrap_or(first))
    }

    /// The type of a value in ONNX notation. A shape that depends on branches is written `float[2|4, 3]` or
    /// `float[3] | float[2, 3]`.
    pub fn display_type(&mut self, value: ValueId) -> String {
        let ty = self.type_of(value);
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = self.write_type(value, &ty, &mut Text { out: &mut text, dims: self.dims() });
        text
    }

    /// Writes the type of a value, which is that of [`Checked::type_of`], in the order of the text of
    /// [`Checked::display_type`].
    ///
    /// # Errors
    /// If the writer fails.
    pub fn write_type(&self, value: ValueId, ty: &Type, out: &mut impl TypeWriter) -> std::fmt::Result {
        match self.alternatives(value) {
            [] => ty.write(self.universe(), out),
            types => case::write_union(self.universe(), self.dims(), ty, types, out),
        }
    }

    /// The type of a value.
    pub fn type_of(&mut self, value: ValueId) -> Type {
        self.core.snapshot(&self.frame, value)
    }

    /// The key of the type of a value; `None` if the value is no dense tensor of a known element type, or if
    /// its type is not the one in its slot.
    #[inline]
    pub fn tensor_key(&mut self, value: ValueId) -> Option<TensorKey> {
        if !self.frame.open_inputs.is_empty() && self.frame.open_inputs.contains_key(&value) {
            return None;
        }
        let ty = self.frame.slots[value.index()].ty?;
        let elem = self.core.types.settled_tensor(ty)?.constant_elem()?;
        Some(TensorKey { elem, shape: self.frame.shape_read(value) })
    }

    /// The element type and the extents of a key.
    pub fn tensor_of(&mut self, key: TensorKey) -> (Elem, Option<DimVec>) {
        (key.elem, key.shape.map(|shape| self.core.resolved(shape)))
    }

    /// Whether the rank of a value is known.
    #[must_use]
    pub fn has_shape(&self, value: ValueId) -> bool {
        let frame = &self.frame;
        let shape = frame.open_inputs.get(&value).copied().unwrap_or_else(|| frame.shape_read(value));
        shape.is_some()
    }

    /// The conditions on the symbols of inputs under which the model runs, including undecided ones.
    #[must_use]
    pub fn requirements(&self) -> &[Requirement] {
        &self.rare.requirements
    }

    /// The conditions of operators on the symbols of inputs, each once.
    #[must_use]
    pub fn preconditions(&self) -> Vec<Condition> {
        let mut conditions: Vec<Condition> = Vec::new();
        for Requirement { condition, equation, .. } in &self.rare.requirements {
            let is_declared = matches!(equation.source, EquationSource::Declared(_));
            if !is_declared && !conditions.contains(condition) {
                conditions.push(*condition);
            }
        }
        conditions
    }

    /// Statistics about the types of all values.
    pub fn coverage(&mut self) -> Coverage {
        let inputs = conditions::input_symbols(&mut self.core, &self.frame);
        let mut coverage = Coverage::default();
        for value in self.frame.body.values() {
            if self.frame.body.value(value).origin == Origin::Undefined {
                continue;
            }
            coverage.values += 1;
            coverage.assumed += usize::from(self.is_assumed(value));
            let ty = self.type_of(value);
            let Some(tensor) = ty.tensor() else {
                match ty.is_concrete() {
                    true => coverage.typed += 1,
                    false => coverage.unknown_rank += 1,
                }
                continue;
            };
            let dims = &self.core.dims;
            let is_known = |dim: &DimId| {
                !dims.is_anonymous(*dim) && dims.symbols_of(*dim).iter().all(|symbol| inputs.contains(symbol))
            };
            match &tensor.shape {
                None => coverage.unknown_rank += 1,
                Some(shape) if shape.iter().all(is_known) && ty.is_concrete() => coverage.typed += 1,
                Some(_) => coverage.unknown_extents += 1,
            }
        }
        coverage.open_conditions =
            self.rare.requirements.iter().filter(|requirement| !requirement.is_decided).count();
        coverage
    }

    /// The type of a value without assumed declarations. It may be written into a file.
    pub fn proven_type_of(&mut self, value: ValueId) -> Type {
        match &self.rare.proven {
            Some(types) => types.get(value.index()).cloned().unwrap_or(Type::Unknown(None)),
            None => self.type_of(value),
        }
    }

    /// Whether part of the type of a value depends on an assumed declaration.
    pub fn is_assumed(&mut self, value: ValueId) -> bool {
        if self.rare.proven.is_none() {
            return false;
        }
        let (shown, proven) = (self.type_of(value), self.proven_type_of(value));
        let extents = |ty: &Type| ty.tensor().and_then(|tensor| tensor.shape.clone());
        let dims = &mut self.core.dims;
        match (extents(&shown), extents(&proven)) {
            (None, _) => false,
            (Some(_), None) => true,
            (Some(shown), Some(proven)) => {
                let narrowed = |(a, b): (&_, &_)| {
                    !dims.is_anonymous(*a)
                        && (dims.is_anonymous(*b) || dims.compare(*a, *b) != Decision::Equal)
                };
                shown.len() != proven.len() || shown.iter().zip(&proven).any(narrowed)
            }
        }
    }

    /// The possible types of a value whose shape depends on branches, if there are only a few.
    #[must_use]
    pub fn alternatives(&self, value: ValueId) -> &[Type] {
        self.rare.alternatives.get(&value).map_or(&[], Vec::as_slice)
    }

    /// The undecided equations on dims.
    #[must_use]
    pub fn equations(&self) -> &[Equation] {
        &self.frame.equations
    }

    /// The table of dims that types refer to.
    #[must_use]
    pub fn dims(&self) -> &Dims {
        &self.core.dims
    }

    /// The table of dims, to compute with extents.
    pub fn dims_mut(&mut self) -> &mut Dims {
        &mut self.core.dims
    }

    /// A new unknown extent.
    pub fn fresh_dim(&mut self) -> DimId {
        self.core.dims.fresh()
    }

    /// The element types and the type tree.
    #[must_use]
    pub fn universe(&self) -> &Arc<Universe> {
        self.core.types.universe()
    }
}
