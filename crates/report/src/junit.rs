//! JUnit XML for test reports of CI systems.
//!
//! Source: the schema `junit-10.xsd` of the Jenkins xUnit plugin. A file is a test suite. Each error is a
//! failed test case, each warning a passed one with its text as output, and a file that cannot be used is a
//! test case with an error. A clean file has one passed test case, whose output
//! is the number of known problems. A run is written file by file, so the root
//! element has no totals.

use typeloom_onnx::text::{escape, escape_lines};
use typeloom_solver::diagnostic::Severity;

use crate::finding::Finding;
use crate::list::{Content, FileReport, ListRenderer, Totals};

/// The report of a run.
pub(crate) struct List;

impl ListRenderer for List {
    fn begin(&mut self) -> String {
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"typeloom\">\n".to_owned()
    }

    fn file(&mut self, report: &FileReport<'_>) -> String {
        let name = attribute(report.file);
        let findings = report.findings();
        let failures = findings.iter().filter(|finding| finding.severity() == Severity::Error).count();
        let (mut cases, errors) = match &report.content {
            Content::Unusable { error } => {
                let inner = format!("<error message=\"{}\" type=\"unusable-file\"/>", attribute(error));
                (case(&name, "usable", &inner), 1)
            }
            Content::Checked(checked) if findings.is_empty() => {
                let unreported = checked.unreported();
                let inner = match unreported.is_empty() {
                    true => String::new(),
                    false => format!("<system-out>{}</system-out>", content(&unreported.join(", "))),
                };
                (case(&name, "types", &inner), 0)
            }
            Content::Compared(_) if findings.is_empty() => (case(&name, "compatible", ""), 0),
            Content::Checked(_) | Content::Compared(_) => (String::new(), 0),
        };
        cases.extend(findings.iter().map(|finding| test(&name, *finding)));
        let tests = findings.len().max(1);
        format!(
            "  <testsuite name=\"{name}\" tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\" skipped=\"0\">\n\
             {cases}  </testsuite>\n"
        )
    }

    fn end(&mut self, totals: &Totals) -> String {
        let suite = |text: String| {
            let inner = format!("<error message=\"{}\" type=\"interrupted\"/>", attribute(&text));
            let suite = "<testsuite name=\"typeloom\" tests=\"1\" failures=\"0\" errors=\"1\" skipped=\"0\">";
            format!("  {suite}\n{}  </testsuite>\n", case("typeloom", "complete", &inner))
        };
        totals.interruption().map(suite).unwrap_or_default() + "</testsuites>\n"
    }
}

fn test(file: &str, finding: Finding<'_>) -> String {
    let message = finding.message();
    let lines: Vec<String> = std::iter::once(message.to_owned()).chain(finding.details()).collect();
    let (code, text) = (finding.code(), content(&lines.join("\n")));
    let inner = match finding.severity() {
        Severity::Error => {
            format!("<failure message=\"{}\" type=\"{code}\">{text}</failure>", attribute(message))
        }
        Severity::Warning => format!("<system-out>warning: {text}</system-out>"),
    };
    case(file, &attribute(&format!("{code}: {}", finding.at())), &inner)
}

fn case(file: &str, name: &str, inner: &str) -> String {
    let start = format!("    <testcase classname=\"{file}\" name=\"{name}\"");
    if inner.is_empty() {
        format!("{start}/>\n")
    } else {
        format!("{start}>\n      {inner}\n    </testcase>\n")
    }
}

/// Escapes the value of an attribute, on one line.
fn attribute(text: &str) -> String {
    content(&escape(text)).replace('"', "&quot;")
}

/// Escapes the text of an element. Characters that XML cannot contain are written as in Rust.
fn content(text: &str) -> String {
    let text = escape_lines(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    text.replace('\u{fffe}', "\\u{fffe}").replace('\u{ffff}', "\\u{ffff}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_end_an_element_or_an_attribute() {
        assert_eq!(attribute("a\"<b>&\u{1}\u{ffff}\n"), "a&quot;&lt;b&gt;&amp;\\u{1}\\u{ffff}\\u{a}");
        assert_eq!(content("]]>"), "]]&gt;");
    }
}
