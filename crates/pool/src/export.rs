//! Export of bundles.
//!
//! Types are written in postorder of a depth-first walk from the roots, children from left to right; a
//! recursive group is written as a whole after everything it refers to. This order, the string table in order
//! of first use, labels and imports in ascending order, and minimal integers make the bytes a function of the
//! roots alone, independent of the other types in the pool and of their order.
//!
//! Example of [`Pool::export`]:
//!
//! ```
//! use typeloom_pool::{Pool, Tag};
//! let mut pool = Pool::new();
//! let int = pool.primitive(Tag::Int)?;
//! let ints = pool.list(int)?;
//! let bundle = pool.export(&[("numbers", ints)])?;
//! let mut other = Pool::new();
//! let roots = other.import(bundle.as_bytes())?;
//! assert_eq!(other.signature(roots[0].ty), "list<int>");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Example of [`Pool::export_thin`]:
//!
//! ```
//! use std::collections::BTreeSet;
//! use typeloom_pool::{Pool, Tag};
//! let mut sender = Pool::new();
//! let int = sender.primitive(Tag::Int)?;
//! let ints = sender.list(int)?;
//! let receiver_has = BTreeSet::from([sender.digest(ints)?]);
//! let lists = sender.list(ints)?;
//! let thin = sender.export_thin(&[("lists", lists)], &receiver_has)?;
//!
//! let mut receiver = Pool::new();
//! let error = receiver.import(thin.as_bytes()).unwrap_err();
//! assert!(error.is_recoverable());
//! receiver.import(sender.export(&[("ints", ints)])?.as_bytes())?;
//! assert_eq!(receiver.import(thin.as_bytes())?[0].label, "lists");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::collections::BTreeSet;

use crate::digest::Digest;
use crate::graph::LOCAL;
use crate::hashing::NotPortable;
use crate::layout::{self, Quick, Role};
use crate::name::{NameError, check_name};
use crate::pool::{Idx, Pool, meta};
use crate::tag::{GROUP_NUMBER, Tag};
use crate::variables::{VariableNamesError, check_names};
use crate::wire::{MAGIC, Writer, assemble};

/// Types in portable form: one canonical byte string.
///
/// Bundles created by [`Pool::export`] are valid; others are checked on import.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Bundle {
    bytes: Vec<u8>,
}

impl std::fmt::Debug for Bundle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Bundle({} bytes)", self.bytes.len())
    }
}

impl Bundle {
    /// Wraps bytes without checking them.
    #[must_use]
    pub fn from_bytes(bytes: Vec<u8>) -> Self {
        Bundle { bytes }
    }

    /// Whether bytes start like a bundle.
    #[must_use]
    pub fn is_like(bytes: &[u8]) -> bool {
        bytes.starts_with(&MAGIC)
    }

    /// Returns the bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the bytes.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

/// Error of exporting types.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExportError {
    /// A root that is not in the pool.
    #[error("type {0:?} is not in this pool")]
    UnknownType(Idx),
    /// A root with inference variables.
    #[error(transparent)]
    NotPortable(#[from] NotPortable),
    /// A root with unbound variables.
    #[error("root `{label}` has unbound variables")]
    OpenRoot {
        /// Label of the root.
        label: String,
    },
    /// Two roots with one label.
    #[error("the label `{label}` occurs twice")]
    DuplicateLabel {
        /// The repeated label.
        label: String,
    },
    /// A label that breaks the rules for names.
    #[error("bad label: {0}")]
    Label(#[from] NameError),
    /// Names of variables that are not usable.
    #[error("the names of the variables of root `{label}`: {error}")]
    VariableNames {
        /// Label of the root.
        label: String,
        /// The error of the names.
        error: VariableNamesError,
    },
    /// More types than a bundle can contain.
    #[error("too many types for one bundle")]
    TooLarge,
}

struct Exporter<'p> {
    pool: &'p Pool,
    /// Item number plus one by id; 0 for types that are not written yet.
    position: Vec<u32>,
    string: Vec<u32>,
    strings: Vec<u32>,
    out: Writer,
    items: u32,
}

impl Exporter<'_> {
    /// Writes a type after the types that it refers to.
    #[inline(never)]
    fn visit(&mut self, root: u32) {
        let pool = self.pool;
        // Types on the path with the number of words already visited. If a type has words other than
        // children, all its words are visited at once.
        let mut stack = vec![(root, 0u32)];
        while let Some((id, at)) = stack.last_mut() {
            let (id, from) = (*id, *at as usize);
            if self.position[id as usize] != 0 {
                stack.pop();
                continue;
            }
            let tag = pool.nodes[id as usize].tag;
            let recursive = pool.meta[id as usize] & meta::RECURSIVE != 0;
            if let (Quick::Types(_), false) = (layout::quick(tag), recursive) {
                let words = pool.words(id);
                match words[from..].iter().position(|&child| self.position[child as usize] == 0) {
                    Some(found) => {
                        let found = from + found;
                        *at = found as u32 + 1;
                        stack.push((words[found], 0));
                    }
                    None => {
                        stack.pop();
                        self.write_children(id, tag, words);
                    }
                }
            } else if from > 0 || !self.enter(id, tag, &mut stack) {
                stack.pop();
                if recursive { self.write_group(id) } else { self.write_type(id, tag) }
            }
        }
    }

