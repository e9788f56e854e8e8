//! Repository checks: size of sources, reasons for lint exceptions, no markers of unfinished work, valid
//! links.

#[expect(dead_code, reason = "each test of the repository uses a part of the module")]
#[path = "repository/files.rs"]
mod repository;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use repository::source::{attributes, code_of};
use repository::{files, none, read, root, rust_files, shown};

/// Maximum number of lines of a source file.
const MAX_LINES: usize = 800;

/// Macros that mark unfinished work.
const MARKS: &[&str] = &["todo!", "unimplemented!", "dbg!"];

#[test]
fn sources_are_of_a_size_to_read() {
    let long = rust_files().into_iter().filter(|path| read(path).lines().count() > MAX_LINES);
    none("sources of more than 800 lines", &long.map(|path| shown(&path)).collect::<Vec<_>>());
}

#[test]
fn every_lint_exception_has_a_reason() {
    let mut found = Vec::new();
    for path in rust_files() {
        for (line, attribute) in attributes(&code_of(&read(&path))) {
            let silences = attribute
                .split(|letter: char| !(letter.is_alphanumeric() || "_(".contains(letter)))
                .any(|word| word.starts_with("allow(") || word.starts_with("expect("));
            if silences && !attribute.contains("reason") {
                found.push(format!("{}:{line}", shown(&path)));
            }
        }
    }
    none("lints silenced without a reason", &found);
}

/// The longest line of prose, in characters.
const MAX_PROSE: usize = 140;

#[test]
fn lines_of_documents_fit_on_a_screen() {
    let mut found = Vec::new();
    for path in files("", "md") {
        let mut is_code = false;
        for (at, line) in read(&path).lines().enumerate() {
            let start = line.trim_start();
            is_code ^= start.starts_with("```");
            // Tables, recorded output, pictures, and lines of one code span have no place to break them.
            let is_span = start.starts_with('`') && start.ends_with('`') && start.matches('`').count() == 2;
            let is_whole = is_span || ["|", "!["].iter().any(|mark| start.starts_with(mark));
            let is_prose = !is_code && !is_whole && !line.starts_with("    ");
            if is_prose && line.chars().count() > MAX_PROSE {
                found.push(format!("{}:{}", shown(&path), at + 1));
            }
        }
    }
    none("lines of documents of more than 140 characters", &found);
}

#[test]
fn first_pages_are_short() {
    // Words as `wc -w` counts them, with those of code and tables.
    let words = read(&root().join("README.md")).split_whitespace().count();
    assert!(words <= 700, "`README.md` has {words} words, more than 700");
    let lines = read(&root().join("docs/speed.md")).lines().count();
    assert!(lines <= 120, "`docs/speed.md` has {lines} lines, more than 120");
}

#[test]
fn figures_of_speed_are_recorded() {
    let results: String = files("bench/results", "md").iter().map(|path| read(path)).collect();
    let page = read(&root().join("docs/speed.md"));
    let is_figure = |word: &&str| word.replace([',', '.'], "").parse::<u64>().is_ok();
    let words = page.lines().filter(|line| line.starts_with('|')).flat_map(str::split_whitespace);
    let figures: Vec<&str> = words.map(|word| word.trim_end_matches(',')).filter(is_figure).collect();
    assert!(figures.len() > 40, "only {} figures were read", figures.len());
    let separates = |letter: char| letter.is_whitespace() || matches!(letter, '|' | ';' | '(' | ')');
    let recorded: BTreeSet<&str> =
        results.split(separates).map(|word| word.trim_end_matches([',', '.', ':'])).collect();
    let unknown = figures.iter().filter(|figure| !recorded.contains(**figure));
    none(
        "figures of `docs/speed.md` that no recorded result has",
        &unknown.map(|it| (*it).to_owned()).collect::<Vec<_>>(),
    );
}

/// Maximum number of lines of a page for one situation.
const MAX_HOW_TO: usize = 100;

