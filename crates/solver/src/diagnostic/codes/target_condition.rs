//! Diagnostic code `target-condition`.

use crate::diagnostic::{Code, Diagnostic, Location};

super::code!("target-condition", Warning, "the verdict of a target depends on the symbols of the model");

/// A verdict that holds for some values of symbols.
pub(crate) fn target_condition(target: &str, conditions: &[String], fixed: &[String]) -> Diagnostic {
    let mut parts: Vec<String> = conditions.to_vec();
    if let Some((last, others)) = fixed.split_last() {
        let names = match others {
            [] => format!("`{last}` is a number"),
            others => {
                let others: Vec<String> = others.iter().map(|name| format!("`{name}`")).collect();
                format!("{} and `{last}` are numbers", others.join(", "))
            }
        };
        parts.push(names);
    }
    let message = format!("the verdict about {target} holds where {}", parts.join(", and where "));
    let diagnostic = Diagnostic::new(Code::TargetCondition, message, Location::default());
    if fixed.is_empty() {
        return diagnostic;
    }
    let options: Vec<String> = fixed.iter().map(|name| format!("--assume {name}=NUMBER")).collect();
    diagnostic
        .with_notes(vec!["only models with fixed extents were measured".to_owned()])
        .with_help(format!("fix the symbols: `typeloom specialize FILE {}`", options.join(" ")))
}
