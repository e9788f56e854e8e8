//! Gradients of convolutions.
//!
//! With `y[n, m, o] = sum x[n, c, o s + i l - b] w[m, c, i]` (strides `s`, dilations `l`, pads `b`), the
//! gradient of `x` is the transposed convolution of `d` with the same weights. The gradient of `w` is a
//! convolution of `x` with `d` in which samples and channels are exchanged, and strides and dilations as well
//! (Dumoulin and Visin, *A guide to convolution arithmetic for deep learning*, 2016). Grouped weights are
//! handled one group at a time, by concatenating the samples of all groups along the channel axis.

use typeloom_onnx::messages::{AttributeProto, IntoAttribute as _};
use typeloom_tensor::value_type::Dim;

use super::shapes::int_of;
use super::{GradientError, NodeSite, Sweep};

/// Attributes of a convolution. Each list has one entry per spatial axis; pads have two.
pub(super) struct Steps {
    pub(super) strides: Vec<i64>,
    pub(super) dilations: Vec<i64>,
    pub(super) pads: Vec<i64>,
    group: i64,
}

impl Steps {
    pub(super) fn of(site: &NodeSite<'_>, axes: usize) -> Result<Self, GradientError> {
        let node = site.node;
        let is_explicit = |kind: &AttributeProto| [&b""[..], b"NOTSET", b"VALID"].contains(&kind.s());
        if !node.find_attribute("auto_pad").is_none_or(is_explicit) {
            return Err(site.form("its pads are not written out"));
        }
        let list = |name: &str, default: i64, count: usize| {
            node.find_attribute(name).map_or_else(|| vec![default; count], |attribute| attribute.ints.clone())
        };
        let steps = Self {
            strides: list("strides", 1, axes),
            dilations: list("dilations", 1, axes),
            pads: list("pads", 0, 2 * axes),
            group: int_of(node, "group", 1),
        };
        if steps.strides.len() != axes || steps.dilations.len() != axes || steps.pads.len() != 2 * axes {
            return Err(site.form("its strides, dilations or pads are not those of its axes"));
        }
        Ok(steps)
    }
}

impl Sweep<'_> {
    pub(super) fn convolution(
        &mut self,
        site: &NodeSite<'_>,
        d: &str,
    ) -> Result<Vec<(usize, String)>, GradientError> {
        let node = site.node;
        let [x, w, ..] = &node.input[..] else { return Err(site.form("it does not have two operands")) };
        let weights = self.dims(site, w)?;
        let kernel: Option<Vec<i64>> = weights.iter().skip(2).map(known).collect();
        let kernel = kernel.ok_or_else(|| site.form("the extents of its weights are not known"))?;
        let steps = Steps::of(site, kernel.len())?;
        let mut gradients = Vec::new();
        if self.wants(node, 0) {
            let padding = self.left_over(site, x, &kernel, &steps)?;
            let attributes = vec![
                steps.strides[..].into_attribute("strides"),
                steps.dilations[..].into_attribute("dilations"),
                steps.pads[..].into_attribute("pads"),
                padding.into_attribute("output_padding"),
                steps.group.into_attribute("group"),
            ];
            gradients.push((0, self.tape.op_with("ConvTranspose", &[d, w], attributes)));
        }
        if self.wants(node, 1) {
            let channels = weights.get(1).and_then(known);
            let channels = channels.ok_or_else(|| site.form("the channels of its weights are not known"))?;
            gradients.push((1, self.of_weights(x, d, channels, &kernel, &steps)));
        }
        if self.wants(node, 2) {
            let axes: Vec<i64> = [0].into_iter().chain(2..2 + count(&kernel)).collect();
            let axes = self.tape.list(&axes);
            let summed = self.tape.op_with("ReduceSum", &[d, &axes], vec![0_i64.into_attribute("keepdims")]);
            gradients.push((2, summed));
        }
        Ok(gradients)
    }

    /// Number of trailing input elements that no window covers, along each axis; the output padding of the
    /// transposed convolution.
    pub(super) fn left_over(
        &self,
        site: &NodeSite<'_>,
        x: &str,
        kernel: &[i64],
        steps: &Steps,
    ) -> Result<Vec<i64>, GradientError> {
        let extents = self.dims(site, x)?;
        let axis = |at: usize| {
            if steps.strides[at] == 1 {
                return Some(0);
            }
            let pads = steps.pads[at].checked_add(steps.pads[at + kernel.len()])?;
            let padded = extents.get(at + 2).and_then(known)?.checked_add(pads)?;
            let reach = (kernel[at] - 1).checked_mul(steps.dilations[at])?;
            padded.checked_sub(reach)?.checked_sub(1)?.checked_rem(steps.strides[at])
        };
        let padding: Option<Vec<i64>> = (0..kernel.len()).map(axis).collect();
        padding.ok_or_else(|| site.form("the extents of its input are not known, and its strides are not 1"))
    }

    fn of_weights(&mut self, x: &str, d: &str, channels: i64, kernel: &[i64], steps: &Steps) -> String {
        let spatial = count(kernel);
        let perm: Vec<i64> = [1, 0].into_iter().chain(2..2 + spatial).collect();
        let swapped = |sweep: &mut Self, value: &str| {
            sweep.tape.op_with("Transpose", &[value], vec![perm[..].into_attribute("perm")])
        };
        let x = if steps.group == 1 {
            swapped(self, x)
        } else {
            // Reshape [n, g c, ..] to [n, g, c, ..], transpose to [c, g, n, ..], reshape to [c, g n, ..].
            let grouped = self.led_by(x, &[0, steps.group, channels]);
            let perm: Vec<i64> = [2, 1, 0].into_iter().chain(3..3 + spatial).collect();
            let transposed =
                self.tape.op_with("Transpose", &[&grouped], vec![perm[..].into_attribute("perm")]);
            let like = self.tape.op("Shape", &[x]);
            self.led_by_as(&transposed, &[channels, -1], &like)
        };
        let d = swapped(self, d);
        let attributes = vec![
            steps.dilations[..].into_attribute("strides"),
            steps.strides[..].into_attribute("dilations"),
            steps.pads[..].into_attribute("pads"),
            steps.group.into_attribute("group"),
        ];
        let wide = self.tape.op_with("Conv", &[&x, &d], attributes);
        // Where the strides do not divide the input, the result is larger than the weights.
        let axes: Vec<i64> = (2..2 + spatial).collect();
        let (starts, ends) = (self.tape.list(&vec![0; kernel.len()]), self.tape.list(kernel));
        let axes = self.tape.list(&axes);
        let own = self.tape.op("Slice", &[&wide, &starts, &ends, &axes]);
        swapped(self, &own)
    }
}

pub(super) fn known(dim: &Dim) -> Option<i64> {
    i64::try_from(dim.fixed()?).ok()
}

fn count(kernel: &[i64]) -> i64 {
    i64::try_from(kernel.len()).unwrap_or(i64::MAX)
}
