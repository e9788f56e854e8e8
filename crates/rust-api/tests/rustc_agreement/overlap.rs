//! New impls that conflict with impls of other crates: rustc's overlap check decides.
//!
//! The old and the new version of a crate are compiled, and the same statements of another crate against
//! both. A change is a break if some statement compiles with the old version only. All parameters are
//! `?Sized`, because an impl that gains `?Sized` counts as harmless. Other crates do not apply a trait to
//! their types for instances of generic types, as in `impl Tr<Own> for W<Own>`, because a comparison does not
//! expect such impls.
//!
//! Each question belongs to a [`Family`], whose lists contain the impls of the crate, and for each of them
//! the types and impls of other crates that can be affected.

use typeloom_testing::number;

use crate::probe::{Folder, Probe, Random, Statements, Tally, accepted, accepted_in, breaks, for_each_seed};

const PRELUDE: &str = "#![allow(warnings)]
mod private { pub trait Sealed {} }
pub trait Closed: private::Sealed {}
pub trait Mark {}
pub trait More: Mark {}
pub trait Out { type X: ?Sized; }
pub trait Pair<A: ?Sized> {}
pub trait Only {}
pub struct S;
pub struct W<T: ?Sized>(std::marker::PhantomData<T>);
pub struct P<T: ?Sized, U: ?Sized>(std::marker::PhantomData<T>, std::marker::PhantomData<U>);
pub struct R<'l>(pub &'l u8);
impl private::Sealed for u8 {}
impl private::Sealed for S {}
impl Closed for u8 {}
impl Closed for S {}
impl Mark for u8 {}
impl Mark for W<u8> {}
impl Out for u8 { type X = u8; }
impl Out for S { type X = S; }
impl Out for W<u8> { type X = u8; }
impl<T: Out + ?Sized> Out for W<W<T>> { type X = T::X; }
impl Pair<u8> for u8 {}
impl Pair<S> for W<u8> {}
impl Only for R<'static> {}
impl<'l> Mark for R<'l> {}
";

/// Types and impls that one kind of question is about.
struct Family {
    /// Arguments of the trait `Tr`, and the self type of an impl; over the parameters `T`, `U` and `'a`.
    headers: &'static [(&'static str, &'static str)],
    conditions: &'static [&'static str],
    /// Arguments for impls without an own one, if the trait has a parameter.
    arguments: &'static [&'static str],
    /// Traits that another crate implements for its own type `L`.
    own: &'static [&'static str],
    /// Impls that other crates may have, where `X` is an argument.
    others: &'static [&'static str],
    /// Types that the impls of the crate can cover.
    uses: &'static [&'static str],
    /// Arguments in impls and uses of other crates.
    foreign: &'static [&'static str],
}

const COPY: &str = "impl Clone for L { fn clone(&self) -> L { L } } impl Copy for L {}";
const MARK: &str = "impl Mark for L {}";

/// Blanket impls under conditions.
const PLAIN: Family = Family {
    headers: &[
        ("", "T"),
        ("", "T"),
        ("", "&'a T"),
        ("", "&'a mut T"),
        ("", "Box<T>"),
        ("", "W<T>"),
        ("", "S"),
        ("", "u8"),
        ("", "&'a W<T>"),
    ],
    conditions: &["", "", "T: Mark", "T: More", "T: Closed", "T: Copy", "T: Mark + Copy", "W<T>: Mark"],
    arguments: &[],
    own: &["", MARK, "MARK impl More for L {}", COPY, "MARK COPY"],
    others: &[
        "Tr for L",
        "Tr for &'static L",
        "Tr for &'static mut L",
        "Tr for Box<L>",
        "Tr for &'static W<L>",
    ],
    uses: &[
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
    ],
    foreign: &[""],
};

/// Impls of a trait with a parameter.
const ARGUMENT: Family = Family {
    headers: &[
        ("", "T"),
        ("", "&'a T"),
        ("", "W<T>"),
        ("", "S"),
        ("T", "S"),
        ("T", "u8"),
        ("u8", "T"),
        ("W<T>", "S"),
        ("&'a T", "u8"),
        ("T", "W<T>"),
        ("S", "&'a T"),
    ],
    conditions: &["", "", "T: Mark", "T: More", "T: Closed", "T: Copy", "W<T>: Mark"],
    arguments: &["u8", "S", "W<T>"],
    own: &["", MARK, "MARK impl More for L {}", COPY],
    others: &["Tr<X> for L", "Tr<X> for &'static L", "Tr<L> for S", "Tr<L> for u8", "Tr<&'static L> for u8"],
    uses: &["u8", "S", "W<u8>", "W<S>", "&'static u8", "L", "W<L>", "&'static L"],
    foreign: &["<u8>", "<S>", "<W<u8>>", "<L>", "<W<L>>", "<&'static L>"],
};

