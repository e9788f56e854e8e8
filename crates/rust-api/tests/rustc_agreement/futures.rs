//! Auto traits of the futures of `async fn`s, with arguments and with values that a body holds over an
//! `.await`.
//!
//! The future of a function that holds a local value has the witness of a function with that value as another
//! argument. The product answers for the function with more arguments, rustc for the function with a body.

use std::fmt::Write as _;

use typeloom_rust_api::{Edition, describe, futures};
use typeloom_term::{Symbols, TyData};

use crate::json;
use crate::probe::{Random, Statements, Tally, accepted, for_each_seed};
use typeloom_testing::number;

const PRELUDE: &str = "#![allow(warnings)]
pub trait Tr {}
pub struct Plain(pub u8, String);
pub struct Local(std::marker::PhantomData<*const u8>);
pub struct Shared<A>(std::cell::Cell<A>);
pub struct Wrap<A>(pub A);
pub struct Hidden<A>(A, u8);
pub struct Lent<'l>(pub &'l u8);
pub struct Forced<A>(*mut A);
unsafe impl<A: Send> Send for Forced<A> {}
unsafe impl<A: Sync + Send> Sync for Forced<A> {}
pub struct Pick<'l>(&'l u8, *const u8);
unsafe impl Send for Pick<'static> {}
unsafe impl<'l> Sync for Pick<'l> {}
fn make<T>() -> T { loop {} }
async fn pending() {}
pub struct Known<'l, T: 'l, S: 'l, B: 'l>(std::marker::PhantomData<fn(&'l u8, T, S, B)>);
";

/// An argument with all auto traits, which states that the parameters outlive `'a`.
const KNOWN: &str = "Known<'a, T, S, B>";

const GENERICS: &str = "'a, T, S: Send, B: Send + Sync + Clone";

fn ty(random: &mut Random, depth: usize) -> String {
    if depth == 0 || random.below(4) == 0 {
        let leaves = [
            "u8",
            "T",
            "S",
            "B",
            "String",
            "Plain",
            "Local",
            "Lent<'a>",
            "Pick<'static>",
            "*const u8",
            "&'a str",
            "Box<dyn Tr>",
            "Box<dyn Tr + Send>",
            "Box<dyn Tr + Send + Sync>",
            "fn(*const u8)",
            "for<'x> fn(&'x u8) -> &'x u8",
            "std::sync::MutexGuard<'a, u8>",
            "std::sync::mpsc::Receiver<u8>",
            "<B as ToOwned>::Owned",
            "<Vec<S> as IntoIterator>::Item",
        ];
        return random.pick(&leaves).to_owned();
    }
    let x = ty(random, depth - 1);
    match random.below(13) {
        0 => format!("Vec<{x}>"),
        1 => format!("({x}, {})", ty(random, depth - 1)),
        2 => format!("std::rc::Rc<{x}>"),
        3 => format!("std::sync::Arc<{x}>"),
        4 => format!("std::cell::Cell<{x}>"),
        5 => format!("Shared<{x}>"),
        6 => format!("Wrap<{x}>"),
        7 => format!("Hidden<{x}>"),
        8 => format!("Forced<{x}>"),
        9 => format!("&'a [{x}]"),
        10 => format!("&'a mut [{x}; 2]"),
        11 => format!("std::sync::Mutex<{x}>"),
        _ => format!("Option<{x}>"),
    }
}

#[test]
fn futures_have_the_same_auto_traits_as_in_rustc() {
    let mut tallies = [Tally::default(), Tally::default()];
    for_each_seed(0xa57c, |seed, mut random| {
        let mut source = PRELUDE.to_owned();
        let mut questions = Statements::new();
        let count = number(40, 120);
        for at in 0..count {
            let mut list = |most: usize| -> Vec<String> {
                (0..random.below(most + 1)).map(|_| ty(&mut random, 2)).collect()
            };
            let (arguments, held) = (list(2), list(2));
            let all: String = arguments.iter().chain(&held).map(|ty| format!(", _: {ty}")).collect();
            writeln!(source, "pub async fn work{at}_<{GENERICS}>(_: {KNOWN}{all}) {{}}").expect("text");
            // An argument that is used after an `.await` is a local value too.
            let numbered = |list: &[String], form: fn(usize, &str) -> String| -> String {
                list.iter().enumerate().map(|(n, ty)| form(n, ty)).collect()
            };
            let parameters = numbered(&arguments, |n, ty| format!(", a{n}: {ty}"));
            let locals = numbered(&held, |n, ty| format!("let v{n}: {ty} = make(); "));
            let uses = numbered(&arguments, |n, _| format!("drop(a{n}); "))
                + &numbered(&held, |n, _| format!("drop(v{n}); "));
            let call = ", make()".repeat(arguments.len());
            for of in ["Send", "Sync", "Unpin"] {
                let name = format!("work{at}_{of}");
                let text = format!(
                    "mod m{at}_{of} {{ use super::*; \
                     async fn work<{GENERICS}>(_: {KNOWN}{parameters}) {{ {locals} pending().await; {uses} }} \
                     fn is<X: {of}>(_: X) {{}} fn ask<{GENERICS}>(x: {KNOWN}) {{ is(work(x{call})) }} }}"
                );
                questions.insert(name, text);
            }
        }
        let yes = accepted(PRELUDE, &questions).expect("the declarations are accepted");
        let mut symbols = Symbols::new();
        let api = describe(&json::of("futures", &source), Edition::default(), &mut symbols).expect("small");
        let found = futures(&api, &mut symbols).expect("small");
        assert_eq!(found.len(), count);
        for future in found {
            let TyData::GeneratorWitness(witness) = future.witness.data() else { panic!("a witness") };
            let inputs = future.item.parts.len() - 1;
            assert_eq!((witness.types.len(), future.witness.meta().outer), (inputs, 0));
            for (kind, of) in ["Send", "Sync", "Unpin"].into_iter().enumerate() {
                let name = format!("{}{of}", future.item.path.rsplit("::").next().expect("a path"));
                let here = future.traits.contains(&of);
                let tally = &mut tallies[kind / 2];
                tally.record(yes.contains(&name), here, || format!("seed {seed}: {}", questions[&name]));
            }
        }
    });
    let [some, never] = tallies;
    some.finish("`Send` and `Sync` of futures");
    never.agree("`Unpin` of futures");
}
