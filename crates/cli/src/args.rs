//! The command line: the arguments of each command, as `clap` reads them.
//!
//! A type here states what a user can write and nothing about its effect: `commands/NAME.rs` has the effect
//! of the type for `NAME`. The documentation comment of a field is its `--help`. Groups that several commands
//! share are types of their own (`SolveArgs`, `ReadArgs`, `CommonArgs`), and are flattened into them, so an
//! option has one name and one text.
//!
//! A command that this build leaves out has `AbsentArgs`, which accepts any arguments: `commands/absent.rs`
//! then names the feature that the command needs. Without it, `clap` would report an unknown command.
//!
//! **Invariant:** manual pages and completions are made from these types (`commands/man.rs`,
//! `commands/completions.rs`).

#[cfg(not(all(
    feature = "compile",
    feature = "interfaces",
    feature = "registry",
    feature = "run",
    feature = "rust",
    feature = "shell",
    feature = "view"
)))]
mod absent;
#[cfg(feature = "compile")]
mod compile;
#[cfg(feature = "interfaces")]
mod contract;
mod convert;
mod cost;
mod format;
mod help;
mod infer;
mod inputs;
#[cfg(feature = "interfaces")]
mod interfaces;
mod levels;
#[cfg(feature = "interfaces")]
mod link;
mod one;
mod other_names;
#[cfg(feature = "registry")]
pub(crate) mod registry;
#[cfg(feature = "run")]
mod run;
#[cfg(feature = "rust")]
mod rust;
#[cfg(feature = "shell")]
mod shell;
mod size;
mod target_name;
#[cfg(feature = "view")]
mod view;

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};

#[cfg(not(feature = "compile"))]
pub(crate) use absent::AbsentArgs as CompileArgs;
#[cfg(not(feature = "shell"))]
pub(crate) use absent::AbsentArgs as CompletionsArgs;
#[cfg(not(feature = "interfaces"))]
pub(crate) use absent::AbsentArgs as DescribeArgs;
#[cfg(not(feature = "interfaces"))]
pub(crate) use absent::AbsentArgs as DiffArgs;
#[cfg(not(feature = "interfaces"))]
pub(crate) use absent::AbsentArgs as LinkArgs;
#[cfg(not(feature = "shell"))]
pub(crate) use absent::AbsentArgs as ManArgs;
#[cfg(not(feature = "registry"))]
pub(crate) use absent::AbsentArgs as RegistryArgs;
#[cfg(not(feature = "run"))]
pub(crate) use absent::AbsentArgs as RunArgs;
#[cfg(not(feature = "rust"))]
pub(crate) use absent::AbsentArgs as RustArgs;
#[cfg(not(feature = "view"))]
pub(crate) use absent::AbsentArgs as ViewArgs;
#[cfg(not(feature = "registry"))]
pub(crate) use absent::AgainstArgs;
#[cfg(feature = "compile")]
pub(crate) use compile::CompileArgs;
#[cfg(feature = "interfaces")]
pub(crate) use contract::{As, ContractArgs};
pub(crate) use convert::ConvertArgs;
pub(crate) use cost::CostArgs;
pub(crate) use format::{FormatArg, ReportArgs};
pub(crate) use infer::{InferArgs, InferFormat};
pub(crate) use inputs::{ExcludeArgs, FolderArgs, InputArgs};
#[cfg(feature = "interfaces")]
pub(crate) use interfaces::{DescribeArgs, DiffArgs, DiffMode};
pub(crate) use levels::LevelArgs;
#[cfg(feature = "interfaces")]
pub(crate) use link::{ExternalData, LinkArgs, LinkCasts};
pub(crate) use one::parse;
pub(crate) use other_names::renamed;
#[cfg(feature = "registry")]
pub(crate) use registry::{AgainstArgs, RegistryArgs};
#[cfg(feature = "run")]
pub(crate) use run::{CPU, ReferenceArg, RunArgs};
#[cfg(feature = "rust")]
pub(crate) use rust::{RustArgs, RustBuildArgs, RustCommand, RustDescribeArgs, RustDiffArgs, RustEdition};
#[cfg(feature = "shell")]
pub(crate) use shell::{CompletionsArgs, ManArgs};
pub(crate) use target_name::TargetName;
#[cfg(feature = "view")]
pub(crate) use view::{Picture, ViewArgs};

/// Proves the type of every value in a tensor program.
#[derive(Debug, Parser)]
#[command(name = "typeloom", version)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
    #[command(flatten)]
    pub(crate) common: CommonArgs,
}

/// The arguments of all commands.
#[derive(Debug, ClapArgs)]
pub(crate) struct CommonArgs {
    /// Add the nodes of a JSON file to the type tree
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) types: Option<PathBuf>,
}

