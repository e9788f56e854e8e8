//! Statements in the comments of `graph` fences.
//!
//! ```text
//! y, i = TopK(x, k)       # y: float[N, 3]; i: int64[N, 3]
//! z = Add(y, i)           # error[element-type-mismatch]: `Add` needs one element type, ...
//! ```
//!
//! **Invariant:** every comment is a statement. Prose is outside of the fence, so a misspelt statement is
//! never taken for prose.

use typeloom_solver::diagnostic::{Code, Severity};

use crate::spec::pattern::line_matches;

/// The statement of a comment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Statement {
    /// Types of values: name and type.
    Types(Vec<(String, String)>),
    /// A problem: everything in front of the message, and the message.
    Problem {
        /// `error[dim-mismatch]`, or `error` if problems have no codes.
        head: String,
        /// The message, with elisions.
        message: String,
    },
}

/// A line of a fence: code, and the statement in the comment after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line<'t> {
    /// The code with the blanks after it.
    pub(crate) code: &'t str,
    pub(crate) statement: Option<Statement>,
}

/// Whether problems have codes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Codes {
    /// `error[code]: message`
    With,
    /// `error: message`
    Without,
}

/// Reads the lines of a fence.
///
/// # Errors
/// The number of the line, from 0, and the error in its comment.
pub(crate) fn read(text: &str, codes: Codes) -> Result<Vec<Line<'_>>, (usize, String)> {
    let line = |(number, line)| {
        let (code, comment) = split(line);
        let statement = comment.map(|comment| statement(comment.trim(), codes)).transpose();
        statement.map(|statement| Line { code, statement }).map_err(|message| (number, message))
    };
    text.lines().enumerate().map(line).collect()
}

/// A line split at the first `#` outside of quotes, which starts its comment.
fn split(line: &str) -> (&str, Option<&str>) {
    let mut in_quotes = false;
    let mut escaped = false;
    for (at, c) in line.char_indices() {
        match c {
            '#' if !in_quotes => return (&line[..at], Some(&line[at + 1..])),
            '"' if !escaped => in_quotes = !in_quotes,
            _ => {}
        }
        escaped = c == '\\' && !escaped;
    }
    (line, None)
}

fn statement(comment: &str, codes: Codes) -> Result<Statement, String> {
    if let Some((head, message)) = problem(comment, codes)? {
        return Ok(Statement::Problem { head: head.to_owned(), message: message.to_owned() });
    }
    let types = comment.split(';').map(|part| {
        let (name, ty) = part.split_once(": ").or_else(|| part.split_once(':'))?;
        let (name, ty) = (name.trim(), ty.trim());
        (!name.is_empty() && !ty.is_empty()).then(|| (name.to_owned(), ty.to_owned()))
    });
    let types: Option<Vec<(String, String)>> = types.collect();
    let wanted = match codes {
        Codes::With => "`# NAME: TYPE; NAME: TYPE` or `# error[CODE]: MESSAGE`",
        Codes::Without => "`# NAME: TYPE; NAME: TYPE` or `# error: MESSAGE`",
    };
    types
        .map(Statement::Types)
        .ok_or_else(|| format!("the comment `{comment}` states nothing; write {wanted}"))
}

/// The head of a problem and its message, if the comment starts as one.
fn problem(comment: &str, codes: Codes) -> Result<Option<(&str, &str)>, String> {
    let severities = [Severity::Error, Severity::Warning];
    let Some(severity) = severities.into_iter().find(|severity| {
        let behind = comment.strip_prefix(severity.name());
        behind.is_some_and(|behind| behind.starts_with(['[', ':']))
    }) else {
        return Ok(None);
    };
    let behind = &comment[severity.name().len()..];
    match codes {
        Codes::Without => Ok(behind.strip_prefix(':').map(|message| (severity.name(), message.trim()))),
        Codes::With => {
            let parts = behind.strip_prefix('[').and_then(|behind| behind.split_once("]:"));
            let (code, message) = parts.ok_or_else(|| format!("write `# {severity}[CODE]: MESSAGE`"))?;
            Code::from_name(code).ok_or_else(|| format!("there is no code `{code}`"))?;
            Ok(Some((&comment[..severity.name().len() + code.len() + 2], message.trim())))
        }
    }
}

/// The found problems, paired with those in the comments of a fence.
struct Problems {
    found: Vec<String>,
    /// The line, its statement, and the position of the found problem.
    pairs: Vec<(usize, String, usize)>,
}

