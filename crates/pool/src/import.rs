//! Import of bundles: iterative, bounded, all or nothing.
//!
//! Types are interned as they are read, which checks sorts, scopes and names. All other properties of the
//! canonical form are checked during the same pass: normal forms, minimal groups, order, no duplicates, no
//! unreachable items. Digests are recomputed and compared with those claimed for the roots. An error rolls
//! the pool back.
//!
//! **Invariant:** accepted bytes are exactly those that exporting the imported roots with their names
//! produces.

use crate::digest::Digest;
use crate::error::PoolError;
use crate::graph::{LOCAL, Local};
use crate::hashing::{bit, set_bit};
use crate::import_error::{Bounded, ImportError, ImportErrorKind};
use crate::layout::{self, Cursor, Quick, Role};
use crate::limits::ImportLimits;
use crate::name::{NameError, check_name};
use crate::pool::{Idx, Pool};
use crate::tag::{GROUP_NUMBER, Tag, TagClass};
use crate::variables::{VariableNamesError, check_names, check_variable_name};
use crate::wire::{FORMAT_VERSION, HEADER, MAGIC, NAMED_VERSION, Reader, SUITE_BLAKE3, TRAILER};

/// A root of an imported bundle.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ImportedRoot {
    /// Label of the root.
    pub label: String,
    /// Type of the root.
    pub ty: Idx,
    /// Digest of the type.
    pub digest: Digest,
    /// Names of the variables of a scheme, empty for a variable without a name; no names for other types, and
    /// for a scheme that was exported without.
    pub names: Vec<String>,
}

/// A root as stored in the bytes.
pub(crate) struct RawRoot<'b> {
    pub(crate) label: &'b str,
    pub(crate) item: u32,
    pub(crate) digest: Digest,
    /// Names of the variables of the root.
    pub(crate) names: Vec<&'b str>,
    offset: usize,
    names_offset: usize,
}

impl RawRoot<'_> {
    fn names_error(&self, error: VariableNamesError) -> ImportError {
        let label = self.label.to_owned();
        ImportError::at(self.names_offset, ImportErrorKind::VariableNames { label, error })
    }
}

fn limit(offset: usize, what: Bounded, limit: u64) -> ImportError {
    ImportError::at(offset, ImportErrorKind::Limit { what, limit })
}

/// Checks a property of the bytes at an offset. Builds the error in any case, so it is too slow for checks of
/// every type.
fn ensure(holds: bool, offset: usize, kind: ImportErrorKind) -> Result<(), ImportError> {
    if holds { Ok(()) } else { error_at(offset, kind) }
}

fn error_at<T>(offset: usize, kind: ImportErrorKind) -> Result<T, ImportError> {
    Err(ImportError::at(offset, kind))
}

/// Reads a count of items of at least `least` bytes each.
fn count(reader: &mut Reader<'_>, least: usize, what: Bounded, max: usize) -> Result<u32, ImportError> {
    let offset = reader.at;
    let count = reader.varint()?;
    if (count as usize).saturating_mul(least) > reader.left() {
        return Err(ImportError::at(offset, ImportErrorKind::CountTooLarge { count }));
    }
    if count as usize > max {
        return Err(limit(offset, what, max as u64));
    }
    Ok(count)
}

fn text<'b>(reader: &mut Reader<'b>, limits: &ImportLimits) -> Result<&'b str, ImportError> {
    let offset = reader.at;
    let len = count(reader, 1, Bounded::NameBytes, limits.name_bytes)?;
    let bytes = reader.take(len as usize)?;
    let bad = |error| ImportError::at(offset, ImportErrorKind::Name(error));
    let name = std::str::from_utf8(bytes).map_err(|_| bad(NameError::NotUtf8))?;
    check_name(name).map_err(bad)?;
    Ok(name)
}

