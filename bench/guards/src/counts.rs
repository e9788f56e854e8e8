//! The file of recorded counts.
//!
//! ```text
//! # A comment.
//! rustc 1.95.0 (59807616e 2026-04-14) x86_64
//!
//! check/chain
//!   1000 2345678
//!   10000 23456789
//!   raised: symbols are compared by their bounds
//! ```
//!
//! Families are sorted by name. [`Counts::parse`] and [`Display`](std::fmt::Display) are inverse, except for
//! comments.

use std::collections::BTreeMap;
use std::fmt;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::verdict::{Row, TOLERANCE};

/// The text before the counts.
const HEAD: &str = "\
# Instructions of the benchmark families at two sizes, written by `typeloom-bench-guards --bless`. See README.md.
";

/// The introduction of a reason.
const RAISED: &str = "raised: ";

/// The compiler that counts depend on: the line that `rustc --version` prints, and the architecture.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Compiler(pub(crate) String);

impl Compiler {
    /// The compiler on the path, which built this program if cargo runs it.
    pub(crate) fn running() -> Result<Self> {
        let output = Command::new("rustc").arg("--version").output().context("rustc cannot be started")?;
        ensure!(output.status.success(), "rustc --version: {}", output.status);
        let version = String::from_utf8_lossy(&output.stdout);
        Ok(Self(format!("{} {}", version.trim(), std::env::consts::ARCH)))
    }
}

/// The counts of one family.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Recorded {
    /// The sizes, each with its count.
    pub(crate) counts: [(usize, u64); 2],
    /// The reason of the last rise.
    pub(crate) reason: Option<String>,
}

/// The recorded counts.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Counts {
    /// The compiler of the counts.
    pub(crate) compiler: Option<Compiler>,
    families: BTreeMap<String, Recorded>,
}

impl Counts {
    /// The counts of a family.
    pub(crate) fn get(&self, family: &str) -> Option<&Recorded> {
        self.families.get(family)
    }

