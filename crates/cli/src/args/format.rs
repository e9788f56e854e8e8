//! `--format FORMAT` and `--format FORMAT=FILE`.

use clap::ValueEnum;
use typeloom_project::parts::report::list::Format;
use typeloom_project::parts::solver::diagnostic::text::suggestion;
use typeloom_project::parts::types::suggest::nearest;

/// A format of reports.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub(crate) enum ReportFormat {
    /// For people: the printed node with labels, notes and help
    #[default]
    Human,
    /// One line for each finding
    Concise,
    /// One JSON object for each file, one per line
    Json,
    /// One SARIF 2.1.0 log
    Sarif,
    /// Annotations of a GitHub workflow
    Github,
    /// A page of Markdown, for step summaries
    Markdown,
    /// JUnit XML
    Junit,
    /// A report of GitLab Code Quality
    Gitlab,
}

impl From<ReportFormat> for Format {
    fn from(format: ReportFormat) -> Self {
        match format {
            ReportFormat::Human => Self::Human,
            ReportFormat::Concise => Self::Concise,
            ReportFormat::Json => Self::Json,
            ReportFormat::Sarif => Self::Sarif,
            ReportFormat::Github => Self::Github,
            ReportFormat::Markdown => Self::Markdown,
            ReportFormat::Junit => Self::Junit,
            ReportFormat::Gitlab => Self::Gitlab,
        }
    }
}

/// A format and the file to write.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct FormatArg {
    pub(crate) format: ReportFormat,
    pub(crate) file: Option<String>,
}

impl std::str::FromStr for FormatArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, file) = match text.split_once('=') {
            Some((_, "")) => return Err("a format with `=` needs a file".to_owned()),
            Some((name, file)) => (name, Some(file.to_owned())),
            None => (text, None),
        };
        let format = ReportFormat::from_str(name, false).map_err(|_| {
            let values: Vec<_> =
                ReportFormat::value_variants().iter().filter_map(ValueEnum::to_possible_value).collect();
            let names: Vec<&str> = values.iter().map(clap::builder::PossibleValue::get_name).collect();
            let near = suggestion(&nearest(name, names.iter().copied()));
            format!("the formats are {}{near}", names.join(", "))
        })?;
        Ok(Self { format, file })
    }
}

/// The formats and destinations of reports.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Report")]
pub(crate) struct ReportArgs {
    /// The format of the report: human, concise, json, sarif, github, markdown, junit or gitlab. With
    /// `=FILE` it is written to that file; repeat the option for several reports
    #[arg(long, value_name = "FORMAT[=FILE]")]
    pub(crate) format: Vec<FormatArg>,
    /// Write the report without a file of its own to FILE instead of standard output
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<String>,
}

impl ReportArgs {
    /// Whether standard output has a report for people.
    pub(crate) fn is_for_people(&self) -> bool {
        let is_stdout = |it: &FormatArg| it.file.is_none() && self.output.is_none();
        let is_human = |it: &FormatArg| it.format == ReportFormat::Human && is_stdout(it);
        if self.format.is_empty() { self.output.is_none() } else { self.format.iter().any(is_human) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_can_have_a_file() {
        let parse = |text: &str| text.parse::<FormatArg>();
        assert_eq!(parse("json"), Ok(FormatArg { format: ReportFormat::Json, file: None }));
        let sarif = FormatArg { format: ReportFormat::Sarif, file: Some("a=b.sarif".to_owned()) };
        assert_eq!(parse("sarif=a=b.sarif"), Ok(sarif));
        assert!(parse("sarif=").is_err());
        assert!(parse("sraif").is_err_and(|error| error.ends_with("did you mean `sarif`?")));
    }
}