/// The part before the types.
pub(crate) struct Head<'b> {
    pub(crate) version: u8,
    /// The string table with byte offsets.
    pub(crate) strings: Vec<(usize, &'b str)>,
    pub(crate) imports: Vec<Digest>,
}

/// Reads the part before the types.
pub(crate) fn read_head<'b>(
    reader: &mut Reader<'b>,
    len: usize,
    limits: &ImportLimits,
) -> Result<Head<'b>, ImportError> {
    let max = limits.bytes.min(u32::MAX as usize);
    if len > max {
        return Err(limit(0, Bounded::Bytes, max as u64));
    }
    ensure(reader.take(MAGIC.len())? == MAGIC, 0, ImportErrorKind::BadMagic)?;
    let version = reader.byte()?;
    let is_known = matches!(version, FORMAT_VERSION | NAMED_VERSION);
    ensure(is_known, 4, ImportErrorKind::Version { found: version })?;
    let found = reader.byte()?;
    ensure(found == SUITE_BLAKE3, 5, ImportErrorKind::Suite { found })?;
    ensure(reader.take(HEADER - 6)? == [0, 0], 6, ImportErrorKind::Reserved)?;
    let string_count = count(reader, 2, Bounded::Strings, limits.strings)?;
    let mut strings = Vec::with_capacity(string_count as usize);
    for _ in 0..string_count {
        let offset = reader.at;
        strings.push((offset, text(reader, limits)?));
    }
    let import_count = count(reader, 32, Bounded::Imports, limits.imports)?;
    let mut imports: Vec<Digest> = Vec::with_capacity(import_count as usize);
    for _ in 0..import_count {
        let offset = reader.at;
        let digest = Digest(reader.digest()?);
        ensure(imports.last().is_none_or(|last| *last < digest), offset, ImportErrorKind::ImportOrder)?;
        imports.push(digest);
    }
    Ok(Head { version, strings, imports })
}

/// Reads the part after the types and checks the final digest.
pub(crate) fn read_tail<'b>(
    reader: &mut Reader<'b>,
    bytes: &[u8],
    items: u32,
    version: u8,
    limits: &ImportLimits,
) -> Result<Vec<RawRoot<'b>>, ImportError> {
    let root_count = count(reader, 34, Bounded::Roots, limits.roots)?;
    let mut roots: Vec<RawRoot<'b>> = Vec::with_capacity(root_count as usize);
    for _ in 0..root_count {
        let offset = reader.at;
        let label = text(reader, limits)?;
        ensure(roots.last().is_none_or(|last| last.label < label), offset, ImportErrorKind::RootOrder)?;
        let item_offset = reader.at;
        let item = reader.varint()?;
        ensure(item < items, item_offset, ImportErrorKind::DanglingReference)?;
        let digest = Digest(reader.digest()?);
        roots.push(RawRoot { label, item, digest, names: Vec::new(), offset, names_offset: 0 });
    }
    if version == NAMED_VERSION {
        let offset = reader.at;
        for root in &mut roots {
            root.names_offset = reader.at;
            root.names = variable_names(reader, root, limits)?;
        }
        if roots.iter().all(|root| root.names.is_empty()) {
            let (label, error) = (String::new(), VariableNamesError::Unnamed);
            return error_at(offset, ImportErrorKind::VariableNames { label, error });
        }
    }
    let end = reader.at;
    let claimed = reader.digest()?;
    ensure(reader.left() == 0, reader.at, ImportErrorKind::TrailingBytes)?;
    ensure(blake3::hash(&bytes[..bytes.len() - TRAILER]) == claimed, end, ImportErrorKind::Checksum)?;
    Ok(roots)
}

/// Reads the names of a root's variables.
fn variable_names<'b>(
    reader: &mut Reader<'b>,
    root: &RawRoot<'_>,
    limits: &ImportLimits,
) -> Result<Vec<&'b str>, ImportError> {
    let names = count(reader, 1, Bounded::Arity, limits.arity)?;
    let mut read = || {
        let len = count(reader, 1, Bounded::NameBytes, limits.name_bytes)?;
        let name = std::str::from_utf8(reader.take(len as usize)?)
            .map_err(|_| root.names_error(NameError::NotUtf8.into()))?;
        check_variable_name(name).map_err(|error| root.names_error(error))?;
        Ok(name)
    };
    (0..names).map(|_| read()).collect()
}

