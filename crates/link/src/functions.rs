//! The functions of the result.
//!
//! Functions of equal domain, name and overload are shared if they are equal in the result, with equal
//! imports. Otherwise that of the second model gets another name. A function whose name is an operator of the
//! other model gets another name too: its nodes mean the operator, not the function.
//!
//! Sharing is decided by the greatest fixed point: all pairs are assumed to be equal, and a pair that differs
//! under the current renames is renamed together with its callers. Each round but the last adds a rename; two
//! rounds suffice if no function of the first model gets another name.

use std::collections::{BTreeMap, HashMap};

use typeloom_onnx::messages::FunctionProto;
use typeloom_rewrite::names::Names;

use crate::opsets::called;
use crate::plan::Rename;
use crate::rename::Renamer;
use crate::scan::{Callee, Scan, callee};
use crate::source::Source;
use crate::symbols::Symbols;

/// The functions of the result.
pub(crate) struct FunctionPlan {
    /// The new names, by model.
    pub(crate) names: [HashMap<Callee, String>; 2],
    /// Of each function of the second model, whether the first model has an equal one.
    pub(crate) shared: Vec<bool>,
    pub(crate) renames: Vec<Rename>,
}

fn own_key(function: &FunctionProto) -> Callee {
    callee(function.domain(), function.name(), function.overload())
}

impl FunctionPlan {
    pub(crate) fn new(
        models: [&Source<'_>; 2],
        scans: &[Scan; 2],
        symbols: &mut [Symbols; 2],
        locations: &[BTreeMap<String, String>; 2],
    ) -> Self {
        let keys = models.map(|source| -> Vec<Callee> {
            source.functions.iter().map(|record| own_key(&record.message)).collect()
        });
        let mut taken = Names::default();
        let operators = scans.iter().flat_map(|scan| &scan.operators);
        for [domain, name, _] in operators.chain(keys.iter().flatten()) {
            taken.take(&joint(domain, name));
        }
        let mut plan = Self { names: Default::default(), shared: Vec::new(), renames: Vec::new() };
        for (model, keys) in keys.iter().enumerate() {
            let other = &scans[1 - model].operators;
            // Overloads are not compared: an operator has none.
            for key in keys.iter().filter(|[domain, name, _]| {
                other.iter().any(|[other_domain, other_name, _]| domain == other_domain && name == other_name)
            }) {
                plan.rename(models, model, key, &mut taken);
            }
        }
        let first: HashMap<&Callee, usize> =
            keys[0].iter().enumerate().rev().map(|(at, key)| (key, at)).collect();
        let mut callers: HashMap<Callee, Vec<usize>> = HashMap::new();
        for (at, record) in models[1].functions.iter().enumerate() {
            for node in called(record.message.node.iter()) {
                let key = callee(node.domain(), node.op_type(), node.overload());
                callers.entry(key).or_default().push(at);
            }
        }
        loop {
            let in_first = plan.rewritten(0, models[0], &mut symbols[0], &locations[0]);
            let in_second = plan.rewritten(1, models[1], &mut symbols[1], &locations[1]);
            let mut differing = Vec::new();
            plan.shared = vec![false; keys[1].len()];
            for (at, key) in keys[1].iter().enumerate() {
                let is_renamed = |model: usize| plan.names[model].contains_key(key);
                let Some(other) = first.get(key).filter(|_| !is_renamed(0) && !is_renamed(1)) else {
                    continue;
                };
                if in_second[at] == in_first[*other] {
                    plan.shared[at] = true;
                } else {
                    differing.push(key);
                }
            }
            if differing.is_empty() {
                return plan;
            }
            // Callers of a renamed function differ from those in the first model, and so on.
            let mut open: Vec<&Callee> = differing;
            while let Some(key) = open.pop() {
                if plan.rename(models, 1, key, &mut taken) {
                    let of_key = callers.get(key).into_iter().flatten().map(|at| &keys[1][*at]);
                    open.extend(of_key.filter(|key| first.contains_key(key)));
                }
            }
        }
    }

    /// Gives a function another name; `false` if it has one.
    fn rename(&mut self, models: [&Source<'_>; 2], model: usize, key: &Callee, taken: &mut Names) -> bool {
        let [domain, name, _] = key;
        if self.names[model].contains_key(key) {
            return false;
        }
        let fresh = taken.fresh(&joint(domain, name));
        let new = fresh.rsplit_once(SEPARATOR).map_or(fresh.as_str(), |(_, name)| name);
        let file = models[model].name.to_owned();
        self.renames.push(Rename { file, kind: "function", from: name.clone(), to: new.to_owned() });
        self.names[model].insert(key.clone(), new.to_owned());
        true
    }

    fn rewritten(
        &self,
        model: usize,
        source: &Source<'_>,
        symbols: &mut Symbols,
        locations: &BTreeMap<String, String>,
    ) -> Vec<FunctionProto> {
        let none = HashMap::new();
        let mut renamer = Renamer {
            values: &none,
            joined: HashMap::new(),
            nodes: &none,
            symbols,
            functions: &self.names[model],
            configurations: &none,
            locations,
        };
        source.functions.iter().map(|record| renamer.function(&record.message)).collect()
    }
}

/// Separates a domain from a name; neither contains it.
const SEPARATOR: char = '\u{0}';

fn joint(domain: &str, name: &str) -> String {
    format!("{domain}{SEPARATOR}{name}")
}
