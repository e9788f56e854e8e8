//! The verdicts of the recorded cases are those of rustc, on both families.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a failed test panics; results are printed")]

use crate::ast::{Build, Declarations};
use crate::{solving, variables, verdicts};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;
use typeloom_term::infer::RegionFacts;
use typeloom_term::parse::{Scope, parse_ty};
use typeloom_term::{Arena, Boxed, InferenceTable, Interned, Name, Ty, TypeFamily, Variance};

/// Cases of one file, or none if the recorded cases are missing. Under `CI=true` that is an error.
fn cases(file: &str) -> Option<Vec<Value>> {
    let root = std::env::var_os("TYPELOOM_CONFORMANCE").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/conformance"),
        PathBuf::from,
    );
    let path = root.join("rust_types").join(file);
    let Ok(text) = std::fs::read_to_string(&path) else {
        let required = std::env::var("CI").is_ok_and(|ci| ci == "true");
        assert!(!required, "the recorded cases are not at {}", path.display());
        println!("skipped: the recorded cases are not at {}", path.display());
        return None;
    };
    Some(text.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
}

fn facts<F: TypeFamily<Name = Name>>(build: &mut Build<'_, F>, env: &Value) -> RegionFacts<F> {
    let mut facts = RegionFacts::new();
    for fact in env.as_array().unwrap() {
        let [longer, shorter] = [0, 1].map(|i| build.region(fact[i].as_str().unwrap()));
        facts.assume(longer, shorter);
    }
    facts
}

/// Counts cases by category and collects differences.
#[derive(Default)]
struct Tally {
    counts: BTreeMap<String, (usize, usize)>,
    wrong: Vec<String>,
}

impl Tally {
    fn record(&mut self, category: &str, case: impl FnOnce() -> Option<String>) {
        let count = self.counts.entry(category.into()).or_default();
        count.1 += 1;
        match case() {
            None => count.0 += 1,
            Some(wrong) => self.wrong.push(wrong),
        }
    }

    fn finish(self, title: &str) {
        println!("{title}");
        for (category, (agree, all)) in &self.counts {
            println!("  {category:<14} {agree:>4} of {all:>4} agree with rustc");
        }
        assert!(self.counts.values().any(|(_, all)| *all > 0), "{title}: there are no cases");
        assert!(self.wrong.is_empty(), "{title}: {} wrong\n{}", self.wrong.len(), self.wrong.join("\n"));
    }
}

/// Fields in which our verdicts differ from the recorded ones.
fn differences(case: &Value, answers: &[(&str, bool)]) -> Option<String> {
    let wrong: Vec<String> = answers
        .iter()
        .filter(|(field, answer)| case[*field].as_bool() != Some(*answer))
        .map(|(field, answer)| format!("{field} is {} and not {answer}", case[*field]))
        .collect();
    let [a, b] = ["a", "b"].map(|side| case[side].as_str().unwrap_or("?"));
    (!wrong.is_empty())
        .then(|| format!("  case {} in {}: {a} | {b}: {}", case["id"], case["env"], wrong.join(", ")))
}

fn subtyping<F: TypeFamily<Name = Name>>(cx: &F, title: &str) {
    let Some(cases) = cases("subtyping.jsonl") else { return };
    let mut program = Declarations::new();
    let mut tally = Tally::default();
    for case in &cases {
        tally.record(case["cat"].as_str().unwrap(), || {
            let mut build = Build::new(cx, &mut program.symbols, &[]);
            let facts = facts(&mut build, &case["env"]);
            let [a, b] = ["a_ast", "b_ast"].map(|side| build.ty(&case[side]));
            let [ab, ba, eq] = verdicts::pair(cx, &program, &facts, &a, &b);
            let scope = Scope::new().types(["T", "U", "P"]).consts(["N", "M"]);
            for (side, ty) in [("a", &a), ("b", &b)] {
                let text = case[side].as_str().unwrap();
                let parsed = parse_ty(cx, &mut program.symbols, &scope, text);
                if parsed.as_ref() != Ok(ty) {
                    return Some(format!("  case {}: {text} parses as {parsed:?}, not {ty:?}", case["id"]));
                }
            }
            differences(case, &[("sub_ab", ab), ("sub_ba", ba), ("eq", eq)])
        });
    }
    tally.finish(title);
}

