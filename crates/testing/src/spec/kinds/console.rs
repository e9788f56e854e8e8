//! `console`: whole commands with their output and exit code.
//!
//! ```text
//! $ typeloom check models/baked_length.onnx
//! error[forced-symbol]: ...
//! ...
//! ? 1
//! ```
//!
//! A command runs in the repository, without a terminal and without colours. It is `typeloom` with words, in
//! quotes where they have blanks, and `< FILE` for standard input. What it prints to standard error follows
//! the text that it prints to standard output. Without `?`, the exit code is 0. In the output, `...` matches
//! any text of a line, and alone on a line any lines. Each fence has a registry of its own, which is empty at
//! first; a fence `console continued` has the registry that the fence of commands before it leaves.

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::spec::document::Malformed;
use crate::spec::kinds::{Context, Kind};
use crate::spec::pattern::lines_match;

/// A command as written.
struct Session<'t> {
    /// Its line in the fence, from 0.
    line: usize,
    /// The text after the `$`.
    command: &'t str,
    output: Vec<&'t str>,
    exit: Option<i32>,
}

pub(crate) fn truth(cx: &Context<'_>) -> Result<String, Malformed> {
    let mut text = String::new();
    let registry = tempfile::tempdir();
    let registry =
        registry.map_err(|error| cx.malformed(0, format!("there is no temporary folder: {error}")))?;
    for fence in before(cx)? {
        for Session { line, command, .. } in sessions(&fence)? {
            run(&fence, line, command, registry.path())?;
        }
    }
    for session in sessions(cx)? {
        let Session { line, command, output, exit } = &session;
        let (printed, code) = run(cx, *line, command, registry.path())?;
        let found: Vec<&str> = printed.lines().collect();
        let shown = if lines_match(output, &found) { output } else { &found };
        text.push_str(&format!("$ {command}\n"));
        for line in shown {
            text.push_str(line);
            text.push('\n');
        }
        if code != 0 || exit.is_some() {
            text.push_str(&format!("? {code}\n"));
        }
    }
    Ok(text)
}

/// The fences whose commands a fence continues, in their order.
fn before<'a>(cx: &Context<'a>) -> Result<Vec<Context<'a>>, Malformed> {
    let mut found = Vec::new();
    let mut is_continued = matches!(cx.fence().kind, Kind::Console { continued: true });
    let mut earlier = (0..cx.index).rev().map(|index| Context { index, ..*cx });
    while is_continued {
        let Some(fence) = earlier.find(|fence| matches!(fence.fence().kind, Kind::Console { .. })) else {
            return Err(cx.malformed(0, "there are no commands to continue"));
        };
        is_continued = matches!(fence.fence().kind, Kind::Console { continued: true });
        found.push(fence);
    }
    found.reverse();
    Ok(found)
}

fn sessions<'t>(cx: &Context<'t>) -> Result<Vec<Session<'t>>, Malformed> {
    let mut sessions: Vec<Session<'t>> = Vec::new();
    for (line, text) in cx.fence().text.lines().enumerate() {
        if let Some(command) = text.strip_prefix("$ ") {
            sessions.push(Session { line, command, output: Vec::new(), exit: None });
            continue;
        }
        let Some(session) = sessions.last_mut() else {
            return Err(cx.malformed(line, "a command starts with `$ typeloom`"));
        };
        match text.strip_prefix("? ") {
            Some(code) => {
                let code =
                    code.parse().map_err(|_| cx.malformed(line, format!("`{code}` is no exit code")))?;
                session.exit = Some(code);
            }
            None => session.output.push(text),
        }
    }
    match sessions.is_empty() {
        true => Err(cx.malformed(0, "there is no command")),
        false => Ok(sessions),
    }
}

/// Runs a command. Returns its output and exit code.
fn run(cx: &Context<'_>, line: usize, command: &str, registry: &Path) -> Result<(String, i32), Malformed> {
    let mut words = shlex::split(command).ok_or_else(|| cx.malformed(line, "a quote is not closed"))?;
    let mut input = Stdio::null();
    if let Some(at) = words.iter().position(|word| word == "<") {
        let [_, file] = &words[at..] else {
            return Err(cx.malformed(line, "`<` and one file end a command with input"));
        };
        let file = File::open(cx.suite.repository.join(file));
        input = file.map_err(|error| cx.malformed(line, format!("cannot open the input: {error}")))?.into();
        words.truncate(at);
    }
    let ["typeloom", arguments @ ..] = &words.iter().map(String::as_str).collect::<Vec<&str>>()[..] else {
        return Err(cx.malformed(line, "only `typeloom` can be run"));
    };
    let output = Command::new(&cx.suite.command)
        .args(arguments)
        .current_dir(&cx.suite.repository)
        .stdin(input)
        .env("NO_COLOR", "1")
        .env("TYPELOOM_REGISTRY", registry)
        .env_remove("CLICOLOR_FORCE")
        .env_remove("COLUMNS")
        .output()
        .map_err(|error| cx.malformed(line, format!("cannot run the command: {error}")))?;
    let code = output.status.code().ok_or_else(|| cx.malformed(line, "the command was ended by a signal"))?;
    let texts = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    Ok((texts.concat(), code))
}
