//! Subtyping of Rust types, including lifetimes.
//!
//! `cargo run --example subtyping`

use typeloom::term::{Boxed, Scope, Symbols, is_subtype, parse_ty, print};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

const QUESTIONS: [(&str, &str); 6] = [
    ("&'static str", "&'a str"),
    ("&'a str", "&'static str"),
    ("fn(&'a str)", "fn(&'static str)"),
    ("&'a mut &'static str", "&'a mut &'b str"),
    ("for<'x> fn(&'x u8) -> &'x u8", "fn(&'a u8) -> &'a u8"),
    ("[u8; 4]", "[u8; 5]"),
];

#[expect(clippy::print_stdout, reason = "an example prints")]
pub(crate) fn main() -> Outcome<()> {
    println!("{}", walk()?.join("\n"));
    Ok(())
}

/// One line per question.
pub(crate) fn walk() -> Outcome<Vec<String>> {
    let (family, scope, mut symbols) = (Boxed::new(), Scope::new(), Symbols::new());
    let mut lines = Vec::new();
    for (a, b) in QUESTIONS {
        let a = parse_ty(&family, &mut symbols, &scope, a)?;
        let b = parse_ty(&family, &mut symbols, &scope, b)?;
        let (left, right) = (print(&a, &symbols), print(&b, &symbols));
        lines.push(match is_subtype(&a, &b) {
            Ok(()) => format!("{left} <: {right}"),
            Err(reason) => format!("{left} is no subtype of {right}: {}", reason.describe(&symbols)),
        });
    }
    Ok(lines)
}
