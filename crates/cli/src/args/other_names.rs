//! Names of commands and options of earlier releases and of other tools, and what to type instead.
//!
//! A name of the last release works, with a note. Any other name remains an error, which names the command or
//! the option of typeloom.

use std::ffi::OsString;
use std::path::Path;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, ValueEnum as _};

use super::format::ReportFormat;
use crate::output::note;

/// Commands of the last release: the arguments that replace the name, and the command to type.
const RENAMED: [(&str, &[&str], &str); 2] = [
    ("graph", &["view", "--graph"], "typeloom view` with `--svg`, `--dot` or `--mermaid"),
    ("header", &["describe", "--as", "c-abi"], "typeloom describe --as c-abi"),
];

/// Commands of other tools, with the command to type.
const ELSEWHERE: [(&[&str], &str, &str); 8] = [
    (&["merge", "concat", "compose"], "typeloom link A.onnx B.onnx -o AB.onnx", "joins two models"),
    (&["lint", "verify", "validate", "test"], "typeloom check FILE", "reports the problems of a model"),
    (
        &["convert-types", "convert", "cast"],
        "typeloom fix FILE -o NEW",
        "inserts the casts that a model needs",
    ),
    (
        &["shape-inference", "infer-shapes"],
        "typeloom annotate FILE -o NEW",
        "writes the types of all values into a model; `typeloom infer FILE` prints them",
    ),
    (&["show", "print", "types", "shapes"], "typeloom infer FILE", "prints the types of all values"),
    (&["inspect", "info", "summary"], "typeloom describe FILE", "prints the inputs and outputs of a model"),
    (&["draw", "plot", "dot", "netron", "visualize"], "typeloom view FILE", "shows the graph of a model"),
    (&["compare"], "typeloom diff OLD NEW", "compares two interfaces"),
];

/// The arguments with the present form of a command of the last release.
pub(crate) fn renamed(arguments: &[OsString]) -> Option<Vec<OsString>> {
    let given = arguments.get(1)?;
    let (name, present, shown) = RENAMED.iter().find(|(name, ..)| given == name)?;
    note(&format!("`typeloom {name}` is now `{shown}`; the next release removes the old name"));
    let (program, rest) = (arguments.iter().take(1), arguments.iter().skip(2));
    Some(program.cloned().chain(present.iter().map(OsString::from)).chain(rest.cloned()).collect())
}

/// Adds what to type to an error of the arguments.
pub(super) fn advise(error: &mut clap::Error, command: &Command, arguments: &[OsString]) {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        _ => None,
    };
    let advice = match error.kind() {
        ErrorKind::InvalidSubcommand => {
            let name = text(ContextKind::InvalidSubcommand);
            name.filter(|name| arguments.get(1).is_some_and(|first| first == &**name))
                .and_then(|it| of_name(&it))
        }
        ErrorKind::UnknownArgument => {
            text(ContextKind::InvalidArg).and_then(|option| of_option(&option, command, arguments))
        }
        _ => None,
    };
    if let Some(advice) = advice {
        for guess in [ContextKind::SuggestedSubcommand, ContextKind::SuggestedArg, ContextKind::Suggested] {
            error.remove(guess);
        }
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![StyledStr::from(advice)]));
    }
}

/// The command to type instead of a name.
fn of_name(name: &str) -> Option<String> {
    let path = Path::new(name);
    if path.exists() || path.extension().is_some_and(|it| it == "onnx") {
        return Some(format!(
            "`typeloom check {name}` checks this model; `typeloom infer {name}` prints its types"
        ));
    }
    let (_, command, effect) = ELSEWHERE.iter().find(|(names, ..)| names.contains(&name))?;
    Some(format!("`{command}` {effect}"))
}

/// The option to type instead of another one: `--json` of other tools is `--format json`.
fn of_option(option: &str, command: &Command, arguments: &[OsString]) -> Option<String> {
    let mut command = command;
    while let Some(inner) = arguments.iter().find_map(|it| command.find_subcommand(it)) {
        command = inner;
    }
    let format = command.get_arguments().find(|argument| argument.get_long() == Some("format"))?;
    let mut values = format.get_possible_values();
    if values.is_empty() {
        values = ReportFormat::value_variants().iter().filter_map(ReportFormat::to_possible_value).collect();
    }
    let name = option.split('=').next()?.strip_prefix("--")?;
    if let "output-format" | "out-format" = name {
        let names: Vec<&str> = values.iter().map(clap::builder::PossibleValue::get_name).collect();
        return Some(format!("the option is `--format`: {}", names.join(", ")));
    }
    values.iter().any(|value| value.get_name() == name).then(|| format!("`--format {name}`"))
}
