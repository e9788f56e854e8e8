//! The language of comments, documents, messages and names: the words that `CONTRIBUTING.md` lists do not
//! occur, names follow its rules, and documentation starts with a noun phrase or a verb.

#[expect(dead_code, reason = "each test of the repository uses a part of the module")]
#[path = "repository/files.rs"]
mod repository;

use std::path::{Path, PathBuf};

use regex::Regex;
use repository::{files, none, read, root, rust_files, shown};

/// Terms of the field that contain a word to avoid.
const TERMS: &[&str] = &["page fault", "Fault injection", "fault injection"];

/// First words of documentation that make a clause instead of a noun phrase.
const CLAUSES: &str = r"^(What|Where|Who|Whom|Whose|Which|Why|How an?|How the|How it)\b";

/// Declarations with names to avoid.
const NAMES: &str = r"\b(struct|enum|trait|type) (Place|Trouble|Copy)\b|\bMOST_[A-Z]";

/// The words in the first column of the table in the section "Language".
fn avoided() -> Regex {
    let text = read(&root().join("CONTRIBUTING.md"));
    let (_, section) = text.split_once("## Language").expect("CONTRIBUTING.md has a section about language");
    let cells =
        section.lines().filter_map(|line| line.strip_prefix("| `")?.split_once(" |").map(|(cell, _)| cell));
    let words: Vec<_> = cells
        .flat_map(|cell| cell.split(','))
        .map(|word| regex::escape(word.trim().trim_matches('`')))
        .collect();
    assert!(words.len() > 20, "only {} words to avoid", words.len());
    Regex::new(&format!(r"(?i)\b({})\b", words.join("|"))).expect("escaped words are a pattern")
}

/// Lines of prose with their numbers, code in backticks and fences removed.
fn prose<'t>(lines: impl Iterator<Item = (usize, &'t str)>) -> Vec<(usize, String)> {
    let mut is_code = false;
    let mut found = Vec::new();
    for (number, line) in lines {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        if !is_code && !is_fence {
            let mut text = line.split('`').step_by(2).collect::<Vec<_>>().join("`");
            for term in TERMS {
                text = text.replace(term, "");
            }
            found.push((number, text));
        }
    }
    found
}

/// The text of each comment line of a source, with its line number.
fn comments(source: &str) -> impl Iterator<Item = (usize, &str)> {
    source.lines().enumerate().filter_map(|(at, line)| {
        let comment = line.trim_start().strip_prefix("//")?;
        Some((at + 1, comment.trim_start_matches(['/', '!']).trim_start()))
    })
}

/// The string literals of at least three words on a line of code, with code in backticks removed.
fn literals(line: &str) -> Vec<String> {
    if !line.contains('"') {
        return Vec::new();
    }
    let line = line.replace("\\\"", "'");
    let literals = line.split('"').skip(1).step_by(2);
    literals
        .filter(|text| text.split_whitespace().count() > 2)
        .map(|text| text.split('`').step_by(2).collect::<Vec<_>>().join("`"))
        .collect()
}

fn documents() -> Vec<PathBuf> {
    let mut documents: Vec<_> = ["docs", "spec", "crates", "engines", "transports", "bench", "models"]
        .iter()
        .flat_map(|folder| files(folder, "md"))
        .collect();
    documents.extend(
        ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"]
            .map(|name| root().join(name)),
    );
    documents
}

fn matches(pattern: &Regex, path: &Path, lines: Vec<(usize, String)>, found: &mut Vec<String>) {
    for (number, text) in lines {
        if let Some(word) = pattern.find(&text) {
            found.push(format!("{}:{number}: `{}` in: {}", shown(path), word.as_str(), text.trim()));
        }
    }
}

#[test]
fn avoided_words_do_not_occur() {
    let pattern = avoided();
    let mut found = Vec::new();
    for path in rust_files() {
        matches(&pattern, &path, prose(comments(&read(&path))), &mut found);
    }
    for path in documents() {
        let text = read(&path);
        matches(
            &pattern,
            &path,
            prose(text.lines().enumerate().map(|(at, line)| (at + 1, line))),
            &mut found,
        );
    }
    none("words to avoid", &found);
}

