//! Description of types, and reconstruction from descriptions.
//!
//! A description refers to children by digest, so a list of descriptions is independent of the pool and of
//! its order. The digest of a description is computed from the description, so no claimed digest has to be
//! trusted.
//!
//! **Invariant:** after [`Pool::reconstruct`], describing the types again returns the same descriptions.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use crate::descriptor::{
    Descriptor, FromWords, GraphRef, GraphWords, GroupDescriptor, ToWords, TypeDescriptor,
};
use crate::digest::Digest;
use crate::error::{PoolError, counted};
use crate::graph::{LOCAL, Local};
use crate::hashing::{
    MemberRef, NotPortable, Space, hash_message, start_group, write_member, write_membership, write_type,
};
use crate::layout::{self, Role};
use crate::pool::{Idx, Pool};
use crate::tag::Tag;

/// Error of reconstructing types. The pool is unchanged.
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
    type Error = PoolError;

    fn child(&mut self, reference: &Digest) -> Result<u32, PoolError> {
        self.digests.push(*reference);
        Ok(self.digests.len() as u32 - 1)
    }

    fn name(&mut self, name: &str) -> Result<u32, PoolError> {
        self.names.push(name.to_owned());
        Ok(self.names.len() as u32 - 1)
    }
}

/// The types of one description (several for a group), each as tag and words.
struct ParsedDescription {
    parts: DescriptionParts,
    types: Vec<(Tag, Vec<u32>)>,
    /// Number of the described member, for a group.
    member: Option<u32>,
}

impl ParsedDescription {
    fn of(descriptor: &TypeDescriptor) -> Result<ParsedDescription, PoolError> {
        let mut parts = DescriptionParts::default();
        match descriptor {
            Descriptor::Recursive { group, member } => {
                let types: Result<Vec<_>, PoolError> =
                    group.members.iter().map(|member| member.to_words(&mut GraphWords(&mut parts))).collect();
                let types = types?;
                if *member as usize >= types.len() {
                    return Err(PoolError::BadGroup);
                }
                Ok(ParsedDescription { parts, types, member: Some(*member) })
            }
            other => {
                let single = other.to_words(&mut parts)?;
                Ok(ParsedDescription { parts, types: vec![single], member: None })
            }
        }
    }

    fn digest(&self) -> Digest {
        let mut message = Vec::new();
        let name = |at: u32| self.parts.name(at);
        let digest = |at: u32| &self.parts.digests[at as usize].0;
        match self.member {
            None => {
                let (tag, words) = &self.types[0];
                write_type(&mut message, Space::Exact, *tag, words, digest, name);
                Digest(hash_message(&mut message))
            }
            Some(member) => {
                start_group(&mut message, Space::Exact, self.types.len() as u32);
                for (tag, words) in &self.types {
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
                write_membership(&mut message, Space::Exact, &group, member);
                Digest(hash_message(&mut message))
            }
        }
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

/// Creates portable descriptors of types whose children have digests.
struct ByDigest<'p>(&'p Pool);

impl FromWords<Digest> for ByDigest<'_> {
    fn child(&mut self, word: u32) -> Digest {
        self.0.digests.get(word).unwrap_or(Digest([0; 32]))
    }

    fn name(&mut self, word: u32) -> String {
        self.0.names.get(word).to_owned()
    }
}

/// Creates portable descriptors of members of a group. `positions` contains the portable position of each
/// member.
struct ByMember<'p> {
    pool: &'p Pool,
    base: u32,
    positions: &'p [u32],
}

impl FromWords<GraphRef<Digest>> for ByMember<'_> {
    fn child(&mut self, word: u32) -> GraphRef<Digest> {
        match word.checked_sub(self.base).and_then(|offset| self.positions.get(offset as usize)) {
            Some(&position) => GraphRef::Member(position),
            None => GraphRef::Outer(self.pool.digests.get(word).unwrap_or(Digest([0; 32]))),
        }
    }

    fn name(&mut self, word: u32) -> String {
        self.pool.names.get(word).to_owned()
    }
}

impl Pool {
    /// Returns the portable description of one type.
    ///
    /// # Errors
    /// If the type contains inference variables.
    ///
    /// # Panics
    /// If the id is not of this pool.
    pub fn describe(&mut self, ty: Idx) -> Result<TypeDescriptor, NotPortable> {
        self.compute(&[ty.number()])?;
        Ok(self.describe_known(ty.number(), &mut HashMap::new()))
    }

    /// Returns the portable descriptions of a type and of all types that it reaches, each once, children
    /// before parents.
    ///
    /// # Errors
    /// If the type contains inference variables.
    ///
    /// # Panics
    /// If the id is not of this pool.
    pub fn describe_transitive(&mut self, ty: Idx) -> Result<Vec<TypeDescriptor>, NotPortable> {
        self.describe_all(&[ty])
    }

    /// Returns the portable descriptions of several types and of all types that they reach, each once,
    /// children before parents. The order depends only on the types.
    ///
    /// # Errors
    /// If a type contains inference variables.
    ///
    /// # Panics
    /// If an id is not of this pool.
    pub fn describe_all(&mut self, roots: &[Idx]) -> Result<Vec<TypeDescriptor>, NotPortable> {
        let roots: Vec<u32> = roots.iter().map(|ty| ty.number()).collect();
        self.compute(&roots)?;
        let mut groups = HashMap::new();
        Ok(self.postorder(&roots).into_iter().map(|id| self.describe_known(id, &mut groups)).collect())
    }

