//! Operations that narrow types: unification, and narrowing to a set or to a node of the tree.
//!
//! # The question
//!
//! `Add` wants both inputs and the result to have one type, which must be among the types that its schema
//! lists. What is left of two types that must be equal?
//!
//! Unification as in textbooks knows variables and constants: a variable takes any value, and two constants
//! are equal or clash. That is too coarse for `T in {float, double, int32}`, which is neither: an input of
//! `T` and one of `U in {double, int64}` leave one possibility, and a solver that only records "unknown"
//! finds the contradiction with a third input late or never.
//!
//! # The idea
//!
//! Each unknown has the set of what it can still be, and unifying two unknowns intersects their sets (a
//! finite-domain constraint, as in CLP(FD)). There are two kinds:
//!
//! - An *element class* has a set of element types, a bit mask ([`ElemSet`]). A class with one member is
//!   replaced by that constant, an empty intersection is a [`Clash`].
//! - A *type variable* has a bound, a node of the type tree, if its constructor (tensor, sequence, ...) is
//!   unknown. Two bounds meet in the deeper one if it is below the other.
//!
//! ```
//! use std::sync::Arc;
//! use typeloom_solver::elem::{Elem, ElemSet};
//! use typeloom_solver::ty::{Clash, Types};
//! use typeloom_solver::universe::Universe;
//!
//! let mut types = Types::new(Arc::clone(Universe::try_standard()?));
//! let of = |elems: &[Elem]| elems.iter().copied().collect::<ElemSet>();
//! let t = types.tensor_of(of(&[Elem::FLOAT, Elem::DOUBLE, Elem::INT32]));
//! let u = types.tensor_of(of(&[Elem::DOUBLE, Elem::INT64]));
//! types.unify(t, u).map_err(|Clash| "no common type")?;
//! assert_eq!(types.elems(t), Some(of(&[Elem::DOUBLE])));
//! // A clash changes nothing.
//! assert!(types.unify(t, Types::tensor(Elem::INT64)).is_err());
//! assert_eq!(types.elems(u), Some(of(&[Elem::DOUBLE])));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Cost
//!
//! Links between handles are compressed (union-find), so a sequence of equations is near-linear in their
//! number. An operation that narrows wakes the steps that wait at the class or variable.
//!
//! **Invariant:** each operation decides before it writes, so a failed one leaves the table as it was.

use typeloom_types::lattice::NodeNo;

use super::{Cell, Clash, Constructor, ElemCell, ElemRef, Holder, Ty, Types};
use crate::elem::{Elem, ElemSet};
use crate::signature::AllowedTypes;

/// The effect of a narrowing to a set of types.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Narrowed {
    /// The type is inside the set.
    Inside,
    /// The type is not narrowed yet, because several constructors are possible.
    Pending,
}

impl Types {
    /// Unifies `a` and `b`.
    ///
    /// # Errors
    /// [`Clash`] when they do not unify; then nothing was changed.
    pub fn unify(&mut self, a: Ty, b: Ty) -> Result<(), Clash> {
        let (outer_a, outer_b) = (self.resolve(a), self.resolve(b));
        let (mut a, mut b) = (outer_a, outer_b);
        loop {
            if a == b || a == Self::ERROR || b == Self::ERROR {
                return Ok(());
            }
            match (self.cell(a), self.cell(b)) {
                (Cell::Var { .. }, _) => return self.bind(a, b),
                (_, Cell::Var { .. }) => return self.bind(b, a),
                (Cell::Elems(holder, x), Cell::Elems(other, y)) if holder == other => {
                    self.unify_elems(x, y)?;
                    self.link_constructors(outer_a, outer_b);
                    return Ok(());
                }
                (Cell::Container(outer, x), Cell::Container(other, y)) if outer == other => {
                    (a, b) = (self.resolve(x), self.resolve(y));
                }
                (Cell::Composite(_), Cell::Composite(_)) => return self.unify_composites(a, b),
                (Cell::Leaf(x), Cell::Leaf(y)) => return if x == y { Ok(()) } else { Err(Clash) },
                (
                    Cell::Error
                    | Cell::Elems(..)
                    | Cell::Container(..)
                    | Cell::Composite(_)
                    | Cell::Leaf(_)
                    | Cell::Link(_),
                    _,
                ) => return Err(Clash),
            }
        }
    }

