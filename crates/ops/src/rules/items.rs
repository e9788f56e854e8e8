//! Constants whose elements are moved: the input position of each output element.
//!
//! Only small constants are tracked ([`MAX_ITEMS`] elements), because exporters compute shapes with these.

use std::sync::Arc;

use smallvec::SmallVec;
use typeloom_solver::elem::Elem;
use typeloom_solver::rule::{Floats, Ints, MAX_ELEMENTS, Port, RuleCx};
pub(super) use typeloom_types::shape::strides;

use super::common::{const_extents, element_count};

/// Maximum number of elements of a constant that is tracked through a move.
pub(super) const MAX_ITEMS: usize = MAX_ELEMENTS;

/// A constant of either kind.
pub(super) enum Items {
    /// Integers, truth values, or integral floats that are not all constants.
    Ints(Arc<Ints>),
    /// Floating-point numbers.
    Floats(Arc<Floats>),
}

impl Items {
    /// The constant at a port, if it is known and small.
    pub(super) fn at(cx: &mut RuleCx<'_, '_>, port: Port) -> Option<Self> {
        // Large initializers are not read.
        if let Some(shape) = cx.shape(port) {
            let extents = shape.iter().filter_map(|dim| cx.const_dim(*dim)).filter(|extent| *extent > 0);
            if extents.fold(1_i64, i64::saturating_mul) > i64::try_from(MAX_ITEMS).unwrap_or(i64::MAX) {
                cx.misses_constant(port);
                return None;
            }
        }
        if let Some(ints) = cx.ints(port) {
            return Some(Self::Ints(ints));
        }
        let floats = cx.floats(port);
        if floats.is_none() {
            cx.misses_constant(port);
        }
        floats.map(Self::Floats)
    }

    pub(super) fn shape(&self) -> &[usize] {
        match self {
            Self::Ints(ints) => &ints.shape,
            Self::Floats(floats) => &floats.shape,
        }
    }

    /// Number of elements.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Ints(ints) => ints.items.len(),
            Self::Floats(floats) => floats.items.len(),
        }
    }

    /// Records at `to` a tensor of this shape with the elements at `positions` of this one; `None` is an
    /// unknown element.
    pub(super) fn put(
        &self,
        cx: &mut RuleCx<'_, '_>,
        to: Port,
        shape: &[usize],
        positions: &[Option<usize>],
    ) {
        match self {
            Self::Ints(ints) => {
                if cx.ints(to).is_some() {
                    return;
                }
                let item = |position: &Option<usize>| position.and_then(|at| ints.items.get(at).copied());
                let items = positions
                    .iter()
                    .map(|position| item(position).unwrap_or_else(|| cx.dims().fresh_integer()))
                    .collect();
                cx.set_ints(to, Ints { shape: shape.into(), items });
            }
            Self::Floats(floats) => {
                let item = |position: &Option<usize>| position.and_then(|at| floats.items.get(at).copied());
                // A small vector grows more often than a list.
                let mut items = Vec::with_capacity(positions.len());
                items.extend(positions.iter().map_while(item));
                if items.len() == positions.len() {
                    cx.set_floats(to, Floats { shape: shape.into(), items: items.into() });
                }
            }
        }
    }
}

/// Whether integral elements of a float type are tracked as integers; other types represent too few integers
/// exactly.
pub(super) fn follows_whole(elem: Elem) -> bool {
    elem == Elem::FLOAT || elem == Elem::DOUBLE
}

/// The integers at a port, or its floats as integers if all are integral.
pub(super) fn whole_items(cx: &mut RuleCx<'_, '_>, port: Port) -> Option<Arc<Ints>> {
    if let Some(ints) = cx.ints(port) {
        return Some(ints);
    }
    cx.elem(port).filter(|elem| follows_whole(*elem))?;
    let floats = cx.floats(port)?;
    let whole = floats.items.iter().map(|item| {
        // Exact in both float types.
        const MAX_EXACT: f64 = 16_777_216.0;
        (item.fract() == 0.0 && item.abs() <= MAX_EXACT).then(|| cx.dims().constant(*item as i64))
    });
    let items = whole.collect::<Option<_>>()?;
    Some(Arc::new(Ints { shape: floats.shape.clone(), items }))
}

