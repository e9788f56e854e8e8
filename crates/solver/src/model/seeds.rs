//! Seeds: types from the caller for values of the main graph.

use std::sync::Arc;

use typeloom_dim::shape::{ShapeId, paired};

use crate::elem::Elem;
use crate::map::Map;
use crate::model::{CheckError, Seed};
use crate::program::{Body, Origin, ValueId};
use crate::solve_error::{SolveError, SolveErrorKind};
use crate::state::Core;
use crate::state::frame::Frame;
use crate::ty::Ty;
use typeloom_types::suggest::nearest;

/// Sets the types of seeds, except for the rejected ones.
pub(crate) fn give<'a>(
    core: &mut Core<'a>,
    frame: &mut Frame<'a>,
    seeds: &[(String, Seed)],
    left_out: &[usize],
) -> Result<(), CheckError> {
    if seeds.is_empty() {
        return Ok(());
    }
    let body = Arc::clone(&frame.body);
    let by_name = by_name(&body);
    for (at, (name, seed)) in seeds.iter().enumerate() {
        let value =
            *by_name.get(name.as_str()).ok_or_else(|| CheckError::UnknownSeed { name: name.clone() })?;
        let (ty, shape) = read(core, name, seed)?;
        if left_out.contains(&at) {
            continue;
        }
        if !meet_seed(core, frame, value, ty, shape) {
            let (seed, found) = (core.type_of(ty, shape), core.snapshot(frame, value));
            frame.report_value(value, SolveErrorKind::SeedContradicts { seed, found });
        }
        frame.rare.seeded.push(value);
        // A node with several leaves bounds the type but does not determine it.
        if ty.is_some_and(|ty| core.types.is_concrete(ty)) {
            core.trace_given(frame.number, value, crate::state::trace::Cause::Seed);
        }
    }
    Ok(())
}

/// Binds the symbols in the declared types of inputs to the extents of seeds.
pub(crate) fn bind_symbols<'a>(
    core: &mut Core<'a>,
    body: &Body<'a>,
    seeds: &[(String, Seed)],
    left_out: &[usize],
) -> Result<(), CheckError> {
    if seeds.is_empty() {
        return Ok(());
    }
    let by_name = by_name(body);
    for (at, (name, seed)) in seeds.iter().enumerate() {
        let Some(value) = by_name.get(name.as_str()).copied() else { continue };
        if left_out.contains(&at) || body.value(value).origin != Origin::Input {
            continue;
        }
        let Some(given) = read(core, name, seed)?.1 else { continue };
        for declared in core.declared_shapes(body, value) {
            for (given, declared) in paired(&core.shapes, given, declared).unwrap_or_default() {
                if core.dims.as_constant(given).is_some() && core.dims.as_symbol(declared).is_some() {
                    // A contradiction with an assumption is reported when the declared type and the seed are
                    // unified.
                    let _ = core.assumptions.add(&mut core.dims, declared, given);
                }
            }
        }
    }
    Ok(())
}

/// Names of types that are similar to `text`: nodes of the type tree and ONNX element types.
fn type_names_like(core: &Core<'_>, text: &str) -> Vec<String> {
    let universe = core.types.universe();
    let mut names: Vec<String> = universe.lattice().nodes().map(|node| node.id.to_owned()).collect();
    let elems = (1..Elem::LIMIT).filter_map(Elem::new).filter_map(Elem::onnx_name);
    names.extend(elems.map(str::to_owned));
    nearest(text, names.iter().map(String::as_str))
}

/// Narrows a value by a seed. Several seeds of one value must agree.
fn meet_seed(
    core: &mut Core<'_>,
    frame: &mut Frame<'_>,
    value: ValueId,
    ty: Option<Ty>,
    shape: Option<ShapeId>,
) -> bool {
    let slot = &mut frame.slots[value.index()];
    if let Some(ty) = ty
        && core.types.unify(*slot.ty.get_or_insert(ty), ty).is_err()
    {
        return false;
    }
    let Some(shape) = shape else { return true };
    let Some(known) = slot.shape.replace(shape) else { return true };
    let met = core.meet_shapes(known, shape);
    slot.shape = Some(met.unwrap_or(shape));
    met.is_ok()
}

/// The values of the main graph by name.
fn by_name<'b>(body: &'b Body<'_>) -> Map<&'b str, ValueId> {
    let main = body.values().filter(|value| body.value(*value).graph == body.root());
    main.map(|value| (body.value_name(value), value)).collect()
}

/// Decodes a seed.
fn read(core: &mut Core<'_>, name: &str, seed: &Seed) -> Result<(Option<Ty>, Option<ShapeId>), CheckError> {
    let bad = |near| CheckError::BadSeed { name: name.to_owned(), near };
    match seed {
        Seed::Node(id) => {
            let node = core.types.universe().lattice().lookup(id).map(|node| node.no);
            let node = node.ok_or_else(|| bad(type_names_like(core, id)))?;
            Ok((Some(core.types.at_node(node)), None))
        }
        Seed::Onnx(bytes) => {
            let view = typeloom_onnx::view::TypeView::from_body(bytes, 0);
            let read = core.read_type(view).map_err(|_| bad(Vec::new()))?;
            if read.negative.is_some() {
                return Err(bad(Vec::new()));
            }
            Ok((read.ty, read.shape))
        }
    }
}

/// The positions of the seeds of computed values.
pub(crate) fn of_computed_values(body: &Body<'_>, seeds: &[(String, Seed)]) -> Vec<usize> {
    if seeds.is_empty() {
        return Vec::new();
    }
    let by_name = by_name(body);
    let is_made = |name: &str| by_name.get(name).is_some_and(|value| body.maker(*value).is_some());
    (0..seeds.len()).filter(|at| is_made(&seeds[*at].0)).collect()
}

/// The error of a seed that contradicts the type that was solved without it.
pub(crate) fn contradiction<'a>(
    core: &mut Core<'a>,
    frame: &Frame<'a>,
    (name, seed): &(String, Seed),
) -> Option<(ValueId, SolveError<'a>)> {
    let value = *by_name(&frame.body).get(name.as_str())?;
    let (ty, shape) = read(core, name, seed).ok()?;
    let (given, found) = (core.type_of(ty, shape), core.snapshot(frame, value));
    let slot = frame.slots[value.index()];
    let clashes = slot.ty.zip(ty).is_some_and(|(known, ty)| core.types.unify(known, ty).is_err());
    let differs = slot.shape.zip(shape).is_some_and(|(known, shape)| core.shapes_differ(known, shape));
    let kind = SolveErrorKind::SeedContradicts { seed: given, found };
    (clashes || differs).then_some((value, SolveError { site: frame.site_of(value), kind }))
}
