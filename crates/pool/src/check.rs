//! Checks of a type before it is added: layout, sorts, scopes, names.
//!
//! Checking a child reads one byte of metadata, so that the metadata of most children is in the cache. A type
//! that consists of closed children, the most frequent case, needs only these bytes.

use crate::error::PoolError;
use crate::graph::MAX_WORK;
use crate::layout::{self, Accepts, Cursor, FieldLists, Pattern, Role};
use crate::pool::{Idx, MAX_BINDERS, Pool, meta};
use crate::tag::{Sort, Tag, TagClass};

impl Pool {
    /// Checks a node whose children are in the pool. Returns its number of free binders and its meta byte.
    #[inline(never)]
    pub(crate) fn check_completely(&self, tag: Tag, words: &[u32]) -> Result<(u8, u8), PoolError> {
        let sort = |child: u32| self.sort_of_child(child);
        let sort =
            self.check_node(tag, words, sort, |child| (self.nodes[child as usize].tag, self.words(child)))?;
        let (mut inherited, mut free) = (0, 0);
        layout::for_each_child(tag, words, |child| inherited |= self.meta[child as usize] & meta::INHERITED);
        if inherited & meta::OPEN != 0 {
            layout::for_each_scoped_child(tag, words, |_, child, is_bound| {
                free = free.max(self.nodes[child as usize].free.saturating_sub(u8::from(is_bound)));
            });
        }
        match tag {
            Tag::Bound => free = words[0] as u8 + 1,
            Tag::Infer => inherited |= meta::INFER,
            Tag::Scheme => self.check_binder(tag, words[0], &words[1..], &mut { MAX_WORK })?,
            Tag::Declared => self.check_binder(tag, words[1], &words[2..], &mut { MAX_WORK })?,
            _ => {}
        }
        Ok((free, meta_byte(sort, inherited, free)))
    }

    /// Returns the sort of a type that a node refers to.
    pub(crate) fn sort_of_child(&self, child: u32) -> Result<Sort, PoolError> {
        match self.meta.get(child as usize) {
            Some(&meta) if child != 0 => Ok(sort_of(meta)),
            _ => Err(PoolError::UnknownType(Idx::from_raw(child.max(1)))),
        }
    }

    /// Checks layout, references, sorts, names and instances, and returns the sort of the node. `sort`
    /// returns the sort of a child, `node` the tag and words of a child.
    pub(crate) fn check_node<'a>(
        &self,
        tag: Tag,
        words: &[u32],
        sort: impl Fn(u32) -> Result<Sort, PoolError>,
        node: impl Fn(u32) -> (Tag, &'a [u32]),
    ) -> Result<Sort, PoolError> {
        let mut checked = Ok(());
        check_layout(tag, words, |accepts, child| {
            if checked.is_ok() {
                checked = match (sort(child), accepts) {
                    (Ok(found), Accepts::Only(expected)) if found != expected => {
                        Err(PoolError::WrongSort { tag, expected, found })
                    }
                    (found, Accepts::Only(_) | Accepts::Any) => found.map(drop),
                };
            }
        })?;
        checked?;
        self.check_names(tag, words)?;
        if let (Tag::Instance, [declaration, args @ ..]) = (tag, words) {
            check_instance(node(*declaration), args, sort)?;
        }
        node_sort(tag, words)
    }

    /// Whether these are ids of closed types without inference variables.
    #[inline]
    pub(crate) fn are_closed_types<'w>(&self, ids: impl IntoIterator<Item = &'w u32>) -> bool {
        let of = |id: &u32| self.meta.get(*id as usize).copied().unwrap_or(meta::NO_TYPE);
        is_closed_type(ids.into_iter().fold(0, |all, id| all | of(id)))
    }

    /// Whether these words are a struct with named fields of closed types. May return `false` for such a
    /// struct; the complete check then decides.
    #[inline]
    pub(crate) fn is_plain_struct(&self, words: &[u32]) -> bool {
        let [name, header, fields @ ..] = words else { return false };
        let count = self.names.len() as u32;
        let known = |name: u32| name.wrapping_sub(1) < count - 1;
        let (fields, rest) = fields.as_chunks::<2>();
        let (mut names, mut plain, mut metas) = (0u64, known(*name), 0);
        for &[name, ty] in fields {
            let bit = 1 << (name % 64);
            // The bit of a name depends on its id: names with different bits are different.
            plain &= known(name) & (names & bit == 0);
            names |= bit;
            metas |= self.meta.get(ty as usize).copied().unwrap_or(meta::NO_TYPE);
        }
        let expected = (fields.len() as u32) << 1 | 1;
        plain & rest.is_empty() & (*header == expected) & !fields.is_empty() & is_closed_type(metas)
    }

    /// Checks that the names are in the pool and that no field or variant name occurs twice.
    pub(crate) fn check_names(&self, tag: Tag, words: &[u32]) -> Result<(), PoolError> {
        let known = |name: u32| name != 0 && (name as usize) < self.names.len();
        let parts = match layout::pattern(tag) {
            Pattern::Regular { first: [Role::Name, ..], .. } => {
                return if known(words[0]) { Ok(()) } else { Err(PoolError::UnknownName) };
            }
            Pattern::Regular { .. } => return Ok(()),
            Pattern::Fields => words,
            Pattern::Variants => {
                if !known(words[0]) {
                    return Err(PoolError::UnknownName);
                }
                &words[1..]
            }
        };
        let mut part_names = Vec::new();
        for part in FieldLists(parts) {
            let mut names: Vec<u32> = part.field_names().collect();
            if !known(part.name) || !names.iter().all(|&name| known(name)) {
                return Err(PoolError::UnknownName);
            }
            if let Some(name) = first_duplicate(&mut names) {
                return Err(PoolError::DuplicateField { name: self.names.get(name).to_owned() });
            }
            part_names.push(part.name);
        }
        match first_duplicate(&mut part_names) {
            Some(name) => Err(PoolError::DuplicateVariant { name: self.names.get(name).to_owned() }),
            None => Ok(()),
        }
    }
}

