//! Facts about the standard library, which no rustdoc JSON of another crate contains: variances, default
//! arguments, aliases, supertraits, associated types and impls.
//!
//! The facts are in `std_facts/std.txt`, which `tools/facts/std_facts.py` generates from the documentation of
//! the standard library and the answers of rustc. A line of the table is one of
//!
//! ```text
//! type path::of::definition public::path<+'a, =T, -U, const N, V = Default, Global> where T: 'a
//! unsized path::of::definition public::path
//! trait path::of::definition public::path<T = Self>: Supertrait<T> + Other
//! auto path::of::definition public::path
//! item public::path::of::Trait::Item: Bound + ?Sized
//! alias path::of::definition public::path<T> = Type
//! impl Trait | Other<U> for Type where T: Condition, U: _
//! value <Type as Trait>::Item = Type where T: Condition
//! ```
//!
//! Signs in front of parameters are variances. A `?` after the sign means that the type is unsized if the
//! argument is. `_` is the trait of the impl. Items are written with their public paths, and traits with
//! unique names without paths; rustdoc JSON uses the paths of definitions.
//!
//! **Invariant:** a missing fact is conservative. A type that is not in the table is invariant, implements
//! nothing and evaluates to nothing, so that a comparison reports a change rather than hides it.

// Next to the other tests, because it runs the compiler, which is not allowed in `src`.
#[cfg(test)]
#[path = "../tests/std_facts/oracle.rs"]
mod oracle;

use std::collections::HashMap;
use std::sync::LazyLock;

use typeloom_term::Variance;

const TABLE: &str = include_str!("std_facts/std.txt");

/// The allocator that every collection has by default.
const GLOBAL: &str = "alloc::alloc::Global";

static STD: LazyLock<StdFacts> = LazyLock::new(|| StdFacts::parse(TABLE));

/// The facts about the standard library.
pub(crate) fn std_facts() -> &'static StdFacts {
    &STD
}

/// The table, by paths of definitions.
#[derive(Debug, Default)]
pub(crate) struct StdFacts {
    types: HashMap<&'static str, TypeFacts>,
    unknown_type: TypeFacts,
    traits: HashMap<&'static str, TraitFacts>,
    unknown_trait: TraitFacts,
    /// Number of parameters and target of each alias.
    aliases: HashMap<&'static str, (usize, &'static str)>,
    pub(crate) impls: Vec<ImplLine>,
    pub(crate) values: Vec<ValueLine>,
    /// Paths of definitions by the names that the table uses.
    definitions: HashMap<&'static str, &'static str>,
}

/// Facts about a type.
#[derive(Debug, Default)]
pub(crate) struct TypeFacts {
    /// Whether the size is unknown for all arguments.
    pub(crate) is_unsized: bool,
    /// The parameter that a type contains as its last field, if it may be unsized.
    pub(crate) tail: Option<usize>,
    variances: Vec<Variance>,
    /// Number of lifetime parameters, which come first.
    regions: usize,
    /// Default arguments: position among the other parameters, and the type.
    pub(crate) defaults: Vec<(usize, &'static str)>,
    /// `where T: 'a`: the parameter, lifetimes not counted, and the lifetime.
    outlives: Vec<(usize, usize)>,
}

/// Facts about a trait.
#[derive(Debug, Default)]
pub(crate) struct TraitFacts {
    pub(crate) is_auto: bool,
    /// Whether every type that implements the trait is `'static`.
    pub(crate) is_static: bool,
    /// Whether the argument defaults to the self type.
    pub(crate) self_by_default: bool,
    /// The declared supertraits.
    pub(crate) supertraits: Vec<Supertrait>,
    items: Vec<ItemFacts>,
}

/// A supertrait of a trait of the standard library.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Supertrait {
    pub(crate) path: &'static str,
    /// Whether it has the arguments of its subtrait; otherwise it has none.
    pub(crate) same_args: bool,
}

#[derive(Debug)]
struct ItemFacts {
    name: &'static str,
    is_unsized: bool,
    bounds: Vec<&'static str>,
}

