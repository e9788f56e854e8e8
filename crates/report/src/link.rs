//! Renders linked models, and the reasons why two models do not fit, as text and as JSON.
//!
//! ```text
//! error[extent]: axis 1 of `y` is 8, but `x` needs 4
//! --> a.onnx: output `y`: float[N, 8] (output of MatMul node `fc`)
//! --> b.onnx: input `x`: float[batch, 4] (graph input)
//! ```

use serde_json::{Map, Value, json};
use typeloom_link::error::{Conflict, End, MapError, NameConflict, OpsetConflict};
use typeloom_link::{InsertedCast, Joined, LinkError, Linked, OpsetChange, Rename, Substitution};
use typeloom_onnx::text::escape;
use typeloom_solver::diagnostic::text::count;

/// The changes of a linked model: one line for each connection, cast, symbol, name and version.
#[must_use]
pub fn summary(linked: &Linked) -> String {
    let mut text = String::new();
    let mut push = |line: &str| text.push_str(&format!("{}\n", escape(line)));
    for Joined { connection, ty, cast } in &linked.joined {
        push(&format!("{} -> {}: {ty}", connection.output, connection.input));
        if let Some(cast) = cast {
            let InsertedCast { from, to, value } = cast;
            let loses = if cast.is_lossy() { "can lose values" } else { "keeps every value" };
            let (from, to) = (from.onnx_name().unwrap_or("?"), to.onnx_name().unwrap_or("?"));
            push(&format!("  cast {from} -> {to} as {value}, {loses}"));
        }
    }
    for Substitution { file, symbol, value } in &linked.substitutions {
        push(&format!("symbol {symbol} of {file}: {value}"));
    }
    for Rename { file, kind, from, to } in &linked.renames {
        push(&format!("{kind} {from} of {file}: renamed to {to}"));
    }
    for OpsetChange { domain, file, from, to } in &linked.opsets {
        push(&format!(
            "operators of {domain} in {file}: version {to} instead of {from}, with equal definitions"
        ));
    }
    for claim in &linked.unproven {
        push(&format!("not proved: {claim}"));
    }
    for part in &linked.dropped {
        push(&format!("left out: {part}"));
    }
    text
}

/// The result as JSON.
#[must_use]
pub fn value(linked: &Linked) -> Map<String, Value> {
    let joined = linked.joined.iter().map(|Joined { connection, ty, cast }| {
        let mut object = json!({"output": connection.output, "input": connection.input, "type": ty});
        if let Some(cast) = cast {
            object["cast"] = json!({
                "from": cast.from.onnx_name(), "to": cast.to.onnx_name(), "value": cast.value, "lossy": cast.is_lossy()
            });
        }
        object
    });
    let symbols = linked
        .substitutions
        .iter()
        .map(|Substitution { file, symbol, value }| json!({"file": file, "symbol": symbol, "value": value}));
    let renames = linked
        .renames
        .iter()
        .map(|Rename { file, kind, from, to }| json!({"file": file, "kind": kind, "from": from, "to": to}));
    let opsets = linked.opsets.iter().map(|OpsetChange { domain, file, from, to }| {
        json!({"domain": domain, "file": file, "from": from, "to": to})
    });
    let mut object = Map::new();
    object.insert("linked".to_owned(), json!(true));
    object.insert("interface".to_owned(), json!(linked.interface.to_string()));
    object.insert("connections".to_owned(), joined.collect());
    object.insert("symbols".to_owned(), symbols.collect());
    object.insert("renames".to_owned(), renames.collect());
    object.insert("opsets".to_owned(), opsets.collect());
    object.insert("unproven".to_owned(), json!(linked.unproven));
    object.insert("left_out".to_owned(), json!(linked.dropped));
    object
}

/// A reason why two models do not fit, for both renderers.
struct Reason {
    code: &'static str,
    message: String,
    /// Each side with its role.
    sides: Vec<Side>,
    help: Option<String>,
}

struct Side {
    file: String,
    /// `output`, `input`, or a fact about the file.
    role: &'static str,
    name: String,
    ty: String,
    origin: String,
}

impl Side {
    fn of_end(role: &'static str, end: &End) -> Self {
        let End { file, name, ty, origin } = end.clone();
        Self { file, role, name, ty, origin }
    }
}

