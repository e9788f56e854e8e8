//! Reading bundles: iterative, bounded, and all or nothing.
//!
//! Types are interned as they are read, which checks sorts, scopes and names; everything else that makes the bytes
//! canonical is checked on the way: normal forms, minimal groups, order, no duplicates, nothing unreachable. Digests are
//! recomputed and compared with those claimed for the roots. On any fault the pool is rolled back.
//!
//! **Invariant:** bytes that are accepted are exactly the bytes that exporting the imported roots gives again.

use crate::digest::Digest;
use crate::error::TypeError;
use crate::fault::{Bounded, Fault, ImportError};
use crate::graph::{LOCAL, Local};
use crate::layout::{self, Cursor, Quick, Role};
use crate::limits::Limits;
use crate::name::check_name;
use crate::pool::{Idx, Pool};
use crate::tag::{Class, GROUP_NUMBER, Tag};
use crate::wire::{FORMAT_VERSION, HEADER, MAGIC, Reader, SUITE_BLAKE3, TRAILER};

/// A root of an imported bundle.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Root {
    /// Its label.
    pub label: String,
    /// Its type.
    pub ty: Idx,
    /// The digest of its type.
    pub digest: Digest,
}

/// A root as it is written.
pub(crate) struct RawRoot<'b> {
    pub(crate) label: &'b str,
    pub(crate) item: u32,
    pub(crate) digest: Digest,
    offset: usize,
}

fn limit(offset: usize, what: Bounded, limit: u64) -> ImportError {
    ImportError::at(offset, Fault::Limit { what, limit })
}

fn fault_at<T>(offset: usize, fault: Fault) -> Result<T, ImportError> {
    Err(ImportError::at(offset, fault))
}

/// A count whose items take at least `least` bytes each.
fn count(reader: &mut Reader<'_>, least: usize, what: Bounded, max: usize) -> Result<u32, ImportError> {
    let offset = reader.at;
    let count = reader.varint()?;
    if (count as usize).saturating_mul(least) > reader.left() {
        return Err(ImportError::at(offset, Fault::CountTooLarge { count }));
    }
    if count as usize > max {
        return Err(limit(offset, what, max as u64));
    }
    Ok(count)
}

fn text<'b>(reader: &mut Reader<'b>, limits: &Limits) -> Result<&'b str, ImportError> {
    let offset = reader.at;
    let len = count(reader, 1, Bounded::NameBytes, limits.name_bytes)?;
    let bytes = reader.take(len as usize)?;
    let bad = |error| ImportError::at(offset, Fault::Name(error));
    let name = std::str::from_utf8(bytes).map_err(|_| bad(crate::name::NameError::NotUtf8))?;
    check_name(name).map_err(bad)?;
    Ok(name)
}

/// The string table with the offsets of the strings, and the imports.
type Head<'b> = (Vec<(usize, &'b str)>, Vec<Digest>);

/// Reads what comes before the types.
pub(crate) fn read_head<'b>(
    reader: &mut Reader<'b>,
    len: usize,
    limits: &Limits,
) -> Result<Head<'b>, ImportError> {
    let most = limits.bytes.min(u32::MAX as usize);
    if len > most {
        return Err(limit(0, Bounded::Bytes, most as u64));
    }
    if reader.take(MAGIC.len())? != MAGIC {
        return Err(ImportError::at(0, Fault::BadMagic));
    }
    let found = reader.byte()?;
    if found != FORMAT_VERSION {
        return Err(ImportError::at(4, Fault::Version { found }));
    }
    let found = reader.byte()?;
    if found != SUITE_BLAKE3 {
        return Err(ImportError::at(5, Fault::Suite { found }));
    }
    if reader.take(HEADER - 6)? != [0, 0] {
        return Err(ImportError::at(6, Fault::Reserved));
    }
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
        if imports.last().is_some_and(|last| *last >= digest) {
            return Err(ImportError::at(offset, Fault::ImportOrder));
        }
        imports.push(digest);
    }
    Ok((strings, imports))
}

