//! Parser of the text of a target, whose format [`facts`](super) describes.

use std::collections::BTreeMap;

use super::{
    Certainty, Comparison, Condition, Facts, Formal, FunctionBody, Kernel, Needs, Reads, Rule, Signature,
    TypeSet,
};
use typeloom_onnx::domain::canonical;

/// Error in the text of a target.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {reason}")]
pub struct FactsError {
    /// The number of the line. The first line has the number 1.
    pub line: usize,
    /// The reason.
    pub reason: &'static str,
}

/// The words of a line that are not parsed yet.
type Words<'t> = std::str::SplitAsciiWhitespace<'t>;

/// A result whose error is the reason of a [`FactsError`], without the line.
type Parsed<T> = Result<T, &'static str>;

pub(super) fn facts(text: &str) -> Result<Facts<'_>, FactsError> {
    let mut facts = Facts::default();
    let mut current: Option<((&str, &str), Signature<'_>)> = None;
    for (at, line) in text.lines().enumerate() {
        let error = |reason| FactsError { line: at + 1, reason };
        if at == 0 {
            if line != "typeloom-target 1" {
                return Err(error("the text does not start with `typeloom-target 1`"));
            }
            continue;
        }
        let mut words = line.split_ascii_whitespace();
        let Some(keyword) = words.next() else { continue };
        let outcome = if keyword == "op" {
            add(&mut facts, current.take());
            operator(&mut words).map(|operator| current = Some(operator))
        } else if line.starts_with(' ') {
            match &mut current {
                Some((_, signature)) => detail(&facts, signature, keyword, words),
                None => Err("a detail without an operator"),
            }
        } else {
            header(&mut facts, keyword, line, words)
        };
        outcome.map_err(error)?;
    }
    add(&mut facts, current);
    for versions in facts.operators.values_mut().flat_map(BTreeMap::values_mut) {
        versions.sort_by_key(|signature| signature.since);
    }
    Ok(facts)
}

fn add<'t>(facts: &mut Facts<'t>, operator: Option<((&'t str, &'t str), Signature<'t>)>) {
    if let Some(((domain, name), signature)) = operator {
        facts.operators.entry(domain).or_default().entry(name).or_default().push(signature);
    }
}

fn header<'t>(facts: &mut Facts<'t>, keyword: &str, line: &'t str, mut words: Words<'t>) -> Parsed<()> {
    match keyword {
        "source" => facts.source = line.strip_prefix("source ").unwrap_or_default(),
        "provider" => facts.provider = words.next().ok_or("a provider has a name")?,
        "ir" => facts.ir = number(&mut words)?,
        "domain" => {
            let name = words.next().ok_or("a domain has a name")?;
            facts.domains.insert(canonical(name), number(&mut words)?);
        }
        "unknown" => facts.unknown = words.collect(),
        "removed" => facts.removed = words.collect(),
        "folded" => facts.folded = words.collect(),
        "pushed" => facts.pushed = words.collect(),
        "calls" => facts.needs_all_outputs = words.next() == Some("all-outputs"),
        "set" => {
            if number(&mut words)? != facts.sets.len() as i64 {
                return Err("sets are numbered in order");
            }
            let mut types: Vec<&str> = words.collect();
            types.sort_unstable();
            facts.sets.push(types);
        }
        _ => return Err("unknown keyword"),
    }
    Ok(())
}

fn operator<'t>(words: &mut Words<'t>) -> Parsed<((&'t str, &'t str), Signature<'t>)> {
    let name = words.next().ok_or("an operator has a name")?;
    let name = name.split_once("::").unwrap_or(("", name));
    let since = number(words)?;
    let deprecated = words.next() == Some("deprecated");
    Ok((name, Signature { since, deprecated, ..Signature::default() }))
}

fn detail<'t>(
    facts: &Facts<'t>,
    signature: &mut Signature<'t>,
    keyword: &str,
    mut words: Words<'t>,
) -> Parsed<()> {
    match keyword {
        "in" => signature.inputs = words.map(formal).collect::<Parsed<_>>()?,
        "out" => signature.outputs = words.map(formal).collect::<Parsed<_>>()?,
        "types" => signature.types = sets(facts, words)?,
        "attrs" => attributes(signature, words),
        "kernel" => signature.kernels.push(Kernel { types: sets(facts, words)? }),
        "function" | "sometimes" | "never" => {
            let certainty = match keyword {
                "function" => Certainty::Always,
                "sometimes" => Certainty::Sometimes,
                _ => Certainty::Never,
            };
            let versions = (number(&mut words)?, number(&mut words)?);
            let rule = rule(facts, words)?;
            signature.functions.push(FunctionBody { versions, rule, certainty });
        }
        "doubts" => signature.doubts.push(conditional(facts, words)?),
        "rejects" => signature.rejects.push(conditional(facts, words)?),
        "machine" => {
            if words.next() != Some("locale") {
                return Err("the known property of machines is `locale`");
            }
            signature.locale.push(conditional(facts, words)?);
        }
        "below" => {
            let mut name = || words.next().ok_or("two attributes are compared");
            signature.below.push((name()?, name()?));
        }
        "fuses" => {
            let operator = words.next().ok_or("an operator is fused")?;
            signature.fuses.push((operator, sets(facts, words)?));
        }
        "crashes" => match words.next() {
            Some("constants") => signature.crashes_on_constants = true,
            Some("transposed") => signature.crashes_when_transposed = true,
            Some(_) | None => return Err("the loader crashes on `constants` or `transposed`"),
        },
        "reads" => {
            let mut inputs: Vec<&str> = words.collect();
            let needs = match inputs.first() {
                Some(&"ranked") => Needs::Rank,
                Some(&"sized") => Needs::Extents,
                Some(_) | None => Needs::Nothing,
            };
            if needs != Needs::Nothing {
                inputs.remove(0);
            }
            signature.reads = Some(Reads { inputs, needs });
        }
        _ => return Err("unknown detail"),
    }
    Ok(())
}

