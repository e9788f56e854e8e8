//! Differentiation rules: for each operator, the gradients of its inputs from the gradient of its output.
//!
//! In comments, `d` is the gradient of the output `y`. The rules are the textbook derivatives.

use typeloom_onnx::messages::{IntoAttribute as _, NodeProto};
use typeloom_tensor::value_type::Dim;
use typeloom_types::dtype::DtypeClass;
use typeloom_types::shape::position;

use super::convolution::known;
use super::shapes::{float_of, int_of};
use super::{GradientError, NodeSite, Sweep};

/// Operators that have a differentiation rule.
pub const OPERATORS: &[&str] = &[
    "Abs",
    "Add",
    "AveragePool",
    "BatchNormalization",
    "Cast",
    "Clip",
    "Concat",
    "Conv",
    "Div",
    "Erf",
    "Exp",
    "Expand",
    "Flatten",
    "Gemm",
    "GlobalAveragePool",
    "Identity",
    "LayerNormalization",
    "LeakyRelu",
    "Log",
    "LogSoftmax",
    "MatMul",
    "MaxPool",
    "Mul",
    "Neg",
    "Pow",
    "ReduceMean",
    "ReduceSum",
    "Relu",
    "Reshape",
    "Sigmoid",
    "Softmax",
    "Softplus",
    "Sqrt",
    "Squeeze",
    "Sub",
    "Sum",
    "Tanh",
    "Transpose",
    "Unsqueeze",
    "Where",
];

/// Gradients of unary operators. The derivative of `Relu` at 0 is that from below.
const DERIVATIVES: &[(&str, &str)] = &[
    ("Abs", "Mul(d, Sign(x))"),
    // 2 / sqrt(pi) exp(-x^2)
    ("Erf", "Mul(d, Mul(1.1283791670955126, Exp(Neg(Mul(x, x)))))"),
    ("Exp", "Mul(d, y)"),
    ("Identity", "d"),
    ("Log", "Div(d, x)"),
    ("Neg", "Neg(d)"),
    ("Relu", "Where(Greater(x, 0), d, 0)"),
    ("Sigmoid", "Mul(d, Mul(y, Sub(1, y)))"),
    ("Softplus", "Mul(d, Sigmoid(x))"),
    // 1 / (2 y)
    ("Sqrt", "Div(Mul(d, 0.5), y)"),
    ("Tanh", "Mul(d, Sub(1, Mul(y, y)))"),
];

/// Gradients of inputs, by input position.
pub(super) type Gradients = Vec<(usize, String)>;

/// Name of the first output of a node.
fn output(node: &NodeProto) -> &str {
    node.output.first().map_or("", String::as_str)
}

