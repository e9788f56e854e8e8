//! The costs of element types as factors over variables.
//!
//! Each class whose element type is open is a variable. A value is a factor over the classes of its
//! definition and its uses. A value with more than two open uses gets another variable, the set of element
//! types that it is converted into: each use then depends on the set and not on the other uses. Values that
//! share an open class form a component, and [`minimise`] solves each component.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use indexmap::IndexMap;
use petgraph::unionfind::UnionFind;
use typeloom_solver::elem::{Elem, ElemSet};
use typeloom_solver::model::ports::ClassId;

use super::eliminate::{Factor, Minimum, Variable, minimise};
use super::shared::{SharedGroup, Source};
use crate::coerce::loss::StoredTensor;
use crate::coerce::number_format::{keeps_values, rounds};
use crate::coerce::policy::{
    CONVERSION, Cost, DECLARATION, Elements, IMPOSSIBLE, LOSS, Policy, REROUTED, Support, plus,
};

/// A value with its readers in one call.
#[derive(Clone, Debug)]
pub(super) struct Group<'g> {
    pub(super) maker: ClassId,
    pub(super) readers: BTreeSet<ClassId>,
    /// Whether conversions are possible.
    pub(super) converts: bool,
    /// The tensor of a value that the model stores.
    pub(super) stored: Option<&'g StoredTensor<'g>>,
    /// The class of the input of the `Cast` that makes the value, if the readers can read it instead.
    pub(super) source: Option<ClassId>,
    /// The declared element type.
    pub(super) declared: Option<Elem>,
}

/// The classes of a problem.
#[derive(Clone, Copy)]
pub(super) struct Classes<'p> {
    /// The element types that each class can have.
    pub(super) sets: &'p [ElemSet],
    /// The classes of inputs of comparisons.
    pub(super) compared: &'p HashSet<ClassId>,
}

/// The element types of least cost.
#[derive(Clone, Debug)]
pub(super) struct Assignment {
    /// The element type of each class; `None` if the policy allows none.
    pub(super) elems: Vec<Option<Elem>>,
    /// The groups, then the shared groups, whose component has no solution.
    unsolved: BTreeSet<usize>,
    /// The source of each reader of each shared group.
    pub(super) sources: Vec<Vec<Source>>,
    pub(super) cost: Cost,
    /// Whether the cost is minimal.
    pub(super) is_proved: bool,
}

impl Assignment {
    /// Whether every component has a solution.
    pub(super) fn is_complete(&self) -> bool {
        self.unsolved.is_empty()
    }

    /// Whether the component of a group, by position, has no solution.
    pub(super) fn is_unsolved(&self, group: usize) -> bool {
        self.unsolved.contains(&group)
    }
}

/// Up to this number of element types, all subsets are tried as the conversions of one value.
const MAX_ALL_SUBSETS: usize = 8;

/// The size of the largest subsets that are tried of more types. An answer with fewer conversions is still
/// optimal.
const MAX_SUBSET: Cost = 3;