/// Traits that a type implements under the same conditions.
#[derive(Debug)]
pub(crate) struct ImplLine {
    /// The applied traits, each with the path of its definition.
    pub(crate) traits: Vec<(&'static str, &'static str)>,
    pub(crate) this: &'static str,
    /// Paths of the definitions that the type applies.
    pub(crate) definitions: Vec<&'static str>,
    pub(crate) conditions: &'static str,
}

/// The value of an associated type.
#[derive(Debug)]
pub(crate) struct ValueLine {
    /// The path of the associated type.
    pub(crate) item: String,
    pub(crate) this: &'static str,
    /// The argument of the trait.
    pub(crate) arg: Option<&'static str>,
    pub(crate) value: &'static str,
    pub(crate) definitions: Vec<&'static str>,
    /// Conditions of the impl. They hold wherever the type is written, so only tests read them.
    #[cfg(test)]
    pub(crate) conditions: &'static str,
}

/// The conditions of a line: pairs of a type and a trait.
pub(crate) fn conditions(text: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    split(text, ", ").filter_map(|one| one.split_once(": "))
}

/// Splits a text at a separator that is outside of brackets.
fn split(text: &'static str, separator: &'static str) -> impl Iterator<Item = &'static str> {
    let mut rest = Some(text).filter(|text| !text.is_empty());
    std::iter::from_fn(move || {
        let text = rest?;
        let mut depth = 0_usize;
        for (at, c) in text.char_indices() {
            match c {
                '<' | '(' | '[' => depth += 1,
                // The arrow of a function type closes nothing.
                '>' if text[..at].ends_with('-') => {}
                '>' | ')' | ']' => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 && text[at..].starts_with(separator) {
                rest = Some(&text[at + separator.len()..]);
                return Some(&text[..at]);
            }
        }
        rest.take()
    })
}

/// The components of a declaration: the public path, the parameters, and the text after them.
fn declaration(text: &'static str) -> (&'static str, &'static str, &'static str) {
    let end = text.find(|c: char| !is_path(c)).unwrap_or(text.len());
    let path = text[..end].trim_end_matches(':');
    let rest = &text[path.len()..];
    if !rest.starts_with('<') {
        return (path, "", rest);
    }
    let mut depth = 0_usize;
    let end = rest.char_indices().find(|(at, c)| {
        depth += usize::from(*c == '<');
        depth -= usize::from(*c == '>' && !rest[..*at].ends_with('-'));
        depth == 0
    });
    let end = end.map_or(rest.len(), |(at, _)| at);
    (path, &rest[1..end], rest.get(end + 1..).unwrap_or_default())
}

fn is_path(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == ':'
}

impl StdFacts {
    fn parse(text: &'static str) -> Self {
        let mut facts = Self::default();
        let mut ambiguous = Vec::new();
        for line in text.lines() {
            let mut words = line.splitn(3, ' ');
            let (Some(kind), Some(path), Some(rest)) = (words.next(), words.next(), words.next()) else {
                continue;
            };
            if matches!(kind, "type" | "unsized" | "trait" | "auto" | "alias") {
                let public = declaration(rest).0;
                facts.definitions.insert(public, path);
                if matches!(kind, "trait" | "auto") {
                    let short = public.rsplit("::").next().unwrap_or(public);
                    if facts.definitions.insert(short, path).is_some() {
                        ambiguous.push(short);
                    }
                }
            }
        }
        for short in ambiguous {
            facts.definitions.remove(short);
        }
        for line in text.lines() {
            facts.line(line);
        }
        facts
    }