    /// Pushes the children that are not written yet, the first on top. Returns whether there are any.
    fn enter(&self, id: u32, tag: Tag, stack: &mut Vec<(u32, u32)>) -> bool {
        let pool = self.pool;
        let start = stack.len();
        stack[start - 1].1 = 1;
        let mut push = |child: u32| {
            if self.position[child as usize] == 0 {
                stack.push((child, 0));
            }
        };
        if let Some(group) = pool.group_of(id) {
            let span = pool.groups[group];
            for &offset in pool.digests.group_order(group) {
                let member = span.base + offset;
                layout::for_each_child(pool.nodes[member as usize].tag, pool.words(member), |child| {
                    if !span.members().contains(&child) {
                        push(child);
                    }
                });
            }
        } else {
            layout::for_each_child(tag, &pool.portable_words(&pool.digests, id), push);
        }
        stack[start..].reverse();
        stack.len() > start
    }

    /// Writes a type that consists of children only.
    #[inline]
    fn write_children(&mut self, id: u32, tag: Tag, words: &[u32]) {
        let item = self.items;
        self.out.byte(tag.number());
        if layout::fixed_len(tag).is_none() {
            self.out.varint(words.len() as u32);
        }
        for &child in words {
            self.out.varint(item - (self.position[child as usize] - 1));
        }
        self.items += 1;
        self.position[id as usize] = self.items;
    }

    #[inline]
    fn write_type(&mut self, id: u32, tag: Tag) {
        let (pool, item) = (self.pool, self.items);
        self.write_words(tag, &pool.portable_words(&pool.digests, id), |position, child| {
            item - (position[child as usize] - 1)
        });
        self.items += 1;
        self.position[id as usize] = self.items;
    }

    #[inline]
    fn write_words(&mut self, tag: Tag, words: &[u32], reference: impl Fn(&[u32], u32) -> u32) {
        self.out.byte(tag.number());
        if layout::fixed_len(tag).is_none() {
            self.out.varint(words.len() as u32);
        }
        let Exporter { position, string, strings, out, .. } = self;
        layout::for_each(tag, words, |role, _, word| {
            let value = match role {
                Role::Child(_) => reference(position, word),
                Role::Num => word,
                Role::Name => {
                    let slot = &mut string[word as usize];
                    if *slot == 0 {
                        strings.push(word);
                        *slot = strings.len() as u32;
                    }
                    *slot - 1
                }
            };
            out.varint(value);
        });
    }

    fn write_group(&mut self, id: u32) {
        let pool = self.pool;
        let Some(group) = pool.group_of(id) else { return };
        let span = pool.groups[group];
        let order = pool.digests.group_order(group);
        self.out.byte(GROUP_NUMBER);
        self.out.varint(span.len);
        let first = self.items;
        for &offset in order {
            self.items += 1;
            self.position[(span.base + offset) as usize] = self.items;
        }
        let inside = span.members();
        for &offset in order {
            let member = span.base + offset;
            self.write_words(pool.nodes[member as usize].tag, pool.words(member), |position, child| {
                let item = position[child as usize] - 1;
                if inside.contains(&child) { (item - first) << 1 | 1 } else { (first - item) << 1 }
            });
        }
    }
}

impl Pool {
    /// Writes the types of labelled roots and everything that they reach into a bundle.
    ///
    /// # Errors
    /// If a root has unbound or inference variables, or a label is invalid or repeated.
    pub fn export(&mut self, roots: &[(&str, Idx)]) -> Result<Bundle, ExportError> {
        self.export_thin(roots, &BTreeSet::new())
    }

    /// Like [`Pool::export`], with a name for each variable of a root that is a scheme. An empty name means
    /// that the variable has none, and an empty list that no variable has one.
    ///
    /// ```
    /// use typeloom_pool::{Pool, Sort, Tag};
    /// let mut pool = Pool::new();
    /// let (float, size) = (pool.primitive(Tag::F32)?, pool.bound(0, 0, Sort::Const)?);
    /// let tensor = pool.tensor(float, &[size])?;
    /// let scheme = pool.scheme(&[Sort::Const], tensor)?;
    /// let bundle = pool.export_named(&[("x", scheme, &["batch".to_owned()])])?;
    /// let mut other = Pool::new();
    /// let roots = other.import(bundle.as_bytes())?;
    /// assert_eq!(roots[0].names, ["batch"]);
    /// assert_eq!(other.digest(roots[0].ty)?, pool.digest(scheme)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Pool::export`], and [`ExportError::VariableNames`].
    pub fn export_named(&mut self, roots: &[(&str, Idx, &[String])]) -> Result<Bundle, ExportError> {
        self.export_roots(roots.to_vec(), &BTreeSet::new())
    }

