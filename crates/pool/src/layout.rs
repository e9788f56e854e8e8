//! Layout of a type's words, for every tag.
//!
//! A type is a tag and a sequence of `u32` words. A word is a child, a name or a number; the tag and the
//! preceding words determine which. Interning, hashing, encoding, decoding and validation all traverse a type
//! with [`Cursor`] or [`for_each`], so [`pattern`] is the only definition of a constructor's layout.
//!
//! **Invariant:** types with equal tags and words are equal, and the roles of the words are a function of tag
//! and words alone; therefore hashed messages are injective.

use crate::tag::{Sort, Tag, TagClass};

/// Sort of child that a position accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Accepts {
    Only(Sort),
    Any,
}

/// Role of one word in a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Child(Accepts),
    Name,
    Num,
}

const TYPE: Role = Role::Child(Accepts::Only(Sort::Type));
const REGION: Role = Role::Child(Accepts::Only(Sort::Region));
const CONST: Role = Role::Child(Accepts::Only(Sort::Const));
const ANY: Role = Role::Child(Accepts::Any);

/// Word pattern of a tag: a fixed prefix, then a repeated group; or fields, whose layout depends on counts
/// among the words.
#[derive(Clone, Copy)]
pub(crate) enum Pattern {
    Regular {
        first: &'static [Role],
        rest: &'static [Role],
        min_repeats: u32,
    },
    /// `name, header, fields..`, once. The header is twice the number of fields, plus one if they are named.
    Fields,
    /// `name`, then `name, header, fields..` for every variant.
    Variants,
}

const fn fixed(first: &'static [Role]) -> Pattern {
    Pattern::Regular { first, rest: &[], min_repeats: 0 }
}

const fn repeat(first: &'static [Role], rest: &'static [Role], min_repeats: u32) -> Pattern {
    Pattern::Regular { first, rest, min_repeats }
}

/// Returns the layout of a tag.
#[inline]
pub(crate) const fn pattern(tag: Tag) -> Pattern {
    match tag.class() {
        TagClass::Primitive => return fixed(&[]),
        TagClass::Container => return fixed(&[TYPE]),
        TagClass::TwoChild => return fixed(&[TYPE, TYPE]),
        TagClass::Constructor | TagClass::Region | TagClass::Const => {}
    }
    match tag {
        Tag::Borrowed => fixed(&[TYPE, REGION]),
        Tag::Function => repeat(&[TYPE], &[TYPE], 0),
        Tag::Tuple => repeat(&[], &[TYPE], 0),
        Tag::Struct => Pattern::Fields,
        Tag::Enum => Pattern::Variants,
        Tag::Applied => repeat(&[Role::Name], &[ANY], 0),
        Tag::Opaque | Tag::Named | Tag::Rigid | Tag::Lifetime | Tag::DimSymbol => fixed(&[Role::Name]),
        Tag::Declared => repeat(&[Role::Name, TYPE], &[Role::Num], 0),
        Tag::Instance => repeat(&[TYPE], &[ANY], 0),
        Tag::Scheme => repeat(&[TYPE], &[Role::Num], 1),
        Tag::Bound => fixed(&[Role::Num, Role::Num, Role::Num]),
        Tag::Infer => fixed(&[Role::Num, Role::Num]),
        Tag::Tensor => repeat(&[TYPE], &[CONST], 0),
        Tag::TensorUnranked => fixed(&[TYPE]),
        Tag::DimConst => fixed(&[Role::Num, Role::Num]),
        Tag::DimSum => repeat(&[Role::Num, Role::Num], &[Role::Num, Role::Num, CONST], 1),
        Tag::DimProduct | Tag::DimMin | Tag::DimMax => repeat(&[], &[CONST], 2),
        Tag::DimFloorDiv | Tag::DimMod => fixed(&[CONST, CONST]),
        // `DimUnknown`, and the classes that returned above.
        _ => fixed(&[]),
    }
}

/// Class of the layout and number of words, if the tag alone determines it, for each tag.
const LAYOUTS: [(Quick, Option<u8>); 128] = {
    let mut table = [(Quick::General, None); 128];
    let mut at = 0;
    while at < Tag::ALL.len() {
        let tag = Tag::ALL[at];
        let len = match pattern(tag) {
            Pattern::Regular { first, rest: [], .. } => Some(first.len() as u8),
            Pattern::Regular { .. } | Pattern::Fields | Pattern::Variants => None,
        };
        table[tag.number() as usize] = (quick_of(tag), len);
        at += 1;
    }
    table
};

/// Returns the number of words if the tag alone determines it.
#[inline]
pub(crate) fn fixed_len(tag: Tag) -> Option<u32> {
    LAYOUTS[usize::from(tag.number() & 127)].1.map(u32::from)
}

