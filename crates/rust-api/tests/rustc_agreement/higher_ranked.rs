//! Associated types of types that mention a bound lifetime: subtypes and equal types among function pointers
//! and objects.
//!
//! `X` is a subtype of `Y` exactly if a parameter of type `X` may become one of type `Y`.

use typeloom_testing::number;

use crate::probe::{Probe, Random, Statements, Tally, accepted, for_each_seed};

const PRELUDE: &str = "#![allow(warnings)]
pub struct W<'l, A: ?Sized>(pub &'l A);
pub struct I<'l>(pub std::cell::Cell<&'l u8>);
pub trait Out { type X; }
pub trait Lend<'l> { type X; }
pub trait G<A> { type X; }
impl Out for u8 { type X = u16; }
impl Out for u16 { type X = u8; }
impl<A> Out for Vec<A> { type X = A; }
impl<'l, A> Out for &'l Vec<A> { type X = &'l A; }
impl<'l, A> Out for &'l mut Vec<A> { type X = W<'l, A>; }
impl<'l> Out for &'l u8 { type X = u8; }
impl<'l> Out for I<'l> { type X = W<'l, u8>; }
impl<'l, A> Out for W<'l, A> { type X = &'l A; }
impl<'l, A: Out> Out for (A, &'l u8) { type X = (A::X, &'l u8); }
impl<'l> Lend<'l> for u8 { type X = &'l u8; }
impl<'l, A: 'l> Lend<'l> for Vec<A> { type X = W<'l, A>; }
impl<'l, 'm> Lend<'l> for I<'m> { type X = &'m u8; }
impl<'l> G<&'l u8> for u8 { type X = &'l u16; }
impl<'l> G<&'l u8> for u16 { type X = u16; }
pub struct H<'l, 'm: 'l, A, B>(pub *mut (&'l &'m u8, A, B));
";

/// A clause over `T` and `U`; the statements assume all of them.
const CLAUSES: &str = "T: 'static, U: 'static, for<'x> &'x T: Out<X = &'x u8>, for<'x> T: Lend<'x, X = W<'x, u16>>, \
     for<'x> U: G<&'x u8, X = W<'x, u8>>, for<'x> &'x U: Out";

/// Forms of equal types over the lifetime `L`.
const FORMS: [&[&str]; 8] = [
    &[
        "&L u8",
        "<&L Vec<u8> as Out>::X",
        "<u8 as Lend<L>>::X",
        "<W<L, u8> as Out>::X",
        "<I<L> as Lend<'static>>::X",
        "<&L T as Out>::X",
        "<Vec<&L u8> as Out>::X",
    ],
    &[
        "W<L, u8>",
        "<&L mut Vec<u8> as Out>::X",
        "<Vec<u8> as Lend<L>>::X",
        "<I<L> as Out>::X",
        "<U as G<&L u8>>::X",
    ],
    &["W<L, u16>", "<T as Lend<L>>::X"],
    &["&L u16", "<u8 as G<&L u8>>::X"],
    &["u8", "<&L u8 as Out>::X", "<u16 as Out>::X"],
    &["u16", "<u8 as Out>::X", "<<u16 as Out>::X as Out>::X", "<u16 as G<&L u8>>::X"],
    &["(&L u8, &L u8)", "<(&L Vec<u8>, &L u8) as Out>::X"],
    &["<&L U as Out>::X"],
];

/// Types with holes, and the bound lifetimes at the holes.
const SHAPES: [(&str, &[&str]); 9] = [
    ("for<'x, 'y> fn(&'x u8, &'y u8, #) -> #", &["'x", "'y"]),
    ("for<'x, 'y> fn(&'x u8, &'y u8) -> (#, #)", &["'x", "'y"]),
    ("for<'x> fn(&'x u8, #) -> #", &["'x"]),
    ("for<'x> fn(&'x u8, #) -> #", &["'x"]),
    ("for<'x> fn(#)", &["'x"]),
    ("for<'x> fn(for<'y> fn(&'y u8, &'x u8) -> #)", &["'x"]),
    ("fn(#) -> #", &[]),
    ("Box<dyn for<'x> G<&'x u8, X = #>>", &["'x"]),
    ("Box<dyn for<'x> Fn(&'x u8, #) -> #>", &["'x"]),
];

/// A value of a hole: the forms, which one, and the lifetime.
type Value = (usize, usize, &'static str);

fn lifetime(random: &mut Random, bound: &[&'static str]) -> &'static str {
    let free = ["'a", "'b", "'static"];
    if bound.is_empty() || random.below(6) == 0 {
        random.pick(&free)
    } else {
        bound[random.below(bound.len())]
    }
}

fn value(random: &mut Random, bound: &[&'static str]) -> Value {
    let forms = random.below(FORMS.len());
    (forms, random.below(FORMS[forms].len()), lifetime(random, bound))
}

/// Another form of a value, sometimes with another lifetime, and rarely another value.
fn varied(random: &mut Random, (forms, _, l): Value, bound: &[&'static str]) -> Value {
    match random.below(10) {
        0 => value(random, bound),
        1 | 2 => (forms, random.below(FORMS[forms].len()), lifetime(random, bound)),
        _ => (forms, random.below(FORMS[forms].len()), l),
    }
}

fn filled(shape: &str, values: &[Value]) -> String {
    values.iter().fold(shape.to_owned(), |text, (forms, form, l)| {
        text.replacen(
            '#',
            &FORMS[*forms][*form].replace("<L", &format!("<{l}")).replace("&L", &format!("&{l}")),
            1,
        )
    })
}

fn pair(random: &mut Random) -> (String, String) {
    let (shape, bound) = SHAPES[random.below(SHAPES.len())];
    let first: Vec<Value> = (0..shape.matches('#').count()).map(|_| value(random, bound)).collect();
    let second: Vec<Value> = first.iter().map(|value| varied(random, *value, bound)).collect();
    (filled(shape, &first), filled(shape, &second))
}

/// A function over the parameters of a type, for which the clauses hold.
fn function(name: &str, from: &str, to: &str) -> String {
    format!("fn {name}<'a, 'b, T, U>(_: &H<'a, 'b, T, U>, x: {from}) -> {to} where {CLAUSES} {{ x }}")
}

/// A method with the same parameters, which callers do not choose.
fn method(name: &str, of: &str) -> String {
    format!("impl<'a, 'b, T, U> H<'a, 'b, T, U> where {CLAUSES} {{ pub fn {name}(&self, x: {of}) {{}} }}")
}

#[test]
fn aliases_under_binders_are_related_as_in_rustc() {
    let mut tallies = [Tally::default(), Tally::default()];
    for_each_seed(0xb1d5, |seed, mut random| {
        let pairs: Vec<(String, String)> = (0..number(80, 300)).map(|_| pair(&mut random)).collect();
        let mut types = Statements::new();
        for of in pairs.iter().flat_map(|(x, y)| [x, y]) {
            let name = format!("ty{}", types.len());
            let pointer = format!("*const {of}");
            types.entry(of.clone()).or_insert(function(&name, &pointer, &pointer));
        }
        let sound = accepted(PRELUDE, &types).expect("the declarations are accepted");
        let is_sound = |(_, (x, y)): &(usize, &(String, String))| sound.contains(x) && sound.contains(y);
        let mut probe = Probe::new(PRELUDE);
        for (at, (x, y)) in pairs.iter().enumerate().filter(is_sound) {
            for (word, pointer) in [("sub", "*const"), ("same", "*mut")] {
                let name = format!("{word}{at}_");
                let (x, y) = (format!("{pointer} {x}"), format!("{pointer} {y}"));
                probe.question(&name, &method(&name, &x), &method(&name, &y), function(&name, &x, &y));
            }
        }
        probe.ask(&format!("seed {seed}"), &mut tallies, |name| usize::from(name.starts_with("same")));
    });
    let [sub, same] = tallies;
    sub.finish("subtypes with aliases under binders");
    same.finish("equal types with aliases under binders");
}
