//! Types during a solve: terms with unification variables.
//!
//! A [`Ty`] is a handle into a [`Types`] table. It denotes a constructor (tensor, sequence, ...) over an
//! element class, or a variable with an optional bound in the type tree. A `Ty` has no shape: shapes are
//! stored separately in the slot, so that `Relu` shares the type of its input by copying four bytes.
//!
//! Algorithm: first-order unification by union-find with path compression (Huet, 1976), near-linear in the
//! number of equations. An element class has the set of possible element types, which only shrinks; a class
//! with one member is replaced by that constant. Every constructor but [`Head::Composite`] has one child, so
//! a term without composites is a chain and is visited by a loop. `composite` visits the others.
//!
//! **Invariant:** a handle below [`Elem::LIMIT`] is the tensor of a known element type, so reading the type
//! of most values is a comparison with a constant.
//!
//! **Invariant:** a failed unification changes nothing.

mod composite;
mod copy;
mod unify;
mod watch;

pub(crate) use composite::Children;
pub(crate) use copy::{Copier, Numbering};
pub use unify::Narrowed;
pub use watch::Waiter;

use std::num::NonZeroU32;
use std::sync::Arc;

use typeloom_types::lattice::{Lattice, NodeNo};
use watch::{WatchList, Watchers};

use crate::elem::{Elem, ElemSet};
use crate::universe::Universe;

/// A type in a [`Types`] table.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Ty(NonZeroU32);

/// An element class: a known element type, or a variable.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ElemRef(u32);

/// The content of a handle.
#[derive(Clone, Copy, Debug)]
enum Cell {
    Error,
    /// A dense or sparse tensor, or a scalar.
    Elems(Holder, ElemRef),
    Container(Constructor, Ty),
    /// Named children, by position in [`Types::composites`].
    Composite(u32),
    Leaf(NodeNo),
    Var {
        bound: Option<NodeNo>,
        watch: WatchList,
    },
    Link(Ty),
}

/// The content of an element variable.
#[derive(Clone, Copy, Debug)]
enum ElemCell {
    Root { set: ElemSet, watch: WatchList },
    Link(ElemRef),
}

/// The types with elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Holder {
    Tensor,
    Sparse,
    Scalar,
}

/// A constructor around one type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Constructor {
    Sequence,
    Optional,
    /// A map from a key type.
    Map(Elem),
}

impl Constructor {
    /// The text of a type before the type inside.
    pub(crate) fn opening(self, universe: &Universe) -> String {
        match self {
            Self::Sequence => "seq(".to_owned(),
            Self::Optional => "optional(".to_owned(),
            Self::Map(key) => format!("map({}, ", universe.elem_name(key)),
        }
    }
}

/// The outermost constructor of a type, if it is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Head {
    /// Unknown, with an optional bound in the type tree.
    Unknown(Option<NodeNo>),
    /// A dense tensor.
    Tensor,
    /// A sparse tensor.
    Sparse,
    /// A single element.
    Scalar,
    /// A container of the inner type.
    Container(Constructor, Ty),
    /// Named children.
    Composite,
    /// A concrete leaf of the tree that is neither a tensor nor a scalar.
    Leaf(NodeNo),
    /// Already in error; unifies with every type.
    Error,
}

/// The constructor, class and possible elements of an innermost type.
pub(crate) type TypeKnowledge = (Head, (u8, u32), Option<ElemSet>);

/// Two types do not unify.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Clash;

/// The table of types.
#[derive(Clone, Debug)]
pub struct Types {
    /// The first cells are constant: the tensors of the element types, and the type of values in error.
    cells: Vec<Cell>,
    elems: Vec<ElemCell>,
    watchers: Watchers,
    composites: Vec<Children>,
    /// The changes of a running unification of composites, which a clash takes back.
    trail: Option<Vec<composite::Change>>,
    /// The remaining work of a running unification of composites.
    pending: Vec<composite::Task>,
    universe: Arc<Universe>,
}

impl Types {
    /// The type of a value in error. It unifies with every type, and no further errors are reported about it.
    pub const ERROR: Ty = Ty(NonZeroU32::new(Elem::LIMIT as u32).expect("the limit is not zero"));

