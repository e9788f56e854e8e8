//! `typeloom config FILE`: the settings of a model, each with its source.

use typeloom_project::parts::onnx::text::escape;
use typeloom_project::parts::settings::effective::{Settings, Source as Origin};

use crate::args::ConfigArgs;
use crate::exit::Outcome;
use crate::input;
use crate::output::{MAX_COLUMN, write};
use crate::settings;

pub(crate) fn run(args: &ConfigArgs) -> anyhow::Result<Outcome> {
    let command_line = Settings { severities: args.levels.settings(), ..Settings::default() };
    let mut resolver = settings::excluding(settings::resolver(&args.solve, command_line)?, &args.exclude)?;
    let source = input::source(&args.file);
    let found = resolver.find(&source)?;
    let settings = resolver.settings(&source)?;
    let name = found.file.as_ref().map_or("no settings file".into(), |file| escape(&file.name));
    let mut text = format!("# {}: {name}\n", source.name);
    let of_file = found.file.as_ref().map_or(&[][..], |file| file.exclude());
    let globs = of_file.iter().chain(resolver.exclude());
    let excluded = globs.map(|glob| (format!("exclude = [{:?}]", glob.value), &glob.source));
    let lines: Vec<(String, &Origin)> = settings.lines().into_iter().chain(excluded).collect();
    let width = lines.iter().map(|(line, _)| line.chars().count()).max().unwrap_or_default().min(MAX_COLUMN);
    for (line, origin) in lines {
        text.push_str(&format!("{:width$}  # {}\n", escape(&line), escape(&origin.to_string())));
    }
    write(&text)?;
    Ok(Outcome::Typed)
}
