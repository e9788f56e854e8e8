//! What changed between two versions of a crate, as types.
//!
//! Items are paired by path, impls by what they implement for what. Of a pair two questions are asked: can the new item
//! be used wherever the old one was, and the other way round? No to the first one is a break; no to either is a change;
//! where others implement an item too, as with the methods of a trait, every change is a break.
//!
//! A change is described at the place where it is: a *widened* parameter takes more than before, a *narrowed* result is
//! more special than before, and both are harmless.

mod blanket_impls;
mod default_arguments;
pub(crate) mod difference;
mod map_types;
mod new_definitions;
mod substitutable;

use std::collections::{BTreeMap, HashMap, HashSet};

use typeloom_term::subst::replace_params;
use typeloom_term::{Boxed, Name, Symbols, TermError, Variance};

use crate::compare::blanket_impls::Taken;
use crate::compare::default_arguments::Written;
use crate::compare::difference::{Sides, numbers, param};
use crate::compare::new_definitions::Upgrade;
use crate::compare::substitutable::{Place, Question, Reading};
use crate::item::{Item, Kind, Label, Mark, Order, ParamKind, Role};
use crate::lower::Api;
use crate::predicate;
use crate::print;
use crate::prove::assumptions::elaborate;
use crate::prove::world::{Knowledge, World, normalize};

/// How an item changed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ChangeKind {
    /// At the place that differs, the new type holds more than the old one.
    Widened,
    /// At the place that differs, the new type holds less than the old one.
    Narrowed,
    /// Neither holds the other.
    Incompatible,
    /// There was no such item.
    Added,
    /// There is no such item any more.
    Removed,
}

impl ChangeKind {
    /// The word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Widened => "widened",
            Self::Narrowed => "narrowed",
            Self::Incompatible => "incompatible",
            Self::Added => "added",
            Self::Removed => "removed",
        }
    }
}

/// An item that is not what it was.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Change {
    /// The item's path.
    pub item: String,
    /// What kind of item it is.
    pub kind: Kind,
    /// How it changed.
    pub change: ChangeKind,
    /// Whether there are uses of the old one that the new one does not allow.
    pub breaking: bool,
    /// The way from the item to the difference; empty where the item is the difference.
    pub path: String,
    /// What was there.
    pub old: Option<String>,
    /// What is there now.
    pub new: Option<String>,
}

/// Compares two versions, which were lowered with one table of names, the new one *like* the old one.
///
/// # Errors
/// If a type grows too large when aliases in it are evaluated.
pub fn diff(old: &Api, new: &Api, symbols: &mut Symbols) -> Result<Vec<Change>, TermError> {
    let worlds = (World::new(old, symbols)?, World::new(new, symbols)?);
    let mut old_items = prepared(&old.items, &worlds.0, symbols)?;
    let new_items = prepared(&new.items, &worlds.1, symbols)?;
    let upgrade = Upgrade::new(&old_items, &new_items, &old.paths.root, symbols)?;
    for item in &mut old_items {
        upgrade.item(item, symbols)?;
    }
    let written = Written::new(&[&old_items, &new_items], symbols);
    let mut comparison = Comparison { worlds: &worlds, symbols, written, changes: Vec::new() };
    comparison.named(&old_items, &new_items);
    comparison.impls(&old_items, &new_items);
    let mut changes = comparison.changes;
    changes.sort_by(|a, b| {
        (&a.item, a.kind, b.breaking, a.change).cmp(&(&b.item, b.kind, a.breaking, b.change))
    });
    changes.dedup_by(|a, b| a.item == b.item && a.kind == b.kind);
    Ok(changes)
}

