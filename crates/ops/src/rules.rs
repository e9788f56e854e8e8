//! The rules of the catalogue: one file per operator family, one function per rule.
//!
//! # What a rule is
//!
//! A schema lists the element types of an operator. Shapes are what it leaves out: `MatMul` has a sentence of
//! prose. A rule states that sentence as code, over *known and unknown* shapes.
//!
//! The usual form is a function from input shapes to output shapes. It answers for `[2, 3] x [3, 4]`, and
//! has to guess or give up for `[N, K] x [3, 4]`: one guess loses the fact that the model runs only if `K` is
//! 3. A rule here is a relation. It *requires* that two extents are equal, and the solver decides what that
//! means: nothing for equal extents, an error for 2 and 3, and a condition on the model for `K` and 3.
//!
//! ```
//! use typeloom_onnx::text::model_bytes;
//! use typeloom_ops::catalogue::Standard;
//! use typeloom_solver::model::{Options, check};
//! use typeloom_solver::universe::Universe;
//!
//! let text = r#"<ir_version: 10, opset_import: ["" : 21]>
//!     g (float[N, K] x, float[3, 4] w) => (y) { y = MatMul (x, w) }"#;
//! let bytes = model_bytes(text)?;
//! let mut checked = check(&bytes, &Standard, Universe::try_standard()?, &Options::default())?;
//! let y = checked.find("y").ok_or("no value `y`")?;
//! assert_eq!(checked.display_type(y), "float[N, 4]");
//! // `K = 3`, with the node that requires it.
//! assert_eq!(checked.requirements().len(), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Where a new operator goes
//!
//! A family lists its operators in a table of [`Entry`]s:
//!
//! ```text
//! pub(super) const OPERATORS: &[Entry] = &[
//!     Entry::of("Relu", &[rule("relu.shape", relu)]),   // every version
//!     Entry::of("Clip", &[CLIP_BOUNDS]).since(11),      // from version 11 on
//!     Entry::of("Clip", &[ELEMENTWISE]).until(11),      // before version 11
//!     Entry::of("Cos Sin", UNARY),                      // several operators
//!     Entry::of("Scaler", &[SCALER]).in_domain("ai.onnx.ml"),
//! ];
//! ```
//!
//! To add an operator, extend its family, or add a file and list it in [`FAMILIES`]. An operator needs no
//! entry if its signature determines the element types and its shapes are not inferred.
//!
//! Every rule cites its source: the operator's page in the ONNX specification and the relevant part of it.
//!
//! # Cost and limits
//!
//! Most rules run in time linear in the ranks of their inputs and in the elements that they read, whose
//! number [`typeloom_solver::rule::RuleCx`] bounds. A rule has no state: all that it finds is in the slots of
//! its node, so a run with the same inputs has the same effect.

use std::collections::HashMap;
use std::sync::LazyLock;

use typeloom_solver::rule::{Control, Rule, RuleFn};

mod affine;
mod attention;
mod cast;
pub(crate) mod common;
mod concat;
mod constant;
mod contrib;
mod control_flow;
mod convolution;
mod elementwise;
mod expand;
pub(crate) mod extents;
mod gather;
mod items;
mod loss;
mod matrix;
mod ml;
mod normalization;
mod pad;
mod pooling;
mod quantization;
mod random;
mod range;
mod rearrange;
mod recurrent;
mod reduction;
mod reshape;
mod resize;
mod scatter;
mod select;
mod sequence;
mod signal;
mod slice;
mod sliding;
mod text;
mod training;
mod vision;
mod window;

#[cfg(test)]
mod testing;

/// All families.
const FAMILIES: &[&[Entry]] = &[
    attention::OPERATORS,
    cast::OPERATORS,
    concat::OPERATORS,
    constant::OPERATORS,
    contrib::OPERATORS,
    control_flow::OPERATORS,
    convolution::OPERATORS,
    elementwise::OPERATORS,
    expand::OPERATORS,
    extents::OPERATORS,
    gather::OPERATORS,
    loss::OPERATORS,
    matrix::OPERATORS,
    ml::OPERATORS,
    normalization::OPERATORS,
    pad::OPERATORS,
    pooling::OPERATORS,
    quantization::OPERATORS,
    random::OPERATORS,
    range::OPERATORS,
    rearrange::OPERATORS,
    recurrent::OPERATORS,
    reduction::OPERATORS,
    reshape::OPERATORS,
    resize::OPERATORS,
    scatter::OPERATORS,
    select::OPERATORS,
    sequence::OPERATORS,
    signal::OPERATORS,
    slice::OPERATORS,
    text::OPERATORS,
    training::OPERATORS,
    vision::OPERATORS,
    window::OPERATORS,
];

