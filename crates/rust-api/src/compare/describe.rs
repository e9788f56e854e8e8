//! Description of a mismatch: its path in the item, and the old and the new part as text.

use typeloom_pool::compat::{ChangeKind, PathStep, TypePath};
use typeloom_term::{Symbol, Symbols};

use super::ItemChange;
use super::difference::{ParamNumbers, param_numbers};
use super::substitutable::Mismatch;
use crate::item::{Attribute, Item, Kind, ParamKind, PartLabel, Type};
use crate::{predicate, print};

/// Steps to a part, and the part in both versions.
type Description = (Vec<PathStep>, Option<String>, Option<String>);

/// Describes the change of an item at a mismatch.
pub(super) fn item_change(
    old: &Item,
    new: &Item,
    mismatch: &Mismatch,
    change: ChangeKind,
    breaking: bool,
    symbols: &mut Symbols,
) -> ItemChange {
    let label = |text: &str| vec![PathStep::Label(text.to_owned())];
    let mut item = old.path.clone();
    let (steps, before, after) = match mismatch {
        Mismatch::Kind => (label("kind"), Some(old.kind.word().to_owned()), Some(new.kind.word().to_owned())),
        Mismatch::Unresolved => {
            let reasons = |item: &Item| {
                let listed: Vec<String> = item.unresolved.iter().map(ToString::to_string).collect();
                let text = || {
                    if listed.is_empty() { "a type is not resolved".to_owned() } else { listed.join(", ") }
                };
                item.has_error().then(text)
            };
            (label("unresolved"), reasons(old), reasons(new))
        }
        Mismatch::Generics => {
            (label("generics"), Some(print::item(old, symbols)), Some(print::item(new, symbols)))
        }
        Mismatch::Param(symbol) => param(old, new, *symbol, symbols),
        Mismatch::Attribute(name) => {
            let texts = |item: &Item| {
                let found = item.attributes.iter().filter(|attribute| attribute.label() == *name);
                let texts: Vec<String> = found.map(Attribute::text).collect();
                (!texts.is_empty()).then(|| texts.join(", "))
            };
            (label(name), texts(old), texts(new))
        }
        Mismatch::Part(part) => {
            if let (Kind::Impl, PartLabel::Assoc(name)) = (old.kind, part) {
                item = assoc_name(&old.path, name);
            }
            signature_part(old, new, part, symbols)
        }
        Mismatch::Condition(predicate) | Mismatch::Promise(predicate)
            if predicate::is_capture(symbols, predicate) =>
        {
            let captures = |item: &Item| Some(print::captures(item, symbols));
            (label("captured lifetimes"), captures(old), captures(new))
        }
        Mismatch::Condition(predicate) | Mismatch::Promise(predicate) => {
            let shown = print::predicate(predicate, symbols);
            let has = |item: &Item| item.predicates.contains(predicate) || item.promises.contains(predicate);
            let text = |item: &Item| has(item).then(|| shown.clone());
            (label(&format!("where {shown}")), text(old), text(new))
        }
    };
    ItemChange { item, kind: old.kind, change, breaking, path: TypePath(steps), old: before, new: after }
}

/// Describes that the documentation omits an item now.
pub(super) fn became_hidden(old: &Item) -> ItemChange {
    ItemChange {
        item: old.path.clone(),
        kind: old.kind,
        change: ChangeKind::Narrowed,
        breaking: false,
        path: TypePath(vec![PathStep::Label("documentation".to_owned())]),
        old: Some("visible".to_owned()),
        new: Some("hidden".to_owned()),
    }
}

fn param(old: &Item, new: &Item, symbol: Symbol, symbols: &Symbols) -> Description {
    let index = |item: &Item| item.params.iter().position(|param| param.symbol == symbol);
    let at = index(old).or_else(|| index(new));
    let show = |item: &Item| {
        let param = item.params.get(at?)?;
        match (&param.kind, &param.default) {
            (ParamKind::Const(of), None) => Some(print::ty(of, symbols)),
            (_, default) => default.as_ref().map(|default| print::arg(default, symbols)),
        }
    };
    let step = PathStep::Label(format!("parameter `{}`", symbols.resolve(symbol)));
    (vec![step], show(old), show(new))
}

fn signature_part(old: &Item, new: &Item, label: &PartLabel, symbols: &mut Symbols) -> Description {
    let mut steps = vec![PathStep::Label(label.to_string())];
    let part = |item: &Item| item.part(label).map(|part| part.ty.clone());
    let (Some(before), Some(after)) = (part(old), part(new)) else {
        let show = |item: &Item| part(item).map(|ty: Type| print::ty(&ty, symbols));
        return (steps, show(old), show(new));
    };
    let numbers = ParamNumbers { old: param_numbers(old), new: param_numbers(new), symbols };
    let found = numbers.difference(&before.into(), &after.into());
    steps.extend(found.steps);
    let mut shown = (print::arg(&found.old, symbols), print::arg(&found.new, symbols));
    if shown.0 == shown.1 {
        // The lifetimes are used differently in the rest of the signature, so show the whole item.
        shown = (print::item(old, symbols), print::item(new, symbols));
    }
    (steps, Some(shown.0), Some(shown.1))
}

/// `<Type as Trait>::Name`, from `impl Trait for Type`.
fn assoc_name(path: &str, name: &str) -> String {
    let header = path.strip_prefix("impl ").unwrap_or(path);
    match header.split_once(" for ") {
        Some((of, this)) => format!("<{this} as {of}>::{name}"),
        None => format!("{path}::{name}"),
    }
}
