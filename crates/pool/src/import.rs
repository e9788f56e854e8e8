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

/// Reads one type: children become item numbers (or members of the group), names become string numbers.
#[inline]
pub(crate) fn read_type(
    reader: &mut Reader<'_>,
    place: Place,
    limits: &Limits,
    next_string: &mut u32,
    strings: u32,
    words: &mut Vec<u32>,
) -> Result<Tag, ImportError> {
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
    words.clear();
    if let Quick::Types(least) = layout::quick(tag) {
        if len < u32::from(least) {
            return Err(ImportError::at(start, Fault::Type(TypeError::Layout { tag })));
        }
        for _ in 0..len {
            let offset = reader.at;
            let value = reader.varint()?;
            words.push(resolve(place, value, offset)?);
        }
        return Ok(tag);
    }
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
                if value >= strings {
                    return Err(ImportError::at(offset, Fault::DanglingString { index: value }));
                }
                if value > *next_string {
                    return Err(ImportError::at(offset, Fault::StringOrder));
                }
                if value == *next_string {
                    *next_string += 1;
                }
                value
            }
        };
        cursor.advance(value);
        words.push(word);
    }
    if !cursor.is_complete() {
        return Err(ImportError::at(start, Fault::Type(TypeError::Layout { tag })));
    }
    Ok(tag)
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

