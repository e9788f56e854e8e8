//! Negative goals agree with rustc: two impls of one trait are accepted exactly if their headers are equal
//! for no substitution of their parameters.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a failed test panics; results are printed")]

use crate::ast::Declarations;
use crate::compiler;
use crate::seeds::seeds;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use typeloom_term::infer::Negation;
use typeloom_term::parse::{Scope, parse_ty};
use typeloom_term::{Arena, Boxed, InferenceTable, Interned, Name, TypeFamily, Variance};
use typeloom_testing::Random;

const PRELUDE: &str = "#![allow(unused)]
use std::marker::PhantomData;
struct CovT<T: ?Sized>(PhantomData<T>);
struct InvT<T: ?Sized>(PhantomData<*mut T>);
struct Mix<'l, 'm, T: ?Sized, U: ?Sized>(&'l u8, &'m u8, PhantomData<T>, PhantomData<U>);
struct Arr<T, const K: usize>([T; K]);
trait Tr {}
trait TrT<T: ?Sized> {}
";

/// A type over the parameters `T`, `U`, `'a` and `N`.
fn ty(random: &mut Random, depth: usize) -> String {
    if depth == 0 {
        return (*random.pick(&["T", "T", "U", "U", "u8", "bool", "str", "dyn Tr"])).to_owned();
    }
    let mut below = || ty(random, depth - 1);
    let (x, y) = (below(), below());
    match random.below(14) {
        0 => x,
        1 | 2 => format!("CovT<{x}>"),
        3 => format!("InvT<{x}>"),
        4 | 5 => format!("Mix<'a, {}, {x}, {y}>", random.pick(&["'a", "'static"])),
        6 => format!("&'a ({x})"),
        7 => format!("&'static mut ({x})"),
        8 => format!("*const ({x})"),
        9 => format!("(CovT<{x}>, Box<{y}>)"),
        10 => format!("Arr<Box<{x}>, {}>", random.pick(&["N", "2", "3"])),
        11 => format!("fn(&'static ({x})) -> *mut ({y})"),
        12 => {
            let bound = format!("'x{depth}");
            let other = *random.pick(&[bound.as_str(), "'a", "'static"]);
            format!("for<{bound}> fn(CovT<&{bound} u8>, &{other} u16) -> *mut ({x})")
        }
        // The element type is an alias that evaluates only once its argument is known.
        _ => format!("Mix<'a, 'a, {x}, <Vec<Box<{x}>> as IntoIterator>::Item>"),
    }
}

/// The parameters that an impl declares: those that its header mentions.
fn generics(header: &str) -> String {
    let mut list = Vec::new();
    if header.contains("'a") {
        list.push("'a");
    }
    let words: BTreeSet<&str> = header.split(|c: char| !c.is_alphanumeric()).collect();
    for (param, declared) in [("T", "T: ?Sized"), ("U", "U: ?Sized"), ("N", "const N: usize")] {
        if words.contains(param) {
            list.push(declared);
        }
    }
    list.join(", ")
}

/// Replaces words, which can be lifetimes.
fn words(text: &str, mut replace: impl FnMut(&str) -> Option<&'static str>) -> String {
    let (mut out, mut word) = (String::new(), String::new());
    for c in text.chars().chain([' ']) {
        if c.is_alphanumeric() || (c == '\'' && word.is_empty()) {
            word.push(c);
            continue;
        }
        out.push_str(replace(&word).unwrap_or(&word));
        word.clear();
        out.push(c);
    }
    out.trim_end().to_owned()
}

/// Whether no substitution makes two headers equal. The parameters of the second one are renamed.
fn is_never<F: TypeFamily<Name = Name>>(cx: &F, program: &mut Declarations, a: &str, b: &str) -> bool {
    let first = Scope::new().types(["T", "U"]).consts(["N"]);
    let second = Scope::new().types(["V", "W"]).consts(["M"]);
    let rename = |word: &str| match word {
        "T" => Some("V"),
        "U" => Some("W"),
        "N" => Some("M"),
        "'a" => Some("'b"),
        _ => None,
    };
    let renamed = words(b, rename);
    let a = parse_ty(cx, &mut program.symbols, &first, a).unwrap();
    let b = parse_ty(cx, &mut program.symbols, &second, &renamed).unwrap();
    let mut table = InferenceTable::new(cx.clone());
    let answer = table.never(program, Variance::Invariant, &a, &b).unwrap();
    assert_eq!(table.len(), 0, "the table stays unchanged");
    if answer != Negation::Holds {
        // A goal that holds has a substitution.
        return false;
    }
    assert!(table.eq(program, &a, &b).is_err(), "a relation that never holds does not hold for placeholders");
    true
}

#[test]
fn impls_overlap_exactly_if_no_negative_goal_holds() {
    for seed in seeds() {
        let mut random = Random(seed ^ 0x12e6);
        let mut source = PRELUDE.to_owned();
        let mut pairs = Vec::new();
        let mut lines = Vec::new();
        for index in 0..400 {
            let depth = 1 + random.below(3);
            let (a, mut b) = (ty(&mut random, depth), ty(&mut random, depth));
            if random.below(3) > 0 {
                // Related headers: one occurrence of a leaf is another type.
                let leaf = *random.pick(&["T", "U", "u8", "str", "'a"]);
                let other =
                    if leaf == "'a" { "'static" } else { *random.pick(&["U", "T", "bool", "CovT<T>"]) };
                let mut left = 1 + random.below(2);
                b = words(&a, |word| {
                    let found = left > 0 && word == leaf;
                    left -= usize::from(found);
                    found.then_some(other)
                });
            }
            let head = |of: &str| format!("impl<{}> Q{index} for CovT< {of} > {{}}", generics(of));
            let line = source.lines().count() as u64 + 1;
            writeln!(source, "trait Q{index} {{}} {} {}", head(&a), head(&b)).unwrap();
            lines.push(line);
            pairs.push((a, b));
        }
        let Some(errors) = compiler::compile_errors(&format!("negation_{seed}"), &source) else {
            println!("skipped: there is no rustc on the path");
            return;
        };
        let at = |is_wanted: fn(&str) -> bool| -> BTreeSet<u64> {
            let code = |error: &compiler::CompilerError| error.code.clone().unwrap_or_default();
            let found = errors.iter().filter(|error| is_wanted(&code(error)));
            found.flat_map(|error| error.lines.iter().copied()).collect()
        };
        let (conflicts, ill_formed) = (at(|code| code == "E0119"), at(|code| code != "E0119"));
        let mut program = Declarations::new();
        let arena = Arena::new();
        let interned = Interned::new(&arena);
        let (mut asked, mut overlapping) = (0, 0);
        for ((a, b), line) in pairs.iter().zip(lines) {
            if ill_formed.contains(&line) {
                continue;
            }
            let never = is_never(&Boxed::new(), &mut program, a, b);
            assert_eq!(never, is_never(&interned, &mut program, a, b), "the families disagree on {a} | {b}");
            // rustc leaves aliases open when it compares headers, even those that evaluate.
            let is_open = never && (a.contains(" as ") || b.contains(" as "));
            assert!(is_open || never != conflicts.contains(&line), "seed {seed}, never: {never}: {a} | {b}");
            asked += 1;
            overlapping += usize::from(!never);
        }
        println!("seed {seed}: {asked} questions, {overlapping} overlaps");
        assert!(asked > 250 && overlapping > 40 && overlapping + 40 < asked, "{overlapping} of {asked}");
    }
}
