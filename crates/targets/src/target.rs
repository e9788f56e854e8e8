//! The known targets.

use std::sync::{Mutex, OnceLock, PoisonError};

use typeloom_solver::diagnostic::Diagnostic;
use typeloom_solver::model::Checked;

use crate::facts::{Facts, FactsError};
use crate::measured::{Table, TableError, table};
use crate::verdict::{Outcome, Verdict, verdict};

/// The largest text of a compressed target, in bytes.
const MAX_TEXT: usize = 1 << 24;

/// The first byte of a compressed target: the method and the window of zlib. No text starts with it.
const ZLIB: u8 = 0x78;

/// One version of a runtime with one provider, or a device.
///
/// ```
/// use typeloom_solver::model::Options;
/// use typeloom_targets::{Outcome, Target};
///
/// let target = Target::named("onnxruntime-1.31").expect("a known target");
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
    text: Text,
    known: OnceLock<Known>,
}

/// The storage of the text of a target.
#[derive(Debug)]
enum Text {
    Plain(&'static str),
    /// Compressed in the format of zlib.
    Compressed(&'static [u8]),
}

/// The facts about a target.
#[derive(Debug)]
pub enum Known {
    /// Signatures and kernels of a runtime.
    Kernels(Facts<'static>),
    /// Measurements of single nodes.
    Measured(Table<'static>),
}

/// A text that is not a target.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    /// The text has the kernels of a runtime, and a wrong line.
    #[error(transparent)]
    Kernels(#[from] FactsError),
    /// The text has measurements, and a wrong line.
    #[error(transparent)]
    Measured(#[from] TableError),
    /// The first line is unknown.
    #[error("it is not a target: the first line must be `typeloom-target 1` or `typeloom-measured 1`")]
    Unknown,
    /// The name is taken.
    #[error("there is a target `{0}` already")]
    Name(String),
}

/// Defines the targets: those of a version of a runtime newest first.
macro_rules! targets {
    ($($name:literal $($suffix:ident)?,)*) => {
        static TARGETS: [Target; [$($name),*].len()] = [$(Target {
            name: $name,
            text: targets!(@text $name $($suffix)?),
            known: OnceLock::new(),
        }),*];
    };
    (@text $name:literal) => { Text::Plain(include_str!(concat!("../data/", $name, ".txt"))) };
    (@text $name:literal measured) => {
        Text::Compressed(include_bytes!(concat!("../data/", $name, ".measured")))
    };
}

targets! {
    "onnxruntime-1.32",
    "onnxruntime-1.31",
    "onnxruntime-1.24",
    "openvino-2026.4-cpu" measured,
    "onnxruntime-openvino-cpu" measured,
    "onnxruntime-openvino-gpu" measured,
    "onnxruntime-openvino-npu" measured,
    "qnn-gpu" measured,
    "qnn-npu" measured,
    "tensorrt-rtx" measured,
}

/// Names for several targets.
const GROUPS: &[(&str, &[&str])] = &[
    ("onnxruntime", &["onnxruntime-1.32", "onnxruntime-1.31", "onnxruntime-1.24"]),
    (
        "onnxruntime-openvino",
        &["onnxruntime-openvino-cpu", "onnxruntime-openvino-gpu", "onnxruntime-openvino-npu"],
    ),
    ("openvino", &["openvino-2026.4-cpu"]),
    ("qnn", &["qnn-gpu", "qnn-npu"]),
    ("windows-npu", &["onnxruntime-openvino-npu", "qnn-npu"]),
    ("windows-gpu", &["onnxruntime-openvino-gpu", "qnn-gpu", "tensorrt-rtx"]),
];

impl Target {
    /// All targets: those of a version of a runtime newest first.
    #[must_use]
    pub fn all() -> &'static [Self] {
        &TARGETS
    }

    /// The target with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        TARGETS.iter().find(|target| target.name == name)
    }

    /// The targets of a name: one target, or those of a group. Empty for an unknown name.
    #[must_use]
    pub fn group(name: &str) -> Vec<&'static Self> {
        match GROUPS.iter().find(|(group, _)| *group == name) {
            Some((_, members)) => members.iter().filter_map(|member| Self::named(member)).collect(),
            None => Self::named(name).into_iter().collect(),
        }
    }

    /// The groups with the names of their targets.
    #[must_use]
    pub fn groups() -> &'static [(&'static str, &'static [&'static str])] {
        GROUPS
    }

    /// A target from a file in one of the two formats, which may be compressed in the format of zlib. It is
    /// kept until the process ends, as targets have static names; the same name and text is kept once.
    ///
    /// # Errors
    /// [`TargetError`] if the text has neither format, or the name is that of another target or a group.
    pub fn from_bytes(name: String, bytes: Vec<u8>) -> Result<&'static Self, TargetError> {
        static OWN: Mutex<Vec<&Target>> = Mutex::new(Vec::new());
        if !Self::group(&name).is_empty() {
            return Err(TargetError::Name(name));
        }
        let text =
            if bytes.first() == Some(&ZLIB) { inflated(&bytes) } else { String::from_utf8(bytes).ok() };
        let text = text.ok_or(TargetError::Unknown)?;
        let mut own = OWN.lock().unwrap_or_else(PoisonError::into_inner);
        let is_same =
            |known: &&&Self| known.name == name && matches!(known.text, Text::Plain(other) if other == text);
        if let Some(known) = own.iter().find(is_same) {
            return Ok(known);
        }
        let target = Self { name: name.leak(), text: Text::Plain(text.leak()), known: OnceLock::new() };
        let known = target.read()?;
        let target: &'static Self = Box::leak(Box::new(target));
        target.known.get_or_init(|| known);
        own.push(target);
        Ok(target)
    }

    /// The name, such as `onnxruntime-1.31`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The facts about it.
    #[must_use]
    pub fn facts(&self) -> &Known {
        self.known.get_or_init(|| self.read().expect("a test of this crate reads the embedded texts"))
    }

    fn read(&self) -> Result<Known, TargetError> {
        let text = match self.text {
            Text::Plain(text) => text,
            Text::Compressed(bytes) => inflated(bytes).ok_or(TargetError::Unknown)?.leak(),
        };
        match text.lines().next() {
            Some(table::HEAD) => Ok(Known::Measured(Table::parse(text)?)),
            Some(line) if line.starts_with("typeloom-target ") => Ok(Known::Kernels(Facts::parse(text)?)),
            _ => Err(TargetError::Unknown),
        }
    }

    /// Decides whether the target runs a model that was checked with
    /// [`Options::functions`](typeloom_solver::model::Options::functions).
    #[must_use]
    pub fn check<'a>(&'static self, checked: &mut Checked<'a>) -> Verdict<'a> {
        verdict(self, checked)
    }

    /// The verdict about a model, with its reasons as diagnostics. A model with errors of its own gets no
    /// positive verdict, because a loader can reject it for these: such a model is undecided, without
    /// diagnostics, unless the target rejects it anyway.
    #[must_use]
    pub fn judge<'a>(
        &'static self,
        checked: &mut Checked<'a>,
        is_valid: bool,
    ) -> (Outcome, Vec<Diagnostic>, Verdict<'a>) {
        let verdict = self.check(checked);
        let (outcome, reasons) = match verdict.outcome() {
            Outcome::Rejected => (Outcome::Rejected, verdict.diagnostics(self.name, checked)),
            _ if !is_valid => (Outcome::Undecided, Vec::new()),
            outcome => (outcome, verdict.diagnostics(self.name, checked)),
        };
        (outcome, reasons, verdict)
    }

    /// The diagnostics of [`check`](Self::check): an error for each reason of a rejection, a warning for each
    /// node that is undecided or runs on the CPU.
    #[must_use]
    pub fn diagnose(&'static self, checked: &mut Checked<'_>) -> Vec<Diagnostic> {
        self.check(checked).diagnostics(self.name, checked)
    }
}

