//! Bundles: the relation between a composite and its children.
//!
//! The type of a composite consists of the types of its children, so both directions are unification. The
//! shapes of children flow from a bundle to the values that are unbundled from it, as shapes do between all
//! nodes.

use std::sync::Arc;

use typeloom_dim::shape::DimVec;
use typeloom_types::relation::RelationError;

use crate::rule::{Port, RuleCx, RuleError};
use crate::solution::{Difference, Type};
use crate::state::declarations::MAX_CHILDREN;
use crate::state::parts::{Part, Parts};
use crate::ty::{Clash, Head, Ty};

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
        let (message, expected, found) = explained(cx, "the bundle", &wanted, &found);
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
        cx.name_child(*port, name);
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
    let (message, expected, found) =
        explained(cx, &format!("child `{name}` of the bundle"), &expected, &found);
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
                    _ => "its shape differs".to_owned(),
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

/// The message and the two sides of types that do not unify.
fn explained(cx: &RuleCx<'_, '_>, whole: &str, expected: &Type, found: &Type) -> (String, String, String) {
    let core = cx.tables();
    let show = |ty: &Type| ty.display(core.types.universe(), &core.dims).to_string();
    let difference = Difference::between(expected, found);
    (difference.message(whole), show(difference.sides.0), show(difference.sides.1))
}
