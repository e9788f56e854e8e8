//! Instantiation of a signature that an attribute contains.
//!
//! The types of a list belong to the ports of one side, in order. A symbol is one extent of the call: the
//! first input with the symbol alone on an axis defines it, and all other occurrences must agree, including
//! expressions. A symbol without such an input is a fresh extent.

use std::sync::Arc;

use typeloom_dim::shape::DimVec;
use typeloom_dim::{Decision, DimId};
use typeloom_onnx::prost::Message as _;
use typeloom_onnx::text::{CompositeText, escape};
use typeloom_onnx::view::{DimValue, ShapeView, TypeKindView, TypeView};
use typeloom_types::relation::RelationError;

use crate::elem::{Elem, ElemSet};
use crate::rule::tree::tree_name;
use crate::rule::{Port, RuleCx, RuleError};
use crate::state::parts::{Part, Parts};
use crate::ty::{Clash, Head};
use crate::universe::Universe;

/// Narrows the ports of a node to a signature; returns whether a port was narrowed.
pub(super) fn instantiate(
    cx: &mut RuleCx<'_, '_>,
    universe: &Arc<Universe>,
    params: &str,
    results: &str,
) -> Result<bool, RelationError> {
    let mut symbols: Vec<(DimId, DimId)> = Vec::new();
    let before = super::knowledge(cx);
    for (name, is_input) in [(params, true), (results, false)] {
        let given = if is_input { cx.input_count() } else { cx.output_count() };
        let port = if is_input { Port::In } else { Port::Out };
        let types: Vec<TypeView<'_>> = match cx.attr(name) {
            Ok(Some(attribute)) => attribute.type_protos().filter_map(Result::ok).collect(),
            Ok(None) | Err(_) => continue,
        };
        if types.len() != given {
            let message = format!("the function has {} {name}", types.len());
            return Err(RelationError::new(message, [], types.len().to_string(), given.to_string()));
        }
        let names = names(cx, name);
        let function = match cx.attr_str("function") {
            Ok(Some(name)) => format!("imported `{}`", escape(name)),
            Ok(None) | Err(_) => "the imported signature".to_owned(),
        };
        for (at, ty) in types.into_iter().enumerate() {
            // The types of a call are those of its arguments, so none of them is optional.
            if is_input && !cx.has(port(at)) {
                let message = format!("{} of {function} is missing", described(is_input, at, &names));
                return Err(RelationError::new(message, port(at).to_ref(), "a value", "none"));
            }
            one(cx, universe, port(at), ty, &mut symbols).map_err(|failure| {
                let RelationError { message, expected, found, .. } = &failure;
                let subject = format!("{} of {function}", described(is_input, at, &names));
                let message = match message.is_empty() {
                    true => format!("{subject} is {found}, but {expected} is needed"),
                    false => format!("{subject}: {message}"),
                };
                RelationError { message, ..failure }
            })?;
        }
    }
    Ok(super::knowledge(cx) != before)
}

/// The names of the ports of one side; empty if the node does not name them.
fn names(cx: &RuleCx<'_, '_>, side: &str) -> Vec<String> {
    let names = cx.attr_strings(&format!("{side}_names")).ok().flatten().unwrap_or_default();
    names.into_iter().map(|name| String::from_utf8_lossy(name).into_owned()).collect()
}

/// A port by position, counted from 1, and by name.
fn described(is_input: bool, at: usize, names: &[String]) -> String {
    let side = if is_input { "argument" } else { "result" };
    let name = names.get(at).map_or_else(String::new, |name| format!(" (`{}`)", escape(name)));
    format!("{side} {}{name}", at + 1)
}

/// Narrows one port.
fn one(
    cx: &mut RuleCx<'_, '_>,
    universe: &Arc<Universe>,
    port: Port,
    view: TypeView<'_>,
    symbols: &mut Vec<(DimId, DimId)>,
) -> Result<(), RelationError> {
    let Ok(ty) = view.parse() else { return Ok(()) };
    let (wanted, shape) = match ty.kind {
        TypeKindView::Tensor { elem, shape } => {
            let set = Elem::from_onnx(elem).map_or(ElemSet::ALL, ElemSet::of);
            (Some(cx.types().tensor_of(set)), shape)
        }
        // The sizes of containers are compared by the importer, as pool types.
        TypeKindView::Sparse { .. }
        | TypeKindView::Sequence(_)
        | TypeKindView::Optional(_)
        | TypeKindView::Map { .. }
        | TypeKindView::Opaque { .. } => {
            (cx.core().read_type(view).ok().and_then(|declared| declared.ty), None)
        }
        TypeKindView::None => (None, None),
    };
    let is_composite = wanted.is_some_and(|ty| cx.types().head(ty) == Head::Composite);
    let by_denotation =
        universe.lattice().lookup_denotation(ty.denotation).map(|node| cx.types().at_node(node.no));
    let by_denotation = by_denotation.filter(|_| !is_composite);
    let Some(wanted) = by_denotation.or(wanted) else { return Ok(()) };
    let Some(known) = cx.ty(port) else { return Ok(()) };
    cx.trace_fixed(port);
    if let Err(Clash) = cx.types().unify(known, wanted) {
        let expected = cx.core().type_of(Some(wanted), None);
        let expected = tree_name(&expected, universe);
        return Err(cx.not_under(port, &expected, String::new()));
    }
    if let Some(shape) = shape {
        return extents(cx, port, shape, symbols);
    }
    match composite_of(&ty.kind) {
        Some(composite) => children(cx, port, composite, symbols),
        None => Ok(()),
    }
}

