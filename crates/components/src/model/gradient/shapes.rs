//! Helpers of the rules: ranks, attributes, and the axes along which an operand was broadcast.

use std::collections::{BTreeSet, HashMap};

use typeloom_cpu::decode;
use typeloom_onnx::messages::{AttributeProto, GraphProto, NodeProto};

use super::tape::int;
use super::{GradientError, NodeSite, Sweep};
use crate::model::typed::{Dim, Typed};

/// Returns an attribute of a node by name.
pub(super) fn attribute<'a>(node: &'a NodeProto, name: &str) -> Option<&'a AttributeProto> {
    node.attribute.iter().find(|attribute| attribute.name() == name)
}

/// Returns an integer attribute, or the default.
pub(super) fn int_of(node: &NodeProto, name: &str, default: i64) -> i64 {
    attribute(node, name).map_or(default, AttributeProto::i)
}

/// Returns a float attribute, or the default.
pub(super) fn float_of(node: &NodeProto, name: &str, default: f32) -> f32 {
    attribute(node, name).map_or(default, AttributeProto::f)
}

/// Collects the integer lists that are initializers or constants of a graph.
pub(super) fn constants(graph: &GraphProto) -> HashMap<String, Vec<i64>> {
    let initializers = graph.initializer.iter().map(|tensor| (tensor.name(), tensor));
    let nodes = graph.node.iter().filter(|node| node.op_type() == "Constant");
    let tensors = nodes
        .clone()
        .filter_map(|node| Some((node.output.first()?.as_str(), attribute(node, "value")?.t.as_deref()?)));
    let mut found = HashMap::new();
    for (name, tensor) in initializers.chain(tensors) {
        if let Ok(values) = decode::tensor(tensor).map(|tensor| tensor.to_vec::<i64>())
            && let Ok(values) = values
        {
            found.insert(name.to_owned(), values);
        }
    }
    for node in nodes {
        if let (Some(name), Some(list)) = (node.output.first(), attribute(node, "value_ints")) {
            found.insert(name.clone(), list.ints.clone());
        }
    }
    found
}

