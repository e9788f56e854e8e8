//! Shape digests: identity of types up to the names of declarations.
//!
//! The shape of a type is the type with the names of structs, enums and declarations replaced by one fixed
//! name. Names of fields and variants remain, and so do the names of types that consist of a name only:
//! opaque, unresolved and applied types and rigid variables. Erasing names can make members of a recursive
//! group equal, so the erased type is built in a separate pool, which minimizes it; its digest there, in the
//! space of shape digests, is the shape digest.

use std::collections::HashMap;

use crate::digest::Digest;
use crate::error::PoolError;
use crate::graph::{LOCAL, Local};
use crate::hashing::{Digests, NotPortable, Space};
use crate::layout::{self, Role};
use crate::pool::{Idx, Pool, meta};
use crate::tag::Tag;

/// Replacement of erased names.
const ERASED: &str = "_";

/// The pool of erased types, with the erased type of each requested type.
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

/// Error of computing a shape digest.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShapeError {
    /// The type contains inference variables.
    #[error(transparent)]
    NotPortable(#[from] NotPortable),
    /// The erased type cannot be interned, for example because its group takes too long to minimize.
    #[error(transparent)]
    Type(#[from] PoolError),
}

impl Pool {
    /// Returns the shape digest of a type, which is equal for types that differ only in the names of structs,
    /// enums and declarations.
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
        let erased = self.erase(ty.number(), &mut shapes);
        let digest =
            erased.map_err(ShapeError::from).and_then(|id| Ok(shapes.pool.digest(Idx::from_raw(id))?));
        self.digests.shapes = Some(shapes);
        digest
    }

    /// Returns the erased type of `ty` in the pool of shapes. Everything reachable without an erased type is
    /// interned as one graph.
    fn erase(&self, ty: u32, shapes: &mut Shapes) -> Result<u32, PoolError> {
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