impl Sweep<'_> {
    pub(super) fn rule(&mut self, site: &NodeSite<'_>, d: &str) -> Result<Gradients, GradientError> {
        let node = site.node;
        if node.input.is_empty() {
            return Err(site.form("it has no inputs"));
        }
        let x = node.input[0].as_str();
        let y = output(node);
        let one = |gradient: String| Ok(vec![(0, gradient)]);
        if let Some((_, formula)) = DERIVATIVES.iter().find(|(op, _)| *op == node.op_type()) {
            return one(self.formula(x, formula, &[("d", d), ("x", x), ("y", y)]));
        }
        match node.op_type() {
            "LeakyRelu" => {
                let slope = self.number_like(x, f64::from(float_of(node, "alpha", 0.01)));
                let values = [("d", d), ("x", x), ("slope", &slope)];
                one(self.formula(x, "Where(Greater(x, 0), d, Mul(d, slope))", &values))
            }
            "Softmax" => {
                // y (d - sum(d y))
                let weighted = self.tape.op("Mul", &[d, y]);
                let sum = self.sum_along(&weighted, int_of(node, "axis", -1));
                one(self.formula(x, "Mul(y, Sub(d, sum))", &[("d", d), ("y", y), ("sum", &sum)]))
            }
            "LogSoftmax" => {
                // d - exp(y) sum(d)
                let sum = self.sum_along(d, int_of(node, "axis", -1));
                one(self.formula(x, "Sub(d, Mul(Exp(y), sum))", &[("d", d), ("y", y), ("sum", &sum)]))
            }
            "Cast" => {
                let (from, into) = (self.dtype(site, x)?, self.dtype(site, y)?);
                if [from, into].iter().any(|dtype| dtype.class() != DtypeClass::Float) {
                    return Err(site.form("only numbers of float types are differentiable"));
                }
                one(self.tape.op_with("Cast", &[d], vec![from.into_attribute("to")]))
            }
            "Expand" => {
                let (wide, own) = (self.dims(site, y)?, self.dims(site, x)?);
                one(self.sum_to(site, d.to_owned(), &wide, &own)?)
            }
            "Reshape" | "Flatten" | "Squeeze" | "Unsqueeze" => one(self.reshaped_like(d, x)),
            "Transpose" => one(self.transpose(site, d)?),
            "ReduceSum" | "ReduceMean" => one(self.reduction(site, d)?),
            "Add" | "Sub" | "Mul" | "Div" | "Sum" | "Where" | "Pow" => self.elementwise(site, d),
            "Clip" => one(self.within(site, d)),
            "Concat" => self.parts(site, d),
            "GlobalAveragePool" => one(self.share(site, d)?),
            "AveragePool" => one(self.average_pool(site, d)?),
            "MaxPool" => one(self.max_pool(site, d)?),
            "BatchNormalization" => self.batch_normalization(site, d),
            "LayerNormalization" => self.layer_normalization(site, d),
            "Conv" => self.convolution(site, d),
            "MatMul" => self.matmul(site, d),
            "Gemm" => self.gemm(site, d),
            _ => Err(site.operator()),
        }
    }

    /// `d` where `x` is within the bounds of `Clip`, and 0 elsewhere.
    fn within(&mut self, site: &NodeSite<'_>, d: &str) -> String {
        let x = site.node.input[0].as_str();
        let zero = self.zero_like(x);
        let mut gradient = d.to_owned();
        for (bound, is_inside) in [(1, "Greater"), (2, "Less")] {
            if let Some(bound) = site.node.input.get(bound).filter(|bound| !bound.is_empty()) {
                let inside = self.tape.op(is_inside, &[x, bound]);
                gradient = self.tape.op("Where", &[&inside, &gradient, &zero]);
            }
        }
        gradient
    }

    /// Splits `d` into the gradients of the operands of a concatenation.
    fn parts(&mut self, site: &NodeSite<'_>, d: &str) -> Result<Gradients, GradientError> {
        let (node, rank) = (site.node, self.dims(site, output(site.node))?.len());
        let axis = int_of(node, "axis", 0);
        let at = position(axis, rank).unwrap_or(usize::MAX);
        let axes = self.tape.list(&[axis]);
        let (mut from, mut gradients) = (0_i64, Vec::new());
        for (position, operand) in node.input.iter().enumerate() {
            let Some(extent) = self.dims(site, operand)?.get(at).and_then(known) else {
                return Err(site.form("the extents of its operands are not known"));
            };
            let (starts, ends) = (self.tape.list(&[from]), self.tape.list(&[from.saturating_add(extent)]));
            from = from.saturating_add(extent);
            if self.wants(node, position) {
                gradients.push((position, self.tape.op("Slice", &[d, &starts, &ends, &axes])));
            }
        }
        Ok(gradients)
    }

    fn sum_along(&mut self, value: &str, axis: i64) -> String {
        let axes = self.tape.list(&[axis]);
        self.tape.op_with("ReduceSum", &[value, &axes], vec![1_i64.into_attribute("keepdims")])
    }

    fn transpose(&mut self, site: &NodeSite<'_>, d: &str) -> Result<String, GradientError> {
        let inverse = match site.node.find_attribute("perm") {
            Some(perm) => {
                let mut inverse = vec![0; perm.ints.len()];
                for (to, from) in perm.ints.iter().enumerate() {
                    let from = usize::try_from(*from).ok().and_then(|from| inverse.get_mut(from));
                    let from = from.ok_or_else(|| site.form("its axes are not a permutation"))?;
                    *from = i64::try_from(to).unwrap_or(i64::MAX);
                }
                vec![inverse.into_attribute("perm")]
            }
            // The default permutation reverses the axes and is its own inverse.
            None => Vec::new(),
        };
        Ok(self.tape.op_with("Transpose", &[d], inverse))
    }

    /// Broadcasts the gradient of a sum to the summed elements; for a mean, divides it by their number.
    fn reduction(&mut self, site: &NodeSite<'_>, d: &str) -> Result<String, GradientError> {
        let node = site.node;
        let x = &node.input[0];
        let rank = self.dims(site, x)?.len();
        let axes = self.axes(site, rank)?;
        let is_noop = int_of(node, "noop_with_empty_axes", 0) == 1;
        let names_axes =
            node.find_attribute("axes").is_some() || node.input.get(1).is_some_and(|it| !it.is_empty());
        if is_noop && (!names_axes || axes.len() == rank) {
            return Err(site.form("it may reduce no axes at all"));
        }
        let mut spread = d.to_owned();
        if int_of(node, "keepdims", 1) == 0 && !axes.is_empty() {
            let axes = self.tape.list(&axes);
            spread = self.tape.op("Unsqueeze", &[&spread, &axes]);
        }
        if node.op_type() == "ReduceMean" {
            return self.share(site, &spread);
        }
        let shape = self.tape.op("Shape", &[x]);
        Ok(self.tape.op("Expand", &[&spread, &shape]))
    }

    /// Distributes `d` over the elements of a mean; `d` has the rank of the input.
    fn share(&mut self, site: &NodeSite<'_>, d: &str) -> Result<String, GradientError> {
        let (x, y) = (site.node.input[0].as_str(), output(site.node));
        let to = self.dtype(site, x)?;
        let mut size = |value: &str| {
            let size = self.tape.op("Size", &[value]);
            self.tape.op_with("Cast", &[&size], vec![to.into_attribute("to")])
        };
        let (all, kept) = (size(x), size(y));
        let count = self.tape.op("Div", &[&all, &kept]);
        let part = self.tape.op("Div", &[d, &count]);
        let shape = self.tape.op("Shape", &[x]);
        Ok(self.tape.op("Expand", &[&part, &shape]))
    }

    fn elementwise(&mut self, site: &NodeSite<'_>, d: &str) -> Result<Gradients, GradientError> {
        let (node, y) = (site.node, output(site.node));
        let wide = self.dims(site, y)?;
        let mut gradients = Vec::new();
        for (at, operand) in node.input.iter().enumerate() {
            // A condition is piecewise constant and has no gradient.
            if !self.wants(node, at) || (node.op_type() == "Where" && at == 0) {
                continue;
            }
            let other = node.input.get(1 - at.min(1)).map_or("", String::as_str);
            let formula = match (node.op_type(), at) {
                ("Add" | "Sum", _) | ("Sub", 0) => "d",
                ("Sub", _) => "Neg(d)",
                ("Mul", _) => "Mul(d, other)",
                ("Div", 0) => "Div(d, other)",
                ("Div", _) => "Neg(Mul(d, Div(y, own)))",
                ("Pow", 0) if self.dtype(site, other)? != self.dtype(site, operand)? => {
                    return Err(site.form("its exponent has another type than its base"));
                }
                ("Pow", 0) => "Mul(d, Mul(other, Pow(own, Sub(other, 1))))",
                ("Pow", _) => return Err(site.form("the gradient of its exponent is needed")),
                ("Where", 1) => "Where(condition, d, 0)",
                ("Where", 2) => "Where(condition, 0, d)",
                (_, _) => return Err(site.operator()),
            };
            let values =
                [("d", d), ("y", y), ("own", operand), ("other", other), ("condition", &node.input[0])];
            let gradient = self.formula(operand, formula, &values);
            let own = self.dims(site, operand)?;
            gradients.push((at, self.sum_to(site, gradient, &wide, &own)?));
        }
        Ok(gradients)
    }

    /// Gradients of a matrix product: `d b^T` and `a^T d`.
    fn matmul(&mut self, site: &NodeSite<'_>, d: &str) -> Result<Gradients, GradientError> {
        let node = site.node;
        let [a, b] = &node.input[..] else { return Err(site.form("it does not have two operands")) };
        let wide = self.dims(site, output(node))?;
        let stack: &[Dim] = &wide[..wide.len().saturating_sub(2)];
        let mut gradients = Vec::new();
        for (at, operand) in [a, b].into_iter().enumerate() {
            if !self.wants(node, at) {
                continue;
            }
            let (a_t, b_t) = (self.transposed(site, a)?, self.transposed(site, b)?);
            let product = match at {
                0 => self.tape.op("MatMul", &[d, &b_t]),
                _ => self.tape.op("MatMul", &[&a_t, d]),
            };
            let own = self.dims(site, operand)?;
            let from: Vec<Dim> = stack.iter().chain(&own[own.len() - 2..]).cloned().collect();
            gradients.push((at, self.sum_to(site, product, &from, &own)?));
        }
        Ok(gradients)
    }

    /// Like [`matmul`](Self::matmul), with optional transposition and scaling.
    fn gemm(&mut self, site: &NodeSite<'_>, d: &str) -> Result<Gradients, GradientError> {
        let node = site.node;
        let [a, b, rest @ ..] = &node.input[..] else {
            return Err(site.form("it does not have two operands"));
        };
        let (alpha, beta) = (float_of(node, "alpha", 1.0), float_of(node, "beta", 1.0));
        let (trans_a, trans_b) = (int_of(node, "transA", 0), int_of(node, "transB", 0));
        let mut product = |left: &str, right: &str, trans_left: i64, trans_right: i64| {
            let attributes = vec![
                alpha.into_attribute("alpha"),
                trans_left.into_attribute("transA"),
                trans_right.into_attribute("transB"),
            ];
            self.tape.op_with("Gemm", &[left, right], attributes)
        };
        let of_a = match trans_a {
            0 => product(d, b, 0, 1 - trans_b),
            _ => product(b, d, trans_b, 1),
        };
        let of_b = match trans_b {
            0 => product(a, d, 1 - trans_a, 0),
            _ => product(d, a, 1, trans_a),
        };
        let mut gradients = vec![(0, of_a), (1, of_b)];
        gradients.retain(|(at, _)| self.wants(node, *at));
        if let [c] = rest
            && self.wants(node, 2)
        {
            let (wide, own) = (self.dims(site, output(node))?, self.dims(site, c)?);
            let summed = self.sum_to(site, d.to_owned(), &wide, &own)?;
            let scale = self.number_like(c, f64::from(beta));
            gradients.push((2, self.tape.op("Mul", &[&summed, &scale])));
        }
        Ok(gradients)
    }
}
