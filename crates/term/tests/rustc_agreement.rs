//! Random pairs of types, related here and by rustc.
//!
//! One run of `rustc` checks several hundred statements. Each statement is a separate function, and the lines
//! of the errors identify the functions that do not compile. The types are wrapped in `Co<..>` and `In<..>`,
//! which prevents coercions. Pairs with a type that does not convert to itself are not well formed and are
//! skipped.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a failed test panics; results are printed")]

use crate::ast::Declarations;
use crate::seeds::seeds;
use crate::{compiler, verdicts};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use typeloom_term::infer::RegionFacts;
use typeloom_term::parse::{Scope, parse_ty};
use typeloom_term::print;
use typeloom_term::{Arena, Boxed, Interned, Name, Region, Ty, TypeFamily, Variance};
use typeloom_testing::Random;

/// Declarations that the types refer to; the same as in the recorded cases.
const PRELUDE: &str = "
#![allow(unused, dead_code)]
use std::cell::Cell;
use std::marker::PhantomData;
struct Co<T: ?Sized>(PhantomData<T>);
struct Contra<T: ?Sized>(PhantomData<fn(Co<T>)>);
struct In<T: ?Sized>(PhantomData<*mut T>);
struct Unit;
struct CovL<'l>(PhantomData<&'l ()>);
struct ContraL<'l>(PhantomData<fn(&'l ())>);
struct InvL<'l>(PhantomData<Cell<&'l ()>>);
struct CovT<T: ?Sized>(PhantomData<T>);
struct ContraT<T: ?Sized>(PhantomData<fn(Co<T>)>);
struct InvT<T: ?Sized>(PhantomData<*mut T>);
struct Arr<T, const K: usize>([T; K]);
struct Biv<I: Iterator<Item = X>, X>(I);
struct Mix<'l, 'm, T: ?Sized, U: ?Sized>(CovL<'l>, ContraL<'m>, InvT<T>, CovT<U>);
trait Tr {}
trait Tr2 {}
trait TrL<'l> {}
trait TrT<T: ?Sized> {}
trait As { type X: ?Sized; }
trait Get<T: ?Sized> { type X: ?Sized; }
fn make<T>() -> T { loop {} }
fn join<T: ?Sized>(first: Co<T>, second: Co<T>) {}
fn meet<T: ?Sized>(first: Contra<T>, second: Contra<T>) {}
fn both<T: ?Sized>(first: In<T>, second: In<T>) {}
";

/// Outlives facts, as in the recorded cases.
const ENVIRONMENTS: [&[(&str, &str)]; 6] = [
    &[("'b", "'a")],
    &[],
    &[("'b", "'a"), ("'a", "'b")],
    &[("'b", "'a"), ("'c", "'b")],
    &[("'a", "'static")],
    &[("'b", "'a"), ("'c", "'a"), ("'c", "'static")],
];

/// Types without parts.
const LEAVES: [&str; 11] =
    ["()", "bool", "i32", "T", "U", "Unit", "char", "f64", "usize", "u128", "fn() -> !"];

/// Random types as text. Regions of references outside of binders are chosen so that the types are mostly
/// well formed.
struct Generator {
    random: Random,
    binders: usize,
    scope: Vec<String>,
}

impl Generator {
    fn lifetime(&mut self) -> String {
        let free = ["'a", "'b", "'c", "'static"];
        if !self.scope.is_empty() && self.random.below(2) == 0 {
            return self.random.pick(&self.scope).clone();
        }
        (*self.random.pick(&free)).into()
    }

