//! A crate depends only on crates above it in the code map of `ARCHITECTURE.md`, and a module of the solver
//! only on modules above it in the documentation of the solver.

#[expect(dead_code, reason = "each test of the repository uses a part of the module")]
#[path = "repository/files.rs"]
mod repository;

use std::sync::OnceLock;

use repository::manifest::{self, Manifest};
use repository::{files, none, read, root, shown, source};

/// The crates from the bottom up: the rows of the code map in `ARCHITECTURE.md`.
fn code_map() -> &'static [String] {
    static ROWS: OnceLock<Vec<String>> = OnceLock::new();
    ROWS.get_or_init(|| {
        let text = read(&root().join("ARCHITECTURE.md"));
        let rows = text.lines().filter_map(|line| line.strip_prefix("| `crates/")?.split_once('`'));
        rows.map(|(folder, _)| folder.to_owned()).collect()
    })
}

/// The crates that may depend on [`OF_FACES`].
const FACES: &[&str] = &["cli", "io", "python"];

/// Crates for terminals, files, networks and clocks.
const OF_FACES: &[&str] =
    &["anstream", "anyhow", "clap", "env_logger", "indicatif", "memmap2", "reqwest", "tokio", "ureq"];

/// The crates that a face imports: the facade, the check of a file, and the command, which the Python package
/// contains.
const OF_A_FACE: &[&str] = &["cli", "project", "typeloom"];

/// Items of the standard library that perform input or output.
const OUTSIDE: &[&str] = &[
    "std::fs",
    "std::env",
    "std::net",
    "process::Command",
    "process::exit",
    "std::time",
    "io::std",
    "File::",
];

/// The position of a crate in the code map.
fn position(folder: &str) -> Option<usize> {
    code_map().iter().position(|row| row == folder)
}

/// Whether a crate is below the facade and must not perform input or output.
fn is_core(folder: &str) -> bool {
    position(folder) < position("typeloom")
}

/// Workspace crates that a crate depends on, by folder.
fn inner<'m>(manifest: &'m Manifest, all: &'m [Manifest]) -> impl Iterator<Item = &'m str> {
    let named = |package: &String| all.iter().find(|other| other.package == *package);
    manifest.dependencies.iter().filter_map(named).map(|other| other.folder.as_str())
}

/// The modules of a crate from the bottom up: the rows of the table in its documentation, each with the paths
/// of its modules.
fn module_rows(text: &str) -> Vec<Vec<String>> {
    let rows = text.lines().filter_map(|line| line.strip_prefix("//! | ")?.split_once(" | "));
    let rows = rows.filter(|(modules, _)| modules.contains('`'));
    rows.map(|(modules, _)| {
        modules.split(", ").map(|name| name.trim_matches(['[', '`', ']']).to_owned()).collect()
    })
    .collect()
}

/// The row of the longest listed module that contains the item at `path`.
fn row_of(path: &str, rows: &[Vec<String>]) -> Option<usize> {
    let is_in = |module: &str| {
        path.strip_prefix(module).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
    };
    let length = |row: &Vec<String>| row.iter().filter(|it| is_in(it)).map(String::len).max();
    rows.iter().enumerate().filter_map(|(at, row)| Some((length(row)?, at))).max().map(|(_, at)| at)
}

/// The paths of the code that start with `crate` or `super`, from the root of the crate. A list in braces
/// gives one path for each of its items.
fn inner_paths(code: &str, module: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (keyword, mut base) in [("crate::", Vec::new()), ("super::", module.split("::").collect())] {
        base.pop();
        for (at, _) in code.match_indices(keyword) {
            let before = code[..at].chars().next_back();
            if before.is_some_and(|c| c.is_alphanumeric() || "_:$".contains(c)) {
                continue;
            }
            expand(&base, &code[at + keyword.len()..], &mut found);
        }
    }
    found
}

/// Adds the paths of the items that a path with lists in braces names.
fn expand(base: &[&str], text: &str, found: &mut Vec<String>) {
    let mut lists = vec![base.to_vec()];
    let mut path = base.to_vec();
    // Whether `path` has a name after the start of its list.
    let mut is_named = false;
    let mut rest = text.trim_start();
    loop {
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        let (name, after) = rest.split_at(end.max(1).min(rest.len()));
        match name {
            "::" | ":" => {}
            "super" => drop(path.pop()),
            "{" => {
                lists.push(path.clone());
                is_named = false;
            }
            "," | "}" if lists.len() > 1 => {
                found.extend(is_named.then(|| path.join("::")));
                if name == "}" {
                    lists.pop();
                }
                path.clone_from(&lists[lists.len() - 1]);
                is_named = false;
            }
            _ if end > 0 => {
                path.push(name);
                is_named = true;
            }
            _ => break,
        }
        rest = if lists.len() > 1 { after.trim_start() } else { after };
        if lists.len() == 1 && (name == "}" || end > 0 && !rest.starts_with("::")) {
            break;
        }
    }
    found.extend(is_named.then(|| path.join("::")));
}

