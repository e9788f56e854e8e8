//! Unification of the outputs of the first model with the inputs of the second one.
//!
//! The symbols of the first model are rigid: its callers choose them, or its nodes do. The symbols of the
//! second model are open: an input type is a requirement for some value of them. So an open symbol is bound
//! to the extent that it meets first, and every other axis must then have an extent that is equal for all
//! values of the rigid symbols.
//!
//! # Algorithm
//!
//! Axes with a lone open symbol bind it. The other axes are solved for an open symbol in rounds, until a
//! round makes no progress. The work is bounded by the square of the number of axes; each step costs one
//! equation of two dims.
//!
//! # Results for one axis
//!
//! | equation | result |
//! |---|---|
//! | holds for all values of the rigid symbols | the axis fits |
//! | never holds | [`ConflictKind::Extent`] |
//! | holds for one value of a symbol that callers of the first model choose | [`ConflictKind::Narrowing`], or the symbol is replaced by the value |
//! | anything else | [`ConflictKind::Unproven`], or accepted |
//!
//! **Invariant:** without [`Narrowing::Allow`] and [`Unproven::Accept`], unification succeeds only if every
//! value of an output has the type of the inputs that it is connected to.

use std::collections::{HashMap, HashSet};

use indexmap::IndexMap;
use typeloom_dim::{Bind, Condition, Decision, DimId, Dims, Domain, Solved, Verdict};
use typeloom_interface::{Interface, Parameter};
use typeloom_rewrite::coerce::keeps_values;
use typeloom_solver::elem::Elem;
use typeloom_solver::solution::{TensorType, Type};
use typeloom_types::plural::counted;

use crate::error::{BoundSymbol, Conflict, ConflictKind, PossibleCast};
use crate::map::Joint;
use crate::source::Source;
use crate::{Casts, LinkOptions, Narrowing, Unproven};

/// The leaves of a model's dims that the callers of the result do not see by name.
const HIDDEN: char = '\u{0}';

/// An axis where an output meets an input.
struct Axis {
    connection: usize,
    /// The position in the shape.
    at: usize,
    /// The extents in the common arena.
    given: DimId,
    needed: DimId,
    /// The lone symbol of the second model, if the extent is one.
    symbol: Option<String>,
}

/// The decision about one axis.
enum Step {
    Fits,
    Later,
    Conflict(ConflictKind),
}

/// A cast that a connection needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct NeededCast {
    pub(crate) from: Elem,
    pub(crate) to: Elem,
}

/// Unified dims of two models.
pub(crate) struct Unifier<'s, 'a> {
    first: &'s Source<'a>,
    second: &'s Source<'a>,
    joints: &'s [Joint],
    options: &'s LinkOptions,
    pub(crate) dims: Dims,
    /// The copies of the leaves of the first model.
    rigid: HashMap<DimId, DimId>,
    /// The copies of the leaves of the second model.
    open: HashMap<DimId, DimId>,
    /// The symbols and hidden leaves that callers of the first model choose.
    of_callers: HashSet<DimId>,
    /// The symbols of the first model with their only possible values.
    pub(crate) narrowed: IndexMap<DimId, DimId>,
    /// The axis that bound a symbol of the second model.
    bound_at: HashMap<String, (usize, usize)>,
    /// The casts, by connection.
    pub(crate) casts: HashMap<usize, NeededCast>,
    conflicts: Vec<Conflict>,
    /// The accepted claims.
    pub(crate) unproven: Vec<String>,
}

impl<'s, 'a> Unifier<'s, 'a> {
    /// Unifies the types of all connections.
    pub(crate) fn unify(
        first: &'s Source<'a>,
        second: &'s Source<'a>,
        joints: &'s [Joint],
        options: &'s LinkOptions,
    ) -> Result<Self, Vec<Conflict>> {
        let mut unifier = Self {
            first,
            second,
            joints,
            options,
            dims: Dims::new(),
            rigid: HashMap::new(),
            open: HashMap::new(),
            of_callers: HashSet::new(),
            narrowed: IndexMap::new(),
            bound_at: HashMap::new(),
            casts: HashMap::new(),
            conflicts: Vec::new(),
            unproven: Vec::new(),
        };
        for parameter in &first.interface.inputs {
            for dim in extents(&parameter.ty) {
                let copy = unifier.copy_first(dim);
                let leaves = unifier.dims.symbols_of(copy);
                unifier.of_callers.extend(leaves);
            }
        }
        let mut axes = Vec::new();
        for (at, joint) in joints.iter().enumerate() {
            unifier.types(at, &joint.output(first).ty, &joint.input(second).ty, &mut axes);
        }
        unifier.solve(axes);
        if unifier.conflicts.is_empty() {
            unifier.remaining_inputs();
            unifier.conditions();
        }
        if unifier.conflicts.is_empty() { Ok(unifier) } else { Err(unifier.conflicts) }
    }

