//! Helpers of the rules: ranks, attributes, and the axes along which an operand was broadcast.

use std::collections::{BTreeSet, HashMap};

use typeloom_cpu::decode;
use typeloom_onnx::messages::{AttributeProto, GraphProto, IntoAttribute as _, NodeProto};
use typeloom_tensor::value_type::{Dim, ValueType};
use typeloom_types::dtype::Dtype;
use typeloom_types::shape::position;

use super::{GradientError, NodeSite, Sweep};

/// Returns an integer attribute, or the default.
pub(super) fn int_of(node: &NodeProto, name: &str, default: i64) -> i64 {
    node.find_attribute(name).map_or(default, AttributeProto::i)
}

/// Returns a float attribute, or the default.
pub(super) fn float_of(node: &NodeProto, name: &str, default: f32) -> f32 {
    node.find_attribute(name).map_or(default, AttributeProto::f)
}

/// Collects the integer lists that are initializers or constants of a graph.
pub(super) fn constants(graph: &GraphProto) -> HashMap<String, Vec<i64>> {
    let initializers = graph.initializer.iter().map(|tensor| (tensor.name(), tensor));
    let nodes = graph.node.iter().filter(|node| node.op_type() == "Constant");
    let tensors = nodes.clone().filter_map(|node| {
        Some((node.output.first()?.as_str(), node.find_attribute("value")?.t.as_deref()?))
    });
    let mut found = HashMap::new();
    for (name, tensor) in initializers.chain(tensors) {
        if let Ok(values) = decode::tensor(tensor).map(|tensor| tensor.to_vec::<i64>())
            && let Ok(values) = values
        {
            found.insert(name.to_owned(), values);
        }
    }
    for node in nodes {
        if let (Some(name), Some(list)) = (node.output.first(), node.find_attribute("value_ints")) {
            found.insert(name.clone(), list.ints.clone());
        }
    }
    found
}

impl Sweep<'_> {
    pub(super) fn dtype(&self, site: &NodeSite<'_>, value: &str) -> Result<Dtype, GradientError> {
        let dtype = self.solved.type_of(value).and_then(ValueType::dtype);
        dtype.ok_or_else(|| site.form("one of its operands is not a tensor"))
    }

    /// Returns the extents of a value as far as they are known.
    pub(super) fn dims(&self, site: &NodeSite<'_>, value: &str) -> Result<Vec<Dim>, GradientError> {
        self.dtype(site, value)?;
        let shape = self.solved.type_of(value).and_then(|ty| ty.shape.as_deref().map(<[Dim]>::to_vec));
        shape.ok_or_else(|| site.form("the rank of one of its operands is not known"))
    }

    /// Adds a zero of the element type of a value.
    pub(super) fn zero_like(&mut self, value: &str) -> String {
        self.number_like(value, 0.0)
    }

    /// Adds a number of the element type of a value.
    pub(super) fn number_like(&mut self, value: &str, number: f64) -> String {
        let dtype = self.solved.type_of(value).and_then(ValueType::dtype).unwrap_or(Dtype::F32);
        self.tape.number(dtype, number)
    }

    /// Adds the operators of a formula, such as `Mul(d, Sub(1, y))`. Its operands are named values and
    /// numbers of the element type of `like`.
    pub(super) fn formula(&mut self, like: &str, formula: &str, values: &[(&str, &str)]) -> String {
        let Some((op, operands)) = formula.strip_suffix(')').and_then(|rest| rest.split_once('(')) else {
            return match values.iter().find(|(name, _)| *name == formula) {
                Some((_, value)) => (*value).to_owned(),
                None => self.number_like(like, formula.parse().unwrap_or(f64::NAN)),
            };
        };
        let mut depth = 0_i32;
        let operands = operands.split(|c| {
            depth += i32::from(c == '(') - i32::from(c == ')');
            c == ',' && depth == 0
        });
        let operands: Vec<String> =
            operands.map(|operand| self.formula(like, operand.trim(), values)).collect();
        let operands: Vec<&str> = operands.iter().map(String::as_str).collect();
        self.tape.op(op, &operands)
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
                (Dim::Fixed(1), Dim::Fixed(1)) => {}
                (Dim::Fixed(1), _) => repeated.push(at),
                // An axis with a known extent other than 1 is not broadcast.
                (Dim::Fixed(_), _) => {}
                (Dim::Symbol(_) | Dim::Expression(_), _) if own == wide => {}
                (Dim::Symbol(_) | Dim::Expression(_) | Dim::Unknown, _) => {
                    return Err(
                        site.form("its types do not determine the axes along which an operand is broadcast")
                    );
                }
            }
        }
        if repeated.is_empty() {
            return Ok(gradient);
        }
        let axes = self.tape.list(&repeated);
        let summed =
            self.tape.op_with("ReduceSum", &[&gradient, &axes], vec![1_i64.into_attribute("keepdims")]);
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
        let empty =
            if self.tape.version >= 14 { vec![1_i64.into_attribute("allowzero")] } else { Vec::new() };
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
        let shape = self.tape.op_with("Concat", &[&leading, &rest], vec![0_i64.into_attribute("axis")]);
        self.tape.op("Reshape", &[value, &shape])
    }

    /// Mean along axes, which are kept with extent 1.
    pub(super) fn mean_along(&mut self, value: &str, axes: &[i64]) -> String {
        let keep = 1_i64.into_attribute("keepdims");
        if self.tape.version < 18 {
            return self.tape.op_with("ReduceMean", &[value], vec![axes.into_attribute("axes"), keep]);
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
        Ok(self.tape.op_with("Transpose", &[value], vec![perm.into_attribute("perm")]))
    }

    /// Returns the non-negative axes of a reduction in order, or all axes if none are given. The axes are an
    /// attribute or a constant input.
    pub(super) fn axes(&self, site: &NodeSite<'_>, rank: usize) -> Result<Vec<i64>, GradientError> {
        let constant = site.node.input.get(1).and_then(|name| self.constants.get(name)).cloned();
        let all = || (0..rank).collect();
        let named = match (site.node.find_attribute("axes"), constant) {
            (Some(attribute), _) => attribute.ints.clone(),
            (None, Some(constant)) => constant,
            (None, None) if site.node.input.get(1).is_some_and(|axes| !axes.is_empty()) => {
                return Err(site.form("its axes are not constant"));
            }
            (None, None) => Vec::new(),
        };
        let axes: BTreeSet<usize> = named.into_iter().filter_map(|axis| position(axis, rank)).collect();
        Ok(if axes.is_empty() { all() } else { axes }.into_iter().map(|axis| axis as i64).collect())
    }
}
