//! `typeloom registry`

use std::path::PathBuf;

use clap::{Args, Subcommand};
use typeloom_project::parts::registry::{Alias, Mode, Reference, Selector, Subject};

use super::{DiffArgs, FolderArgs, SolveArgs, TextFormat};

/// `typeloom registry`
#[derive(Debug, Args)]
pub(crate) struct RegistryArgs {
    #[command(subcommand)]
    pub(crate) command: RegistryCommand,
    #[command(flatten)]
    pub(crate) at: RegistryLocation,
}

/// The location of a registry.
#[derive(Debug, Default, Args)]
pub(crate) struct RegistryLocation {
    /// A folder, or `s3://BUCKET/FOLDER`, `gs://...`, `az://...` with the credentials of the environment
    /// (default: TYPELOOM_REGISTRY, then `registry` in the settings, then `.typeloom-registry`)
    #[arg(long, value_name = "URL", global = true)]
    pub(crate) registry: Option<String>,
}

/// `--against` of `check`.
#[derive(Debug, Args)]
#[command(next_help_heading = "Comparisons")]
pub(crate) struct AgainstArgs {
    /// Report the differences from a version of a registry, or from those with which `registry push`
    /// compares: exit 1 if the model violates the compatibility mode
    #[arg(long, value_name = "SUBJECT[@VERSION]")]
    pub(crate) against: Option<Reference>,
    /// The registry of --against, as in `typeloom registry`
    #[arg(long, value_name = "URL", requires = "against")]
    pub(crate) registry: Option<String>,
}

/// A command for a registry.
#[derive(Debug, Subcommand)]
pub(crate) enum RegistryCommand {
    /// Add the interface of a file, or those of a folder, as new versions: exit 1 if one violates the
    /// compatibility mode of its subject
    Push(PushArgs),
    /// Write a version into a bundle, after its verification
    Pull(PullArgs),
    /// List subjects
    List(ListArgs),
    /// Show the versions of a subject, or the interface of one version
    Show(ShowArgs),
    /// Compare a file as `push` does, but write nothing: exit 1 if it is not compatible
    Check(RegistryCheckArgs),
    /// Compare two versions, or a version and a file, as `typeloom diff` does
    Diff(DiffArgs),
    /// Change the compatibility mode or the aliases of a subject
    Set(SetArgs),
    /// Recompute all digests and comparisons: exit 1 if the registry is damaged
    Verify(VerifyArgs),
    /// Delete bundles that no version refers to
    Gc(GcArgs),
}

/// `typeloom registry push`
#[derive(Debug, Args)]
pub(crate) struct PushArgs {
    /// A model, a compiled model, a bundle, or a folder with models
    #[arg(value_name = "FILE")]
    pub(crate) file: String,
    /// The subject: `vision/resnet`. The subject of a model in a folder is its path in the folder without the
    /// extension
    #[arg(value_name = "SUBJECT")]
    pub(crate) subject: Option<Subject>,
    /// The first segments of the subjects of a folder
    #[arg(long, conflicts_with = "subject")]
    pub(crate) prefix: Option<Subject>,
    /// Show the effect, but write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Set an alias to this version; can be repeated
    #[arg(long = "alias", value_name = "ALIAS")]
    pub(crate) aliases: Vec<Alias>,
    /// The format of the output
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: TextFormat,
    #[command(flatten)]
    pub(crate) state: StateArgs,
    #[command(flatten)]
    pub(crate) solve: SolveArgs,
    #[command(flatten)]
    pub(crate) folder: FolderArgs,
}

/// Settings of a subject.
#[derive(Debug, Args)]
pub(crate) struct StateArgs {
    /// The compatibility mode from now on: none, backward, backward_transitive, forward, forward_transitive,
    /// full or full_transitive (default of a new subject: backward)
    #[arg(long, value_name = "MODE")]
    pub(crate) mode: Option<Mode>,
    /// From now on, callers bind inputs and outputs by name alone, so that their order does not matter
    #[arg(long)]
    pub(crate) by_name: bool,
    /// From now on, the order of inputs and outputs matters
    #[arg(long, conflicts_with = "by_name")]
    pub(crate) by_position: bool,
}

/// `typeloom registry pull`
#[derive(Debug, Args)]
pub(crate) struct PullArgs {
    /// A subject, or a version of it: `vision/resnet@7`, `vision/resnet@production`
    #[arg(value_name = "SUBJECT[@VERSION]")]
    pub(crate) reference: Reference,
    /// Write the bundle; `-` is standard output
    #[arg(long, short, value_name = "BUNDLE")]
    pub(crate) output: Option<String>,
    /// The format of the output
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: TextFormat,
}

