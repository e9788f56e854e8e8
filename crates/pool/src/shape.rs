//! Shape digests: identity with the names of declarations erased.
//!
//! The shape of a type is the same type with the names of structs, enums and declarations replaced by one fixed name.
//! Field and variant names stay, and so do the names of types that are nothing but a name: opaque, unresolved and
//! applied ones. Erasing names can make different members of a recursive group equal, so the erased type is built in a
//! pool of its own, which minimises it; its digest there, in the space of shape digests, is the shape digest.

use std::collections::HashMap;

use crate::digest::Digest;
use crate::error::TypeError;
use crate::graph::{LOCAL, Local};
use crate::hashing::{Digests, NotPortable, Space};
use crate::layout::{self, Role};
use crate::pool::{Idx, Pool, meta};
use crate::tag::Tag;

/// The name that replaces the erased ones.
const ERASED: &str = "_";

/// The pool of erased types, and the erased type of each type that was asked for.
#[derive(Clone, Debug)]
pub(crate) struct Shapes {
    pool: Pool,
    erased: HashMap<u32, u32>,
}

impl Shapes {
    fn new() -> Self {
        let mut pool = Pool::new();
        pool.digests = Digests::in_space(Space::Shape);
        Shapes { pool, erased: HashMap::new() }
    }

    pub(crate) fn truncate(&mut self, nodes: usize) {
        self.erased.retain(|&id, _| (id as usize) < nodes);
    }
}

/// Why a type has no shape digest.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShapeError {
    /// It contains inference variables.
    #[error(transparent)]
    NotPortable(#[from] NotPortable),
    /// Erasing names gave a type that cannot be interned, such as a group that takes too long to minimise.
    #[error(transparent)]
    Type(#[from] TypeError),
}

impl Pool {
    /// The shape digest of a type: equal for types that differ only in the names of structs, enums and declarations.
    ///
    /// # Errors
    /// If the type contains inference variables, or the erased type exceeds a limit of pools.
    ///
    /// # Panics
    /// If the id is not of this pool.
    pub fn shape_digest(&mut self, ty: Idx) -> Result<Digest, ShapeError> {
        if self.meta[ty.at()] & meta::INFER != 0 {
            return Err(NotPortable { ty }.into());
        }
        let mut shapes = self.digests.shapes.take().unwrap_or_else(|| Box::new(Shapes::new()));
        let result = self.erase(ty.number(), &mut shapes);
        let digest = match result {
            Ok(id) => shapes.pool.digest(Idx::from_raw(id)).map_err(ShapeError::from),
            Err(error) => Err(error.into()),
        };
        self.digests.shapes = Some(shapes);
        digest
    }

    /// The erased type of `ty` in the pool of shapes: everything reachable that has none yet goes in as one graph.
    fn erase(&self, ty: u32, shapes: &mut Shapes) -> Result<u32, TypeError> {
        let mut local: HashMap<u32, u32> = HashMap::new();
        let mut order = Vec::new();
        let mut stack = vec![ty];
        while let Some(id) = stack.pop() {
            if shapes.erased.contains_key(&id) || local.contains_key(&id) {
                continue;
            }
            local.insert(id, order.len() as u32);
            order.push(id);
            layout::for_each_child(self.nodes[id as usize].tag, self.words(id), |child| stack.push(child));
        }
        let mut graph = Vec::with_capacity(order.len());
        for &id in &order {
            let tag = self.nodes[id as usize].tag;
            let mut words = self.words(id).to_vec();
            let mut failed = None;
            layout::for_each(tag, self.words(id), |role, at, word| match role {
                Role::Child(_) => {
                    words[at] = match shapes.erased.get(&word) {
                        Some(&erased) => erased,
                        None => LOCAL | local[&word],
                    };
                }
                Role::Name => {
                    let erased = at == 0 && matches!(tag, Tag::Struct | Tag::Enum | Tag::Declared);
                    let name = if erased { ERASED } else { self.names.get(word) };
                    match shapes.pool.intern_checked_name(name) {
                        Ok(name) => words[at] = name,
                        Err(error) => failed = Some(error),
                    }
                }
                Role::Num => {}
            });
            if let Some(error) = failed {
                return Err(error.into());
            }
            graph.push(Local { tag, words });
        }
        if !graph.is_empty() {
            let ids = shapes.pool.intern_locals(graph)?.ids;
            shapes.erased.extend(order.into_iter().zip(ids));
        }
        Ok(shapes.erased[&ty])
    }
}