/// Reads what comes after the types and checks the digest at the end.
pub(crate) fn read_tail<'b>(
    reader: &mut Reader<'b>,
    bytes: &[u8],
    items: u32,
    limits: &Limits,
) -> Result<Vec<RawRoot<'b>>, ImportError> {
    let root_count = count(reader, 34, Bounded::Roots, limits.roots)?;
    let mut roots: Vec<RawRoot<'b>> = Vec::with_capacity(root_count as usize);
    for _ in 0..root_count {
        let offset = reader.at;
        let label = text(reader, limits)?;
        if roots.last().is_some_and(|last| last.label >= label) {
            return Err(ImportError::at(offset, Fault::RootOrder));
        }
        let item_offset = reader.at;
        let item = reader.varint()?;
        if item >= items {
            return Err(ImportError::at(item_offset, Fault::DanglingReference));
        }
        let digest = Digest(reader.digest()?);
        roots.push(RawRoot { label, item, digest, offset });
    }
    let end = reader.at;
    let claimed = reader.digest()?;
    if reader.left() > 0 {
        return Err(ImportError::at(reader.at, Fault::TrailingBytes));
    }
    if blake3::hash(&bytes[..bytes.len() - TRAILER]) != claimed {
        return Err(ImportError::at(end, Fault::Checksum));
    }
    Ok(roots)
}

/// How references of the type being read are written.
#[derive(Clone, Copy)]
pub(crate) enum Place {
    /// Outside of groups: the distance from this item.
    Item(u32),
    /// In a group: twice the distance from its first item, or twice a member plus one.
    Group { first: u32, len: u32 },
}

/// A reference as a number of an item; members of the group at hand have [`LOCAL`] set.
#[inline]
pub(crate) fn resolve(place: Place, value: u32, offset: usize) -> Result<u32, ImportError> {
    let (from, distance) = match place {
        Place::Item(item) => (item, value),
        Place::Group { len, .. } if value & 1 == 1 => {
            if value >> 1 >= len {
                return Err(ImportError::at(offset, Fault::DanglingReference));
            }
            return Ok(LOCAL | value >> 1);
        }
        Place::Group { first, .. } => (first, value >> 1),
    };
    if distance == 0 {
        return Err(ImportError::at(offset, Fault::ForwardReference));
    }
    from.checked_sub(distance).ok_or_else(|| ImportError::at(offset, Fault::DanglingReference))
}

/// Reads the tag of a type and the number of its words.
#[inline]
fn read_tag(reader: &mut Reader<'_>, limits: &Limits) -> Result<(Tag, u32), ImportError> {
    let start = reader.at;
    let number = reader.byte()?;
    let tag = match Tag::from_number(number) {
        Some(Tag::Infer) => return Err(ImportError::at(start, Fault::InferenceVariable)),
        Some(tag) => tag,
        None if number == GROUP_NUMBER => return Err(ImportError::at(start, Fault::NestedGroup)),
        None => return Err(ImportError::at(start, Fault::UnknownTag { number })),
    };
    let len = match layout::fixed_len(tag) {
        Some(len) => len,
        None => count(reader, 1, Bounded::Arity, limits.arity)?,
    };
    Ok((tag, len))
}

/// Reads one type: children become item numbers (or members of the group), names become string numbers.
pub(crate) fn read_type(
    reader: &mut Reader<'_>,
    place: Place,
    limits: &Limits,
    next_string: &mut u32,
    strings: u32,
    words: &mut Vec<u32>,
) -> Result<Tag, ImportError> {
    let start = reader.at;
    let (tag, len) = read_tag(reader, limits)?;
    let strings = Strings { next: next_string, count: strings };
    read_words(reader, start, (tag, len), place, strings, words)?;
    Ok(tag)
}

/// The string table, as far as the types that are read have used it.
struct Strings<'n> {
    next: &'n mut u32,
    count: u32,
}

impl Strings<'_> {
    /// Checks that a string exists, and that it is at most the first one that is not used yet.
    #[inline]
    fn check(&mut self, value: u32, offset: usize) -> Result<(), ImportError> {
        if value >= self.count {
            return Err(ImportError::at(offset, Fault::DanglingString { index: value }));
        }
        if value > *self.next {
            return Err(ImportError::at(offset, Fault::StringOrder));
        }
        *self.next = (*self.next).max(value + 1);
        Ok(())
    }
}