    /// Creates a table over the element types and tree of `universe`.
    #[must_use]
    pub fn new(universe: Arc<Universe>) -> Self {
        let tensors = (0..u32::from(Elem::LIMIT)).map(|number| Cell::Elems(Holder::Tensor, ElemRef(number)));
        // Variables follow.
        let mut cells = Vec::with_capacity(2 * usize::from(Elem::LIMIT));
        cells.extend(tensors);
        cells.push(Cell::Error);
        Self {
            cells,
            elems: Vec::new(),
            watchers: Watchers::default(),
            composites: Vec::new(),
            trail: None,
            pending: Vec::new(),
            universe,
        }
    }

    /// The element types and the tree of the table.
    #[must_use]
    pub fn universe(&self) -> &Arc<Universe> {
        &self.universe
    }

    fn lattice(&self) -> &Lattice {
        self.universe.lattice()
    }

    /// The dense tensor type of one element type.
    #[must_use]
    pub fn tensor(elem: Elem) -> Ty {
        Ty(NonZeroU32::from(elem.non_zero()))
    }

    /// A dense tensor whose element type is one of `set`.
    pub fn tensor_of(&mut self, set: ElemSet) -> Ty {
        match set.single() {
            Some(elem) => Self::tensor(elem),
            None => self.with_elems(Holder::Tensor, set),
        }
    }

    fn with_elems(&mut self, holder: Holder, set: ElemSet) -> Ty {
        let elem = self.elem_class(set);
        self.push(Cell::Elems(holder, elem))
    }

    /// A sparse tensor whose element type is one of `set`.
    pub fn sparse_of(&mut self, set: ElemSet) -> Ty {
        self.with_elems(Holder::Sparse, set)
    }

    /// A scalar whose element type is one of `set`.
    pub fn scalar_of(&mut self, set: ElemSet) -> Ty {
        self.with_elems(Holder::Scalar, set)
    }

    /// A sequence of `inner`.
    pub fn sequence(&mut self, inner: Ty) -> Ty {
        self.container(Constructor::Sequence, inner)
    }

    /// A container of `inner`.
    pub fn container(&mut self, constructor: Constructor, inner: Ty) -> Ty {
        self.push(Cell::Container(constructor, inner))
    }

    /// A map from `key` to `value`.
    pub fn map(&mut self, key: Elem, value: Ty) -> Ty {
        self.container(Constructor::Map(key), value)
    }

    /// The type of all values at or below `node` of the tree.
    ///
    /// A bound without leaves gives a variable that unifies with no type.
    pub fn at_node(&mut self, node: NodeNo) -> Ty {
        let universe = Arc::clone(&self.universe);
        let inhabited = |set: &ElemSet| !set.is_empty();
        if let Some(set) = universe.tensor_elems(node).filter(inhabited) {
            self.tensor_of(set)
        } else if let Some(set) = universe.scalar_elems(node).filter(inhabited) {
            self.scalar_of(set)
        } else if universe.composite_node() == Some(node) {
            self.composite(Vec::new(), true)
        } else if self.lattice().node(node).is_some_and(|node| node.is_concrete()) {
            self.push(Cell::Leaf(node))
        } else if node == self.lattice().root() {
            self.fresh()
        } else {
            self.push(Cell::Var { bound: Some(node), watch: WatchList::EMPTY })
        }
    }

    /// Creates a variable.
    pub fn fresh(&mut self) -> Ty {
        self.push(Cell::Var { bound: None, watch: WatchList::EMPTY })
    }

    fn push(&mut self, cell: Cell) -> Ty {
        let number = u32::try_from(self.cells.len()).ok().and_then(NonZeroU32::new);
        self.cells.push(cell);
        Ty(number.expect("numbers start after the constants, and memory ends before 2^32 cells"))
    }

    #[inline]
    fn cell(&self, ty: Ty) -> Cell {
        self.cells[ty.number() as usize]
    }

    /// The cell of a handle that is no constant.
    #[inline]
    fn cell_mut(&mut self, ty: Ty) -> &mut Cell {
        &mut self.cells[ty.number() as usize]
    }