    /// A dim of the first model in the common arena, after narrowing.
    pub(crate) fn first_dim(&mut self, dim: DimId) -> DimId {
        let copy = self.copy_first(dim);
        self.normal(copy)
    }

    /// A dim of the second model in the common arena.
    pub(crate) fn second_dim(&mut self, dim: DimId) -> DimId {
        let copy = self.copy_second(dim);
        self.normal(copy)
    }

    /// The variable of a symbol of the second model, if the interface of that model has it.
    pub(crate) fn open_symbols(&self) -> Vec<(String, DimId)> {
        let from = &self.second.interface.dims;
        let named = |(leaf, copy): (&DimId, &DimId)| Some((from.as_symbol(*leaf)?.to_owned(), *leaf, *copy));
        let mut symbols: Vec<_> = self.open.iter().filter_map(named).collect();
        // The arena of the second model orders its symbols by their first use.
        symbols.sort_by_key(|(_, leaf, _)| *leaf);
        symbols.into_iter().map(|(name, _, copy)| (name, copy)).collect()
    }

    /// The copies of the leaves of the first model that have no name.
    pub(crate) fn is_hidden(&self, leaf: DimId) -> bool {
        self.dims.as_symbol(leaf).is_some_and(|name| name.starts_with(HIDDEN))
    }

    pub(crate) fn normal(&mut self, dim: DimId) -> DimId {
        let dim = self.dims.resolve(dim);
        let values: Vec<(DimId, DimId)> =
            self.narrowed.iter().map(|(symbol, value)| (*symbol, *value)).collect();
        self.dims.substitute(dim, &values)
    }

    fn copy_first(&mut self, dim: DimId) -> DimId {
        let (from, rigid) = (&self.first.interface.dims, &mut self.rigid);
        self.dims.copy_from(from, dim, &mut |dims, leaf| {
            *rigid.entry(leaf).or_insert_with(|| match from.as_symbol(leaf) {
                Some(name) => dims.symbol(name),
                None => dims.symbol(&format!("{HIDDEN}{leaf:?}")),
            })
        })
    }

    fn copy_second(&mut self, dim: DimId) -> DimId {
        let (from, open) = (&self.second.interface.dims, &mut self.open);
        self.dims.copy_from(from, dim, &mut |dims, leaf| *open.entry(leaf).or_insert_with(|| dims.fresh()))
    }

    /// The output and the input of a connection.
    fn parameters(&self, connection: usize) -> [&'s Parameter; 2] {
        let joint = &self.joints[connection];
        [joint.output(self.first), joint.input(self.second)]
    }

    fn conflict(&mut self, connection: usize, kind: ConflictKind) {
        let [output, input] = self.parameters(connection);
        if let ConflictKind::Unproven { claim } = &kind
            && self.options.unproven == Unproven::Accept
        {
            self.unproven.push(claim.clone());
            return;
        }
        let (output, input) = (self.first.end(output), self.second.end(input));
        self.conflicts.push(Conflict { kind, output, input });
    }