    /// A type that always has a size.
    fn sized(&mut self, depth: usize) -> String {
        if depth == 0 {
            return match self.random.below(6) {
                0 => "u8".into(),
                1 => format!("CovL<{}>", self.lifetime()),
                2 => format!("ContraL<{}>", self.lifetime()),
                3 => format!("InvL<{}>", self.lifetime()),
                4 => format!("&{} u8", self.lifetime()),
                _ => (*self.random.pick(&LEAVES)).into(),
            };
        }
        let less = depth - 1;
        match self.random.below(30) {
            0 => format!("CovT<{}>", self.any(less)),
            1 => format!("ContraT<{}>", self.any(less)),
            2 => format!("InvT<{}>", self.any(less)),
            3 => format!("Box<{}>", self.any(less)),
            4 => format!("Vec<{}>", self.sized(less)),
            5 => {
                let (l, m) = (self.lifetime(), self.lifetime());
                format!("Mix<{l}, {m}, {}, {}>", self.any(less), self.any(less))
            }
            6 => format!("({}, {})", self.sized(less), self.sized(less)),
            7 => {
                let len = *self.random.pick(&["1", "2", "N", "M", "{ 1 + 1 }", "{ 2 * 3 - 4 }", "0"]);
                format!("[{}; {len}]", self.sized(less))
            }
            8 => format!("*const {}", self.operand(less)),
            9 => format!("*mut {}", self.operand(less)),
            10 => format!("&{} mut i32", self.lifetime()),
            11 => format!("Arr<{}, {}>", self.sized(less), self.random.pick(&["N", "2", "3"])),
            12 => format!("<Vec<{}> as IntoIterator>::Item", self.sized(less)),
            13 => {
                let item = self.sized(less);
                format!("Biv<std::iter::Empty<{item}>, {item}>")
            }
            14 if !self.scope.is_empty() => {
                let bound = self.random.pick(&self.scope).clone();
                self.reference(&bound, "", less)
            }
            15 => {
                let name = *self.random.pick(&[
                    "std::rc::Rc",
                    "std::sync::Arc",
                    "std::cell::Cell",
                    "std::cell::RefCell",
                ]);
                format!("{name}<{}>", self.any(less))
            }
            16 => format!("Option<{}>", self.sized(less)),
            17 => format!("std::collections::HashMap<{}, {}>", self.sized(less), self.sized(less)),
            18 => {
                let name = *self.random.pick(&["std::slice::Iter", "std::slice::IterMut"]);
                let item = *self.random.pick(&["u8", "Unit", "T"]);
                format!("{name}<{}, {item}>", self.lifetime())
            }
            19 => format!("({},)", self.sized(less)),
            20 => format!("({}, {}, {})", self.sized(less), self.sized(less), self.sized(less)),
            21 | 22 => {
                let region = self.lifetime();
                let mutability = *self.random.pick(&["", "mut "]);
                self.reference(&region, mutability, less)
            }
            23 => format!("Box<{}>", self.dynamic(less)),
            24 => format!("<Vec<<Vec<{}> as IntoIterator>::Item> as IntoIterator>::Item", self.sized(less)),
            _ => self.function(less),
        }
    }

    /// A reference. If its lifetime is bound, the pointee contains only types that live long enough, because
    /// rustc does not check this under a binder and then rejects related types.
    fn reference(&mut self, region: &str, mutability: &str, depth: usize) -> String {
        let bound = self.scope.iter().any(|bound| bound == region);
        let inner = if bound {
            let forms =
                ["u8", "T", "str", "[U]", "dyn Tr + 'static", "CovL<#>", "InvL<#>", "fn(&# u8)", "&# [u8]"];
            self.random.pick(&forms).replace('#', region)
        } else {
            self.any(depth)
        };
        format!("&{region} {mutability}({inner})")
    }

    /// A type behind a pointer, in parentheses where needed.
    fn operand(&mut self, depth: usize) -> String {
        format!("({})", self.any(depth))
    }

    fn any(&mut self, depth: usize) -> String {
        match self.random.below(10) {
            0 => "str".into(),
            1 => format!("[{}]", self.sized(depth.saturating_sub(1))),
            2 => self.dynamic(depth.saturating_sub(1)),
            3 => (*self.random.pick(&["<P as As>::X", "<Q as As>::X"])).into(),
            _ => self.sized(depth),
        }
    }

    fn bind(&mut self, most: usize) -> Vec<String> {
        let count = self.random.below(most + 1);
        (0..count)
            .map(|_| {
                self.binders += 1;
                format!("'x{}", self.binders)
            })
            .collect()
    }

