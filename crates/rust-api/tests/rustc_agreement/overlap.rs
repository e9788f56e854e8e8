//! New impls that conflict with impls of other crates: rustc's overlap check decides.
//!
//! The old and the new version of a crate are compiled, and the same statements of another crate against both. A change is
//! a break if some statement compiles with the old version only. All parameters are `?Sized`, because an impl that gains
//! `?Sized` counts as harmless. Other crates do not apply a trait to their types for instances of generic types, as in
//! `impl Tr<Own> for W<Own>`, because a comparison does not expect such impls.

use std::fmt::Write as _;

use crate::compare::compare;
use crate::json;
use crate::probe::{Folder, Random, Statements, Tally, accepted, accepted_in, breaks, seeds};

const PRELUDE: &str = "#![allow(warnings)]
mod private { pub trait Sealed {} }
pub trait Closed: private::Sealed {}
pub trait Mark {}
pub trait More: Mark {}
pub struct S;
pub struct W<T: ?Sized>(std::marker::PhantomData<T>);
impl private::Sealed for u8 {}
impl private::Sealed for S {}
impl Closed for u8 {}
impl Closed for S {}
impl Mark for u8 {}
impl Mark for W<u8> {}
";

/// Headers of impls over `T`: arguments of the trait `Tr` and the type.
const HEADERS: [(&str, &str); 16] = [
    ("", "T"),
    ("", "T"),
    ("", "&'a T"),
    ("", "&'a mut T"),
    ("", "Box<T>"),
    ("", "W<T>"),
    ("", "S"),
    ("", "u8"),
    ("", "&'a W<T>"),
    ("T", "S"),
    ("T", "u8"),
    ("u8", "T"),
    ("W<T>", "S"),
    ("&'a T", "u8"),
    ("T", "W<T>"),
    ("S", "&'a T"),
];

const CONDITIONS: [&str; 8] =
    ["", "", "T: Mark", "T: More", "T: Closed", "T: Copy", "T: Mark + Copy", "W<T>: Mark"];

/// Impls that other crates may have, for their own type `L`, which implements the traits of [`OWN`].
const OTHERS: [&str; 8] = [
    "Tr<X> for L",
    "Tr<X> for &'static L",
    "Tr<X> for &'static mut L",
    "Tr<X> for Box<L>",
    "Tr<L> for S",
    "Tr<L> for u8",
    "Tr<&'static L> for u8",
    "Tr<X> for &'static W<L>",
];

const OWN: [&str; 5] = [
    "",
    "impl Mark for L {}",
    "impl Mark for L {} impl More for L {}",
    "impl Clone for L { fn clone(&self) -> L { L } } impl Copy for L {}",
    "impl Mark for L {} impl Clone for L { fn clone(&self) -> L { L } } impl Copy for L {}",
];

/// Types that the impls of the crate can cover.
const USES: [&str; 14] = [
    "u8",
    "S",
    "W<u8>",
    "W<S>",
    "Box<u8>",
    "&'static u8",
    "&'static mut u8",
    "&'static W<u8>",
    "L",
    "W<L>",
    "Box<L>",
    "&'static L",
    "&'static mut L",
    "&'static W<L>",
];

/// An impl of the trait in a module; `with_argument` is whether the trait has a parameter.
fn an_impl(random: &mut Random, with_argument: bool) -> String {
    loop {
        let (arg, this) = HEADERS[random.below(HEADERS.len())];
        if !with_argument && !arg.is_empty() {
            continue;
        }
        let arg = match (with_argument, arg) {
            (false, _) => "",
            (true, "") => random.pick(&["<u8>", "<S>", "<W<T>>"]),
            (true, arg) => &format!("<{arg}>"),
        };
        let header = format!("Tr{arg} for {this}");
        let mentions = header.replace("Tr", "").contains('T');
        let condition = if mentions { random.pick(&CONDITIONS) } else { "" };
        let lifetime = if header.contains("'a") { "'a, " } else { "" };
        let param = if mentions { "T: ?Sized" } else { "" };
        let clause = if condition.is_empty() { String::new() } else { format!(" where {condition}") };
        return format!("impl<{lifetime}{param}> {header}{clause} {{}}");
    }
}

/// A module with a trait and impls.
fn module(at: usize, with_argument: bool, impls: &[String]) -> String {
    let params = if with_argument { "<X: ?Sized>" } else { "" };
    format!("pub mod q{at}_ {{ use super::*; pub trait Tr{params} {{}} {} }}", impls.join(" "))
}

