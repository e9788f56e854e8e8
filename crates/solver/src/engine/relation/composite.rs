//! Bundles: the relation between a composite and its children.
//!
//! The type of a composite consists of the types of its children, so both directions are unification. The shapes of
//! children flow from a bundle to the values that are unbundled from it, as shapes do between all nodes.

use std::sync::Arc;

use typeloom_types::relation::RelationError;

use crate::dim::shape::DimVec;
use crate::rule::{Port, RuleCx, RuleError};
use crate::solution::{CompositeType, Type};
use crate::state::parts::{Part, Parts};
use crate::ty::{Clash, Head, Ty};

/// Maximum number of children of a composite, with those of nested composites.
pub(crate) const MAX_CHILDREN: usize = 4096;

/// Makes `composite` the composite of these children; returns whether a port was narrowed.
pub(super) fn bundle(
    cx: &mut RuleCx<'_, '_>,
    composite: Port,
    children: &[(&str, Port)],
) -> Result<bool, RelationError> {
    let before = super::knowledge(cx);
    let mut list: Vec<(Arc<str>, Ty)> = Vec::with_capacity(children.len());
    for (name, port) in children {
        let ty = cx.ty(*port).ok_or_else(|| {
            RelationError::new(
                format!("child `{name}` of the bundle is omitted"),
                port.to_ref(),
                "a value",
                "none",
            )
        })?;
        cx.trace_equal(*port, composite);
        list.push(((*name).into(), ty));
    }
    let wanted = cx.types().composite(list, false);
    let Some(known) = cx.ty(composite) else { return Ok(false) };
    if cx.types().unify(known, wanted).is_err() {
        let (wanted, found) = (cx.core().type_of(Some(wanted), None), cx.snapshot(composite));
        let (message, expected, found) = difference(cx, &wanted, &found);
        return Err(RelationError::new(message, composite.to_ref(), expected, found));
    }
    if cx.core().composite_size(wanted) > MAX_CHILDREN {
        let message =
            format!("a bundle holds at most {MAX_CHILDREN} values, with those of the bundles in it");
        return Err(RelationError::new(message, composite.to_ref(), "", ""));
    }
    let parts = children
        .iter()
        .map(|(name, port)| ((*name).into(), Part { shape: cx.shape_id(*port), parts: cx.parts(*port) }));
    if let Some(parts) = Parts::of(parts.collect::<Vec<_>>()) {
        cx.write_parts(composite, parts);
    }
    Ok(super::knowledge(cx) != before)
}

/// Relates the children that are unbundled from `composite` to it; returns whether a port was narrowed.
pub(super) fn unbundle(
    cx: &mut RuleCx<'_, '_>,
    composite: Port,
    children: &[(&str, Port)],
) -> Result<bool, RelationError> {
    let before = super::knowledge(cx);
    let Some(known) = cx.ty(composite) else { return Ok(false) };
    let mut list: Vec<(Arc<str>, Ty)> = Vec::with_capacity(children.len());
    for (name, port) in children {
        let Some(ty) = cx.ty(*port) else { continue };
        cx.trace_equal(composite, *port);
        child(cx, composite, (name, *port))?;
        list.push(((*name).into(), ty));
    }
    let wanted = cx.types().composite(list, true);
    if let Err(Clash) = cx.types().unify(known, wanted) {
        return Err(cx.not_under(composite, "composite", "a bundle is unbundled".to_owned()));
    }
    shapes(cx, composite, children)?;
    Ok(super::knowledge(cx) != before)
}

/// Checks that a child is of the type of the value that is unbundled.
fn child(cx: &mut RuleCx<'_, '_>, composite: Port, (name, port): (&str, Port)) -> Result<(), RelationError> {
    let (Some(known), Some(ty)) = (cx.ty(composite), cx.ty(port)) else { return Ok(()) };
    if matches!(cx.types().head(known), Head::Error) {
        return Ok(());
    }
    let Some(children) = cx.types().children(known) else { return Ok(()) };
    let Some(own) = children.get(name) else {
        if children.is_open {
            return Ok(());
        }
        let names: Vec<&str> = children.list.iter().map(|(name, _)| &**name).collect();
        let message = format!("the bundle has no child `{name}`; it has {}", names.join(", "));
        return Err(RelationError::new(message, composite.to_ref(), "", ""));
    };
    if cx.types().unify(own, ty).is_ok() {
        return Ok(());
    }
    let part = cx.parts(composite).and_then(|parts| parts.get(name).cloned()).unwrap_or_default();
    let expected = cx.core().type_with(Some(own), part.shape, part.parts.as_ref());
    let found = cx.snapshot(port);
    let (message, expected, found) = difference_of(cx, &format!("child `{name}`"), &expected, &found);
    Err(RelationError::new(message, port.to_ref(), expected, found))
}