    fn function(&mut self, depth: usize) -> String {
        let bound = self.bind(2);
        let mut inputs: Vec<String> = {
            self.scope.extend(bound.iter().cloned());
            // Every bound variable occurs in an input, so that the result may mention it.
            let mut inputs: Vec<String> = bound
                .iter()
                .map(|name| {
                    let forms = [
                        "&# u8",
                        "CovL<#>",
                        "InvL<#>",
                        "ContraL<#>",
                        "CovT<&# u8>",
                        "InvT<&# u8>",
                        "&# mut u8",
                        "ContraT<&# u8>",
                        "Box<dyn Tr + #>",
                        "Box<dyn TrL<#> + #>",
                        "fn(&# u8)",
                        "fn() -> InvL<#>",
                        "&# dyn Tr",
                        "*mut &# u8",
                        "Mix<#, #, u8, u8>",
                        "std::slice::IterMut<#, u8>",
                        "<Vec<&# u8> as IntoIterator>::Item",
                    ];
                    self.random.pick(&forms).replace('#', name)
                })
                .collect();
            for _ in 0..self.random.below(3) {
                inputs.push(self.sized(depth));
            }
            inputs
        };
        let output = match self.random.below(3) {
            0 => String::new(),
            _ => format!(" -> {}", self.sized(depth)),
        };
        self.scope.truncate(self.scope.len() - bound.len());
        let binder = if bound.is_empty() { String::new() } else { format!("for<{}> ", bound.join(", ")) };
        let kinds = [
            "fn",
            "fn",
            "fn",
            "fn",
            "fn",
            "fn",
            "unsafe fn",
            "extern \"C\" fn",
            "unsafe extern \"C\" fn",
            "extern \"system\" fn",
        ];
        let kind = *self.random.pick(&kinds);
        if kind == "unsafe extern \"C\" fn" && !inputs.is_empty() && self.random.below(2) == 0 {
            inputs.push("...".to_owned());
        }
        format!("{binder}{kind}({}){output}", inputs.join(", "))
    }

    fn dynamic(&mut self, depth: usize) -> String {
        let bound = self.bind(2);
        self.scope.extend(bound.iter().cloned());
        let principal = match (self.random.below(5), bound.as_slice()) {
            (0, []) => (*self.random.pick(&["Tr", "Tr2", "Send", "Sync"])).into(),
            (1, []) => format!("As<X = {}>", self.sized(depth)),
            (2, _) => format!("TrL<{}>", self.lifetime()),
            // With a projection a bound variable has to occur in the trait's arguments too.
            (3, _) => format!("Get<{}, X = {}>", self.sized(depth), self.sized(depth)),
            _ => format!("TrT<{}>", self.sized(depth)),
        };
        self.scope.truncate(self.scope.len() - bound.len());
        let binder = if bound.is_empty() { String::new() } else { format!("for<{}> ", bound.join(", ")) };
        let autos =
            ["", "", " + Send", " + Send + Sync", " + Sync + Send", " + Unpin", " + Unpin + Sync + Send"];
        let auto = *self.random.pick(&autos);
        let free = *self.random.pick(&["'a", "'b", "'c", "'static"]);
        format!("dyn {binder}{principal}{auto} + {free}")
    }

    /// The same type with one or two lifetimes exchanged, because related types are the interesting cases.
    fn vary(&mut self, text: &str) -> String {
        let mut text = text.to_owned();
        for _ in 0..=self.random.below(2) {
            let places: Vec<usize> = text.match_indices('\'').map(|(at, _)| at).collect();
            if places.is_empty() {
                break;
            }
            let at = *self.random.pick(&places);
            let end = text[at + 1..].find(|c: char| !c.is_alphanumeric()).map_or(text.len(), |n| at + 1 + n);
            // Lifetimes in the list of a binder stay.
            let in_list = text[..at].rfind("for<").is_some_and(|from| !text[from..at].contains('>'));
            if !in_list && !within(&text[..at], "Biv<") {
                let new = *self.random.pick(&["'a", "'b", "'c", "'static"]);
                text.replace_range(at..end, new);
            }
        }
        text
    }