/// Contents of another crate: impls, and uses of impls.
fn bodies(with_argument: bool) -> Vec<String> {
    let arguments: &[&str] =
        if with_argument { &["<u8>", "<S>", "<W<u8>>", "<L>", "<W<L>>", "<&'static L>"] } else { &[""] };
    let mut bodies = Vec::new();
    for own in OWN {
        for other in OTHERS.iter().filter(|other| with_argument || other.starts_with("Tr<X>")) {
            for arg in if other.contains("<X>") { arguments } else { &arguments[..1] } {
                bodies.push(format!("{own} impl {} {{}}", other.replace("<X>", arg)));
            }
        }
        for (this, arg) in USES.iter().flat_map(|this| arguments.iter().map(move |arg| (this, arg))) {
            bodies.push(format!("{own} fn is<T: Tr{arg} + ?Sized>() {{}} fn ask() {{ is::<{this}>() }}"));
        }
    }
    bodies
}

#[test]
fn new_impls_break_exactly_the_impls_that_rustc_rejects() {
    let mut tally = Tally::default();
    for seed in seeds() {
        println!("seed {seed}");
        let mut random = Random::new(seed ^ 0x0e1a);
        let (mut old, mut new) = (Statements::new(), Statements::new());
        let mut has_argument = Vec::new();
        for at in 0..40 {
            let with_argument = random.below(3) == 0;
            let mut impls: Vec<String> =
                (0..random.below(3)).map(|_| an_impl(&mut random, with_argument)).collect();
            old.insert(format!("q{at}_"), module(at, with_argument, &impls));
            if impls.is_empty() || random.below(3) > 0 {
                impls.push(an_impl(&mut random, with_argument));
            } else {
                // Another condition.
                let which = random.below(impls.len());
                let (header, _) =
                    impls[which].split_once(" where ").unwrap_or((impls[which].trim_end_matches(" {}"), ""));
                let condition = if header.contains("T: ?Sized") { random.pick(&CONDITIONS) } else { "" };
                let clause = if condition.is_empty() { String::new() } else { format!(" where {condition}") };
                impls[which] = format!("{header}{clause} {{}}");
            }
            new.insert(format!("q{at}_"), module(at, with_argument, &impls));
            has_argument.push(with_argument);
        }
        // Crates whose own impls overlap do not exist.
        let sound = |crates: &Statements| accepted(PRELUDE, crates).expect("the declarations are accepted");
        let both: Vec<String> = sound(&old).intersection(&sound(&new)).cloned().collect();
        old.retain(|name, _| both.contains(name));
        new.retain(|name, _| both.contains(name));

        let mut others = Statements::new();
        for name in &both {
            let at: usize = name[1..name.len() - 1].parse().expect("a number");
            for (n, body) in bodies(has_argument[at]).into_iter().enumerate() {
                let head = format!("mod {name}{n} {{ use crates::*; use crates::{name}::Tr; pub struct L;");
                others.insert(format!("{name}{n}"), format!("{head} {body} }}"));
            }
        }
        let against = |crates: &Statements| {
            let folder = Folder::new();
            let all = accepted_in(&folder, "crates", PRELUDE, crates, &[]).expect("accepted before");
            assert_eq!(all.len(), crates.len());
            let path = format!("crates={}", folder.0.join("libcrates.rmeta").display());
            let head = "#![allow(warnings)]\n";
            accepted_in(&folder, "others", head, &others, &["--extern", &path]).expect("has no other lines")
        };
        let (with_old, with_new) = (against(&old), against(&new));
        let text = |crates: &Statements| {
            let mut source = PRELUDE.to_owned();
            crates.values().for_each(|line| writeln!(source, "{line}").expect("text"));
            source
        };
        let changes = compare(&json::of("crates", &text(&old)), &json::of("crates", &text(&new)));
        for name in &both {
            let lost = with_old.difference(&with_new).find(|other| other.starts_with(name.as_str()));
            tally.record(lost.is_none(), !breaks(&changes, name), || {
                let lost = lost.map(|lost| others[lost].as_str()).unwrap_or_default();
                format!("seed {seed}:\n  old  {}\n  new  {}\n  lost {lost}", old[name], new[name])
            });
        }
    }
    tally.finish("new impls");
}
