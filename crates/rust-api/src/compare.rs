//! Comparison of two versions of a crate, as types.
//!
//! Items are paired by path, impls by trait and self type. For each pair, [`substitutable`] checks whether
//! the new item can replace the old one, and the old one the new one. If the first check fails, the change is
//! a break; if either fails, there is a change. If other crates implement an item too, such as the methods of
//! a trait, every change is a break.
//!
//! A change is described at the part that changed. A *widened* parameter accepts more values and a *narrowed*
//! result is more specific than before; both are harmless.

mod blanket_impls;
mod default_arguments;
mod describe;
mod difference;
mod map_types;
mod new_definitions;
mod substitutable;

use std::collections::{BTreeMap, HashMap, HashSet};

use typeloom_pool::compat::{ChangeKind, Direction, TypePath};
use typeloom_term::subst::replace_params;
use typeloom_term::{Boxed, Name, Symbols, TermError, Variance};

use crate::item::{Attribute, Item, Kind, ParamKind, PartLabel, Role};
use crate::lower::Api;
use crate::print;
use crate::prove::assumptions::elaborate;
use crate::prove::world::{Knowledge, World, normalize};
use crate::terms::param;
use blanket_impls::OpenTraits;
use default_arguments::DefaultArguments;
use new_definitions::NewDefinitions;
use substitutable::{InvariantParts, Mismatch, SubstitutionCheck};

/// A difference between the versions of an item.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ItemChange {
    /// Path of the item.
    pub item: String,
    /// Kind of the item.
    pub kind: Kind,
    /// Classification of the change.
    pub change: ChangeKind,
    /// Whether there are uses of the old item that the new one does not allow.
    pub breaking: bool,
    /// Path from the item to the difference; empty if the item was added or removed.
    pub path: TypePath,
    /// Rendering of the old part.
    pub old: Option<String>,
    /// Rendering of the new part.
    pub new: Option<String>,
}

/// Compares two versions. Both must be lowered with one table of names, the new version *like* the old one.
///
/// # Errors
/// If a type grows too large when aliases in it are evaluated.
pub fn diff(old: &Api, new: &Api, symbols: &mut Symbols) -> Result<Vec<ItemChange>, TermError> {
    let worlds = (World::new(old, symbols)?, World::new(new, symbols)?);
    let old_items = prepared(&old.items, &worlds.0, symbols)?;
    let new_items = prepared(&new.items, &worlds.1, symbols)?;
    let definitions = NewDefinitions::new(&old_items, &new_items, &old.paths.root, symbols)?;
    let instances = old_items.into_iter().map(|item| definitions.instances(item));
    let mut old_items = instances.collect::<Result<Vec<_>, _>>()?.concat();
    for item in &mut old_items {
        definitions.apply(item, symbols)?;
    }
    let defaults = DefaultArguments::new(&[&old_items, &new_items], symbols);
    let mut comparison = ApiComparison { worlds: &worlds, symbols, defaults, changes: Vec::new() };
    comparison.named(&old_items, &new_items);
    comparison.impls(&old_items, &new_items);
    let mut changes = comparison.changes;
    changes.sort_by(|a, b| {
        (&a.item, a.kind, b.breaking, a.change).cmp(&(&b.item, b.kind, a.breaking, b.change))
    });
    changes.dedup_by(|a, b| a.item == b.item && a.kind == b.kind);
    Ok(changes)
}

/// Returns the items that cannot be proven substitutable for themselves: none, if the proofs are complete
/// enough for the crate. [`diff`] skips identical items, so this function tests the proofs on real crates.
///
/// # Errors
/// As [`diff`].
pub fn self_check(api: &Api, symbols: &mut Symbols) -> Result<Vec<ItemChange>, TermError> {
    let worlds = (World::new(api, symbols)?, World::new(api, symbols)?);
    let items = prepared(&api.items, &worlds.0, symbols)?;
    let defaults = DefaultArguments::new(&[&items], symbols);
    let mut comparison = ApiComparison { worlds: &worlds, symbols, defaults, changes: Vec::new() };
    for item in &items {
        comparison.pair(item, item);
    }
    Ok(comparison.changes)
}