    /// Two equal constructors were unified, so one handle represents both.
    fn link_constructors(&mut self, a: Ty, b: Ty) {
        if a == b {
            return;
        }
        if b.constant_elem().is_none() {
            self.write(b, Cell::Link(a));
        } else if a.constant_elem().is_none() {
            self.write(a, Cell::Link(b));
        }
    }

    /// Binds the variable `var` to `value`, another variable or a constructor.
    fn bind(&mut self, var: Ty, value: Ty) -> Result<(), Clash> {
        let Cell::Var { bound, watch } = self.cell(var) else { return Err(Clash) };
        if let Cell::Var { bound: other_bound, watch: other_watch } = self.cell(value) {
            let met = match (bound, other_bound) {
                (Some(x), Some(y)) => Some(self.lattice().meet(x, y).ok_or(Clash)?),
                (x, y) => x.or(y),
            };
            if met != bound {
                self.watchers.wake(watch);
            }
            if met != other_bound {
                self.watchers.wake(other_watch);
            }
            let watch = self.join_watches(watch, other_watch);
            self.write(value, Cell::Var { bound: met, watch });
            self.write(var, Cell::Link(value));
            return Ok(());
        }
        if self.occurs(var, value) {
            return Err(Clash);
        }
        if let Some(bound) = bound {
            self.narrow_to_node(value, bound)?;
        }
        self.write(var, Cell::Link(value));
        self.watchers.wake(watch);
        Ok(())
    }

    fn unify_elems(&mut self, x: ElemRef, y: ElemRef) -> Result<(), Clash> {
        let (x, y) = (self.resolve_elem(x), self.resolve_elem(y));
        if x == y {
            return Ok(());
        }
        match (self.elem_cell(x), self.elem_cell(y)) {
            (
                Some(ElemCell::Root { set, watch }),
                Some(ElemCell::Root { set: other, watch: other_watch }),
            ) => {
                let met = set.intersect(other);
                if met.is_empty() {
                    return Err(Clash);
                }
                if met != set {
                    self.watchers.wake(watch);
                }
                if met != other {
                    self.watchers.wake(other_watch);
                }
                let watch = self.join_watches(watch, other_watch);
                self.set_elem_cell(y, ElemCell::Link(x));
                self.set_elem_root(x, met, watch);
                Ok(())
            }
            (Some(ElemCell::Root { .. }), None) => self.narrow_elems(x, super::constant_set(y)),
            (None, Some(ElemCell::Root { .. })) => self.narrow_elems(y, super::constant_set(x)),
            (Some(ElemCell::Link(_)), _) | (_, Some(ElemCell::Link(_))) | (None, None) => Err(Clash),
        }
    }

    fn set_elem_root(&mut self, elem: ElemRef, set: ElemSet, watch: super::WatchList) {
        let cell = match set.single() {
            Some(only) => ElemCell::Link(ElemRef(u32::from(only.number()))),
            None => ElemCell::Root { set, watch },
        };
        self.set_elem_cell(elem, cell);
    }

    fn narrow_elems(&mut self, elem: ElemRef, to: ElemSet) -> Result<(), Clash> {
        let elem = self.resolve_elem(elem);
        let known = self.elem_set(elem);
        let met = known.intersect(to);
        if met.is_empty() {
            return Err(Clash);
        }
        if met != known
            && let Some(ElemCell::Root { watch, .. }) = self.elem_cell(elem)
        {
            self.watchers.wake(watch);
            self.set_elem_root(elem, met, watch);
        }
        Ok(())
    }

