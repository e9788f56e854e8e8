//! Convolutions with weights that are packed in advance.
//!
//! If windows reach past the input, it is first copied with a border of zeros. Most convolutions are matrix
//! products, see [`convolution`](crate::fast::convolution). Depthwise convolutions are not, see
//! [`planes`](crate::fast::planes).

use std::borrow::Cow;

use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_types::dtype::Dtype;

use super::sliding::Windows;
use crate::attributes::Attributes;
use crate::call::Call;
use crate::element::{Number, build_over, check_size, dispatch};
use crate::error::{KernelErrorKind, invalid};
use crate::fast::convolution::{Convolved, concatenated};
use crate::fast::planes::by_planes;
use crate::fast::product::lane::Lane;
use crate::fast::product::{self, Finish, Rows};
use crate::memory;
use crate::shape::{count, extents};
use crate::work;

/// Groups with one input channel and at most this many output channels are accumulated plane by plane.
const MAX_PLANES: usize = 3;

/// Weights packed for the kernel.
#[derive(Clone, Debug)]
pub(crate) struct Filter {
    dtype: Dtype,
    pub(crate) shape: Vec<usize>,
    pub(crate) groups: usize,
    pub(crate) weights: Weights,
}

#[derive(Clone, Debug)]
pub(crate) enum Weights {
    /// One packed matrix per group.
    F32(Vec<Rows<f32>>),
    F64(Vec<Rows<f64>>),
    I32(Vec<Rows<i32>>),
    /// Depthwise: one plane at a time.
    Planes(AnyTensor),
}

/// Epilogue applied to the sums of a convolution.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Finishing<'a> {
    /// Scale per channel.
    pub(crate) scale: Option<&'a AnyTensor>,
    /// Bias per channel.
    pub(crate) offset: Option<&'a AnyTensor>,
    /// Addend with the shape of the result.
    pub(crate) addend: Option<&'a AnyTensor>,
    /// Clamp bounds of the results.
    pub(crate) bounds: Option<(f64, f64)>,
}

impl Finishing<'_> {
    pub(crate) const NONE: Self = Self { scale: None, offset: None, addend: None, bounds: None };
}

/// Lower bound of the memory that a kernel needs for each group, in bytes.
const GROUP_BYTES: usize = 64;

/// Number of groups, validated against the channel counts.
pub(crate) fn groups(
    attributes: &Attributes,
    channels: usize,
    outputs: usize,
) -> Result<usize, KernelErrorKind> {
    let group = attributes.int("group")?.unwrap_or(1);
    match usize::try_from(group) {
        // Every number divides zero channels, so the number of groups has an upper bound too.
        Ok(group)
            if (1..=channels.max(outputs).max(1)).contains(&group)
                && channels.is_multiple_of(group)
                && outputs.is_multiple_of(group) =>
        {
            check_size(&[group], GROUP_BYTES)?;
            Ok(group)
        }
        Ok(_) | Err(_) => invalid(format!("{group} groups do not divide {channels} and {outputs} channels")),
    }
}

/// Kernel shape: the extents of the weights after the two channel axes. The attribute must equal it.
pub(super) fn kernel_shape(
    attributes: &Attributes,
    weights: &[usize],
) -> Result<Vec<usize>, KernelErrorKind> {
    let kernel = weights[2..].to_vec();
    match attributes.ints("kernel_shape")? {
        Some(given) if extents(given)? != kernel => {
            invalid(format!("`kernel_shape` = {given:?} is not the shape {kernel:?} of the weights"))
        }
        Some(_) | None => Ok(kernel),
    }
}

pub(super) fn check_rank(x: &[usize], w: &[usize]) -> Result<(), KernelErrorKind> {
    if x.len() < 3 || w.len() != x.len() {
        return invalid(format!("the shapes {x:?} and {w:?} are not of one rank above 2"));
    }
    Ok(())
}