/// Whether a meta byte, or a union of several, describes closed types without inference variables.
#[inline(always)]
fn is_closed_type(meta: u8) -> bool {
    meta & (meta::SORT | meta::INFER | meta::OPEN) == 0
}

fn first_duplicate(names: &mut [u32]) -> Option<u32> {
    names.sort_unstable();
    names.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0])
}

#[inline]
pub(crate) fn sort_of(meta: u8) -> Sort {
    match meta & meta::SORT {
        0 => Sort::Type,
        1 => Sort::Region,
        _ => Sort::Const,
    }
}

/// Returns the sort of a node of well-formed layout.
pub(crate) fn node_sort(tag: Tag, words: &[u32]) -> Result<Sort, PoolError> {
    match (tag, words) {
        (Tag::Bound, &[depth, _, _]) if depth >= MAX_BINDERS => Err(PoolError::TooManyBinders),
        (Tag::Bound, &[_, _, sort]) | (Tag::Infer, &[_, sort]) => {
            Sort::from_number(sort).ok_or(PoolError::Layout { tag })
        }
        _ => Ok(class_sort(tag)),
    }
}

#[inline]
pub(crate) fn class_sort(tag: Tag) -> Sort {
    match tag.class() {
        TagClass::Region => Sort::Region,
        TagClass::Const => Sort::Const,
        TagClass::Primitive | TagClass::Container | TagClass::TwoChild | TagClass::Constructor => Sort::Type,
    }
}

pub(crate) fn meta_byte(sort: Sort, inherited: u8, free: u8) -> u8 {
    sort as u8 | inherited & meta::INFER | if free > 0 { meta::OPEN } else { 0 }
}

/// Checks the number and roles of words and calls `child` for every child.
#[inline]
pub(crate) fn check_layout(
    tag: Tag,
    words: &[u32],
    mut child: impl FnMut(Accepts, u32),
) -> Result<(), PoolError> {
    if let Some(len) = layout::fixed_len(tag) {
        if words.len() != len as usize {
            return Err(PoolError::Layout { tag });
        }
        layout::for_each(tag, words, |role, _, word| {
            if let Role::Child(accepts) = role {
                child(accepts, word);
            }
        });
        return Ok(());
    }
    let mut cursor = Cursor::new(tag);
    for &word in words {
        let Some(role) = cursor.role() else { return Err(PoolError::Layout { tag }) };
        match role {
            Role::Child(accepts) => child(accepts, word),
            Role::Num => {
                let bad = match tag {
                    // An empty list of fields is never named; a count greater than the number of words is
                    // invalid.
                    Tag::Struct | Tag::Enum => word == 1 || (word >> 1) as usize > words.len(),
                    Tag::Scheme | Tag::Declared => Sort::from_number(word).is_none(),
                    _ => false,
                };
                if bad {
                    return Err(PoolError::Layout { tag });
                }
            }
            Role::Name => {}
        }
        cursor.advance(word);
    }
    if cursor.is_complete() { Ok(()) } else { Err(PoolError::Layout { tag }) }
}

/// Checks the arguments of an instance against the parameters of its declaration.
fn check_instance(
    (found, declaration): (Tag, &[u32]),
    args: &[u32],
    sort: impl Fn(u32) -> Result<Sort, PoolError>,
) -> Result<(), PoolError> {
    if found != Tag::Declared {
        return Err(PoolError::NotADeclaration { found });
    }
    let params = declaration.get(2..).unwrap_or_default();
    if params.len() != args.len() {
        return Err(PoolError::ArgumentCount { expected: params.len(), found: args.len() });
    }
    for (position, (&param, &arg)) in params.iter().zip(args).enumerate() {
        let found = sort(arg)?;
        let expected = Sort::from_number(param).ok_or(PoolError::Layout { tag: Tag::Declared })?;
        if found != expected {
            return Err(PoolError::ArgumentSort { position, expected, found });
        }
    }
    Ok(())
}
