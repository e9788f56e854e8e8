//! `typeloom rust describe CRATE`, `typeloom rust diff OLD NEW`.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use typeloom_project::parts::report::rust as report;
use typeloom_project::parts::rust_api::{ApiDiff, CompareError, Edition, Editions, ItemChange, Version};
use typeloom_project::parts::term::Symbols;

use crate::args::{
    RustArgs, RustBuildArgs, RustCommand, RustDescribeArgs, RustDiffArgs, RustEdition, TextFormat,
};
use crate::documentation::{CargoError, CrateJson, Documentation, Features};
use crate::exit::Outcome;
use crate::output::{note, quote, write};
use crate::target::export;

pub(crate) fn run(args: &RustArgs) -> anyhow::Result<Outcome> {
    let result = match &args.command {
        RustCommand::Describe(args) => describe(args),
        RustCommand::Diff(args) => diff(args),
    };
    if let Err(error) = &result
        && let Some(tail) = error.chain().find_map(|cause| cause.downcast_ref::<CargoError>()?.tail())
    {
        quote(tail);
    }
    result
}

/// The builder of documentation that the options describe.
fn documentation(args: &RustBuildArgs) -> Documentation {
    let features = if args.all_features { Features::All } else { Features::Default };
    Documentation::new(features, Duration::from_secs(args.timeout))
}

fn describe(args: &RustDescribeArgs) -> anyhow::Result<Outcome> {
    let CrateJson { json, edition } = documentation(&args.build).of(&args.krate)?;
    let edition = args.edition.map(Edition::from).or(edition).unwrap_or_default();
    let mut symbols = Symbols::new();
    let api = typeloom_project::parts::rust_api::describe(&json, edition, &mut symbols)
        .with_context(|| format!("`{}`", args.krate))?;
    let bundle = || {
        let bundle = typeloom_project::parts::rust_api::bundle(&api, &mut symbols);
        Ok(bundle.with_context(|| format!("`{}`", args.krate))?.as_bytes().to_vec())
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
    let mut documentation = documentation(&args.build);
    let (old, new) = (documentation.of(&args.old)?, documentation.of(&args.new)?);
    let compare = |editions: Editions| -> anyhow::Result<ApiDiff> {
        typeloom_project::parts::rust_api::compare(&old.json, &new.json, editions).map_err(
            |CompareError { version, error }| {
                let file = match version {
                    Version::Old => &args.old,
                    Version::New => &args.new,
                };
                anyhow!(error).context(format!("`{file}`"))
            },
        )
    };
    let asked = args.edition.map(Edition::from);
    let editions = Editions {
        old: asked.or(old.edition).unwrap_or_default(),
        new: args.new_edition.map(Edition::from).or(asked).or(new.edition).unwrap_or_default(),
    };
    let ApiDiff { changes, by_edition } = compare(editions)?;
    if asked.is_none() && old.edition.is_none() && new.edition.is_none() && by_edition {
        // The edition is a default, so a note states that the answer depends on it.
        note_other_edition(&changes, &compare(Edition::E2021.into())?.changes);
    }
    write(&match args.format {
        TextFormat::Human => report::changes_text(&changes),
        TextFormat::Json => report::changes_json(&changes) + "\n",
    })?;
    Ok(if changes.iter().any(|change| change.breaking) { Outcome::Problems } else { Outcome::Typed })
}

/// Writes a note with the items that break in only one of the two editions.
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
