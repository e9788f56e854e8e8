//! Nodes that are used again: building and dropping a type asks the allocator for nothing while there are some.
//!
//! A type that is dropped while nothing else refers to it gives its children back and leaves its node, a *shell*, on a
//! list of its thread; the next type that is built moves in. That a node is referred to once is read from its count, and
//! reading is all: neither the atomic operation that would end the node nor the two calls of the allocator happen. Types
//! that something else refers to go the ordinary way.
//!
//! The list is also what is left to do: a type that is dropped is put on it as it is, and then every shell from there on
//! is emptied, putting its children behind it. So a tree is dropped in one loop, with one look at the thread's list.
//!
//! **Invariant:** a shell that was emptied owns nothing, and nothing else refers to it.
//! **Invariant:** a list holds at most [`MOST`] shells, so what a thread keeps for later is bounded.
//!
//! A list is for one type of node, and thread-local values cannot be generic; so it is for nodes over the vocabulary of
//! this crate, [`Name`], and nodes over other names are allocated and freed.

use super::{Boxed, BoxedName, Stored, TyNode};
use crate::arg::GenericArg;
use crate::family::ArgList;
use crate::meta::{LARGE, Meta};
use crate::name::Name;
use crate::ty::InferVar;
use std::any::Any;
use std::cell::RefCell;
use triomphe::Arc;

/// The most shells on one list: the nodes of a term that just counts as large, a third of a megabyte.
const MOST: usize = LARGE as usize;

type List<N> = Vec<Arc<TyNode<N>>>;

thread_local! {
    static LIST: RefCell<List<Name>> = const { RefCell::new(Vec::new()) };
}

/// Calls `f` with the thread's list of nodes over `N`. There is none for other names, for a thread that is ending, and
/// while a type is being dropped.
#[inline(always)]
fn with_list<N: BoxedName, R>(f: impl FnOnce(&mut List<N>) -> Option<R>) -> Option<R> {
    let with = |list: &RefCell<List<Name>>| {
        let mut list = list.try_borrow_mut().ok()?;
        // Decided when this is compiled for an `N`.
        let list: &mut dyn Any = &mut *list;
        f(list.downcast_mut()?)
    };
    LIST.try_with(with).ok().flatten()
}

/// A node with this content.
#[inline(always)]
pub(super) fn node<N: BoxedName>(meta: Meta, data: Stored<N>) -> Arc<TyNode<N>> {
    if let Some(mut shell) = with_list(List::pop)
        && let Some(place) = Arc::get_mut(&mut shell)
    {
        place.meta = meta;
        // What was in it owns nothing, so there is nothing to drop; not to look is what this is for.
        std::mem::forget(std::mem::replace(&mut place.data, data));
        return shell;
    }
    Arc::new(TyNode { meta, data })
}

/// Lets go of a node that nothing else refers to.
#[inline(never)]
pub(super) fn release<N: BoxedName>(node: Arc<TyNode<N>>) {
    let mut node = Some(node);
    with_list(|list| {
        let mut at = list.len();
        if at < MOST {
            list.extend(node.take());
        }
        while let Some(shell) = list.get_mut(at) {
            at += 1;
            let Some(own) = Arc::get_mut(shell) else { continue };
            match &mut own.data {
                // The most frequent case by far. What is left has a name and two handles of nothing.
                Stored::Apply(_, ArgList::Two([GenericArg::Ty(a), GenericArg::Ty(b)])) => {
                    let (a, b) = (a.interned_mut().take(), b.interned_mut().take());
                    offer(list, a);
                    offer(list, b);
                }
                data => {
                    let data = std::mem::replace(data, Stored::InferenceVar(InferVar::Var(0)));
                    offer_children(list, data);
                }
            }
        }
        Some(())
    });
    // If it could not be put on a list it is freed here, and its children after it; terms are not deep.
    drop(node);
}

/// Puts a node on the list if nothing else refers to it.
#[inline(always)]
fn offer<N: BoxedName>(list: &mut List<N>, node: Option<Arc<TyNode<N>>>) {
    if let Some(node) = node
        && node.is_unique()
        && list.len() < MOST
    {
        list.push(node);
    }
}

#[inline(never)]
fn offer_children<N: BoxedName>(list: &mut List<N>, data: Stored<N>) {
    let mut each = |arg: GenericArg<Boxed<N>>| match arg {
        GenericArg::Ty(mut ty) => offer(list, ty.interned_mut().take()),
        GenericArg::Region(_) | GenericArg::Const(_) => {}
    };
    match data {
        Stored::Apply(_, args)
        | Stored::Fn(_, _, args)
        | Stored::GeneratorWitness(_, _, args)
        | Stored::Alias(_, args) => match args {
            ArgList::None => {}
            ArgList::One([a]) => each(a),
            ArgList::Two([a, b]) => {
                each(a);
                each(b);
            }
            ArgList::Many(many) => many.into_iter().for_each(each),
        },
        Stored::Placeholder(_)
        | Stored::InferenceVar(_)
        | Stored::Dyn(..)
        | Stored::BoundVariable(_)
        | Stored::Error(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::Symbols;
    use crate::ty::Ty;

    fn on_the_list() -> usize {
        with_list::<Name, usize>(|list| Some(list.len())).unwrap_or_default()
    }

    fn comb(teeth: usize) -> Ty<Boxed> {
        let cx = Boxed::new();
        let name = Name::Adt(Symbols::new().intern("Pair"));
        let leaf = || Ty::apply(&cx, Name::Bool, &[]).expect("a leaf");
        (0..teeth).fold(leaf(), |ty, _| Ty::pair(&cx, name, ty, leaf()).expect("a pair"))
    }

    #[test]
    fn a_dropped_type_leaves_its_nodes_for_the_next_one() {
        let before = on_the_list();
        drop(comb(10));
        assert_eq!(on_the_list(), before + 21);
        let again = comb(10);
        assert_eq!(on_the_list(), before);
        assert_eq!(again, comb(10));
    }

    #[test]
    fn a_type_that_something_else_refers_to_stays_as_it_is() {
        let whole = comb(10);
        let copy = whole.clone();
        let before = on_the_list();
        drop(whole);
        assert_eq!(on_the_list(), before);
        assert_eq!(copy, comb(10));
    }

    #[test]
    fn a_thread_keeps_a_bounded_number_of_nodes() {
        let types: Vec<_> = (0..100).map(|_| comb(100)).collect();
        drop(types);
        assert_eq!(on_the_list(), MOST);
    }

    #[test]
    fn a_type_may_be_dropped_by_another_thread() {
        let ty = comb(100);
        let others: Vec<_> = (0..4)
            .map(|_| ty.clone())
            .map(|ty| {
                std::thread::spawn(move || {
                    let same = ty == comb(100);
                    (same, on_the_list())
                })
            })
            .collect();
        drop(ty);
        for other in others {
            let (same, listed) = other.join().expect("the thread ends");
            assert!(same);
            assert_eq!(listed, 201);
        }
    }
}
