//! An element type for every class of ports, so that the conversions between them cost least.
//!
//! A value is made by one class and read by some. Where a reader's class has another element type than the maker's, a
//! conversion stands between them; readers of one type share it. So a value costs one conversion for each distinct
//! element type among its readers that is not its own. Values tie classes into components, and each component is solved
//! by [elimination](super::eliminate). A value that many classes read gets a variable of its own, the set of
//! types that it is converted to, so that its readers need to know it and not each other.

use std::collections::{BTreeMap, BTreeSet};

use typeloom_solver::elem::{Elem, ElemSet};
use typeloom_solver::model::ports::ClassId;

use super::eliminate::{Factor, minimise};
use super::policy::{CONVERSION, Cost, DECLARATION, IMPOSSIBLE, Policy, Stored, Support, plus};

mod shared;

pub(crate) use shared::{Shared, Source};

/// A value with those who read it, or one of two such groups where conversions for some of them stand elsewhere.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub(crate) maker: ClassId,
    pub(crate) readers: BTreeSet<ClassId>,
    /// Whether there can be conversions at all: there are none of sequences, or of inputs that are outputs.
    pub(crate) converts: bool,
    /// Whether the value is a tensor in the file.
    pub(crate) stored: Stored,
    /// The element type that the value is declared to have, which is to be kept if it costs nothing.
    pub(crate) declared: Option<Elem>,
}

/// The answer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Chosen {
    /// An element type for each class; `None` where the policy has no answer.
    pub(crate) elems: Vec<Option<Elem>>,
    /// The groups, by position, for which the policy has no answer; shared ones count on from the others.
    pub(crate) refused: BTreeSet<usize>,
    /// For each shared group by position, where each of its readers reads.
    pub(crate) sources: Vec<Vec<Source>>,
    /// What it costs in all.
    pub(crate) cost: Cost,
    /// Whether nothing else costs less.
    pub(crate) is_proved: bool,
}

/// The most element types of which every subset is tried as the conversions of one value.
const MAX_IN_SETS: usize = 8;

/// The largest subsets that are tried of more types than that. An answer with fewer conversions is still the best.
const LARGEST_SMALL: Cost = 3;

/// Chooses an element type for every class.
pub(crate) fn choose(sets: &[ElemSet], groups: &[Group], policy: Policy, support: Support) -> Chosen {
    choose_shared(sets, groups, &[], policy, support)
}

/// As [`choose`], with values that have several types at once.
pub(crate) fn choose_shared(
    sets: &[ElemSet],
    groups: &[Group],
    shared: &[Shared],
    policy: Policy,
    support: Support,
) -> Chosen {
    let mut chosen = Chosen {
        elems: vec![None; sets.len()],
        refused: BTreeSet::new(),
        sources: shared.iter().map(|it| vec![Source::Direct; it.readers.len()]).collect(),
        cost: 0,
        is_proved: true,
    };
    for (class, set) in sets.iter().enumerate() {
        chosen.elems[class] = set.single();
    }
    for component in components(sets, groups, shared) {
        Component::new(sets, (groups, shared), component, policy, support).solve(&mut chosen);
    }
    chosen
}

/// The groups of each component: those that share a class whose element type is open.
fn components(sets: &[ElemSet], groups: &[Group], shared: &[Shared]) -> Vec<Vec<usize>> {
    let count = groups.len() + shared.len();
    let mut root: Vec<usize> = (0..count).collect();
    fn find(root: &mut [usize], mut at: usize) -> usize {
        while root[at] != at {
            root[at] = root[root[at]];
            at = root[at];
        }
        at
    }
    let mut first: BTreeMap<ClassId, usize> = BTreeMap::new();
    for at in 0..count {
        let classes: Vec<ClassId> = match groups.get(at) {
            Some(group) => group.readers.iter().copied().chain([group.maker]).collect(),
            None => shared[at - groups.len()].classes().collect(),
        };
        for class in classes.into_iter().filter(|class| sets[class.index()].single().is_none()) {
            let other = *first.entry(class).or_insert(at);
            let (a, b) = (find(&mut root, at), find(&mut root, other));
            root[a.max(b)] = a.min(b);
        }
    }
    let mut by_root: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for at in 0..count {
        by_root.entry(find(&mut root, at)).or_default().push(at);
    }
    by_root.into_values().collect()
}