/// Conditions on associated types.
const ASSOCIATED: Family = Family {
    headers: &[
        ("", "T"),
        ("", "T"),
        ("", "T"),
        ("", "&'a T"),
        ("", "W<T>"),
        ("", "Box<T>"),
        ("", "u8"),
        ("", "S"),
    ],
    conditions: &[
        "T: Out",
        "T: Out<X = u8>",
        "T: Out<X = S>",
        "T: Out<X = W<u8>>",
        "T: Out, T::X: Mark",
        "T: Out, T::X: Copy",
        "T: Iterator<Item = u8>",
        "T: Iterator",
        "W<W<T>>: Out<X = u8>",
        "T: Out<X = T>",
    ],
    arguments: &[],
    own: &[
        "",
        "impl Out for L { type X = u8; }",
        "impl Out for L { type X = S; }",
        "impl Out for L { type X = L; }",
        "impl Out for L { type X = W<u8>; }",
        "impl Iterator for L { type Item = u8; fn next(&mut self) -> Option<u8> { None } }",
        "impl Iterator for L { type Item = S; fn next(&mut self) -> Option<S> { None } }",
    ],
    others: &["Tr for L", "Tr for &'static L", "Tr for &'static mut L", "Tr for Box<L>"],
    uses: &[
        "u8",
        "S",
        "W<u8>",
        "W<W<u8>>",
        "&'static u8",
        "L",
        "W<L>",
        "&'static L",
        "Box<L>",
        "std::vec::IntoIter<u8>",
    ],
    foreign: &[""],
};

/// Fundamental pointers, other containers, and sealed traits.
const FUNDAMENTAL: Family = Family {
    headers: &[
        ("", "Box<T>"),
        ("", "std::pin::Pin<Box<T>>"),
        ("", "std::pin::Pin<&'a T>"),
        ("", "std::pin::Pin<T>"),
        ("", "&'a Box<T>"),
        ("", "Vec<Box<T>>"),
        ("", "std::rc::Rc<T>"),
        ("", "[Box<T>]"),
        ("", "(Box<T>, u8)"),
        ("", "fn(Box<T>)"),
        ("", "*const T"),
        ("", "&'a &'a T"),
        ("", "Box<dyn Mark>"),
        ("", "T"),
    ],
    conditions: &["", "", "T: Mark", "T: Closed", "T: Copy", "Box<T>: Clone", "&'static T: Mark"],
    arguments: &[],
    own: &["", MARK, COPY, "impl Mark for &'static L {}"],
    others: &[
        "Tr for L",
        "Tr for Box<L>",
        "Tr for std::pin::Pin<Box<L>>",
        "Tr for std::pin::Pin<&'static L>",
        "Tr for &'static Box<L>",
        "Tr for Vec<L>",
        "Tr for std::rc::Rc<L>",
        "Tr for &'static &'static L",
        "Tr for Box<dyn Own>",
    ],
    uses: &[
        "Box<u8>",
        "std::pin::Pin<Box<u8>>",
        "std::rc::Rc<S>",
        "Vec<Box<u8>>",
        "Box<L>",
        "std::pin::Pin<&'static L>",
        "&'static &'static u8",
        "Box<dyn Mark>",
        "fn(Box<L>)",
        "*const L",
        "(Box<S>, u8)",
    ],
    foreign: &[""],
};

