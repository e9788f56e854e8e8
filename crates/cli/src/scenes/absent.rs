//! The pages of changes, in a build without the feature `view`: the option `--view` is an error.

use typeloom_project::file::File;

use crate::args::SolveArgs;
use crate::commands;
use crate::input::Source;
use crate::target::Target;

/// The target of a page; `None` if the option is not given.
pub(crate) fn target(file: Option<&str>, _: Option<&Target>) -> anyhow::Result<Option<Target>> {
    match file {
        Some(_) => Err(commands::absent("option `--view`", "view")),
        None => Ok(None),
    }
}

/// Is not called, because there is no target.
pub(crate) fn write_changes(
    _: &SolveArgs,
    _: &Source,
    _: [&File; 2],
    _: &Target,
    _: Option<&Target>,
) -> anyhow::Result<()> {
    Err(commands::absent("option `--view`", "view"))
}
