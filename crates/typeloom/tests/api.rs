//! The public API of the facade, as `typeloom rust describe` prints it, is recorded in
//! `crates/typeloom/api.txt`.
//!
//! The JSON of a facade contains re-exports only as names. Each re-exported name is therefore followed by the
//! lines of the crate that defines it, with the public path in place of the internal one.
//!
//! The JSON of all crates takes a minute to produce, so the test is skipped unless `TYPELOOM_API=1`
//! (`.ci/run`) or `TYPELOOM_BLESS=1` is set; the second records the API. rustdoc's JSON is unstable, which
//! `RUSTC_BOOTSTRAP=1` permits; the artifacts are in a folder of their own, because this variable invalidates
//! those of other builds.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use typeloom::rust::{Edition, describe, render};
use typeloom::term::Symbols;

/// The crates whose items the facade re-exports.
const CRATES: [&str; 20] = [
    "typeloom",
    "typeloom-compiler",
    "typeloom-components",
    "typeloom-contracts",
    "typeloom-cpu",
    "typeloom-interface",
    "typeloom-link",
    "typeloom-module",
    "typeloom-onnx",
    "typeloom-ops",
    "typeloom-pool",
    "typeloom-report",
    "typeloom-rewrite",
    "typeloom-runtime",
    "typeloom-rust-api",
    "typeloom-solver",
    "typeloom-tensor",
    "typeloom-term",
    "typeloom-types",
    "typeloom-wire",
];

/// Auto traits that follow from the fields of a type and are not listed.
const UNLISTED: [&str; 3] = ["core::marker::Unpin", "UnwindSafe", "core::marker::Freeze"];

/// Bounds of the numbers of names in the modules of the facade. A name of `published/names.rs` is not
/// counted.
const MAX_NAMES: [(&str, usize); 25] = [
    ("check", 28),
    ("interface", 12),
    ("link", 11),
    ("module", 12),
    ("module::passes", 12),
    ("module::slots", 9),
    ("onnx", 6),
    ("pool", 19),
    ("pool::service", 5),
    ("run", 20),
    ("run::components", 22),
    ("run::engine", 10),
    ("run::host", 6),
    ("run::values", 9),
    ("run::wire", 29),
    ("rust", 10),
    ("targets", 8),
    ("term", 15),
    ("term::build", 25),
    ("term::family", 5),
    ("term::goals", 12),
    ("term::infer", 15),
    ("term::traverse", 19),
    ("types", 0),
    ("types::operators", 1),
];

/// Bound of the number of names directly in the modules of the tasks, without those of their submodules.
const MAX_TASK_NAMES: usize = 141;

/// Modules that contain one item per operator or built-in type.
const TABLES: [&str; 2] = ["module::attributes", "types::builtins"];

fn is_set(variable: &str) -> bool {
    std::env::var_os(variable).is_some_and(|value| !value.is_empty())
}

/// Writes the JSON of all crates and returns the folder.
fn json_folder() -> Result<PathBuf, String> {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("api");
    let packages = CRATES.iter().flat_map(|name| ["-p", name]);
    let output = Command::new(env!("CARGO"))
        .args(["doc", "--offline", "--quiet", "--no-deps", "--lib"])
        .args(packages)
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
        .env("CARGO_TARGET_DIR", &target)
        .env("RUSTC_BOOTSTRAP", "1")
        .env("RUSTDOCFLAGS", "-Z unstable-options --output-format json")
        .output()
        .map_err(|error| error.to_string())?;
    if output.status.success() {
        Ok(target.join("doc"))
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

/// The lines of the description of a crate, without the counts at the end.
fn lines_of(folder: &Path, name: &str) -> Result<Vec<String>, Box<dyn std::error::Error>> {
    let json = std::fs::read(folder.join(name.replace('-', "_")).with_extension("json"))?;
    let mut symbols = Symbols::new();
    let api = describe(&json, Edition::E2024, &mut symbols)?;
    let text = render(&api, &mut symbols);
    Ok(text.lines().take_while(|line| !line.is_empty()).map(str::to_owned).collect())
}

/// The API: the lines of the facade, with every path of a re-exported item replaced by its public one.
fn api(folder: &Path) -> Result<String, Box<dyn std::error::Error>> {
    let own = lines_of(folder, "typeloom")?;
    let reexport = |line: &str| -> Option<(String, String)> {
        let (from, to) = line.strip_prefix("use ")?.split_once(" as ")?;
        from.starts_with("typeloom_").then(|| (from.to_owned(), to.to_owned()))
    };
    let mut public: BTreeMap<String, String> = own.iter().filter_map(|line| reexport(line)).collect();
    let mut lines = own;
    for name in &CRATES[1..] {
        let described = lines_of(folder, name)?;
        let declared: BTreeSet<&str> = described.iter().filter_map(|line| declared(line)).collect();
        public.extend(visible_paths(&declared, &public));
        lines.extend(described.iter().filter(|line| reaches(line, &public)).cloned());
    }
    let mut lines: Vec<String> = lines
        .into_iter()
        .filter(|line| !(line.starts_with("impl") && UNLISTED.iter().any(|name| line.contains(name))))
        .map(|line| with_public_paths(&line, &public))
        .collect();
    lines.sort();
    lines.dedup();
    Ok(lines.join("\n") + "\n")
}

/// Splits a line into paths and the text between them.
fn pieces(line: &str) -> impl Iterator<Item = &str> {
    let is_path = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    let mut rest = line;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let end = rest.find(|c: char| is_path(c) != is_path(first)).unwrap_or(rest.len());
        let (piece, after) = rest.split_at(end);
        rest = after;
        Some(piece)
    })
}