    fn line(&mut self, line: &'static str) -> Option<()> {
        let (kind, rest) = line.split_once(' ')?;
        match kind {
            "type" | "unsized" => {
                let (path, rest) = rest.split_once(' ')?;
                self.types.insert(path, TypeFacts::parse(kind == "unsized", rest));
            }
            "trait" | "auto" => {
                let (path, rest) = rest.split_once(' ')?;
                let (_, params, rest) = declaration(rest);
                let supertraits = split(rest.strip_prefix(": ").unwrap_or_default(), " + ");
                let mut facts = TraitFacts {
                    is_auto: kind == "auto",
                    self_by_default: params.ends_with(" = Self"),
                    ..TraitFacts::default()
                };
                for bound in supertraits {
                    facts.is_static |= bound == "'static";
                    if let Some(path) = self.definition(bound) {
                        facts.supertraits.push(Supertrait { path, same_args: bound.ends_with('>') });
                    }
                }
                self.traits.insert(path, facts);
            }
            "item" => {
                let (item, bounds) = rest.split_once(": ").unwrap_or((rest, ""));
                let (of, name) = item.rsplit_once("::")?;
                let path = self.definition(of)?;
                let bounds: Vec<&str> = split(bounds, " + ").collect();
                let is_unsized = bounds.contains(&"?Sized");
                self.traits.get_mut(path)?.items.push(ItemFacts { name, is_unsized, bounds });
            }
            "alias" => {
                let (path, rest) = rest.split_once(' ')?;
                let (_, params, target) = declaration(rest);
                self.aliases.insert(path, (split(params, ", ").count(), target.strip_prefix(" = ")?));
            }
            "impl" => {
                let (header, conditions) = rest.split_once(" where ").unwrap_or((rest, ""));
                let (traits, this) = header.split_once(" for ")?;
                let traits = split(traits, " | ").filter_map(|of| Some((of, self.definition(of)?))).collect();
                self.impls.push(ImplLine { traits, this, definitions: self.applied(this), conditions });
            }
            "value" => {
                let (header, conditions) = rest.split_once(" where ").unwrap_or((rest, ""));
                let (projection, value) = header.strip_prefix('<')?.split_once(" = ")?;
                let (header, name) = projection.rsplit_once(">::")?;
                let (this, of) = header.rsplit_once(" as ")?;
                let (_, args, _) = declaration(of);
                self.values.push(ValueLine {
                    item: format!("{}::{name}", self.definition(of)?),
                    this,
                    arg: Some(args).filter(|arg| !arg.is_empty()),
                    value,
                    definitions: self.applied(this),
                    #[cfg(test)]
                    conditions,
                });
                #[cfg(not(test))]
                let _ = conditions;
            }
            _ => {}
        }
        Some(())
    }