struct Component<'p> {
    positions: Vec<usize>,
    groups: Vec<&'p Group>,
    /// Shared groups with their positions among all of these.
    shared: Vec<(usize, &'p Shared)>,
    policy: Policy,
    support: Support,
    /// The classes whose element type is open, as variables.
    variables: BTreeMap<ClassId, usize>,
    /// The values of each variable: for classes, one element type each; for sets of conversions, those.
    domains: Vec<Vec<ElemSet>>,
    fixed: BTreeMap<ClassId, Elem>,
    factors: Vec<Factor>,
    /// An answer that was not tried costs at least this.
    untried: Cost,
}

impl<'p> Component<'p> {
    fn new(
        sets: &[ElemSet],
        (groups, shared): (&'p [Group], &'p [Shared]),
        component: Vec<usize>,
        policy: Policy,
        support: Support,
    ) -> Self {
        let positions = component;
        let beyond = positions.iter().filter_map(|at| at.checked_sub(groups.len()));
        let shared: Vec<(usize, &Shared)> = beyond.map(|at| (at, &shared[at])).collect();
        let groups: Vec<&Group> = positions.iter().filter_map(|at| groups.get(*at)).collect();
        let classes: BTreeSet<ClassId> = groups
            .iter()
            .flat_map(|group| group.readers.iter().copied().chain([group.maker]))
            .chain(shared.iter().flat_map(|(_, shared)| shared.classes()))
            .collect();
        let fixed: BTreeMap<ClassId, Elem> =
            classes.iter().filter_map(|class| Some((*class, sets[class.index()].single()?))).collect();
        let open: Vec<ClassId> = classes.iter().copied().filter(|class| !fixed.contains_key(class)).collect();
        let labels = labels(&open, sets, &fixed, policy, support);
        let mut variables = BTreeMap::new();
        let mut domains = Vec::new();
        for class in open {
            let set = sets[class.index()];
            let of = |elem: &&Elem| set.contains(**elem);
            let mut domain: Vec<ElemSet> = labels.iter().filter(of).map(|elem| ElemSet::of(*elem)).collect();
            if domain.is_empty() {
                domain.extend(set.iter().take(1).map(ElemSet::of));
            }
            variables.insert(class, domains.len());
            domains.push(domain);
        }
        Self {
            positions,
            groups,
            shared,
            policy,
            support,
            variables,
            domains,
            fixed,
            factors: Vec::new(),
            untried: IMPOSSIBLE,
        }
    }

    /// An element type that all classes can have, and that nothing contradicts: there is nothing to convert.
    fn common(&self) -> Option<ElemSet> {
        let declared = self.groups.iter().filter_map(|group| group.declared);
        let said: BTreeSet<Elem> = self.fixed.values().copied().chain(declared).collect();
        let wanted = |set: &ElemSet| said.iter().all(|elem| ElemSet::of(*elem) == *set);
        let everywhere = |set: &ElemSet| self.domains.iter().all(|domain| domain.contains(set));
        self.domains.first()?.iter().copied().find(|set| wanted(set) && everywhere(set))
    }