/// Reads the words of a type that begins at `start`.
#[inline]
fn read_words(
    reader: &mut Reader<'_>,
    start: usize,
    (tag, len): (Tag, u32),
    place: Place,
    mut strings: Strings<'_>,
    words: &mut Vec<u32>,
) -> Result<(), ImportError> {
    words.clear();
    let mut cursor = Cursor::new(tag);
    for _ in 0..len {
        let offset = reader.at;
        let value = reader.varint()?;
        let Some(role) = cursor.role() else {
            return Err(ImportError::at(start, Fault::Type(TypeError::Layout { tag })));
        };
        let word = match role {
            Role::Child(_) => resolve(place, value, offset)?,
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
        return Err(ImportError::at(start, Fault::Type(TypeError::Layout { tag })));
    }
    Ok(())
}

fn map_words(tag: Tag, words: &mut [u32], mut child: impl FnMut(u32) -> u32, name: impl Fn(u32) -> u32) {
    let mut cursor = Cursor::new(tag);
    for word in words {
        let value = *word;
        match cursor.role() {
            Some(Role::Child(_)) => *word = child(value),
            Some(Role::Name) => *word = name(value),
            Some(Role::Num) | None => {}
        }
        cursor.advance(value);
    }
}

/// A type or import that has been read.
#[derive(Clone, Copy)]
struct Item {
    /// In the pool.
    id: u32,
    /// One more than that of the deepest child.
    depth: u32,
}

/// The state of one import.
struct Importer<'p, 'b> {
    pool: &'p mut Pool,
    limits: &'p Limits,
    reader: Reader<'b>,
    items: Vec<Item>,
    offsets: Vec<u32>,
    /// The children of all items, as items, in the order in which they are written; of the members of groups only those
    /// outside. `kid_ends[i]` is where those of item `i` end.
    kids: Vec<u32>,
    kid_ends: Vec<u32>,
    names: Vec<u32>,
    /// The group that an item belongs to, by the number of its first item; `u32::MAX` outside of groups.
    groups: Vec<(u32, u32)>,
    /// Items that are commutative constants, whose operands must turn out to be in order.
    unordered: Vec<u32>,
    /// Bits of pool ids below `mark` that items have.
    seen: Vec<u64>,
    mark: u32,
    work: u64,
}

impl Importer<'_, '_> {
    fn add_item(&mut self, id: u32, fresh: bool, offset: usize, depth: u32) -> Result<(), ImportError> {
        if !fresh {
            if id >= self.mark {
                return fault_at(offset, Fault::DuplicateType);
            }
            let (word, bit) = (id as usize / 64, 1u64 << (id % 64));
            if self.seen.is_empty() {
                self.seen = vec![0; (self.mark as usize).div_ceil(64)];
            }
            if self.seen[word] & bit != 0 {
                return fault_at(offset, Fault::DuplicateType);
            }
            self.seen[word] |= bit;
        }
        if depth > self.limits.depth {
            return Err(limit(offset, Bounded::Depth, u64::from(self.limits.depth)));
        }
        self.items.push(Item { id, depth });
        // Bundles are shorter than 4 GiB: `read_head` refuses others.
        self.offsets.push(offset as u32);
        Ok(())
    }

    fn type_error(&self, offset: usize, tag: Tag, error: TypeError) -> ImportError {
        match error {
            TypeError::Layout { tag: Tag::Scheme } if tag == Tag::Scheme => {
                ImportError::at(offset, Fault::SchemeNotNormal)
            }
            TypeError::GroupTooHard | TypeError::SchemeTooHard => {
                limit(offset, Bounded::Work, self.limits.work)
            }
            other => ImportError::at(offset, Fault::Type(other)),
        }
    }

    /// Reads children of sort type, which are all that the type at hand has, straight into words of the pool. Gives the
    /// greatest depth among them.
    #[inline]
    fn read_children(&mut self, len: u32, words: &mut Vec<u32>) -> Result<u32, ImportError> {
        let item = self.items.len() as u32;
        let mut depth = 0;
        words.clear();
        for _ in 0..len {
            let offset = self.reader.at;
            let word = resolve(Place::Item(item), self.reader.varint()?, offset)?;
            let child = self.items[word as usize];
            depth = depth.max(child.depth);
            words.push(child.id);
            self.kids.push(word);
        }
        Ok(depth)
    }

    fn read_single(&mut self, words: &mut Vec<u32>, next_string: &mut u32) -> Result<(), ImportError> {
        let start = self.reader.at;
        let before = self.pool.len();
        let (tag, len) = read_tag(&mut self.reader, self.limits)?;
        if let Quick::Types(least) = layout::quick(tag) {
            if len < u32::from(least) {
                return fault_at(start, Fault::Type(TypeError::Layout { tag }));
            }
            let depth = self.read_children(len, words)?;
            self.kid_ends.push(self.kids.len() as u32);
            let id = self.pool.intern_words(tag, words);
            let id = id.map_err(|error| self.type_error(start, tag, error))?;
            return self.add_item(id, self.pool.len() > before, start, depth + 1);
        }
        let item = self.items.len() as u32;
        let strings = Strings { next: next_string, count: self.names.len() as u32 };
        read_words(&mut self.reader, start, (tag, len), Place::Item(item), strings, words)?;
        if tag.is_commutative() {
            self.unordered.push(item);
        }
        let mut depth = 0;
        let Importer { items, kids, names, .. } = self;
        let child = |word: u32| {
            kids.push(word);
            let child = items[word as usize];
            depth = depth.max(child.depth);
            child.id
        };
        map_words(tag, words, child, |name| names[name as usize]);
        self.kid_ends.push(self.kids.len() as u32);
        let id = if tag.class() == Class::Const {
            sort_operands(tag, words);
            let id = self
                .pool
                .intern_dim(tag, words)
                .map_err(|error| ImportError::at(start, Fault::Type(error)))?;
            if self.pool.nodes[id as usize].tag != tag || self.pool.words(id) != words {
                return fault_at(start, Fault::ConstNotNormal);
            }
            id
        } else {
            if let Some(at) = layout::binder_body(tag)
                && let Some((&body, sorts)) = words.get(at..).and_then(<[u32]>::split_first)
            {
                // Bodies are walked for each binder around them, so this is counted over the whole bundle.
                self.pool
                    .check_binder(tag, body, sorts, &mut self.work)
                    .map_err(|error| self.type_error(start, tag, error))?;
            }
            self.pool.intern_words(tag, words).map_err(|error| self.type_error(start, tag, error))?
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
        if len == 0 {
            return fault_at(start, Fault::GroupNotMinimal);
        }
        if len > left {
            return fault_at(start, Fault::CountTooLarge { count: len });
        }
        let first = self.items.len() as u32;
        let strings = self.names.len() as u32;
        let mut members = Vec::with_capacity(len as usize);
        let mut offsets = Vec::with_capacity(len as usize);
        let mut depth = 0;
        for _ in 0..len {
            offsets.push(self.reader.at);
            let place = Place::Group { first, len };
            let tag = read_type(&mut self.reader, place, self.limits, next_string, strings, words)?;
            let Importer { items, kids, names, .. } = self;
            let child = |word: u32| {
                if word & LOCAL != 0 {
                    return word;
                }
                kids.push(word);
                let child = items[word as usize];
                depth = depth.max(child.depth);
                child.id
            };
            map_words(tag, words, child, |name| names[name as usize]);
            self.kid_ends.push(self.kids.len() as u32);
            members.push(Local { tag, words: words.clone() });
        }
        let before = self.pool.len();
        let interned = self.pool.try_intern_locals(members, &mut self.work).map_err(|error| match error {
            TypeError::GroupTooHard | TypeError::SchemeTooHard => {
                limit(start, Bounded::Work, self.limits.work)
            }
            other => ImportError::at(start, Fault::Type(other)),
        })?;
        if interned.rewritten {
            return fault_at(start, Fault::SchemeNotNormal);
        }
        let fresh = self.pool.len() > before;
        // One cycle, minimal and not an unfolding: all members of one group, each once.
        let group = self.pool.group_of(interned.ids[0]);
        let whole = group.is_some_and(|group| self.pool.groups[group].len == len);
        let mut sorted = interned.ids.clone();
        sorted.sort_unstable();
        let distinct = sorted.windows(2).all(|pair| pair[0] != pair[1]);
        if !whole || !distinct || interned.ids.iter().any(|&id| self.pool.group_of(id) != group) {
            return fault_at(start, Fault::GroupNotMinimal);
        }
        for (&id, &offset) in interned.ids.iter().zip(&offsets) {
            self.add_item(id, fresh, offset, depth + 1)?;
        }
        self.groups.push((first, len));
        Ok(len)
    }

    /// Where the children of some items in a row begin and end.
    #[inline]
    fn kids_of(&self, first: u32, len: u32) -> (u32, u32) {
        let start = first.checked_sub(1).map_or(0, |before| self.kid_ends[before as usize]);
        (start, self.kid_ends[(first + len - 1) as usize])
    }

    /// Walks the items as an exporter would and checks that it meets them in the order in which they are written.
    ///
    /// As long as they are in order, the items that the walk is done with are those before `next`. So a child before
    /// `next` needs no walk, and the child `next` itself needs none either: all that it refers to is before it.
    fn check_order(&self, imports: u32, roots: &[RawRoot<'_>]) -> Result<(), ImportError> {
        let mut next = imports;
        // Items that are entered, and which of their children are left.
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
                        let (from, to) = self.kids_of(first, len);
                        stack.push((first, from, to));
                    }
                }
                // Back to the innermost item that has children left.
                at = loop {
                    match stack.last_mut() {
                        Some((_, from, to)) if *from < *to => {
                            *from += 1;
                            break Some(self.kids[*from as usize - 1]);
                        }
                        Some(&mut (first, _, _)) => {
                            let (_, len) = span_of(first);
                            if first != next {
                                return fault_at(self.offsets[first as usize] as usize, Fault::TypeOrder);
                            }
                            next += len;
                            stack.pop();
                        }
                        None => break None,
                    }
                };
            }
        }
        if (next as usize) < self.items.len() {
            return fault_at(self.offsets[next as usize] as usize, Fault::UnreachableType);
        }
        // Everything is reached, so an import is if anything refers to it.
        let mut used = vec![false; imports as usize];
        for item in roots.iter().map(|root| root.item).chain(self.kids.iter().copied()) {
            if let Some(used) = used.get_mut(item as usize) {
                *used = true;
            }
        }
        match used.iter().position(|used| !used) {
            Some(unused) => fault_at(self.offsets[unused] as usize, Fault::UnusedImport),
            None => Ok(()),
        }
    }

    /// Checks what needs digests: the order of operands and of group members.
    fn check_digest_orders(&self) -> Result<(), ImportError> {
        for &item in &self.unordered {
            let tag = self.pool.nodes[self.items[item as usize].id as usize].tag;
            let (from, to) = self.kids_of(item, 1);
            let digests: Vec<_> = self.kids[from as usize..to as usize]
                .iter()
                .map(|&child| self.pool.digests.get(self.items[child as usize].id))
                .collect();
            let sorted = digests.windows(2).all(|pair| match tag {
                Tag::DimProduct => pair[0] <= pair[1],
                _ => pair[0] < pair[1],
            });
            if !sorted {
                return fault_at(self.offsets[item as usize] as usize, Fault::OperandOrder);
            }
        }
        for &(first, len) in &self.groups {
            let members = &self.items[first as usize..(first + len) as usize];
            let ids = members.iter().map(|member| member.id);
            let Some(group) = self.pool.group_of(members[0].id) else { continue };
            let base = self.pool.groups[group].base;
            if !self.pool.group_order(group).iter().map(|offset| base + offset).eq(ids) {
                return fault_at(self.offsets[first as usize] as usize, Fault::GroupOrder);
            }
        }
        Ok(())
    }
}