/// The command to run. The help of `typeloom` lists the first nine, and the others after them
/// (`args/help.rs`).
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Prove the type of every value of models, and report problems
    ///
    /// Exit code 0 if every value has a proven type, 1 if not, 2 if a file cannot be read.
    Check(CheckArgs),
    /// Show the types of all values of models, or of some values
    Infer(InferArgs),
    /// Explain a diagnostic code, or why a value of a model has its type
    Explain(ExplainArgs),
    /// Repair a model: insert the fewest casts that make it type-check
    ///
    /// Exit code 0 on success, 1 if repairs do not suffice.
    Fix(FixArgs),
    /// Show the graph of a model in a browser or as a picture, with types, problems and causes
    View(ViewArgs),
    /// Show the interface of a model, and write it as a bundle, a contract for serving, or code
    Describe(DescribeArgs),
    /// Compare two interfaces: can the new model replace the old one?
    ///
    /// Exit code 0 if they are compatible, 1 if not, 2 if a file is not usable.
    Diff(DiffArgs),
    /// Run a model on given inputs, or on random inputs of the solved types
    Run(RunArgs),
    /// Keep versions of interfaces in a folder or an object store, with compatibility modes
    Registry(RegistryArgs),
    /// Write the types of all values into a model, or remove them again
    Annotate(AnnotateArgs),
    /// Compile a model into a typed program, or show it after a pass
    ///
    /// Exit code 1 if it does not compile.
    Compile(CompileArgs),
    /// Print a script that completes commands and options in a shell
    Completions(CompletionsArgs),
    /// Show the settings of a model, each with its source
    Config(ConfigArgs),
    /// Convert a model to another floating-point precision
    ///
    /// Exit code 1 if the model has errors, 2 if it cannot be converted.
    Convert(ConvertArgs),
    /// Show memory and arithmetic of a model, as functions of its symbols
    ///
    /// Exit code 0 if the cost is known, 1 for a model with errors.
    Cost(CostArgs),
    /// Join two models by their types
    ///
    /// Exit code 0 if they fit, 1 if not, 2 if a file is not usable.
    Link(LinkArgs),
    /// Print the manual page of a command, or write the pages of all commands
    Man(ManArgs),
    /// List the operators, or show the signature and rules of one
    Ops(OpsArgs),
    /// Describe the public types of a Rust crate, or compare two versions of one
    Rust(RustArgs),
    /// Fix symbols of a model, and remove what is constant then
    ///
    /// Exit code 1 if the model has errors for these sizes.
    Specialize(SpecializeArgs),
    /// List the runtimes and devices of `check --target`, or describe one
    Targets(TargetsArgs),
}

/// The destination of a changed model.
#[derive(Debug, ClapArgs)]
#[group(required = true, multiple = false)]
pub(crate) struct TargetArgs {
    /// The file to write
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<String>,
    /// Replace the model itself, in one step
    #[arg(long)]
    pub(crate) in_place: bool,
}

/// The destination of a changed model that replaces no other file.
#[derive(Debug, ClapArgs)]
pub(crate) struct NewTargetArgs {
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    /// Replace the file to write if it exists
    #[arg(long)]
    pub(crate) force: bool,
}

/// `typeloom fix`
#[derive(Debug, ClapArgs)]
pub(crate) struct FixArgs {
    /// The model
    #[arg(value_name = "FILE")]
    pub(crate) file: String,
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    /// Show the casts, but write no file
    #[arg(long, group = "TargetArgs")]
    pub(crate) dry_run: bool,
    /// The allowed casts: `minority` (as few as possible, with the least loss, to the types that most of the
    /// model uses), `widest` (lossless casts; if there is none, one to the widest type), `lossless` (lossless
    /// ones only), `fewest` (as few as possible, lossy ones included), `to=TYPE` (as few as possible, to TYPE
    /// even if lossy, all others lossless)
    #[arg(long, default_value = "minority", value_name = "POLICY")]
    pub(crate) policy: String,
    /// Apply unsafe repairs as well, which are listed otherwise: casts that make different values of a
    /// comparison equal, that wrap stored integers, or of texts to numbers, and repairs that are one of
    /// several with different results
    #[arg(long)]
    pub(crate) unsafe_fixes: bool,
    /// Make the exact changes that a runtime or device needs, such as `qnn-npu`; can be repeated.
    /// `typeloom targets` lists the runtimes. The issues that remain are listed, with advice; with an error
    /// among them, the exit code is 1
    #[arg(long = "target", value_name = "NAME")]
    pub(crate) targets: Vec<String>,
    /// Write the repaired model even if other errors remain; the exit code is then 1
    #[arg(long)]
    pub(crate) partial: bool,
    /// Write a page with the changes to the model into FILE, as `typeloom view FILE NEW` does
    #[arg(long, value_name = "FILE")]
    pub(crate) view: Option<String>,
    /// The format of the output
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: TextFormat,
    /// When to use colours
    #[arg(long, value_enum, default_value_t)]
    pub(crate) color: Color,
    #[command(flatten)]
    pub(crate) solve: SolveArgs,
}

