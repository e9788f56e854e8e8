//! `snapshot VIEW`: a rendering of the preceding graph.
//!
//! | view | content |
//! |---|---|
//! | `human` | its problems, as `typeloom check` shows them |
//! | `concise`, `github` | its problems, one line each |
//! | `infer` | the table of all values, as `typeloom infer` shows it |
//! | `explain=VALUE` | the causes of the value's type, as `typeloom explain` shows them |
//!
//! The model is called `model.onnx`.

use std::str::FromStr;

use typeloom_onnx::prost::Message as _;
use typeloom_report::human::Color;
use typeloom_report::{concise, github, human, table};
use typeloom_solver::diagnostic::{Diagnostic, explain_value};

use crate::spec::document::Malformed;
use crate::spec::kinds::{Context, Kind, graph};
use crate::spec::pattern::lines_match;

/// The name of the model.
const FILE: &str = "model.onnx";

/// The shown command or report.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum View {
    /// Problems as text.
    Human,
    /// Problems, one line each.
    Concise,
    /// Problems as workflow commands.
    Github,
    /// Every value with its type.
    Infer,
    /// The explanation of a value's type.
    Explain(String),
}

impl FromStr for View {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some(("explain", value)) => Ok(Self::Explain(value.to_owned())),
            None if text == "human" => Ok(Self::Human),
            None if text == "concise" => Ok(Self::Concise),
            None if text == "github" => Ok(Self::Github),
            None if text == "infer" => Ok(Self::Infer),
            _ => Err(format!(
                "there is no view `{text}`; there are `human`, `concise`, `github`, `infer`, `explain=VALUE`"
            )),
        }
    }
}

pub(crate) fn truth(cx: &Context<'_>, view: &View) -> Result<String, Malformed> {
    let fence = cx.fence();
    let before = cx.document.fences[..cx.index].iter().rev();
    let mut before = before.take_while(|other| other.section == fence.section);
    let model = before.find_map(|other| match &other.kind {
        Kind::Graph(settings) => Some((other, settings)),
        Kind::Types | Kind::Tree(_) | Kind::Primitives(_) | Kind::Snapshot(_) | Kind::Console { .. } => None,
    });
    let Some((model, settings)) = model else {
        return Err(cx.malformed(0, "a snapshot shows the `graph` before it, and its section has none"));
    };
    let mut settings = settings.clone();
    settings.options.trace |= matches!(view, View::Explain(_));
    let bytes = graph::model(cx, &model.text, &settings)?.encode_to_vec();
    let mut checked = graph::check(cx, &bytes, &settings)?;
    let shown = match view {
        View::Human => human::diagnostics(FILE, &graph::problems(&mut checked, &settings), Color::Never),
        View::Concise => lines(&graph::problems(&mut checked, &settings), concise::diagnostic),
        View::Github => lines(&graph::problems(&mut checked, &settings), github::diagnostic),
        View::Infer => table::render(&mut checked),
        View::Explain(value) => {
            let explanation = explain_value(&mut checked, value);
            let explanation =
                explanation.ok_or_else(|| cx.malformed(0, format!("there is no value `{value}`")))?;
            human::explanation(FILE, &explanation, Color::Never)
        }
    };
    let written: Vec<&str> = fence.text.lines().collect();
    let found: Vec<&str> = shown.lines().collect();
    if lines_match(&written, &found) {
        return Ok(fence.text.clone());
    }
    Ok(found.iter().map(|line| format!("{line}\n")).collect())
}

fn lines(diagnostics: &[Diagnostic], show: fn(&str, &Diagnostic) -> String) -> String {
    let lines: Vec<String> = diagnostics.iter().map(|diagnostic| show(FILE, diagnostic)).collect();
    lines.join("\n")
}
