//! Random unification problems, solved here and by rustc.
//!
//! A variable is a local whose type is inferred, a term is the result of a generic function applied to such
//! locals, and an equation is a call that takes two values of one type, behind an invariant wrapper. The
//! solution found here, with fresh types for the remaining variables, must also compile.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a failed test panics; results are printed")]

use crate::ast::Declarations;
use crate::seeds::seeds;
use crate::{compiler, solving, variables};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use typeloom_term::infer::RegionFacts;
use typeloom_term::parse::{Scope, parse_ty};
use typeloom_term::subst::replace_params;
use typeloom_term::{Arena, Boxed, InferenceTable, Interned, Name, Ty, TypeFamily, print};
use typeloom_testing::Random;

const PRELUDE: &str = "
#![allow(unused, dead_code)]
use std::cell::Cell;
use std::marker::PhantomData;
struct V<T: ?Sized>(PhantomData<*mut T>);
struct Co<T: ?Sized>(PhantomData<T>);
struct CovT<T: ?Sized>(PhantomData<T>);
struct CovL<'l>(PhantomData<&'l ()>);
struct ContraL<'l>(PhantomData<fn(&'l ())>);
struct ContraT<T: ?Sized>(PhantomData<fn(Co<T>)>);
struct InvT<T: ?Sized>(PhantomData<*mut T>);
struct Arr<T, const K: usize>([T; K]);
struct Mix<'l, 'm, T: ?Sized, U: ?Sized>(CovL<'l>, ContraL<'m>, InvT<T>, PhantomData<U>);
trait TrT<T: ?Sized> {}
trait As { type X: ?Sized; }
fn new<T>() -> V<T> { loop {} }
fn same<T>(a: V<T>, b: V<T>) {}
";

/// Types with holes.
const FORMS: [&str; 32] = [
    "Vec<#>",
    "Option<#>",
    "CovT<#>",
    "ContraT<#>",
    "InvT<#>",
    "std::cell::Cell<#>",
    "Box<#>",
    "(#,)",
    "(#, #)",
    "(#, #, #)",
    "[#; 2]",
    "[#; 3]",
    "[#; N]",
    "Box<[#]>",
    "Arr<#, 3>",
    "Arr<#, { 1 + 2 }>",
    "&'static #",
    "&'static mut #",
    "*const #",
    "*mut #",
    "fn(#)",
    "fn(#) -> #",
    "unsafe fn(#, #)",
    "for<'x> fn(&'x u8, #) -> #",
    "for<'x> fn(&'x #)",
    "for<'x, 'y> fn(&'x u8, &'y #) -> &'x u8",
    "Mix<'static, 'static, #, #>",
    "std::collections::HashMap<#, #>",
    "Box<dyn TrT<#> + 'static>",
    "Box<dyn for<'x> TrT<(&'x u8, #)> + Send + 'static>",
    "Box<dyn As<X = #> + 'static>",
    "<Vec<#> as IntoIterator>::Item",
];

const LEAVES: [&str; 6] = ["u8", "i32", "bool", "T", "()", "str"];