/// The reasons in an error; empty if it is no list of reasons.
fn reasons(error: &LinkError) -> Vec<Reason> {
    const PREFIXES: &str = "`--prefix-a` and `--prefix-b` set prefixes of all names of a model";
    let of_map = |error: &MapError| {
        let help = matches!(error, MapError::NothingInCommon { .. })
            .then(|| "`--map OUTPUT=INPUT` connects an output with an input".to_owned());
        Reason { code: "map", message: error.to_string(), sides: Vec::new(), help }
    };
    let of_types = |conflict: &Conflict| Reason {
        code: conflict.kind.code(),
        message: conflict.to_string(),
        sides: vec![Side::of_end("output", &conflict.output), Side::of_end("input", &conflict.input)],
        help: conflict.help().map(str::to_owned),
    };
    let of_opsets = |conflict: &OpsetConflict| {
        let side = |(file, version): &(String, i64)| Side {
            file: file.clone(),
            role: "import",
            name: conflict.domain.clone(),
            ty: format!("version {version}"),
            origin: String::new(),
        };
        Reason {
            code: "operator-set",
            message: conflict.to_string(),
            sides: conflict.imports.iter().map(side).collect(),
            help: Some(
                "export both models with one version; there is no conversion between versions".to_owned(),
            ),
        }
    };
    let of_names = |conflict: &NameConflict| {
        let side = |(file, role): &(String, &'static str)| Side {
            file: file.clone(),
            role,
            name: conflict.name.clone(),
            ty: String::new(),
            origin: String::new(),
        };
        Reason {
            code: "name",
            message: conflict.to_string(),
            sides: conflict.sides.iter().map(side).collect(),
            help: Some(PREFIXES.to_owned()),
        }
    };
    match error {
        LinkError::Map(errors) => errors.iter().map(of_map).collect(),
        LinkError::Types(conflicts) => conflicts.iter().map(of_types).collect(),
        LinkError::Opsets(conflicts) => conflicts.iter().map(of_opsets).collect(),
        LinkError::Names(conflicts) => conflicts.iter().map(of_names).collect(),
        LinkError::Check { .. }
        | LinkError::IllTyped { .. }
        | LinkError::Unsupported { .. }
        | LinkError::IllTypedResult { .. }
        | LinkError::Interface(_)
        | LinkError::Malformed { .. }
        | LinkError::Splice { .. } => {
            vec![Reason { code: "model", message: error.to_string(), sides: Vec::new(), help: None }]
        }
    }
}

/// The reasons why two models do not fit, each with both sides.
#[must_use]
pub fn error(error: &LinkError) -> String {
    let mut text = String::new();
    for Reason { code, message, sides, help } in reasons(error) {
        text.push_str(&format!("error[{code}]: {}\n", escape(&message)));
        for Side { file, role, name, ty, origin } in sides {
            let ty = if ty.is_empty() { ty } else { format!(": {ty}") };
            let origin = if origin.is_empty() { origin } else { format!(" ({origin})") };
            text.push_str(&format!("--> {}\n", escape(&format!("{file}: {role} `{name}`{ty}{origin}"))));
        }
        if let Some(help) = help {
            text.push_str(&format!(" = help: {help}\n"));
        }
        text.push('\n');
    }
    text
}

/// The number of reasons as text.
#[must_use]
pub fn verdict(error: &LinkError) -> String {
    format!("not linked, {}", count(reasons(error).len(), "error"))
}

/// The reasons as JSON.
#[must_use]
pub fn error_value(error: &LinkError) -> Map<String, Value> {
    let side = |Side { file, role, name, ty, origin }: Side| {
        let mut object = json!({"file": file, "role": role, "name": name});
        for (key, text) in [("type", ty), ("origin", origin)] {
            if !text.is_empty() {
                object[key] = json!(text);
            }
        }
        object
    };
    let one = |Reason { code, message, sides, help }: Reason| {
        let mut object = json!({"code": code, "message": message});
        object["sides"] = sides.into_iter().map(side).collect();
        if let Some(help) = help {
            object["help"] = json!(help);
        }
        object
    };
    let mut object = Map::new();
    object.insert("linked".to_owned(), json!(false));
    object.insert("errors".to_owned(), reasons(error).into_iter().map(one).collect());
    object
}
