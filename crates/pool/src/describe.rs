//! Description of types, and reconstruction from descriptions.
//!
//! A description refers to children by digest, so a list of descriptions is independent of the pool and of
//! its order. Each description comes with its digest. The digest is computed again from the content, so that
//! digests from other sources are not trusted.
//!
//! **Invariant:** after [`Pool::reconstruct`], describing the types again returns the same descriptions.
//!
//! Example of [`Pool::reconstruct`]:
//!
//! ```
//! use typeloom_pool::{Pool, Tag};
//! let mut pool = Pool::new();
//! let int = pool.primitive(Tag::Int)?;
//! let ints = pool.list(int)?;
//! let descriptors = pool.describe_transitive(ints)?;
//! let mut empty = Pool::new();
//! let types = empty.reconstruct(&descriptors)?;
//! assert_eq!(empty.signature(types[&pool.digest(ints)?]), "list<int>");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use crate::descriptor::{Descriptor, GraphRef, GroupDescriptor, ToWords, TypeDescriptor, graph_words};
use crate::digest::Digest;
use crate::error::{PoolError, counted};
use crate::graph::{LOCAL, Local, MAX_WORK};
use crate::hashing::{
    Computed, Digests, MemberRef, NotPortable, Space, hash_message, start_group, write_member,
    write_membership, write_type,
};
use crate::layout;
use crate::pool::{Idx, Pool};
use crate::tag::TagClass;

/// Error of reconstructing types. The pool is then unchanged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReconstructError {
    /// References to types that are neither described nor in the pool. The only recoverable error.
    #[error("neither described nor in this pool: {} that the descriptions refer to", counted(missing.len(), "type"))]
    NotFound {
        /// Digests of the missing types, ascending.
        missing: Vec<Digest>,
    },
    /// A description is not well formed.
    #[error(transparent)]
    Type(#[from] PoolError),
    /// A description does not have the digest that it comes with.
    #[error("the description of {claimed} has the digest {found}")]
    WrongDigest {
        /// The digest next to the description.
        claimed: Digest,
        /// The digest of its content.
        found: Digest,
    },
    /// A description is not in normal form: the reconstructed type is different.
    #[error("the description of {digest} is not in normal form")]
    NotNormal {
        /// Digest of the description.
        digest: Digest,
    },
}

/// Interned parts of a description: children are indices into `digests` (members of the current group are
/// marked with [`LOCAL`]), names are indices into `names`.
#[derive(Default)]
struct DescriptionParts {
    digests: Vec<Digest>,
    names: Vec<String>,
}

impl DescriptionParts {
    fn name(&self, at: u32) -> &str {
        &self.names[at as usize]
    }
}

impl ToWords<Digest> for DescriptionParts {
    fn child(&mut self, reference: &Digest) -> Result<u32, PoolError> {
        self.digests.push(*reference);
        Ok(self.digests.len() as u32 - 1)
    }

    fn name(&mut self, name: &str) -> Result<u32, PoolError> {
        self.names.push(name.to_owned());
        Ok(self.names.len() as u32 - 1)
    }
}

/// The types of one description, several for a group.
struct ParsedDescription<'d> {
    descriptor: &'d TypeDescriptor,
    parts: DescriptionParts,
    types: Vec<Local>,
}

impl<'d> ParsedDescription<'d> {
    fn of(descriptor: &'d TypeDescriptor) -> Result<Self, PoolError> {
        let mut parts = DescriptionParts::default();
        let types = match descriptor {
            Descriptor::Recursive { group, member } => {
                let types = graph_words(&group.members, &mut parts)?;
                if *member as usize >= types.len() {
                    return Err(PoolError::BadGroup);
                }
                types
            }
            other => vec![other.to_words(&mut parts)?],
        };
        Ok(ParsedDescription { descriptor, parts, types })
    }

    fn digest(&self) -> Digest {
        let mut message = Vec::new();
        let name = |at: u32| self.parts.name(at);
        let digest = |at: u32| &self.parts.digests[at as usize].0;
        match self.descriptor {
            Descriptor::Recursive { member, .. } => {
                start_group(&mut message, Space::Exact, self.types.len() as u32);
                for Local { tag, words } in &self.types {
                    let reference = |word: u32| {
                        if word & LOCAL != 0 {
                            MemberRef::Inner(word & !LOCAL)
                        } else {
                            MemberRef::Outer(digest(word))
                        }
                    };
                    write_member(&mut message, *tag, words, reference, name);
                }
                let group = hash_message(&mut message);
                write_membership(&mut message, Space::Exact, &group, *member);
            }
            _ => {
                let Local { tag, words } = &self.types[0];
                write_type(&mut message, Space::Exact, *tag, words, digest, name);
            }
        }
        Digest(hash_message(&mut message))
    }
}

