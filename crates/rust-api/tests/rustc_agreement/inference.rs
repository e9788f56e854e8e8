//! Parameters that impls determine: a function over `A` and `T: Get<A>` replaces a function over one type.
//!
//! Callers do not write `A`, so the change is harmless exactly if the impls determine it for all arguments
//! that the old function accepted.

use typeloom_testing::number;

use crate::probe::{Probe, Random, Statements, Tally, accepted, for_each_seed};

const PRELUDE: &str = "#![allow(warnings)]
pub trait Any_ {}
pub trait Mark {}
pub trait Never_ {}
pub struct S;
pub struct W<T: ?Sized>(std::marker::PhantomData<T>);
impl Any_ for u8 {}
impl Any_ for u32 {}
impl Any_ for S {}
impl Any_ for W<u8> {}
impl Mark for u8 {}
impl Mark for W<S> {}
fn make<T>() -> T { loop {} }
";

/// Old parameters, and the types of the arguments with which rustc is asked.
const PARAMETERS: [(&str, &[&str]); 8] = [
    ("u8", &["u8"]),
    ("S", &["S"]),
    ("W<u8>", &["W<u8>"]),
    ("W<S>", &["W<S>"]),
    ("(u8, S)", &["(u8, S)"]),
    ("&'static u8", &["&'static u8"]),
    ("W<impl Any_>", &["W<u8>", "W<u32>", "W<S>", "W<W<u8>>"]),
    ("(u8, impl Any_)", &["(u8, u8)", "(u8, u32)", "(u8, S)", "(u8, W<u8>)"]),
];

const ARGUMENTS: [&str; 7] = ["u8", "u16", "S", "T", "W<T>", "(T,)", "W<u8>"];

const SELF_TYPES: [&str; 12] = [
    "u8",
    "S",
    "W<u8>",
    "W<S>",
    "W<T>",
    "(u8, S)",
    "(u8, T)",
    "(T, S)",
    "&'static u8",
    "&'static T",
    "T",
    "W<W<T>>",
];

fn an_impl(random: &mut Random) -> String {
    loop {
        let (arg, this) = (random.pick(&ARGUMENTS), random.pick(&SELF_TYPES));
        let mentions = |text: &str| text.contains('T');
        // A parameter of the argument only would not be determined, which is a question too, but an easy one.
        if mentions(arg) && !mentions(this) && random.below(4) > 0 {
            continue;
        }
        let param = if mentions(arg) || mentions(this) { "<T>" } else { "" };
        let clause =
            if param.is_empty() { "" } else { random.pick(&["", "", "where T: Mark", "where T: Never_"]) };
        return format!("impl{param} Get<{arg}> for {this} {clause} {{}}");
    }
}

#[test]
fn impls_determine_parameters_as_in_rustc() {
    let mut tally = Tally::default();
    for_each_seed(0x1f3e, |seed, mut random| {
        let (mut modules, mut calls) = (Statements::new(), Statements::new());
        let mut parameters = Vec::new();
        for at in 0..number(50, 150) {
            let impls: Vec<String> = (0..1 + random.below(3)).map(|_| an_impl(&mut random)).collect();
            let (parameter, types) = PARAMETERS[random.below(PARAMETERS.len())];
            let module = |body: &str| {
                format!("pub mod q{at}_ {{ use super::*; pub trait Get<A> {{}} {} {body} }}", impls.join(" "))
            };
            let condition = random.pick(&["", "", ": Any_"]);
            let new = &format!("pub fn f<A{condition}, T: Get<A>>(_: T) {{}}");
            let ask: String = types.iter().map(|this| format!("f(make::<{this}>()); ")).collect();
            calls.insert(format!("q{at}_"), module(&format!("{new} fn ask() {{ {ask} }}")));
            parameters.push((new.clone(), format!("pub fn f(_: {parameter}) {{}}")));
            modules.insert(format!("q{at}_"), module(new));
        }
        let sound = accepted(PRELUDE, &modules).expect("the declarations are accepted");
        let mut probe = Probe::new(PRELUDE);
        for name in &sound {
            let at: usize = name[1..name.len() - 1].parse().expect("a number");
            let new = &modules[name];
            let old = new.replace(&parameters[at].0, &parameters[at].1);
            probe.question(name, &old, new, calls[name].clone());
        }
        probe.ask(&format!("seed {seed}"), std::slice::from_mut(&mut tally), |_| 0);
    });
    tally.finish("parameters that impls determine");
}