/// The first word of a text that occurs twice in a row.
fn repeated(text: &str) -> Option<&str> {
    let words: Vec<&str> = text.split(' ').collect();
    let mut pairs = words.windows(2).map(|pair| (pair[0], pair[1].trim_end_matches(['.', ',', ';', ':'])));
    let is_word = |word: &str| word.len() > 1 && word.chars().all(char::is_alphabetic);
    pairs.find(|(a, b)| is_word(a) && a.eq_ignore_ascii_case(b)).map(|(word, _)| word)
}

#[test]
fn no_word_is_repeated() {
    let mut found = Vec::new();
    let mut check = |path: &Path, lines: Vec<(usize, String)>| {
        for (number, text) in lines {
            if let Some(word) = repeated(&text) {
                found.push(format!("{}:{number}: `{word}` in: {}", shown(path), text.trim()));
            }
        }
    };
    for path in rust_files() {
        check(&path, prose(comments(&read(&path))));
    }
    for path in documents() {
        check(&path, prose(read(&path).lines().enumerate().map(|(at, line)| (at + 1, line))));
    }
    none("repeated words", &found);
    assert_eq!(repeated("it is is"), Some("is"));
    assert_eq!(repeated("A a b"), None);
}

#[test]
fn messages_and_names_of_functions_have_no_avoided_words() {
    // `{what}` is a value in a message.
    let (pattern, clause) = (avoided(), Regex::new(r"(^|[^{])\b(what|who)\b").expect("a pattern"));
    let function = Regex::new(r"\bfn ([a-z0-9_]+)").expect("a pattern");
    let mut found = Vec::new();
    for path in rust_files() {
        let source = read(&path);
        let mut texts = Vec::new();
        for (at, line) in source.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//"))
        {
            let name = line.contains("fn ").then(|| function.captures(line)).flatten();
            let name = name.map(|name| name[1].replace('_', " "));
            texts.extend(literals(line).into_iter().chain(name).map(|text| (at + 1, text)));
        }
        matches(&clause, &path, texts.clone(), &mut found);
        matches(&pattern, &path, texts, &mut found);
    }
    none("words to avoid in messages and names", &found);
}

#[test]
fn documentation_does_not_start_with_a_clause() {
    let pattern = Regex::new(CLAUSES).expect("a pattern");
    let mut found = Vec::new();
    for path in rust_files() {
        let source = read(&path);
        let mut is_first = true;
        for (at, line) in source.lines().enumerate() {
            let line = line.trim_start();
            let text = line.strip_prefix("///").or_else(|| line.strip_prefix("//!")).map(str::trim_start);
            let is_question =
                |text: &str| text.split_inclusive(['.', '?']).next().is_some_and(|it| it.ends_with('?'));
            if let Some(text) = text.filter(|text| is_first && !is_question(text) && pattern.is_match(text)) {
                found.push(format!("{}:{}: {text}", shown(&path), at + 1));
            }
            is_first = text.is_none_or(str::is_empty);
        }
    }
    none("documentation that starts with a clause", &found);
}

#[test]
fn names_follow_the_rules() {
    let pattern = Regex::new(NAMES).expect("a pattern");
    let mut found = Vec::new();
    for path in rust_files() {
        for (at, line) in read(&path).lines().enumerate() {
            if pattern.is_match(line) && !line.trim_start().starts_with("const NAMES") {
                found.push(format!("{}:{}: {}", shown(&path), at + 1, line.trim()));
            }
        }
    }
    none("names to avoid", &found);
}

#[test]
fn code_is_not_prose() {
    let text = "a `room` here\n```\nrooms\n```\nbeside";
    let lines = prose(text.lines().enumerate().map(|(at, line)| (at + 1, line)));
    let words: Vec<_> =
        lines.iter().filter(|(_, text)| avoided().is_match(text)).map(|(at, _)| *at).collect();
    assert_eq!(words, [5]);
}

#[test]
fn literals_are_texts_of_several_words() {
    assert_eq!(literals(r#"f("one two", "a `room` for \"it\" here")"#), ["a ` for 'it' here"]);
}
