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
///     assert_eq!(target.check(&mut checked)?.outcome, Outcome::Runs);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use typeloom_targets::Outcome;

use crate::check::Checked;

/// A version of a runtime with a provider.
///
/// ```
/// use typeloom::targets::Target;
///
/// let newest = Target::all().next().expect("there are targets");
/// assert_eq!(newest.name(), "onnxruntime-1.31");
/// assert_eq!((newest.package(), newest.provider()), ("onnxruntime 1.31.1", "CPUExecutionProvider"));
/// assert!(Target::named("onnxruntime").is_none());
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
}

impl Target {
    /// All targets, newest first.
    pub fn all() -> impl Iterator<Item = Self> {
        typeloom_targets::Target::all().iter().map(Self)
    }

    /// The target with a name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        typeloom_targets::Target::find(name).map(Self)
    }

    /// The name, such as `onnxruntime-1.31`.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.0.name()
    }

    /// The package of the runtime with its version.
    #[must_use]
    pub fn package(self) -> &'static str {
        self.0.facts().source
    }

    /// The provider whose kernels are considered.
    #[must_use]
    pub fn provider(self) -> &'static str {
        self.0.facts().provider
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
        let (outcome, diagnostics) = self.0.judge(checked.solved_with_functions()?, is_valid);
        Ok(Verdict { outcome, diagnostics })
    }
}