/// `typeloom registry list`
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// The first segments of the names
    #[arg(value_name = "PREFIX")]
    pub(crate) prefix: Option<Subject>,
    /// The format of the output
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: TextFormat,
}

/// `typeloom registry show`
#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// A subject, or a version of it
    #[arg(value_name = "SUBJECT[@VERSION]")]
    pub(crate) reference: Reference,
    /// Show at most this many entries of the log of a subject, the latest ones
    #[arg(long, value_name = "NUMBER", default_value_t = 50)]
    pub(crate) limit: usize,
    /// The format of the output
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: TextFormat,
}

/// `typeloom registry check`
#[derive(Debug, Args)]
pub(crate) struct RegistryCheckArgs {
    /// A model, a compiled model, or a bundle
    #[arg(value_name = "FILE")]
    pub(crate) file: String,
    /// A subject, or a version of it, which is compared alone
    #[arg(value_name = "SUBJECT[@VERSION]")]
    pub(crate) reference: Reference,
    /// The compatibility mode instead of that of the subject
    #[arg(long, value_name = "MODE")]
    pub(crate) mode: Option<Mode>,
    /// The format of the output
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: TextFormat,
    #[command(flatten)]
    pub(crate) solve: SolveArgs,
}

/// `typeloom registry set`
#[derive(Debug, Args)]
pub(crate) struct SetArgs {
    /// The subject
    #[arg(value_name = "SUBJECT")]
    pub(crate) subject: Subject,
    #[command(flatten)]
    pub(crate) state: StateArgs,
    /// Set an alias to a version, which is a number, another alias or `latest`; can be repeated
    #[arg(long = "alias", value_name = "ALIAS=VERSION", value_parser = assignment)]
    pub(crate) aliases: Vec<(Alias, Selector)>,
    /// Remove an alias; can be repeated
    #[arg(long = "remove-alias", value_name = "ALIAS")]
    pub(crate) removed: Vec<Alias>,
    /// The format of the output
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: TextFormat,
}

/// Parses `ALIAS=VERSION`.
fn assignment(text: &str) -> Result<(Alias, Selector), String> {
    let (alias, selector) = text.split_once('=').ok_or("an alias is set with ALIAS=VERSION")?;
    let alias = alias
        .parse()
        .map_err(|error: typeloom_project::parts::registry::names::NameError| error.to_string())?;
    Ok((
        alias,
        selector
            .parse()
            .map_err(|error: typeloom_project::parts::registry::names::NameError| error.to_string())?,
    ))
}

/// `typeloom registry verify`
#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    /// The subject (default: all)
    #[arg(value_name = "SUBJECT")]
    pub(crate) subject: Option<Subject>,
    /// Check that the logs extend those of an earlier checkpoint
    #[arg(long, value_name = "FILE")]
    pub(crate) checkpoint: Option<PathBuf>,
    /// Write a checkpoint, if the registry is not damaged
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<String>,
    /// Write the checkpoint into the file of --checkpoint
    #[arg(long, requires = "checkpoint", conflicts_with = "output")]
    pub(crate) in_place: bool,
    /// The format of the output
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: TextFormat,
}

/// `typeloom registry gc`
#[derive(Debug, Args)]
pub(crate) struct GcArgs {
    /// The subject (default: all)
    #[arg(value_name = "SUBJECT")]
    pub(crate) subject: Option<Subject>,
    /// Leave bundles that are younger: a number with the unit `s`, `m`, `h` or `d`
    #[arg(long, value_name = "DURATION", default_value = "1h", value_parser = seconds)]
    pub(crate) older_than: u32,
    /// Show the bundles, but delete nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// The format of the output
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: TextFormat,
}

/// The seconds of a duration such as `90s` or `2h`.
fn seconds(text: &str) -> Result<u32, String> {
    let error = || "a duration is a number with the unit `s`, `m`, `h` or `d`: `90s`, `2h`".to_owned();
    let (number, unit) = text.split_at_checked(text.len().saturating_sub(1)).ok_or_else(error)?;
    let factor: u32 = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 86_400,
        _ => return Err(error()),
    };
    number.parse::<u32>().ok().and_then(|number| number.checked_mul(factor)).ok_or_else(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_units() {
        assert_eq!(["0s", "90s", "2m", "1h", "7d"].map(seconds), [0, 90, 120, 3600, 604_800].map(Ok));
        for text in ["", "h", "1", "1w", "-1s", "1.5h", "99999d", "é"] {
            assert!(seconds(text).is_err(), "{text}");
        }
    }

    #[test]
    fn aliases_are_set_to_versions() {
        assert!(assignment("production=7").is_ok_and(|(_, selector)| selector == Selector::Version(7)));
        assert!(assignment("production").is_err());
        assert!(assignment("latest=7").is_err());
    }
}