    /// The same type with the variables of one binder merged or exchanged.
    fn rebind(&mut self, text: &str) -> String {
        let Some((from, _)) = text.match_indices("for<").max_by_key(|_| self.random.below(100)) else {
            return self.vary(text);
        };
        let list_end = from + text[from..].find('>').unwrap_or(0);
        let names: Vec<&str> = text[from + 4..list_end].split(", ").collect();
        let [x, y] = names.as_slice() else { return self.vary(text) };
        let (head, body) = text.split_at(list_end);
        match self.random.below(2) {
            0 => format!("{head}{}", body.replace(y, x)),
            _ => format!("{head}{}", body.replace(x, "'tmp").replace(y, x).replace("'tmp", y)),
        }
    }
}

/// Whether a text ends inside the brackets after `open`. Under a binder, rustc does not check that the two
/// arguments of `Biv` are consistent, and then rejects statements that require this.
fn within(text: &str, open: &str) -> bool {
    text.match_indices(open).any(|(from, _)| {
        let mut depth = 0;
        for c in text[from + open.len()..].replace("->", "").chars() {
            match c {
                '<' => depth += 1,
                '>' => depth -= 1,
                _ => {}
            }
            if depth < 0 {
                return false;
            }
        }
        true
    })
}

struct Pair {
    env: usize,
    a: String,
    b: String,
}

fn pairs(seed: u64, count: usize) -> Vec<Pair> {
    let mut generator = Generator { random: Random(seed), binders: 0, scope: Vec::new() };
    (0..count)
        .map(|_| {
            generator.binders = 0;
            let depth = 1 + generator.random.below(3);
            let a = match generator.random.below(3) {
                0 => generator.any(depth),
                1 => generator.function(depth),
                _ => generator.dynamic(depth),
            };
            let b = match generator.random.below(8) {
                0 => generator.any(depth),
                1 => a.clone(),
                2 | 3 => generator.rebind(&a),
                _ => generator.vary(&a),
            };
            let (a, b) = if generator.random.below(2) == 0 { (a, b) } else { (b, a) };
            Pair { env: generator.random.below(ENVIRONMENTS.len()), a, b }
        })
        .collect()
}

/// Statements about one pair: a name, and the body of a function that compiles if the statement holds.
fn questions(a: &str, b: &str) -> Vec<(&'static str, String)> {
    let convert =
        |wrap: &str, from: &str, to: &str| format!("let _: {wrap}<{to}> = make::<{wrap}<{from}>>();");
    let call = |function: &str, wrap: &str, x: &str, y: &str| {
        format!("{function}(make::<{wrap}<{x}>>(), make::<{wrap}<{y}>>());")
    };
    vec![
        ("aa", convert("Co", a, a)),
        ("bb", convert("Co", b, b)),
        ("sub_ab", convert("Co", a, b)),
        ("sub_ba", convert("Co", b, a)),
        ("eq", convert("In", a, b)),
        ("join_ab", call("join", "Co", a, b)),
        ("join_ba", call("join", "Co", b, a)),
        ("meet_ab", call("meet", "Contra", a, b)),
        ("meet_ba", call("meet", "Contra", b, a)),
        ("both_eq", call("both", "In", a, b)),
    ]
}

/// Statements that rustc rejects, for every pair. `None` without a compiler.
fn ask_rustc(name: &str, pairs: &[Pair]) -> Option<Vec<BTreeSet<&'static str>>> {
    let mut source = PRELUDE.to_owned();
    let mut lines: BTreeMap<u64, (usize, &'static str)> = BTreeMap::new();
    for (i, Pair { env, a, b }) in pairs.iter().enumerate() {
        let facts: Vec<String> = ENVIRONMENTS[*env].iter().map(|(l, s)| format!("{l}: {s}")).collect();
        for (question, body) in questions(a, b) {
            let line = source.lines().count() as u64 + 1;
            lines.insert(line, (i, question));
            writeln!(
                source,
                "fn q{i}_{question}<'a, 'b, 'c, T: 'static, U: 'static, P: As + 'static, Q: As + 'static, const N: usize, const M: usize>() where {} {{ {body} }}",
                facts.join(", ")
            )
            .unwrap();
        }
    }
    let mut no = vec![BTreeSet::new(); pairs.len()];
    for error in compiler::compile_errors(name, &source)? {
        for line in &error.lines {
            if let Some((pair, question)) = lines.get(line) {
                no[*pair].insert(*question);
            }
        }
    }
    Some(no)
}