    /// Compares two types from the outside in, and lists the axes of their tensors.
    fn types(&mut self, connection: usize, output: &Type, input: &Type, axes: &mut Vec<Axis>) {
        let (mut a, mut b) = (output, input);
        loop {
            match (a, b) {
                (Type::Container(outer, x), Type::Container(other, y)) if outer == other => (a, b) = (x, y),
                (Type::Tensor(x), Type::Tensor(y)) => {
                    self.elements(connection, x, y, matches!(output, Type::Tensor(_)));
                    return self.shapes(connection, x, y, axes);
                }
                (Type::Sparse(x), Type::Sparse(y)) => {
                    self.elements(connection, x, y, false);
                    return self.shapes(connection, x, y, axes);
                }
                (Type::Composite(x), Type::Composite(y)) => {
                    let is_missing = |(name, _): &(_, _)| x.child(std::sync::Arc::as_ref(name)).is_none();
                    let has_more = y.children.len() < x.children.len() || x.is_open;
                    if y.children.iter().any(is_missing) || (!y.is_open && has_more) {
                        return self.conflict(connection, ConflictKind::Kind);
                    }
                    // The nesting of types is bounded.
                    for (name, child) in &y.children {
                        if let Some(given) = x.child(name) {
                            self.types(connection, given, child, axes);
                        }
                    }
                    return;
                }
                _ if self.contains(b, a) => return,
                (Type::Unknown(_) | Type::Error, _) => {
                    let [output, input] = self.parameters(connection);
                    let claim = format!(
                        "`{}` of `{}` has the type {}, which `{}` of `{}` needs",
                        output.name,
                        self.first.name,
                        self.second.interface.show(&input.ty),
                        input.name,
                        self.second.name
                    );
                    return self.conflict(connection, ConflictKind::Unproven { claim });
                }
                _ => return self.conflict(connection, ConflictKind::Kind),
            }
        }
    }

    /// Whether a type that is no tensor contains another one.
    fn contains(&self, wide: &Type, narrow: &Type) -> bool {
        let lattice = self.second.interface.universe.lattice();
        match (wide, narrow) {
            (Type::Unknown(None), _) => true,
            (Type::Leaf(a), Type::Leaf(b)) => a == b,
            (Type::Scalar(a), Type::Scalar(b)) => a.intersect(*b) == *b,
            (Type::Unknown(Some(bound)), Type::Leaf(leaf) | Type::Unknown(Some(leaf))) => {
                lattice.is_subtype(*leaf, *bound)
            }
            _ => false,
        }
    }

    fn elements(&mut self, connection: usize, given: &TensorType, needed: &TensorType, is_plain: bool) {
        if given.elem.intersect(needed.elem) == given.elem {
            return;
        }
        let pair = given.elem.single().zip(needed.elem.single()).filter(|_| is_plain);
        let cast = match pair {
            Some((from, to)) if is_castable(from) && is_castable(to) => {
                if keeps_values(from, to) {
                    PossibleCast::Lossless
                } else {
                    PossibleCast::Lossy
                }
            }
            Some(_) | None => PossibleCast::None,
        };
        let is_allowed = match self.options.casts {
            Casts::Never => false,
            Casts::Lossless => cast == PossibleCast::Lossless,
            Casts::Any => cast != PossibleCast::None,
        };
        match pair {
            Some((from, to)) if is_allowed => drop(self.casts.insert(connection, NeededCast { from, to })),
            Some(_) | None => self.conflict(connection, ConflictKind::Element { cast }),
        }
    }

    fn shapes(&mut self, connection: usize, given: &TensorType, needed: &TensorType, axes: &mut Vec<Axis>) {
        match (&given.shape, &needed.shape) {
            (_, None) => {}
            (None, Some(shape)) => {
                let claim = format!(
                    "`{}` has {}",
                    self.joints[connection].connection.output,
                    counted(shape.len(), "axis")
                );
                self.conflict(connection, ConflictKind::Unproven { claim });
            }
            (Some(a), Some(b)) if a.len() != b.len() => {
                self.conflict(connection, ConflictKind::Rank { ranks: [a.len(), b.len()] });
            }
            (Some(a), Some(b)) => {
                for (at, (a, b)) in a.iter().zip(b).enumerate() {
                    let symbol = self.second.interface.dims.as_symbol(*b).map(str::to_owned);
                    let (given, needed) = (self.copy_first(*a), self.copy_second(*b));
                    axes.push(Axis { connection, at, given, needed, symbol });
                }
            }
        }
    }

    fn solve(&mut self, axes: Vec<Axis>) {
        // Lone symbols are bound before expressions are solved.
        let (lone, others): (Vec<Axis>, Vec<Axis>) =
            axes.into_iter().partition(|axis| self.dims.is_variable(axis.needed));
        let mut open = lone;
        open.extend(others);
        loop {
            let before = open.len();
            let mut later = Vec::new();
            for axis in open {
                match self.step(&axis) {
                    Step::Fits => {}
                    Step::Later => later.push(axis),
                    Step::Conflict(kind) => self.conflict(axis.connection, kind),
                }
            }
            if later.len() == before || later.is_empty() {
                for axis in later {
                    let claim = self.claim(&axis);
                    self.conflict(axis.connection, ConflictKind::Unproven { claim });
                }
                return;
            }
            open = later;
        }
    }