impl TypeDescriptor {
    /// Returns the digest of the described type.
    ///
    /// # Errors
    /// If the description is not well formed, as far as that is decidable without its children.
    pub fn digest(&self) -> Result<Digest, PoolError> {
        Ok(ParsedDescription::of(self)?.digest())
    }
}

/// Interns the parts of a description; `ids` contains the described types that were interned before.
struct Interner<'p> {
    pool: &'p mut Pool,
    ids: &'p HashMap<Digest, u32>,
}

impl ToWords<Digest> for Interner<'_> {
    fn child(&mut self, reference: &Digest) -> Result<u32, PoolError> {
        let known = self.ids.get(reference).copied();
        Ok(known.or_else(|| self.pool.digests.find(reference)).unwrap_or(0))
    }

    fn name(&mut self, name: &str) -> Result<u32, PoolError> {
        Ok(self.pool.name(name)?.0)
    }
}

impl Pool {
    /// Returns the portable description of one type. A digest that the pool has not stored is computed for
    /// this call; [`Pool::digest`] and [`Pool::compute_all_digests`] store digests.
    ///
    /// # Errors
    /// If the type contains inference variables.
    ///
    /// # Panics
    /// If the id is not of this pool.
    pub fn describe(&self, ty: Idx) -> Result<TypeDescriptor, NotPortable> {
        let computed = self.computed(&[ty.number()])?;
        Ok(self.describe_known(computed.of(ty.number()), ty.number(), &mut HashMap::new()))
    }

    /// Returns the portable descriptions of a type and of all types that it reaches, each once with its
    /// digest: primitives in the order of their names, then every other type after its children.
    ///
    /// ```
    /// use typeloom_pool::{Pool, Tag};
    /// let mut pool = Pool::new();
    /// let (key, value) = (pool.primitive(Tag::Str)?, pool.primitive(Tag::Int)?);
    /// let map = pool.map(key, value)?;
    /// let list = pool.list(map)?;
    /// let described = pool.describe_transitive(list)?;
    /// let digests = [value, key, map, list].map(|ty| pool.digest(ty));
    /// assert!(described.iter().map(|(digest, _)| Ok(*digest)).eq(digests));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the type contains inference variables.
    ///
    /// # Panics
    /// If the id is not of this pool.
    pub fn describe_transitive(&self, ty: Idx) -> Result<Vec<(Digest, TypeDescriptor)>, NotPortable> {
        self.describe_all(&[ty])
    }

    /// Returns the portable descriptions of several types and of all types that they reach, each once with
    /// its digest, in the order of [`Pool::describe_transitive`]. The order depends only on the types.
    ///
    /// # Errors
    /// If a type contains inference variables.
    ///
    /// # Panics
    /// If an id is not of this pool.
    pub fn describe_all(&self, roots: &[Idx]) -> Result<Vec<(Digest, TypeDescriptor)>, NotPortable> {
        let roots: Vec<u32> = roots.iter().map(|ty| ty.number()).collect();
        let computed = self.computed(&roots)?;
        let mut order = self.postorder(&computed, &roots);
        order.sort_by_key(|&id| {
            let tag = self.nodes[id as usize].tag;
            if tag.class() == TagClass::Primitive { (0, tag.name()) } else { (1, "") }
        });
        let mut groups = HashMap::new();
        let described = order.into_iter().map(|id| {
            let digests = computed.of(id);
            let digest = digests.get(id).expect("the digests of reached types are computed");
            (digest, self.describe_known(digests, id, &mut groups))
        });
        Ok(described.collect())
    }

    /// Returns the types reached from the roots, children before parents, with the members of a group
    /// together.
    fn postorder(&self, computed: &Computed<'_>, roots: &[u32]) -> Vec<u32> {
        const DONE: u32 = LOCAL;
        let mut entered = vec![false; self.nodes.len()];
        let mut order = Vec::new();
        let mut stack: Vec<u32> = roots.iter().rev().copied().collect();
        while let Some(entry) = stack.pop() {
            let id = entry & !DONE;
            let digests = computed.of(id);
            let members: Vec<u32> = match self.group_of(id) {
                None => vec![id],
                Some(group) => {
                    let base = self.groups[group].base;
                    digests.group_order(group).iter().map(|offset| base + offset).collect()
                }
            };
            if entry & DONE != 0 {
                order.extend(members);
                continue;
            }
            if entered[id as usize] {
                continue;
            }
            stack.push(id | DONE);
            let start = stack.len();
            for &member in &members {
                entered[member as usize] = true;
            }
            for &member in &members {
                let tag = self.nodes[member as usize].tag;
                layout::for_each_child(tag, &self.portable_words(digests, member), |child| stack.push(child));
            }
            stack[start..].reverse();
        }
        order
    }