/// Encoding of references in the type being read.
#[derive(Clone, Copy)]
pub(crate) enum ReferenceBase {
    /// Outside of groups: the distance from this item.
    Item(u32),
    /// In a group: twice the distance from its first item, or twice a member's number plus one.
    Group { first: u32, len: u32 },
}

/// Decodes a reference to an item number; [`LOCAL`] marks members of the current group.
#[inline]
pub(crate) fn resolve(base: ReferenceBase, value: u32, offset: usize) -> Result<u32, ImportError> {
    let (from, distance) = match base {
        ReferenceBase::Item(item) => (item, value),
        ReferenceBase::Group { len, .. } if value & 1 == 1 => {
            if value >> 1 >= len {
                return Err(ImportError::at(offset, ImportErrorKind::DanglingReference));
            }
            return Ok(LOCAL | value >> 1);
        }
        ReferenceBase::Group { first, .. } => (first, value >> 1),
    };
    if distance == 0 {
        return Err(ImportError::at(offset, ImportErrorKind::ForwardReference));
    }
    from.checked_sub(distance).ok_or_else(|| ImportError::at(offset, ImportErrorKind::DanglingReference))
}

/// Reads the tag of a type and its number of words.
#[inline]
fn read_tag(reader: &mut Reader<'_>, limits: &ImportLimits) -> Result<(Tag, u32), ImportError> {
    let start = reader.at;
    let number = reader.byte()?;
    let tag = match Tag::from_number(number) {
        Some(Tag::Infer) => return Err(ImportError::at(start, ImportErrorKind::InferenceVariable)),
        Some(tag) => tag,
        None if number == GROUP_NUMBER => return Err(ImportError::at(start, ImportErrorKind::NestedGroup)),
        None => return Err(ImportError::at(start, ImportErrorKind::UnknownTag { number })),
    };
    let len = match layout::fixed_len(tag) {
        Some(len) => len,
        None => count(reader, 1, Bounded::Arity, limits.arity)?,
    };
    Ok((tag, len))
}

/// Reads one type: children become item numbers or members of the group, names become string numbers.
pub(crate) fn read_type(
    reader: &mut Reader<'_>,
    base: ReferenceBase,
    limits: &ImportLimits,
    next_string: &mut u32,
    strings: u32,
    words: &mut Vec<u32>,
) -> Result<Tag, ImportError> {
    let start = reader.at;
    let (tag, len) = read_tag(reader, limits)?;
    let strings = Strings { next: next_string, count: strings };
    read_words(reader, start, (tag, len), base, strings, words)?;
    Ok(tag)
}

/// Usage of the string table by the types read so far.
struct Strings<'n> {
    next: &'n mut u32,
    count: u32,
}

impl Strings<'_> {
    /// Checks that a string exists and is at most the first unused one.
    #[inline]
    fn check(&mut self, value: u32, offset: usize) -> Result<(), ImportError> {
        if value >= self.count {
            return Err(ImportError::at(offset, ImportErrorKind::DanglingString { index: value }));
        }
        if value > *self.next {
            return Err(ImportError::at(offset, ImportErrorKind::StringOrder));
        }
        *self.next = (*self.next).max(value + 1);
        Ok(())
    }
}