/// The items that cannot be proven usable in place of themselves: none, if the proofs are complete enough for the crate.
/// [`diff`] does not ask about items that are identical, so this is what tests its proofs on real crates.
///
/// # Errors
/// As [`diff`].
pub fn self_check(api: &Api, symbols: &mut Symbols) -> Result<Vec<Change>, TermError> {
    let worlds = (World::new(api, symbols)?, World::new(api, symbols)?);
    let items = prepared(&api.items, &worlds.0, symbols)?;
    let written = Written::new(&[&items], symbols);
    let mut comparison = Comparison { worlds: &worlds, symbols, written, changes: Vec::new() };
    for item in &items {
        comparison.pair(item, item);
    }
    Ok(comparison.changes)
}

/// The items with their associated types evaluated, and with the variances of their parameters.
fn prepared(items: &[Item], world: &World, symbols: &mut Symbols) -> Result<Vec<Item>, TermError> {
    items
        .iter()
        .map(|item| {
            let mut item = item.clone();
            if item.kind == Kind::Impl {
                // Whoever uses an impl has types that are well formed; rustdoc leaves out of auto traits' impls what that asks.
                for part in &item.parts {
                    item.context.extend(world.asked_by(&part.ty)?);
                }
            }
            let known: Vec<_> =
                item.context.iter().chain(&item.predicates).chain(&item.promises).cloned().collect();
            let known = elaborate(world, symbols, &known)?;
            let symbols = &*symbols;
            let knowledge = Knowledge::new(world, symbols, &known);
            for part in &mut item.parts {
                part.ty = normalize(&knowledge, &part.ty)?;
                if part.ty.meta().weight == u16::MAX {
                    return Err(TermError::TooDeep);
                }
                part.ty = typeloom_term::normal::normal_form(&world.cx, &part.ty)?;
            }
            // In the world alone: an equation must not evaluate itself.
            let knowledge = Knowledge::new(world, symbols, &[]);
            for list in [&mut item.predicates, &mut item.promises, &mut item.context] {
                for predicate in list.iter_mut() {
                    *predicate = normalize(&knowledge, predicate)?;
                    *predicate = typeloom_term::normal::normal_form(&world.cx, predicate)?;
                }
            }
            if matches!(item.kind, Kind::Struct | Kind::Enum | Kind::Union) {
                let marks = variance_marks(&item, world, symbols);
                item.marks.extend(marks);
            }
            Ok(item)
        })
        .collect()
}

/// The variances of a type's parameters, where its fields are known.
fn variance_marks(item: &Item, world: &World, symbols: &Symbols) -> Vec<Mark> {
    let Some(symbol) = symbols.get(&item.path) else { return Vec::new() };
    let known = world.adts.get(&symbol).is_some_and(|adt| adt.hidden.is_none());
    let Some(list) = world.variances.list(symbol).filter(|_| known) else { return Vec::new() };
    let params = item.params.iter().filter(|param| param.role == Role::Explicit);
    let mut marks = Vec::new();
    for (index, (param, variance)) in params.zip(list).enumerate() {
        let word = match variance {
            Variance::Covariant => "covariant",
            Variance::Contravariant => "contravariant",
            Variance::Invariant => "invariant",
            Variance::Bivariant => "bivariant",
        };
        if !matches!(param.kind, ParamKind::Const(_)) {
            marks.push(Mark {
                label: "variance",
                text: format!("{word} in parameter {index}"),
                order: Order::Variance(*variance),
            });
        }
    }
    marks
}

/// What can have one path at the same time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Class {
    Type,
    Value,
    Macro,
    Field,
    Variant,
    Member,
    Impl,
}

fn class(kind: Kind) -> Class {
    match kind {
        Kind::Struct
        | Kind::Enum
        | Kind::Union
        | Kind::Trait
        | Kind::TraitAlias
        | Kind::TypeAlias
        | Kind::ExternType
        | Kind::ReExport => Class::Type,
        Kind::Function | Kind::Const | Kind::Static => Class::Value,
        Kind::Macro => Class::Macro,
        Kind::Field => Class::Field,
        Kind::Variant => Class::Variant,
        Kind::Method | Kind::AssocConst | Kind::TraitMethod | Kind::TraitType | Kind::TraitConst => {
            Class::Member
        }
        Kind::Impl => Class::Impl,
    }
}

