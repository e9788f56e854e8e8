//! Outlives bounds, and impls for some lifetimes only.
//!
//! A goal about a type `X` is asked as the change from a parameter of type `X` to one of any type that
//! satisfies the goal.

use typeloom_testing::number;

use crate::probe::{Probe, Random, Tally, for_each_seed};

const PRELUDE: &str = "#![allow(warnings)]
pub struct P<'l>(pub &'l u8);
pub struct Q<'l, 'm>(pub &'l u8, pub &'m u8);
pub struct I<'l>(pub &'l std::cell::Cell<&'l u8>);
pub struct H<'a, 'b>(pub P<'a>, pub P<'b>);
pub trait Tr {}
pub trait TrL<'l> {}
pub trait Only {}
impl Only for P<'static> {}
impl Only for I<'static> {}
impl<'x> Only for Q<'x, 'x> {}
impl<'x> Only for &'x P<'x> {}
impl<'x> Only for fn(&'x u8) {}
impl Only for for<'z> fn(&'z u8, &'static u8) {}
impl<A: Only> Only for Vec<A> {}
impl<A: Only, B: Only> Only for (A, B) {}
pub trait With<'l> {}
impl<'x> With<'x> for P<'x> {}
impl<'x> With<'x> for I<'x> {}
impl<'x, 'y> With<'y> for Q<'x, 'y> {}
impl<'x, 'y: 'x> With<'x> for &'y u8 {}
impl<'x, A: With<'x>> With<'x> for Vec<A> {}
";

const BOUNDS: [&str; 10] = [
    "'static",
    "'a",
    "'b",
    "Only",
    "Only",
    "With<'a>",
    "With<'b>",
    "With<'static>",
    "for<'z> With<'z>",
    "Only + 'a",
];

fn ty(random: &mut Random, depth: usize) -> String {
    let lifetimes = ["'a", "'a", "'b", "'static"];
    let (l, m) = (random.pick(&lifetimes).to_owned(), random.pick(&lifetimes).to_owned());
    if depth > 0 && random.below(2) == 0 {
        let (x, y) = (ty(random, depth - 1), ty(random, depth - 1));
        return match random.below(5) {
            0 => format!("Vec<{x}>"),
            1 => format!("({x}, {y})"),
            2 => format!("&{l} P<{l}>"),
            3 => format!("Box<dyn TrL<{l}> + {m}>"),
            _ => format!("fn({x}) -> {y}"),
        };
    }
    match random.below(9) {
        0 => format!("&{l} u8"),
        1 => format!("P<{l}>"),
        2 => format!("Q<{l}, {m}>"),
        3 => format!("I<{l}>"),
        4 => format!("fn(&{l} u8)"),
        5 => format!("for<'z> fn(&'z u8, &{l} u8)"),
        6 => format!("Box<dyn Tr + {l}>"),
        7 => format!("std::marker::PhantomData<&{l} u8>"),
        _ => "u8".to_owned(),
    }
}

#[test]
fn types_outlive_lifetimes_and_implement_traits_as_in_rustc() {
    let mut tally = Tally::default();
    for_each_seed(0x11fe, |seed, mut random| {
        let mut probe = Probe::new(PRELUDE);
        for at in 0..number(60, 200) {
            let (this, bound) = (ty(&mut random, 2), random.pick(&BOUNDS));
            let old = format!("impl<'a, 'b> H<'a, 'b> {{ pub fn goal{at}_(&self, _: {this}) {{}} }}");
            let new = format!("impl<'a, 'b> H<'a, 'b> {{ pub fn goal{at}_<T: {bound}>(&self, _: T) {{}} }}");
            let is = "fn is<'a: 'a, 'b: 'b, T: BOUND>(_: T) {} is::<'a, 'b, _>(x)".replace("BOUND", bound);
            let text = format!("fn goal{at}_<'a, 'b>(h: &H<'a, 'b>, x: {this}) {{ {is} }}");
            probe.question(&format!("goal{at}_"), &old, &new, text);
        }
        probe.ask(&format!("seed {seed}"), std::slice::from_mut(&mut tally), |_| 0);
    });
    tally.finish("lifetimes");
}