/// Pages with more lines begin with a section that shows the most frequent use.
const MAX_WITHOUT_SUMMARY: usize = 150;

/// The title of that section, and the lines in which it begins.
const SUMMARY: (&str, usize) = ("## In short", 25);

#[test]
fn pages_begin_with_the_most_frequent_use() {
    let pages = files("docs", "md").into_iter().map(|path| (shown(&path), read(&path)));
    let pages: Vec<(String, String)> = pages.filter(|(name, _)| !name.contains("decisions/")).collect();
    let is_how_to = |name: &str| name.starts_with("docs/how-to/");
    assert_eq!(pages.iter().filter(|(name, _)| is_how_to(name)).count(), 7, "a page for each situation");
    let long = pages.iter().filter(|(name, text)| is_how_to(name) && text.lines().count() > MAX_HOW_TO);
    none(
        "pages for one situation of more than 100 lines",
        &long.map(|(name, _)| name.clone()).collect::<Vec<_>>(),
    );
    let bare = pages.iter().filter(|(_, text)| {
        text.lines().count() > MAX_WITHOUT_SUMMARY
            && !text.lines().take(SUMMARY.1).any(|line| line == SUMMARY.0)
    });
    none("long pages without a section `In short`", &bare.map(|(name, _)| name.clone()).collect::<Vec<_>>());
}

/// The files that may contain `unsafe`: see the invariants in `ARCHITECTURE.md`.
const UNSAFE: &[&str] = &[
    "crates/io/src/files.rs",
    "crates/ffi/src/abi.rs",
    "crates/python/src/array.rs",
    "crates/view/src/engine/wasm.rs",
];

#[test]
fn unsafe_code_is_confined_and_explained() {
    let is_unsafe = |line: &str| {
        line.split(|letter: char| !(letter.is_alphanumeric() || letter == '_')).any(|word| word == "unsafe")
    };
    let mut found = Vec::new();
    // The crates in `pair` are data of a comparison and are not compiled with the workspace.
    let is_ours =
        |path: &PathBuf| shown(path).starts_with("crates/") && !shown(path).contains("/tests/pair/");
    for path in rust_files().into_iter().filter(is_ours) {
        let text = read(&path);
        let code = code_of(&text);
        if !code.lines().any(is_unsafe) {
            continue;
        }
        if !UNSAFE.contains(&shown(&path).as_str()) {
            found.push(shown(&path));
            continue;
        }
        let blocks = code.matches("unsafe {").count() + code.matches("unsafe impl").count();
        let reasons = text.matches("// SAFETY:").count();
        if blocks != reasons {
            found.push(format!("{}: {blocks} blocks, {reasons} reasons", shown(&path)));
        }
    }
    none("unsafe code outside its files, or without a reason", &found);
    let architecture = read(&root().join("ARCHITECTURE.md"));
    let missing = UNSAFE.iter().filter(|file| !architecture.contains(&format!("`{file}`")));
    let missing: Vec<String> = missing.map(|file| (*file).to_owned()).collect();
    none("files with unsafe code that `ARCHITECTURE.md` does not list", &missing);
}

/// The files that may write the long name of ONNX's own domain: the module that compares domains, and the
/// published operator set of the primitives.
const LONG_DOMAIN: &[&str] = &["crates/onnx/src/domain.rs", "crates/types/src/op/primitives.rs"];

#[test]
fn one_module_knows_both_names_of_the_domain_of_onnx() {
    let mut found = Vec::new();
    for path in rust_files() {
        let name = shown(&path);
        let is_product = name.contains("/src/") && !name.contains("tests") && !name.starts_with("tools/");
        if !is_product || LONG_DOMAIN.contains(&name.as_str()) {
            continue;
        }
        let text = read(&path);
        let code = text.split_once("#[cfg(test)]\nmod tests {").map_or(text.as_str(), |(code, _)| code);
        let lines = code.lines().enumerate();
        let literals = lines.filter(|(_, line)| {
            !line.trim_start().starts_with("//") && line.contains(concat!("\"ai", ".onnx\""))
        });
        found.extend(literals.map(|(at, _)| format!("{name}:{}", at + 1)));
    }
    none("uses of the long name outside of `typeloom_onnx::domain`", &found);
}