/// The state of one import.
struct Importer<'p, 'b> {
    pool: &'p mut Pool,
    limits: &'p Limits,
    reader: Reader<'b>,
    /// Pool ids of items.
    ids: Vec<u32>,
    offsets: Vec<u32>,
    depths: Vec<u32>,
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
        self.ids.push(id);
        // Bundles are shorter than 4 GiB: `read_head` refuses others.
        self.offsets.push(offset as u32);
        self.depths.push(depth);
        Ok(())
    }

    fn type_fault(tag: Tag, error: TypeError) -> Fault {
        match error {
            TypeError::Layout { tag: Tag::Scheme } if tag == Tag::Scheme => Fault::SchemeNotNormal,
            other => Fault::Type(other),
        }
    }

    fn read_single(&mut self, words: &mut Vec<u32>, next_string: &mut u32) -> Result<(), ImportError> {
        let start = self.reader.at;
        let item = self.ids.len() as u32;
        let strings = self.names.len() as u32;
        let tag = read_type(&mut self.reader, Place::Item(item), self.limits, next_string, strings, words)?;
        if tag.is_commutative() {
            self.unordered.push(item);
        }
        let mut depth = 0;
        let Importer { ids, depths, kids, names, .. } = self;
        let mut child = |word: u32| {
            kids.push(word);
            depth = depth.max(depths[word as usize]);
            ids[word as usize]
        };
        if let Quick::Types(_) = layout::quick(tag) {
            for word in words.iter_mut() {
                *word = child(*word);
            }
        } else {
            map_words(tag, words, child, |name| names[name as usize]);
        }
        self.kid_ends.push(self.kids.len() as u32);
        let before = self.pool.len();
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
            self.pool
                .intern_words(tag, words)
                .map_err(|error| ImportError::at(start, Self::type_fault(tag, error)))?
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
        let first = self.ids.len() as u32;
        let strings = self.names.len() as u32;
        let mut members = Vec::with_capacity(len as usize);
        let mut offsets = Vec::with_capacity(len as usize);
        let mut depth = 0;
        for _ in 0..len {
            offsets.push(self.reader.at);
            let place = Place::Group { first, len };
            let tag = read_type(&mut self.reader, place, self.limits, next_string, strings, words)?;
            let Importer { ids, depths, kids, names, .. } = self;
            let child = |child: u32| {
                if child & LOCAL != 0 {
                    child
                } else {
                    kids.push(child);
                    depth = depth.max(depths[child as usize]);
                    ids[child as usize]
                }
            };
            map_words(tag, words, child, |name| names[name as usize]);
            self.kid_ends.push(self.kids.len() as u32);
            members.push(Local { tag, words: words.clone() });
        }
        let before = self.pool.len();
        let interned = self.pool.try_intern_locals(members, &mut self.work).map_err(|error| match error {
            TypeError::GroupTooHard => limit(start, Bounded::Work, self.limits.work),
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

    /// The children of some items in a row.
    #[inline]
    fn kids_of(&self, first: u32, len: u32) -> &[u32] {
        let start = first.checked_sub(1).map_or(0, |before| self.kid_ends[before as usize]);
        &self.kids[start as usize..self.kid_ends[(first + len - 1) as usize] as usize]
    }

    /// Walks the items as an exporter would and checks that it meets them in the order in which they are written.
    fn check_order(&self, imports: u32, roots: &[RawRoot<'_>]) -> Result<(), ImportError> {
        const DONE: u32 = LOCAL;
        let items = self.ids.len();
        let mut entered = vec![false; items];
        let mut next = imports;
        let mut stack: Vec<u32> = Vec::new();
        let mut import_used = 0u32;
        let group_of = |item: u32| {
            let at = self.groups.partition_point(|&(first, _)| first <= item).checked_sub(1)?;
            let (first, len) = self.groups[at];
            (item < first + len).then_some((first, len))
        };
        let has_groups = !self.groups.is_empty();
        for root in roots {
            stack.push(root.item);
            while let Some(entry) = stack.pop() {
                let item = entry & !DONE;
                if entry & DONE != 0 {
                    let (first, len) =
                        if has_groups { group_of(item).unwrap_or((item, 1)) } else { (item, 1) };
                    if first != next {
                        return fault_at(self.offsets[first as usize] as usize, Fault::TypeOrder);
                    }
                    next += len;
                    continue;
                }
                if entered[item as usize] {
                    continue;
                }
                if item < imports {
                    entered[item as usize] = true;
                    import_used += 1;
                    continue;
                }
                let (first, len) = if has_groups { group_of(item).unwrap_or((item, 1)) } else { (item, 1) };
                stack.push(item | DONE);
                let start = stack.len();
                for member in first..first + len {
                    entered[member as usize] = true;
                }
                for &child in self.kids_of(first, len) {
                    if !entered[child as usize] {
                        stack.push(child);
                    }
                }
                stack[start..].reverse();
            }
        }
        if import_used < imports {
            let unused = entered[..imports as usize].iter().position(|used| !used).unwrap_or(0);
            return fault_at(self.offsets[unused] as usize, Fault::UnusedImport);
        }
        if (next as usize) < items {
            let unreached = entered.iter().position(|entered| !entered).unwrap_or(next as usize);
            return fault_at(self.offsets[unreached] as usize, Fault::UnreachableType);
        }
        Ok(())
    }

    /// Checks what needs digests: the order of operands and of group members.
    fn check_digest_orders(&self) -> Result<(), ImportError> {
        for &item in &self.unordered {
            let tag = self.pool.nodes[self.ids[item as usize] as usize].tag;
            let digests: Vec<_> = self
                .kids_of(item, 1)
                .iter()
                .map(|&child| self.pool.digests.get(self.ids[child as usize]))
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
            let ids = &self.ids[first as usize..(first + len) as usize];
            let Some(group) = self.pool.group_of(ids[0]) else { continue };
            let base = self.pool.groups[group].base;
            if !self.pool.group_order(group).iter().map(|offset| base + offset).eq(ids.iter().copied()) {
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
            ids: Vec::with_capacity(capacity),
            offsets: Vec::with_capacity(capacity),
            depths: Vec::with_capacity(capacity),
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
        let items = importer.ids.len() as u32;
        let raw_roots = read_tail(&mut importer.reader, bytes, items, limits)?;
        importer.check_order(imports.len() as u32, &raw_roots)?;
        let mut roots = Vec::with_capacity(raw_roots.len());
        let targets: Vec<u32> = raw_roots.iter().map(|root| importer.ids[root.item as usize]).collect();
        for (root, &id) in raw_roots.iter().zip(&targets) {
            if importer.pool.nodes[id as usize].free > 0 {
                return Err(ImportError::at(root.offset, Fault::OpenRoot));
            }
        }
        importer
            .pool
            .compute_reached(&importer.ids)
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
