//! Checks a file with its settings. The command, the Python package, pages and the C library call this crate,
//! so they report the same problems of a file.
//!
//! # The question
//!
//! A user asks which problems a file has. The solver proves the types of a model, and a `Diagnostic` explains
//! each contradiction. What a user sees also depends on files next to the model, on settings, and on problems
//! that are accepted for now.
//!
//! # The direct answer, and where it is wrong
//!
//! The direct answer is `typeloom::check::check(bytes)` and its diagnostics. For the model of the example
//! below it reports `unknown-operator`, although the exporter of the model has excepted that problem in its
//! metadata. It does not report that `bias` is stored in a file that does not exist. And the user has asked
//! for warnings as errors. A caller that adds these steps has to find their order: an exception holds at any
//! level, so it comes after the levels, and a baseline must not contain what an exception removes.
//!
//! # The sequence
//!
//! ```text
//! Source -> Settings -> check -> external data -> diagnose -> targets -> levels -> exceptions -> baseline -> Findings
//! ```
//!
//! | step | function | why it is at this position |
//! |---|---|---|
//! | source | [`Source::read`](file::Source::read), [`File::new`](file::File::new) | a text is converted here, so that all other steps see a model |
//! | settings | [`Resolver::plan`](settings::Resolver::plan), [`Plan::new`](plan::Plan::new) | they depend on the path only, and models with the same settings share a plan |
//! | check | [`Plan::solve`](plan::Plan::solve) | seeds and operators come from the settings |
//! | external data | [`Plan::solve`](plan::Plan::solve) | the solver knows which tensors are in other files; a missing one is an error of a node like others, so it precedes their explanation |
//! | diagnose | [`Plan::check`](plan::Plan::check) | needs all errors: one cause gives one diagnostic, and a fix is verified |
//! | targets | [`Plan::check`](plan::Plan::check) | a model with errors of its own gets no positive verdict |
//! | levels | [`Plan::check`](plan::Plan::check) | after the targets, whose reasons have codes and levels too |
//! | exceptions | [`Plan::check`](plan::Plan::check) | after the levels: a model excepts a code at any level |
//! | baseline | [`Baselines::apply`](baselines::Baselines::apply) | last, because it contains what would be reported otherwise |
//!
//! All steps except the baseline concern one file, so files are checked on several threads. The baseline
//! compares several files and is applied in their order.
//!
//! # Example
//!
//! ```
//! use std::sync::Arc;
//!
//! use typeloom::check::{Operators, Options, check};
//! use typeloom_project::check::SideFiles;
//! use typeloom_project::file::File;
//! use typeloom_project::findings::Findings;
//! use typeloom_project::plan::Plan;
//! use typeloom_settings::effective::{Settings, Sourced};
//! use typeloom_settings::levels::{Level, Rule, Selector};
//!
//! let text = r#"<ir_version: 10, opset_import: ["" : 21, "com.example" : 1],
//!     metadata_props: ["typeloom.allow" : "unknown-operator"]>
//! g (float[A] a, float[B] b) => (x, y)
//! <float[2] bias = ["location" : "bias.bin"]> {
//!     x = com.example.Fold(bias)
//!     y = Add(a, b)
//! }"#;
//! // The text is converted: the other steps see a model.
//! let file = File::of_bytes("model", text.as_bytes().to_vec());
//!
//! // The direct answer.
//! let direct = check(file.model(), &Options::default())?.diagnostics();
//! let direct: Vec<&str> = direct.iter().map(|it| it.code.name()).collect();
//! assert_eq!(direct, ["unknown-operator", "restricted-symbol"]);
//!
//! // The sequence: the missing file is reported, and the exception counts.
//! let codes = |findings: &Findings| -> Vec<(&str, bool)> {
//!     findings.diagnostics().map(|it| (it.code.name(), it.is_error())).collect()
//! };
//! let plan = Plan::standard();
//! let examined = plan.check(&file, SideFiles::InFolder)?;
//! assert_eq!(codes(&examined.findings), [("missing-external-data", true), ("restricted-symbol", false)]);
//! assert_eq!(examined.findings.excepted.codes.values().sum::<usize>(), 1);
//!
//! // With levels: warnings are errors, except for the one that the model excepts.
//! let rule = Rule { selector: Selector::parse("warnings")?, level: Level::Deny };
//! let settings = Settings { severities: vec![Sourced::of_command_line(rule)], ..Settings::default() };
//! let plan = Plan::new(settings, Arc::new(Operators::standard()), Vec::new())?;
//! let examined = plan.check(&file, SideFiles::Unchecked)?;
//! assert_eq!(codes(&examined.findings), [("restricted-symbol", true)]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The steps of each face
//!
//! | face | settings | exceptions | external data | baseline |
//! |---|---|---|---|---|
//! | `typeloom check`, `view`, `graph` | command line, then the nearest settings file | yes | yes | that of the settings |
//! | `typeloom infer` | the same | yes | no: types do not depend on weights | that of the settings |
//! | `tl.check`, `tl.view`, `assert_well_typed` | arguments of the call, then the settings file that it names | yes | in the folder of the file | that of the call or of the settings |
//! | `tl.fleet` | arguments of the call | yes | in the folder of the file | no |
//! | `typeloom_load_file` in C | none | no: a model with errors is not run | no: other files are not read | no |
//!
//! Commands and functions that need a model without errors (`run`, `describe`, `link`, `annotate`) use
//! [`Plan::well_typed`](plan::Plan::well_typed): a level or an exception changes a report, and does not make
//! a model usable.
//!
//! # Cost and limits
//!
//! The check takes nearly all of the time; levels and exceptions are linear in the number of problems.
//! Nothing is printed, and no setting is read from the environment. Files are read only through
//! [`file`](mod@file), [`settings`] and [`baselines`], and no file is written.

pub mod baselines;
#[cfg(feature = "run")]
pub mod budget;
pub mod check;
pub mod convert;
pub mod cost;
pub mod error;
pub mod file;
pub mod findings;
#[cfg(feature = "folders")]
pub mod folder;
#[cfg(feature = "interfaces")]
pub mod interfaces;
pub mod parts;
pub mod plan;
mod retarget;
#[cfg(feature = "run")]
pub mod run;
#[cfg(feature = "view")]
pub mod scene;
pub mod settings;
mod specialize;
pub mod targets;