/// Reads a type's words; the type starts at `start`.
#[inline]
fn read_words(
    reader: &mut Reader<'_>,
    start: usize,
    (tag, len): (Tag, u32),
    base: ReferenceBase,
    mut strings: Strings<'_>,
    words: &mut Vec<u32>,
) -> Result<(), ImportError> {
    words.clear();
    let mut cursor = Cursor::new(tag);
    for _ in 0..len {
        let offset = reader.at;
        let value = reader.varint()?;
        let Some(role) = cursor.role() else {
            return Err(ImportError::at(start, ImportErrorKind::Type(PoolError::Layout { tag })));
        };
        let word = match role {
            Role::Child(_) => resolve(base, value, offset)?,
            Role::Num => value,
            Role::Name => {
                strings.check(value, offset)?;
                value
            }
        };
        cursor.advance(value);
        words.push(word);
    }
    if !cursor.is_complete() {
        return Err(ImportError::at(start, ImportErrorKind::Type(PoolError::Layout { tag })));
    }
    Ok(())
}

/// A type or import that has been read.
#[derive(Clone, Copy)]
struct Item {
    /// Id in the pool.
    id: u32,
    /// One more than the depth of the deepest child.
    depth: u32,
}

/// State of one import.
struct Importer<'p, 'b> {
    pool: &'p mut Pool,
    limits: &'p ImportLimits,
    reader: Reader<'b>,
    items: Vec<Item>,
    offsets: Vec<u32>,
    /// Children of all items, as item numbers in written order; for members of groups, only children outside
    /// the group. `child_ends[i]` is the end of those of item `i`.
    children: Vec<u32>,
    child_ends: Vec<u32>,
    names: Vec<u32>,
    /// First item and length of each group.
    groups: Vec<(u32, u32)>,
    /// Items that are commutative constants, whose operand order is checked after their digests are known.
    unordered: Vec<u32>,
    /// Bit set of the pool ids below `mark` that items have.
    seen: Vec<u64>,
    mark: u32,
    work: u64,
}

impl Importer<'_, '_> {
    fn add_item(&mut self, id: u32, fresh: bool, offset: usize, depth: u32) -> Result<(), ImportError> {
        if !fresh {
            if id >= self.mark || bit(&self.seen, id) {
                return error_at(offset, ImportErrorKind::DuplicateType);
            }
            set_bit(&mut self.seen, id);
        }
        if depth > self.limits.depth {
            return Err(limit(offset, Bounded::Depth, u64::from(self.limits.depth)));
        }
        self.items.push(Item { id, depth });
        // Bundles are shorter than 4 GiB: `read_head` rejects longer ones.
        self.offsets.push(offset as u32);
        Ok(())
    }

    /// The error of a type with this tag, or of a group.
    fn type_error(&self, offset: usize, tag: Option<Tag>, error: PoolError) -> ImportError {
        match error {
            PoolError::Layout { tag: Tag::Scheme } if tag == Some(Tag::Scheme) => {
                ImportError::at(offset, ImportErrorKind::SchemeNotNormal)
            }
            PoolError::GroupTooHard | PoolError::SchemeTooHard => {
                limit(offset, Bounded::Work, self.limits.work)
            }
            other => ImportError::at(offset, ImportErrorKind::Type(other)),
        }
    }

    /// Reads the children of a type that has only children of sort type, directly as ids.
    /// Returns the greatest depth among them.
    #[inline]
    fn read_children(&mut self, len: u32, words: &mut Vec<u32>) -> Result<u32, ImportError> {
        let item = self.items.len() as u32;
        let mut depth = 0;
        words.clear();
        for _ in 0..len {
            let offset = self.reader.at;
            let word = resolve(ReferenceBase::Item(item), self.reader.varint()?, offset)?;
            let child = self.items[word as usize];
            depth = depth.max(child.depth);
            words.push(child.id);
            self.children.push(word);
        }
        Ok(depth)
    }