/// Chooses an element type for every class.
pub(super) fn assign(
    classes: Classes<'_>,
    groups: &[Group<'_>],
    shared: &[SharedGroup],
    policy: Policy,
    support: Support,
) -> Assignment {
    let sets = classes.sets;
    let mut assignment = Assignment {
        elems: sets.iter().map(|set| set.single()).collect(),
        unsolved: BTreeSet::new(),
        sources: shared.iter().map(|group| vec![Source::Direct; group.readers.len()]).collect(),
        cost: 0,
        is_proved: true,
    };
    for members in components(sets, groups, shared) {
        Component::new(classes, groups, shared, members, policy, support).solve(&mut assignment);
    }
    assignment
}

/// The positions of the groups, then shared groups, of each component.
fn components(sets: &[ElemSet], groups: &[Group<'_>], shared: &[SharedGroup]) -> Vec<Vec<usize>> {
    let count = groups.len() + shared.len();
    let mut components = UnionFind::<usize>::new(count);
    let mut first: BTreeMap<ClassId, usize> = BTreeMap::new();
    for at in 0..count {
        let classes: Vec<ClassId> = match groups.get(at) {
            Some(group) => group.classes().collect(),
            None => shared[at - groups.len()].classes().collect(),
        };
        for class in classes.into_iter().filter(|class| sets[class.index()].single().is_none()) {
            components.union(at, *first.entry(class).or_insert(at));
        }
    }
    let mut members: IndexMap<usize, Vec<usize>> = IndexMap::new();
    for at in 0..count {
        members.entry(components.find_mut(at)).or_default().push(at);
    }
    members.into_values().collect()
}

/// The element type of a class, or the variable for it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Port {
    Fixed(Elem),
    Open(Variable),
}

pub(super) struct Component<'p> {
    members: Vec<usize>,
    groups: Vec<&'p Group<'p>>,
    /// The shared groups with their positions among all shared groups.
    shared: Vec<(usize, &'p SharedGroup)>,
    compared: &'p HashSet<ClassId>,
    policy: Policy,
    pub(super) support: Support,
    ports: BTreeMap<ClassId, Port>,
    /// The values of each variable: for a class one element type each, for a set of conversions its element
    /// types.
    domains: Vec<Vec<ElemSet>>,
    factors: Vec<Factor>,
    /// A lower bound of the cost of assignments that are not tried.
    pub(super) untried: Cost,
}

impl<'p> Component<'p> {
    fn new(
        Classes { sets, compared }: Classes<'p>,
        groups: &'p [Group<'p>],
        shared: &'p [SharedGroup],
        members: Vec<usize>,
        policy: Policy,
        support: Support,
    ) -> Self {
        let shared: Vec<(usize, &SharedGroup)> = members
            .iter()
            .filter_map(|at| at.checked_sub(groups.len()))
            .map(|at| (at, &shared[at]))
            .collect();
        let groups: Vec<&Group<'_>> = members.iter().filter_map(|at| groups.get(*at)).collect();
        let classes: BTreeSet<ClassId> = groups
            .iter()
            .flat_map(|group| group.classes())
            .chain(shared.iter().flat_map(|(_, shared)| shared.classes()))
            .collect();
        // Declared types are candidates, because keeping a declaration costs less than changing it.
        let mut fixed: BTreeSet<Elem> = groups.iter().filter_map(|group| group.declared).collect();
        let mut open = Vec::new();
        let mut ports = BTreeMap::new();
        for class in classes {
            match sets[class.index()].single() {
                Some(elem) => {
                    fixed.insert(elem);
                    ports.insert(class, Port::Fixed(elem));
                }
                None => open.push(class),
            }
        }
        let distinct: BTreeSet<u128> = open.iter().map(|class| sets[class.index()].bits()).collect();
        let distinct: Vec<ElemSet> = distinct.into_iter().map(ElemSet::from_bits).collect();
        let candidates = candidates(&distinct, fixed, policy, support);
        let mut domains = Vec::new();
        for class in open {
            let set = sets[class.index()];
            let allowed = candidates.iter().filter(|elem| set.contains(**elem));
            let mut domain: Vec<ElemSet> = allowed.map(|elem| ElemSet::of(*elem)).collect();
            if domain.is_empty() {
                domain.extend(set.iter().take(1).map(ElemSet::of));
            }
            ports.insert(class, Port::Open(Variable::new(domains.len())));
            domains.push(domain);
        }
        Self {
            members,
            groups,
            shared,
            compared,
            policy,
            support,
            ports,
            domains,
            factors: Vec::new(),
            untried: IMPOSSIBLE,
        }
    }

    pub(super) fn port(&self, class: ClassId) -> Port {
        self.ports[&class]
    }

    pub(super) fn domain(&self, variable: Variable) -> &[ElemSet] {
        &self.domains[variable.index()]
    }

    /// Adds a variable.
    pub(super) fn variable(&mut self, domain: Vec<ElemSet>) -> Variable {
        self.domains.push(domain);
        Variable::new(self.domains.len() - 1)
    }

    /// An element type that all classes can have and that no declaration contradicts: nothing is converted.
    fn common(&self) -> Option<ElemSet> {
        let fixed = self.ports.values().filter_map(|port| match port {
            Port::Fixed(elem) => Some(*elem),
            Port::Open(_) => None,
        });
        let required: BTreeSet<Elem> =
            fixed.chain(self.groups.iter().filter_map(|group| group.declared)).collect();
        let is_required = |set: &ElemSet| required.iter().all(|elem| ElemSet::of(*elem) == *set);
        let is_everywhere = |set: &ElemSet| self.domains.iter().all(|domain| domain.contains(set));
        self.domains.first()?.iter().copied().find(|set| is_required(set) && is_everywhere(set))
    }

    fn solve(mut self, assignment: &mut Assignment) {
        if let Some(elem) = self.common() {
            for (class, _) in self.open_classes() {
                assignment.elems[class.index()] = elem.single();
            }
            return;
        }
        for at in 0..self.groups.len() {
            self.add_group(self.groups[at]);
        }
        let shared: Vec<_> =
            self.shared.clone().into_iter().map(|(at, group)| (at, self.add_shared(group))).collect();
        let sizes: Vec<usize> = self.domains.iter().map(Vec::len).collect();
        let Minimum { values, cost, is_proved } = minimise(&sizes, std::mem::take(&mut self.factors));
        if cost >= IMPOSSIBLE {
            assignment.cost = IMPOSSIBLE;
            assignment.unsolved.extend(self.members);
            return;
        }
        // Without a common type there is at least one conversion, or a reader of the input of a `Cast`.
        let has_source = self.groups.iter().any(|group| group.source.is_some());
        let is_single = cost < 2 * CONVERSION && !has_source || cost < CONVERSION;
        // An assignment that was not tried may lose less, but has no fewer conversions.
        let is_fewest = cost / CONVERSION <= self.untried / CONVERSION;
        assignment.is_proved &= is_single || is_proved && is_fewest;
        assignment.cost = plus(assignment.cost, cost);
        for (class, variable) in self.open_classes() {
            assignment.elems[class.index()] = self.domain(variable)[values[variable.index()]].single();
        }
        for (at, variables) in shared {
            assignment.sources[at] = variables.sources(&values);
        }
    }

    fn open_classes(&self) -> impl Iterator<Item = (ClassId, Variable)> {
        self.ports.iter().filter_map(|(class, port)| match port {
            Port::Open(variable) => Some((*class, *variable)),
            Port::Fixed(_) => None,
        })
    }

    pub(super) fn cost(&self, from: Elem, to: Elem, elements: Elements) -> Cost {
        if from == to { 0 } else { self.policy.cost(from, to, elements, self.support).unwrap_or(IMPOSSIBLE) }
    }

    /// The cost of the conversions of a value into a set of element types. `source` is the element type of
    /// the input of the `Cast` that makes the value.
    fn conversions(&self, group: &Group<'_>, from: Elem, to: ElemSet, source: Option<Elem>) -> Cost {
        let each = |elem: Elem| match group.converts || elem == from {
            true if elem == from => 0,
            true if source == Some(elem) && rounds(elem, from) => 0,
            true => {
                plus(self.cost(from, elem, group.elements(from, elem)), self.policy.of_source(group.stored))
            }
            false => IMPOSSIBLE,
        };
        let keeps_declaration = group.declared.is_none_or(|declared| declared == from);
        to.iter().map(each).fold(if keeps_declaration { 0 } else { DECLARATION }, plus)
    }

    /// The cost of a reader of a value, without that of the conversion.
    pub(super) fn reader(&self, reader: ClassId, from: Elem, to: Elem, elements: Elements) -> Cost {
        let compared = || Policy::of_comparison(to, elements, self.support).unwrap_or(IMPOSSIBLE);
        match from == to {
            true => 0,
            false if self.compared.contains(&reader) => plus(REROUTED, compared()),
            false => REROUTED,
        }
    }

    /// Adds one factor for up to two open readers. For more, adds a variable for the set of conversions, a
    /// factor for their cost, and a factor per reader that requires its element type to be in the set.
    fn add_group(&mut self, group: &Group<'_>) {
        let maker = self.port(group.maker);
        let (mut fixed, mut open) = (ElemSet::EMPTY, Vec::new());
        let mut wanted = ElemSet::EMPTY;
        for reader in &group.readers {
            let reader = *reader;
            match self.port(reader) {
                Port::Fixed(elem) => {
                    fixed = fixed.union(ElemSet::of(elem));
                    self.constrain(&[], &[group.maker], |this, _, elems| {
                        this.reader(reader, elems[0], elem, group.elements(elems[0], elem))
                    });
                }
                // Definition and use can be ports of one class; then they always have the same type.
                port if port == maker => {}
                Port::Open(variable) => {
                    open.push(reader);
                    wanted = self.domain(variable).iter().copied().fold(wanted, ElemSet::union);
                }
            }
        }
        let makers: Vec<ClassId> = [group.maker].into_iter().chain(group.source).collect();
        let source = |elems: &[Elem]| group.source.map(|_| elems[1]);
        if open.len() <= 2 {
            let classes = [&makers[..], &open].concat();
            return self.constrain(&[], &classes, |this, _, elems| {
                let readers = open.iter().zip(&elems[makers.len()..]);
                let to = readers.clone().fold(fixed, |set, (_, elem)| set.union(ElemSet::of(*elem)));
                let from = elems[0];
                let each =
                    readers.map(|(class, to)| this.reader(*class, from, *to, group.elements(from, *to)));
                each.fold(this.conversions(group, from, to, source(elems)), plus)
            });
        }
        let is_limited = wanted.len() as usize > MAX_ALL_SUBSETS;
        if is_limited {
            self.untried = (MAX_SUBSET + 1) * CONVERSION;
        }
        let wanted: Vec<Elem> = wanted.iter().collect();
        let set = self.variable(subsets(&wanted, if is_limited { MAX_SUBSET } else { Cost::MAX }));
        self.constrain(&[set], &makers, |this, values, elems| {
            this.conversions(group, elems[0], this.domain(set)[values[0]].union(fixed), source(elems))
        });
        for reader in open {
            self.constrain(&[set], &[group.maker, reader], |this, values, elems| {
                let available = this.domain(set)[values[0]].union(fixed);
                match available.contains(elems[1]) || elems[0] == elems[1] {
                    true => this.reader(reader, elems[0], elems[1], group.elements(elems[0], elems[1])),
                    false => IMPOSSIBLE,
                }
            });
        }
    }

    /// Adds a factor over auxiliary variables and the element types of classes.
    pub(super) fn constrain(
        &mut self,
        auxiliary: &[Variable],
        classes: &[ClassId],
        cost: impl Fn(&Self, &[usize], &[Elem]) -> Cost,
    ) {
        let mut scope = auxiliary.to_vec();
        // The fixed element type of each class, or the position of its variable in `scope`.
        let mut ports: Vec<Result<Elem, usize>> = Vec::with_capacity(classes.len());
        for class in classes {
            ports.push(match self.port(*class) {
                Port::Fixed(elem) => Ok(elem),
                Port::Open(variable) => {
                    Err(scope.iter().position(|it| *it == variable).unwrap_or_else(|| {
                        scope.push(variable);
                        scope.len() - 1
                    }))
                }
            });
        }
        let sizes: Vec<usize> = scope.iter().map(|variable| self.domain(*variable).len()).collect();
        let (mut values, mut elems) = (vec![0; sizes.len()], Vec::with_capacity(ports.len()));
        // The last variable varies fastest.
        let costs = (0..sizes.iter().product()).map(|mut combination| {
            for (value, size) in values.iter_mut().zip(&sizes).rev() {
                *value = combination % size;
                combination /= size;
            }
            elems.clear();
            elems.extend(ports.iter().filter_map(|port| match port {
                Ok(elem) => Some(*elem),
                Err(at) => self.domain(scope[*at])[values[*at]].single(),
            }));
            if elems.len() < ports.len() {
                return IMPOSSIBLE;
            }
            plus(cost(self, &values[..auxiliary.len()], &elems), 0)
        });
        let costs = costs.collect();
        self.factors.push(Factor { scope, costs });
    }
}