/// Returns the word index of the child that is in the scope of the type's own binder.
#[inline]
pub(crate) const fn binder_body(tag: Tag) -> Option<usize> {
    match tag {
        Tag::Scheme => Some(0),
        Tag::Declared => Some(1),
        _ => None,
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    First(u8),
    Rest(u8),
    /// At the name of the enum.
    Head,
    Name,
    Header,
    FieldName,
    FieldType,
    /// All fields of a struct were read.
    Closed,
}

/// Traverses one type's words and returns the role of each.
#[derive(Clone, Copy)]
pub(crate) struct Cursor {
    pattern: Pattern,
    state: State,
    fields_left: u32,
    named: bool,
    repeats: u32,
}

impl Cursor {
    #[inline]
    pub(crate) fn new(tag: Tag) -> Self {
        let pattern = pattern(tag);
        let state = match pattern {
            Pattern::Regular { first: [], .. } => State::Rest(0),
            Pattern::Regular { .. } => State::First(0),
            Pattern::Fields => State::Name,
            Pattern::Variants => State::Head,
        };
        Cursor { pattern, state, fields_left: 0, named: false, repeats: 0 }
    }

    /// Returns the role of the next word, or `None` after the last word of the layout.
    #[inline]
    pub(crate) fn role(&self) -> Option<Role> {
        Some(match (self.state, self.pattern) {
            (State::First(at), Pattern::Regular { first, .. }) => first[at as usize],
            (State::Rest(at), Pattern::Regular { rest, .. }) => *rest.get(at as usize)?,
            (State::Head | State::Name | State::FieldName, _) => Role::Name,
            (State::Header, _) => Role::Num,
            (State::FieldType, _) => TYPE,
            (State::Closed | State::First(_) | State::Rest(_), _) => return None,
        })
    }

    /// Advances past the next word.
    #[inline]
    pub(crate) fn advance(&mut self, word: u32) {
        self.state = match (self.state, self.pattern) {
            (State::First(at), Pattern::Regular { first, .. }) => {
                if at as usize + 1 < first.len() {
                    State::First(at + 1)
                } else {
                    State::Rest(0)
                }
            }
            (State::Rest(at), Pattern::Regular { rest, .. }) => {
                if at as usize + 1 < rest.len() {
                    State::Rest(at + 1)
                } else {
                    self.repeats += 1;
                    State::Rest(0)
                }
            }
            (State::Head, _) => State::Name,
            (State::Name, _) => State::Header,
            (State::Header, _) => {
                self.fields_left = word >> 1;
                self.named = word & 1 == 1;
                self.next_field()
            }
            (State::FieldName, _) => State::FieldType,
            (State::FieldType, _) => {
                self.fields_left -= 1;
                self.next_field()
            }
            (state @ (State::Closed | State::First(_) | State::Rest(_)), _) => state,
        };
    }

    fn next_field(&self) -> State {
        match (self.fields_left, self.named, self.pattern) {
            (0, _, Pattern::Variants) => State::Name,
            (0, _, Pattern::Fields | Pattern::Regular { .. }) => State::Closed,
            (_, true, _) => State::FieldName,
            (_, false, _) => State::FieldType,
        }
    }

    /// Whether the type may end here.
    pub(crate) fn is_complete(&self) -> bool {
        match (self.state, self.pattern) {
            (State::Rest(0), Pattern::Regular { min_repeats, .. }) => self.repeats >= min_repeats,
            (State::Closed, _) | (State::Name, Pattern::Variants) => true,
            (
                State::First(_)
                | State::Rest(_)
                | State::Head
                | State::Name
                | State::Header
                | State::FieldName
                | State::FieldType,
                _,
            ) => false,
        }
    }
}

/// Classes of layouts by traversal speed. Most types of a pool are in the first two classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quick {
    /// A primitive: a type without words.
    Leaf,
    /// Children of sort type only, at least this many.
    Types(u8),
    /// A struct.
    Struct,
    /// Traversed with [`pattern`].
    General,
}

const fn quick_of(tag: Tag) -> Quick {
    match pattern(tag) {
        Pattern::Regular { first: [], rest: [], .. } if matches!(tag.class(), TagClass::Primitive) => {
            Quick::Leaf
        }
        Pattern::Regular { first: first @ ([TYPE] | [TYPE, TYPE]), rest: [] | [TYPE], .. }
        | Pattern::Regular { first: first @ [], rest: [TYPE], .. } => Quick::Types(first.len() as u8),
        Pattern::Fields => Quick::Struct,
        Pattern::Regular { .. } | Pattern::Variants => Quick::General,
    }
}