    /// Replaces the numbers of items and strings in a type's words by ids of the pool. References to members
    /// of the current group stay. Returns the greatest depth among the children.
    #[inline]
    fn resolve_words(&mut self, tag: Tag, words: &mut [u32]) -> u32 {
        let mut cursor = Cursor::new(tag);
        let mut depth = 0;
        for word in words {
            let value = *word;
            match cursor.role() {
                Some(Role::Child(_)) if value & LOCAL == 0 => {
                    let child = self.items[value as usize];
                    depth = depth.max(child.depth);
                    self.children.push(value);
                    *word = child.id;
                }
                Some(Role::Name) => *word = self.names[value as usize],
                Some(Role::Child(_) | Role::Num) | None => {}
            }
            cursor.advance(value);
        }
        self.child_ends.push(self.children.len() as u32);
        depth
    }

    fn read_single(&mut self, words: &mut Vec<u32>, next_string: &mut u32) -> Result<(), ImportError> {
        let start = self.reader.at;
        let before = self.pool.len();
        let (tag, len) = read_tag(&mut self.reader, self.limits)?;
        if let Quick::Types(least) = layout::quick(tag) {
            if len < u32::from(least) {
                return Err(ImportError::at(start, ImportErrorKind::Type(PoolError::Layout { tag })));
            }
            let depth = self.read_children(len, words)?;
            self.child_ends.push(self.children.len() as u32);
            let id = self.pool.intern_words(tag, words);
            let id = id.map_err(|error| self.type_error(start, Some(tag), error))?;
            return self.add_item(id, self.pool.len() > before, start, depth + 1);
        }
        let item = self.items.len() as u32;
        let strings = Strings { next: next_string, count: self.names.len() as u32 };
        read_words(&mut self.reader, start, (tag, len), ReferenceBase::Item(item), strings, words)?;
        if tag.is_commutative() {
            self.unordered.push(item);
        }
        let depth = self.resolve_words(tag, words);
        let id = if tag.class() == TagClass::Const {
            sort_operands(tag, words);
            let id = self.pool.intern_dim(tag, words);
            let id = id.map_err(|error| self.type_error(start, Some(tag), error))?;
            if self.pool.nodes[id as usize].tag != tag || self.pool.words(id) != words {
                return error_at(start, ImportErrorKind::ConstNotNormal);
            }
            id
        } else {
            if let Some(at) = layout::binder_body(tag)
                && let Some((&body, sorts)) = words.get(at..).and_then(<[u32]>::split_first)
            {
                // Bodies are walked for each binder around them, so the work is counted over the whole
                // bundle.
                self.pool
                    .check_binder(tag, body, sorts, &mut self.work)
                    .map_err(|error| self.type_error(start, Some(tag), error))?;
            }
            self.pool.intern_words(tag, words).map_err(|error| self.type_error(start, Some(tag), error))?
        };
        let fresh = self.pool.len() > before;
        self.add_item(id, fresh, start, depth + 1)
    }

    fn read_group(
        &mut self,
        words: &mut Vec<u32>,
        next_string: &mut u32,
        left: u32,
    ) -> Result<u32, ImportError> {
        let start = self.reader.at;
        self.reader.byte()?;
        let len = count(&mut self.reader, 1, Bounded::Group, self.limits.group)?;
        ensure(len != 0, start, ImportErrorKind::GroupNotMinimal)?;
        ensure(len <= left, start, ImportErrorKind::CountTooLarge { count: len })?;
        let first = self.items.len() as u32;
        let strings = self.names.len() as u32;
        let mut members = Vec::with_capacity(len as usize);
        let mut offsets = Vec::with_capacity(len as usize);
        let mut depth = 0;
        for _ in 0..len {
            offsets.push(self.reader.at);
            let base = ReferenceBase::Group { first, len };
            let tag = read_type(&mut self.reader, base, self.limits, next_string, strings, words)?;
            depth = depth.max(self.resolve_words(tag, words));
            members.push(Local { tag, words: words.clone() });
        }
        let before = self.pool.len();
        let interned = self.pool.try_intern_locals(members, &mut self.work);
        let interned = interned.map_err(|error| self.type_error(start, None, error))?;
        ensure(!interned.rewritten, start, ImportErrorKind::SchemeNotNormal)?;
        let fresh = self.pool.len() > before;
        // The group must be one minimal cycle that unfolds no other group: its members are all members of one
        // group, each once.
        let group = self.pool.group_of(interned.ids[0]);
        let whole = group.is_some_and(|group| self.pool.groups[group].len == len);
        let mut sorted = interned.ids.clone();
        sorted.sort_unstable();
        let distinct = sorted.windows(2).all(|pair| pair[0] != pair[1]);
        if !whole || !distinct || interned.ids.iter().any(|&id| self.pool.group_of(id) != group) {
            return error_at(start, ImportErrorKind::GroupNotMinimal);
        }
        for (&id, &offset) in interned.ids.iter().zip(&offsets) {
            self.add_item(id, fresh, offset, depth + 1)?;
        }
        self.groups.push((first, len));
        Ok(len)
    }

