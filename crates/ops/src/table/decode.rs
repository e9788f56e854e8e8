//! Second pass: decodes an `op` line and the indented lines after it into a [`Schema`].
//!
//! The embedded table is read in two passes, because a model uses few of its hundreds of schemas. The first
//! one finds the `op` lines; this one decodes one operator when it is looked up:
//!
//! ```text
//! op Clip 13 function-from-node           name, first version, flags       Draft::head
//!   type T tensor(numeric+bfloat16)       a type variable and its set      Draft::line
//!   in min T optional                     a port
//!   attr to int required                  an attribute
//!                                         choices of texts                 Draft::finish
//! ```
//!
//! [`Draft`] is also the decoder of described operators (`described::read`), whose signatures have the same
//! lines. Callers supply the named groups of element types ([`FindGroup`]).
//!
//! **Invariant:** an order of lines is a part of the format. A type variable precedes its ports. Attributes
//! are ordered by name, which also excludes duplicates. A variadic port is the last one of its side.
//!
//! **Invariant:** every word of a line is read; a word too many is an error.
//!
//! The time is linear in the lines, except that variables and groups are found by linear search.
//!
//! **Limit:** an operator has at most 256 type variables, because ports refer to them by a byte.

use typeloom_solver::elem::{Elem, ElemSet};
use typeloom_solver::signature::{
    AllowedTypes, Arity, AttributeDecl, AttributeDefault, AttributeKind, Formal, FormalType, FunctionBody,
    Schema, TypeVar,
};

use super::words::{WordReader, lines, unexpected};
use super::{Group, TableErrorKind};

/// Decodes the lines of one operator version in `domain`.
///
/// # Errors
///
/// The first error, with the offset of its line in `text`.
pub(super) fn schema(text: &str, domain: &str, groups: &[Group]) -> Result<Schema, (usize, TableErrorKind)> {
    let find = |name: &str| find(groups, name);
    let mut lines = lines(text);
    let (start, head) = lines.next().unwrap_or_default();
    let mut draft = Draft::head(&mut WordReader(head)).map_err(|error| (start, error))?;
    for (start, line) in lines {
        draft.line(line, &find).map_err(|error| (start, error))?;
    }
    Ok(draft.finish(domain))
}

/// The element types of a group, by linear search.
pub(super) fn find(groups: &[Group], name: &str) -> Option<ElemSet> {
    groups.iter().find(|group| &*group.name == name).map(|group| group.members)
}

/// Looks up the element types of a group.
pub(crate) type FindGroup<'f> = &'f dyn Fn(&str) -> Option<ElemSet>;

/// Decodes a `group` line after its keyword.
pub(crate) fn group(words: &mut WordReader<'_>, known: FindGroup<'_>) -> Result<Group, TableErrorKind> {
    let name = words.word("a group's name")?;
    if Elem::from_onnx_name(name).is_some() || known(name).is_some() {
        return Err(TableErrorKind::Repeated(name.into()));
    }
    let first = elem(words.word("an element type")?)?;
    let members = words.rest().try_fold(ElemSet::of(first), |set, word| {
        Ok::<_, TableErrorKind>(set.union(ElemSet::of(elem(word)?)))
    })?;
    Ok(Group { name: name.into(), members })
}

/// Decodes an `op` line after its keyword.
pub(crate) fn name_and_version<'a>(words: &mut WordReader<'a>) -> Result<(&'a str, u32), TableErrorKind> {
    Ok((words.word("an operator's name")?, words.number("a version")?))
}

/// The element type with this name.
pub(super) fn elem(name: &str) -> Result<Elem, TableErrorKind> {
    Elem::from_onnx_name(name).ok_or_else(|| TableErrorKind::UnknownElem(name.into()))
}

/// A schema under construction.
pub(crate) struct Draft {
    name: Box<str>,
    since_version: u32,
    deprecated: bool,
    function: FunctionBody,
    type_vars: Vec<TypeVar>,
    inputs: Vec<Formal>,
    outputs: Vec<Formal>,
    attributes: Vec<AttributeDecl>,
}