fn joins<F: TypeFamily<Name = Name>>(cx: &F, title: &str) {
    let Some(cases) = cases("joins.jsonl") else { return };
    let mut program = Declarations::new();
    let mut tally = Tally::default();
    for case in &cases {
        tally.record(case["cat"].as_str().unwrap(), || {
            let mut build = Build::new(cx, &mut program.symbols, &[]);
            let facts = facts(&mut build, &case["env"]);
            let [a, b] = ["a_ast", "b_ast"].map(|side| build.ty(&case[side]));
            let [ab, ba, eq] = verdicts::pair(cx, &program, &facts, &a, &b);
            let both = |variance, x, y| verdicts::bounded_by_both(cx, &program, &facts, variance, x, y);
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
            differences(case, &answers)
        });
    }
    tally.finish(title);
}

/// Renumbers `?7`, `?2`, ... in a text by first occurrence.
fn canonical_text(texts: &[String]) -> Vec<String> {
    variables::rename(texts, |index| format!("?{index}"))
}

fn unification<F: TypeFamily<Name = Name>>(cx: &F, title: &str) {
    let Some(cases) = cases("unification.jsonl") else { return };
    let mut program = Declarations::new();
    let mut tally = Tally::default();
    for case in &cases {
        let verdict = case["rustc"].as_str().unwrap();
        tally.record(verdict, || {
            let mut table = InferenceTable::new(cx.clone());
            let count = case["vars"].as_u64().unwrap();
            let vars: Vec<Ty<F>> = (0..count).map(|_| table.new_ty_var().unwrap()).collect();
            let mut build = Build::new(cx, &mut program.symbols, &vars);
            let [l, r] = ["l_ast", "r_ast"].map(|side| build.ty(&case[side]));
            let result = table.eq(&program, &l, &r);
            let solved = result.as_ref().is_ok_and(Vec::is_empty)
                && table.regions().check(&RegionFacts::new()).is_ok();
            let resolved = vars.iter().map(|var| table.resolve(var).unwrap());
            let texts: Vec<String> =
                resolved.map(|ty| typeloom_term::print::rust(&ty, &program.symbols)).collect();
            let ours = solving::verdict(cx, &program, count as usize, &l, &r);
            let problem = format!("case {}: {} == {}", case["id"], case["l"], case["r"]);
            if ours != verdict || solved != case["unifiable"].as_bool().unwrap() {
                return Some(format!("  {problem}: rustc: {verdict}, typeloom: {ours} ({result:?})"));
            }
            let mgu = case["mgu"].as_object()?;
            let expected: Vec<String> =
                (0..count).map(|i| mgu[&format!("?{i}")].as_str().unwrap().to_owned()).collect();
            (canonical_text(&expected) != canonical_text(&texts))
                .then(|| format!("  {problem}: the unifier is {expected:?}, not {texts:?}"))
        });
    }
    tally.finish(title);
}

macro_rules! on_both_families {
    ($($test:ident: $check:ident, $title:literal;)*) => {
        mod boxed {
            $(#[test]
            fn $test() {
                super::$check(&super::Boxed::new(), concat!($title, ", boxed"));
            })*
        }
        mod interned {
            $(#[test]
            fn $test() {
                let arena = super::Arena::new();
                super::$check(&super::Interned::new(&arena), concat!($title, ", interned"));
            })*
        }
    };
}

on_both_families! {
    subtyping_and_equality_agree_with_rustc: subtyping, "subtyping and equality";
    joins_and_meets_agree_with_rustc_in_every_order: joins, "joins and meets";
    unification_agrees_with_rustc_and_gives_the_most_general_unifier: unification, "unification";
}