    /// Returns the range of the children of consecutive items.
    #[inline]
    fn children_of(&self, first: u32, len: u32) -> (u32, u32) {
        let start = first.checked_sub(1).map_or(0, |before| self.child_ends[before as usize]);
        (start, self.child_ends[(first + len - 1) as usize])
    }

    /// Checks that the items are in the order of an exporter's walk.
    ///
    /// While they are in order, the finished items are those before `next`. A child before `next` needs no
    /// visit, and neither does the child `next` itself: everything that it refers to is before it.
    fn check_order(&self, imports: u32, roots: &[RawRoot<'_>]) -> Result<(), ImportError> {
        let mut next = imports;
        // Entered items with the ranges of their remaining children.
        let mut stack: Vec<(u32, u32, u32)> = Vec::new();
        let group_of = |item: u32| {
            let at = self.groups.partition_point(|&(first, _)| first <= item).checked_sub(1)?;
            let (first, len) = self.groups[at];
            (item < first + len).then_some((first, len))
        };
        let has_groups = !self.groups.is_empty();
        let span_of = |item| if has_groups { group_of(item).unwrap_or((item, 1)) } else { (item, 1) };
        for root in roots {
            let mut at = Some(root.item);
            while let Some(child) = at {
                if child >= next {
                    let (first, len) = span_of(child);
                    if first == next {
                        next += len;
                    } else {
                        let (from, to) = self.children_of(first, len);
                        stack.push((first, from, to));
                    }
                }
                // Continue with the innermost item that has children left.
                at = loop {
                    match stack.last_mut() {
                        Some((_, from, to)) if *from < *to => {
                            *from += 1;
                            break Some(self.children[*from as usize - 1]);
                        }
                        Some(&mut (first, _, _)) => {
                            let (_, len) = span_of(first);
                            if first != next {
                                let offset = self.offsets[first as usize] as usize;
                                return error_at(offset, ImportErrorKind::TypeOrder);
                            }
                            next += len;
                            stack.pop();
                        }
                        None => break None,
                    }
                };
            }
        }
        if let Some(&offset) = self.offsets.get(next as usize) {
            return error_at(offset as usize, ImportErrorKind::UnreachableType);
        }
        // Every item is reached, so an import is reached if an item refers to it.
        let mut used = vec![false; imports as usize];
        for item in roots.iter().map(|root| root.item).chain(self.children.iter().copied()) {
            if let Some(used) = used.get_mut(item as usize) {
                *used = true;
            }
        }
        match used.iter().position(|used| !used) {
            Some(unused) => error_at(self.offsets[unused] as usize, ImportErrorKind::UnusedImport),
            None => Ok(()),
        }
    }

    /// Checks the names of variables: their number, and that each is the name of one variable only.
    fn check_variable_names(&self, imports: usize, roots: &[RawRoot<'_>]) -> Result<(), ImportError> {
        let symbols = self.pool.symbol_names(self.items.iter().map(|item| item.id));
        for root in roots.iter().filter(|root| !root.names.is_empty()) {
            let variables = self.pool.variable_count(self.items[root.item as usize].id);
            let checked = match imports {
                0 => check_names(root.names.iter().copied(), variables, &symbols),
                // A symbol in an omitted type could have the name of a variable.
                _ => Err(VariableNamesError::Imports),
            };
            checked.map_err(|error| root.names_error(error))?;
        }
        Ok(())
    }

    /// Checks the orders that depend on digests: operands and group members.
    fn check_digest_orders(&self) -> Result<(), ImportError> {
        for &item in &self.unordered {
            let tag = self.pool.nodes[self.items[item as usize].id as usize].tag;
            let (from, to) = self.children_of(item, 1);
            let digests: Vec<_> = self.children[from as usize..to as usize]
                .iter()
                .map(|&child| self.pool.digests.get(self.items[child as usize].id))
                .collect();
            let sorted = digests.windows(2).all(|pair| match tag {
                Tag::DimProduct => pair[0] <= pair[1],
                _ => pair[0] < pair[1],
            });
            ensure(sorted, self.offsets[item as usize] as usize, ImportErrorKind::OperandOrder)?;
        }
        for &(first, len) in &self.groups {
            let members = &self.items[first as usize..(first + len) as usize];
            let ids = members.iter().map(|member| member.id);
            let Some(group) = self.pool.group_of(members[0].id) else { continue };
            let base = self.pool.groups[group].base;
            let in_order = self.pool.digests.group_order(group).iter().map(|offset| base + offset).eq(ids);
            ensure(in_order, self.offsets[first as usize] as usize, ImportErrorKind::GroupOrder)?;
        }
        Ok(())
    }
}

/// Sorts the operands of a commutative constant by id, the order inside a pool.
fn sort_operands(tag: Tag, words: &mut Vec<u32>) {
    match tag {
        Tag::DimSum => {
            let mut terms: Vec<[u32; 3]> = words[2..].as_chunks::<3>().0.to_vec();
            terms.sort_unstable_by_key(|term| term[2]);
            words.truncate(2);
            words.extend(terms.into_iter().flatten());
        }
        Tag::DimProduct | Tag::DimMin | Tag::DimMax => words.sort_unstable(),
        _ => {}
    }
}

impl Pool {
    /// Reads a bundle within the default [`ImportLimits`] and interns its types. Returns the roots in the
    /// order of their labels.
    ///
    /// # Errors
    /// If the bytes are not a bundle, or omit types that this pool does not have. The pool is then unchanged.
    pub fn import(&mut self, bytes: &[u8]) -> Result<Vec<ImportedRoot>, ImportError> {
        self.import_within(bytes, &ImportLimits::default())
    }

    /// Like [`Pool::import`], with explicit limits.
    ///
    /// # Errors
    /// As for [`Pool::import`].
    pub fn import_within(
        &mut self,
        bytes: &[u8],
        limits: &ImportLimits,
    ) -> Result<Vec<ImportedRoot>, ImportError> {
        self.transaction(|pool| pool.try_import(bytes, limits))
    }

    fn try_import(&mut self, bytes: &[u8], limits: &ImportLimits) -> Result<Vec<ImportedRoot>, ImportError> {
        let mut reader = Reader::new(bytes);
        let Head { version, strings, imports } = read_head(&mut reader, bytes.len(), limits)?;
        let mut known = Vec::with_capacity(imports.len());
        if !imports.is_empty() {
            self.compute_all_digests();
            let mut missing = Vec::new();
            for digest in &imports {
                match self.digests.find(digest) {
                    Some(id) => known.push(id),
                    None => missing.push(*digest),
                }
            }
            if !missing.is_empty() {
                // A damaged bundle must not cause requests for types that nothing refers to.
                let (body, claimed) = bytes.split_at(bytes.len().saturating_sub(TRAILER));
                ensure(claimed == blake3::hash(body).as_bytes(), body.len(), ImportErrorKind::Checksum)?;
                return Err(ImportError::NotFound { missing });
            }
        }
        let import_start = reader.at - 32 * imports.len();
        let names = self.intern_strings(&strings)?;
        let type_count = count(&mut reader, 1, Bounded::Types, limits.types)?;
        let mark = self.nodes.len() as u32;
        // The number of bytes bounds the count. A larger pool probably contains most of the types already.
        if self.len() < type_count as usize {
            self.reserve(type_count as usize);
        }
        let capacity = imports.len() + type_count as usize;
        let mut importer = Importer {
            pool: self,
            limits,
            reader,
            items: Vec::with_capacity(capacity),
            offsets: Vec::with_capacity(capacity),
            children: Vec::with_capacity(2 * capacity),
            child_ends: Vec::with_capacity(capacity),
            names,
            groups: Vec::new(),
            unordered: Vec::new(),
            seen: Vec::new(),
            mark,
            work: limits.work,
        };
        for (at, id) in known.into_iter().enumerate() {
            importer.add_item(id, false, import_start + 32 * at, 1)?;
            importer.child_ends.push(0);
        }
        let mut words = Vec::new();
        let mut next_string = 0;
        let mut left = type_count;
        while left > 0 {
            if bytes.get(importer.reader.at) == Some(&GROUP_NUMBER) {
                left -= importer.read_group(&mut words, &mut next_string, left)?;
            } else {
                importer.read_single(&mut words, &mut next_string)?;
                left -= 1;
            }
        }
        if let Some(&(offset, name)) = strings.get(next_string as usize) {
            return Err(ImportError::at(offset, ImportErrorKind::UnusedString { name: name.to_owned() }));
        }
        let items = importer.items.len() as u32;
        let raw_roots = read_tail(&mut importer.reader, bytes, items, version, limits)?;
        importer.check_order(imports.len() as u32, &raw_roots)?;
        let mut roots = Vec::with_capacity(raw_roots.len());
        let targets: Vec<u32> = raw_roots.iter().map(|root| importer.items[root.item as usize].id).collect();
        for (root, &id) in raw_roots.iter().zip(&targets) {
            ensure(importer.pool.nodes[id as usize].free == 0, root.offset, ImportErrorKind::OpenRoot)?;
        }
        if version == NAMED_VERSION {
            importer.check_variable_names(imports.len(), &raw_roots)?;
        }
        let Importer { pool, items, .. } = &mut importer;
        pool.compute_reached(items.iter().map(|item| (item.id, item.depth)))
            .map_err(|_| ImportError::at(importer.reader.at, ImportErrorKind::InferenceVariable))?;
        importer.check_digest_orders()?;
        for (root, &id) in raw_roots.iter().zip(&targets) {
            let RawRoot { label, item: _, digest, ref names, offset, names_offset: _ } = *root;
            if importer.pool.digests.get(id) != Some(digest) {
                return Err(ImportError::at(offset, ImportErrorKind::RootDigest { label: label.to_owned() }));
            }
            let names = names.iter().map(|name| (*name).to_owned()).collect();
            roots.push(ImportedRoot { label: label.to_owned(), ty: Idx::from_raw(id), digest, names });
        }
        Ok(roots)
    }

    fn intern_strings(&mut self, strings: &[(usize, &str)]) -> Result<Vec<u32>, ImportError> {
        let mark = self.names.len() as u32;
        let mut seen = std::collections::HashSet::new();
        let mut names = Vec::with_capacity(strings.len());
        for &(offset, name) in strings {
            let before = self.names.len();
            let id = self
                .intern_checked_name(name)
                .map_err(|error| ImportError::at(offset, ImportErrorKind::Name(error)))?;
            let fresh = self.names.len() > before;
            if !fresh && (id >= mark || !seen.insert(id)) {
                return Err(ImportError::at(
                    offset,
                    ImportErrorKind::DuplicateString { name: name.to_owned() },
                ));
            }
            names.push(id);
        }
        Ok(names)
    }
}