#[test]
fn modules_of_the_solver_follow_their_layers() {
    let rows = module_rows(&read(&root().join("crates/solver/src/lib.rs")));
    assert!(rows.len() > 10, "the table of modules was not read");
    let mut uses = 0;
    let mut odd = Vec::new();
    for path in files("crates/solver/src", "rs") {
        let name = shown(&path);
        let Some(module) = name.strip_prefix("crates/solver/src/").and_then(|it| it.strip_suffix(".rs"))
        else {
            continue;
        };
        if module == "lib" || module.ends_with("tests") {
            continue;
        }
        let module = module.replace('/', "::");
        let Some(own) = row_of(&module, &rows) else {
            odd.push(format!("{module} is in no row"));
            continue;
        };
        let code = source::code_of(&read(&path));
        let code = code.split_once("#[cfg(test)]\nmod ").map_or(code.as_str(), |(code, _)| code);
        for used in inner_paths(code, &module) {
            uses += 1;
            if row_of(&used, &rows).is_some_and(|row| row > own) {
                odd.push(format!("{module} -> {used}"));
            }
        }
    }
    assert!(uses > 1000, "only {uses} paths were read");
    none("uses of upper layers in the solver", &odd);
}

#[test]
fn paths_are_read_with_their_lists() {
    let code = "use crate::a::{B, c::{self, D}, e};\nuse super::f::G;\nlet x = crate::h::i(super::super::J);";
    assert_eq!(
        inner_paths(code, "k::l::m"),
        ["a::B", "a::c::self", "a::c::D", "a::e", "h::i", "k::l::f::G", "k::J"]
    );
}

#[test]
fn the_code_map_lists_every_crate() {
    let missing = manifest::all().into_iter().filter(|manifest| position(&manifest.folder).is_none());
    none("crates missing from the code map", &missing.map(|manifest| manifest.folder).collect::<Vec<_>>());
}

#[test]
fn packages_are_named_after_their_folders() {
    let odd = manifest::all().into_iter().filter(|Manifest { folder, package, .. }| {
        folder != package && *package != format!("typeloom-{folder}")
    });
    none("packages", &odd.map(|manifest| manifest.package).collect::<Vec<_>>());
}

#[test]
fn dependencies_follow_the_code_map() {
    let all = manifest::all();
    let mut edges = 0;
    let mut upward = Vec::new();
    for manifest in &all {
        for below in inner(manifest, &all) {
            edges += 1;
            if position(below) >= position(&manifest.folder) {
                upward.push(format!("{} -> {below}", manifest.folder));
            }
        }
    }
    assert!(edges > 0, "no dependency between crates was read");
    none("dependencies against the order of the code map", &upward);
}

#[test]
fn the_checker_is_the_six_crates_that_the_code_map_names() {
    let all = manifest::all();
    let mut linked = vec!["ops"];
    let mut at = 0;
    while let Some(folder) = linked.get(at).copied() {
        let manifest = all.iter().find(|manifest| manifest.folder == folder).expect("the crate exists");
        for below in inner(manifest, &all) {
            if !linked.contains(&below) {
                linked.push(below);
            }
        }
        at += 1;
    }
    linked.sort_by_key(|folder| position(folder));
    let sentence = format!("The checker is these six crates: `{}` and `ops`.", linked[..5].join("`, `"));
    assert_eq!(linked.len(), 6, "{linked:?}");
    assert!(read(&root().join("ARCHITECTURE.md")).contains(&sentence), "`ARCHITECTURE.md`: {sentence}");
}

#[test]
fn every_dependency_has_a_reason() {
    let page = read(&root().join("docs/dependencies.md"));
    let mut missing = Vec::new();
    for manifest in manifest::all() {
        let outer = manifest.dependencies.into_iter().filter(|name| !name.starts_with("typeloom"));
        missing.extend(outer.filter(|name| !page.contains(&format!("`{name}`"))));
    }
    none("dependencies that `docs/dependencies.md` does not list", &missing);
}

#[test]
fn faces_import_the_facade_and_the_check_of_a_file() {
    let all = manifest::all();
    let mut found = Vec::new();
    for face in ["cli", "ffi", "python"] {
        let manifest = all.iter().find(|manifest| manifest.folder == face).expect("the face is a crate");
        assert!(inner(manifest, &all).any(|it| it == "project"), "{face} does not call `project`");
        let others = inner(manifest, &all).filter(|it| !OF_A_FACE.contains(it));
        found.extend(others.map(|it| format!("{face} -> {it}")));
    }
    none("imports of faces below the facade", &found);
}

#[test]
fn only_faces_need_crates_of_faces() {
    let mut found = Vec::new();
    for manifest in manifest::all().iter().filter(|manifest| !FACES.contains(&manifest.folder.as_str())) {
        let faces = manifest.dependencies.iter().filter(|name| OF_FACES.contains(&name.as_str()));
        found.extend(faces.map(|name| format!("{} -> {name}", manifest.folder)));
    }
    none("dependencies that belong to faces", &found);
}

#[test]
fn core_crates_touch_nothing_outside() {
    let mut found = Vec::new();
    for folder in manifest::all().iter().map(|manifest| manifest.folder.as_str()).filter(|it| is_core(it)) {
        for path in files(&format!("crates/{folder}/src"), "rs") {
            let of_tests = ["tests", "testing"].iter().any(|name| shown(&path).contains(name));
            let code = source::code_of(&read(&path));
            let code = code.split_once("#[cfg(test)]\nmod tests {").map_or(code.as_str(), |(code, _)| code);
            for outside in OUTSIDE.iter().filter(|outside| !of_tests && code.contains(**outside)) {
                found.push(format!("{}: {outside}", shown(&path)));
            }
        }
    }
    none("uses of the world outside in core crates", &found);
}
