//! Custom relations of the tensor primitives.
//!
//! Each relation is monotone and uses all known information. It also narrows the operands if the result
//! determines them.

use super::custom::{CustomRelationCtx, KnownExtents};
use super::{PortRef, Progress, RelationError};
use crate::dtype::Dtype;
use crate::shape::broadcast_partly;

type Narrowed = Result<Progress, RelationError>;

const LEFT: PortRef = PortRef::Input(0);
const RIGHT: PortRef = PortRef::Input(1);
const OUT: PortRef = PortRef::Output(0);

/// `matmul.contract`: the last dim of the left operand equals the second to last of the right one, and the
/// leading dims broadcast. A vector is a row on the left and a column on the right; its dim is not part of
/// the result.
pub(super) fn matmul_contract(cx: &CustomRelationCtx<'_>) -> Narrowed {
    let (left, right) = (cx.shape(LEFT), cx.shape(RIGHT));
    for (port, shape) in [(LEFT, &left), (RIGHT, &right)] {
        if shape.as_ref().is_some_and(Vec::is_empty) {
            let message = "operands of a matrix product must have at least one dim";
            return Err(RelationError::new(message, [port], "rank 1 or more", "rank 0"));
        }
    }
    let (Some(mut left), Some(mut right)) = (left, right) else {
        return Ok(Progress { narrowed: false, complete: false });
    };

    let left_at = left.len() - 1;
    let right_at = right.len().saturating_sub(2);
    let mut narrowed = false;
    match (left[left_at], right[right_at]) {
        (Some(a), Some(b)) if a != b => {
            let message = "the inner dims of a matrix product must be equal";
            return Err(RelationError::new(message, [LEFT, RIGHT], a.to_string(), b.to_string()));
        }
        (Some(a), None) => {
            right[right_at] = Some(a);
            narrowed |= cx.refine_shape(RIGHT, &right)?;
        }
        (None, Some(b)) => {
            left[left_at] = Some(b);
            narrowed |= cx.refine_shape(LEFT, &left)?;
        }
        (Some(_), Some(_)) | (None, None) => {}
    }

    let (left_batch, left_matrix) = left.split_at(left.len().saturating_sub(2));
    let (right_batch, right_matrix) = right.split_at(right.len().saturating_sub(2));
    let mut out = broadcast([(LEFT, left_batch), (RIGHT, right_batch)])?;
    let batch_rank = out.len();
    let mut from = sources(&[(LEFT, left_batch), (RIGHT, right_batch)], batch_rank);
    if let [rows, _] = left_matrix {
        out.push(*rows);
        from.push(Some((LEFT, left.len() - 2)));
    }
    if let [_, columns] = right_matrix {
        out.push(*columns);
        from.push(Some((RIGHT, right.len() - 1)));
    }
    narrowed |= cx.copy_extents(OUT, &from)?;
    narrowed |= cx.refine_shape(OUT, &out)?;

    // Rows and columns of the result equal those of the operands: narrow the operands by the result.
    let known = cx.shape(OUT).unwrap_or(out);
    let matrix = known.get(batch_rank..).unwrap_or(&[]);
    if let (Some(rows), true) = (matrix.first(), left.len() > 1) {
        left[left_at - 1] = *rows;
        narrowed |= cx.refine_shape(LEFT, &left)?;
    }
    if let (Some(columns), true) = (matrix.last(), right.len() > 1) {
        right[right_at + 1] = *columns;
        narrowed |= cx.refine_shape(RIGHT, &right)?;
    }
    Ok(Progress { narrowed, complete: all_known(&left) && all_known(&right) })
}

/// `where.broadcast`: the shapes of the condition and of both branches broadcast.
pub(crate) fn where_broadcast(cx: &CustomRelationCtx<'_>) -> Narrowed {
    let ports = [PortRef::Input(0), PortRef::Input(1), PortRef::Input(2)];
    let shapes = ports.map(|port| cx.shape(port));
    let [Some(condition), Some(yes), Some(no)] = shapes else {
        return Ok(Progress { narrowed: false, complete: false });
    };
    let shapes: [(PortRef, &[Option<u64>]); 3] = [(ports[0], &condition), (ports[1], &yes), (ports[2], &no)];
    let out = broadcast(shapes)?;
    let mut narrowed = cx.copy_extents(OUT, &sources(&shapes, out.len()))?;
    narrowed |= cx.refine_shape(OUT, &out)?;
    Ok(Progress { narrowed, complete: [condition, yes, no].iter().all(|shape| all_known(shape)) })
}

