//! `typeloom check --against`, in a build without the feature `registry`.

use typeloom::check::Checked;
use typeloom_project::file::File;
use typeloom_project::parts::report::list;
use typeloom_project::settings::Resolver;

use crate::args::AgainstArgs;
use crate::commands;

/// There is no version to compare with.
pub(super) enum Against {}

/// There is no result.
pub(super) enum Result {}

impl Against {
    pub(super) fn open(args: &AgainstArgs, _: &mut Resolver) -> anyhow::Result<Option<Self>> {
        match args.against {
            Some(_) => Err(commands::absent("option `--against`", "registry")),
            None => Ok(None),
        }
    }

    pub(super) fn compare(&self, _: &File, _: &mut Checked<'_>) -> anyhow::Result<Result> {
        match *self {}
    }
}

impl Result {
    pub(super) fn report(&self) -> list::Against<'_> {
        match *self {}
    }
}
