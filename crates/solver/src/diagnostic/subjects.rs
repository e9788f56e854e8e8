//! The subjects of an error: the names of the values, attributes or symbols that it concerns.
//!
//! With the code and the node, the subjects identify a problem from one version of a model to the next. They
//! contain no position, type or extent, which change more often than names.

use std::collections::BTreeSet;

use typeloom_dim::Condition;

use super::Scope;
use crate::program::{StepId, ValueId};
use crate::rule::{Port, RuleError};
use crate::solve_error::{ErrorSite, SolveError, SolveErrorKind};

/// The maximum number of subjects of one error.
const MAX_SUBJECTS: usize = 16;

impl Scope<'_, '_> {
    /// The subjects of an error, in ascending order. `value` is the value that an error of a declaration
    /// concerns.
    pub(super) fn subjects(&self, error: &SolveError<'_>, value: Option<ValueId>) -> Vec<String> {
        let mut names = BTreeSet::new();
        names.extend(value.map(|value| self.plain_name(value)));
        self.add_subjects(error.site, &error.kind, &mut names);
        names.into_iter().take(MAX_SUBJECTS).collect()
    }

    fn add_subjects(&self, site: ErrorSite, kind: &SolveErrorKind<'_>, names: &mut BTreeSet<String>) {
        let ports = |ports: &[Port], names: &mut BTreeSet<String>| {
            let Some(step) = site.step() else { return };
            names.extend(ports.iter().filter_map(|port| self.port_name(step, *port)));
        };
        match kind {
            SolveErrorKind::UndefinedValue { value, .. }
            | SolveErrorKind::UsedBeforeMade { value, .. }
            | SolveErrorKind::DuplicateValue { first: value, .. }
            | SolveErrorKind::UndefinedOutput { value }
            | SolveErrorKind::EmptyShape { value, .. }
            | SolveErrorKind::PlaceholderDim { value, .. }
            | SolveErrorKind::LimitReached { value, .. }
            | SolveErrorKind::ExtentOverflow { value }
            | SolveErrorKind::NarrowedInput { value, .. }
            | SolveErrorKind::Assumed { value, .. }
            | SolveErrorKind::Unresolved { value, .. } => {
                names.insert(self.plain_name(*value));
            }
            SolveErrorKind::RefutedClaim(claim) => {
                names.insert(self.plain_name(claim.value));
            }
            SolveErrorKind::Cycle { steps } => {
                names.extend(steps.iter().take(MAX_SUBJECTS).map(|(_, value)| self.plain_name(*value)));
            }
            SolveErrorKind::MissingPort { name, .. }
            | SolveErrorKind::MissingAttribute { name, .. }
            | SolveErrorKind::UnknownAttribute { name, .. }
            | SolveErrorKind::AttributeKind { name, .. }
            | SolveErrorKind::AttributeChoice { name, .. }
            | SolveErrorKind::CallInput { name, .. }
            | SolveErrorKind::DuplicateNodeName { name, .. }
            | SolveErrorKind::NewerOpset { domain: name, .. } => {
                names.insert((*name).to_owned());
            }
            SolveErrorKind::Rule { failure: RuleError::Attribute { name, .. }, .. } => {
                names.insert((*name).to_owned());
            }
            SolveErrorKind::Disagree { left, right, .. } => ports(&[left.0, right.0], names),
            SolveErrorKind::NotAllowed { port, .. } => ports(&[*port], names),
            SolveErrorKind::Rule { failure, .. } => ports(&failure.ports(), names),
            SolveErrorKind::Relation { failure, .. } => {
                let found: Vec<Port> = failure.ports.iter().filter_map(|port| Port::of_ref(*port)).collect();
                ports(&found, names);
            }
            SolveErrorKind::ForcedSymbol { symbol, .. } => {
                names.insert(self.core.dims.display(*symbol).to_string());
            }
            SolveErrorKind::ForcedEquality { left, right, .. } => {
                names.extend([left, right].map(|dim| self.core.dims.display(*dim).to_string()));
            }
            SolveErrorKind::Restricted { conditions, .. } => {
                let shown = |condition: &Condition| self.core.dims.display_condition(*condition).to_string();
                names.extend(conditions.iter().map(shown));
            }
            SolveErrorKind::ForcedSymbols { condition, .. } => {
                names.insert(self.core.dims.display_condition(*condition).to_string());
            }
            SolveErrorKind::InCase { error, .. } => self.add_subjects(site, error, names),
            SolveErrorKind::Malformed(_)
            | SolveErrorKind::NestingTooDeep
            | SolveErrorKind::UnknownOperator { .. }
            | SolveErrorKind::NewerOperator { .. }
            | SolveErrorKind::MissingOpset
            | SolveErrorKind::DeprecatedOperator { .. }
            | SolveErrorKind::SurplusPorts { .. }
            | SolveErrorKind::Contradiction { .. }
            | SolveErrorKind::DefaultContradicts { .. }
            | SolveErrorKind::NegativeDim { .. }
            | SolveErrorKind::SeedContradicts { .. }
            | SolveErrorKind::CallArity { .. }
            | SolveErrorKind::CallOutputs { .. }
            | SolveErrorKind::TooManyInstances { .. }
            | SolveErrorKind::IrVersion { .. }
            | SolveErrorKind::RecursiveFunction { .. }
            | SolveErrorKind::MissingExternalData { .. } => {}
        }
    }

    fn plain_name(&self, value: ValueId) -> String {
        self.body().value_name(value).to_owned()
    }

    /// The name of the value at a port, or of the port.
    fn port_name(&self, step: StepId, port: Port) -> Option<String> {
        let value = self.value(step, port).map(|value| self.plain_name(value));
        value.or_else(|| self.formal(step, port).map(str::to_owned))
    }
}