    fn step(&mut self, axis: &Axis) -> Step {
        let (given, needed) = (self.normal(axis.given), self.normal(axis.needed));
        match self.dims.compare(given, needed) {
            Decision::Equal => return Step::Fits,
            Decision::Different => return Step::Conflict(self.different(axis)),
            Decision::Undecided => {}
        }
        if self.dims.is_variable(needed) {
            if self.dims.bind(needed, given) == Bind::Bound {
                if let Some(symbol) = &axis.symbol {
                    self.bound_at.entry(symbol.clone()).or_insert((axis.connection, axis.at));
                }
                return Step::Fits;
            }
            return Step::Later;
        }
        match self.dims.solve_for(given, needed) {
            Solved::Always => Step::Fits,
            Solved::Contradiction => Step::Conflict(self.different(axis)),
            Solved::Variable { variable, value } if self.dims.is_non_negative(value) => {
                if self.dims.bind(variable, value) != Bind::Bound {
                    return Step::Later;
                }
                let (given, needed) = (self.normal(axis.given), self.normal(axis.needed));
                if self.dims.compare(given, needed) == Decision::Equal { Step::Fits } else { Step::Later }
            }
            Solved::Symbol { symbol, value }
                if self.of_callers.contains(&symbol)
                    && !self.is_hidden(symbol)
                    && !self.has_hidden(value)
                    && self.dims.is_non_negative(value) =>
            {
                if self.options.narrowing == Narrowing::Allow {
                    self.narrow(symbol, value);
                    let (given, needed) = (self.normal(axis.given), self.normal(axis.needed));
                    return if self.dims.compare(given, needed) == Decision::Equal {
                        Step::Fits
                    } else {
                        Step::Later
                    };
                }
                Step::Conflict(ConflictKind::Narrowing {
                    axis: axis.at,
                    symbol: self.shown(symbol),
                    value: self.shown(value),
                    bound: self.bound(axis),
                })
            }
            Solved::Variable { .. } | Solved::Symbol { .. } | Solved::Undecided => Step::Later,
        }
    }

    fn narrow(&mut self, symbol: DimId, value: DimId) {
        for old in self.narrowed.values_mut() {
            *old = self.dims.substitute(*old, &[(symbol, value)]);
        }
        self.narrowed.insert(symbol, value);
    }

    fn different(&mut self, axis: &Axis) -> ConflictKind {
        let (given, needed) = (self.normal(axis.given), self.normal(axis.needed));
        let extents = [self.shown(given), self.shown(needed)];
        ConflictKind::Extent { axis: axis.at, extents, bound: self.bound(axis) }
    }

    fn claim(&mut self, axis: &Axis) -> String {
        let (given, needed) = (self.normal(axis.given), self.normal(axis.needed));
        let (given, shown) = (self.shown(given), self.shown(needed));
        let [output, input] = self.parameters(axis.connection);
        let declared =
            match input.ty.tensor().and_then(|tensor| tensor.shape.as_deref()?.get(axis.at).copied()) {
                Some(dim) => self.second.interface.dims.display(dim).to_string(),
                None => shown.clone(),
            };
        let bound = self.bound(axis).map(|bound| bound.to_string()).unwrap_or_default();
        let needed = if bound.is_empty() { declared } else { shown };
        format!(
            "axis {} of `{}`, which is {given}, is {needed}, as `{}` needs{bound}",
            axis.at, output.name, input.name
        )
    }

    /// The other axis that determines the symbol of an axis.
    fn bound(&self, axis: &Axis) -> Option<BoundSymbol> {
        let symbol = axis.symbol.clone()?;
        let (connection, at) = *self.bound_at.get(&symbol)?;
        let is_own = (connection, at) == (axis.connection, axis.at);
        (!is_own).then(|| BoundSymbol {
            symbol,
            output: self.joints[connection].connection.output.clone(),
            axis: at,
        })
    }

    /// A dim as text; hidden leaves and open symbols are unknown.
    pub(crate) fn shown(&mut self, dim: DimId) -> String {
        let hidden: Vec<DimId> =
            self.dims.symbols_of(dim).into_iter().filter(|leaf| self.is_hidden(*leaf)).collect();
        let values: Vec<(DimId, DimId)> = hidden.into_iter().map(|leaf| (leaf, self.dims.fresh())).collect();
        let dim = self.dims.substitute(dim, &values);
        self.dims.display(dim).to_string()
    }

