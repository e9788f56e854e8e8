//! Strict checks of the syntax of pictures: only the constructs that the writers use are accepted.

use std::collections::HashSet;

use typeloom_onnx::text::is_unsafe;

/// The first problem of an SVG picture.
pub(crate) fn svg_problem(text: &str) -> Option<String> {
    let document = match roxmltree::Document::parse(text) {
        Ok(document) => document,
        Err(error) => return Some(error.to_string()),
    };
    let allowed = ["svg", "title", "desc", "style", "defs", "marker", "path", "rect", "g", "text"];
    for node in document.descendants().filter(roxmltree::Node::is_element) {
        if !allowed.contains(&node.tag_name().name()) {
            return Some(format!("element {}", node.tag_name().name()));
        }
        for attribute in node.attributes() {
            let (name, value) = (attribute.name(), attribute.value());
            let is_link = value.contains("url(") && value != "url(#typeloom-arrow)";
            if name.starts_with("on") || name.contains("href") || is_link || value.contains("NaN") {
                return Some(format!("attribute {name}={value}"));
            }
        }
        let is_style = node.tag_name().name() == "style";
        let lines = node.text().unwrap_or_default().chars().filter(|c| *c != '\n');
        if !is_style && lines.clone().any(is_unsafe) {
            return Some("unsafe text".to_owned());
        }
    }
    None
}

/// The first problem of a graph in DOT.
pub(crate) fn dot_problem(text: &str) -> Option<String> {
    let mut rest = text.strip_prefix("digraph ")?.trim_end();
    rest = string(rest)?.strip_prefix(" {\n")?;
    let (mut depth, mut nodes, mut ends) = (1_usize, HashSet::new(), Vec::new());
    for line in rest.lines() {
        let bad = || Some(format!("line {line}"));
        let line = line.trim_start();
        let statement = line.strip_suffix(';');
        if depth == 0 {
            return bad();
        }
        if line == "}" {
            depth -= 1;
        } else if let Some(name) = line.strip_prefix("subgraph cluster_") {
            depth += 1;
            let number = name.strip_suffix(" {");
            if !number.is_some_and(|it| it.bytes().all(|byte| byte.is_ascii_digit())) {
                return bad();
            }
        } else if let Some(label) = line.strip_prefix("label=") {
            if string(label) != Some(";") {
                return bad();
            }
        } else if let Some(statement) = statement {
            let (head, attributes) = statement.split_once(" [").unwrap_or((statement, "]"));
            if attributes_problem(attributes) {
                return bad();
            }
            match head.split_once(" -> ") {
                Some((from, to)) => ends.extend([from, to]),
                None if ["graph", "node", "edge"].contains(&head) => {}
                None if head.starts_with('n') && nodes.insert(head) => {}
                None => return bad(),
            }
        } else {
            return bad();
        }
    }
    let missing = ends.iter().find(|end| !nodes.contains(**end));
    missing.map(|end| format!("no node {end}")).or_else(|| (depth != 0).then(|| "open braces".to_owned()))
}

/// The rest after a quoted string without a line break.
fn string(text: &str) -> Option<&str> {
    let body = text.strip_prefix('"')?;
    let mut is_escaped = false;
    let end = body.find(|c: char| {
        let ends = c == '"' && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        ends
    })?;
    if body[..end].contains(is_unsafe) { None } else { Some(&body[end + 1..]) }
}

/// Whether `name=value, name=value]` has another form.
fn attributes_problem(mut text: &str) -> bool {
    while text != "]" {
        let Some((name, value)) = text.split_once('=') else { return true };
        let end = value.find([',', ']']).unwrap_or(value.len());
        let Some(rest) = (if value.starts_with('"') { string(value) } else { Some(&value[end..]) }) else {
            return true;
        };
        if !name.bytes().all(|byte| byte.is_ascii_lowercase()) {
            return true;
        }
        text = rest.strip_prefix(", ").unwrap_or(rest);
        if text.is_empty() {
            return true;
        }
    }
    false
}

/// The first problem of a flowchart in Mermaid.
pub(crate) fn mermaid_problem(text: &str) -> Option<String> {
    let (mut depth, mut ids, mut ends) = (0_usize, HashSet::new(), Vec::new());
    for line in text.lines() {
        let bad = || Some(format!("line {line}"));
        let line = line.trim_start();
        // Without quoted texts, whose characters are limited.
        let mut shape = String::new();
        for (at, part) in line.split('"').enumerate() {
            match at % 2 {
                0 => shape.push_str(part),
                _ if is_harmless(part) => shape.push('T'),
                _ => return bad(),
            }
        }
        let words: Vec<&str> = shape.split(' ').collect();
        match words[..] {
            ["flowchart", "TB"] | ["classDef", _, _] | ["hidden[T]"] => {}
            ["%%", ..] => {}
            ["subgraph", name] if name.ends_with("[T]") => depth += 1,
            ["end"] if depth > 0 => depth -= 1,
            [from, "-->" | "-->|T|" | "-.-", to] => ends.extend([from.to_owned(), to.to_owned()]),
            [node] => {
                let end = node.find(['[', '(']).unwrap_or(node.len());
                let form = node[end..].split(":::").next().unwrap_or_default();
                if !["[T]", "[[T]]", "([T])"].contains(&form) || !ids.insert(node[..end].to_owned()) {
                    return bad();
                }
            }
            _ => return bad(),
        }
    }
    let missing = ends.into_iter().find(|end| !ids.contains(end));
    missing.map(|end| format!("no node {end}")).or_else(|| (depth != 0).then(|| "open subgraphs".to_owned()))
}

/// Whether a text has only letters, harmless characters, entity codes and line breaks.
fn is_harmless(text: &str) -> bool {
    let mut rest = &text.replace("<br/>", " ")[..];
    while let Some((before, after)) = rest.split_once('#') {
        let Some((code, after)) = after.split_once(';') else { return false };
        if !code.bytes().all(|byte| byte.is_ascii_digit()) || before.contains(is_markup) {
            return false;
        }
        rest = after;
    }
    !rest.contains(is_markup)
}

fn is_markup(c: char) -> bool {
    is_unsafe(c) || "\"<>&;`{}|\\#*_~$%".contains(c)
}
