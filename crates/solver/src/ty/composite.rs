//! Composites: types with named children.
//!
//! The children of a composite are sorted by name. An *open* composite has at least its children: it is the
//! type of a value of which only some children are known, because it comes from outside and some of them are
//! unbundled. Unification adds the children of the other composite to an open one.
//!
//! Algorithm: unification of rational terms would need no occurs check; these terms are finite, so a variable
//! is never bound to a composite that contains it. A pair of composites is linked after its children were
//! unified, so equal shared composites are unified once. Changes are recorded and undone if a child does not
//! unify.
//!
//! **Invariant:** nothing recurses over nested composites; pending pairs are on a list.

use std::sync::Arc;

use super::{Cell, Clash, ElemCell, ElemRef, Ty, Types, WatchList, Watchers};
use crate::map::Set;

/// The children of a composite.
#[derive(Clone, Debug)]
pub(crate) struct Children {
    /// Sorted by name; names are distinct.
    pub(crate) list: Arc<[(Arc<str>, Ty)]>,
    /// Whether further children are possible.
    pub(crate) is_open: bool,
}

impl Children {
    /// The type of a child.
    pub(crate) fn get(&self, name: &str) -> Option<Ty> {
        let at = self.list.binary_search_by(|(own, _)| (**own).cmp(name)).ok()?;
        Some(self.list[at].1)
    }

    /// Whether the composite can have the children of another one.
    fn admits(&self, other: &Self) -> bool {
        self.is_open || other.list.iter().all(|(name, _)| self.get(name).is_some())
    }

    /// All children of both; types of the first.
    fn union(&self, other: &Self) -> Self {
        let mut list = self.list.to_vec();
        list.extend(other.list.iter().filter(|(name, _)| self.get(name).is_none()).cloned());
        list.sort_by(|(a, _), (b, _)| a.cmp(b));
        Self { list: list.into(), is_open: self.is_open && other.is_open }
    }
}

/// A change that can be undone.
#[derive(Clone, Debug)]
pub(super) enum Change {
    Cell(Ty, Cell),
    Elem(ElemRef, ElemCell),
    /// Another list of watches was appended after this entry.
    Watches(u32),
}

/// A part of a running unification.
#[derive(Clone, Copy, Debug)]
pub(super) enum Task {
    Unify(Ty, Ty),
    /// The children of two composites were unified; the composites had these numbers of children.
    Link([(Ty, usize); 2]),
}

impl Types {
    /// A composite with these children, whose names are distinct.
    pub(crate) fn composite(&mut self, mut list: Vec<(Arc<str>, Ty)>, is_open: bool) -> Ty {
        list.sort_by(|(a, _), (b, _)| a.cmp(b));
        self.push_composite(Children { list: list.into(), is_open })
    }

    fn push_composite(&mut self, children: Children) -> Ty {
        let number = self.add_composite(children);
        self.push(Cell::Composite(number))
    }

    fn add_composite(&mut self, children: Children) -> u32 {
        let number = u32::try_from(self.composites.len()).expect("memory ends before 2^32 composites");
        self.composites.push(children);
        number
    }

    /// The children of a composite; `None` for other types.
    pub(crate) fn children(&mut self, ty: Ty) -> Option<Children> {
        let ty = self.resolve(ty);
        match self.cell(ty) {
            Cell::Composite(number) => self.composites.get(number as usize).cloned(),
            Cell::Error
            | Cell::Elems(..)
            | Cell::Container(..)
            | Cell::Leaf(_)
            | Cell::Var { .. }
            | Cell::Link(_) => None,
        }
    }

    /// The distinct composites in a type, inner ones first.
    pub(super) fn composites_in(&mut self, ty: Ty) -> Vec<Ty> {
        let root = self.innermost(ty);
        if !matches!(self.cell(root), Cell::Composite(_)) {
            return Vec::new();
        }
        let (mut found, mut seen) = (Vec::new(), Set::default());
        // The second item is whether the children were visited.
        let mut open = vec![(root, false)];
        while let Some((at, is_visited)) = open.pop() {
            if is_visited {
                found.push(at);
            } else if seen.insert(at) {
                open.push((at, true));
                let children = self.children(at);
                for (_, child) in children.iter().flat_map(|children| children.list.iter()) {
                    let child = self.innermost(*child);
                    if matches!(self.cell(child), Cell::Composite(_)) {
                        open.push((child, false));
                    }
                }
            }
        }
        found
    }

