//! The functions of the result.
//!
//! Functions of equal domain, name and overload are shared if they are equal in the result, with equal imports. Otherwise
//! that of the second model gets another name. A function whose name is an operator of the other model gets another name
//! too: its nodes mean the operator, not the function.
//!
//! Sharing is decided by the greatest fixed point: all pairs are assumed to be equal, and a pair that differs under the
//! current renames is renamed, which can make its callers differ. Each round but the last adds a rename.

use std::collections::{BTreeMap, HashMap};

use typeloom_onnx::messages::FunctionProto;
use typeloom_rewrite::names::Names;

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
            differing.into_iter().for_each(|key| plan.rename(models, 1, key, &mut taken));
        }
    }

    fn rename(&mut self, models: [&Source<'_>; 2], model: usize, key: &Callee, taken: &mut Names) {
        let [domain, name, _] = key;
        if self.names[model].contains_key(key) {
            return;
        }
        let fresh = taken.fresh(&joint(domain, name));
        let new = fresh.rsplit_once(SEPARATOR).map_or(fresh.as_str(), |(_, name)| name);
        let file = models[model].name.to_owned();
        self.renames.push(Rename { file, kind: "function", from: name.clone(), to: new.to_owned() });
        self.names[model].insert(key.clone(), new.to_owned());
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