    fn elem_class(&mut self, set: ElemSet) -> ElemRef {
        match set.single() {
            Some(elem) => ElemRef(u32::from(elem.number())),
            None => {
                let index = u32::try_from(self.elems.len()).expect("memory ends before 2^32 classes");
                self.elems.push(ElemCell::Root { set, watch: WatchList::EMPTY });
                ElemRef(index + u32::from(Elem::LIMIT))
            }
        }
    }

    /// Follows links to the representative of `ty`.
    #[inline]
    pub fn resolve(&mut self, ty: Ty) -> Ty {
        if ty.0.get() < u32::from(Elem::LIMIT) {
            return ty;
        }
        let mut end = ty;
        while let Cell::Link(next) = self.cell(end) {
            end = next;
        }
        let mut at = ty;
        while let Cell::Link(next) = self.cell(at) {
            self.write(at, Cell::Link(end));
            at = next;
        }
        end
    }

    fn resolve_elem(&mut self, elem: ElemRef) -> ElemRef {
        let mut end = elem;
        while let Some(ElemCell::Link(next)) = self.elem_cell(end) {
            end = next;
        }
        let mut at = elem;
        while let Some(ElemCell::Link(next)) = self.elem_cell(at) {
            self.set_elem_cell(at, ElemCell::Link(end));
            at = next;
        }
        end
    }

    fn elem_cell(&self, elem: ElemRef) -> Option<ElemCell> {
        elem.0.checked_sub(u32::from(Elem::LIMIT)).map(|at| self.elems[at as usize])
    }

    fn elem_set(&mut self, elem: ElemRef) -> ElemSet {
        let elem = self.resolve_elem(elem);
        match self.elem_cell(elem) {
            Some(ElemCell::Root { set, .. }) => set,
            Some(ElemCell::Link(_)) | None => constant_set(elem),
        }
    }

    /// The outermost constructor.
    pub fn head(&mut self, ty: Ty) -> Head {
        let ty = self.resolve(ty);
        match self.cell(ty) {
            Cell::Error => Head::Error,
            Cell::Elems(Holder::Tensor, _) => Head::Tensor,
            Cell::Elems(Holder::Sparse, _) => Head::Sparse,
            Cell::Elems(Holder::Scalar, _) => Head::Scalar,
            Cell::Container(constructor, inner) => Head::Container(constructor, inner),
            Cell::Composite(_) => Head::Composite,
            Cell::Leaf(node) => Head::Leaf(node),
            Cell::Var { bound, .. } => Head::Unknown(bound),
            Cell::Link(_) => Head::Unknown(None),
        }
    }

    /// The possible element types of a tensor, sparse tensor or scalar; `None` for other types.
    pub fn elems(&mut self, ty: Ty) -> Option<ElemSet> {
        let ty = self.resolve(ty);
        if let Some(elem) = ty.constant_elem() {
            return Some(ElemSet::of(elem));
        }
        match self.cell(ty) {
            Cell::Elems(_, elem) => Some(self.elem_set(elem)),
            Cell::Error
            | Cell::Container(..)
            | Cell::Composite(_)
            | Cell::Leaf(_)
            | Cell::Var { .. }
            | Cell::Link(_) => None,
        }
    }

    /// The type inside all constructors: a tensor itself, or the element of the innermost container.
    pub fn innermost(&mut self, ty: Ty) -> Ty {
        let mut ty = self.resolve(ty);
        while let Cell::Container(_, inner) = self.cell(ty) {
            ty = self.resolve(inner);
        }
        ty
    }

    /// The handle below [`Elem::LIMIT`] of a dense tensor with a known element type.
    #[inline]
    pub(crate) fn settled_tensor(&mut self, ty: Ty) -> Option<Ty> {
        if ty.constant_elem().is_some() {
            return Some(ty);
        }
        let ty = self.resolve(ty);
        match self.cell(ty) {
            Cell::Elems(Holder::Tensor, elem) => self.elem_set(elem).single().map(Self::tensor),
            Cell::Elems(Holder::Sparse | Holder::Scalar, _)
            | Cell::Error
            | Cell::Container(..)
            | Cell::Composite(_)
            | Cell::Leaf(_)
            | Cell::Var { .. }
            | Cell::Link(_) => None,
        }
    }