    fn solve(mut self, chosen: &mut Chosen) {
        if let Some(elem) = self.common() {
            for class in self.variables.keys() {
                chosen.elems[class.index()] = elem.single();
            }
            return;
        }
        for at in 0..self.groups.len() {
            self.group(self.groups[at]);
        }
        let shared: Vec<_> = self.shared.clone().into_iter().map(|(at, it)| (at, self.share(it))).collect();
        let sizes: Vec<usize> = self.domains.iter().map(Vec::len).collect();
        let answer = minimise(&sizes, std::mem::take(&mut self.factors));
        if answer.cost >= IMPOSSIBLE {
            chosen.cost = IMPOSSIBLE;
            chosen.refused.extend(self.positions);
            return;
        }
        // Without a common type there is at least one conversion.
        let is_single = answer.cost < 2 * CONVERSION;
        // What was not tried could lose less, and has no fewer conversions.
        let is_fewest = answer.cost / CONVERSION <= self.untried / CONVERSION;
        chosen.is_proved &= is_single || answer.is_proved && is_fewest;
        chosen.cost = plus(chosen.cost, answer.cost);
        for (class, variable) in &self.variables {
            chosen.elems[class.index()] = self.domains[*variable][answer.values[*variable]].single();
        }
        for (at, variables) in shared {
            chosen.sources[at] = variables.sources(&answer.values);
        }
    }

    fn cost(&self, from: Elem, to: Elem) -> Cost {
        if from == to { 0 } else { self.policy.cost(from, to, self.support).unwrap_or(IMPOSSIBLE) }
    }

    /// What the conversions of a value into some element types cost together.
    fn conversions(&self, group: &Group, from: Elem, to: ElemSet) -> Cost {
        let each = |elem: Elem| match group.converts || elem == from {
            true if elem == from => 0,
            true => plus(self.cost(from, elem), self.policy.of_source(group.stored)),
            false => IMPOSSIBLE,
        };
        let declared = group.declared.is_some_and(|declared| declared != from);
        let start = if declared { DECLARATION } else { 0 };
        to.iter().map(each).fold(start, plus)
    }

    fn group(&mut self, group: &'p Group) {
        let mut known = ElemSet::EMPTY;
        let mut readers: Vec<usize> = Vec::new();
        for class in &group.readers {
            match self.fixed.get(class) {
                Some(elem) => known = known.union(ElemSet::of(*elem)),
                None => readers.push(self.variables[class]),
            }
        }
        let maker = match self.fixed.get(&group.maker) {
            Some(elem) => Err(*elem),
            None => Ok(self.variables[&group.maker]),
        };
        // A node that reads what it makes, around a loop, is one class on both sides.
        readers.retain(|reader| Ok(*reader) != maker);
        if readers.len() <= 2 {
            self.direct(group, maker, known, &readers);
        } else {
            self.shared(group, maker, known, &readers);
        }
    }

    /// The costs of a value with few readers, in one factor.
    fn direct(&mut self, group: &Group, maker: Result<usize, Elem>, known: ElemSet, readers: &[usize]) {
        let scope: Vec<usize> = maker.ok().into_iter().chain(readers.iter().copied()).collect();
        let costs = self.combinations(&scope).map(|values| {
            let elem = |at: usize| self.domains[scope[at]][values[at]];
            let own = match maker {
                Err(elem) => Some(elem),
                Ok(_) => elem(0).single(),
            };
            let to = (usize::from(maker.is_ok())..scope.len()).fold(known, |set, at| set.union(elem(at)));
            own.map_or(IMPOSSIBLE, |own| self.conversions(group, own, to))
        });
        let costs = costs.collect();
        self.factors.push(Factor { scope, costs });
    }