fn composite_of(kind: &TypeKindView<'_>) -> Option<CompositeText> {
    if let TypeKindView::Opaque { domain, name } = kind {
        CompositeText::of_opaque(domain, name)
    } else {
        None
    }
}

/// Narrows the shapes of the children at one port.
fn children(
    cx: &mut RuleCx<'_, '_>,
    port: Port,
    composite: CompositeText,
    symbols: &mut Vec<(DimId, DimId)>,
) -> Result<(), RelationError> {
    let known = cx.parts(port);
    let parts = parts(cx, port, composite, known.as_ref(), symbols)?;
    // Shapes of children flow to readers only.
    if let (None, Some(parts), Port::Out(_)) = (known, parts, port) {
        cx.write_parts(port, parts);
    }
    Ok(())
}

/// The shapes of the children of a composite, of which some are `known`. The depth is bounded by the
/// notation.
fn parts(
    cx: &mut RuleCx<'_, '_>,
    port: Port,
    composite: CompositeText,
    known: Option<&Parts>,
    symbols: &mut Vec<(DimId, DimId)>,
) -> Result<Option<Parts>, RelationError> {
    let mut all: Vec<(Arc<str>, Part)> = Vec::with_capacity(composite.children.len());
    for (name, ty) in composite.children {
        let bytes = ty.encode_to_vec();
        let Ok(ty) = TypeView::from_body(&bytes, 0).parse() else { continue };
        let known = known.and_then(|known| known.get(&name));
        let mut part = Part::default();
        if let TypeKindView::Tensor { shape: Some(shape), .. } = ty.kind {
            let known = known.and_then(|known| known.shape).map(|shape| cx.core().resolved(shape));
            let dims = instances(cx, shape, known.as_deref(), symbols);
            if let Some(known) = known.filter(|known| differ(cx, known, &dims)) {
                let show = |dims: &[DimId]| typeloom_dim::shape::display(&cx.tables().dims, dims).to_string();
                let message =
                    format!("the shape of child `{name}` is {}, but {} is needed", show(&known), show(&dims));
                return Err(RelationError::new(message, port.to_ref(), show(&dims), show(&known)));
            }
            part.shape = Some(cx.core().shapes.intern(&dims));
        } else if let Some(inner) = composite_of(&ty.kind) {
            part.parts = parts(cx, port, inner, known.and_then(|known| known.parts.as_ref()), symbols)?;
        }
        all.push((name.into(), part));
    }
    Ok(Parts::of(all))
}

/// Whether two shapes certainly differ.
fn differ(cx: &mut RuleCx<'_, '_>, a: &[DimId], b: &[DimId]) -> bool {
    a.len() != b.len() || a.iter().zip(b).any(|(a, b)| cx.dims().compare(*a, *b) == Decision::Different)
}

/// The extents of a shape of the signature in this call. Extents that are open are those of the known shape.
fn instances(
    cx: &mut RuleCx<'_, '_>,
    shape: ShapeView<'_>,
    known: Option<&[DimId]>,
    symbols: &mut Vec<(DimId, DimId)>,
) -> DimVec {
    let mut dims = DimVec::new();
    for (axis, dim) in shape.dims().filter_map(Result::ok).enumerate() {
        let at = known.and_then(|known| known.get(axis)).copied();
        dims.push(match dim.value {
            DimValue::Value(extent) => cx.dims().constant(extent),
            DimValue::Unknown => at.unwrap_or_else(|| cx.fresh()),
            DimValue::Param(text) => match cx.dims().parse(text) {
                Err(_) => at.unwrap_or_else(|| cx.fresh()),
                Ok(formal) => {
                    let alone = cx.dims().as_symbol(formal).is_some();
                    for symbol in cx.dims().symbols_of(formal) {
                        if symbols.iter().all(|(named, _)| *named != symbol) {
                            let actual = at.filter(|_| alone).unwrap_or_else(|| cx.fresh());
                            symbols.push((symbol, actual));
                        }
                    }
                    cx.dims().substitute(formal, symbols)
                }
            },
        });
    }
    dims
}

/// Narrows the shape of one port.
fn extents(
    cx: &mut RuleCx<'_, '_>,
    port: Port,
    shape: ShapeView<'_>,
    symbols: &mut Vec<(DimId, DimId)>,
) -> Result<(), RelationError> {
    let known = cx.shape(port);
    let dims = instances(cx, shape, known.as_deref(), symbols);
    cx.set_shape(port, &dims).map_err(|failure| {
        let show = |dims: &[DimId]| typeloom_dim::shape::display(&cx.tables().dims, dims).to_string();
        let message = match failure {
            RuleError::Shapes { message, .. } | RuleError::Contradiction { message, .. } => message,
            _ => String::new(),
        };
        let found = known.as_deref().map_or_else(String::new, show);
        RelationError::new(message, port.to_ref(), show(&dims), found)
    })
}