impl Sweep<'_> {
    pub(super) fn typed(&self, site: &NodeSite<'_>, value: &str) -> Result<&Typed, GradientError> {
        self.types.get(value).ok_or_else(|| site.form("a value that it uses is no tensor"))
    }

    /// Returns the extents of a value as far as they are known.
    pub(super) fn dims(&self, site: &NodeSite<'_>, value: &str) -> Result<Vec<Dim>, GradientError> {
        let shape = self.typed(site, value)?.shape.clone();
        shape.ok_or_else(|| site.form("the rank of a value that it uses is not known"))
    }

    /// Adds a zero of the element type of a value.
    pub(super) fn zero_like(&mut self, value: &str) -> String {
        self.number_like(value, 0.0)
    }

    /// Adds a number of the element type of a value.
    pub(super) fn number_like(&mut self, value: &str, number: f64) -> String {
        let dtype = self.types.get(value).map_or(typeloom_types::dtype::Dtype::F32, |typed| typed.dtype);
        self.tape.number(dtype, number)
    }

    /// Reduces a gradient to the shape of an operand that was broadcast to `from`.
    pub(super) fn sum_to(
        &mut self,
        site: &NodeSite<'_>,
        gradient: String,
        from: &[Dim],
        to: &[Dim],
    ) -> Result<String, GradientError> {
        let Some(leading) = from.len().checked_sub(to.len()) else {
            return Err(site.form("an operand has more axes than the result"));
        };
        let mut repeated: Vec<i64> = (0..leading as i64).collect();
        for (at, (wide, own)) in from[leading..].iter().zip(to).enumerate() {
            let at = i64::try_from(leading + at).unwrap_or(i64::MAX);
            match (own, wide) {
                (Dim::Known(1), Dim::Known(1)) => {}
                (Dim::Known(1), _) => repeated.push(at),
                (Dim::Known(own), Dim::Known(wide)) if own == wide => {}
                (Dim::Named(own), Dim::Named(wide)) if own == wide => {}
                // An axis with a known extent other than 1 is not broadcast.
                (Dim::Known(_), _) => {}
                (Dim::Named(_) | Dim::Open, _) => {
                    return Err(site.form("its types leave open along which axes an operand is repeated"));
                }
            }
        }
        if repeated.is_empty() {
            return Ok(gradient);
        }
        let axes = self.tape.list(&repeated);
        let summed = self.tape.op_with("ReduceSum", &[&gradient, &axes], vec![int("keepdims", 1)]);
        if leading == 0 {
            return Ok(summed);
        }
        let axes = self.tape.list(&repeated[..leading]);
        Ok(self.tape.op("Squeeze", &[&summed, &axes]))
    }

    /// Reshapes a gradient to the shape of a value with the same number of elements.
    pub(super) fn reshaped_like(&mut self, gradient: &str, value: &str) -> String {
        let shape = self.tape.op("Shape", &[value]);
        // Without `allowzero` (available from version 14), an extent of 0 copies the input's extent.
        let empty = if self.tape.version >= 14 { vec![int("allowzero", 1)] } else { Vec::new() };
        self.tape.op_with("Reshape", &[gradient, &shape], empty)
    }

    /// Reshapes a value: `leading` replaces its first two extents.
    pub(super) fn led_by(&mut self, value: &str, leading: &[i64]) -> String {
        let shape = self.tape.op("Shape", &[value]);
        self.led_by_as(value, leading, &shape)
    }

    /// Like [`Sweep::led_by`], with the trailing extents of `shape`.
    pub(super) fn led_by_as(&mut self, value: &str, leading: &[i64], shape: &str) -> String {
        let (start, end) = (self.tape.list(&[2]), self.tape.list(&[i64::MAX]));
        let rest = self.tape.op("Slice", &[shape, &start, &end]);
        let leading = self.tape.list(leading);
        let shape = self.tape.op_with("Concat", &[&leading, &rest], vec![int("axis", 0)]);
        self.tape.op("Reshape", &[value, &shape])
    }

    /// Mean along axes, which are kept with extent 1.
    pub(super) fn mean_along(&mut self, value: &str, axes: &[i64]) -> String {
        let keep = int("keepdims", 1);
        if self.tape.version < 18 {
            return self.tape.op_with("ReduceMean", &[value], vec![super::tape::ints("axes", axes), keep]);
        }
        let axes = self.tape.list(axes);
        self.tape.op_with("ReduceMean", &[value, &axes], vec![keep])
    }

    /// Transposes the last two axes.
    pub(super) fn transposed(&mut self, site: &NodeSite<'_>, value: &str) -> Result<String, GradientError> {
        let rank = i64::try_from(self.dims(site, value)?.len()).unwrap_or(0);
        if rank < 2 {
            return Err(site.form("an operand is a vector"));
        }
        let perm: Vec<i64> = (0..rank - 2).chain([rank - 1, rank - 2]).collect();
        Ok(self.tape.op_with("Transpose", &[value], vec![super::tape::ints("perm", &perm)]))
    }

    /// Returns the non-negative axes of a reduction in order, or all axes if none are given. The axes are an
    /// attribute or a constant input.
    pub(super) fn axes(&self, site: &NodeSite<'_>, rank: usize) -> Result<BTreeSet<i64>, GradientError> {
        let constant = site.node.input.get(1).and_then(|name| self.constants.get(name)).cloned();
        let rank = i64::try_from(rank).unwrap_or(i64::MAX);
        let named = match (attribute(site.node, "axes"), constant) {
            (Some(attribute), _) => attribute.ints.clone(),
            (None, Some(constant)) => constant,
            (None, None) if site.node.input.get(1).is_some_and(|axes| !axes.is_empty()) => {
                return Err(site.form("its axes are no constant"));
            }
            (None, None) => Vec::new(),
        };
        if named.is_empty() {
            return Ok((0..rank).collect());
        }
        Ok(named.into_iter().map(|axis| if axis < 0 { axis + rank } else { axis }).collect())
    }
}