/// The text of a compressed target.
fn inflated(bytes: &[u8]) -> Option<String> {
    let bytes = miniz_oxide::inflate::decompress_to_vec_zlib_with_limit(bytes, MAX_TEXT).ok()?;
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use crate::Target;
    use crate::target::{Known, TargetError};

    #[test]
    fn the_embedded_texts_parse() {
        for target in Target::all() {
            match target.read().unwrap() {
                Known::Kernels(facts) => {
                    assert!(facts.kernel_count() > 500, "{}: {}", target.name, facts.kernel_count());
                    assert!(facts.operator_count() > 200, "{}: {}", target.name, facts.operator_count());
                }
                Known::Measured(table) => assert!(table.rows() > 5000, "{}: {}", target.name, table.rows()),
            }
        }
    }

    #[test]
    fn targets_are_found_by_name() {
        for target in Target::all() {
            assert_eq!(Target::named(target.name()).map(Target::name), Some(target.name()));
        }
        assert!(Target::named("onnxruntime").is_none());
        let names: Vec<&str> = Target::group("onnxruntime").iter().map(|target| target.name()).collect();
        assert_eq!(names, ["onnxruntime-1.32", "onnxruntime-1.31", "onnxruntime-1.24"]);
        assert!(Target::group("no-such-target").is_empty());
    }

    #[test]
    fn the_members_of_groups_are_targets() {
        for (group, members) in Target::groups() {
            assert!(Target::named(group).is_none(), "{group} is both");
            assert_eq!(Target::group(group).len(), members.len(), "{group}");
        }
    }

    #[test]
    fn a_text_without_a_format_is_an_error() {
        for bytes in [&b"hello"[..], b"\xff", b"x", b"x\x9c"] {
            let error = Target::from_bytes("mine".to_owned(), bytes.to_vec()).map(Target::name);
            assert_eq!(error, Err(TargetError::Unknown));
        }
        let error = Target::from_bytes("qnn".to_owned(), b"typeloom-measured 1".to_vec()).map(Target::name);
        assert_eq!(error, Err(TargetError::Name("qnn".to_owned())));
    }

    #[test]
    fn the_example_of_the_manual_is_a_target() {
        let manual = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/targets.md"));
        let manual = manual.expect("the repository has its documents");
        let from = manual.find("```text\ntypeloom-measured 1").unwrap() + "```text\n".len();
        let text = &manual[from..from + manual[from..].find("```").unwrap()];
        let target = Target::from_bytes("my-board".to_owned(), text.as_bytes().to_vec()).unwrap();
        let Known::Measured(table) = target.facts() else { panic!("it has measurements") };
        assert_eq!((table.device, table.rows()), ("Board NPU", 28));
    }

    #[test]
    fn a_file_can_be_compressed() {
        let text = b"typeloom-measured 1\ndevice Board\n";
        let bytes = miniz_oxide::deflate::compress_to_vec_zlib(text, 9);
        let target = Target::from_bytes("compressed".to_owned(), bytes).unwrap();
        let Known::Measured(table) = target.facts() else { panic!("it has measurements") };
        assert_eq!(table.device, "Board");
    }

    #[test]
    fn a_text_is_kept_once() {
        let target = |text: &str| Target::from_bytes("once".to_owned(), text.as_bytes().to_vec()).unwrap();
        let first = target("typeloom-measured 1\n");
        assert!(std::ptr::eq(first, target("typeloom-measured 1\n")));
        assert!(!std::ptr::eq(first, target("typeloom-measured 1\nfixed\n")));
    }
}
