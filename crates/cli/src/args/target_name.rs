//! The name of a target or a group. Any text is accepted, because the check reports an unknown name with
//! suggestions; the known names are for completions.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, Command, Error};
use typeloom_project::parts::targets::Target;

#[derive(Clone, Copy, Debug)]
pub(crate) struct TargetName;

impl TypedValueParser for TargetName {
    type Value = String;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<String, Error> {
        StringValueParser::new().parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue>>> {
        let targets = Target::all().iter().map(Target::name);
        let groups = Target::groups().iter().map(|(group, _)| *group);
        Some(Box::new(targets.chain(groups).map(PossibleValue::new)))
    }
}