/// Records integers at a port; at a float port as floats if all are constants.
pub(super) fn put_whole(cx: &mut RuleCx<'_, '_>, port: Port, ints: Ints) {
    let Some(elem) = cx.elem(port).filter(|elem| follows_whole(*elem)) else {
        return cx.set_ints(port, ints);
    };
    let limit = if elem == Elem::FLOAT { 1_i64 << 24 } else { 1_i64 << 53 };
    let constants: Option<Vec<i64>> = ints.items.iter().map(|item| cx.const_dim(*item)).collect();
    match constants {
        // Integers up to 2^53 are doubles.
        Some(items) if items.iter().all(|item| (-limit..=limit).contains(item)) => {
            let items = items.into_iter().map(|item| item as f64).collect();
            cx.set_floats(port, Floats { shape: ints.shape, items });
        }
        Some(_) => {}
        None => cx.set_ints(port, ints),
    }
}

/// The positions of a move in which each output axis adds its own offset: `axes[i][j]` is the offset of index
/// `j` along axis `i`. `None` if the output is too large to track.
pub(super) fn separable(axes: &[Vec<Option<usize>>]) -> Option<(Vec<usize>, Vec<Option<usize>>)> {
    let shape: Vec<usize> = axes.iter().map(Vec::len).collect();
    element_count(&shape).filter(|count| *count <= MAX_ITEMS)?;
    let mut positions = vec![Some(0)];
    for axis in axes {
        let wider = positions
            .iter()
            .flat_map(|sofar: &Option<usize>| axis.iter().map(move |offset| Some((*sofar)? + (*offset)?)));
        positions = wider.collect();
    }
    Some((shape, positions))
}

/// The positions of a move that selects indices along some axes of a tensor and keeps the other axes.
pub(super) fn picked(
    shape: &[usize],
    mut pick: impl FnMut(usize) -> Option<Vec<Option<usize>>>,
) -> Option<(Vec<usize>, Vec<Option<usize>>)> {
    let strides = strides(shape);
    let offsets = |(axis, extent): (usize, &usize)| match pick(axis) {
        Some(picked) => picked.into_iter().map(|index| Some(index? * strides[axis])).collect(),
        None => whole(*extent, strides[axis]),
    };
    separable(&shape.iter().enumerate().map(offsets).collect::<Vec<_>>())
}

/// Offsets of an axis that is copied unchanged.
pub(super) fn whole(extent: usize, stride: usize) -> Vec<Option<usize>> {
    (0..extent).map(|index| Some(index * stride)).collect()
}

/// Gives `to` the elements of `from` in the same order if the shape of `to` is known, as a reshape does.
pub(super) fn relabel(cx: &mut RuleCx<'_, '_>, from: Port, to: Port) {
    let Some(items) = Items::at(cx, from) else {
        if let Some((numerators, divisor)) = cx.ratios(from)
            && let Some(shape) = constant_shape(cx, to)
            && element_count(&shape) == Some(numerators.items.len())
        {
            cx.set_ratios(to, Ints { shape: shape.into(), items: numerators.items.clone() }, divisor);
        }
        return super::affine::moves::reshape(cx, from, to);
    };
    let Some(shape) = constant_shape(cx, to) else { return };
    if element_count(&shape) != Some(items.len()) {
        return;
    }
    let positions: Vec<Option<usize>> = (0..items.len()).map(Some).collect();
    items.put(cx, to, &shape, &positions);
}

/// The shape at a port, if every extent is a constant.
pub(super) fn constant_shape(cx: &mut RuleCx<'_, '_>, port: Port) -> Option<Vec<usize>> {
    let shape = cx.shape(port)?;
    const_extents(cx, &shape).map(SmallVec::into_vec)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transposed_table_reads_column_by_column() {
        let strides = strides(&[2, 3]);
        let (shape, positions) = separable(&[whole(3, strides[1]), whole(2, strides[0])]).unwrap();
        assert_eq!(shape, [3, 2]);
        assert_eq!(positions, [0, 3, 1, 4, 2, 5].map(Some));
    }

    #[test]
    fn an_unknown_index_hides_only_its_own_elements() {
        let (_, positions) = separable(&[vec![Some(0), None], whole(2, 1)]).unwrap();
        assert_eq!(positions, [Some(0), Some(1), None, None]);
    }

    #[test]
    fn a_move_into_too_many_elements_is_not_followed() {
        assert_eq!(separable(&[whole(1 << 20, 1), whole(1 << 20, 1)]), None);
        assert_eq!(separable(&[]).unwrap().1, [Some(0)]);
    }
}