impl Draft {
    /// Decodes an `op` line.
    pub(crate) fn head(words: &mut WordReader<'_>) -> Result<Self, TableErrorKind> {
        words.literal("op", "`op`")?;
        let (name, since_version) = name_and_version(words)?;
        let mut flag = words.next_word();
        let deprecated = flag == Some("deprecated");
        if deprecated {
            flag = words.next_word();
        }
        let function = match flag {
            None => FunctionBody::None,
            Some("function") => FunctionBody::Fixed,
            Some("function-from-node") => FunctionBody::FromNode,
            Some(found) => return Err(unexpected("`deprecated`, `function` or `function-from-node`", found)),
        };
        words.end()?;
        Ok(Self {
            name: name.into(),
            since_version,
            deprecated,
            function,
            type_vars: Vec::new(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            attributes: Vec::new(),
        })
    }

    /// Completes the schema.
    pub(crate) fn finish(mut self, domain: &str) -> Schema {
        for decl in &mut self.attributes {
            if matches!(decl.kind, AttributeKind::String | AttributeKind::Strings) {
                decl.choices = super::values::choices(domain, &self.name, self.since_version, &decl.name);
            }
        }
        let takes_tensors = |decl: &AttributeDecl| {
            matches!(
                decl.kind,
                AttributeKind::Tensor
                    | AttributeKind::Tensors
                    | AttributeKind::SparseTensor
                    | AttributeKind::SparseTensors
            )
        };
        Schema {
            takes_tensors: self.attributes.iter().any(takes_tensors),
            domain: domain.into(),
            name: self.name,
            since_version: self.since_version,
            deprecated: self.deprecated,
            function: self.function,
            inputs: self.inputs.into(),
            outputs: self.outputs.into(),
            type_vars: self.type_vars.into(),
            attributes: self.attributes.into(),
        }
    }

    /// Decodes a line after the `op` line.
    pub(crate) fn line(&mut self, line: &str, groups: FindGroup<'_>) -> Result<(), TableErrorKind> {
        let mut words = WordReader(line);
        match words.word("a keyword")? {
            "type" => {
                let var = self.type_var(&mut words, groups)?;
                self.type_vars.push(var);
            }
            "in" => add_port(&mut self.inputs, &self.type_vars, &mut words)?,
            "out" => add_port(&mut self.outputs, &self.type_vars, &mut words)?,
            "attr" => {
                let decl = self.attribute(&mut words)?;
                self.attributes.push(decl);
            }
            found => return Err(unexpected("`type`, `in`, `out` or `attr`", found)),
        }
        words.end()
    }

    fn type_var(&self, words: &mut WordReader<'_>, groups: FindGroup<'_>) -> Result<TypeVar, TableErrorKind> {
        let name = words.word("a type variable")?;
        if self.type_vars.iter().any(|var| &*var.name == name) {
            return Err(TableErrorKind::Repeated(name.into()));
        }
        if self.type_vars.len() > usize::from(u8::MAX) {
            return Err(TableErrorKind::TooManyTypeVars);
        }
        let mut allowed = AllowedTypes::default();
        add_types(&mut allowed, words.word("a set of types")?, groups)?;
        words.rest().try_for_each(|word| add_types(&mut allowed, word, groups))?;
        Ok(TypeVar { name: name.into(), allowed })
    }

    fn attribute(&self, words: &mut WordReader<'_>) -> Result<AttributeDecl, TableErrorKind> {
        let name = words.word("an attribute's name")?;
        if self.attributes.last().is_some_and(|before| *before.name >= *name) {
            return Err(TableErrorKind::OutOfOrder(name.into()));
        }
        let word = words.word("a kind of attribute")?;
        let kind = kind(word).ok_or_else(|| unexpected("a kind of attribute", word))?;
        let (required, default) = match words.next_word() {
            None => (false, None),
            Some("required") => (true, None),
            Some("=") => (false, Some(default(kind, words)?)),
            Some(found) => return Err(unexpected("`required` or `=`", found)),
        };
        Ok(AttributeDecl { name: name.into(), kind, required, default, choices: None })
    }
}

/// A constructor of types: the text before and after its argument, and the field of the argument.
type Constructor<T> = (&'static str, &'static str, fn(&mut AllowedTypes) -> &mut T);

/// The element types of the keys and values of maps.
type Pairs = Box<[(Elem, Elem)]>;

/// The constructors of types of tensors.
const OF_TENSORS: [Constructor<ElemSet>; 4] = [
    ("tensor(", ")", |allowed| &mut allowed.tensor),
    ("seq(tensor(", "))", |allowed| &mut allowed.seq_tensor),
    ("optional(tensor(", "))", |allowed| &mut allowed.opt_tensor),
    ("optional(seq(tensor(", ")))", |allowed| &mut allowed.opt_seq_tensor),
];

/// The constructors of types of maps.
const OF_MAPS: [Constructor<Pairs>; 2] =
    [("map(", ")", |allowed| &mut allowed.map), ("seq(map(", "))", |allowed| &mut allowed.seq_map)];

fn add_types(allowed: &mut AllowedTypes, word: &str, groups: FindGroup<'_>) -> Result<(), TableErrorKind> {
    let is_first = if let Some((inner, field)) = argument(word, &OF_TENSORS) {
        std::mem::replace(field(allowed), elems(inner, groups)?).is_empty()
    } else if let Some((inner, field)) = argument(word, &OF_MAPS) {
        std::mem::replace(field(allowed), pairs(inner)?).is_empty()
    } else {
        return Err(unexpected("a set of types", word));
    };
    if is_first { Ok(()) } else { Err(TableErrorKind::Repeated(word.into())) }
}

/// The argument of a constructor, with the field of the constructor.
fn argument<'w, F: Copy>(word: &'w str, constructors: &[(&str, &str, F)]) -> Option<(&'w str, F)> {
    constructors
        .iter()
        .find_map(|(before, after, field)| Some((word.strip_prefix(before)?.strip_suffix(after)?, *field)))
}

