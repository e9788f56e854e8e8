//! `typeloom man [COMMAND]` and `typeloom man --output FOLDER`: manual pages, generated from the definitions
//! of the arguments.

use std::path::Path;

use anyhow::{Context as _, bail};
use clap::{Command, CommandFactory as _};
use clap_mangen::Man;
use typeloom_project::parts::solver::diagnostic::text::suggestion;
use typeloom_project::parts::types::suggest::nearest;

use crate::args::{Args, ManArgs};
use crate::exit::Outcome;
use crate::output::{write, write_plain};
use crate::target::Target;

pub(crate) fn run(args: &ManArgs) -> anyhow::Result<Outcome> {
    // Without a command `help`, which would have a page for each other command.
    let mut root = Args::command().disable_help_subcommand(true);
    root.build();
    if let Some(folder) = &args.output {
        return write_all(&root, folder);
    }
    let mut command = &root;
    for name in &args.command {
        let Some(inner) = command.find_subcommand(name) else {
            let near = nearest(name, command.get_subcommands().map(Command::get_name));
            bail!("`{}` has no command `{name}`{}", full_name(command), suggestion(&near));
        };
        command = inner;
    }
    let mut page = Vec::new();
    Man::new(command.clone()).render(&mut page)?;
    write_plain(&page)?;
    Ok(Outcome::Typed)
}

fn write_all(root: &Command, folder: &Path) -> anyhow::Result<Outcome> {
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make `{}`", folder.display()))?;
    let mut count = 0_usize;
    let mut open = vec![root];
    while let Some(command) = open.pop() {
        open.extend(command.get_subcommands());
        let man = Man::new(command.clone());
        let path = folder.join(man.get_filename());
        let mut page = Vec::new();
        man.render(&mut page)?;
        Target::output(&path.display().to_string())?.write(&page)?;
        count += 1;
    }
    write(&format!("{}: {count} pages written\n", folder.display()))?;
    Ok(Outcome::Typed)
}

/// The name of a command with those of the commands around it.
fn full_name(command: &Command) -> &str {
    command.get_bin_name().unwrap_or_else(|| command.get_name())
}