impl Problems {
    /// Pairs each stated problem with a found one: by position if there are as many of both, else with the
    /// next that has the same text.
    fn pair(lines: &[Line<'_>], found: Vec<String>) -> Self {
        let problem = |(number, line): (usize, &Line<'_>)| match &line.statement {
            Some(Statement::Problem { head, message }) => Some((number, format!("{head}: {message}"))),
            Some(Statement::Types(_)) | None => None,
        };
        let stated: Vec<(usize, String)> = lines.iter().enumerate().filter_map(problem).collect();
        let as_many = stated.len() == found.len();
        let mut from = 0;
        let mut pairs = Vec::new();
        for (line, words) in stated {
            let same = (from..found.len()).find(|at| as_many || line_matches(&words, &found[*at]));
            if let Some(at) = same {
                pairs.push((line, words, at));
                from = at + 1;
            }
        }
        Self { found, pairs }
    }

    /// The found problem paired with a line.
    fn found_for(&self, line: usize) -> Option<usize> {
        self.pairs.iter().find(|(stated, ..)| *stated == line).map(|(.., at)| *at)
    }

    /// The text that a line should have: its own if it is true, else the found problem, if any.
    fn corrected(&self, line: usize) -> Option<String> {
        let (_, words, at) = self.pairs.iter().find(|(stated, ..)| *stated == line)?;
        let found = &self.found[*at];
        Some(if line_matches(words, found) { words } else { found }.clone())
    }

    /// The found problems that no line states.
    fn unstated(&self) -> Vec<String> {
        let stated = |at: &usize| self.pairs.iter().any(|(.., found)| found == at);
        (0..self.found.len()).filter(|at| !stated(at)).map(|at| self.found[at].clone()).collect()
    }
}

/// The lines of a fence with other comments, then further lines. A line that would be empty without its
/// comment is removed.
fn write(lines: &[Line<'_>], comments: Vec<Option<String>>, more: &[String]) -> String {
    let mut text = String::new();
    for (Line { code, statement }, comment) in lines.iter().zip(comments) {
        match comment {
            Some(comment) => text.push_str(&format!("{code}# {comment}\n")),
            None if statement.is_some() && code.trim().is_empty() => {}
            None => {
                text.push_str(if statement.is_some() { code.trim_end() } else { code });
                text.push('\n');
            }
        }
    }
    for comment in more {
        text.push_str(&format!("# {comment}\n"));
    }
    text
}

/// The corrected text of a fence. `ty` returns the type of a value by its name, and `check` takes the
/// position of the found problem that a line states; both take the number of the line.
///
/// # Errors
/// The first error of `ty` and of `check`.
pub(crate) fn rewrite<E>(
    lines: &[Line<'_>],
    found: Vec<String>,
    mut ty: impl FnMut(usize, &str) -> Result<String, E>,
    mut check: impl FnMut(usize, usize) -> Result<(), E>,
) -> Result<String, E> {
    let problems = Problems::pair(lines, found);
    let mut written = Vec::with_capacity(lines.len());
    for (number, Line { statement, .. }) in lines.iter().enumerate() {
        written.push(match statement {
            None => None,
            Some(Statement::Types(types)) => {
                let types = types.iter().map(|(name, _)| Ok(format!("{name}: {}", ty(number, name)?)));
                Some(types.collect::<Result<Vec<String>, E>>()?.join("; "))
            }
            Some(Statement::Problem { .. }) => {
                if let Some(at) = problems.found_for(number) {
                    check(number, at)?;
                }
                problems.corrected(number)
            }
        });
    }
    Ok(write(lines, written, &problems.unstated()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(line: &str) -> Result<Option<Statement>, String> {
        read(line, Codes::With).map(|mut lines| lines.remove(0).statement).map_err(|(_, message)| message)
    }

    #[test]
    fn a_comment_states_types_of_several_values() {
        let pair = |name: &str, ty: &str| (name.to_owned(), ty.to_owned());
        let types = vec![pair("y", "float[N, 3]"), pair("i", "int64[N, 3]")];
        assert_eq!(
            one("y, i = TopK(x, k)  # y: float[N, 3]; i: int64[N, 3]"),
            Ok(Some(Statement::Types(types)))
        );
    }

    #[test]
    fn a_comment_states_a_problem_with_a_code_that_exists() {
        let problem =
            Statement::Problem { head: "error[wrong-rank]".into(), message: "`x` is ... wrong".into() };
        assert_eq!(one("# error[wrong-rank]: `x` is ... wrong"), Ok(Some(problem)));
        assert_eq!(one("# error[wrong-rnk]: no"), Err("there is no code `wrong-rnk`".to_owned()));
        assert_eq!(one("# error: no"), Err("write `# error[CODE]: MESSAGE`".to_owned()));
    }

    #[test]
    fn a_comment_that_states_nothing_is_an_error() {
        assert!(one("y = Relu(x)  # the activation").is_err());
        assert!(one("#").is_err());
        assert!(one("# y: float; z").is_err());
    }

    #[test]
    fn a_hash_in_quotes_starts_no_comment() {
        assert_eq!(one(r##"y = Op <a = "#1 \" # 2"> (x)"##), Ok(None));
    }

    #[test]
    fn writing_the_same_statements_returns_the_same_text() {
        let text = "a = B(c)   # a: float\n\n  # error[cycle]: x\nd\n";
        let lines = read(text, Codes::With).unwrap();
        let comments = vec![Some("a: float".to_owned()), None, Some("error[cycle]: x".to_owned()), None];
        assert_eq!(write(&lines, comments, &[]), text);
        assert_eq!(write(&lines, vec![None; 4], &["e".to_owned()]), "a = B(c)\n\nd\n# e\n");
    }
}