    /// Whether a resolved variable or composite is `ty`, or occurs in it.
    pub(super) fn occurs(&mut self, inner: Ty, ty: Ty) -> bool {
        let innermost = self.innermost(ty);
        innermost == inner
            || self.composites_in(innermost).into_iter().any(|composite| {
                let children = self.children(composite);
                let mut list = children.iter().flat_map(|children| children.list.iter());
                list.any(|(_, child)| self.innermost(*child) == inner)
            })
    }

    /// Whether all children are known completely, at any depth.
    pub(super) fn is_concrete_composite(&mut self, ty: Ty) -> bool {
        self.composites_in(ty).into_iter().all(|composite| {
            let children = self.children(composite);
            children.iter().flat_map(|children| children.list.iter()).all(|(_, child)| {
                let inner = self.innermost(*child);
                matches!(self.cell(inner), Cell::Composite(_)) || self.is_concrete(inner)
            })
        })
    }

    pub(super) fn join_watches(&mut self, left: WatchList, right: WatchList) -> WatchList {
        if let (Some(trail), Some(last)) = (&mut self.trail, Watchers::continued(left, right)) {
            trail.push(Change::Watches(last));
        }
        self.watchers.join(left, right)
    }

    /// Unifies two resolved composites child by child.
    pub(super) fn unify_composites(&mut self, a: Ty, b: Ty) -> Result<(), Clash> {
        if self.trail.is_some() {
            return self.begin_composites(a, b);
        }
        self.trail = Some(Vec::new());
        let unified = self.begin_composites(a, b).and_then(|()| self.run_tasks());
        self.pending.clear();
        for change in self.trail.take().into_iter().flatten().rev() {
            if unified.is_ok() {
                break;
            }
            match change {
                Change::Cell(ty, old) => *self.cell_mut(ty) = old,
                Change::Elem(elem, old) => self.set_elem_cell(elem, old),
                Change::Watches(last) => self.watchers.end_at(last),
            }
        }
        unified
    }

    fn begin_composites(&mut self, a: Ty, b: Ty) -> Result<(), Clash> {
        let (Some(x), Some(y)) = (self.children(a), self.children(b)) else { return Err(Clash) };
        if !x.admits(&y) || !y.admits(&x) {
            return Err(Clash);
        }
        self.pending.push(Task::Link([(a, x.list.len()), (b, y.list.len())]));
        for (name, child) in x.list.iter() {
            if let Some(other) = y.get(name) {
                self.pending.push(Task::Unify(*child, other));
            }
        }
        Ok(())
    }

    fn run_tasks(&mut self) -> Result<(), Clash> {
        while let Some(task) = self.pending.pop() {
            match task {
                Task::Unify(a, b) => self.unify(a, b)?,
                Task::Link(sides) => self.link_composites(sides)?,
            }
        }
        Ok(())
    }