type Groups<'i> = BTreeMap<(&'i str, Class), Vec<&'i Item>>;

fn groups(items: &[Item]) -> Groups<'_> {
    let mut groups = Groups::new();
    for item in items.iter().filter(|item| item.kind != Kind::Impl) {
        groups.entry((&item.path, class(item.kind))).or_default().push(item);
    }
    groups
}

struct Comparison<'c> {
    worlds: &'c (World, World),
    symbols: &'c mut Symbols,
    written: Written,
    changes: Vec<Change>,
}

impl Comparison<'_> {
    /// Whether the new item can stand in for the old one, and the other way round.
    fn both(&mut self, old: &Item, new: &Item) -> (Result<(), Place>, Result<(), Place>) {
        (self.forward(old, new, Reading::Exact), self.backward(old, new, Reading::Exact))
    }

    fn forward(&mut self, old: &Item, new: &Item, reading: Reading) -> Result<(), Place> {
        let Ok(both) = self.written.in_both(old, new) else { return Err(Place::Generics) };
        let (old, new) = both.as_ref().map_or((old, new), |(old, new)| (old, new));
        Question { world: &self.worlds.1, symbols: self.symbols, reading }.usable(new, old)
    }

    fn backward(&mut self, old: &Item, new: &Item, reading: Reading) -> Result<(), Place> {
        let Ok(both) = self.written.in_both(old, new) else { return Err(Place::Generics) };
        let (old, new) = both.as_ref().map_or((old, new), |(old, new)| (old, new));
        Question { world: &self.worlds.0, symbols: self.symbols, reading }.usable(old, new)
    }

    fn named(&mut self, old: &[Item], new: &[Item]) {
        let (old, new) = (groups(old), groups(new));
        let gone: HashSet<&str> = old.keys().filter(|key| !new.contains_key(*key)).map(|key| key.0).collect();
        let parents: HashMap<&str, &Item> = old
            .values()
            .flatten()
            .filter(|item| matches!(class(item.kind), Class::Type | Class::Variant))
            .map(|item| (item.path.as_str(), *item))
            .collect();
        let kept: HashSet<&str> = new.keys().map(|key| key.0).collect();
        for (key, items) in &old {
            match new.get(key) {
                Some(others) => self.group(items, others, &parents),
                None => {
                    for item in items {
                        self.removed(item, &gone, &kept);
                    }
                }
            }
        }
        for (_, items) in new.iter().filter(|(key, _)| !old.contains_key(*key)) {
            for item in items {
                self.added(item, &parents);
            }
        }
    }

    fn removed(&mut self, item: &Item, gone: &HashSet<&str>, kept: &HashSet<&str>) {
        // What belongs to something that is gone is gone with it.
        if item.parent.as_deref().is_some_and(|parent| gone.contains(parent) && !kept.contains(parent)) {
            return;
        }
        let text = print::item(item, self.symbols);
        self.changes.push(Change {
            item: item.path.clone(),
            kind: item.kind,
            change: ChangeKind::Removed,
            breaking: true,
            path: String::new(),
            old: Some(text),
            new: None,
        });
    }

    fn added(&mut self, item: &Item, parents: &HashMap<&str, &Item>) {
        let parent = item.parent.as_deref().map(|parent| parents.get(parent));
        let breaking = match parent {
            // Its parent is new too.
            Some(None) => return,
            Some(Some(parent)) => match item.kind {
                Kind::Field | Kind::Variant => parent.closed,
                Kind::TraitMethod | Kind::TraitType | Kind::TraitConst => {
                    item.required && parent.implemented_by_others
                }
                _ => false,
            },
            None => false,
        };
        let text = print::item(item, self.symbols);
        self.changes.push(Change {
            item: item.path.clone(),
            kind: item.kind,
            change: ChangeKind::Added,
            breaking,
            path: String::new(),
            old: None,
            new: Some(text),
        });
    }

    /// Items of one path: nearly always one and one; several for methods of impls for different arguments.
    fn group(&mut self, old: &[&Item], new: &[&Item], parents: &HashMap<&str, &Item>) {
        let mut left: Vec<&Item> = Vec::new();
        let mut free: Vec<&Item> = new.to_vec();
        for item in old {
            match free.iter().position(|other| same(item, other)) {
                Some(found) => {
                    free.remove(found);
                }
                None => left.push(item),
            }
        }
        let several = old.len() > 1 || new.len() > 1;
        for item in left {
            if several
                && let Some(found) = free.iter().position(|other| self.both(item, other) == (Ok(()), Ok(())))
            {
                free.remove(found);
                continue;
            }
            let fitting =
                new.iter().position(|other| several && self.forward(item, other, Reading::Exact).is_ok());
            let other = match fitting.and_then(|index| new.get(index)) {
                Some(other) => {
                    free.retain(|one| !std::ptr::eq(*one, *other));
                    *other
                }
                None if !free.is_empty() => free.remove(0),
                None => match new.first() {
                    Some(other) => *other,
                    None => continue,
                },
            };
            self.pair(item, other);
        }
        for item in free {
            self.added(item, parents);
        }
    }

    fn pair(&mut self, old: &Item, new: &Item) {
        let (forward, backward) = self.both(old, new);
        let open = old.implemented_by_others || new.implemented_by_others;
        let breaking = forward.is_err() || (open && backward.is_err() && !self.only_default_given(old, new));
        if forward.is_ok() && backward == Err(Place::Generics) && self.only_parameter_named(old, new) {
            return;
        }
        let (place, change) = match (&forward, &backward) {
            (Ok(()), Ok(())) => return,
            (Err(place), Ok(())) => (place.clone(), at_place(place, old.kind, Side::Forward)),
            (Ok(()), Err(place)) => (place.clone(), at_place(place, old.kind, Side::Backward)),
            (Err(place), Err(other)) => {
                let change = self.both_fail(old, new, place, other);
                (place.clone(), change)
            }
        };
        let change = Change {
            item: old.path.clone(),
            kind: old.kind,
            change,
            breaking,
            path: String::new(),
            old: None,
            new: None,
        };
        let change = self.described(change, &place, old, new);
        self.changes.push(change);
    }

    /// Whether all that changed about a trait or an item of it asks nothing of those who implement it: a default is
    /// given, or the trait can be used as `dyn` now.
    fn only_default_given(&mut self, old: &Item, new: &Item) -> bool {
        let without = |item: &Item| {
            let mut item = item.clone();
            item.marks.retain(|mark| !matches!(mark.label, "default" | "usable as dyn"));
            for param in &mut item.params {
                param.default = None;
            }
            item
        };
        let Ok(new) = at_defaults(old, new) else { return false };
        self.both(&without(old), &without(&new)) == (Ok(()), Ok(()))
    }

    /// Whether all that changed is that parameters written `impl Trait` have names now.
    fn only_parameter_named(&mut self, old: &Item, new: &Item) -> bool {
        let explicit = |item: &Item| item.params.iter().any(|param| param.role == Role::Explicit);
        if explicit(old) || !matches!(new.kind, Kind::Function | Kind::Method) {
            return false;
        }
        let mut unnamed = new.clone();
        for param in unnamed.params.iter_mut().filter(|param| param.role == Role::Explicit) {
            param.role = Role::Inferred;
        }
        self.backward(old, &unnamed, Reading::Exact).is_ok()
    }

    /// How an item changed that can stand in for the other one in neither direction.
    fn both_fail(&mut self, old: &Item, new: &Item, place: &Place, other: &Place) -> ChangeKind {
        if let Place::Part(label) = place
            && label.variance(old.kind) == Variance::Invariant
        {
            // Asked as if it were only read, the type may still have a direction.
            let narrowed = self.forward(old, new, Reading::ReadOnly).is_ok();
            let widened = self.backward(old, new, Reading::ReadOnly).is_ok();
            return match (narrowed, widened) {
                (true, false) => ChangeKind::Narrowed,
                (false, true) => ChangeKind::Widened,
                (true, true) | (false, false) => ChangeKind::Incompatible,
            };
        }
        let same_place = match (place, other) {
            (Place::Part(a), Place::Part(b)) => a.same(b),
            _ => std::mem::discriminant(place) == std::mem::discriminant(other),
        };
        if same_place { ChangeKind::Incompatible } else { at_place(place, old.kind, Side::Forward) }
    }

    /// Fills in the way to the difference and what is there.
    fn described(&mut self, mut change: Change, place: &Place, old: &Item, new: &Item) -> Change {
        match place {
            Place::Kind => {
                change.path = "kind".to_owned();
                change.old = Some(old.kind.word().to_owned());
                change.new = Some(new.kind.word().to_owned());
            }
            Place::Generics => {
                change.path = "generics".to_owned();
                change.old = Some(print::item(old, self.symbols));
                change.new = Some(print::item(new, self.symbols));
            }
            Place::Param(symbol) => {
                let name = self.symbols.resolve(*symbol);
                change.path = format!("parameter `{name}`");
                let index = |item: &Item| item.params.iter().position(|param| param.symbol == *symbol);
                let at = index(old).or_else(|| index(new));
                let show = |item: &Item| {
                    let param = item.params.get(at?)?;
                    if let ParamKind::Const(of) = &param.kind
                        && param.default.is_none()
                    {
                        return Some(print::ty(of, self.symbols));
                    }
                    param.default.as_ref().map(|default| print::arg(default, self.symbols))
                };
                change.old = show(old);
                change.new = show(new);
            }
            Place::Mark(label) => {
                change.path = (*label).to_owned();
                let texts = |item: &Item| {
                    let texts: Vec<&str> = item
                        .marks
                        .iter()
                        .filter(|mark| mark.label == *label)
                        .map(|mark| mark.text.as_str())
                        .collect();
                    (!texts.is_empty()).then(|| texts.join(", "))
                };
                change.old = texts(old);
                change.new = texts(new);
            }
            Place::Part(label) => {
                change.path = label.to_string();
                let (before, after) = (old.part(label), new.part(label));
                if let (Some(before), Some(after)) = (before, after) {
                    let (of_old, of_new) = (numbers(old), numbers(new));
                    let sides = Sides { old: &of_old, new: &of_new, symbols: self.symbols };
                    let found = sides.difference(&before.ty.clone().into(), &after.ty.clone().into());
                    for step in &found.steps {
                        change.path.push_str(" > ");
                        change.path.push_str(step);
                    }
                    let shown = (print::arg(&found.old, self.symbols), print::arg(&found.new, self.symbols));
                    // One text where the types differ: it is about how a lifetime is used elsewhere.
                    let shown = if shown.0 == shown.1 {
                        (print::item(old, self.symbols), print::item(new, self.symbols))
                    } else {
                        shown
                    };
                    change.old = Some(shown.0);
                    change.new = Some(shown.1);
                } else {
                    change.old = before.map(|part| print::ty(&part.ty, self.symbols));
                    change.new = after.map(|part| print::ty(&part.ty, self.symbols));
                }
                if let (Kind::Impl, Label::Assoc(name)) = (old.kind, label) {
                    change.item = assoc_name(&old.path, name);
                }
            }
            Place::Condition(predicate) | Place::Promise(predicate)
                if predicate::is_capture(self.symbols, predicate) =>
            {
                change.path = "captured lifetimes".to_owned();
                change.old = Some(print::captures(old, self.symbols));
                change.new = Some(print::captures(new, self.symbols));
            }
            Place::Condition(predicate) | Place::Promise(predicate) => {
                let shown = print::predicate(predicate, self.symbols);
                change.path = format!("where {shown}");
                let has =
                    |item: &Item| item.predicates.contains(predicate) || item.promises.contains(predicate);
                change.old = has(old).then(|| shown.clone());
                change.new = has(new).then(|| shown.clone());
            }
        }
        change
    }

    fn impls(&mut self, old: &[Item], new: &[Item]) {
        let of_kind = |items: &'_ [Item]| -> Vec<Item> {
            items.iter().filter(|item| item.kind == Kind::Impl).cloned().collect()
        };
        let (old_impls, new_impls) = (of_kind(old), of_kind(new));
        let types = |items: &[Item]| -> HashSet<String> {
            items
                .iter()
                .filter(|item| class(item.kind) == Class::Type)
                .map(|item| item.path.clone())
                .collect()
        };
        let (old_types, new_types) = (types(old), types(new));
        let taken = Taken::new(new);
        let traits = |items: &'_ [Item]| -> HashSet<String> {
            items.iter().filter(|item| item.kind == Kind::Trait).map(|item| item.path.clone()).collect()
        };
        let (old_traits, own_traits) = (traits(old), traits(new));
        let mut by_key: HashMap<String, Vec<usize>> = HashMap::new();
        for (index, item) in new_impls.iter().enumerate() {
            by_key.entry(impl_key(item)).or_default().push(index);
        }
        let mut used = vec![false; new_impls.len()];
        for item in &old_impls {
            let candidates = by_key.get(&impl_key(item)).cloned().unwrap_or_default();
            if let Some(index) = candidates.iter().find(|index| same(item, &new_impls[**index])) {
                used[*index] = true;
                continue;
            }
            let gone = item
                .parent
                .as_ref()
                .is_some_and(|parent| old_types.contains(parent) && !new_types.contains(parent));
            if gone {
                continue;
            }
            match self.counterpart(item, &new_impls, &candidates) {
                Some(index) => {
                    used[index] = true;
                    let before = self.changes.len();
                    self.pair(item, &new_impls[index]);
                    let takes = taken.leaves_no_room(&new_impls[index], self.symbols)
                        && !taken.leaves_no_room(item, self.symbols);
                    for change in self.changes.iter_mut().skip(before) {
                        change.breaking |= takes;
                    }
                }
                // Another impl may bring it about: that of `From` for one of `Into`.
                None if self.still_implemented(item) => {}
                None => self.removed(item, &HashSet::new(), &HashSet::new()),
            }
        }
        for (item, used) in new_impls.iter().zip(used) {
            let of_new_type = item
                .parent
                .as_ref()
                .is_some_and(|parent| new_types.contains(parent) && !old_types.contains(parent));
            if !used && !of_new_type && !old_impls.iter().any(|old| old.path == item.path) {
                let before = self.changes.len();
                self.added(&Item { parent: None, ..item.clone() }, &HashMap::new());
                // Of a trait that is new, nobody has an impl yet.
                let known = old_traits.contains(impl_key(item).as_str())
                    || !own_traits.contains(impl_key(item).as_str());
                // What is dropped cannot be taken apart any more.
                let apart =
                    impl_key(item) == "core::ops::drop::Drop" && has_fields(old, item.parent.as_deref());
                let takes = apart || known && taken.leaves_no_room(item, self.symbols);
                for change in self.changes.iter_mut().skip(before) {
                    change.breaking |= takes;
                }
            }
        }
    }

    fn still_implemented(&mut self, item: &Item) -> bool {
        Question { world: &self.worlds.1, symbols: self.symbols, reading: Reading::Exact }.implemented(item)
    }

    /// The impl that takes the place of an old one: one that can stand in for it, or else one for the same types that
    /// asks for more or gives something else.
    fn counterpart(&mut self, item: &Item, new: &[Item], candidates: &[usize]) -> Option<usize> {
        let mut near = None;
        for index in candidates {
            match self.forward(item, &new[*index], Reading::Exact) {
                Ok(()) => return Some(*index),
                // One for every type is not the old one with another condition.
                Err(Place::Part(Label::Assoc(_)) | Place::Condition(_))
                    if is_for_any(item) || !is_for_any(&new[*index]) =>
                {
                    near = near.or(Some(*index));
                }
                Err(_) => {}
            }
        }
        near
    }
}

