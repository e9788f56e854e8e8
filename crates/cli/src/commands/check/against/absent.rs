//! `typeloom check --against`, in a build without the feature `registry`.

use typeloom_report::list;

use crate::args::AgainstArgs;
use crate::commands;
use crate::input::Source;
use crate::settings::Resolver;

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

    pub(super) fn compare(
        &self,
        _: &Source,
        _: &[u8],
        _: &mut typeloom_solver::model::Checked<'_>,
    ) -> anyhow::Result<Result> {
        match *self {}
    }
}

impl Result {
    pub(super) fn report(&self) -> list::Against<'_> {
        match *self {}
    }
}
