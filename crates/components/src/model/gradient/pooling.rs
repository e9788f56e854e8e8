//! Gradients of pooling operators.
//!
//! The gradient of a window's maximum goes to the element that attains it; an element that is the maximum of
//! several windows receives the sum. Average pooling is a depthwise convolution with equal weights, and its
//! gradient is the transposed convolution.

use typeloom_onnx::messages::{AttributeProto, IntoAttribute as _};

use super::convolution::Steps;
use super::shapes::int_of;
use super::{GradientError, NodeSite, Sweep};

impl Sweep<'_> {
    pub(super) fn max_pool(&mut self, site: &NodeSite<'_>, d: &str) -> Result<String, GradientError> {
        let (node, x) = (site.node, site.node.input[0].as_str());
        if self.tape.version < 16 {
            return Err(site.form("before version 16 no operator adds the gradients of one element"));
        }
        if int_of(node, "storage_order", 0) != 0 {
            return Err(site.form("its indices are not in row-major order"));
        }
        // Indices into the flattened `x`, recomputed because the model may not have this output.
        let [_, positions] = self.tape.ops_with("MaxPool", &[x], node.attribute.clone());
        let all = self.tape.list(&[-1]);
        let positions = self.tape.op("Reshape", &[&positions, &all]);
        let flat = self.tape.op("Reshape", &[d, &all]);
        let zeros = self.zeros(x);
        let zeros = self.tape.op("Reshape", &[&zeros, &all]);
        let attributes = vec![0_i64.into_attribute("axis"), "add".into_attribute("reduction")];
        let gradient = self.tape.op_with("ScatterElements", &[&zeros, &positions, &flat], attributes);
        Ok(self.reshaped_like(&gradient, x))
    }

    pub(super) fn average_pool(&mut self, site: &NodeSite<'_>, d: &str) -> Result<String, GradientError> {
        let (node, x) = (site.node, site.node.input[0].as_str());
        if int_of(node, "ceil_mode", 0) != 0 {
            return Err(site.form("its windows extend beyond its padding"));
        }
        let kernel =
            node.find_attribute("kernel_shape").map(|kernel| kernel.ints.clone()).unwrap_or_default();
        let steps = Steps::of(site, kernel.len())?;
        let padding = self.left_over(site, x, &kernel, &steps)?;
        let extents: Option<Vec<usize>> = kernel.iter().map(|extent| usize::try_from(*extent).ok()).collect();
        let size =
            extents.as_ref().and_then(|it| it.iter().try_fold(1_usize, |size, it| size.checked_mul(*it)));
        // The window is written as an explicit weight tensor, which limits its size.
        let (Some(extents), Some(size @ ..=MAX_WINDOW)) = (extents, size) else {
            return Err(site.form("its window is too large"));
        };
        let counts = self.number_like(x, size as f64);
        let counts = if int_of(node, "count_include_pad", 0) != 0 || steps.pads.iter().all(|pad| *pad == 0) {
            counts
        } else {
            // Number of elements of each window that are not pads: the average of ones over the whole window,
            // times the window size.
            let one = self.number_like(x, 1.0);
            let shape = self.tape.op("Shape", &[x]);
            let ones = self.tape.op("Expand", &[&one, &shape]);
            let own = |attribute: &&AttributeProto| attribute.name() != "count_include_pad";
            let mut attributes: Vec<AttributeProto> = node.attribute.iter().filter(own).cloned().collect();
            attributes.push(1_i64.into_attribute("count_include_pad"));
            let shares = self.tape.op_with("AveragePool", &[&ones], attributes);
            self.tape.op("Mul", &[&shares, &counts])
        };
        let each = self.tape.op("Div", &[d, &counts]);
        let apart = self.led_by(&each, &[-1, 1]);
        let dtype = self.dtype(site, x)?;
        let shape: Vec<usize> = [1, 1].into_iter().chain(extents).collect();
        let weights = crate::dense::tensor_of(dtype, &shape, &vec![1.0; size]);
        let weights = weights.map_err(|_| site.form("its elements are not floats"))?;
        let weights = self.tape.constant(&weights);
        let attributes = vec![
            steps.strides[..].into_attribute("strides"),
            steps.dilations[..].into_attribute("dilations"),
            steps.pads[..].into_attribute("pads"),
            padding.into_attribute("output_padding"),
        ];
        let spread = self.tape.op_with("ConvTranspose", &[&apart, &weights], attributes);
        Ok(self.reshaped_like(&spread, x))
    }
}

/// Maximum number of elements in an average-pooling window.
const MAX_WINDOW: usize = 1 << 16;