/// Passes the known shapes of children to the values that are unbundled.
fn shapes(cx: &mut RuleCx<'_, '_>, composite: Port, children: &[(&str, Port)]) -> Result<(), RelationError> {
    let Some(parts) = cx.parts(composite) else { return Ok(()) };
    for (name, port) in children {
        let Some(Part { shape, parts }) = parts.get(name) else { continue };
        if let Some(shape) = shape {
            let dims: DimVec = cx.core().resolved(*shape);
            cx.set_shape(*port, &dims).map_err(|failure| {
                let message = match failure {
                    RuleError::Contradiction { message, .. } | RuleError::Shapes { message, .. } => message,
                    _ => "its shape is another one".to_owned(),
                };
                RelationError::new(format!("child `{name}` of the bundle: {message}"), port.to_ref(), "", "")
            })?;
        }
        if let Some(parts) = parts {
            cx.write_parts(*port, parts.clone());
        }
    }
    Ok(())
}

/// Passes the shapes in a composite from an input to the outputs of one type.
pub(super) fn pass(cx: &mut RuleCx<'_, '_>, ports: &[Port]) {
    let Some(parts) =
        ports.iter().filter(|port| matches!(port, Port::In(_))).find_map(|port| cx.parts(*port))
    else {
        return;
    };
    for port in ports.iter().filter(|port| matches!(port, Port::Out(_))) {
        cx.write_parts(*port, parts.clone());
    }
}

/// The message, and the two sides, of two types that do not unify.
fn difference(cx: &RuleCx<'_, '_>, expected: &Type, found: &Type) -> (String, String, String) {
    difference_of(cx, "the bundle", expected, found)
}

/// Descends to the first child that differs.
fn difference_of(cx: &RuleCx<'_, '_>, what: &str, expected: &Type, found: &Type) -> (String, String, String) {
    let mut path = what.to_owned();
    let (mut expected, mut found) = (expected, found);
    while let (Type::Composite(a), Type::Composite(b)) = (expected, found) {
        let names = |composite: &CompositeType| {
            composite.children.iter().map(|(name, _)| name.to_string()).collect::<Vec<_>>().join(", ")
        };
        let in_b = |name: &str| b.children.iter().find(|(own, _)| **own == *name);
        let in_a = |name: &str| a.children.iter().any(|(own, _)| **own == *name);
        let missing = a.children.iter().find(|(name, _)| in_b(name).is_none()).filter(|_| !b.is_open);
        let further = b.children.iter().find(|(name, _)| !in_a(name)).filter(|_| !a.is_open);
        if let Some((name, _)) = missing {
            return (format!("{path} has no child `{name}`"), names(a), names(b));
        }
        if let Some((name, _)) = further {
            return (format!("{path} has a further child `{name}`"), names(a), names(b));
        }
        let mut pairs = a.children.iter().filter_map(|(name, x)| Some((name, x, &in_b(name)?.1)));
        let Some((name, x, y)) = pairs.find(|(_, x, y)| !can_agree(x, y)) else { break };
        path = format!("child `{name}` of {path}");
        (expected, found) = (x, y);
    }
    let core = cx.tables();
    let show = |ty: &Type| ty.display(core.types.universe(), &core.dims).to_string();
    (format!("{path} is of another type"), show(expected), show(found))
}

/// Whether two types could be one, as far as their outermost structure and element types show.
fn can_agree(a: &Type, b: &Type) -> bool {
    match (a, b) {
        (Type::Unknown(_) | Type::Error, _) | (_, Type::Unknown(_) | Type::Error) => true,
        (Type::Tensor(a), Type::Tensor(b)) | (Type::Sparse(a), Type::Sparse(b)) => {
            !a.elem.intersect(b.elem).is_empty()
        }
        (Type::Scalar(a), Type::Scalar(b)) => !a.intersect(*b).is_empty(),
        (Type::Container(outer, a), Type::Container(other, b)) => outer == other && can_agree(a, b),
        (Type::Leaf(a), Type::Leaf(b)) => a == b,
        (Type::Composite(a), Type::Composite(b)) => {
            let fits = |own: &CompositeType, other: &CompositeType| {
                own.children.iter().all(|(name, x)| match other.children.iter().find(|(it, _)| it == name) {
                    Some((_, y)) => can_agree(x, y),
                    None => other.is_open,
                })
            };
            fits(a, b) && fits(b, a)
        }
        _ => false,
    }
}
