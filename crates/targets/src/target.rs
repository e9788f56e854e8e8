//! The known targets.

use std::sync::OnceLock;

use typeloom_solver::diagnostic::Diagnostic;
use typeloom_solver::model::Checked;

use crate::facts::Facts;
use crate::verdict::{Outcome, Verdict, verdict};

/// One version of a runtime with one provider.
///
/// ```
/// use typeloom_solver::model::Options;
/// use typeloom_targets::{Outcome, Target};
///
/// let target = Target::find("onnxruntime-1.31").expect("a known target");
/// let model = typeloom_onnx::text::parse_model(
///     r#"<ir_version: 10, opset_import: ["" : 21]> g (float[N] x) => (y) { y = Relu(x) }"#,
/// )?;
/// let bytes = typeloom_onnx::prost::Message::encode_to_vec(&model);
/// let options = Options { functions: true, ..Options::default() };
/// let mut checked = typeloom_ops::check::check(&bytes, &options)?;
/// assert_eq!(target.check(&mut checked).outcome(), Outcome::Runs);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Target {
    name: &'static str,
    text: &'static str,
    facts: OnceLock<Facts<'static>>,
}

/// Defines the targets, newest first.
macro_rules! targets {
    ($($name:literal,)*) => {
        static TARGETS: [Target; [$($name),*].len()] = [$(Target {
            name: $name,
            text: include_str!(concat!("../data/", $name, ".txt")),
            facts: OnceLock::new(),
        }),*];
    };
}

targets! {
    "onnxruntime-1.31",
    "onnxruntime-1.24",
}

impl Target {
    /// All targets, newest first.
    #[must_use]
    pub fn all() -> &'static [Self] {
        &TARGETS
    }

    /// The target with this name.
    #[must_use]
    pub fn find(name: &str) -> Option<&'static Self> {
        TARGETS.iter().find(|target| target.name == name)
    }

    /// The name, such as `onnxruntime-1.31`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The facts about it.
    #[must_use]
    pub fn facts(&self) -> &Facts<'static> {
        self.facts.get_or_init(|| Facts::parse(self.text).expect("a test of this crate parses the texts"))
    }

    /// Decides whether the target loads a model that was checked with
    /// [`Options::functions`](typeloom_solver::model::Options::functions).
    #[must_use]
    pub fn check<'a>(&self, checked: &mut Checked<'a>) -> Verdict<'a> {
        verdict(self, checked)
    }

    /// The verdict about a model, with its reasons as diagnostics. A model with errors of its own gets no
    /// positive verdict, because a loader can reject it for these: such a model is undecided, without
    /// diagnostics, unless the target rejects it anyway.
    #[must_use]
    pub fn judge(&self, checked: &mut Checked<'_>, is_valid: bool) -> (Outcome, Vec<Diagnostic>) {
        let verdict = self.check(checked);
        match verdict.outcome() {
            Outcome::Runs | Outcome::Undecided if !is_valid => (Outcome::Undecided, Vec::new()),
            outcome => (outcome, verdict.diagnostics(self.name, checked)),
        }
    }

    /// The diagnostics of [`check`](Self::check): an error for each reason of a rejection, a warning for each
    /// undecided node.
    #[must_use]
    pub fn diagnose(&self, checked: &mut Checked<'_>) -> Vec<Diagnostic> {
        self.check(checked).diagnostics(self.name, checked)
    }
}

#[cfg(test)]
mod tests {
    use crate::Target;
    use crate::facts::Facts;

    #[test]
    fn the_embedded_texts_parse() {
        for target in Target::all() {
            let facts = Facts::parse(target.text).unwrap();
            assert!(facts.kernel_count() > 500, "{}: {}", target.name, facts.kernel_count());
            assert!(facts.operator_count() > 200, "{}: {}", target.name, facts.operator_count());
        }
    }

    #[test]
    fn targets_are_found_by_name() {
        for target in Target::all() {
            assert_eq!(Target::find(target.name()).map(Target::name), Some(target.name()));
        }
        assert!(Target::find("onnxruntime").is_none());
    }
}
