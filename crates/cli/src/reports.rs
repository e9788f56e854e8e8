//! The reports of a command: each format with its renderer and destination.

use anyhow::bail;
use typeloom_project::parts::report::list::{
    FileReport, Format, ListRenderer, ListedFiles, PathStyle, Style, Totals, renderer,
};

use crate::args::{Color, FormatArg, ReportArgs};
use crate::output::{Reader, guarded, try_write};
use crate::target::{Stream, Target};

/// The open reports of a command.
pub(crate) struct Reports {
    open: Vec<Report>,
    pub(crate) totals: Totals,
}

struct Report {
    renderer: Box<dyn ListRenderer>,
    destination: Destination,
}

/// The destination of a report.
enum Destination {
    Stdout,
    File(Stream),
    /// Standard output without a reader; the other reports are still written.
    Closed,
}

impl Report {
    fn write(&mut self, text: &str) -> anyhow::Result<()> {
        match &mut self.destination {
            Destination::File(stream) => stream.write(guarded(text).as_bytes())?,
            Destination::Stdout => {
                if try_write(text)? == Reader::Closed {
                    self.destination = Destination::Closed;
                }
            }
            Destination::Closed => {}
        }
        Ok(())
    }
}

impl Reports {
    /// Opens the reports of these arguments; the default is one for people.
    pub(crate) fn open(args: &ReportArgs, color: Color, files: ListedFiles) -> anyhow::Result<Self> {
        let default = [FormatArg::default()];
        let formats = if args.format.is_empty() { &default[..] } else { &args.format[..] };
        let paths = if cfg!(windows) { PathStyle::Windows } else { PathStyle::Unix };
        let mut destinations: Vec<&str> = Vec::new();
        let mut open = Vec::new();
        for FormatArg { format, file } in formats {
            let name = file.as_deref().or(args.output.as_deref()).unwrap_or("-");
            if destinations.contains(&name) {
                let name = if name == "-" { "standard output" } else { name };
                bail!("two reports cannot both be written to {name}; use --format FORMAT=FILE");
            }
            destinations.push(name);
            let color = if name == "-" { color.paint() } else { color.paint_file() };
            let style = Style { color, files, paths };
            let destination = Target::output(name)?.stream()?.map_or(Destination::Stdout, Destination::File);
            open.push(Report { renderer: renderer(Format::from(*format), style), destination });
        }
        if args.output.is_some() && formats.iter().all(|format| format.file.is_some()) {
            bail!("--output needs a format without a file of its own");
        }
        for report in &mut open {
            let text = report.renderer.begin();
            report.write(&text)?;
        }
        Ok(Self { open, totals: Totals::default() })
    }

    /// Adds a file to all reports.
    pub(crate) fn file(&mut self, file: &FileReport<'_>) -> anyhow::Result<()> {
        self.totals.add(file);
        for report in &mut self.open {
            let text = report.renderer.file(file);
            if !text.is_empty() {
                report.write(&text)?;
            }
        }
        if self.open.iter().all(|report| matches!(report.destination, Destination::Closed)) {
            std::process::exit(0);
        }
        Ok(())
    }

    /// Ends the reports of a run that was interrupted before a number of files. Reports on standard output
    /// and in pipes end with this number. Files do not appear, and those of earlier runs stay.
    pub(crate) fn interrupt(mut self, missing: usize) -> anyhow::Result<()> {
        self.totals.missing = Some(missing);
        for mut report in self.open {
            if matches!(&report.destination, Destination::File(stream) if stream.is_atomic()) {
                continue;
            }
            let text = report.renderer.end(&self.totals);
            report.write(&text)?;
            if let Destination::File(stream) = report.destination {
                stream.commit()?;
            }
        }
        Ok(())
    }

    /// Ends the reports. Their files appear now.
    pub(crate) fn finish(self) -> anyhow::Result<()> {
        for mut report in self.open {
            let text = report.renderer.end(&self.totals);
            report.write(&text)?;
            if let Destination::File(stream) = report.destination {
                stream.commit()?;
            }
        }
        Ok(())
    }
}
