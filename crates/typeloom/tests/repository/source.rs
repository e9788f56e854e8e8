//! Scanner for Rust sources that separates code from comments and literals.

/// Replaces comments and the contents of literals by spaces; line numbers do not change.
pub(crate) fn code_of(source: &str) -> String {
    let bytes = source.as_bytes();
    let mut code = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let (kept, end) = token(bytes, at);
        code.extend_from_slice(&bytes[at..at + kept]);
        code.extend(bytes[at + kept..end].iter().map(|byte| if *byte == b'\n' { b'\n' } else { b' ' }));
        at = end;
    }
    String::from_utf8_lossy(&code).into_owned()
}

/// Scans the token at `at`: returns the number of its bytes that are code, and its end.
fn token(bytes: &[u8], at: usize) -> (usize, usize) {
    let rest = &bytes[at..];
    let in_word = at > 0 && is_word(bytes[at - 1]);
    match rest {
        [b'/', b'/', ..] => (0, at + rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len())),
        [b'/', b'*', ..] => (0, at + block_comment(rest)),
        [b'r', b'"' | b'#', ..] if !in_word || bytes[at - 1] == b'b' => {
            let hashes = rest[1..].iter().take_while(|byte| **byte == b'#').count();
            if rest.get(1 + hashes) != Some(&b'"') {
                return (1, at + 1); // a raw identifier
            }
            let close: Vec<u8> = [b'"'].into_iter().chain(std::iter::repeat_n(b'#', hashes)).collect();
            let body = &rest[2 + hashes..];
            let end = body.windows(close.len()).position(|window| window == close).unwrap_or(body.len());
            (0, bytes.len().min(at + 2 + hashes + end + close.len()))
        }
        [b'"', ..] => (0, at + quoted(rest, b'"')),
        [b'\'', b'\\', ..] => (0, at + quoted(rest, b'\'')),
        [b'\'', _, b'\'', ..] => (0, at + 3),
        _ => (1, at + 1),
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn quoted(rest: &[u8], quote: u8) -> usize {
    let mut at = 1;
    while at < rest.len() {
        match rest[at] {
            b'\\' => at += 2,
            byte if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}

fn block_comment(rest: &[u8]) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while at < rest.len() {
        match rest[at..] {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] if depth == 1 => return at + 2,
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
    }
    rest.len()
}

/// Returns the contents of all attributes with their first lines.
pub(crate) fn attributes(code: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices('#') {
        let rest = &code[at + 1..];
        let Some(inside) = rest.strip_prefix("![").or_else(|| rest.strip_prefix('[')) else { continue };
        let mut depth = 1_usize;
        let end = inside.find(|letter| {
            match letter {
                '[' => depth += 1,
                ']' => depth -= 1,
                _ => {}
            }
            depth == 0
        });
        let line = code[..at].matches('\n').count() + 1;
        found.push((line, end.map_or(inside, |end| &inside[..end])));
    }
    found
}

#[test]
fn comments_and_literals_are_no_code() {
    let source = "a /* x /* y */ z */ b // c\n\"d \\\" e\" r#\"f \" g\"# 'h' '\\'' i<'j>() r#k br\"l\"";
    let words: Vec<_> = code_of(source).split_whitespace().map(str::to_owned).collect();
    assert_eq!(words, ["a", "b", "i<'j>()", "r#k", "b"]);
    assert_eq!(code_of(source).lines().count(), source.lines().count());
}

#[test]
fn attributes_are_found_over_several_lines() {
    let code = "#![allow(\n    a,\n    reason = x[0]\n)]\n#[test] #b";
    assert_eq!(attributes(code), [(1, "allow(\n    a,\n    reason = x[0]\n)"), (5, "test")]);
}