    /// Links two composites whose children are unified.
    fn link_composites(&mut self, [(a, old_a), (b, old_b)]: [(Ty, usize); 2]) -> Result<(), Clash> {
        let (a, b) = (self.resolve(a), self.resolve(b));
        if a == b {
            return Ok(());
        }
        let (Some(x), Some(y)) = (self.children(a), self.children(b)) else { return Err(Clash) };
        // If an open composite got further children in the meantime, the two are unified again.
        if (x.list.len(), y.list.len()) != (old_a, old_b) {
            return self.begin_composites(a, b);
        }
        let union = x.union(&y);
        let is_new = |own: &Children, name: &str| own.get(name).is_none();
        for (name, child) in union.list.iter() {
            if (is_new(&x, name) && self.occurs(a, *child)) || (is_new(&y, name) && self.occurs(b, *child)) {
                return Err(Clash);
            }
        }
        if union.list.len() != x.list.len() || union.is_open != x.is_open {
            let number = self.add_composite(union);
            self.write(a, Cell::Composite(number));
        }
        self.write(b, Cell::Link(a));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::elem::{Elem, ElemSet};
    use crate::ty::{Copier, Numbering};
    use crate::universe::Universe;

    fn types() -> Types {
        Types::new(Arc::clone(Universe::standard()))
    }

    fn of<const N: usize>(types: &mut Types, children: [(&str, Ty); N], is_open: bool) -> Ty {
        types.composite(children.map(|(name, ty)| (Arc::from(name), ty)).to_vec(), is_open)
    }

    fn float() -> Ty {
        Types::tensor(Elem::FLOAT)
    }

    fn int() -> Ty {
        Types::tensor(Elem::INT64)
    }

    #[test]
    fn composites_are_unified_child_by_child_at_any_depth() {
        let mut types = types();
        let (x, y) = (types.fresh(), types.fresh());
        let (inner, other) = (of(&mut types, [("a", x)], false), of(&mut types, [("a", float())], false));
        let left = of(&mut types, [("b", inner), ("c", int())], false);
        let right = of(&mut types, [("c", y), ("b", other)], false);
        assert!(!types.is_concrete(left));
        assert_eq!(types.unify(left, right), Ok(()));
        assert_eq!((types.resolve(x), types.resolve(y)), (float(), int()));
        assert!(types.is_concrete(left) && types.is_concrete(right));
        assert_eq!(types.resolve(left), types.resolve(right));
    }

    #[test]
    fn an_open_composite_gets_the_children_of_the_other_one() {
        let mut types = types();
        let (a, b) = (of(&mut types, [("a", float())], true), of(&mut types, [("b", int())], true));
        assert_eq!(types.unify(a, b), Ok(()));
        let closed = of(&mut types, [("a", float()), ("b", int()), ("c", int())], false);
        assert_eq!(types.unify(b, closed), Ok(()));
        let children = types.children(a).unwrap();
        let names: Vec<&str> = children.list.iter().map(|(name, _)| &**name).collect();
        assert_eq!((names, children.is_open), (vec!["a", "b", "c"], false));
        let more = of(&mut types, [("d", int())], true);
        assert_eq!(types.unify(a, more), Err(Clash));
        let less = of(&mut types, [("a", float())], false);
        assert_eq!(types.unify(a, less), Err(Clash));
    }

    #[test]
    fn a_clash_undoes_all_changes() {
        let mut types = types();
        let (x, y, z) = (types.fresh(), types.tensor_of(ElemSet::ALL), types.fresh());
        let inner = of(&mut types, [("i", z)], true);
        let left = of(&mut types, [("a", x), ("b", y), ("c", inner), ("d", float())], false);
        let filled = of(&mut types, [("i", int()), ("j", int())], true);
        for wrong in ["a", "d"] {
            let first = if wrong == "a" { x } else { float() };
            let right = [("a", first), ("b", int()), ("c", filled), ("d", int())];
            let right = of(&mut types, right, false);
            assert_eq!(types.unify(left, right), Err(Clash));
            assert_eq!((types.resolve(x), types.resolve(z)), (x, z));
            assert_eq!(types.elems(y), Some(ElemSet::ALL));
            assert_eq!(types.children(inner).unwrap().list.len(), 1);
            assert_ne!(types.resolve(left), types.resolve(right));
        }
        // The types still unify with others.
        let right = of(&mut types, [("a", int()), ("b", float()), ("c", filled), ("d", float())], false);
        assert_eq!(types.unify(left, right), Ok(()));
        assert_eq!(types.resolve(z), int());
    }

    #[test]
    fn no_composite_contains_itself() {
        let mut types = types();
        let x = types.fresh();
        let inner = of(&mut types, [("a", x)], false);
        let outer = of(&mut types, [("b", inner)], false);
        assert_eq!(types.unify(x, outer), Err(Clash));
        assert_eq!(types.unify(outer, x), Err(Clash));
        let open = of(&mut types, [], true);
        let around = of(&mut types, [("a", open)], true);
        assert_eq!(types.unify(open, around), Err(Clash));
        let twice = of(&mut types, [("a", inner)], false);
        assert_eq!(types.unify(inner, twice), Err(Clash));
    }

    #[test]
    fn unification_of_deep_and_shared_composites_is_linear() {
        let mut types = types();
        let chain = |types: &mut Types, end: Ty| {
            (0..100_000).fold(end, |inner, _| of(types, [("a", inner), ("b", inner)], false))
        };
        let x = types.fresh();
        let (left, right) = (chain(&mut types, x), chain(&mut types, float()));
        assert_eq!(types.unify(left, right), Ok(()));
        assert_eq!(types.resolve(x), float());
        assert!(types.is_concrete(left));
        let copy = types.copy(left, &mut Copier::default());
        let encode = |types: &mut Types, ty| {
            let mut words = Vec::new();
            types.encode(ty, &mut Numbering::default(), &mut words);
            words
        };
        assert_eq!(encode(&mut types, copy), encode(&mut types, right));
    }
}
