//! Public types of the facade implement `Debug`, and those with a text form `Display`.

use std::fmt::{Debug, Display};

use typeloom::{check, interface, module, onnx, pool, run, rust, term, types};

fn debug<T: Debug + ?Sized>() {}

fn display<T: Debug + Display + ?Sized>() {}

#[test]
fn public_values_implement_display() {
    display::<check::TypedValue>();
    display::<check::Origin>();
    display::<check::ValueType>();
    display::<check::Dim>();
    display::<check::Diagnostic>();
    display::<check::Severity>();
    display::<check::Code>();
    display::<interface::Interface>();
    display::<interface::InterfaceChange>();
    display::<interface::Direction>();
    display::<pool::Digest>();
    display::<pool::Tag>();
    display::<run::Datum>();
    display::<term::infer::Variance>();
    display::<types::AnyTensor>();
    display::<types::Dtype>();
    display::<types::TypeNode>();
    display::<types::operators::PortRef>();
}

#[test]
fn errors_have_a_text_form() {
    display::<check::CheckError>();
    display::<check::OperatorError>();
    display::<interface::BundleError>();
    display::<module::BuildError>();
    display::<module::LoadError>();
    display::<onnx::ParseError>();
    display::<pool::ExportError>();
    display::<pool::ImportError>();
    display::<pool::PoolError>();
    display::<pool::service::ReconstructError>();
    display::<run::PrepareError>();
    display::<run::RunError>();
    display::<run::host::OpenJournalError>();
    display::<rust::Error>();
    display::<term::Reason>();
    display::<types::operators::TypeError>();
}

#[test]
fn all_other_values_can_be_debugged() {
    debug::<check::Checked<'_>>();
    debug::<check::Described>();
    debug::<check::Operators>();
    debug::<check::Options>();
    debug::<module::Artifact>();
    debug::<module::Compiler>();
    debug::<module::Graph>();
    debug::<module::Bindings>();
    debug::<module::Imported>();
    debug::<module::ValueRef>();
    debug::<pool::Idx>();
    debug::<pool::Pool>();
    debug::<pool::service::SharedPool>();
    debug::<pool::TypeDescriptor>();
    debug::<pool::TypedModule>();
    debug::<check::RuleDim>();
    debug::<interface::InterfaceComparison>();
    debug::<interface::Parameter>();
    debug::<pool::Bundle>();
    debug::<pool::Compat>();
    debug::<run::Components>();
    debug::<run::Port>();
    debug::<run::Executor>();
    debug::<run::Part>();
    debug::<run::RunOutcome>();
    debug::<run::Session>();
    debug::<term::Symbols>();
    debug::<term::Ty>();
    debug::<types::Lattice>();
    debug::<types::operators::TypeSolution>();
    debug::<types::operators::TypeSolver>();
}