/// Whether a type has fields that can be seen, in itself or in a variant.
fn has_fields(items: &[Item], of: Option<&str>) -> bool {
    let Some(of) = of else { return false };
    let inside = format!("{of}::");
    items.iter().any(|item| item.kind == Kind::Field && item.path.starts_with(&inside))
}

/// Whether an impl is for a parameter: for every type that meets its conditions.
fn is_for_any(item: &Item) -> bool {
    item.part(&Label::SelfType).is_some_and(|part| param(&part.ty.clone().into()).is_some())
}

/// Impls that can cover each other have one trait, and one type constructor or none.
fn impl_key(item: &Item) -> String {
    let of = item.path.strip_prefix("impl ").unwrap_or(&item.path);
    let of = of.split(['<', ' ']).next().unwrap_or(of);
    of.to_owned()
}

/// Whether two items are the same without asking: nothing in their worlds can make them differ, variances aside, which
/// are compared as marks.
fn same(old: &Item, new: &Item) -> bool {
    let of = |item: &Item| Item { required: false, closed: false, ..item.clone() };
    old == new || of(old) == of(new)
}

/// An item whose last parameters are not written, as whoever knew the old one does not write them.
fn at_defaults(old: &Item, new: &Item) -> Result<Item, TermError> {
    let explicit = |item: &Item| item.params.iter().filter(|param| param.role == Role::Explicit).count();
    let mut item = new.clone();
    let cx = Boxed::new();
    for _ in explicit(old)..explicit(new) {
        let Some(at) = item.params.iter().rposition(|param| param.default.is_some()) else { break };
        let param = item.params.remove(at);
        let lookup =
            |name: Name| if name == Name::Param(param.symbol) { param.default.clone() } else { None };
        for ty in item.types_mut() {
            *ty = replace_params(&cx, ty, lookup)?;
        }
    }
    Ok(item)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Forward,
    Backward,
}

