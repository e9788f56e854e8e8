//! Random hierarchies of traits: the traits that a trait object implements, and the equality of trait
//! objects, agree with rustc.
//!
//! A goal `dyn A: B` is tested as the change from `fn f(_: &dyn A)` to `fn f<T: B + ?Sized>(_: &T)`, which is
//! harmless exactly if the goal holds. Equality is tested as a change of a field's type, which is harmless
//! exactly if the types are equal.

use std::fmt::Write as _;

use typeloom_testing::number;

use crate::probe::{Probe, Random, Statements, Tally, accepted, for_each_seed};

/// The parameter of a trait.
#[derive(Clone, Copy, PartialEq)]
enum Parameter {
    None,
    Type,
    Lifetime,
}

const PRELUDE: &str = "#![allow(warnings)]\npub trait Get<T> { type X; }\n";

const OUTSIDE: [&str; 7] = [
    "Send",
    "Sync",
    "Unpin",
    "std::fmt::Debug",
    "std::error::Error",
    "Iterator<Item = u8>",
    "Get<u8, X = u8>",
];

struct Hierarchy {
    random: Random,
    parameters: Vec<Parameter>,
    source: String,
}

impl Hierarchy {
    fn new(seed: u64) -> Self {
        let mut this = Self { random: Random::new(seed), parameters: Vec::new(), source: PRELUDE.to_owned() };
        for index in 0..9 {
            let parameter = [Parameter::None, Parameter::Type, Parameter::Lifetime][this.random.below(3)];
            let mut above = Vec::new();
            for _ in 0..this.random.below(3) {
                above.push(this.supertrait(parameter));
            }
            let (generics, method) = match parameter {
                Parameter::None => ("", "fn m(&self) {}"),
                Parameter::Type => ("<T>", "fn m(&self, _: T) {}"),
                Parameter::Lifetime => ("<'l>", "fn m(&self, _: &'l u8) {}"),
            };
            let above = if above.is_empty() { String::new() } else { format!(": {}", above.join(" + ")) };
            writeln!(this.source, "pub trait T{index}{generics}{above} {{ {method} }}").expect("text");
            this.parameters.push(parameter);
        }
        this
    }

    /// A trait of the hierarchy so far, applied inside a trait with this parameter.
    fn applied(&mut self, within: Parameter) -> String {
        let index = self.random.below(self.parameters.len());
        match self.parameters[index] {
            Parameter::None => format!("T{index}"),
            Parameter::Type => {
                let types: &[&str] = if within == Parameter::Type {
                    &["T", "(T, u8)", "u8"]
                } else {
                    &["u8", "u16", "(u8, u8)"]
                };
                format!("T{index}<{}>", self.random.pick(types))
            }
            Parameter::Lifetime => match (self.random.below(3), within) {
                (0, _) => format!("T{index}<'static>"),
                (1, Parameter::Lifetime) => format!("T{index}<'l>"),
                _ => format!("for<'x> T{index}<'x>"),
            },
        }
    }

    fn supertrait(&mut self, within: Parameter) -> String {
        match self.random.below(4) {
            0 if within == Parameter::Type => "Get<T, X = T>".to_owned(),
            0 => self.random.pick(&OUTSIDE).to_owned(),
            _ if self.parameters.is_empty() => self.random.pick(&OUTSIDE).to_owned(),
            _ => self.applied(within),
        }
    }

    /// A trait object, and the statement that it is well formed: that it implements its own trait, without
    /// contradiction.
    fn object(&mut self) -> (String, String) {
        let auto = self.random.pick(&["", "", " + Sync + Send", " + Send + Sync"]);
        let of = self.applied(Parameter::None);
        let item = self.random.pick(&["", "", "Item = u8", "X = u8"]);
        let with_item = match (item, of.strip_suffix('>')) {
            ("", _) => of.clone(),
            (item, Some(open)) => format!("{open}, {item}>"),
            (item, None) => format!("{of}<{item}>"),
        };
        let object = format!("dyn {with_item}{auto}");
        let statement = format!("(_: &({object})) {{ fn is<T: {of} + ?Sized>() {{}} is::<{object}>() }}");
        (object, statement)
    }
}

/// Questions of one hierarchy; `None` if rustc rejects it.
fn ask(seed: u64, tallies: &mut [Tally; 2]) -> Option<()> {
    let mut traits = Hierarchy::new(seed);
    let statements: Statements = (0..90).map(|_| traits.object()).collect();
    let statements = statements.into_iter().enumerate();
    let statements = statements.map(|(at, (of, text))| (of, format!("fn f{at}{text}"))).collect();
    let objects: Vec<String> = accepted(&traits.source, &statements)?.into_iter().collect();
    if objects.is_empty() {
        return None;
    }
    let mut probe = Probe::new(&traits.source);
    for at in 0..150 {
        let this = &objects[traits.random.below(objects.len())];
        let bound = match traits.random.below(4) {
            0 => traits.random.pick(&OUTSIDE).to_owned(),
            _ => traits.applied(Parameter::None),
        };
        let old = format!("pub fn goal{at}_(_: &({this})) {{}}");
        let new = format!("pub fn goal{at}_<T: {bound} + ?Sized>(_: &T) {{}}");
        let text = format!("fn goal{at}_() {{ fn is<T: {bound} + ?Sized>() {{}} is::<{this}>() }}");
        probe.question(&format!("goal{at}_"), &old, &new, text);
    }
    for (at, this) in objects.iter().enumerate() {
        for (other_at, other) in objects.iter().enumerate().skip(at + 1) {
            // Most pairs have nothing in common.
            let head = |of: &str| of.split(['<', '+']).next().map(str::to_owned).unwrap_or_default();
            if head(this).trim() != head(other).trim() && traits.random.below(20) != 0 {
                continue;
            }
            let name = format!("Same{at}x{other_at}_");
            let old = format!("pub struct {name} {{ pub f: Box<{this}> }}");
            let new = format!("pub struct {name} {{ pub f: Box<{other}> }}");
            let text = format!("fn {name}(x: *mut Box<{this}>) -> *mut Box<{other}> {{ x }}");
            probe.question(&name, &old, &new, text);
        }
    }
    let title = format!("hierarchy {seed}: {}", traits.source);
    probe.ask(&title, tallies, |name| usize::from(name.starts_with("Same")));
    Some(())
}

#[test]
fn objects_implement_and_equal_the_same_types_as_in_rustc() {
    let mut tallies = [Tally::default(), Tally::default()];
    let count = number(1, 2);
    for_each_seed(0, |seed, _| {
        let hierarchies = (0..20).map(|round| 1600 + seed * 100 + round);
        let asked = hierarchies.filter_map(|hierarchy| ask(hierarchy, &mut tallies)).take(count).count();
        assert_eq!(asked, count, "rustc rejects nearly all hierarchies");
    });
    let [goals, equalities] = tallies;
    goals.finish("traits of objects");
    equalities.finish("equality of objects");
}