/// The longest re-exported prefix of a path.
fn public_prefix<'p>(path: &'p str, public: &'p BTreeMap<String, String>) -> Option<(&'p str, &'p str)> {
    let ends = path.match_indices("::").map(|(at, _)| at).chain([path.len()]);
    let prefixes = ends.filter_map(|end| Some((&path[..end], public.get(&path[..end])?.as_str())));
    prefixes.last()
}

/// The path of the item that a line declares: of an impl the self type, otherwise the first path.
fn declared(line: &str) -> Option<&str> {
    let text = match line.split_once(" for ") {
        Some((_, of)) if line.starts_with("impl") => of,
        _ => line,
    };
    pieces(text).find(|piece| piece.starts_with("typeloom_"))
}

/// Re-exports name the module that defines an item; the description of its crate uses a shorter path if the
/// module is private. Returns the public path for each of these paths.
fn visible_paths(declared: &BTreeSet<&str>, public: &BTreeMap<String, String>) -> Vec<(String, String)> {
    let shorter = |(from, to): (&String, &String)| {
        let (modules, name) = from.rsplit_once("::")?;
        let ends = modules.match_indices("::").map(|(at, _)| at);
        let paths = ends.map(|end| format!("{}::{name}", &modules[..end]));
        let visible = paths.filter(|path| declared.contains(path.as_str())).last()?;
        (!declared.contains(from.as_str())).then(|| (visible, to.clone()))
    };
    public.iter().filter_map(shorter).collect()
}

/// Whether a line of another crate belongs to a re-exported item.
fn reaches(line: &str, public: &BTreeMap<String, String>) -> bool {
    !line.starts_with("use ") && declared(line).is_some_and(|path| public_prefix(path, public).is_some())
}

fn with_public_paths(line: &str, public: &BTreeMap<String, String>) -> String {
    if line.starts_with("use ") {
        return line.to_owned();
    }
    let renamed = |piece| match public_prefix(piece, public) {
        Some((prefix, to)) => format!("{to}{}", &piece[prefix.len()..]),
        None => piece.to_owned(),
    };
    pieces(line).map(renamed).collect()
}

/// The path inside the facade of the item that a line of `api.txt` declares, if it is one of a module.
fn exported(line: &str) -> Option<&str> {
    let path = match line.strip_prefix("use ") {
        Some(reexport) => reexport.split_once(" as ")?.1,
        None if line.starts_with("impl") || line.starts_with("variant ") => return None,
        None => pieces(line).find(|piece| piece.starts_with("typeloom::"))?,
    };
    path.strip_prefix("typeloom::")
}

/// The names of each module, as `api.txt` lists them.
fn names_by_module(recorded: &str) -> BTreeMap<&str, BTreeSet<&str>> {
    let mut names: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (module, name) in recorded.lines().filter_map(exported).filter_map(|path| path.rsplit_once("::")) {
        let is_member = module.rsplit("::").next().is_some_and(|last| last.starts_with(char::is_uppercase));
        if !is_member && !TABLES.contains(&module) {
            names.entry(module).or_default().insert(name);
        }
    }
    names
}

#[test]
fn the_facade_stays_small() {
    let reexports = include_str!("../src/published/names.rs").lines();
    let reexports = reexports.filter(|line| !line.contains("///") && !line.starts_with("pub type"));
    let published: BTreeSet<&str> = reexports.flat_map(pieces).flat_map(|path| path.split("::")).collect();
    let names = names_by_module(include_str!("../api.txt"));
    let mut in_tasks = 0;
    for (module, names) in &names {
        let counted: Vec<_> = names.iter().filter(|name| !published.contains(**name)).collect();
        if !module.contains("::") {
            in_tasks += counted.len();
        }
        let bound = MAX_NAMES.iter().find(|(bounded, _)| bounded == module).map(|(_, bound)| *bound);
        assert!(
            bound.is_some_and(|bound| counted.len() <= bound),
            "typeloom::{module} has {} names, the bound is {bound:?}: {counted:?}",
            counted.len()
        );
    }
    assert!(in_tasks <= MAX_TASK_NAMES, "the tasks have {in_tasks} names, the bound is {MAX_TASK_NAMES}");
}

#[test]
fn the_index_shows_the_modules_only() {
    let published: Vec<_> = include_str!("../src/published/names.rs").lines().collect();
    let is_shown = |pair: &&[&str]| pair[1].starts_with("pub ") && pair[0] != "#[doc(hidden)]";
    let shown: Vec<_> = published.windows(2).filter(is_shown).collect();
    assert!(shown.is_empty(), "the index of the documentation shows {shown:?}");
}

#[test]
fn the_public_api_is_the_recorded_one() -> Result<(), Box<dyn std::error::Error>> {
    let bless = is_set("TYPELOOM_BLESS");
    if !(bless || is_set("TYPELOOM_API")) {
        eprintln!("skipped: TYPELOOM_API=1 compares the public API with api.txt");
        return Ok(());
    }
    let folder = json_folder()?;
    let found = api(&folder)?;
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/api.txt");
    if bless {
        return Ok(std::fs::write(file, found)?);
    }
    let recorded = std::fs::read_to_string(file)?;
    let removed = recorded.lines().filter(|line| !found.lines().any(|other| other == *line));
    let added = found.lines().filter(|line| !recorded.lines().any(|other| other == *line));
    let diff: Vec<String> =
        removed.map(|line| format!("- {line}")).chain(added.map(|line| format!("+ {line}"))).collect();
    assert!(
        diff.is_empty(),
        "the public API differs from api.txt; TYPELOOM_BLESS=1 cargo test -p typeloom --test api records it:\n{}",
        diff.join("\n")
    );
    Ok(())
}