    /// Reads the text of the file.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let mut counts = Self::default();
        let mut lines = text
            .lines()
            .enumerate()
            .filter(|(_, line)| !line.starts_with('#') && !line.trim().is_empty())
            .peekable();
        let Some((_, compiler)) = lines.next() else { return Ok(counts) };
        counts.compiler = Some(Compiler(compiler.to_owned()));
        while let Some((at, name)) = lines.next() {
            let mut indented = || Some(lines.next_if(|(_, line)| line.starts_with("  "))?.1.trim());
            let mut pair = || {
                let (size, count) = indented()?.split_once(' ')?;
                Some((size.parse().ok()?, count.parse().ok()?))
            };
            let (Some(small), Some(large)) = (pair(), pair()) else {
                bail!("line {}: `{name}` needs two lines with a size and a count", at + 1)
            };
            let reason = match indented() {
                None => None,
                Some(line) => match line.strip_prefix(RAISED) {
                    Some(reason) => Some(reason.to_owned()),
                    None => bail!("line {}: `{name}` has an unknown line `{line}`", at + 1),
                },
            };
            let recorded = Recorded { counts: [small, large], reason };
            ensure!(
                counts.families.insert(name.to_owned(), recorded).is_none(),
                "line {}: `{name}` occurs twice",
                at + 1
            );
        }
        Ok(counts)
    }

    /// Records the counts of `rows`. Each replaced reason is that of the last rise.
    ///
    /// # Errors
    /// A record with the same sizes would rise by more than [`TOLERANCE`], and there is no reason; or `rows`
    /// lack a family that was counted with another compiler. Nothing is changed then.
    pub(crate) fn update(&mut self, rows: &[Row], compiler: Compiler, reason: Option<&str>) -> Result<()> {
        let reason = reason
            .map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "))
            .filter(|text| !text.is_empty());
        let is_same = self.compiler.as_ref().is_none_or(|recorded| *recorded == compiler);
        let is_counted = |name: &String| rows.iter().any(|row| row.name == name);
        ensure!(
            is_same || self.families.keys().all(is_counted),
            "the recorded counts are of another compiler: record all families"
        );
        let raised: Vec<&Row> =
            rows.iter().filter(|row| row.rise().is_some_and(|rise| rise > TOLERANCE)).collect();
        ensure!(
            raised.is_empty() || reason.is_some(),
            "more than {TOLERANCE} % above the record, which needs --reason TEXT: {}",
            raised.iter().map(|row| row.name).collect::<Vec<_>>().join(", ")
        );
        for row in rows {
            let is_raised = raised.iter().any(|raised| raised.name == row.name);
            let old = self.families.remove(row.name).and_then(|old| old.reason);
            let reason = if is_raised { reason.clone() } else { old };
            self.families.insert(row.name.to_owned(), Recorded { counts: row.counts(), reason });
        }
        self.compiler = Some(compiler);
        Ok(())
    }

    /// Removes the families that do not satisfy `is_known`.
    pub(crate) fn retain(&mut self, is_known: impl Fn(&str) -> bool) {
        self.families.retain(|name, _| is_known(name));
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HEAD)?;
        let Some(Compiler(compiler)) = &self.compiler else { return Ok(()) };
        writeln!(f, "{compiler}")?;
        for (name, Recorded { counts, reason }) in &self.families {
            writeln!(f, "\n{name}")?;
            for (size, count) in counts {
                writeln!(f, "  {size} {count}")?;
            }
            if let Some(reason) = reason {
                writeln!(f, "  {RAISED}{reason}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::LINEAR;

    const TEXT: &str = "\
# A comment.
rustc 1.95.0 x86_64

check/chain
  1000 2345
  10000 23456

pool/known in any order
  500 10
  5000 100
  raised: a reason: digests
";

    fn compiler() -> Compiler {
        Compiler("rustc 1.95.0 x86_64".to_owned())
    }

    /// The counts of `check/chain`, with the recorded ones.
    fn row(now: [u64; 2], recorded: &Counts) -> Row {
        let recorded = recorded.get("check/chain").map(|recorded| recorded.counts.map(|(_, count)| count));
        Row { name: "check/chain", unit: "nodes", size: 1000, limit: LINEAR, now, recorded }
    }

    #[test]
    fn counts_are_read_and_written() {
        let counts = Counts::parse(TEXT).expect("the text is valid");
        assert_eq!(counts.compiler, Some(compiler()));
        let chain = Recorded { counts: [(1000, 2345), (10_000, 23_456)], reason: None };
        assert_eq!(counts.get("check/chain"), Some(&chain));
        let known = counts.get("pool/known in any order").expect("it is recorded");
        assert_eq!(known.reason.as_deref(), Some("a reason: digests"));
        assert_eq!(counts.to_string(), TEXT.replace("# A comment.\n", HEAD));
        assert_eq!(Counts::parse(&counts.to_string()).expect("it is valid"), counts);
    }

    #[test]
    fn malformed_files_are_refused_with_their_line() {
        let message = |text: &str| Counts::parse(text).map_err(|error| error.to_string());
        for (text, expected) in [
            ("rustc\na\n  1 2\n", "line 2: `a` needs two lines with a size and a count"),
            ("rustc\na\n  1 2\n  3 x\n", "line 2: `a` needs two lines with a size and a count"),
            ("rustc\na\n  1 2\n  3 4\n  why\n", "line 2: `a` has an unknown line `why`"),
            ("rustc\na\n  1 2\n  3 4\na\n  1 2\n  3 4\n", "line 5: `a` occurs twice"),
        ] {
            assert_eq!(message(text), Err(expected.to_owned()), "{text}");
        }
        assert_eq!(message(""), Ok(Counts::default()));
    }

    #[test]
    fn a_record_rises_with_a_reason_only() {
        let mut counts = Counts::parse(TEXT).expect("the text is valid");
        let before = counts.clone();
        let raised = [row([2345, 25_900], &counts)];
        let refused = counts.update(&raised, compiler(), None).expect_err("there is no reason");
        assert_eq!(
            refused.to_string(),
            "more than 10 % above the record, which needs --reason TEXT: check/chain"
        );
        counts.update(&raised, compiler(), Some(" \n ")).expect_err("the reason is empty");
        assert_eq!(counts, before);
        counts.update(&raised, compiler(), Some("types of\nfunctions")).expect("there is a reason");
        let expected = Recorded {
            counts: [(1000, 2345), (10_000, 25_900)],
            reason: Some("types of functions".to_owned()),
        };
        assert_eq!(counts.get("check/chain"), Some(&expected));
        // A later fall keeps the reason of the last rise.
        let lower = [row([2000, 20_000], &counts)];
        counts.update(&lower, compiler(), Some("of another family")).expect("a fall needs no reason");
        assert_eq!(counts.get("check/chain").and_then(|it| it.reason.as_deref()), Some("types of functions"));
    }

    #[test]
    fn counts_of_two_compilers_are_not_mixed() {
        let mut counts = Counts::parse(TEXT).expect("the text is valid");
        let rows = [row([2345, 23_456], &counts)];
        let other = Compiler("rustc 1.96.0 x86_64".to_owned());
        counts.update(&rows, other.clone(), None).expect_err("one family is of the old compiler");
        counts.retain(|name| name == "check/chain");
        counts.update(&rows, other.clone(), None).expect("all families are counted");
        assert_eq!(counts.compiler, Some(other));
    }
}