    fn has_hidden(&self, dim: DimId) -> bool {
        self.dims.symbols_of(dim).iter().any(|leaf| self.is_hidden(*leaf))
    }

    /// Whether a dim contains a number that nodes of the first model choose, or that its callers choose
    /// without a name.
    fn is_of_program(&self, dim: DimId) -> bool {
        let symbols = self.dims.symbols_of(dim);
        symbols.iter().any(|leaf| self.is_hidden(*leaf) || !self.of_callers.contains(leaf))
    }

    /// The remaining inputs of the second model must not depend on numbers that callers of the result do not
    /// choose.
    fn remaining_inputs(&mut self) {
        let second = self.second;
        let connected: HashSet<&str> =
            self.joints.iter().map(|joint| joint.connection.input.as_str()).collect();
        let inputs = second.interface.inputs.iter();
        let remaining: Vec<&Parameter> =
            inputs.filter(|input| !connected.contains(input.name.as_str())).collect();
        for input in remaining {
            for (at, dim) in extents(&input.ty).enumerate() {
                let needed = self.second_dim(dim);
                if !self.is_of_program(needed) {
                    continue;
                }
                let symbols = second.interface.dims.symbols_of(dim);
                let names = symbols.iter().filter_map(|symbol| second.interface.dims.as_symbol(*symbol));
                let origin = names.filter_map(|name| self.bound_at.get(name)).next();
                let (connection, axis) = origin.copied().unwrap_or((0, 0));
                let claim = format!(
                    "axis {at} of input `{}` is axis {axis} of `{}`, which callers of the result do not choose",
                    input.name, self.joints[connection].connection.output
                );
                self.conflict(connection, ConflictKind::Unproven { claim });
            }
        }
    }

    /// The conditions of the second model must be possible, and proved where callers of the result cannot
    /// meet them.
    fn conditions(&mut self) {
        let mut domain = Domain::nonempty();
        for condition in &self.first.interface.conditions {
            let (left, right) = (self.first_dim(condition.left), self.first_dim(condition.right));
            domain.assume(&mut self.dims, Condition { relation: condition.relation, left, right });
        }
        for condition in &self.second.interface.conditions {
            let text = self.second.interface.dims.display_condition(*condition).to_string();
            let (left, right) = (self.second_dim(condition.left), self.second_dim(condition.right));
            let substituted = Condition { relation: condition.relation, left, right };
            let verdict = self.dims.examine(substituted, &domain);
            let shown = self.dims.display_condition(substituted).to_string().replace(HIDDEN, "?");
            let connection = self.connection_of(*condition);
            match verdict {
                Verdict::Always => {}
                Verdict::Never => {
                    self.conflict(
                        connection,
                        ConflictKind::Condition { condition: text, substituted: shown },
                    );
                }
                Verdict::Only { .. }
                | Verdict::Equals { .. }
                | Verdict::Restricted { .. }
                | Verdict::Undecided => {
                    if self.is_of_program(left) || self.is_of_program(right) {
                        let claim = format!(
                            "the condition {text} of `{}` holds for `{}`",
                            self.second.name, self.joints[connection].connection.output
                        );
                        self.conflict(connection, ConflictKind::Unproven { claim });
                    }
                }
            }
        }
    }

    /// The connection that determines a symbol of a condition of the second model.
    fn connection_of(&self, condition: Condition) -> usize {
        let from: &Interface = &self.second.interface;
        let symbols = [from.dims.symbols_of(condition.left), from.dims.symbols_of(condition.right)].concat();
        let mut names = symbols.iter().filter_map(|symbol| from.dims.as_symbol(*symbol));
        names.find_map(|name| self.bound_at.get(name)).map_or(0, |(connection, _)| *connection)
    }
}

/// Whether the operator `Cast` converts the element type in some version.
fn is_castable(elem: Elem) -> bool {
    elem.dtype().is_some() && elem != Elem::COMPLEX64 && elem != Elem::COMPLEX128
}

/// The extents of the tensors in a type.
pub(crate) fn extents(ty: &Type) -> impl Iterator<Item = DimId> {
    ty.tensors().flat_map(|tensor| tensor.shape.as_deref().unwrap_or_default()).copied()
}