    /// Narrows the element type of a tensor, sparse tensor or scalar to `set`. A variable becomes a tensor.
    ///
    /// # Errors
    /// [`Clash`] when no element type is left, or the type is of another kind.
    pub fn narrow_tensor(&mut self, ty: Ty, set: ElemSet) -> Result<(), Clash> {
        let ty = self.resolve(ty);
        match self.cell(ty) {
            Cell::Error => Ok(()),
            Cell::Elems(_, elem) => self.narrow_elems(elem, set),
            Cell::Var { .. } => {
                let tensor = self.tensor_of(set);
                self.bind(ty, tensor)
            }
            Cell::Container(..) | Cell::Composite(_) | Cell::Leaf(_) | Cell::Link(_) => Err(Clash),
        }
    }

    /// Narrows `ty` to a declared set of types.
    ///
    /// # Errors
    /// [`Clash`] when no type in the set is possible.
    #[inline]
    pub fn narrow_to_allowed(&mut self, ty: Ty, allowed: &AllowedTypes) -> Result<Narrowed, Clash> {
        if let Some(elem) = ty.constant_elem() {
            return if allowed.tensor.contains(elem) { Ok(Narrowed::Inside) } else { Err(Clash) };
        }
        self.narrow_to_allowed_slow(ty, allowed)
    }

    fn narrow_to_allowed_slow(&mut self, ty: Ty, allowed: &AllowedTypes) -> Result<Narrowed, Clash> {
        let ty = self.resolve(ty);
        match self.cell(ty) {
            Cell::Error => Ok(Narrowed::Inside),
            Cell::Elems(_, elem) => self.narrow_elems(elem, allowed.tensor).map(inside),
            Cell::Container(Constructor::Sequence, inner) => {
                if allowed.seq_map.is_empty() {
                    self.narrow_inner(inner, allowed.seq_tensor)
                } else {
                    self.narrow_map(inner, &allowed.seq_map)
                }
            }
            Cell::Container(Constructor::Optional, inner) => {
                let inner = self.resolve(inner);
                match self.cell(inner) {
                    Cell::Container(Constructor::Sequence, inner) => {
                        self.narrow_inner(inner, allowed.opt_seq_tensor)
                    }
                    Cell::Var { .. } if !allowed.opt_seq_tensor.is_empty() => Ok(Narrowed::Pending),
                    Cell::Var { .. }
                    | Cell::Error
                    | Cell::Elems(..)
                    | Cell::Container(..)
                    | Cell::Composite(_)
                    | Cell::Leaf(_)
                    | Cell::Link(_) => self.narrow_inner(inner, allowed.opt_tensor),
                }
            }
            Cell::Container(Constructor::Map(_), _) => self.narrow_map(ty, &allowed.map),
            Cell::Composite(_) | Cell::Leaf(_) | Cell::Link(_) => Err(Clash),
            Cell::Var { .. } => self.narrow_var(ty, allowed),
        }
    }

    /// A variable gets a constructor only if the set has exactly one.
    fn narrow_var(&mut self, var: Ty, allowed: &AllowedTypes) -> Result<Narrowed, Clash> {
        const SEQUENCE: Constructor = Constructor::Sequence;
        const OPTIONAL: Constructor = Constructor::Optional;
        let AllowedTypes { tensor, seq_tensor, opt_tensor, opt_seq_tensor, map, seq_map } = allowed;
        let sets: [(&[Constructor], ElemSet); 4] = [
            (&[], *tensor),
            (&[SEQUENCE], *seq_tensor),
            (&[OPTIONAL], *opt_tensor),
            (&[SEQUENCE, OPTIONAL], *opt_seq_tensor),
        ];
        let mut sets = sets.into_iter().filter(|(_, set)| !set.is_empty());
        let value = match (sets.next(), sets.next(), &map[..], &seq_map[..]) {
            (Some((constructors, set)), None, [], []) => {
                let tensor = self.tensor_of(set);
                constructors.iter().fold(tensor, |inner, constructor| self.container(*constructor, inner))
            }
            (None, None, [(key, value)], []) => self.map(*key, Self::tensor(*value)),
            (None, None, [], [(key, value)]) => {
                let map = self.map(*key, Self::tensor(*value));
                self.sequence(map)
            }
            (_, _, _, _) => return Ok(Narrowed::Pending),
        };
        self.bind(var, value).map(inside)
    }