/// Two parameters with bounds on both.
const BOUNDS: Family = Family {
    headers: &[
        ("U", "T"),
        ("U", "W<T>"),
        ("U", "S"),
        ("T", "T"),
        ("W<T>", "T"),
        ("U", "P<T, U>"),
        ("S", "P<T, U>"),
        ("S", "P<T, T>"),
        ("P<T, U>", "S"),
        ("(T, U)", "S"),
        ("U", "&'a T"),
    ],
    conditions: &[
        "",
        "T: Mark",
        "T: Mark, U: Mark",
        "T: Pair<U>",
        "T: Pair<u8>",
        "U: Pair<T>",
        "T: Closed, U: Mark",
        "T: Out<X = U>",
        "T: Out, U: Out<X = T::X>",
        "T: Copy, U: Copy",
    ],
    arguments: &["u8", "S"],
    own: &["", MARK, "impl Pair<u8> for L {}", "impl Pair<L> for L {}", "impl Out for L { type X = u8; }"],
    others: &["Tr<X> for L", "Tr<X> for &'static L", "Tr<L> for S", "Tr<L> for u8"],
    uses: &["u8", "S", "W<u8>", "P<u8, u8>", "P<u8, S>", "&'static u8", "L"],
    foreign: &["<u8>", "<S>", "<L>", "<W<u8>>", "<W<L>>", "<P<S, u8>>", "<(S, u8)>"],
};

/// References and lifetimes.
const LIFETIMES: Family = Family {
    headers: &[
        ("", "&'static T"),
        ("", "&'a T"),
        ("", "&'a &'a T"),
        ("", "&'a mut &'a T"),
        ("", "R<'a>"),
        ("", "R<'static>"),
        ("", "fn(&'a u8)"),
        ("", "for<'x> fn(&'x u8)"),
        ("", "Box<dyn Mark + 'a>"),
        ("", "Box<dyn Mark>"),
        ("", "T"),
        ("", "&'a R<'a>"),
    ],
    conditions: &["", "", "T: 'static", "T: Mark + 'static", "T: Only", "T: Mark", "&'static T: Mark"],
    arguments: &[],
    own: &["", MARK, "impl Only for L {}", "impl Mark for &'static L {}", "impl<'l> Mark for &'l L {}"],
    others: &[
        "Tr for L",
        "Tr for &'static L",
        "Tr for &'static &'static L",
        "Tr for &'static mut &'static L",
    ],
    uses: &[
        "R<'l>",
        "R<'static>",
        "&'l u8",
        "&'static u8",
        "&'l &'static u8",
        "&'l mut &'l u8",
        "fn(&'l u8)",
        "fn(&u8)",
        "Box<dyn Mark + 'l>",
        "&'l L",
        "&'l R<'static>",
        "&'l R<'l>",
    ],
    foreign: &[""],
};

const FAMILIES: [&Family; 6] = [&PLAIN, &ARGUMENT, &ASSOCIATED, &FUNDAMENTAL, &BOUNDS, &LIFETIMES];

/// Number of crates of each family and seed.
fn rounds() -> usize {
    number(2, 10)
}

fn mentions(text: &str, parameter: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '\'').any(|word| word == parameter)
}

impl Family {
    fn has_argument(&self) -> bool {
        !self.arguments.is_empty()
    }

    /// An impl of the trait: the header, and a condition on its parameters.
    fn an_impl(&self, random: &mut Random) -> String {
        let (arg, this) = self.headers[random.below(self.headers.len())];
        let arg = match (self.has_argument(), arg) {
            (false, _) => String::new(),
            (true, "") => format!("<{}>", random.pick(self.arguments)),
            (true, arg) => format!("<{arg}>"),
        };
        self.with_condition(random, &format!("Tr{arg} for {this}"))
    }

    fn with_condition(&self, random: &mut Random, header: &str) -> String {
        let fits = |condition: &&&str| {
            ["T", "U"].iter().all(|parameter| !mentions(condition, parameter) || mentions(header, parameter))
        };
        let conditions: Vec<&str> = self.conditions.iter().filter(fits).copied().collect();
        let condition = if conditions.is_empty() { "" } else { random.pick(&conditions) };
        let mut parameters = Vec::new();
        for (parameter, text) in [("'a", "'a"), ("T", "T: ?Sized"), ("U", "U: ?Sized")] {
            if mentions(header, parameter) {
                parameters.push(text);
            }
        }
        let clause = if condition.is_empty() { String::new() } else { format!(" where {condition}") };
        format!("impl<{}> {header}{clause} {{}}", parameters.join(", "))
    }

    /// The same impl with another condition.
    fn with_other_condition(&self, random: &mut Random, of: &str) -> String {
        let (_, header) = of.split_once("> ").expect("an impl has parameters");
        let header =
            header.split_once(" where ").map_or(header.trim_end_matches(" {}"), |(header, _)| header);
        self.with_condition(random, header)
    }