/// The crates that work on programs.
const OF_PROGRAMS: &[&str] = &["crates/module/", "crates/compiler/", "crates/runtime/"];

/// The files of these crates that use keys of metadata or messages of types, with the reasons.
const AT_THE_ENDS: &[(&str, &str)] = &[
    ("crates/module/src/operators.rs", "its relations read metadata from the bytes that the solver gets"),
    (
        "crates/compiler/src/program_operators.rs",
        "its rules read metadata from the bytes that the solver gets",
    ),
    ("crates/module/src/graph.rs", "authors declare types as messages"),
    ("crates/module/src/graph/operators", "attributes of ONNX's operators are types"),
    ("crates/runtime/src/engine/", "engines get models and tensors as messages"),
];

#[test]
fn programs_are_messages_at_the_ends_only() {
    let (mut found, mut unused) = (Vec::new(), Vec::from(AT_THE_ENDS));
    for path in rust_files() {
        let name = shown(&path);
        if !OF_PROGRAMS.iter().any(|folder| name.starts_with(folder)) || !name.contains("/src/") {
            continue;
        }
        let text = read(&path);
        let code = text.split_once("#[cfg(test)]\nmod tests {").map_or(text.as_str(), |(code, _)| code);
        for (at, line) in code.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//")) {
            let is_domain = ["\"ai.bytesandbrains.", "\"ai.onnx"].iter().any(|domain| line.contains(domain));
            let is_at_an_end = ["keys::", "TypeProto"].iter().any(|word| line.contains(word));
            let exception = AT_THE_ENDS.iter().find(|(file, _)| name.starts_with(file));
            if is_at_an_end && let Some((file, _)) = exception {
                unused.retain(|(known, _)| known != file);
            } else if is_domain || is_at_an_end {
                found.push(format!("{name}:{}", at + 1));
            }
        }
    }
    found.extend(unused.iter().map(|(file, _)| format!("{file}: remove the exception")));
    none("keys of metadata, messages of types and names of domains", &found);
}

/// The manifests of the main workspace.
fn manifests() -> impl Iterator<Item = PathBuf> {
    let manifests = ["crates", "fuzz/targets"].into_iter().flat_map(|folder| files(folder, "toml"));
    manifests.filter(|path| path.ends_with("Cargo.toml"))
}

#[test]
fn every_file_of_tests_is_compiled() {
    let mut found = Vec::new();
    for manifest in manifests() {
        let manifest_text = read(&manifest);
        let tests = manifest.with_file_name("tests");
        if !manifest_text.contains("autotests = false") || !tests.is_dir() {
            continue;
        }
        let main = ["it.rs", "main.rs", "it/main.rs"]
            .map(|name| tests.join(name))
            .into_iter()
            .find(|path| path.is_file());
        let main = main.map(|path| read(&path)).unwrap_or_default();
        let sources = files(&shown(&tests), "rs");
        for path in sources.iter().filter(|path| path.parent() == Some(&tests)) {
            let stem = path.file_stem().unwrap_or_default().to_string_lossy();
            let is_module = main.lines().any(|line| line == format!("mod {stem};"));
            let is_named =
                ["name = \"STEM\"", "path = \"tests/STEM.rs\""].map(|line| line.replace("STEM", &stem));
            if !is_module && !is_named.iter().any(|line| manifest_text.contains(line.as_str())) {
                found.push(shown(path));
            }
        }
    }
    none("files of tests that are neither in `tests/it.rs` nor in the manifest", &found);
}