impl Filter {
    /// Packs weights.
    pub(crate) fn of(attributes: &Attributes, w: &AnyTensor) -> Result<Self, KernelErrorKind> {
        let shape = w.shape().to_vec();
        if shape.len() < 3 {
            return invalid(format!("the weights {shape:?} are not of a rank above 2"));
        }
        let groups = groups(attributes, shape[0], shape[0])?;
        let group_outputs = shape[0] / groups;
        let depth = count(&shape[1..]);
        let weights = if shape[1] == 1 && group_outputs <= MAX_PLANES && groups > 1 {
            Weights::Planes(w.clone())
        } else {
            match w.dtype() {
                Dtype::F32 => Weights::F32(rows(w, groups, group_outputs, depth)?),
                Dtype::F64 => Weights::F64(rows(w, groups, group_outputs, depth)?),
                Dtype::I32 => Weights::I32(rows(w, groups, group_outputs, depth)?),
                other => return Err(KernelErrorKind::Dtype(other)),
            }
        };
        Ok(Self { dtype: w.dtype(), shape, groups, weights })
    }

    pub(crate) fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Element type of weights and input.
    pub(crate) fn dtype(&self) -> Dtype {
        self.dtype
    }

    /// Windows over an input, and the shape of the result.
    fn geometry(&self, call: &Call<'_>, x: &AnyTensor) -> Result<(Windows, Vec<usize>), KernelErrorKind> {
        geometry(call, x, &self.shape, self.groups)
    }

    /// Shape of the result for an input shape.
    pub(crate) fn result_shape(&self, call: &Call<'_>, x: &AnyTensor) -> Result<Vec<usize>, KernelErrorKind> {
        self.geometry(call, x).map(|(_, shape)| shape)
    }

    /// Windows over an input, and the shape of the result. Requests the work of the convolution.
    ///
    /// # Errors
    /// If the input does not fit the weights in shape or element type, or the work exceeds its limit.
    pub(crate) fn windows(
        &self,
        call: &Call<'_>,
        x: &AnyTensor,
    ) -> Result<(Windows, Vec<usize>), KernelErrorKind> {
        let geometry = self.geometry(call, x)?;
        if x.dtype() != self.dtype() {
            return Err(KernelErrorKind::DtypeMismatch(x.dtype(), self.dtype()));
        }
        work::spend_products(self.dtype, &[&geometry.1[..], &self.shape[1..]].concat())?;
        Ok(geometry)
    }

    /// Whether the convolution is a product, so that [`Filter::apply_all`] computes it.
    pub(crate) fn is_product(&self) -> bool {
        !matches!(self.weights, Weights::Planes(_))
    }