/// What it means that an item falls short at a place, in one direction only.
fn at_place(place: &Place, kind: Kind, side: Side) -> ChangeKind {
    let (wider, narrower) = match side {
        Side::Forward => (ChangeKind::Widened, ChangeKind::Narrowed),
        Side::Backward => (ChangeKind::Narrowed, ChangeKind::Widened),
    };
    match place {
        Place::Kind => ChangeKind::Incompatible,
        Place::Generics | Place::Param(_) => match side {
            Side::Forward => ChangeKind::Incompatible,
            Side::Backward => ChangeKind::Widened,
        },
        Place::Mark(_) | Place::Condition(_) => narrower,
        Place::Promise(_) => wider,
        Place::Part(label) => match label.variance(kind) {
            Variance::Contravariant => narrower,
            Variance::Covariant => wider,
            Variance::Invariant | Variance::Bivariant => match side {
                Side::Forward => ChangeKind::Incompatible,
                // It fits where the old one did, and elsewhere too: an impl for more types.
                Side::Backward => ChangeKind::Widened,
            },
        },
    }
}

/// `<Type as Trait>::Name`, from `impl Trait for Type`.
fn assoc_name(path: &str, name: &str) -> String {
    let header = path.strip_prefix("impl ").unwrap_or(path);
    match header.split_once(" for ") {
        Some((of, this)) => format!("<{this} as {of}>::{name}"),
        None => format!("{path}::{name}"),
    }
}