/// A rule of one entry. Rules of several entries are constants.
const fn rule(name: &'static str, run: RuleFn) -> Rule {
    Rule { name, run }
}

/// The rules of one or more operators in a range of versions of their domain.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    domain: &'static str,
    /// The operators, separated by spaces.
    names: &'static str,
    since: u32,
    until: u32,
    /// The rules in order of execution.
    pub(crate) rules: &'static [Rule],
    /// The rules for nested graphs.
    pub(crate) control: Option<&'static Control>,
}

impl Entry {
    /// An entry for all versions of some operators of the default domain.
    const fn of(names: &'static str, rules: &'static [Rule]) -> Self {
        Self { domain: "", names, since: 0, until: u32::MAX, rules, control: None }
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> {
        self.names.split_whitespace()
    }

    /// Restricts the entry to versions from this one on.
    const fn since(self, since: u32) -> Self {
        Self { since, ..self }
    }

    /// Restricts the entry to versions before this one.
    const fn until(self, until: u32) -> Self {
        Self { until, ..self }
    }

    /// Sets the domain.
    const fn in_domain(self, domain: &'static str) -> Self {
        Self { domain, ..self }
    }

    /// Adds rules for nested graphs.
    const fn with_control(self, control: &'static Control) -> Self {
        Self { control: Some(control), ..self }
    }
}

/// The rules of the operator version that was introduced in version `since` of its domain.
pub(crate) fn entry_for(domain: &str, name: &str, since: u32) -> Option<&'static Entry> {
    static BY_NAME: LazyLock<HashMap<&str, Vec<&Entry>>> = LazyLock::new(|| {
        let mut by_name: HashMap<&str, Vec<&Entry>> = HashMap::new();
        for entry in entries() {
            for name in entry.names() {
                by_name.entry(name).or_default().push(entry);
            }
        }
        by_name
    });
    let named = BY_NAME.get(name)?;
    named.iter().copied().find(|entry| entry.domain == domain && (entry.since..entry.until).contains(&since))
}

/// All entries.
pub(crate) fn entries() -> impl Iterator<Item = &'static Entry> {
    FAMILIES.iter().copied().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use typeloom_solver::signature::Schema;

    use crate::described::Described;
    use crate::table::Table;

    #[test]
    fn every_entry_is_for_an_operator_of_the_table() {
        for entry in entries() {
            for name in entry.names() {
                let versions = Table::get().versions(entry.domain, name);
                let described = Described::microsoft().versions(entry.domain, name);
                let is_covered =
                    |schema: &&Schema| (entry.since..entry.until).contains(&schema.since_version);
                let covered = versions.filter(is_covered).count() + described.filter(is_covered).count();
                assert!(covered > 0, "no version of {name} is in {}..{}", entry.since, entry.until);
            }
        }
    }

    #[test]
    fn a_version_of_an_operator_has_at_most_one_entry_and_finds_it() {
        for schema in Table::get().schemas() {
            let fits = |entry: &&Entry| {
                entry.domain == &*schema.domain
                    && entry.names().any(|name| name == &*schema.name)
                    && (entry.since..entry.until).contains(&schema.since_version)
            };
            assert!(entries().filter(fits).count() <= 1, "{} since {}", schema.name, schema.since_version);
            let found = entry_for(&schema.domain, &schema.name, schema.since_version);
            assert_eq!(found.map(std::ptr::from_ref), entries().find(fits).map(std::ptr::from_ref));
        }
    }

    #[test]
    fn a_rule_is_named_operator_dot_relation_in_lower_case() {
        for rule in entries().flat_map(|entry| entry.rules) {
            let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || ['.', '_'].contains(&c);
            assert!(rule.name.chars().all(fits) && rule.name.split('.').count() == 2, "{}", rule.name);
        }
    }
}