    /// Whether the type is known completely.
    pub fn is_concrete(&mut self, ty: Ty) -> bool {
        let inner = self.innermost(ty);
        if inner.constant_elem().is_some() {
            return true;
        }
        match self.cell(inner) {
            Cell::Elems(_, elem) => self.elem_set(elem).len() == 1,
            Cell::Leaf(_) => true,
            Cell::Composite(_) => self.is_concrete_composite(inner),
            Cell::Error | Cell::Var { .. } | Cell::Container(..) | Cell::Link(_) => false,
        }
    }

    /// The number of the class of an innermost type; equal for unified types.
    pub(crate) fn class(&mut self, ty: Ty) -> (u8, u32) {
        let ty = self.resolve(ty);
        match self.cell(ty) {
            Cell::Elems(_, elem) => (0, self.resolve_elem(elem).0),
            Cell::Error
            | Cell::Container(..)
            | Cell::Composite(_)
            | Cell::Leaf(_)
            | Cell::Var { .. }
            | Cell::Link(_) => (1, ty.0.get()),
        }
    }

    /// The knowledge about the innermost part of a type. It is equal until the type is narrowed.
    pub(crate) fn knowledge(&mut self, ty: Ty) -> TypeKnowledge {
        let inner = self.innermost(ty);
        (self.head(inner), self.class(inner), self.elems(inner))
    }

    /// Wakes a waiter when more is known about the innermost part of `ty`.
    pub fn watch(&mut self, ty: Ty, waiter: Waiter) {
        let inner = self.innermost(ty);
        match self.cell(inner) {
            Cell::Var { bound, watch } => {
                let watch = self.watchers.add(watch, waiter);
                *self.cell_mut(inner) = Cell::Var { bound, watch };
            }
            Cell::Elems(_, elem) => {
                let elem = self.resolve_elem(elem);
                if let Some(ElemCell::Root { set, watch }) = self.elem_cell(elem) {
                    let watch = self.watchers.add(watch, waiter);
                    self.set_elem_cell(elem, ElemCell::Root { set, watch });
                }
            }
            Cell::Error | Cell::Container(..) | Cell::Composite(_) | Cell::Leaf(_) | Cell::Link(_) => {}
        }
    }

    /// Moves out the waiters that were woken since the last call.
    pub fn take_woken(&mut self, into: &mut Vec<Waiter>) {
        self.watchers.take_woken(into);
    }

    /// Removes `waiter` from the woken ones, because it has seen all changes.
    pub(crate) fn forget_woken(&mut self, waiter: Waiter) {
        self.watchers.forget_woken(waiter);
    }

    /// Whether there are woken waiters.
    #[must_use]
    pub fn has_woken(&self) -> bool {
        self.watchers.has_woken()
    }

    /// Writes a cell that can be restored after a clash.
    #[inline]
    fn write(&mut self, ty: Ty, cell: Cell) {
        let old = std::mem::replace(self.cell_mut(ty), cell);
        if let Some(trail) = &mut self.trail {
            trail.push(composite::Change::Cell(ty, old));
        }
    }

    fn set_elem_cell(&mut self, elem: ElemRef, cell: ElemCell) {
        let old = std::mem::replace(&mut self.elems[(elem.0 - u32::from(Elem::LIMIT)) as usize], cell);
        if let Some(trail) = &mut self.trail {
            trail.push(composite::Change::Elem(elem, old));
        }
    }
}

impl Ty {
    /// The number of the handle. Equal numbers are one type.
    #[inline]
    pub(crate) const fn number(self) -> u32 {
        self.0.get()
    }

    /// The element type of a handle below [`Elem::LIMIT`].
    #[inline]
    #[must_use]
    pub fn constant_elem(self) -> Option<Elem> {
        u8::try_from(self.0.get()).ok().and_then(Elem::new)
    }
}

impl ElemRef {
    fn constant(self) -> Option<Elem> {
        u8::try_from(self.0).ok().and_then(Elem::new)
    }
}

fn constant_set(elem: ElemRef) -> ElemSet {
    elem.constant().map_or(ElemSet::EMPTY, ElemSet::of)
}

#[cfg(test)]
mod tests;