/// Types, optionally preceded by conditions and `|`.
fn rule<'t>(facts: &Facts<'t>, words: Words<'t>) -> Parsed<Rule<'t>> {
    if words.clone().any(|word| word == "|") {
        conditional(facts, words)
    } else {
        Ok(Rule { conditions: Vec::new(), types: sets(facts, words)? })
    }
}

/// Conditions, optionally followed by `|` and types.
fn conditional<'t>(facts: &Facts<'t>, mut words: Words<'t>) -> Parsed<Rule<'t>> {
    let mut conditions = Vec::new();
    for word in words.by_ref().take_while(|word| *word != "|") {
        conditions.push(condition(word)?);
    }
    Ok(Rule { conditions, types: sets(facts, words)? })
}

fn condition(word: &str) -> Parsed<Condition<'_>> {
    let always = ("always", "");
    let named = if word == always.0 { Some(always) } else { word.split_once('=') };
    let (name, value) = named.ok_or("a condition is NAME=VALUE")?;
    let (name, comparison) = match name.char_indices().next_back() {
        Some((at, '<')) => (&name[..at], Comparison::AtMost),
        Some((at, '>')) => (&name[..at], Comparison::AtLeast),
        Some((at, '!')) => (&name[..at], Comparison::NotIn),
        Some(_) | None => (name, Comparison::Equal),
    };
    let is_default = value.ends_with('?');
    Ok(Condition { name, comparison, value: value.trim_end_matches('?'), is_default })
}

/// A port `NAME:TYPE`. After the name, `?` marks an optional port, `*` and `+` mark a variadic one.
fn formal(word: &str) -> Parsed<Formal<'_>> {
    let (name, ty) = word.split_once(':').ok_or("a port is NAME:TYPE")?;
    let plain = name.trim_end_matches(['?', '*', '+']);
    Ok(Formal { name: plain, ty, is_variadic: name.ends_with(['*', '+']), is_required: plain == name })
}

fn attributes<'t>(signature: &mut Signature<'t>, words: Words<'t>) {
    for word in words {
        match word.strip_suffix('!') {
            _ if word == "*" => signature.ignores_attributes = true,
            Some(name) => {
                signature.attributes.push(name);
                signature.required.push(name);
            }
            None => signature.attributes.push(word),
        }
    }
}

fn sets<'t>(facts: &Facts<'t>, words: Words<'t>) -> Parsed<Vec<(&'t str, TypeSet)>> {
    let set = |word: &'t str| {
        let (name, set) = word.split_once('=').ok_or("types are NAME=SET")?;
        let set = set.parse().map_err(|_| "a set is a number")?;
        if set < facts.sets.len() { Ok((name, TypeSet(set))) } else { Err("a set is not defined") }
    };
    words.map(set).collect()
}

fn number(words: &mut Words<'_>) -> Parsed<i64> {
    words.next().and_then(|word| word.parse().ok()).ok_or("a number is expected")
}

#[cfg(test)]
mod tests {
    use crate::facts::{Facts, FactsError};

    #[test]
    fn an_error_has_the_number_of_its_line() {
        let line_of =
            |text: &str| Facts::parse(text).map(|_| ()).map_err(|FactsError { line, reason: _ }| line);
        assert_eq!(line_of("typeloom-target 2"), Err(1));
        assert_eq!(line_of("typeloom-target 1\nir x"), Err(2));
        assert_eq!(line_of("typeloom-target 1\nop Relu 1\n  kernel T=0"), Err(3));
        assert_eq!(line_of("typeloom-target 1\nset 0 float\nop Relu 1\n  kernel T=0"), Ok(()));
    }

    #[test]
    fn the_newest_version_up_to_the_import_is_found() {
        let facts =
            Facts::parse("typeloom-target 1\nop Relu 1\nop Relu 6\nop x.y::Relu 3 deprecated\n").unwrap();
        assert_eq!(facts.signature("", "Relu", 0).map(|found| found.since), None);
        assert_eq!(facts.signature("", "Relu", 5).map(|found| found.since), Some(1));
        assert_eq!(facts.signature("", "Relu", 21).map(|found| found.since), Some(6));
        assert!(facts.signature("x.y", "Relu", 3).is_some_and(|found| found.deprecated));
    }
}