/// Statements that this crate rejects.
fn ask_ourselves<F: TypeFamily<Name = Name>>(
    cx: &F,
    program: &mut Declarations,
    pair: &Pair,
) -> BTreeSet<&'static str> {
    let scope = Scope::new().types(["T", "U", "P", "Q"]).consts(["N", "M"]);
    let mut parse = |text: &str| -> Ty<F> {
        let ty = parse_ty(cx, &mut program.symbols, &scope, text).unwrap_or_else(|e| panic!("{text}: {e}"));
        let printed = print::rust(&ty, &program.symbols);
        let again = parse_ty(cx, &mut program.symbols, &scope, &printed).unwrap();
        assert_eq!(ty, again, "{text} prints as {printed}, which is another type");
        ty
    };
    let (a, b) = (parse(&pair.a), parse(&pair.b));
    let mut facts = RegionFacts::new();
    for (longer, shorter) in ENVIRONMENTS[pair.env] {
        let [longer, shorter] = [longer, shorter].map(|name| match *name {
            "'static" => Region::Static,
            name => Region::param(Name::Param(program.symbols.intern(name))),
        });
        facts.assume(longer, shorter);
    }
    let [ab, ba, eq] = verdicts::pair(cx, program, &facts, &a, &b);
    let both = |variance, x, y| verdicts::bounded_by_both(cx, program, &facts, variance, x, y);
    use Variance::{Contravariant, Covariant, Invariant};
    let answers = [
        ("sub_ab", ab),
        ("sub_ba", ba),
        ("eq", eq),
        ("join_ab", both(Covariant, &a, &b)),
        ("join_ba", both(Covariant, &b, &a)),
        ("meet_ab", both(Contravariant, &a, &b)),
        ("meet_ba", both(Contravariant, &b, &a)),
        ("both_eq", both(Invariant, &a, &b)),
    ];
    answers.into_iter().filter(|(_, yes)| !yes).map(|(question, _)| question).collect()
}

#[test]
fn random_pairs_of_types_relate_as_in_rustc() {
    for seed in seeds() {
        let pairs = pairs(seed, 80);
        let Some(compiler) = ask_rustc(&format!("agreement_{seed}"), &pairs) else {
            println!("skipped: there is no rustc on the path");
            return;
        };
        let mut program = Declarations::new();
        let arena = Arena::new();
        let interned = Interned::new(&arena);
        let mut asked = 0;
        let mut yes = 0;
        let mut wrong = Vec::new();
        for (pair, no) in pairs.iter().zip(&compiler) {
            if no.contains("aa") || no.contains("bb") {
                continue;
            }
            asked += 8;
            yes += 8 - no.len();
            let boxed = ask_ourselves(&Boxed::new(), &mut program, pair);
            let other = ask_ourselves(&interned, &mut program, pair);
            assert_eq!(boxed, other, "the families disagree on {} | {}", pair.a, pair.b);
            if boxed != *no {
                let env = ENVIRONMENTS[pair.env];
                wrong
                    .push(format!("  {env:?} {} | {}\n    rustc: {no:?}\n    we: {boxed:?}", pair.a, pair.b));
            }
        }
        println!("seed {seed}: {asked} questions, {yes} answered with yes");
        assert!(
            asked >= 200,
            "only {asked} questions are left: the generator makes too many ill-formed types"
        );
        assert!(
            yes * 10 > asked && yes < asked,
            "{yes} of {asked} questions have the answer yes: the generator is too one-sided"
        );
        assert!(wrong.is_empty(), "seed {seed}: {} pairs differ\n{}", wrong.len(), wrong.join("\n"));
    }
}