/// `cast.to`: the output has the element type of attribute `to` and the shape of the input.
pub(crate) fn cast_to(cx: &CustomRelationCtx<'_>) -> Narrowed {
    let to = cx.attr_int("to");
    let dtype = to.and_then(|to| Dtype::from_onnx_number(i32::try_from(to).ok()?));
    let Some(dtype) = dtype else {
        let found = to.map_or_else(|| "no such attribute".into(), |to| to.to_string());
        let message = "attribute `to` must name an element type";
        return Err(RelationError::new(message, [OUT], "the number of an element type", found));
    };
    let mut narrowed = cx.refine(OUT, dtype.type_node())?;
    if let Some(shape) = cx.shape(LEFT) {
        let from: Vec<_> = (0..shape.len()).map(|axis| Some((LEFT, axis))).collect();
        narrowed |= cx.copy_extents(OUT, &from)?;
        narrowed |= cx.refine_shape(OUT, &shape)?;
    }
    if let Some(shape) = cx.shape(OUT) {
        narrowed |= cx.refine_shape(LEFT, &shape)?;
    }
    Ok(Progress { narrowed, complete: cx.shape(OUT).is_some_and(|shape| all_known(&shape)) })
}

/// `constant.value`: the output has the type and shape of the node's value attribute.
pub(crate) fn constant_value(cx: &CustomRelationCtx<'_>) -> Narrowed {
    let length = |length: usize| vec![u64::try_from(length).ok()];
    let plain = if cx.attr_float("value_float").is_some() {
        Some((Dtype::F32, vec![]))
    } else if let Some(values) = cx.attr_floats("value_floats") {
        Some((Dtype::F32, length(values.len())))
    } else if cx.attr_int("value_int").is_some() {
        Some((Dtype::I64, vec![]))
    } else if let Some(values) = cx.attr_ints("value_ints") {
        Some((Dtype::I64, length(values.len())))
    } else if cx.attr_str("value_string").is_some() {
        Some((Dtype::String, vec![]))
    } else {
        cx.attr_strs("value_strings").map(|values| (Dtype::String, length(values.len())))
    };
    let (dims, mut narrowed) = match plain {
        Some((dtype, dims)) => (dims, cx.refine(OUT, dtype.type_node())?),
        None => match cx.attr_tensor("value").or_else(|| cx.attr_tensor("sparse_value")) {
            Some((node, dims)) => (dims, cx.refine(OUT, node)?),
            None => return Ok(Progress { narrowed: false, complete: false }),
        },
    };
    narrowed |= cx.refine_shape(OUT, &dims)?;
    Ok(Progress { narrowed, complete: true })
}

/// `gather.indices` and `slice.indices`: indices, starts, ends, axes and steps are 32-bit or 64-bit integers.
pub(crate) fn indices(cx: &CustomRelationCtx<'_>, ports: PortRef) -> Narrowed {
    let mut complete = true;
    for port in cx.ports(ports) {
        let Some(node) = cx.bound_node(port) else { continue };
        let is_index = [Dtype::I32, Dtype::I64].iter().any(|dtype| dtype.type_node().id == node.id);
        if node.is_concrete() && !is_index {
            let message = "indices must be 32-bit or 64-bit signed integers";
            return Err(RelationError::new(message, [port], "tensor.i32 or tensor.i64", node.id));
        }
        complete &= node.is_concrete();
    }
    Ok(Progress { narrowed: false, complete })
}

/// The broadcast shape, aligned at the last dim: equal extents, or 1 and any extent.
fn broadcast<const N: usize>(shapes: [(PortRef, &[Option<u64>]); N]) -> Result<KnownExtents, RelationError> {
    broadcast_partly(&shapes.map(|(_, shape)| shape), Some(1), Some(None)).map_err(|mismatch| {
        let [(first, known), (second, found)] = mismatch.operands;
        let [known, found] = [known, found].map(Option::unwrap_or_default);
        let message = format!("shapes must broadcast at dim {} from the end", mismatch.from_end);
        let ports = [first, second].map(|operand| shapes[operand].0);
        RelationError::new(message, ports, format!("{known} or 1"), found.to_string())
    })
}

/// The axis that has the extent of each axis of a broadcast shape: the only one that is not 1.
fn sources(shapes: &[(PortRef, &[Option<u64>])], rank: usize) -> Vec<Option<(PortRef, usize)>> {
    let source = |axis: usize| {
        let axes = shapes.iter().filter_map(|(port, shape)| {
            let at = (axis + shape.len()).checked_sub(rank)?;
            Some((*port, at, shape[at]))
        });
        let mut wide = axes.filter(|(_, _, extent)| *extent != Some(1));
        match (wide.next(), wide.next()) {
            (Some((port, at, _)), None) => Some((port, at)),
            (Some(_), Some(_)) | (None, _) => None,
        }
    };
    (0..rank).map(source).collect()
}

fn all_known(dims: &[Option<u64>]) -> bool {
    dims.iter().all(Option::is_some)
}
