//! `typeloom rust describe CRATE.json`, `typeloom rust diff OLD.json NEW.json`.

use std::collections::BTreeSet;

use anyhow::{Context as _, anyhow};
use typeloom_report::rust as report;
use typeloom_rust_api::{ApiDiff, CompareError, Edition, Editions, ItemChange, Version};
use typeloom_term::Symbols;

use crate::args::{RustArgs, RustCommand, RustDescribeArgs, RustDiffArgs, RustEdition, TextFormat};
use crate::input::{self, Bytes};
use crate::output::{Outcome, note, write};
use crate::target::export;

pub(crate) fn run(args: &RustArgs) -> anyhow::Result<Outcome> {
    match &args.command {
        RustCommand::Describe(args) => describe(args),
        RustCommand::Diff(args) => diff(args),
    }
}

fn read(file: &str) -> anyhow::Result<Bytes> {
    input::source(file).open()
}

fn describe(args: &RustDescribeArgs) -> anyhow::Result<Outcome> {
    let json = read(&args.file)?;
    let mut symbols = Symbols::new();
    let api = typeloom_rust_api::describe(&json, args.edition.into(), &mut symbols)
        .with_context(|| format!("`{}`", args.file))?;
    let bundle = || {
        let bundle = typeloom_rust_api::bundle(&api, &mut symbols);
        Ok(bundle.with_context(|| format!("`{}`", args.file))?.as_bytes().to_vec())
    };
    if !export(args.output.as_deref(), bundle)? {
        write(&report::description(&api, &mut symbols))?;
    }
    Ok(Outcome::Typed)
}

impl From<RustEdition> for Edition {
    fn from(edition: RustEdition) -> Self {
        match edition {
            RustEdition::E2015 => Self::E2015,
            RustEdition::E2018 => Self::E2018,
            RustEdition::E2021 => Self::E2021,
            RustEdition::E2024 => Self::E2024,
        }
    }
}

fn diff(args: &RustDiffArgs) -> anyhow::Result<Outcome> {
    let (old, new) = (read(&args.old)?, read(&args.new)?);
    let compare = |editions: Editions| -> anyhow::Result<ApiDiff> {
        typeloom_rust_api::compare(&old, &new, editions).map_err(|CompareError { version, error }| {
            let file = match version {
                Version::Old => &args.old,
                Version::New => &args.new,
            };
            anyhow!(error).context(format!("`{file}`"))
        })
    };
    let before = args.edition.unwrap_or_default();
    let editions = Editions { old: before.into(), new: args.new_edition.unwrap_or(before).into() };
    let ApiDiff { changes, by_edition } = compare(editions)?;
    if args.edition.is_none() && by_edition {
        // The edition is a default, so a note states that the answer depends on it.
        note_other_edition(&changes, &compare(Edition::E2021.into())?.changes);
    }
    write(&match args.format {
        TextFormat::Human => report::changes_text(&changes),
        TextFormat::Json => report::changes_json(&changes) + "\n",
    })?;
    Ok(if changes.iter().any(|change| change.breaking) { Outcome::Problems } else { Outcome::Typed })
}

/// Writes a note with the items that are breaks in only one of the editions.
fn note_other_edition(changes: &[ItemChange], before_2024: &[ItemChange]) {
    let breaks = |changes: &[ItemChange]| -> BTreeSet<String> {
        changes.iter().filter(|change| change.breaking).map(|change| change.item.clone()).collect()
    };
    let (now, before) = (breaks(changes), breaks(before_2024));
    let differ: Vec<String> = now.symmetric_difference(&before).map(|item| format!("`{item}`")).collect();
    if !differ.is_empty() {
        note(&format!(
            "both are read as edition 2024; whether they break depends on it, try `--edition 2021`: {}",
            differ.join(", ")
        ));
    }
}