/// The items with evaluated associated types and with the variances of their parameters.
fn prepared(items: &[Item], world: &World, symbols: &mut Symbols) -> Result<Vec<Item>, TermError> {
    items.iter().map(|item| prepared_item(item, world, symbols)).collect()
}

fn prepared_item(item: &Item, world: &World, symbols: &mut Symbols) -> Result<Item, TermError> {
    let mut item = item.clone();
    if item.kind == Kind::Impl {
        // The types in an impl are well formed; rustdoc omits the bounds of this kind from impls of auto
        // traits.
        for part in &item.parts {
            item.context.extend(world.clauses_of(&part.ty)?);
        }
    }
    let known: Vec<_> = item.context.iter().chain(&item.predicates).chain(&item.promises).cloned().collect();
    let known = elaborate(&world.traits, symbols, &known)?;
    let symbols = &*symbols;
    let knowledge = Knowledge::new(world, symbols, &known);
    for part in &mut item.parts {
        part.ty = normalize(&knowledge, &part.ty)?;
        if part.ty.meta().weight == u16::MAX {
            return Err(TermError::TooDeep);
        }
        part.ty = typeloom_term::normal::normal_form(&world.cx, &part.ty)?;
    }
    // Without assumptions: an equation must not evaluate itself.
    let knowledge = Knowledge::new(world, symbols, &[]);
    for list in [&mut item.predicates, &mut item.promises, &mut item.context] {
        for predicate in list.iter_mut() {
            *predicate = normalize(&knowledge, predicate)?;
            *predicate = typeloom_term::normal::normal_form(&world.cx, predicate)?;
        }
    }
    if item.kind.is_adt() {
        let variances = variance_attributes(&item, world, symbols);
        item.attributes.extend(variances);
    }
    Ok(item)
}

/// The variances of the parameters of a type whose fields are known.
fn variance_attributes(item: &Item, world: &World, symbols: &Symbols) -> Vec<Attribute> {
    let Some(symbol) = symbols.get(&item.path) else { return Vec::new() };
    let known = world.adts.get(&symbol).is_some_and(|adt| adt.hidden.is_none());
    let variances = world.variances.list(symbol).filter(|_| known).unwrap_or_default();
    let params = item.explicit_params().zip(variances).enumerate();
    params
        .filter(|(_, (param, _))| !matches!(param.kind, ParamKind::Const(_)))
        .map(|(index, (_, variance))| Attribute::Variance { param: index, variance: *variance })
        .collect()
}

/// Namespaces of paths: one path names at most one item of each class.
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

struct ApiComparison<'c> {
    worlds: &'c (World, World),
    symbols: &'c mut Symbols,
    defaults: DefaultArguments,
    changes: Vec<ItemChange>,
}