#[test]
fn every_test_of_a_library_is_executed() {
    let mut found = Vec::new();
    for manifest in manifests() {
        let manifest_text = read(&manifest);
        let library = manifest_text.split_once("\n[lib]\n").map_or("", |(_, rest)| rest);
        let library = library.split("\n[").next().unwrap_or_default();
        let has = |line: &str| library.lines().any(|other| other == line);
        for path in files(&shown(&manifest.with_file_name("src")), "rs") {
            let text = read(&path);
            let has_test = text.contains("#[test]") || text.contains("proptest!");
            // A block that is marked as text is no example.
            let fences = text.lines().filter_map(|line| {
                let line = line.trim_start();
                line.strip_prefix("//! ```").or_else(|| line.strip_prefix("/// ```"))
            });
            let has_example = fences.step_by(2).any(|language| language != "text");
            if (has("test = false") && has_test) || (has("doctest = false") && has_example) {
                found.push(shown(&path));
            }
        }
    }
    none("tests and examples in libraries whose manifest has `test = false` or `doctest = false`", &found);
}

#[test]
fn nothing_is_left_unfinished() {
    let mut found = Vec::new();
    for path in rust_files() {
        let code = code_of(&read(&path));
        found.extend(
            MARKS.iter().filter(|mark| code.contains(**mark)).map(|mark| format!("{}: {mark}", shown(&path))),
        );
    }
    none("marks of unfinished work", &found);
}

#[test]
fn every_crate_has_a_description() {
    let roots =
        rust_files().into_iter().filter(|path| path.ends_with("src/lib.rs") || path.ends_with("src/main.rs"));
    let silent = roots.filter(|path| !read(path).starts_with("//! "));
    none("crates without a module doc", &silent.map(|path| shown(&path)).collect::<Vec<_>>());
}

/// Documents whose links are checked: those next to the workspace's manifest, and those in `docs/`, `crates/`
/// and `bench/`.
fn documents() -> Vec<PathBuf> {
    let beside = std::fs::read_dir(root()).expect("the repository can be read");
    let mut documents: Vec<_> = beside.map(|entry| entry.expect("a file of the repository").path()).collect();
    documents.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    documents.extend(["docs", "crates", "bench"].iter().flat_map(|folder| files(folder, "md")));
    documents.sort();
    documents
}

/// Returns the link targets in a document, without those in code.
fn links(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut fenced = false;
    for line in text.lines() {
        fenced ^= line.trim_start().starts_with("```");
        if fenced {
            continue;
        }
        // A link is outside code if an even number of backticks precedes it, which includes links with code
        // as text.
        let targets =
            line.match_indices("](").filter(|(at, _)| line[..*at].matches('`').count().is_multiple_of(2));
        found.extend(targets.filter_map(|(at, _)| line[at + 2..].split([')', ' ']).next()));
        let definition = line.strip_prefix('[').and_then(|line| line.split_once("]: "));
        found.extend(definition.and_then(|(_, target)| target.split_whitespace().next()));
    }
    found
}

#[test]
fn links_are_found_and_code_is_none() {
    let text = "[a](b.md) [`c`](d/e.md#f \"title\") `[g](h)`\n```\n[i](j)\n```\n[k]: l.md\n![m](n.png)";
    assert_eq!(links(text), ["b.md", "d/e.md#f", "l.md", "n.png"]);
}

#[test]
fn links_of_documents_lead_somewhere() {
    let documents = documents();
    for needed in ["ARCHITECTURE.md", "CONTRIBUTING.md"] {
        assert!(documents.contains(&root().join(needed)), "{needed} is missing");
    }
    let mut dead = Vec::new();
    for path in documents {
        let text = read(&path);
        for link in links(&text) {
            let outside = link.contains("://") || link.starts_with("mailto:");
            let target = link.split('#').next().unwrap_or_default();
            let folder = path.parent().unwrap_or(Path::new(""));
            if !outside && !target.is_empty() && !folder.join(target).exists() {
                dead.push(format!("{}: {link}", shown(&path)));
            }
        }
    }
    none("links to nothing", &dead);
}