    /// A module with a trait and impls.
    fn module(&self, name: &str, impls: &[String]) -> String {
        let params = if self.has_argument() { "<X: ?Sized>" } else { "" };
        format!(
            "pub mod {name} {{ use super::*; pub trait Tr{params} {{ fn is() {{}} }} {} }}",
            impls.join(" ")
        )
    }

    /// Contents of another crate: impls, and uses of impls.
    fn bodies(&self) -> Vec<String> {
        let mut bodies = Vec::new();
        for own in self.own {
            let own = own.replace("MARK", MARK).replace("COPY", COPY);
            for other in self.others {
                for arg in if other.contains("<X>") { self.foreign } else { &self.foreign[..1] } {
                    bodies.push(format!("{own} impl {} {{}}", other.replace("<X>", arg)));
                }
            }
            for (this, arg) in
                self.uses.iter().flat_map(|this| self.foreign.iter().map(move |arg| (this, arg)))
            {
                bodies.push(format!(
                    "{own} fn is<T: Tr{arg} + ?Sized>() {{}} fn ask<'l>() {{ is::<{this}>() }}"
                ));
            }
        }
        // Generic code knows its own conditions only.
        let params = "'a, T: ?Sized + 'a, U: ?Sized + 'a";
        for condition in self.conditions.iter().filter(|condition| !condition.is_empty()) {
            for (arg, this) in self.headers {
                let arg = match (self.has_argument(), *arg) {
                    (false, _) => String::new(),
                    (true, "") => format!("<{}>", self.arguments[0]),
                    (true, arg) => format!("<{arg}>"),
                };
                bodies.push(format!("fn ask<{params}>() where {condition} {{ <{this} as Tr{arg}>::is() }}"));
            }
        }
        bodies
    }
}

/// Two versions of a random module.
fn versions(random: &mut Random, family: &Family, name: &str) -> (String, String) {
    let mut impls: Vec<String> = (0..random.below(3)).map(|_| family.an_impl(random)).collect();
    let old = family.module(name, &impls);
    if impls.is_empty() || random.below(3) > 0 {
        impls.push(family.an_impl(random));
    } else {
        let which = random.below(impls.len());
        impls[which] = family.with_other_condition(random, &impls[which]);
    }
    (old, family.module(name, &impls))
}

#[test]
fn new_impls_break_exactly_the_impls_that_rustc_rejects() {
    let mut tally = Tally::default();
    for_each_seed(0x0e1a, |seed, mut random| {
        let (mut old, mut new) = (Statements::new(), Statements::new());
        let mut families = Vec::new();
        for family in FAMILIES.iter().flat_map(|family| vec![family; rounds()]) {
            let name = format!("q{}_", families.len());
            let (before, after) = versions(&mut random, family, &name);
            old.insert(name.clone(), before);
            new.insert(name, after);
            families.push(family);
        }
        // Crates whose own impls overlap do not exist.
        let sound = |crates: &Statements| accepted(PRELUDE, crates).expect("the declarations are accepted");
        let both: Vec<String> = sound(&old).intersection(&sound(&new)).cloned().collect();
        let both: Vec<String> = both.into_iter().filter(|name| old[name] != new[name]).collect();
        old.retain(|name, _| both.contains(name));
        new.retain(|name, _| both.contains(name));

        let mut others = Statements::new();
        for name in &both {
            let at: usize = name[1..name.len() - 1].parse().expect("a number");
            for (n, body) in families[at].bodies().into_iter().enumerate() {
                let head = format!(
                    "mod {name}{n} {{ use crates::*; use crates::{name}::Tr; pub struct L; trait Own {{}}"
                );
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
        let mut probe = Probe::new(PRELUDE);
        for name in &both {
            probe.declare(&old[name], &new[name]);
        }
        let changes = probe.changes();
        for name in &both {
            let lost = with_old.difference(&with_new).find(|other| other.starts_with(name.as_str()));
            tally.record(lost.is_none(), !breaks(&changes, name), || {
                let lost = lost.map(|lost| others[lost].as_str()).unwrap_or_default();
                format!("seed {seed}:\n  old  {}\n  new  {}\n  lost {lost}", old[name], new[name])
            });
        }
    });
    tally.finish("new impls");
}