    /// The costs of a value with many readers, through a variable that says what it is converted to.
    fn shared(&mut self, group: &Group, maker: Result<usize, Elem>, known: ElemSet, readers: &[usize]) {
        let wanted = readers.iter().flat_map(|reader| self.domains[*reader].iter().copied());
        let wanted: Vec<Elem> = wanted.fold(ElemSet::EMPTY, ElemSet::union).iter().collect();
        let small_only = wanted.len() > MAX_IN_SETS;
        if small_only {
            self.untried = (LARGEST_SMALL + 1) * CONVERSION;
        }
        let sets = subsets(&wanted, if small_only { LARGEST_SMALL } else { Cost::MAX });
        let into = self.domains.len();
        self.domains.push(sets);
        let start: Vec<usize> = maker.ok().into_iter().chain([into]).collect();
        let own = |this: &Self, values: &[usize]| match maker {
            Err(elem) => Some(elem),
            Ok(variable) => this.domains[variable][values[0]].single(),
        };
        let costs = self.combinations(&start).map(|values| {
            let to = self.domains[into][values[start.len() - 1]].union(known);
            own(self, &values).map_or(IMPOSSIBLE, |own| self.conversions(group, own, to))
        });
        let costs = costs.collect();
        let mut factors = vec![Factor { scope: start.clone(), costs }];
        for reader in readers {
            let scope: Vec<usize> = start.iter().copied().chain([*reader]).collect();
            let costs = self.combinations(&scope).map(|values| {
                let there = self.domains[into][values[start.len() - 1]].union(known);
                let there = own(self, &values).map_or(there, |own| there.union(ElemSet::of(own)));
                let wanted = self.domains[*reader][values[start.len()]];
                if there.intersect(wanted) == wanted { 0 } else { IMPOSSIBLE }
            });
            let costs = costs.collect();
            factors.push(Factor { scope, costs });
        }
        self.factors.extend(factors);
    }

    /// Every combination of values of some variables, the last running fastest.
    fn combinations(&self, scope: &[usize]) -> impl Iterator<Item = Vec<usize>> + use<> {
        let sizes: Vec<usize> = scope.iter().map(|variable| self.domains[*variable].len()).collect();
        let count: usize = sizes.iter().product();
        (0..count).map(move |mut at| {
            let mut values = vec![0; sizes.len()];
            for (value, size) in values.iter_mut().zip(&sizes).rev() {
                *value = at % size;
                at /= size;
            }
            values
        })
    }
}

/// The subsets of some element types with at most `largest` members.
fn subsets(elems: &[Elem], largest: Cost) -> Vec<ElemSet> {
    let mut sets = vec![ElemSet::EMPTY];
    for elem in elems {
        for at in 0..sets.len() {
            if Cost::from(sets[at].len()) < largest {
                sets.push(sets[at].union(ElemSet::of(*elem)));
            }
        }
    }
    sets
}

/// The element types that are worth considering: those that the component has, and of the others each that is not
/// dominated by one of these. A type dominates another if every class that can have the other can have it, and if
/// every conversion from and to the other may be made from and to it: a repair that uses the other is then one that uses
/// it, with no more conversions.
fn labels(
    open: &[ClassId],
    sets: &[ElemSet],
    fixed: &BTreeMap<ClassId, Elem>,
    policy: Policy,
    support: Support,
) -> Vec<Elem> {
    let mut kept: BTreeSet<Elem> = fixed.values().copied().collect();
    let distinct: BTreeSet<u128> = open.iter().map(|class| sets[class.index()].bits()).collect();
    let distinct: Vec<ElemSet> = distinct.into_iter().map(ElemSet::from_bits).collect();
    let no_dearer = |from: (Elem, Elem), than: (Elem, Elem)| {
        let level = |(from, to)| match from == to {
            true => Some(0),
            false => policy.cost(from, to, support).map(|cost| cost / CONVERSION),
        };
        match (level(from), level(than)) {
            (_, None) => true,
            (Some(from), Some(than)) => from <= than,
            (None, Some(_)) => false,
        }
    };
    let dominates = |by: Elem, other: Elem, kept: &BTreeSet<Elem>| {
        distinct.iter().all(|set| !set.contains(other) || set.contains(by))
            && kept
                .iter()
                .all(|kept| no_dearer((*kept, by), (*kept, other)) && no_dearer((by, *kept), (other, *kept)))
    };
    loop {
        let is_new = |elem: &Elem| {
            distinct.iter().any(|set| set.contains(*elem))
                && !kept.contains(elem)
                && !kept.iter().any(|by| dominates(*by, *elem, &kept))
        };
        // The best first; what is added can dominate others.
        let Some(elem) = policy.candidates(support).find(is_new) else { break };
        kept.insert(elem);
    }
    policy.candidates(support).filter(|elem| kept.contains(elem)).collect()
}