fn elems(text: &str, groups: FindGroup<'_>) -> Result<ElemSet, TableErrorKind> {
    text.split('+').try_fold(ElemSet::EMPTY, |set, name| {
        let part = match groups(name) {
            Some(members) => members,
            None => ElemSet::of(elem(name)?),
        };
        Ok(set.union(part))
    })
}

fn pairs(text: &str) -> Result<Pairs, TableErrorKind> {
    let pair = |text: &str| {
        let (key, value) = text.split_once(':').ok_or_else(|| unexpected("`KEY:VALUE`", text))?;
        Ok((elem(key)?, elem(value)?))
    };
    text.split('+').map(pair).collect()
}

fn add_port(
    ports: &mut Vec<Formal>,
    type_vars: &[TypeVar],
    words: &mut WordReader<'_>,
) -> Result<(), TableErrorKind> {
    if matches!(ports.last(), Some(Formal { arity: Arity::Variadic { .. }, .. })) {
        return Err(TableErrorKind::VariadicNotLast);
    }
    let name = words.word("a port's name")?.into();
    let ty = port_type(type_vars, words.word("a port's type")?)?;
    let arity = match words.next_word() {
        None => Arity::Required,
        Some("optional") => Arity::Optional,
        Some("variadic") => {
            let min = words.number("the least number of values")?;
            let homogeneous = match words.next_word() {
                None => true,
                Some("mixed") => false,
                Some(found) => return Err(unexpected("`mixed`", found)),
            };
            Arity::Variadic { min, homogeneous }
        }
        Some(found) => return Err(unexpected("`optional` or `variadic`", found)),
    };
    ports.push(Formal { name, ty, arity });
    Ok(())
}

fn port_type(type_vars: &[TypeVar], word: &str) -> Result<FormalType, TableErrorKind> {
    if let Some(position) = type_vars.iter().position(|var| &*var.name == word) {
        return u8::try_from(position).map(FormalType::Var).map_err(|_| TableErrorKind::TooManyTypeVars);
    }
    let elem = word.strip_prefix("tensor(").and_then(|word| word.strip_suffix(')'));
    let literal = elem.and_then(Elem::from_onnx_name);
    literal.map(FormalType::Tensor).ok_or_else(|| TableErrorKind::UnknownType(word.into()))
}

/// The attribute kind with this keyword.
fn kind(word: &str) -> Option<AttributeKind> {
    const KEYWORDS: &str = "float int string tensor graph floats ints strings tensors graphs sparse_tensor \
                            sparse_tensors type_proto type_protos";
    KEYWORDS.split(' ').zip(AttributeKind::ALL).find(|(keyword, _)| *keyword == word).map(|(_, kind)| kind)
}

fn default(kind: AttributeKind, words: &mut WordReader<'_>) -> Result<AttributeDefault, TableErrorKind> {
    Ok(match kind {
        AttributeKind::Float => AttributeDefault::Float(float(words.word("a number")?)?),
        AttributeKind::Int => AttributeDefault::Int(int(words.word("a whole number")?)?),
        AttributeKind::String => AttributeDefault::String(words.quoted()?),
        AttributeKind::Floats => AttributeDefault::Floats(words.rest().map(float).collect::<Result<_, _>>()?),
        AttributeKind::Ints => AttributeDefault::Ints(words.rest().map(int).collect::<Result<_, _>>()?),
        AttributeKind::Strings => {
            let mut strings = Vec::new();
            while !words.is_empty() {
                strings.push(words.quoted()?);
            }
            AttributeDefault::Strings(strings.into())
        }
        AttributeKind::Tensor
        | AttributeKind::Graph
        | AttributeKind::Tensors
        | AttributeKind::Graphs
        | AttributeKind::SparseTensor
        | AttributeKind::SparseTensors
        | AttributeKind::Type
        | AttributeKind::Types => return Err(TableErrorKind::NoDefault(kind)),
    })
}

fn float(word: &str) -> Result<f32, TableErrorKind> {
    word.parse().ok().filter(|value: &f32| value.is_finite()).ok_or_else(|| unexpected("a number", word))
}

fn int(word: &str) -> Result<i64, TableErrorKind> {
    word.parse().map_err(|_| unexpected("a whole number", word))
}
