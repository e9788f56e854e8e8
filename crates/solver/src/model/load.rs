//! Checks of the header and structure of a model that other loaders also make: versions, names of nodes,
//! sizes of tensors.
//!
//! **Invariant:** these checks do not depend on the meaning of operators. Their time is linear in the number
//! of imports, shapes, values and nodes. Only [`overflows`] takes longer, if shapes overflow: it searches
//! these shapes once for each value.

use typeloom_dim::shape::ShapeId;
use typeloom_onnx::domain::canonical;
use typeloom_onnx::view::ModelView;

use crate::map::Map;
use crate::operators::Operators;
use crate::program::{Body, GraphId, Origin, StepId, StepKind};
use crate::solve_error::{ErrorSite, SolveError, SolveErrorKind};
use crate::state::Core;
use crate::state::frame::Frame;

/// The newest known IR version, that of ONNX 1.23.
const NEWEST_IR_VERSION: i64 = 14;

/// Reports an IR version that is missing or newer than [`NEWEST_IR_VERSION`], and imports of operator sets
/// with a version that is newer than the newest known version of the domain.
pub(crate) fn versions<'a>(model: &ModelView<'a>, operators: &Operators<'a>) -> Vec<SolveError<'a>> {
    let mut errors = Vec::new();
    let mut error = |kind| errors.push(SolveError { site: ErrorSite::Body, kind });
    let found = model.ir_version();
    if !(1..=NEWEST_IR_VERSION).contains(&found) {
        error(SolveErrorKind::IrVersion { found, newest: NEWEST_IR_VERSION });
    }
    let mut imports = |function: Option<&crate::operators::Function<'a>>, domain: &'a str, imported: i64| {
        let domain = canonical(domain);
        let Some(newest) = operators.newest(domain).filter(|newest| *newest < imported) else { return };
        let function = function.map(|function| match function.domain {
            "" => function.name.to_owned(),
            domain => format!("{domain}.{}", function.name),
        });
        error(SolveErrorKind::NewerOpset { function, domain, imported, newest });
    };
    for import in model.opset_imports().flatten() {
        imports(None, import.domain, import.version);
    }
    for function in operators.functions() {
        for import in function.view.opset_imports().flatten() {
            imports(Some(function), import.domain, import.version);
        }
    }
    errors
}

/// Reports each name that several nodes of one graph share, once and at the second of these nodes. Unnamed
/// nodes are skipped.
pub(crate) fn node_names<'a>(body: &Body<'a>) -> Vec<SolveError<'a>> {
    let mut seen: Map<(GraphId, &'a str), (StepId, usize)> = Map::default();
    let mut repeated: Vec<(StepId, GraphId, &'a str)> = Vec::new();
    for step in (0..body.steps.len()).map(StepId::new) {
        let record = body.step(step);
        let (StepKind::Node | StepKind::Enter(_), Ok(name)) = (record.kind, record.node.name()) else {
            continue;
        };
        if name.is_empty() {
            continue;
        }
        let (_, count) = seen.entry((record.graph, name)).or_insert((step, 0));
        *count += 1;
        if *count == 2 {
            repeated.push((step, record.graph, name));
        }
    }
    let error = |(step, graph, name): (StepId, GraphId, &'a str)| {
        let (first, count) = *seen.get(&(graph, name))?;
        Some(SolveError {
            site: ErrorSite::Step(step),
            kind: SolveErrorKind::DuplicateNodeName { name, count, first },
        })
    };
    repeated.into_iter().filter_map(error).collect()
}

/// Reports values whose number of elements does not fit into a signed 64-bit integer. Only known extents are
/// multiplied. At most one value is reported for each shape.
pub(crate) fn overflows<'a>(core: &Core<'a>, frame: &Frame<'a>, errors: &mut Vec<SolveError<'a>>) {
    let mut shapes: Vec<ShapeId> = Vec::new();
    for shape in core.shapes.ids() {
        let mut extents = core.shapes.get(shape).iter().filter_map(|dim| core.dims.as_constant(*dim));
        if extents.clone().try_fold(1_i64, i64::checked_mul).is_none() && extents.all(|extent| extent != 0) {
            shapes.push(shape);
        }
    }
    if shapes.is_empty() {
        return;
    }
    for value in frame.body.values() {
        let Some(shape) = frame.slots[value.index()].shape else { continue };
        let Some(at) = shapes.iter().position(|other| *other == shape) else { continue };
        let own = frame.rare.value_errors.contains_key(&value);
        let is_undefined = frame.body.value(value).origin == Origin::Undefined;
        shapes.swap_remove(at);
        if !own && !is_undefined {
            errors.push(SolveError {
                site: frame.site_of(value),
                kind: SolveErrorKind::ExtentOverflow { value },
            });
        }
    }
}