    /// The path of the definition that a text applies.
    fn definition(&self, text: &str) -> Option<&'static str> {
        self.definitions.get(text.split('<').next().unwrap_or(text)).copied()
    }

    /// The definitions in a type of the table.
    fn applied(&self, text: &'static str) -> Vec<&'static str> {
        text.split(|c| !is_path(c)).filter_map(|word| self.definitions.get(word).copied()).collect()
    }

    /// A type of the table with the paths of definitions.
    pub(crate) fn with_definitions(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len() + 32);
        let mut rest = text;
        while let Some(start) = rest.find(is_path) {
            let (before, tail) = rest.split_at(start);
            let (word, after) = tail.split_at(tail.find(|c| !is_path(c)).unwrap_or(tail.len()));
            out.push_str(before);
            out.push_str(self.definitions.get(word).copied().unwrap_or(word));
            rest = after;
        }
        out.push_str(rest);
        out
    }

    /// The facts about a type; no facts for an unknown one.
    pub(crate) fn of_type(&self, path: &str) -> &TypeFacts {
        self.types.get(path).unwrap_or(&self.unknown_type)
    }

    /// The facts about a trait; no facts for an unknown one.
    pub(crate) fn of_trait(&self, path: &str) -> &TraitFacts {
        self.traits.get(path).unwrap_or(&self.unknown_trait)
    }

    /// The variance of argument `index` of a type.
    pub(crate) fn variance(&self, path: &str, index: usize) -> Variance {
        self.of_type(path).variances.get(index).copied().unwrap_or(Variance::Invariant)
    }

    /// The types with default arguments, each with the first of them.
    pub(crate) fn first_defaults(&self) -> impl Iterator<Item = (&'static str, usize, &'static str)> {
        self.types
            .iter()
            .filter_map(|(path, of)| of.defaults.first().map(|(at, default)| (*path, *at, *default)))
    }

    /// The lifetime argument that parameter `index` of a type, lifetimes not counted, has to outlive.
    pub(crate) fn outlived_by(&self, path: &str, index: usize) -> Option<usize> {
        let mut found = self.types.get(path)?.outlives.iter().filter(|(param, _)| *param == index);
        let (Some((_, region)), None) = (found.next(), found.next()) else { return None };
        Some(*region)
    }

    /// The target of an alias with this number of arguments, in terms of `T`.
    pub(crate) fn alias(&self, path: &str, args: usize) -> Option<&'static str> {
        self.aliases.get(path).filter(|(params, _)| *params == args).map(|(_, target)| *target)
    }

    /// The path from a trait to itself or a supertrait of any level that satisfies a predicate.
    fn find_above(
        &self,
        path: &str,
        mut is_wanted: impl FnMut(Supertrait, &TraitFacts) -> bool,
    ) -> Option<Supertrait> {
        let (path, _) = self.traits.get_key_value(path)?;
        let mut stack = vec![Supertrait { path, same_args: true }];
        while let Some(found) = stack.pop() {
            let of = self.traits.get(found.path)?;
            if is_wanted(found, of) {
                return Some(found);
            }
            let above = of.supertraits.iter();
            stack.extend(above.map(|one| Supertrait { same_args: one.same_args && found.same_args, ..*one }));
        }
        None
    }

    /// A trait and its supertraits of any level.
    pub(crate) fn all_above(&self, path: &str) -> Vec<Supertrait> {
        let mut found: Vec<Supertrait> = Vec::new();
        self.find_above(path, |above, _| {
            found.push(above);
            false
        });
        found
    }

    /// The trait `above` as a supertrait of `path`, or as `path` itself.
    pub(crate) fn above(&self, path: &str, above: &str) -> Option<Supertrait> {
        self.find_above(path, |found, _| found.path == above)
    }

    /// The trait that declares an associated type of a trait: the trait itself or a supertrait.
    pub(crate) fn declaring(&self, path: &str, item: &str) -> Option<Supertrait> {
        self.find_above(path, |_, of| of.items.iter().any(|own| own.name == item))
    }

    /// Whether the table has a trait.
    pub(crate) fn has_trait(&self, path: &str) -> bool {
        self.traits.contains_key(path)
    }

    fn item(&self, item: &str) -> Option<&ItemFacts> {
        let (of, name) = item.rsplit_once("::")?;
        self.traits.get(of)?.items.iter().find(|own| own.name == name)
    }

    /// Whether the size of an associated type need not be known.
    pub(crate) fn may_be_unsized(&self, item: &str) -> bool {
        self.item(item).is_some_and(|own| own.is_unsized)
    }

    /// Whether an associated type implements a trait because its declaration states so.
    pub(crate) fn is_bounded(&self, item: &str, of: &str) -> bool {
        self.item(item).is_some_and(|own| own.bounds.iter().any(|bound| self.definition(bound) == Some(of)))
    }

    /// The associated type of the same trait that the declaration of `outer` equates with
    /// `<outer as _>::inner`.
    pub(crate) fn equal_item(&self, outer: &str, inner: &str) -> Option<String> {
        let (inner_trait, inner) = inner.rsplit_once("::")?;
        let own =
            self.item(outer)?.bounds.iter().find(|bound| self.definition(bound) == Some(inner_trait))?;
        let (_, args, _) = declaration(own);
        let (name, value) = args.split_once(" = <Self as ")?;
        let (_, value) = value.rsplit_once(">::")?;
        let (of, _) = outer.rsplit_once("::")?;
        (name == inner).then(|| format!("{of}::{value}"))
    }
}

