//! `typeloom view FILE`: the graph of a model as a page for browsers, or as a picture. If the model has
//! problems, both mark them. With `--target`, the page also has verdicts. `typeloom view FILE NEW` shows both models and the changes.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::time::UNIX_EPOCH;

use anyhow::bail;
use typeloom_project::parts::view::page::{self, Delivery};
use typeloom_project::parts::view::plan::Options;
use typeloom_project::parts::view::text::counted;
use typeloom_project::parts::view::{dot, mermaid, svg};

use crate::args::{Color, Picture, SolveArgs, ViewArgs};
use crate::exit::Outcome;
use crate::input::{self, Source};
use crate::interrupt;
use crate::output::{note, refuse, write};
use crate::scenes::{self, Drawn};
use crate::serve::{self, Server};
use crate::target::Target;

pub(crate) fn run(args: &ViewArgs) -> anyhow::Result<Outcome> {
    let source = input::source(&args.file);
    if args.serve {
        return serve(args, &source);
    }
    let new = args.new.as_deref().map(input::source);
    let picture = args.picture();
    if args.depth.is_some() && picture.is_none() {
        bail!("--depth needs a picture: --svg, --dot or --mermaid; a page expands groups by a click");
    }
    if args.new.is_some() && !args.targets.is_empty() {
        bail!("--target needs one model: the page of two models has no verdicts");
    }
    let none = if picture.is_some() { "no graph" } else { "no page" };
    let target = target(args, new.as_ref().unwrap_or(&source))?;
    let mut drawn = match scenes::of(&args.solve, &args.targets, &source)? {
        Ok(drawn) => drawn,
        Err(diagnostics) => return refuse(&source.name, &diagnostics, Color::Auto, none),
    };
    let mut count = counted(drawn.scene.group(drawn.scene.main()).total, "node");
    if let Some(new) = &new {
        let other = match scenes::of(&args.solve, &[], new)? {
            Ok(other) => other,
            Err(diagnostics) => return refuse(&new.name, &diagnostics, Color::Auto, none),
        };
        drawn = scenes::compared(&drawn, &other);
        count = scenes::changes(&drawn);
    }
    let (scene, name) = (&drawn.scene, &drawn.scene.about.title);
    let options = args.depth.map_or_else(Options::default, Options::to_depth);
    let text = match picture {
        Some(Picture::Dot) => dot::render(scene, name, &options),
        Some(Picture::Mermaid) => mermaid::render(scene, name, &options),
        Some(Picture::Svg) => svg::render(scene, name, &options),
        None => page::render(scene, name, Delivery::File),
    };
    target.write(text.as_bytes())?;
    target.announce(new.as_ref().unwrap_or(&source), &count)?;
    if args.open {
        open(&target)?;
    }
    Ok(drawn.outcome)
}

/// The destination of the page or image.
///
/// Without `--output`, the page of a model file is written to the current folder (`m.html` for `m.onnx`). It
/// replaces only a page of this command there. All other output goes to standard output.
fn target(args: &ViewArgs, source: &Source) -> anyhow::Result<Target> {
    let Some(path) = source.path().filter(|_| args.output.is_none() && args.picture().is_none()) else {
        let target = Target::output(args.output.as_deref().unwrap_or("-"))?;
        if args.open && target.is_stdout() {
            bail!("--open needs a file: use --output");
        }
        return Ok(target);
    };
    let extension = if args.new.is_some() { "diff.html" } else { "html" };
    let name = Path::new(path.file_name().unwrap_or_default()).with_extension(extension);
    if name.exists() && !is_page(&name) {
        bail!("`{}` exists and is no page of this command; use --output to replace it", name.display());
    }
    Target::output(&name.display().to_string())
}

/// Whether this command wrote the page in a file.
fn is_page(path: &Path) -> bool {
    let mut start = Vec::new();
    let read = File::open(path).and_then(|file| file.take(4096).read_to_end(&mut start));
    read.is_ok() && String::from_utf8_lossy(&start).contains(page::GENERATOR)
}

/// Shows a file in the browser of the user.
fn open(target: &Target) -> anyhow::Result<()> {
    let Target::File { path, name, .. } = target else { return Ok(()) };
    let path = std::path::absolute(path)?;
    start_browser(path.as_os_str(), name);
    Ok(())
}

fn start_browser(address: &OsStr, name: &str) {
    if let Err(error) = ::open::that_detached(address) {
        note(&format!("cannot start a browser ({error}); open `{name}` in one"));
    }
}

fn serve(args: &ViewArgs, source: &Source) -> anyhow::Result<Outcome> {
    let Some(path) = source.path() else {
        bail!("--serve needs a file, which it reads again when it changes")
    };
    let version = version(path);
    let drawn = match scenes::of(&args.solve, &args.targets, source)? {
        Ok(drawn) => drawn,
        Err(diagnostics) => return refuse(&source.name, &diagnostics, Color::Auto, "no page"),
    };
    interrupt::watch();
    let server = Server::listen(args.port)?;
    let count = counted(drawn.scene.group(drawn.scene.main()).total, "node");
    write(&format!("{} -> {}: {count}\n", source.name, server.address()))?;
    if args.open {
        start_browser(server.address().as_ref(), &server.address());
    }
    let watched = Watched { solve: &args.solve, targets: &args.targets, source, path, version };
    server.run(watched.page(&drawn), watched)?;
    Ok(drawn.outcome)
}

/// A model that is read again when its file changes.
struct Watched<'a> {
    solve: &'a SolveArgs,
    targets: &'a [String],
    source: &'a Source,
    path: &'a Path,
    version: u64,
}

impl Watched<'_> {
    fn page(&self, drawn: &Drawn) -> serve::Page {
        let delivery = Delivery::Server { version: self.version };
        let html = page::render(&drawn.scene, &self.source.name, delivery);
        serve::Page { html, policy: page::policy(delivery), version: self.version }
    }
}

impl serve::Source for Watched<'_> {
    fn refresh(&mut self) -> Option<serve::Page> {
        let version = version(self.path);
        if version == self.version {
            return None;
        }
        // The version changes even if the model cannot be read: the file may be incomplete, and is read again
        // after the next write.
        self.version = version;
        match scenes::of(self.solve, self.targets, self.source) {
            Ok(Ok(drawn)) => Some(self.page(&drawn)),
            Ok(Err(_)) => {
                note(&format!("`{}` is not a model; the page stays as it is", self.source.name));
                None
            }
            Err(error) => {
                note(&format!("{error:#}; the page stays as it is"));
                None
            }
        }
    }
}

/// A number that changes when the file changes; 0 if the file cannot be accessed.
fn version(path: &Path) -> u64 {
    let Ok(meta) = path.metadata() else { return 0 };
    let time = meta.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
    let nanoseconds = time.as_secs().wrapping_mul(1_000_000_000).wrapping_add(u64::from(time.subsec_nanos()));
    nanoseconds.rotate_left(7) ^ meta.len()
}