    fn narrow_inner(&mut self, inner: Ty, set: ElemSet) -> Result<Narrowed, Clash> {
        if set.is_empty() { Err(Clash) } else { self.narrow_tensor(inner, set).map(inside) }
    }

    fn narrow_map(&mut self, ty: Ty, pairs: &[(Elem, Elem)]) -> Result<Narrowed, Clash> {
        let ty = self.resolve(ty);
        match self.cell(ty) {
            Cell::Error => Ok(Narrowed::Inside),
            Cell::Var { .. } => Ok(Narrowed::Pending),
            Cell::Container(Constructor::Map(key), value) => {
                let values = pairs.iter().filter(|(k, _)| *k == key).map(|(_, v)| *v);
                let set = values.collect::<ElemSet>();
                self.narrow_inner(value, set)
            }
            Cell::Elems(..) | Cell::Container(..) | Cell::Composite(_) | Cell::Leaf(_) | Cell::Link(_) => {
                Err(Clash)
            }
        }
    }

    /// Narrows `ty` to the subtree of a node.
    ///
    /// # Errors
    /// [`Clash`] when the type is outside the subtree of `node`.
    pub fn narrow_to_node(&mut self, ty: Ty, node: NodeNo) -> Result<(), Clash> {
        if node == self.lattice().root() {
            return Ok(());
        }
        let ty = self.resolve(ty);
        let universe = std::sync::Arc::clone(&self.universe);
        let under =
            |position: Option<NodeNo>| position.is_some_and(|at| universe.lattice().is_subtype(at, node));
        match self.cell(ty) {
            Cell::Error => Ok(()),
            Cell::Elems(Holder::Tensor, _) if under(universe.tensor_node()) => Ok(()),
            Cell::Elems(Holder::Scalar, _) if under(universe.scalar_node()) => Ok(()),
            Cell::Elems(Holder::Tensor, elem) => {
                self.narrow_elems(elem, universe.tensor_elems(node).ok_or(Clash)?)
            }
            Cell::Elems(Holder::Scalar, elem) => {
                self.narrow_elems(elem, universe.scalar_elems(node).ok_or(Clash)?)
            }
            Cell::Leaf(leaf) if under(Some(leaf)) => Ok(()),
            Cell::Composite(_) if under(universe.composite_node()) => Ok(()),
            Cell::Var { bound, .. } if under(bound) => Ok(()),
            Cell::Var { .. } => {
                let below = self.at_node(node);
                self.bind(ty, below)
            }
            Cell::Elems(Holder::Sparse, _)
            | Cell::Container(..)
            | Cell::Composite(_)
            | Cell::Leaf(_)
            | Cell::Link(_) => Err(Clash),
        }
    }

    /// Unifies the element types of two types, which keep their constructors: a scalar and a tensor can share
    /// one.
    ///
    /// # Errors
    /// [`Clash`] when they have no common element type, or one of them has no elements.
    pub fn unify_element(&mut self, a: Ty, b: Ty) -> Result<(), Clash> {
        let (a, b) = (self.resolve(a), self.resolve(b));
        if a == Self::ERROR || b == Self::ERROR {
            return Ok(());
        }
        match (self.element_class(a), self.element_class(b)) {
            (Ok(Some(x)), Ok(Some(y))) => self.unify_elems(x, y),
            (Ok(None), Ok(_)) | (Ok(_), Ok(None)) => Ok(()),
            (Err(Clash), _) | (_, Err(Clash)) => Err(Clash),
        }
    }

    /// The element class of a resolved type; `None` if its constructor is unknown.
    fn element_class(&self, ty: Ty) -> Result<Option<ElemRef>, Clash> {
        match self.cell(ty) {
            Cell::Elems(_, elem) => Ok(Some(elem)),
            Cell::Var { .. } => Ok(None),
            Cell::Error | Cell::Container(..) | Cell::Composite(_) | Cell::Leaf(_) | Cell::Link(_) => {
                Err(Clash)
            }
        }
    }
}

fn inside((): ()) -> Narrowed {
    Narrowed::Inside
}