/// Conversion of an edge whose two ends are declared with different types.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub(crate) enum CastPolicy {
    /// None: such an edge is an error
    #[default]
    Never,
    /// A cast that keeps every value
    Lossless,
    /// Any cast, even a lossy one
    AsDeclared,
}

/// `typeloom annotate`
#[derive(Debug, ClapArgs)]
pub(crate) struct AnnotateArgs {
    /// The model
    #[arg(value_name = "FILE")]
    pub(crate) file: String,
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    /// Remove the types that were written before
    #[arg(long, conflicts_with = "no_marks")]
    pub(crate) strip: bool,
    /// Replace declared types that the graph contradicts
    #[arg(long, conflicts_with = "strip")]
    pub(crate) replace: bool,
    /// Leave out the marks by which `--strip` finds the written types
    #[arg(long)]
    pub(crate) no_marks: bool,
    /// Write a page with the changes to the model into FILE, as `typeloom view FILE NEW` does
    #[arg(long, value_name = "FILE")]
    pub(crate) view: Option<String>,
    /// When to use colours
    #[arg(long, value_enum, default_value_t)]
    pub(crate) color: Color,
    #[command(flatten)]
    pub(crate) solve: SolveArgs,
}

/// `typeloom specialize`
#[derive(Debug, ClapArgs)]
pub(crate) struct SpecializeArgs {
    /// The model
    #[arg(value_name = "FILE")]
    pub(crate) file: String,
    #[command(flatten)]
    pub(crate) target: NewTargetArgs,
    /// Write a page with the changes to the model into FILE, as `typeloom view FILE NEW` does
    #[arg(long, value_name = "FILE")]
    pub(crate) view: Option<String>,
    /// The format of the output
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: TextFormat,
    /// When to use colours
    #[arg(long, value_enum, default_value_t)]
    pub(crate) color: Color,
    #[command(flatten)]
    pub(crate) solve: SolveArgs,
}

/// Format of interfaces and their differences.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub(crate) enum TextFormat {
    /// For people
    #[default]
    Human,
    /// For programs
    Json,
}

/// How models are read and solved.
#[derive(Debug, Default, ClapArgs)]
#[command(next_help_heading = "Types and symbols")]
pub(crate) struct SolveArgs {
    /// Give a value of the main graph a type: `x=float[batch, 3]`, or a node of the type tree: `x=tensor.f32`
    #[arg(long = "seed", value_name = "NAME=TYPE")]
    pub(crate) seeds: Vec<String>,
    /// Replace a symbol of the model: by a number, another symbol, an expression (`seq=128`, `a=b`,
    /// `total=past + seq`)
    #[arg(long = "assume", value_name = "SYMBOL=DIM")]
    pub(crate) assume: Vec<String>,
    /// Treat symbols that the graph forces to be equal as one
    #[arg(long)]
    pub(crate) merge_symbols: bool,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
}

/// Operators, strictness and settings files of models.
#[derive(Clone, Debug, Default, ClapArgs)]
#[command(next_help_heading = "Operators and settings")]
pub(crate) struct ReadArgs {
    /// Add the operators that FILE describes to ONNX's and ONNX Runtime's (see docs/operator-files.md)
    #[arg(long = "ops", value_name = "FILE")]
    pub(crate) ops: Vec<PathBuf>,
    /// Accept values without a proven type, and unknown operators
    #[arg(long)]
    pub(crate) permissive: bool,
    /// Read the settings from FILE (`typeloom.toml` or `pyproject.toml`) instead of the nearest one above
    /// each model
    #[arg(long, value_name = "FILE", conflicts_with = "no_config")]
    pub(crate) config: Option<PathBuf>,
    /// Read no settings from files
    #[arg(long)]
    pub(crate) no_config: bool,
}