    /// Returns the types reached from the roots, children before parents, with the members of a group
    /// together.
    pub(crate) fn postorder(&self, roots: &[u32]) -> Vec<u32> {
        const DONE: u32 = LOCAL;
        let mut entered = vec![false; self.nodes.len()];
        let mut order = Vec::new();
        let mut stack: Vec<u32> = roots.iter().rev().copied().collect();
        while let Some(entry) = stack.pop() {
            let id = entry & !DONE;
            let members: Vec<u32> = match self.group_of(id) {
                None => vec![id],
                Some(group) => {
                    let base = self.groups[group].base;
                    self.group_order(group).iter().map(|offset| base + offset).collect()
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
                layout::for_each_child(tag, &self.portable_words(member), |child| stack.push(child));
            }
            stack[start..].reverse();
        }
        order
    }

    pub(crate) fn describe_known(
        &self,
        id: u32,
        groups: &mut HashMap<usize, Arc<GroupDescriptor>>,
    ) -> TypeDescriptor {
        let Some(group) = self.group_of(id) else {
            let tag = self.nodes[id as usize].tag;
            return Descriptor::from_words(tag, &self.portable_words(id), &mut ByDigest(self));
        };
        let base = self.groups[group].base;
        let order = self.group_order(group);
        let mut positions = vec![0; order.len()];
        for (&offset, position) in order.iter().zip(0..) {
            positions[offset as usize] = position;
        }
        let described = groups.entry(group).or_insert_with(|| {
            let members = order
                .iter()
                .map(|offset| {
                    let member = base + offset;
                    let mut from = ByMember { pool: self, base, positions: &positions };
                    Descriptor::from_words(self.nodes[member as usize].tag, self.words(member), &mut from)
                })
                .collect();
            Arc::new(GroupDescriptor { members })
        });
        Descriptor::Recursive { group: Arc::clone(described), member: positions[(id - base) as usize] }
    }

    /// Reconstructs described types: existing types are kept and the others are interned. Returns the type of
    /// each description by its digest.
    ///
    /// ```
    /// use typeloom_pool::{Pool, Tag};
    /// let mut pool = Pool::new();
    /// let int = pool.primitive(Tag::Int)?;
    /// let ints = pool.list(int)?;
    /// let descriptors = pool.describe_transitive(ints)?;
    /// let mut empty = Pool::new();
    /// let types = empty.reconstruct(&descriptors)?;
    /// assert_eq!(empty.signature(types[&pool.digest(ints)?]), "list<int>");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If a description is not well formed or not in normal form, or refers to missing types. The pool is
    /// then unchanged.
    pub fn reconstruct(
        &mut self,
        descriptors: &[TypeDescriptor],
    ) -> Result<BTreeMap<Digest, Idx>, ReconstructError> {
        let checkpoint = self.checkpoint();
        let result = self.try_reconstruct(descriptors);
        if result.is_err() {
            self.rollback(checkpoint);
        }
        result
    }

    fn try_reconstruct(
        &mut self,
        descriptors: &[TypeDescriptor],
    ) -> Result<BTreeMap<Digest, Idx>, ReconstructError> {
        let mut parsed = Vec::new();
        let mut at_digest: HashMap<Digest, usize> = HashMap::new();
        for descriptor in descriptors {
            let parts = ParsedDescription::of(descriptor)?;
            let digest = parts.digest();
            at_digest.entry(digest).or_insert_with(|| {
                parsed.push((digest, parts));
                parsed.len() - 1
            });
        }
        // Outside children must be in the pool; the others are interned first (Kahn's algorithm).
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
            let id = self.intern_parsed(parts, &ids)?;
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

    fn intern_parsed(
        &mut self,
        parsed: &ParsedDescription,
        ids: &HashMap<Digest, u32>,
    ) -> Result<u32, PoolError> {
        let mut locals = Vec::with_capacity(parsed.types.len());
        for (tag, words) in &parsed.types {
            let mut mapped = words.clone();
            let mut failed = None;
            layout::for_each(*tag, words, |role, at, word| match role {
                Role::Child(_) if word & LOCAL != 0 => {}
                Role::Child(_) => {
                    let digest = &parsed.parts.digests[word as usize];
                    mapped[at] = match ids.get(digest) {
                        Some(&id) => id,
                        None => self.digests.find(digest).unwrap_or(0),
                    };
                }
                Role::Name => match self.name(parsed.parts.name(word)) {
                    Ok(name) => mapped[at] = name.0,
                    Err(error) => failed = Some(error),
                },
                Role::Num => {}
            });
            if let Some(error) = failed {
                return Err(error);
            }
            locals.push(Local { tag: *tag, words: mapped });
        }
        match parsed.member {
            Some(member) => {
                let mut work = crate::graph::MAX_WORK;
                Ok(self.try_intern_locals(locals, &mut work)?.ids[member as usize])
            }
            None => {
                let Local { tag, words } = locals.swap_remove(0);
                Ok(self.intern_any(tag, words)?.number())
            }
        }
    }
}