    /// Describes a type with the digests of its children.
    fn describe_known(
        &self,
        digests: &Digests,
        id: u32,
        groups: &mut HashMap<usize, Arc<GroupDescriptor>>,
    ) -> TypeDescriptor {
        let digest = |child: u32| digests.get(child).unwrap_or(Digest([0; 32]));
        let Some(group) = self.group_of(id) else {
            let tag = self.nodes[id as usize].tag;
            return Descriptor::from_words(&self.names, tag, &self.portable_words(digests, id), digest);
        };
        let base = self.groups[group].base;
        let order = digests.group_order(group);
        let mut positions = vec![0; order.len()];
        for (&offset, position) in order.iter().zip(0..) {
            positions[offset as usize] = position;
        }
        let described = groups.entry(group).or_insert_with(|| {
            let members = order
                .iter()
                .map(|offset| {
                    let member = base + offset;
                    let tag = self.nodes[member as usize].tag;
                    Descriptor::from_words(&self.names, tag, self.words(member), |child| {
                        let inside = child.checked_sub(base).and_then(|at| positions.get(at as usize));
                        inside.map_or_else(|| GraphRef::Outer(digest(child)), |at| GraphRef::Member(*at))
                    })
                })
                .collect();
            Arc::new(GroupDescriptor { members })
        });
        Descriptor::Recursive { group: Arc::clone(described), member: positions[(id - base) as usize] }
    }

    /// Reconstructs described types: existing types are kept and the others are interned. Returns the type of
    /// each description by its digest.
    ///
    /// # Errors
    /// If a description is not well formed or not in normal form, has another digest, or refers to missing
    /// types. The pool is then unchanged.
    pub fn reconstruct(
        &mut self,
        descriptors: &[(Digest, TypeDescriptor)],
    ) -> Result<BTreeMap<Digest, Idx>, ReconstructError> {
        self.transaction(|pool| pool.try_reconstruct(descriptors))
    }

    fn try_reconstruct(
        &mut self,
        descriptors: &[(Digest, TypeDescriptor)],
    ) -> Result<BTreeMap<Digest, Idx>, ReconstructError> {
        let mut parsed = Vec::new();
        let mut at_digest: HashMap<Digest, usize> = HashMap::new();
        for (claimed, descriptor) in descriptors {
            let parts = ParsedDescription::of(descriptor)?;
            let digest = parts.digest();
            if digest != *claimed {
                return Err(ReconstructError::WrongDigest { claimed: *claimed, found: digest });
            }
            at_digest.entry(digest).or_insert_with(|| {
                parsed.push((digest, parts));
                parsed.len() - 1
            });
        }
        // Children without a description must be in the pool; described children are interned before their
        // parents (Kahn's algorithm).
        let mut missing = BTreeSet::new();
        let mut outside = false;
        let mut waits = vec![0usize; parsed.len()];
        let mut parents: Vec<Vec<usize>> = vec![Vec::new(); parsed.len()];
        for (at, (_, parts)) in parsed.iter().enumerate() {
            for digest in &parts.parts.digests {
                match at_digest.get(digest) {
                    Some(&child) => {
                        waits[at] += 1;
                        parents[child].push(at);
                    }
                    None => {
                        if !std::mem::replace(&mut outside, true) {
                            self.compute_all_digests();
                        }
                        if self.digests.find(digest).is_none() {
                            missing.insert(*digest);
                        }
                    }
                }
            }
        }
        if !missing.is_empty() {
            return Err(ReconstructError::NotFound { missing: missing.into_iter().collect() });
        }
        let mut ready: Vec<usize> = (0..parsed.len()).rev().filter(|&at| waits[at] == 0).collect();
        let mut ids: HashMap<Digest, u32> = HashMap::with_capacity(parsed.len());
        while let Some(at) = ready.pop() {
            let (digest, parts) = &parsed[at];
            let id = self.intern_described(parts.descriptor, &ids)?;
            ids.insert(*digest, id);
            for &parent in &parents[at] {
                waits[parent] -= 1;
                if waits[parent] == 0 {
                    ready.push(parent);
                }
            }
        }
        let targets: Vec<u32> = ids.values().copied().collect();
        let portable = self.compute(&targets).is_ok();
        for (digest, _) in &parsed {
            let rebuilt = ids.get(digest).and_then(|&id| self.digests.get(id));
            if !portable || rebuilt != Some(*digest) {
                return Err(ReconstructError::NotNormal { digest: *digest });
            }
        }
        Ok(ids.into_iter().map(|(digest, id)| (digest, Idx::from_raw(id))).collect())
    }

    fn intern_described(
        &mut self,
        descriptor: &TypeDescriptor,
        ids: &HashMap<Digest, u32>,
    ) -> Result<u32, PoolError> {
        let mut to = Interner { pool: self, ids };
        match descriptor {
            Descriptor::Recursive { group, member } => {
                let nodes = graph_words(&group.members, &mut to)?;
                Ok(self.try_intern_locals(nodes, &mut { MAX_WORK })?.ids[*member as usize])
            }
            other => {
                let node = other.to_words(&mut to)?;
                Ok(self.intern_any(node)?.number())
            }
        }
    }
}