/// Operands of commutative constants in the order in which a pool keeps them.
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
    /// Reads a bundle within the default [`Limits`] and interns its types. Gives the roots in the order of their labels.
    ///
    /// # Errors
    /// If the bytes are not a bundle, or leave out types that this pool does not have. The pool is then as it was.
    pub fn import(&mut self, bytes: &[u8]) -> Result<Vec<Root>, ImportError> {
        self.import_within(bytes, &Limits::default())
    }

    /// Like [`Pool::import`], within limits of the caller's choice.
    ///
    /// # Errors
    /// As for [`Pool::import`].
    pub fn import_within(&mut self, bytes: &[u8], limits: &Limits) -> Result<Vec<Root>, ImportError> {
        let checkpoint = self.checkpoint();
        let result = self.try_import(bytes, limits);
        if result.is_err() {
            self.rollback(checkpoint);
        }
        result
    }

    fn try_import(&mut self, bytes: &[u8], limits: &Limits) -> Result<Vec<Root>, ImportError> {
        let mut reader = Reader::new(bytes);
        let (strings, imports) = read_head(&mut reader, bytes.len(), limits)?;
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
                // Damaged bytes must not send anyone looking for types that no one asked for.
                let (body, claimed) = bytes.split_at(bytes.len().saturating_sub(TRAILER));
                if claimed != blake3::hash(body).as_bytes() {
                    return fault_at(body.len(), Fault::Checksum);
                }
                return Err(ImportError::NotFound { missing });
            }
        }
        let import_start = reader.at - 32 * imports.len();
        let names = self.intern_strings(&strings)?;
        let type_count = count(&mut reader, 1, Bounded::Types, limits.types)?;
        let mark = self.nodes.len() as u32;
        // The count is bounded by the bytes. A pool that is larger already may well have most of the types.
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
            kids: Vec::with_capacity(2 * capacity),
            kid_ends: Vec::with_capacity(capacity),
            names,
            groups: Vec::new(),
            unordered: Vec::new(),
            seen: Vec::new(),
            mark,
            work: limits.work,
        };
        for (at, id) in known.into_iter().enumerate() {
            importer.add_item(id, false, import_start + 32 * at, 1)?;
            importer.kid_ends.push(0);
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
            return Err(ImportError::at(offset, Fault::UnusedString { name: name.to_owned() }));
        }
        let items = importer.items.len() as u32;
        let raw_roots = read_tail(&mut importer.reader, bytes, items, limits)?;
        importer.check_order(imports.len() as u32, &raw_roots)?;
        let mut roots = Vec::with_capacity(raw_roots.len());
        let targets: Vec<u32> = raw_roots.iter().map(|root| importer.items[root.item as usize].id).collect();
        for (root, &id) in raw_roots.iter().zip(&targets) {
            if importer.pool.nodes[id as usize].free > 0 {
                return Err(ImportError::at(root.offset, Fault::OpenRoot));
            }
        }
        let Importer { pool, items, .. } = &mut importer;
        pool.compute_reached(items.iter().map(|item| (item.id, item.depth)))
            .map_err(|_| ImportError::at(importer.reader.at, Fault::InferenceVariable))?;
        importer.check_digest_orders()?;
        for (root, &id) in raw_roots.iter().zip(&targets) {
            let RawRoot { label, digest, offset, .. } = *root;
            if importer.pool.digests.get(id) != Some(digest) {
                return Err(ImportError::at(offset, Fault::RootDigest { label: label.to_owned() }));
            }
            roots.push(Root { label: label.to_owned(), ty: Idx::from_raw(id), digest });
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
                .map_err(|error| ImportError::at(offset, Fault::Name(error)))?;
            let fresh = self.names.len() > before;
            if !fresh && (id >= mark || !seen.insert(id)) {
                return Err(ImportError::at(offset, Fault::DuplicateString { name: name.to_owned() }));
            }
            names.push(id);
        }
        Ok(names)
    }
}
