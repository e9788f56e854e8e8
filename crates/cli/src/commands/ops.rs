//! `typeloom ops [NAME]`: the operators, or the signature and rules of one.

use std::fmt::Write as _;
use std::path::PathBuf;

use anyhow::bail;
use typeloom_project::parts::onnx::domain::shown;
use typeloom_project::parts::ops::described::Operators;
use typeloom_project::parts::ops::table::Table;
use typeloom_project::parts::solver::catalogue::{Catalogue as _, Lookup, Operator};
use typeloom_project::parts::solver::diagnostic::text::suggestion;
use typeloom_project::parts::solver::elem::{Elem, ElemSet};
use typeloom_project::parts::solver::signature::{
    AllowedTypes, Arity, AttributeDefault, Formal, FormalType, Schema,
};
use typeloom_project::settings::operators;

use crate::args::OpsArgs;
use crate::exit::Outcome;
use crate::input;
use crate::output::write;

pub(crate) fn run(args: &OpsArgs) -> anyhow::Result<Outcome> {
    let operators = operators(args.ops.iter().map(PathBuf::as_path), input::read)?;
    let text = match &args.name {
        None => list(&operators),
        Some(name) => {
            let (domain, name) = name.rsplit_once("::").unwrap_or(("", name));
            describe(&operators, domain, name, args.opset)?
        }
    };
    write(&text)?;
    Ok(Outcome::Typed)
}

fn list(operators: &Operators) -> String {
    let mut text = String::new();
    for domain in Table::get().domains() {
        for name in Table::get().names(&domain.name) {
            list_versions(&mut text, &domain.name, name, Table::get().versions(&domain.name, name));
        }
    }
    for described in operators.descriptions() {
        for (domain, _) in described.domains() {
            for name in described.names(domain) {
                list_versions(&mut text, domain, name, described.versions(domain, name));
            }
        }
    }
    text
}

fn list_versions<'s>(
    text: &mut String,
    domain: &str,
    name: &str,
    versions: impl Iterator<Item = &'s Schema>,
) {
    let versions: Vec<String> = versions.map(|schema| schema.since_version.to_string()).collect();
    let domain = if domain.is_empty() { String::new() } else { format!("{domain}::") };
    let _ = writeln!(text, "{domain}{name:<28} {}", versions.join(" "));
}

fn describe(operators: &Operators, domain: &str, name: &str, opset: Option<i64>) -> anyhow::Result<String> {
    match operators.lookup(domain, name, opset.unwrap_or(i64::MAX)) {
        Lookup::Found(operator) => Ok(signature(&operator)),
        Lookup::NewerThanOpset { since } => bail!("`{name}` exists from version {since} of its domain on"),
        Lookup::Declared(_) | Lookup::UnknownDomain | Lookup::UnknownOperator => {
            let suggestion = suggestion(&operators.names_like(domain, name));
            bail!("there is no operator `{name}`{suggestion}")
        }
    }
}

fn signature(operator: &Operator<'_>) -> String {
    let Operator { schema, rules, control, described } = operator;
    let mut text = String::new();
    let domain = shown(&schema.domain);
    let withdrawn = if schema.deprecated { ", deprecated" } else { "" };
    let _ = writeln!(
        text,
        "{} (domain {domain}, since version {}{withdrawn})",
        schema.name, schema.since_version
    );
    for (title, formals) in [("inputs", &schema.inputs), ("outputs", &schema.outputs)] {
        let _ = writeln!(text, "\n{title}");
        for formal in formals {
            let _ = writeln!(text, "  {}", port(schema, formal));
        }
    }
    if !schema.attributes.is_empty() {
        let _ = writeln!(text, "\nattributes");
    }
    for attribute in &schema.attributes {
        let default = match &attribute.default {
            Some(default) => format!(" = {}", value(default)),
            None if attribute.required => " (required)".to_owned(),
            None => String::new(),
        };
        let _ = writeln!(text, "  {}: {}{default}", attribute.name, attribute.kind.name());
    }
    if !schema.type_vars.is_empty() {
        let _ = writeln!(text, "\ntypes");
    }
    for variable in &schema.type_vars {
        let _ = writeln!(text, "  {}: {}", variable.name, allowed(&variable.allowed));
    }
    let control_rules = control.iter().flat_map(|control| [control.enter.name, control.exit.name]);
    let names: Vec<&str> = rules
        .iter()
        .map(|rule| rule.name)
        .chain(control_rules)
        .chain(described.map(typeloom_project::parts::solver::rule::ShapeRule::name))
        .collect();
    let element = format!("{}.element", schema.name.to_lowercase());
    let _ = writeln!(text, "\nrules\n  {element} (from the signature)");
    for name in names {
        let _ = writeln!(text, "  {name}");
    }
    text
}

fn port(schema: &Schema, formal: &Formal) -> String {
    let ty = match formal.ty {
        FormalType::Var(variable) => schema.type_vars[usize::from(variable)].name.to_string(),
        FormalType::Tensor(elem) => elem.onnx_name().unwrap_or("?").to_owned(),
    };
    let arity = match formal.arity {
        Arity::Required => String::new(),
        Arity::Optional => " (optional)".to_owned(),
        Arity::Variadic { min, homogeneous: true } => format!(" (variadic, at least {min}, all of one type)"),
        Arity::Variadic { min, homogeneous: false } => format!(" (variadic, at least {min})"),
    };
    format!("{}: {ty}{arity}", formal.name)
}

fn value(default: &AttributeDefault) -> String {
    match default {
        AttributeDefault::Float(value) => format!("{value:?}"),
        AttributeDefault::Int(value) => value.to_string(),
        AttributeDefault::String(value) => format!("{value:?}"),
        AttributeDefault::Floats(values) => format!("{values:?}"),
        AttributeDefault::Ints(values) => format!("{values:?}"),
        AttributeDefault::Strings(values) => format!("{values:?}"),
    }
}

fn allowed(allowed: &AllowedTypes) -> String {
    let brackets =
        [("", ""), ("seq(", ")"), ("optional(", ")"), ("optional(seq(", "))"), ("", ""), ("seq(", ")")];
    let name = |elem: Elem| elem.onnx_name().unwrap_or("?");
    let elems = |before: &str, set: ElemSet| {
        let names: Vec<&str> = set.iter().filter_map(Elem::onnx_name).collect();
        format!("{before}{}", names.join(" | "))
    };
    let pairs = |before: &str, pairs: &[(Elem, Elem)]| {
        let pair = |(key, value): &(Elem, Elem)| format!("map({}, {})", name(*key), name(*value));
        format!("{before}{}", pairs.iter().map(pair).collect::<Vec<_>>().join(" | "))
    };
    allowed.texts(brackets, elems, pairs).join("; ")
}