#[derive(Clone)]
enum Tree {
    Var(usize),
    Leaf(&'static str),
    Form(&'static str, Vec<Tree>),
}

impl Tree {
    fn text(&self, var: &dyn Fn(usize) -> String) -> String {
        match self {
            Self::Var(index) => var(*index),
            Self::Leaf(text) => (*text).to_owned(),
            Self::Form(form, parts) => {
                let mut parts = parts.iter();
                let pieces: Vec<&str> = form.split('#').collect();
                let mut out = pieces[0].to_owned();
                for piece in &pieces[1..] {
                    let part = parts.next().unwrap().text(var);
                    let pointer =
                        out.ends_with("&'static ") || out.ends_with("mut ") || out.ends_with("const ");
                    let bare =
                        part.contains("fn(") && (pointer || out.ends_with("&'x ") || out.ends_with("&'y "));
                    out.push_str(&if bare { format!("({part})") } else { part });
                    out.push_str(piece);
                }
                out
            }
        }
    }
}

struct Generator {
    random: Random,
    vars: usize,
}

impl Generator {
    fn tree(&mut self, depth: usize) -> Tree {
        if depth == 0 || self.random.below(5) == 0 {
            return match self.random.below(2) {
                // `str` is unsized and allowed only behind pointers, which the forms do not track.
                0 => Tree::Leaf(LEAVES[self.random.below(LEAVES.len() - 1)]),
                _ => Tree::Var(self.random.below(self.vars)),
            };
        }
        let form = *self.random.pick(&FORMS);
        let parts = (0..form.matches('#').count()).map(|_| self.tree(depth - 1)).collect();
        Tree::Form(form, parts)
    }

    /// A tree that is likely to share parts with another one.
    fn like(&mut self, tree: &Tree, depth: usize) -> Tree {
        match (self.random.below(7), tree) {
            (0, _) => Tree::Var(self.random.below(self.vars)),
            (1, _) if self.random.below(3) == 0 => self.tree(depth.min(1)),
            // A similar form around the same part, often with one binder more or less. Unsized types need a
            // box.
            (2, Tree::Form(form, parts)) if self.random.below(3) == 0 && !form.starts_with("Box<") => {
                let count = form.matches('#').count();
                let fits = |form: &&str| form.matches('#').count() == count && !form.starts_with("Box<");
                let same: Vec<&'static str> = FORMS.iter().copied().filter(fits).collect();
                let form = *self.random.pick(&same);
                Tree::Form(form, parts.iter().map(|part| self.like(part, depth)).collect())
            }
            (_, Tree::Form(form, parts)) => {
                Tree::Form(form, parts.iter().map(|part| self.like(part, depth)).collect())
            }
            (_, Tree::Var(index)) => match self.random.below(3) {
                0 => self.tree(1),
                1 => Tree::Var(self.random.below(self.vars)),
                _ => Tree::Var(*index),
            },
            (_, Tree::Leaf(text)) => match self.random.below(12) {
                0 => Tree::Leaf("bool"),
                _ => Tree::Leaf(text),
            },
        }
    }
}

struct Problem {
    vars: usize,
    left: Tree,
    right: Tree,
}

fn problems(seed: u64, count: usize) -> Vec<Problem> {
    let mut generator = Generator { random: Random(seed), vars: 0 };
    (0..count)
        .map(|_| {
            generator.vars = 1 + generator.random.below(3);
            let depth = 1 + generator.random.below(3);
            let left = generator.tree(depth);
            let right = generator.like(&left, depth);
            let (left, right) = if generator.random.below(2) == 0 { (left, right) } else { (right, left) };
            Problem { vars: generator.vars, left, right }
        })
        .collect()
}

/// Our verdict in the notation of the recorded cases, the types of the variables as texts, and whether they
/// are a solution.
fn ask_ourselves<F: TypeFamily<Name = Name>>(
    cx: &F,
    program: &mut Declarations,
    problem: &Problem,
) -> (&'static str, Vec<String>, bool) {
    let names: Vec<String> = (0..problem.vars).map(|index| format!("A{index}")).collect();
    let scope = Scope::new().types(names.iter().map(String::as_str).chain(["T"])).consts(["N"]);
    let mut table = InferenceTable::new(cx.clone());
    let vars: Vec<Ty<F>> = (0..problem.vars).map(|_| table.new_ty_var().unwrap()).collect();
    let mut term = |tree: &Tree| -> Ty<F> {
        let text = tree.text(&|index| format!("A{index}"));
        let ty = parse_ty(cx, &mut program.symbols, &scope, &text).unwrap_or_else(|e| panic!("{text}: {e}"));
        let params: Vec<Name> = names.iter().map(|name| Name::Param(program.symbols.intern(name))).collect();
        let var = |name: Name| params.iter().position(|own| *own == name).map(|at| vars[at].clone().into());
        replace_params(cx, &ty, var).unwrap()
    };
    let (left, right) = (term(&problem.left), term(&problem.right));
    let result = table.eq(program, &left, &right).and_then(|open| table.retry(program, open));
    let texts: Vec<String> =
        vars.iter().map(|var| print::rust(&table.resolve(var).unwrap(), &program.symbols)).collect();
    let verdict = solving::verdict(cx, program, problem.vars, &left, &right);
    // A problem with a solution must not fail, and a problem without one must not succeed.
    let fits = result.is_ok() && table.regions().check(&RegionFacts::new()).is_ok();
    assert!(!fits || verdict != "fail", "{} has a solution", problem.left.text(&|index| format!("?{index}")));
    assert!(fits || verdict != "ok", "{} has no solution", problem.left.text(&|index| format!("?{index}")));
    (verdict, texts, fits)
}

/// A solution with fresh types for the remaining variables.
fn instance(texts: &[String]) -> Vec<String> {
    let own = ["i8", "u16", "i16", "u64", "i64", "f32", "f64", "char"];
    variables::rename(texts, |index| own[index % own.len()].to_owned())
}

#[test]
fn random_unification_problems_are_solved_as_the_compiler_solves_them() {
    for seed in seeds() {
        let problems = problems(seed, 300);
        let mut program = Declarations::new();
        let arena = Arena::new();
        let interned = Interned::new(&arena);
        let mut source = PRELUDE.to_owned();
        let mut lines: BTreeMap<u64, (usize, &str)> = BTreeMap::new();
        let mut ours = Vec::new();
        for (i, problem) in problems.iter().enumerate() {
            let answer = ask_ourselves(&Boxed::new(), &mut program, problem);
            let other = ask_ourselves(&interned, &mut program, problem);
            assert_eq!(answer.0, other.0, "the families disagree");
            let names: Vec<String> = (0..problem.vars).map(|index| format!("A{index}")).collect();
            let bounds: Vec<String> = names.iter().map(|name| format!("{name}: 'static")).collect();
            let inputs: Vec<String> = names.iter().map(|name| format!("_: &V<{name}>")).collect();
            let locals: Vec<String> = (0..problem.vars).map(|index| format!("&v{index}")).collect();
            let mut line = |part: &'static str, text: String, source: &mut String| {
                lines.insert(source.lines().count() as u64 + 1, (i, part));
                writeln!(source, "{text}").unwrap();
            };
            for (side, tree) in [("l", &problem.left), ("r", &problem.right)] {
                let ty = tree.text(&|index| format!("A{index}"));
                let head = format!("fn {side}{i}<{}, T: 'static, const N: usize>", bounds.join(", "));
                line(
                    "form",
                    format!("{head}({}) -> V<{ty}> {{ loop {{}} }}", inputs.join(", ")),
                    &mut source,
                );
            }
            let call = |side: &str| {
                let holes = vec!["_"; problem.vars].join(", ");
                format!("{side}{i}::<{holes}, T, N>({})", locals.join(", "))
            };
            let body = |types: &[String]| -> String {
                let locals: Vec<String> = types
                    .iter()
                    .enumerate()
                    .map(|(index, ty)| format!("let v{index} = new::<{ty}>();"))
                    .collect();
                format!("{{ {} same({}, {}); }}", locals.join(" "), call("l"), call("r"))
            };
            let head = "<T: 'static, const N: usize>()";
            let holes = vec!["_".to_owned(); problem.vars];
            line("solve", format!("fn s{i}{head} {}", body(&holes)), &mut source);
            if answer.2 {
                let types = instance(&answer.1);
                line("check", format!("fn c{i}{head} {}", body(&types)), &mut source);
            }
            ours.push(answer);
        }
        let Some(errors) = compiler::compile_errors(&format!("unification_{seed}"), &source) else {
            println!("skipped: there is no rustc on the path");
            return;
        };
        let mut codes: BTreeMap<(usize, &str), BTreeSet<String>> = BTreeMap::new();
        for error in &errors {
            for line in &error.lines {
                if let Some(key) = lines.get(line) {
                    let code = error.code.clone().unwrap_or_else(|| "region".to_owned());
                    codes.entry(*key).or_default().insert(code);
                }
            }
        }
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        let mut wrong = Vec::new();
        for (i, (problem, (verdict, texts, _))) in problems.iter().zip(&ours).enumerate() {
            if codes.contains_key(&(i, "form")) {
                *counts.entry("ill-formed").or_default() += 1;
                continue;
            }
            let theirs = match codes.get(&(i, "solve")) {
                None => "ok",
                Some(codes)
                    if codes.iter().all(|code| matches!(code.as_str(), "E0282" | "E0283" | "E0284")) =>
                {
                    "ambiguous"
                }
                Some(_) => "fail",
            };
            *counts.entry(theirs).or_default() += 1;
            let checked = codes.get(&(i, "check"));
            if theirs != *verdict || checked.is_some() {
                let show = |tree: &Tree| tree.text(&|index| format!("?{index}"));
                wrong.push(format!(
                    "  {} == {}\n    rustc: {theirs} {:?}, of our solution: {checked:?}\n    we: {verdict} {texts:?}",
                    show(&problem.left),
                    show(&problem.right),
                    codes.get(&(i, "solve")),
                ));
            }
        }
        println!("seed {seed}: {counts:?}");
        for verdict in ["ok", "ambiguous", "fail"] {
            assert!(counts.get(verdict).is_some_and(|count| *count >= 5), "few are {verdict}: {counts:?}");
        }
        assert!(wrong.is_empty(), "seed {seed}: {} differ\n{}", wrong.len(), wrong.join("\n"));
    }
}