impl TypeFacts {
    fn parse(is_unsized: bool, text: &'static str) -> Self {
        let mut facts = Self { is_unsized, ..Self::default() };
        let (_, params, rest) = declaration(text);
        let mut names = Vec::new();
        for param in split(params, ", ") {
            let (name, default) = match param.split_once(" = ") {
                Some((name, default)) => (name, Some(default)),
                None if param == "Global" => (param, Some(GLOBAL)),
                None => (param, None),
            };
            let (variance, name) = match name.split_at(1) {
                ("+", name) => (Variance::Covariant, name),
                ("-", name) => (Variance::Contravariant, name),
                ("=", name) => (Variance::Invariant, name),
                // An allocator is owned; a constant has no order.
                _ if name == "Global" => (Variance::Covariant, name),
                _ => (Variance::Invariant, name),
            };
            let (is_tail, name) = name.strip_prefix('?').map_or((false, name), |name| (true, name));
            facts.tail = facts.tail.or(is_tail.then_some(names.len()));
            facts.regions += usize::from(name.starts_with('\''));
            facts.variances.push(variance);
            facts.defaults.extend(default.map(|default| (names.len() - facts.regions, default)));
            names.push(name);
        }
        let index = |name: &str| names.iter().position(|own| *own == name);
        for (this, bound) in conditions(rest.strip_prefix(" where ").unwrap_or_default()) {
            let param = index(this).and_then(|this| this.checked_sub(facts.regions));
            facts.outlives.extend(param.zip(index(bound)));
        }
        facts
    }
}

/// Whether a path is one of the standard library.
pub(crate) fn is_std(path: &str) -> bool {
    ["core::", "alloc::", "std::"].iter().any(|root| path.starts_with(root))
}

/// The names of parameters in the table.
pub(crate) const PARAMETERS: [&str; 10] = ["T", "U", "V", "W", "X", "N", "M", "'a", "'b", "'c"];

/// Names that evaluation and proofs look up, whether the crate mentions them or not.
pub(crate) const LOOKED_UP: &[&str] = &[
    "core::marker::Send",
    "core::marker::Sync",
    "core::panic::unwind_safe::UnwindSafe",
    "core::panic::unwind_safe::RefUnwindSafe",
    "core::convert::From",
    "core::convert::Infallible",
    "core::num::error::TryFromIntError",
    "core::iter::traits::iterator::Iterator",
    "core::iter::traits::iterator::Iterator::Item",
    "core::future::future::Future::Output",
    "core::ops::function::FnOnce::Output",
    "core::ops::function::FnMut",
    "core::ops::function::FnOnce",
    "core::iter::traits::collect::IntoIterator::Item",
    "core::future::into_future::IntoFuture::Output",
];

/// Traits that a tuple implements if all of its elements do. Function pointers implement all of them but
/// `Default`.
pub(crate) const STRUCTURAL_TRAITS: &[&str] = &[
    "core::fmt::Debug",
    "core::cmp::PartialEq",
    "core::cmp::Eq",
    "core::cmp::PartialOrd",
    "core::cmp::Ord",
    "core::hash::Hash",
    "core::default::Default",
];

/// Number of elements up to which a tuple implements the [`STRUCTURAL_TRAITS`].
pub(crate) const MAX_TUPLE: usize = 12;

/// The auto traits that a type has if its fields have them.
pub(crate) const AUTO_TRAITS: &[&str] = &[
    "core::marker::Send",
    "core::marker::Sync",
    "core::marker::Unpin",
    "core::panic::unwind_safe::RefUnwindSafe",
    "core::panic::unwind_safe::UnwindSafe",
];

/// Auto traits of which a type loses at least one by a field that makes a parameter invariant: `&mut`, a cell
/// or a trait object.
pub(crate) const LOST_BY_INVARIANCE: &[&str] = &[
    "core::panic::unwind_safe::UnwindSafe",
    "core::panic::unwind_safe::RefUnwindSafe",
    "core::marker::Freeze",
];

/// The auto trait that a type loses by a pointer as well.
pub(crate) const LOST_BY_POINTERS: &str = "core::marker::Sync";

/// Internal traits of the compiler: in the JSON, but in no signature.
pub(crate) const INTERNAL_TRAITS: &[&str] =
    &["core::marker::StructuralPartialEq", "core::marker::Freeze", "core::marker::UnsafeUnpin"];