impl ApiComparison<'_> {
    /// Checks that one item can replace the other: the new one replaces the old one for
    /// [`Direction::Backward`].
    fn check(
        &mut self,
        old: &Item,
        new: &Item,
        direction: Direction,
        invariant_parts: InvariantParts,
    ) -> Result<(), Mismatch> {
        let written = self.defaults.in_both(old, new)?;
        let (old, new) = written.as_ref().map_or((old, new), |(old, new)| (old, new));
        let (world, sub, sup) = match direction {
            Direction::Backward => (&self.worlds.1, new, old),
            Direction::Forward | Direction::Full => (&self.worlds.0, old, new),
        };
        SubstitutionCheck { world, symbols: self.symbols, invariant_parts }.check(sub, sup)
    }

    fn backward(&mut self, old: &Item, new: &Item) -> Result<(), Mismatch> {
        self.check(old, new, Direction::Backward, InvariantParts::Equal)
    }

    fn forward(&mut self, old: &Item, new: &Item) -> Result<(), Mismatch> {
        self.check(old, new, Direction::Forward, InvariantParts::Equal)
    }

    /// Whether the items can replace each other.
    fn is_equivalent(&mut self, old: &Item, new: &Item) -> bool {
        self.backward(old, new).is_ok() && self.forward(old, new).is_ok()
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
            if let Some(others) = new.get(key) {
                self.group(items, others, &parents);
                continue;
            }
            for item in items {
                // The removal of the parent covers its parts.
                let parent = item.parent.as_deref();
                if !parent.is_some_and(|parent| gone.contains(parent) && !kept.contains(parent)) {
                    self.push(item, ChangeKind::Removed, true);
                }
            }
        }
        for (_, items) in new.iter().filter(|(key, _)| !old.contains_key(*key)) {
            for item in items {
                self.added(item, &parents);
            }
        }
    }

    fn added(&mut self, item: &Item, parents: &HashMap<&str, &Item>) {
        let parent = item.parent.as_deref().map(|parent| parents.get(parent));
        let breaking = match (parent, item.kind) {
            // The addition of the parent covers its parts.
            (Some(None), _) => return,
            (Some(Some(parent)), Kind::Field | Kind::Variant) => parent.closed,
            (Some(Some(parent)), Kind::TraitMethod | Kind::TraitType | Kind::TraitConst) => {
                item.required && parent.implemented_by_others
            }
            (Some(Some(_)) | None, _) => false,
        };
        self.push(item, ChangeKind::Added, breaking);
    }

    /// Records an item of one of the versions.
    fn push(&mut self, item: &Item, change: ChangeKind, breaking: bool) {
        let shown = Some(print::item(item, self.symbols));
        let (old, new) = if change == ChangeKind::Removed { (shown, None) } else { (None, shown) };
        let (item, kind, path) = (item.path.clone(), item.kind, TypePath::default());
        self.changes.push(ItemChange { item, kind, change, breaking, path, old, new });
    }

    /// Pairs the items of one path. There is one of each version, or several methods in impls for different
    /// arguments.
    fn group(&mut self, old: &[&Item], new: &[&Item], parents: &HashMap<&str, &Item>) {
        let mut left: Vec<&Item> = Vec::new();
        let mut free: Vec<&Item> = new.to_vec();
        for item in old {
            match free.iter().position(|other| is_identical(item, other)) {
                Some(found) => {
                    free.remove(found);
                }
                None => left.push(item),
            }
        }
        let several = old.len() > 1 || new.len() > 1;
        for item in left {
            if several && let Some(found) = free.iter().position(|other| self.is_equivalent(item, other)) {
                free.remove(found);
                continue;
            }
            let fitting = new.iter().find(|other| several && self.backward(item, other).is_ok());
            let other = match fitting {
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
        let (backward, forward) = (self.backward(old, new), self.forward(old, new));
        let open = old.implemented_by_others;
        let breaking =
            backward.is_err() || (open && forward.is_err() && !self.is_only_default_added(old, new));
        if backward.is_ok() && forward == Err(Mismatch::Generics) && self.is_only_parameter_named(old, new) {
            return;
        }
        let (mismatch, change) = match (&backward, &forward) {
            (Ok(()), Ok(())) => {
                if new.hidden && !old.hidden {
                    self.changes.push(describe::became_hidden(old));
                }
                return;
            }
            (Err(mismatch), Ok(())) => (mismatch, one_way_change(mismatch, old.kind, Direction::Backward)),
            (Ok(()), Err(mismatch)) => (mismatch, one_way_change(mismatch, old.kind, Direction::Forward)),
            (Err(mismatch), Err(other)) => (mismatch, self.two_way_change(old, new, mismatch, other)),
        };
        let change = describe::item_change(old, new, mismatch, change, breaking, self.symbols);
        self.changes.push(change);
    }

    /// Whether a trait or an item of it only gains a default or becomes dyn-compatible, which is harmless for
    /// implementors.
    fn is_only_default_added(&mut self, old: &Item, new: &Item) -> bool {
        let without = |item: &Item| {
            let mut item = item.clone();
            item.attributes.retain(|attribute| {
                !matches!(attribute, Attribute::Default { .. } | Attribute::UsableAsDyn(_))
            });
            for param in &mut item.params {
                param.default = None;
            }
            item
        };
        at_defaults(old, new).is_ok_and(|new| self.is_equivalent(&without(old), &without(&new)))
    }

    /// Whether the only change is that parameters of type `impl Trait` become named generic parameters.
    fn is_only_parameter_named(&mut self, old: &Item, new: &Item) -> bool {
        if old.explicit_params().next().is_some() || !matches!(new.kind, Kind::Function | Kind::Method) {
            return false;
        }
        let mut unnamed = new.clone();
        for param in unnamed.params.iter_mut().filter(|param| param.role == Role::Explicit) {
            param.role = Role::Inferred;
        }
        self.forward(old, &unnamed).is_ok()
    }

    /// Classifies a change after which neither item can replace the other one.
    fn two_way_change(
        &mut self,
        old: &Item,
        new: &Item,
        mismatch: &Mismatch,
        other: &Mismatch,
    ) -> ChangeKind {
        if let Mismatch::Part(label) = mismatch
            && label.variance(old.kind) == Variance::Invariant
        {
            // For readers of the part, the change can still have a direction.
            let mut is_read = |direction| self.check(old, new, direction, InvariantParts::ReadOnly).is_ok();
            return match (is_read(Direction::Backward), is_read(Direction::Forward)) {
                (true, false) => ChangeKind::Narrowed,
                (false, true) => ChangeKind::Widened,
                (true, true) | (false, false) => ChangeKind::Incompatible,
            };
        }
        let is_same_part = match (mismatch, other) {
            (Mismatch::Part(a), Mismatch::Part(b)) => a.is_same(b),
            _ => std::mem::discriminant(mismatch) == std::mem::discriminant(other),
        };
        if is_same_part {
            ChangeKind::Incompatible
        } else {
            one_way_change(mismatch, old.kind, Direction::Backward)
        }
    }

    fn impls(&mut self, old: &[Item], new: &[Item]) {
        let old_impls: Vec<&Item> = old.iter().filter(|item| item.kind == Kind::Impl).collect();
        let new_impls: Vec<&Item> = new.iter().filter(|item| item.kind == Kind::Impl).collect();
        let paths = |items: &[Item], wanted: fn(Kind) -> bool| -> HashSet<String> {
            items.iter().filter(|item| wanted(item.kind)).map(|item| item.path.clone()).collect()
        };
        let is_type = |kind| class(kind) == Class::Type;
        let (old_types, new_types) = (paths(old, is_type), paths(new, is_type));
        let is_trait = |kind| kind == Kind::Trait;
        let (old_traits, new_traits) = (paths(old, is_trait), paths(new, is_trait));
        let open_traits = OpenTraits::new(new);
        let mut by_trait: HashMap<String, Vec<usize>> = HashMap::new();
        for (index, item) in new_impls.iter().enumerate() {
            by_trait.entry(impl_trait(item)).or_default().push(index);
        }
        let mut used = vec![false; new_impls.len()];
        for item in &old_impls {
            let candidates = by_trait.get(&impl_trait(item)).cloned().unwrap_or_default();
            if let Some(index) = candidates.iter().find(|index| is_identical(item, new_impls[**index])) {
                used[*index] = true;
                continue;
            }
            let parent = item.parent.as_ref();
            if parent.is_some_and(|parent| old_types.contains(parent) && !new_types.contains(parent)) {
                continue;
            }
            match self.counterpart(item, &new_impls, &candidates) {
                Some(index) => {
                    used[index] = true;
                    let before = self.changes.len();
                    self.pair(item, new_impls[index]);
                    let covers_more = self.blocks_other_crates(&open_traits, new_impls[index]);
                    for change in self.changes.iter_mut().skip(before) {
                        change.breaking |= covers_more;
                    }
                }
                // Another impl can imply it: that of `From` implies one of `Into`.
                None if self.is_still_implemented(item) => {}
                None => self.push(item, ChangeKind::Removed, true),
            }
        }
        for (item, used) in new_impls.iter().zip(used) {
            let parent = item.parent.as_ref();
            let of_new_type =
                parent.is_some_and(|parent| new_types.contains(parent) && !old_types.contains(parent));
            if used || of_new_type || old_impls.iter().any(|old| old.path == item.path) {
                continue;
            }
            let of = impl_trait(item);
            // A new trait has no impls in other crates yet.
            let is_new_trait = new_traits.contains(&of) && !old_traits.contains(&of);
            // The fields of a type that implements `Drop` cannot be moved out.
            let blocks_moves =
                of == "core::ops::drop::Drop" && has_public_fields(old, item.parent.as_deref());
            let breaks = blocks_moves || !is_new_trait && self.blocks_other_crates(&open_traits, item);
            if breaks || !item.hidden {
                self.push(item, ChangeKind::Added, breaks);
            }
        }
    }

    /// Whether an impl covers types for which other crates could implement its trait before.
    fn blocks_other_crates(&mut self, open_traits: &OpenTraits<'_>, item: &Item) -> bool {
        open_traits.covers_foreign_types(item, self.symbols)
            && !open_traits.were_covered(item, &self.worlds.0, self.symbols).unwrap_or(false)
    }

    fn is_still_implemented(&mut self, item: &Item) -> bool {
        let invariant_parts = InvariantParts::Equal;
        SubstitutionCheck { world: &self.worlds.1, symbols: self.symbols, invariant_parts }
            .is_implemented(item)
    }

    /// The impl that replaces an old one: a substitutable one, or else one for the same types with other
    /// conditions or associated types.
    fn counterpart(&mut self, item: &Item, new: &[&Item], candidates: &[usize]) -> Option<usize> {
        let mut similar = None;
        for index in candidates {
            match self.backward(item, new[*index]) {
                Ok(()) => return Some(*index),
                // A blanket impl does not count as the old impl with another condition.
                Err(Mismatch::Unresolved) if item.path == new[*index].path => {
                    similar = similar.or(Some(*index));
                }
                Err(Mismatch::Part(PartLabel::Assoc(_)) | Mismatch::Condition(_))
                    if is_for_every_type(item) || !is_for_every_type(new[*index]) =>
                {
                    similar = similar.or(Some(*index));
                }
                Err(_) => {}
            }
        }
        similar
    }
}

/// Whether a type or one of its variants has public fields.
fn has_public_fields(items: &[Item], of: Option<&str>) -> bool {
    let Some(of) = of else { return false };
    let inside = format!("{of}::");
    items.iter().any(|item| item.kind == Kind::Field && item.path.starts_with(&inside))
}

/// Whether the self type of an impl is a parameter.
fn is_for_every_type(item: &Item) -> bool {
    item.part(&PartLabel::SelfType).is_some_and(|part| param(&part.ty.clone().into()).is_some())
}

/// The path of the trait of an impl.
fn impl_trait(item: &Item) -> String {
    let of = item.path.strip_prefix("impl ").unwrap_or(&item.path);
    of.split(['<', ' ']).next().unwrap_or(of).to_owned()
}

/// Whether two items are equal, so that no check is needed. Of their worlds, only variances could distinguish
/// them, and these are attributes.
fn is_identical(old: &Item, new: &Item) -> bool {
    let of = |item: &Item| Item { required: false, closed: false, ..item.clone() };
    (old == new || of(old) == of(new)) && !old.has_error()
}

/// The new item with defaults for the parameters that the old one does not have.
fn at_defaults(old: &Item, new: &Item) -> Result<Item, TermError> {
    let mut item = new.clone();
    let cx = Boxed::new();
    for _ in old.explicit_params().count()..new.explicit_params().count() {
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

/// Classifies a mismatch that occurs in one direction only.
fn one_way_change(mismatch: &Mismatch, kind: Kind, direction: Direction) -> ChangeKind {
    let breaks_backward = direction == Direction::Backward;
    let (wider, narrower) = if breaks_backward {
        (ChangeKind::Widened, ChangeKind::Narrowed)
    } else {
        (ChangeKind::Narrowed, ChangeKind::Widened)
    };
    // An impl for more types is usable for the old ones too.
    let either = if breaks_backward { ChangeKind::Incompatible } else { ChangeKind::Widened };
    match mismatch {
        Mismatch::Kind | Mismatch::Unresolved => ChangeKind::Incompatible,
        Mismatch::Generics | Mismatch::Param(_) => either,
        Mismatch::Attribute(_) | Mismatch::Condition(_) => narrower,
        Mismatch::Promise(_) => wider,
        Mismatch::Part(label) => match label.variance(kind) {
            Variance::Contravariant => narrower,
            Variance::Covariant => wider,
            Variance::Invariant | Variance::Bivariant => either,
        },
    }
}