impl Group<'_> {
    fn classes(&self) -> impl Iterator<Item = ClassId> {
        self.readers.iter().copied().chain([self.maker]).chain(self.source)
    }

    /// The elements of the value after a conversion.
    fn elements(&self, from: Elem, to: Elem) -> Elements {
        let keeps = self.stored.map_or_else(|| keeps_values(from, to), |stored| stored.keeps(from, to));
        if keeps { Elements::Kept } else { Elements::Changed }
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

/// The element types to consider, best first: those of the fixed classes, and every type that no other type
/// in the result dominates.
///
/// A type `t` dominates a type `u` if every class that can have `u` can have `t`, and if conversions from and
/// to `t` are allowed wherever those from and to `u` are. Replacing `u` by `t` in a repair adds no
/// conversion.
fn candidates(distinct: &[ElemSet], mut kept: BTreeSet<Elem>, policy: Policy, support: Support) -> Vec<Elem> {
    let is_no_dearer = |from: (Elem, Elem), than: (Elem, Elem)| {
        let level = |(from, to)| match from == to {
            true => Some(0),
            false => {
                let elements = if keeps_values(from, to) { Elements::Kept } else { Elements::Changed };
                policy.cost(from, to, elements, support).map(|cost| cost / LOSS)
            }
        };
        match (level(from), level(than)) {
            (_, None) => true,
            (Some(from), Some(than)) => from <= than,
            (None, Some(_)) => false,
        }
    };
    let dominates = |by: Elem, other: Elem, kept: &BTreeSet<Elem>| {
        // Comparisons are not converted to bool.
        by != Elem::BOOL
            && distinct.iter().all(|set| !set.contains(other) || set.contains(by))
            && kept.iter().all(|kept| {
                is_no_dearer((*kept, by), (*kept, other)) && is_no_dearer((by, *kept), (other, *kept))
            })
    };
    loop {
        let is_new = |elem: &Elem| {
            distinct.iter().any(|set| set.contains(*elem))
                && !kept.contains(elem)
                && !kept.iter().any(|by| dominates(*by, *elem, &kept))
        };
        // Best first, because a kept type can dominate others.
        let Some(elem) = policy.candidates(support).find(is_new) else { break };
        kept.insert(elem);
    }
    policy.candidates(support).filter(|elem| kept.contains(elem)).collect()
}