    /// Computes convolutions of one element type, and concatenates their results along the channels. `shape`
    /// is the shape of the concatenation.
    ///
    /// # Errors
    /// The index of the convolution that failed; `parts.len()` if the concatenation failed.
    pub(crate) fn apply_all(
        parts: &[Convolved<'_>],
        shape: &[usize],
    ) -> Result<AnyTensor, (usize, KernelErrorKind)> {
        match parts.first().map(|part| &part.filter.weights) {
            Some(Weights::F32(_)) => concatenated::<f32>(parts, shape),
            Some(Weights::F64(_)) => concatenated::<f64>(parts, shape),
            Some(Weights::I32(_)) => concatenated::<i32>(parts, shape),
            Some(Weights::Planes(w)) => Err((0, KernelErrorKind::Dtype(w.dtype()))),
            None => Err((0, KernelErrorKind::MissingInput(0))),
        }
    }

    /// Applies the weights to an input.
    pub(crate) fn apply(
        &self,
        call: &Call<'_>,
        x: &AnyTensor,
        finishing: &Finishing<'_>,
    ) -> Result<AnyTensor, KernelErrorKind> {
        let (windows, shape) = self.windows(call, x)?;
        match &self.weights {
            Weights::F32(_) | Weights::F64(_) | Weights::I32(_) => {
                let parts = [Convolved { filter: self, windows: &windows, x, finishing: *finishing }];
                Self::apply_all(&parts, &shape).map_err(|(_, kind)| kind)
            }
            Weights::Planes(w) => dispatch!(x.dtype(), T in [F32 f32, F64 f64, I32 i32] => {
                by_planes::<T>(self, w, &windows, x, &shape, finishing)
            }),
        }
    }
}

/// Windows over an input for weights of the shape `weights`, and the shape of the result.
pub(crate) fn geometry(
    call: &Call<'_>,
    x: &AnyTensor,
    weights: &[usize],
    group_count: usize,
) -> Result<(Windows, Vec<usize>), KernelErrorKind> {
    check_rank(x.shape(), weights)?;
    let (channels, outputs) = (x.shape()[1], weights[0]);
    if groups(call.attributes, channels, outputs)? != group_count || weights[1] != channels / group_count {
        return invalid(format!(
            "weights {weights:?} do not fit {channels} channels in {group_count} groups"
        ));
    }
    let windows = Windows::of(call, &x.shape()[2..], &kernel_shape(call.attributes, weights)?)?;
    let result = [&[x.shape()[0], outputs], &windows.output[..]].concat();
    Ok((windows, result))
}

fn rows<T: Lane>(
    w: &AnyTensor,
    groups: usize,
    group_outputs: usize,
    depth: usize,
) -> Result<Vec<Rows<T>>, KernelErrorKind> {
    let weights = w.as_slice::<T>()?;
    let of = |group: usize| {
        product::rows(&weights[group * group_outputs * depth..], (group_outputs, depth), (depth, 1))
    };
    Ok(if weights.is_empty() {
        (0..groups).map(|_| product::rows(&[], (group_outputs, 0), (0, 1))).collect()
    } else {
        (0..groups).map(of).collect()
    })
}

/// [`Finishing`] converted to one element type.
pub(crate) fn finish<'a, T: Number>(finishing: &Finishing<'a>) -> Result<Finish<'a, T>, KernelErrorKind> {
    let list = |tensor: Option<&'a AnyTensor>| tensor.map(AnyTensor::as_slice::<T>).transpose();
    Ok(Finish {
        scale: list(finishing.scale)?,
        offset: list(finishing.offset)?,
        addend: list(finishing.addend)?,
        bounds: finishing.bounds.map(|(low, high)| (T::from_f64(low), T::from_f64(high))),
    })
}

/// An input whose planes contain every element that the windows read.
pub(crate) struct Framed<'a> {
    pub(crate) tensor: Cow<'a, AnyTensor>,
    /// Extents of a plane.
    pub(crate) extents: Vec<usize>,
}

impl Framed<'_> {
    pub(crate) fn elements<T: Number>(&self) -> Result<&[T], KernelErrorKind> {
        Ok(self.tensor.as_slice::<T>()?)
    }

    /// If the input was copied, keeps the memory of the copy for later tensors.
    pub(crate) fn recycle(self) {
        if let Cow::Owned(tensor) = self.tensor {
            memory::recycle_tensor(tensor);
        }
    }
}

/// The input, or a copy if windows reach past it or `slack` is not 0.
///
/// The planes of a copy have the extents that the windows cover, and are zero outside of the input. After the
/// last plane, the copy has `slack` more zeros.
pub(crate) fn framed<'a, T: Number>(
    windows: &Windows,
    x: &'a AnyTensor,
    slack: usize,
) -> Result<Framed<'a>, KernelErrorKind> {
    let data = x.as_slice::<T>()?;
    let reach = windows.reach();
    let inside = reach.iter().zip(&windows.input).all(|(reach, extent)| reach <= extent);
    if slack == 0 && inside && windows.begin.iter().all(|begin| *begin == 0) {
        return Ok(Framed { tensor: Cow::Borrowed(x), extents: windows.input.clone() });
    }
    let shape = [&x.shape()[..2], &reach[..]].concat();
    check_size(&shape, 8)?;
    let _rows = memory::reserve::<Option<usize>>(count(&reach[..reach.len().saturating_sub(1)]))?;
    let (plane, larger) = (count(&windows.input), count(&reach));
    let tensor = build_over::<T>(&[count(&shape) + slack], |out| {
        let whole = out.len() - slack;
        let (out, after) = out.split_at_mut(whole);
        after.fill(T::ZERO);
        if plane == 0 || larger == 0 {
            out.fill(T::ZERO);
            return;
        }
        windows.frame(&reach).copy(data, T::ZERO, out);
    })?;
    Ok(Framed { tensor: Cow::Owned(tensor), extents: reach })
}
