//! The results of a check.

use std::sync::Arc;

use typeloom_onnx::view::{ModelView, TensorView};

use super::{Checked, Coverage, ExternalTensor, case, load};
use crate::analysis::conditions;
use crate::catalogue::OpKind;
use crate::dim::{Condition, Decision, DimId, Dims};
use crate::program::{Body, Initializer, Origin, StepId, StepKind, ValueId};
use crate::solution::{Equation, EquationSource, Requirement, Type};
use crate::solve_error::{ErrorSite, SolveError, SolveErrorKind};
use crate::suggest::nearest;
use crate::universe::Universe;

impl<'a> Checked<'a> {
    /// The model, where one was checked.
    #[must_use]
    pub fn model(&self) -> Option<&ModelView<'a>> {
        self.model.as_ref()
    }

    /// Everything that is wrong with the main graph, in graph order.
    #[must_use]
    pub fn errors(&self) -> &[SolveError<'a>] {
        &self.errors
    }

    /// Everything that is wrong with the main graph and the functions that it calls.
    pub fn all_errors(&self) -> impl Iterator<Item = &SolveError<'a>> {
        let in_functions = self.instances.iter().flat_map(|instance| instance.frame.all_errors());
        self.errors.iter().chain(in_functions)
    }

    /// Whether nothing is wrong at all, functions included.
    #[must_use]
    pub fn is_ok(&self) -> bool {
        let fine = |error: &SolveError<'_>| !error.is_error(self.mode);
        self.errors.iter().all(fine)
            && self.function_errors.is_empty()
            && self.instances.iter().all(|instance| instance.frame.all_errors().all(fine))
    }

    /// The tensors of the main graph and the graphs in it whose data is in other files: initializers, their sparse parts, and
    /// attributes of nodes whose operators take tensors.
    #[must_use]
    pub fn external_data(&self) -> Vec<ExternalTensor<'a>> {
        let body = &self.frame.body;
        let mut found = Vec::new();
        let mut add = |site: ErrorSite, view: TensorView<'a>| {
            found.extend(load::external(view).map(|external| ExternalTensor { site, ..external }));
        };
        for value in (0..body.values.len()).map(ValueId::new) {
            let (Origin::Initializer(at) | Origin::InputWithDefault(at)) = body.value(value).origin else {
                continue;
            };
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
            let takes_tensors = match &self.operators.op(record.op).kind {
                OpKind::Schema(operator) => operator.schema.takes_tensors,
                OpKind::Declared(_) | OpKind::Function(_) | OpKind::Missing(_) => true,
            };
            if !takes_tensors || matches!(record.kind, StepKind::Exit(_)) {
                continue;
            }
            let attributes = record.attribute_part().attributes().flatten();
            for attribute in attributes.filter_map(|attribute| attribute.parse().ok()) {
                let tensors = attribute.t().into_iter().chain(attribute.tensors().flatten());
                tensors.for_each(|tensor| add(ErrorSite::Step(step), tensor));
            }
        }
        found
    }

    /// Reports that the data of a tensor in another file cannot be read.
    pub fn report_missing_data(&mut self, site: ErrorSite, reason: String) {
        self.errors.push(SolveError { site, kind: SolveErrorKind::MissingExternalData { reason } });
        self.errors.sort_by_key(|error| error.site);
    }

    /// The main graph with everything nested in it.
    #[must_use]
    pub fn body(&self) -> &Body<'a> {
        &self.frame.body
    }

    /// How many values there are, those of nested graphs included.
    #[must_use]
    pub fn value_count(&self) -> usize {
        self.body().values.len()
    }

    /// Names of values that are close to `name`, the nearest first.
    #[must_use]
    pub fn names_like(&self, name: &str) -> Vec<String> {
        nearest(name, self.body().names())
    }

    /// The value with this name: of the main graph, or else of the first nested graph that has one.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<ValueId> {
        let body = self.body();
        let named = |value: &ValueId| body.value_name(*value) == name;
        let mut values = (0..body.values.len()).map(ValueId::new).filter(named);
        let first = values.next()?;
        let main = std::iter::once(first).chain(values).find(|value| body.value(*value).graph == body.root());
        Some(main.unwrap_or(first))
    }

    /// The type of a value, as ONNX writes it; `float[2|4, 3]` or `float[3] | float[2, 3]` where the shape depends on which
    /// branches run.
    pub fn display_type(&mut self, value: ValueId) -> String {
        let ty = self.type_of(value);
        let (universe, dims) = (self.universe(), self.dims());
        match self.alternatives(value) {
            [] => ty.display(universe, dims).to_string(),
            types => case::display_union(universe, dims, &ty, types),
        }
    }

    /// The type of a value.
    pub fn type_of(&mut self, value: ValueId) -> Type {
        self.core.snapshot(&self.frame, value)
    }

    /// The conditions on the symbols of inputs under which the model runs, and those that nothing decides.
    #[must_use]
    pub fn requirements(&self) -> &[Requirement] {
        &self.requirements
    }

    /// The conditions that callers have to satisfy, each once: those of [`Checked::requirements`] that operators need.
    #[must_use]
    pub fn preconditions(&self) -> Vec<Condition> {
        let mut conditions: Vec<Condition> = Vec::new();
        for Requirement { condition, equation, .. } in &self.requirements {
            let is_declared = matches!(equation.source, EquationSource::Declared(_));
            if !is_declared && !conditions.contains(condition) {
                conditions.push(*condition);
            }
        }
        conditions
    }

    /// How much is known of the types of all values.
    pub fn coverage(&mut self) -> Coverage {
        let inputs = conditions::input_symbols(&mut self.core, &self.frame);
        let mut coverage = Coverage::default();
        for value in (0..self.frame.body.values.len()).map(ValueId::new) {
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
            self.requirements.iter().filter(|requirement| !requirement.is_decided).count();
        coverage
    }

    /// The type of a value without any declared shape that had to be assumed: what a file may be annotated with.
    pub fn proven_type_of(&mut self, value: ValueId) -> Type {
        match &self.proven {
            Some(types) => types[value.index()].clone(),
            None => self.type_of(value),
        }
    }

    /// Whether a part of the type of a value rests on a declared shape that had to be assumed.
    pub fn is_assumed(&mut self, value: ValueId) -> bool {
        if self.proven.is_none() {
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

    /// The types that a value can have, where its shape depends on which branches run and there are only a few.
    #[must_use]
    pub fn alternatives(&self, value: ValueId) -> &[Type] {
        self.alternatives.get(&value).map_or(&[], Vec::as_slice)
    }

    /// What could not be decided about dims.
    #[must_use]
    pub fn equations(&self) -> &[Equation] {
        &self.frame.equations
    }

    /// The dims that types are made of.
    #[must_use]
    pub fn dims(&self) -> &Dims {
        &self.core.dims
    }

    /// The element types and the type tree.
    #[must_use]
    pub fn universe(&self) -> &Arc<Universe> {
        self.core.types.universe()
    }
}
