//! The arguments of commands that this build does not have.
//!
//! They are parsed, so that the command can name the feature that it needs. See `commands/absent.rs`.

use clap::Args;

/// Any arguments.
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub(crate) struct AbsentArgs {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    _rest: Vec<String>,
}

/// `--against` of `check`.
#[cfg(not(feature = "registry"))]
#[derive(Debug, Args)]
pub(crate) struct AgainstArgs {
    #[arg(long, hide = true)]
    pub(crate) against: Option<String>,
    #[arg(long, requires = "against", hide = true)]
    _registry: Option<String>,
}
