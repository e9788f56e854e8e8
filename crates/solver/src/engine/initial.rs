//! Types of the values that no step computes.

use std::sync::Arc;

use typeloom_dim::shape::{DimVec, ShapeId};
use typeloom_onnx::view::TensorHeader;
use typeloom_onnx::{DecodeError, ErrorKind};

use crate::elem::{Elem, ElemSet};
use crate::program::{Body, Initializer, InitializerId, Origin, ValueId};
use crate::solve_error::{ErrorSite, SolveError, SolveErrorKind};
use crate::state::constants::{Data, DataId, MAX_ELEMENTS, is_followed};
use crate::state::frame::Frame;
use crate::state::trace::Cause;
use crate::state::{Core, Payloads};
use crate::ty::{Clash, Types};

/// Sets the declared and initial types of the values that no step defines.
pub(crate) fn start<'a>(core: &mut Core<'a>, frame: &mut Frame<'a>) {
    let body = Arc::clone(&frame.body);
    for value in body.values() {
        let record = body.value(value);
        match record.origin {
            Origin::Step(_) => continue,
            Origin::Undefined => frame.slots[value.index()].ty = Some(Types::ERROR),
            Origin::Input => {}
            Origin::Initializer(at) | Origin::InputWithDefault(at) => {
                if let Err(kind) = initializer(core, frame, &body, value, at) {
                    let kind = kind.specific(value);
                    frame.rare.value_errors.insert(value, SolveError { site: ErrorSite::Value(value), kind });
                }
            }
        }
        // Inputs of nested graphs are typed by the node of the graph first.
        if record.declaration.is_some() && (record.graph == body.root() || record.origin != Origin::Input) {
            core.meet_declarations(frame, value);
        }
        // The seed of one value may narrow another.
        let is_free = frame.number == 0 && frame.rare.seeded.is_empty();
        if is_free && record.graph == body.root() && record.origin == Origin::Input {
            core.keep_declared_input(frame, value);
        }
    }
}

/// Maximum number of elements of a constant that rules follow.
const MAX_FOLLOWED: i64 = MAX_ELEMENTS as i64;
/// Integer constants with at most this number of elements are decoded before a rule reads them.
const MAX_READ_AHEAD: i64 = 16;

/// Types a value from its initializer.
fn initializer<'a>(
    core: &mut Core<'a>,
    frame: &mut Frame<'a>,
    body: &Body<'a>,
    value: ValueId,
    at: InitializerId,
) -> Result<(), SolveErrorKind<'a>> {
    let initializer = body.initializers[at.index()];
    let header = match initializer {
        Initializer::Dense(tensor) => Some(tensor.header()?),
        Initializer::Sparse(_) => None,
    };
    let sparse_dims;
    let (number, dims): (_, &[i64]) = match &header {
        Some(header) => (header.data_type, &header.dims),
        None => {
            let (number, dims) = initializer.number_and_dims()?;
            sparse_dims = dims;
            (number, &sparse_dims)
        }
    };
    let elem = element_type(initializer, number)?;
    let set = ElemSet::of(elem);
    let ty = match initializer {
        Initializer::Dense(_) => core.types.tensor_of(set),
        Initializer::Sparse(_) => core.types.sparse_of(set),
    };
    let seeded = frame.slots[value.index()].ty.replace(ty);
    if let Some(seeded) = seeded
        && let Err(Clash) = core.types.unify(seeded, ty)
    {
        let (seed, found) = (core.type_of(Some(seeded), None), core.type_of(Some(ty), None));
        return Err(SolveErrorKind::SeedContradicts { seed, found });
    }
    core.trace_given(frame.number, value, Cause::Initializer);
    if let Some((axis, extent)) = dims.iter().copied().enumerate().find(|(_, extent)| *extent < 0) {
        return Err(SolveErrorKind::NegativeDim { declared_in: None, axis, extent });
    }
    // The caller may replace a default by a tensor of another shape, within the declared shape of the input.
    let replaceable = matches!(body.value(value).origin, Origin::InputWithDefault(_));
    if let Some(header) = &header {
        read_ahead(core, frame, value, header, elem);
    }
    let mut shape = DimVec::new();
    shape.extend(dims.iter().map(|dim| core.dims.constant(*dim)));
    let shape = core.shapes.intern(&shape);
    if replaceable && !core.declared_shapes(body, value).is_empty() {
        default_fits(core, frame, body, value, shape)?;
    } else {
        frame.slots[value.index()].shape = Some(shape);
    }
    if core.payloads == Payloads::Optional {
        return Ok(());
    }
    // The type is known even if the data is malformed.
    match (&header, initializer) {
        (Some(header), _) => header.check_payload(),
        (None, Initializer::Dense(tensor)) => tensor.check_payload(),
        (None, Initializer::Sparse(sparse)) => sparse.check_payload(),
    }
    .map_err(SolveErrorKind::Malformed)
}

/// The element type of an initializer, by its number.
fn element_type(initializer: Initializer<'_>, number: i32) -> Result<Elem, DecodeError> {
    Elem::from_onnx(number).ok_or_else(|| {
        let offset = match initializer {
            Initializer::Dense(tensor) => tensor.offset(),
            Initializer::Sparse(sparse) => sparse.offset(),
        };
        let message = format!("a tensor has element type number {number}, which does not exist");
        DecodeError { offset, kind: ErrorKind::Other(message.into()) }
    })
}

/// Decodes a small integer constant, and records a constant that is too large to follow.
fn read_ahead<'a>(
    core: &mut Core<'a>,
    frame: &mut Frame<'a>,
    value: ValueId,
    header: &TensorHeader<'_>,
    elem: Elem,
) {
    let count = header.dims.iter().try_fold(1_i64, |count, dim| count.checked_mul(*dim));
    if count.is_none_or(|count| count > MAX_FOLLOWED) {
        frame.slots[value.index()].data = Some(DataId::OPAQUE);
        if is_followed(elem) {
            frame.drop_constant(value);
        }
    } else if is_followed(elem) && count.is_some_and(|count| count <= MAX_READ_AHEAD) {
        // Rules read these constants anyway, and the memo compares decoded constants. Malformed data is
        // reported when a rule reads it.
        if let Ok(data) = core.read_tensor(header) {
            core.set_data(frame, value, data.unwrap_or(Data::Opaque));
        }
    }
}

/// Checks that a default has the declared shape of its input.
fn default_fits<'a>(
    core: &mut Core<'a>,
    frame: &Frame<'a>,
    body: &Body<'a>,
    value: ValueId,
    shape: ShapeId,
) -> Result<(), SolveErrorKind<'a>> {
    for declaration in body.declarations(value) {
        let Ok(read) = core.read_type(declaration.ty) else { continue };
        if let Some(declared) = read.shape
            && core.shapes_differ(declared, shape)
        {
            let found = core.type_of(frame.slots[value.index()].ty, Some(shape));
            let declared = core.type_of(read.ty, read.shape);
            return Err(SolveErrorKind::DefaultContradicts { declared, found });
        }
    }
    Ok(())
}