/// When to use colours.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// `typeloom check`
#[derive(Debug, ClapArgs)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    pub(crate) inputs: InputArgs,
    /// Check this many models at the same time (default: the number of processors); the output does not
    /// depend on it
    #[arg(long, short, value_name = "NUMBER", help_heading = "Resources")]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Report a model whose check needs more memory than this, in bytes or with a unit (`512M`), as a file
    /// that cannot be checked. Each model is first checked by another process with this limit
    #[arg(long, value_name = "SIZE", value_parser = size::size, help_heading = "Resources")]
    pub(crate) max_memory: Option<u64>,
    /// Report nodes that a runtime or device does not run, such as `onnxruntime-1.31` or `qnn-npu`, or each
    /// of a group, such as `qnn`; can be repeated. `typeloom targets` lists all
    #[arg(
        long = "target",
        value_name = "NAME",
        value_parser = TargetName,
        hide_possible_values = true,
        help_heading = "Comparisons"
    )]
    pub(crate) targets: Vec<String>,
    /// Report nodes that the target does not run whose facts are in FILE (see docs/targets.md). Its name is
    /// that of the file, without folder and extension; can be repeated
    #[arg(long = "targets", value_name = "FILE", help_heading = "Comparisons")]
    pub(crate) target_files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) against: AgainstArgs,
    /// Do not look for the files of external tensor data
    #[arg(long, help_heading = "Files")]
    pub(crate) no_external_data: bool,
    /// Repair the models with errors in place, and print the changes: as `typeloom fix --in-place`, but a
    /// repair that leaves errors is written too if there are fewer of them. The result is checked before it
    /// is written
    #[arg(long, help_heading = "Repairs", conflicts_with_all = ["update_baseline", "max_memory"])]
    pub(crate) fix: bool,
    /// Apply unsafe repairs as well, which are listed otherwise (see `typeloom fix --help`)
    #[arg(long, help_heading = "Repairs", requires = "fix")]
    pub(crate) unsafe_fixes: bool,
    /// When to use colours
    #[arg(long, value_enum, default_value_t, help_heading = "Report")]
    pub(crate) color: Color,
    /// Print nothing for models without problems
    #[arg(long, short, help_heading = "Report")]
    pub(crate) quiet: bool,
    /// Show at most this many problems of each model; the summary counts all of them
    #[arg(long, value_name = "NUMBER", help_heading = "Report")]
    pub(crate) max_problems: Option<usize>,
    /// Count the problems by code at the end, in reports for people
    #[arg(long, help_heading = "Report")]
    pub(crate) statistics: bool,
    /// Do not report the problems that FILE lists
    #[arg(long, value_name = "FILE", help_heading = "Severities and exceptions")]
    pub(crate) baseline: Option<PathBuf>,
    /// Write the problems of the models into the baseline instead of reporting them
    #[arg(long, help_heading = "Severities and exceptions")]
    pub(crate) update_baseline: bool,
    /// Ignore exceptions in the models (`typeloom.allow` in their metadata)
    #[arg(long, help_heading = "Severities and exceptions")]
    pub(crate) no_inline: bool,
    #[command(flatten)]
    pub(crate) solve: SolveArgs,
    #[command(flatten)]
    pub(crate) report: ReportArgs,
    #[command(flatten)]
    pub(crate) levels: LevelArgs,
}

/// `typeloom config`
#[derive(Debug, ClapArgs)]
pub(crate) struct ConfigArgs {
    /// A model; it need not exist
    #[arg(value_name = "FILE")]
    pub(crate) file: String,
    #[command(flatten)]
    pub(crate) solve: SolveArgs,
    #[command(flatten)]
    pub(crate) levels: LevelArgs,
    #[command(flatten)]
    pub(crate) exclude: ExcludeArgs,
}

/// `typeloom explain`
#[derive(Debug, ClapArgs)]
pub(crate) struct ExplainArgs {
    /// A diagnostic code (`dim-mismatch`), or a model
    #[arg(value_name = "CODE|FILE", required_unless_present = "list")]
    pub(crate) subject: Option<String>,
    /// A value of the model
    pub(crate) value: Option<String>,
    /// List the diagnostic codes by group
    #[arg(long, conflicts_with = "subject")]
    pub(crate) list: bool,
    #[command(flatten)]
    pub(crate) solve: SolveArgs,
}

/// `typeloom ops`
#[derive(Debug, ClapArgs)]
pub(crate) struct OpsArgs {
    /// An operator, with its domain unless that is ai.onnx (`ai.onnx.ml::Scaler`)
    pub(crate) name: Option<String>,
    /// Show the operator as of this version of its domain
    #[arg(long)]
    pub(crate) opset: Option<i64>,
    /// Include the operators that FILE describes
    #[arg(long = "ops", value_name = "FILE")]
    pub(crate) ops: Vec<PathBuf>,
}

/// `typeloom targets`
#[derive(Debug, ClapArgs)]
pub(crate) struct TargetsArgs {
    /// A target, or a group of targets
    #[arg(value_name = "NAME", value_parser = TargetName, hide_possible_values = true)]
    pub(crate) name: Option<String>,
    /// The format of the output
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: TextFormat,
}
