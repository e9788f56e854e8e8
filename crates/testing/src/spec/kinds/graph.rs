//! `graph`: a model in ONNX's textual syntax, with types and problems in comments.
//!
//! ```text
//! g (float[N, 4] x, float[4, 5] w) => (y) {
//!    y = MatMul(x, w)      # y: float[N, 5]
//! }
//! ```
//!
//! The model is checked strictly. The comments state all of its problems, in order. A problem in the comment
//! of a whole node is a problem of that node.

use typeloom_onnx::messages::{ModelProto, NodeProto};
use typeloom_onnx::prost::Message as _;
use typeloom_onnx::text::{ParseError, parse_model, parse_node};
use typeloom_solver::diagnostic::{Diagnostic, diagnose};
use typeloom_solver::model::{CheckError, Checked};

use crate::spec::comments::{self, Codes};
use crate::spec::document::Malformed;
use crate::spec::kinds::{Context, Settings};

/// The default version of ONNX's operator set.
const OPSET: i64 = 23;

/// Reads the text of a model, which may omit the header.
pub(crate) fn parse(text: &str, settings: &Settings) -> Result<ModelProto, ParseError> {
    let header = if text.trim_start().starts_with('<') {
        String::new()
    } else {
        format!("<ir_version: 11, opset_import: [\"\": {}]> ", settings.opset.unwrap_or(OPSET))
    };
    parse_model(&format!("{header}{text}"))
}

/// Reads the model of a graph fence.
pub(crate) fn model(cx: &Context<'_>, text: &str, settings: &Settings) -> Result<ModelProto, Malformed> {
    parse(text, settings)
        .map_err(|error| cx.malformed(error.line - 1, format!("this is no model: {}", error.kind)))
}

/// Checks the model of a graph fence.
pub(crate) fn check<'b>(
    cx: &Context<'_>,
    bytes: &'b [u8],
    settings: &Settings,
) -> Result<Checked<'b>, Malformed> {
    typeloom_ops::check::check(bytes, &settings.options)
        .map_err(|error: CheckError| cx.malformed(0, format!("the model cannot be checked: {error}")))
}

/// The problems of a model, those of its targets last.
pub(crate) fn problems(checked: &mut Checked<'_>, settings: &Settings) -> Vec<Diagnostic> {
    let mut found = diagnose(checked);
    found.extend(settings.targets.iter().flat_map(|target| target.diagnose(checked)));
    found
}

pub(crate) fn truth(cx: &Context<'_>, settings: &Settings) -> Result<String, Malformed> {
    let text = &cx.fence().text;
    let lines = comments::read(text, Codes::With).map_err(|(line, message)| cx.malformed(line, message))?;
    let model = model(cx, text, settings)?;
    let bytes = model.encode_to_vec();
    let mut checked = check(cx, &bytes, settings)?;
    let found = problems(&mut checked, settings);
    let words: Vec<String> = found.iter().map(text_of).collect();
    let ty = |line, name: &str| {
        let value = checked.find(name);
        let value = value.ok_or_else(|| cx.malformed(line, format!("the model has no value `{name}`")))?;
        Ok(checked.display_type(value))
    };
    comments::rewrite(&lines, words, ty, |line, at| {
        check_node(cx, line, lines[line].code, &found[at], &model)
    })
}

/// The text of a problem in a comment.
fn text_of(diagnostic: &Diagnostic) -> String {
    let Diagnostic { severity, code, message, .. } = diagnostic;
    format!("{severity}[{code}]: {message}")
}

/// A problem in the comment of a whole node must be that node's.
fn check_node(
    cx: &Context<'_>,
    line: usize,
    code: &str,
    found: &Diagnostic,
    model: &ModelProto,
) -> Result<(), Malformed> {
    let Ok(commented) = parse_node(code.trim()) else { return Ok(()) };
    let Some(node) = &found.location.node else {
        let message = format!("`{}` is not a problem of the node on this line", text_of(found));
        return Err(cx.malformed(line, message));
    };
    let in_main = found.location.graph.is_empty() && found.location.function.is_none();
    let reported: Option<&NodeProto> = match &model.graph {
        Some(graph) if in_main => graph.node.get(node.index),
        _ => None,
    };
    let same = match reported {
        Some(reported) => reported.output == commented.output && reported.op_type == commented.op_type,
        None => node.operator == commented.op_type(),
    };
    match same {
        true => Ok(()),
        false => {
            let message =
                format!("`{}` is a problem of {node}, not of the node on this line", text_of(found));
            Err(cx.malformed(line, message))
        }
    }
}