    /// Like [`Pool::export`], but omits the types that the receiver has, by digest. A recursive group is
    /// omitted as a whole if the receiver has one of its members.
    ///
    /// An omitted type is replaced by its digest of 32 bytes, while a small type takes three or four: pass
    /// large types, such as the roots of an earlier bundle, and not all their parts.
    ///
    /// # Errors
    /// As for [`Pool::export`].
    pub fn export_thin(
        &mut self,
        roots: &[(&str, Idx)],
        receiver_has: &BTreeSet<Digest>,
    ) -> Result<Bundle, ExportError> {
        let roots = roots.iter().map(|(label, ty)| (*label, *ty, &[][..])).collect();
        self.export_roots(roots, receiver_has)
    }

    fn export_roots(
        &mut self,
        mut sorted: Vec<(&str, Idx, &[String])>,
        receiver_has: &BTreeSet<Digest>,
    ) -> Result<Bundle, ExportError> {
        sorted.sort_unstable();
        if let Some(pair) = sorted.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Err(ExportError::DuplicateLabel { label: pair[0].0.to_owned() });
        }
        for &(label, ty, _) in &sorted {
            check_name(label)?;
            if !self.contains(ty) {
                return Err(ExportError::UnknownType(ty));
            }
            if self.is_open(ty) {
                return Err(ExportError::OpenRoot { label: label.to_owned() });
            }
        }
        let targets: Vec<u32> = sorted.iter().map(|(_, ty, _)| ty.number()).collect();
        self.compute(&targets)?;
        let imports = if receiver_has.is_empty() { Vec::new() } else { self.imports(&targets, receiver_has) };
        let mut exporter = Exporter {
            pool: self,
            position: vec![0; self.nodes.len()],
            string: vec![0; self.names.len()],
            strings: Vec::new(),
            out: Writer::default(),
            items: imports.len() as u32,
        };
        for (&(_, id), position) in imports.iter().zip(1..) {
            exporter.position[id as usize] = position;
        }
        for &target in &targets {
            exporter.visit(target);
        }
        let Exporter { position, strings, out, items, .. } = exporter;
        let out = out.into_bytes();
        if items >= LOCAL {
            return Err(ExportError::TooLarge);
        }
        let names = self.checked_names(&sorted, &position)?;
        let digests: Vec<Digest> = imports.iter().map(|(digest, _)| *digest).collect();
        let roots = sorted.into_iter().map(|(label, ty, _)| {
            (label, position[ty.at()] - 1, self.known_digest(ty).unwrap_or(Digest([0; 32])))
        });
        let strings = strings.iter().map(|&name| self.names.get(name));
        let bytes = assemble(strings, &digests, items - imports.len() as u32, &out, roots, &names);
        Ok(Bundle { bytes })
    }

    /// The names of the variables of each root. `position` is not 0 for the types that are written.
    fn checked_names<'n>(
        &self,
        roots: &[(&str, Idx, &'n [String])],
        position: &[u32],
    ) -> Result<Vec<&'n [String]>, ExportError> {
        let mut lists = Vec::with_capacity(roots.len());
        let is_named = |names: &[String]| names.iter().any(|name| !name.is_empty());
        if !roots.iter().any(|(_, _, names)| is_named(names)) {
            return Ok(lists);
        }
        let written = (0..position.len() as u32).filter(|id| position[*id as usize] != 0);
        let symbols = self.symbol_names(written);
        for &(label, ty, names) in roots {
            if !is_named(names) {
                lists.push(&[][..]);
                continue;
            }
            check_names(names.iter().map(String::as_str), self.variable_count(ty.number()), &symbols)
                .map_err(|error| ExportError::VariableNames { label: label.to_owned(), error })?;
            lists.push(names);
        }
        Ok(lists)
    }

    /// Returns the types at which a walk from the targets reaches a type of the receiver, by ascending
    /// digest.
    fn imports(&self, targets: &[u32], receiver_has: &BTreeSet<Digest>) -> Vec<(Digest, u32)> {
        let has = |id: u32| self.digests.get(id).is_some_and(|digest| receiver_has.contains(&digest));
        let mut seen = vec![false; self.nodes.len()];
        let mut stack = targets.to_vec();
        let mut imports = Vec::new();
        while let Some(id) = stack.pop() {
            if std::mem::replace(&mut seen[id as usize], true) {
                continue;
            }
            if self.members_of(id).any(has) {
                imports.extend(self.digests.get(id).map(|digest| (digest, id)));
            } else {
                layout::for_each_child(self.nodes[id as usize].tag, self.words(id), |child| {
                    stack.push(child);
                });
            }
        }
        imports.sort_unstable();
        imports
    }
}
