//! Random hierarchies of traits: the traits that a trait object implements, and the equality of trait objects, agree with
//! rustc.
//!
//! A goal `dyn A: B` is tested as the change from `fn f(_: &dyn A)` to `fn f<T: B + ?Sized>(_: &T)`, which is
//! harmless exactly if the goal holds. Equality is tested as a change of a field's type, which is harmless
//! exactly if the types are equal.

#[path = "pair/compare.rs"]
mod compare;
#[path = "pair/json.rs"]
mod json;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::process::Command;

use compare::compare;

/// A generator of random numbers (an LCG with the constants of Knuth's MMIX).
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }

    fn pick<'t>(&mut self, list: &[&'t str]) -> &'t str {
        list[self.below(list.len())]
    }
}

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
        let mut this = Self { random: Random(seed), parameters: Vec::new(), source: PRELUDE.to_owned() };
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

    /// A trait object, and the statement that it is well formed: that it implements its own trait, without contradiction.
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

/// The statements that rustc accepts: functions by name. `None` if it rejects the hierarchy.
fn accepted(name: &str, source: &str, statements: &BTreeMap<String, String>) -> Option<BTreeSet<String>> {
    let mut source = source.to_owned();
    let mut lines = BTreeMap::new();
    for (name, statement) in statements {
        lines.insert(source.lines().count() as u64 + 1, name.clone());
        writeln!(source, "{statement}").expect("text");
    }
    let folder = std::env::temp_dir().join(format!("typeloom-objects-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("the folder for temporary files can be written to");
    let file = folder.join("probe.rs");
    std::fs::write(&file, source).expect("the folder was just made");
    let compiler = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(compiler)
        .args(["--edition=2024", "--crate-type=lib", "--emit=metadata", "--error-format=json", "--out-dir"])
        .arg(&folder)
        .arg(&file)
        .output()
        .expect("the toolchain that runs the tests has a rustc");
    std::fs::remove_dir_all(&folder).expect("the folder was made by this test");
    let mut all: BTreeSet<String> = statements.keys().cloned().collect();
    for line in String::from_utf8_lossy(&output.stderr).lines() {
        let message: serde_json::Value = serde_json::from_str(line).expect("rustc writes JSON");
        if message["level"] == "error" {
            let spans = message["spans"].as_array().into_iter().flatten();
            let places: Vec<u64> = spans.filter_map(|span| span["line_start"].as_u64()).collect();
            let rejected: Vec<&String> = places.iter().filter_map(|line| lines.get(line)).collect();
            // A message without a location is the number of errors.
            if !places.is_empty() && rejected.is_empty() {
                return None;
            }
            for name in rejected {
                all.remove(name);
            }
        }
    }
    Some(all)
}

#[test]
fn objects_implement_and_equal_the_same_types_as_in_rustc() {
    let seed: u64 = std::env::var("TYPELOOM_SEED").map_or(16, |text| text.parse().expect("a number"));
    println!("TYPELOOM_SEED={seed}");
    let (mut asked, mut held) = ([0; 2], [0; 2]);
    let mut rounds = 0;
    for round in 0..20 {
        if rounds == 2 {
            break;
        }
        let mut traits = Hierarchy::new(seed * 100 + round);
        let statements: BTreeMap<String, String> = (0..90).map(|_| traits.object()).collect();
        let statements = statements.into_iter().enumerate();
        let statements = statements.map(|(at, (of, text))| (of, format!("fn f{at}{text}"))).collect();
        let well_formed = accepted(&format!("well-formed-{round}"), &traits.source, &statements);
        let Some(objects) = well_formed.filter(|objects| !objects.is_empty()) else { continue };
        rounds += 1;
        let objects: Vec<String> = objects.into_iter().collect();

        let (mut old, mut new) = (traits.source.clone(), traits.source.clone());
        let mut questions = BTreeMap::new();
        for at in 0..150 {
            let this = &objects[traits.random.below(objects.len())];
            let bound = match traits.random.below(4) {
                0 => traits.random.pick(&OUTSIDE).to_owned(),
                _ => traits.applied(Parameter::None),
            };
            writeln!(old, "pub fn goal{at}_(_: &({this})) {{}}").expect("text");
            writeln!(new, "pub fn goal{at}_<T: {bound} + ?Sized>(_: &T) {{}}").expect("text");
            let text = format!("fn goal{at}_() {{ fn is<T: {bound} + ?Sized>() {{}} is::<{this}>() }}");
            questions.insert(format!("goal{at}_"), text);
        }
        for (at, this) in objects.iter().enumerate() {
            for (other_at, other) in objects.iter().enumerate().skip(at + 1) {
                // Most pairs have nothing in common.
                let head = |of: &str| of.split(['<', '+']).next().map(str::to_owned).unwrap_or_default();
                if head(this).trim() != head(other).trim() && traits.random.below(20) != 0 {
                    continue;
                }
                let name = format!("Same{at}x{other_at}_");
                writeln!(old, "pub struct {name} {{ pub f: Box<{this}> }}").expect("text");
                writeln!(new, "pub struct {name} {{ pub f: Box<{other}> }}").expect("text");
                let text = format!("fn {name}(x: *mut Box<{this}>) -> *mut Box<{other}> {{ x }}");
                questions.insert(name, text);
            }
        }
        let yes = accepted(&format!("questions-{round}"), &traits.source, &questions);
        let yes = yes.expect("the hierarchy was accepted before");
        let changes = compare(&json::of("objects", &old), &json::of("objects", &new));
        for (name, question) in &questions {
            let kind = usize::from(name.starts_with("Same"));
            let holds = yes.contains(name);
            let breaking =
                changes.iter().any(|change| change.breaking && change.item.contains(name.as_str()));
            let found: Vec<_> = changes.iter().filter(|change| change.item.contains(name.as_str())).collect();
            assert_eq!(
                holds, !breaking,
                "seed {seed}, round {round}: {question}\n{found:#?}\n{}",
                traits.source
            );
            asked[kind] += 1;
            held[kind] += usize::from(holds);
        }
    }
    println!("{asked:?} questions (goals, equalities), {held:?} of them hold");
    assert!(
        held.iter().zip(asked).all(|(held, asked)| *held >= 5 && held + 10 <= asked),
        "{held:?} of {asked:?}"
    );
}
