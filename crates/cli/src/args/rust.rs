//! The arguments of `typeloom rust`.

use clap::{Args as ClapArgs, Subcommand, ValueEnum};

use super::TextFormat;

/// `typeloom rust`
#[derive(Debug, ClapArgs)]
pub(crate) struct RustArgs {
    #[command(subcommand)]
    pub(crate) command: RustCommand,
}

/// A command for the JSON of a crate.
#[derive(Debug, Subcommand)]
pub(crate) enum RustCommand {
    /// Show the signature of every public item, and write all of them into a bundle
    Describe(RustDescribeArgs),
    /// Compare two versions as types: exit 0 if no change is breaking, 1 if one is, 2 if a file is not usable
    Diff(RustDiffArgs),
}

/// `typeloom rust describe`
#[derive(Debug, ClapArgs)]
pub(crate) struct RustDescribeArgs {
    /// The crate: a folder with a `Cargo.toml`, `name@version` of the registry, or rustdoc JSON
    #[arg(value_name = "CRATE")]
    pub(crate) krate: String,
    #[command(flatten)]
    pub(crate) build: RustBuildArgs,
    /// Write the signatures into a bundle
    #[arg(long, short, value_name = "BUNDLE")]
    pub(crate) output: Option<String>,
    /// The edition of the crate (default: that of the manifest, or 2024 for JSON, which does not contain it).
    /// Before 2024, `impl Trait` in the result of a function outside of traits captures only the lifetimes
    /// that it names
    #[arg(long, value_enum, value_name = "YEAR")]
    pub(crate) edition: Option<RustEdition>,
}

/// Options for the documentation of crates that are given as folders or packages.
#[derive(Debug, ClapArgs)]
pub(crate) struct RustBuildArgs {
    /// Document with all features of the crate instead of its default features
    #[arg(long)]
    pub(crate) all_features: bool,
    /// Time limit for each call of cargo
    #[arg(long, value_name = "SECONDS", default_value_t = 600, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) timeout: u64,
}

/// An edition of Rust.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub(crate) enum RustEdition {
    /// Rust 2015
    #[value(name = "2015")]
    E2015,
    /// Rust 2018
    #[value(name = "2018")]
    E2018,
    /// Rust 2021
    #[value(name = "2021")]
    E2021,
    /// Rust 2024
    #[default]
    #[value(name = "2024")]
    E2024,
}

/// `typeloom rust diff`
#[derive(Debug, ClapArgs)]
pub(crate) struct RustDiffArgs {
    /// The old version: a folder with a `Cargo.toml`, `name@version` of the registry, or rustdoc JSON
    #[arg(value_name = "OLD")]
    pub(crate) old: String,
    /// The new version, in the same notation
    #[arg(value_name = "NEW")]
    pub(crate) new: String,
    #[command(flatten)]
    pub(crate) build: RustBuildArgs,
    /// The format of the output
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: TextFormat,
    /// The edition of both versions (default: that of the manifest, or 2024 for JSON, which does not contain
    /// it). Before 2024, `impl Trait` in the result of a function outside of traits captures only the
    /// lifetimes that it names
    #[arg(long, value_enum, value_name = "YEAR")]
    pub(crate) edition: Option<RustEdition>,
    /// The edition of the new version, if it differs
    #[arg(long, value_enum, value_name = "YEAR", requires = "edition")]
    pub(crate) new_edition: Option<RustEdition>,
}
