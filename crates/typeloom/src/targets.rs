//! Decide whether a runtime loads a model, without the runtime.
//!
//! ```
//! use typeloom::check::{Options, check};
//! use typeloom::targets::{Outcome, Target};
//!
//! let model = typeloom::onnx::model_from_text(
//!     r#"<ir_version: 10, opset_import: ["" : 21]> g (int16[2] x) => (y) { y = Min(x, x) }"#,
//! )?;
//! let mut checked = check(&model, &Options::default())?;
//! let target = Target::named("onnxruntime-1.31").expect("a known target");
//! let verdict = target.check(&mut checked)?;
//! assert_eq!(verdict.outcome, Outcome::Rejected);
//! assert_eq!(
//!     verdict.diagnostics[0].message,
//!     "onnxruntime-1.31 has no kernel for `Min` with `x` of type int16",
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A target is one version of a runtime with one provider. Its facts are generated from the pinned package of
//! the runtime and embedded in this crate. `docs/targets.md` of the repository lists their sources, and the
//! limits of verdicts.
//!
//! **Invariant:** a verdict is [`Outcome::Rejected`] or [`Outcome::Runs`] only if the facts show it; a
//! verdict that the loader contradicts is a defect.

use typeloom_solver::diagnostic::Diagnostic;
use typeloom_solver::model::CheckError;
/// Whether a target loads a model.
///
/// ```
/// use typeloom::check::{Options, check};
/// use typeloom::targets::{Outcome, Target};
///
/// let model = typeloom::onnx::model_from_text(
///     r#"<ir_version: 10, opset_import: ["" : 21]> g (float[N] x) => (y) { y = Relu(x) }"#,
/// )?;
/// let mut checked = check(&model, &Options::default())?;
/// for target in Target::all() {
///     assert_eq!(target.check(&mut checked)?.outcome, Outcome::Runs, "{}", target.name());
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use typeloom_targets::Outcome;
/// The assignment of the nodes of a model to a device and the CPU.
#[doc(inline)]
pub use typeloom_targets::{Assignment, PlacedNode, Placement, TargetError};

#[doc(inline)]
pub use typeloom_targets::Known;

use crate::check::Checked;

/// A version of a runtime with a provider.
///
/// ```
/// use typeloom::targets::Target;
///
/// let newest = Target::all().next().expect("there are targets");
/// assert_eq!(newest.name(), "onnxruntime-1.32");
/// assert_eq!((newest.package(), newest.provider()), ("onnxruntime 1.32.0", "CPUExecutionProvider"));
/// assert!(Target::named("onnxruntime").is_none());
/// assert_eq!(Target::group("onnxruntime").len(), 3);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Target(&'static typeloom_targets::Target);

/// The verdict of a target about a model, with its reasons.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// Whether the target loads the model. A model with errors of its own is rejected or undecided.
    pub outcome: Outcome,
    /// An error for each reason of a rejection, and a warning for each node that is undecided.
    pub diagnostics: Vec<Diagnostic>,
    /// The assignment of the nodes, for a device or runtime whose nodes were measured.
    pub placement: Option<Placement>,
}

impl Target {
    /// All targets, newest first.
    pub fn all() -> impl Iterator<Item = Self> {
        typeloom_targets::Target::all().iter().map(Self)
    }

    /// The target with a name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        typeloom_targets::Target::named(name).map(Self)
    }

    /// The targets with a name: one target, or those of a group such as `qnn`. Empty for an unknown name.
    #[must_use]
    pub fn group(name: &str) -> Vec<Self> {
        typeloom_targets::Target::group(name).into_iter().map(Self).collect()
    }

    /// The groups with the names of their targets.
    #[must_use]
    pub fn groups() -> &'static [(&'static str, &'static [&'static str])] {
        typeloom_targets::Target::groups()
    }

    /// A target from a text in one of the formats of `docs/targets.md`. It is kept until the process ends.
    ///
    /// # Errors
    /// [`TargetError`] if the text has neither format.
    pub fn from_text(name: String, text: String) -> Result<Self, TargetError> {
        Self::from_bytes(name, text.into_bytes())
    }

    /// A target from a file in one of the formats of `docs/targets.md`, which may be compressed in the format
    /// of zlib. It is kept until the process ends.
    ///
    /// # Errors
    /// [`TargetError`] if the text has neither format.
    pub fn from_bytes(name: String, bytes: Vec<u8>) -> Result<Self, TargetError> {
        typeloom_targets::Target::from_bytes(name, bytes).map(Self)
    }

    /// The name, such as `onnxruntime-1.31`.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.0.name()
    }

    /// The facts about it.
    #[must_use]
    pub fn facts(self) -> &'static Known {
        self.0.facts()
    }

    /// The package of the runtime, or of the measurements, with its version.
    #[must_use]
    pub fn package(self) -> &'static str {
        match self.0.facts() {
            Known::Kernels(facts) => facts.source,
            Known::Measured(table) => table.source,
        }
    }

    /// The provider whose kernels are considered, or the device.
    #[must_use]
    pub fn provider(self) -> &'static str {
        match self.0.facts() {
            Known::Kernels(facts) => facts.provider,
            Known::Measured(table) => table.device,
        }
    }

    /// Decides whether the target loads a model.
    ///
    /// The verdict depends on types inside functions. If the model was checked without
    /// [`Options::functions`](crate::check::Options::functions), it is solved once more.
    ///
    /// # Errors
    /// [`CheckError`] if the model is solved once more and exceeds a limit.
    pub fn check(self, checked: &mut Checked<'_>) -> Result<Verdict, CheckError> {
        let is_valid = checked.is_ok();
        let (outcome, diagnostics, verdict) = self.0.judge(checked.solved_with_functions()?, is_valid);
        Ok(Verdict { outcome, diagnostics, placement: verdict.placement })
    }
}

impl From<Target> for &'static typeloom_targets::Target {
    fn from(target: Target) -> Self {
        target.0
    }
}