/// Whether a type of this tag may consist of this many children of sort type and no other words.
#[inline(always)]
pub(crate) fn may_be_types(tag: Tag, words: usize) -> bool {
    match LAYOUTS[usize::from(tag.number() & 127)] {
        (Quick::Leaf, _) => words == 0,
        (Quick::Types(least), None) => words >= usize::from(least),
        (Quick::Types(len), Some(_)) => words == usize::from(len),
        (Quick::Struct | Quick::General, _) => false,
    }
}

/// Returns the layout class of a tag.
#[inline]
pub(crate) fn quick(tag: Tag) -> Quick {
    LAYOUTS[usize::from(tag.number() & 127)].0
}

/// Calls `f` with role, index and value of every word of a well-formed type.
#[inline]
pub(crate) fn for_each(tag: Tag, words: &[u32], mut f: impl FnMut(Role, usize, u32)) {
    match quick(tag) {
        Quick::Leaf => {}
        Quick::Types(_) => {
            for (at, &word) in words.iter().enumerate() {
                f(TYPE, at, word);
            }
        }
        Quick::Struct => {
            let [name, header, fields @ ..] = words else { return };
            f(Role::Name, 0, *name);
            f(Role::Num, 1, *header);
            let named = header & 1 == 1;
            for (at, &word) in fields.iter().enumerate() {
                f(if named && at % 2 == 0 { Role::Name } else { TYPE }, at + 2, word);
            }
        }
        Quick::General => for_each_general(tag, words, &mut f),
    }
}

#[inline(never)]
fn for_each_general(tag: Tag, words: &[u32], f: &mut dyn FnMut(Role, usize, u32)) {
    let mut cursor = Cursor::new(tag);
    for (at, &word) in words.iter().enumerate() {
        let Some(role) = cursor.role() else { return };
        f(role, at, word);
        cursor.advance(word);
    }
}

/// Calls `f` with every child, in order.
#[inline]
pub(crate) fn for_each_child(tag: Tag, words: &[u32], mut f: impl FnMut(u32)) {
    match quick(tag) {
        Quick::Leaf => {}
        Quick::Types(_) => words.iter().for_each(|&word| f(word)),
        Quick::Struct => {
            let named = words.get(1).is_some_and(|header| header & 1 == 1);
            let fields = words.get(if named { 3 } else { 2 }..).unwrap_or_default();
            fields.iter().step_by(if named { 2 } else { 1 }).for_each(|&word| f(word));
        }
        Quick::General => for_each_general(tag, words, &mut |role, _, word| {
            if let Role::Child(_) = role {
                f(word);
            }
        }),
    }
}

/// Calls a function with the position of each child, the child, and whether the child is in the scope of the
/// type's own binder.
#[inline]
pub(crate) fn for_each_scoped_child(tag: Tag, words: &[u32], mut f: impl FnMut(usize, u32, bool)) {
    let body = binder_body(tag);
    for_each(tag, words, |role, at, word| {
        if let Role::Child(_) = role {
            f(at, word, body == Some(at));
        }
    });
}

/// The fields of a struct or of one variant of an enum.
#[derive(Clone, Copy)]
pub(crate) struct FieldList<'a> {
    pub(crate) name: u32,
    pub(crate) named: bool,
    fields: &'a [u32],
}

impl<'a> FieldList<'a> {
    const fn width(&self) -> usize {
        if self.named { 2 } else { 1 }
    }

    /// Names of the fields; empty if they are positional.
    pub(crate) fn field_names(&self) -> impl Iterator<Item = u32> + use<'a> {
        let names = if self.named { self.fields } else { &[] };
        names.iter().step_by(2).copied()
    }

    pub(crate) fn field_types(&self) -> impl ExactSizeIterator<Item = u32> + use<'a> {
        let first = self.fields.get(self.width() - 1..).unwrap_or_default();
        first.iter().step_by(self.width()).copied()
    }
}

/// Iterator over the parts of a struct (one), or over the variants of an enum, given its words after the
/// name.
pub(crate) struct FieldLists<'a>(pub(crate) &'a [u32]);

impl<'a> FieldLists<'a> {
    /// Returns the parts of a struct or an enum; empty for other tags.
    pub(crate) fn of(tag: Tag, words: &'a [u32]) -> Self {
        match pattern(tag) {
            Pattern::Fields => FieldLists(words),
            Pattern::Variants => FieldLists(words.get(1..).unwrap_or_default()),
            Pattern::Regular { .. } => FieldLists(&[]),
        }
    }
}

impl<'a> Iterator for FieldLists<'a> {
    type Item = FieldList<'a>;

    fn next(&mut self) -> Option<FieldList<'a>> {
        let [name, header, rest @ ..] = self.0 else { return None };
        let named = header & 1 == 1;
        let len = (header >> 1) as usize * if named { 2 } else { 1 };
        let (fields, rest) = rest.split_at_checked(len)?;
        self.0 = rest;
        Some(FieldList { name: *name, named, fields })
    }
}
