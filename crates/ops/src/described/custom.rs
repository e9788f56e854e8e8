//! Shape rules written in Rust for described operators.
//!
//! A description supplies the signature; the closure reads and sets symbolic dims through [`OperatorCx`], a
//! small subset of the solver's rule interface. The closure must be a pure function of the data it reads,
//! because the solver memoises rule applications.

use typeloom_dim::DimId;
use typeloom_solver::rule::{Port, RuleCx, RuleError, RuleResult, ShapeRule};
use typeloom_solver::signature::AttributeKind;
use typeloom_types::dtype::Dtype;

use super::{Described, intern_rule_name};

/// A dim inside a rule: a number, a symbol or an expression. Copies are free.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RuleDim(DimId);

/// Error of a rule in Rust, reported as a diagnostic at the node.
#[derive(Clone, Debug)]
pub struct OperatorError(RuleError);

impl std::fmt::Display for OperatorError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.0 {
            RuleError::Shapes { message, .. } => f.write_str(message),
            _ => f.write_str("the shapes of the node are contradictory"),
        }
    }
}

impl std::error::Error for OperatorError {}

/// The node that a rule in Rust runs on. Ports are counted from 0; an omitted port has no shape.
pub struct OperatorCx<'c, 'r, 'a>(&'c mut RuleCx<'r, 'a>);

impl OperatorCx<'_, '_, '_> {
    /// The number of inputs, including omitted ones in the middle.
    #[must_use]
    pub fn input_count(&self) -> usize {
        self.0.input_count()
    }

    /// The number of outputs, including omitted ones in the middle.
    #[must_use]
    pub fn output_count(&self) -> usize {
        self.0.output_count()
    }

    /// The shape of an input; `None` if its rank is unknown.
    pub fn shape(&mut self, input: usize) -> Option<Vec<RuleDim>> {
        Some(self.0.shape(Port::In(input))?.into_iter().map(RuleDim).collect())
    }

    /// Whether an input is connected.
    #[must_use]
    pub fn has_input(&self, input: usize) -> bool {
        self.0.has(Port::In(input))
    }

    /// The element type of an input, if it is a tensor of one known element type of ONNX.
    pub fn element(&mut self, input: usize) -> Option<Dtype> {
        self.0.elem(Port::In(input))?.dtype()
    }

    /// The elements of an integer input, if they are known.
    pub fn elements(&mut self, input: usize) -> Option<Vec<RuleDim>> {
        Some(self.0.shape_value(Port::In(input))?.into_iter().map(RuleDim).collect())
    }

    /// The declared attributes with their kinds, by name.
    pub fn attributes(&self) -> impl Iterator<Item = (&str, AttributeKind)> {
        let declared = self.0.schema().map_or(&[][..], |schema| &schema.attributes);
        declared.iter().map(|declared| (&*declared.name, declared.kind))
    }

    /// An integer attribute, or its default.
    ///
    /// # Errors
    /// [`OperatorError`] if the attribute has another kind.
    pub fn int(&mut self, attribute: &str) -> Result<Option<i64>, OperatorError> {
        self.0.attr_int(attribute).map_err(OperatorError)
    }

    /// A list of integers in an attribute, or its default.
    ///
    /// # Errors
    /// [`OperatorError`] if the attribute has another kind.
    pub fn ints(&mut self, attribute: &str) -> Result<Option<Vec<i64>>, OperatorError> {
        self.0.attr_ints(attribute).map_err(OperatorError)
    }

    /// A string attribute, or its default.
    ///
    /// # Errors
    /// [`OperatorError`] if the attribute has another kind.
    pub fn string(&mut self, attribute: &str) -> Result<Option<String>, OperatorError> {
        Ok(self.0.attr_str(attribute).map_err(OperatorError)?.map(str::to_owned))
    }

    /// A float attribute, or its default.
    ///
    /// # Errors
    /// [`OperatorError`] if the attribute has another kind.
    pub fn float(&mut self, attribute: &str) -> Result<Option<f32>, OperatorError> {
        self.0.attr_float(attribute).map_err(OperatorError)
    }

    /// A list of floats in an attribute, or its default.
    ///
    /// # Errors
    /// [`OperatorError`] if the attribute has another kind.
    pub fn floats(&mut self, attribute: &str) -> Result<Option<Vec<f32>>, OperatorError> {
        self.0.attr_floats(attribute).map_err(OperatorError)
    }

    /// A list of strings in an attribute, or its default. Bytes that are not UTF-8 are replaced.
    ///
    /// # Errors
    /// [`OperatorError`] if the attribute has another kind.
    pub fn strings(&mut self, attribute: &str) -> Result<Option<Vec<String>>, OperatorError> {
        let strings = self.0.attr_strings(attribute).map_err(OperatorError)?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ok(strings.map(|strings| strings.into_iter().map(text).collect()))
    }

    /// The text of a dim, such as `2*N + 1`; `None` if it contains an extent without a name.
    pub fn text(&mut self, dim: RuleDim) -> Option<String> {
        let dims = self.0.dims();
        let dim = dims.resolve(dim.0);
        dims.variables_of(dim).is_empty().then(|| dims.display(dim).to_string())
    }

    /// Parses the text of a dim. `named` are dims that the text refers to by names of the caller; all other
    /// names are symbols of the model.
    ///
    /// # Errors
    /// [`OperatorError`] if the text is no dim.
    pub fn parse(&mut self, text: &str, named: &[(String, RuleDim)]) -> Result<RuleDim, OperatorError> {
        let dims = self.0.dims();
        let parsed = dims.parse(text);
        let values: Vec<_> = named.iter().map(|(name, dim)| (dims.symbol(name), dim.0)).collect();
        match parsed {
            Ok(dim) => Ok(RuleDim(dims.substitute(dim, &values))),
            Err(error) => Err(self.error(format!("`{text}` is no dim: {error}"))),
        }
    }

    /// The dim of a known size.
    pub fn fixed(&mut self, size: i64) -> RuleDim {
        RuleDim(self.0.dims().constant(size))
    }

    /// A new dim of unknown size.
    pub fn unknown(&mut self) -> RuleDim {
        RuleDim(self.0.fresh())
    }

    /// The size of a dim, if it is a number.
    pub fn size(&mut self, dim: RuleDim) -> Option<i64> {
        self.0.dims().as_constant(dim.0)
    }

    /// Sets the shape of an output.
    ///
    /// # Errors
    /// [`OperatorError`] if another shape is known.
    pub fn set_shape(&mut self, output: usize, shape: &[RuleDim]) -> Result<(), OperatorError> {
        let shape: Vec<DimId> = shape.iter().map(|dim| dim.0).collect();
        self.0.set_shape(Port::Out(output), &shape).map_err(OperatorError)
    }

    /// Requires an axis of one input to equal an axis of another. An undecided requirement becomes a
    /// condition of the model.
    ///
    /// # Errors
    /// [`OperatorError`] if the two are never equal.
    pub fn require_equal(
        &mut self,
        (left, left_axis): (usize, usize),
        (right, right_axis): (usize, usize),
    ) -> Result<(), OperatorError> {
        let (Some(a), Some(b)) = (self.shape(left), self.shape(right)) else { return Ok(()) };
        let (Some(a), Some(b)) = (a.get(left_axis), b.get(right_axis)) else { return Ok(()) };
        let (a, b) = ((Port::In(left), left_axis, a.0), (Port::In(right), right_axis, b.0));
        self.0.require_equal(a, b, "must be equal").map(|_| ()).map_err(OperatorError)
    }

    /// Error for inputs with unsuitable shapes; `message` is a sentence in lower case without full stop.
    #[must_use]
    pub fn error(&self, message: impl Into<String>) -> OperatorError {
        let ports: Vec<Port> =
            (0..self.input_count()).map(Port::In).filter(|port| self.0.has(*port)).collect();
        OperatorError(RuleError::shapes(&ports, message))
    }
}

macro_rules! operations {
    ($($(#[$doc:meta])* $name:ident;)*) => {
        impl OperatorCx<'_, '_, '_> {
            $(
                $(#[$doc])*
                pub fn $name(&mut self, a: RuleDim, b: RuleDim) -> RuleDim {
                    RuleDim(self.0.dims().$name(a.0, b.0))
                }
            )*
        }
    };
}

operations! {
    /// `a + b`.
    add;
    /// `a - b`.
    sub;
    /// `a * b`.
    mul;
    /// `a // b`, rounded down.
    floor_div;
    /// The remainder of `a // b`.
    modulo;
    /// The smaller dim.
    min;
    /// The greater dim.
    max;
}

/// A boxed rule function.
type Run = Box<dyn Fn(&mut OperatorCx<'_, '_, '_>) -> Result<(), OperatorError> + Send + Sync>;

/// A rule in Rust with the name that diagnostics cite.
pub(super) struct RustRule {
    name: &'static str,
    run: Run,
}

impl std::fmt::Debug for RustRule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RustRule").field("name", &self.name).finish_non_exhaustive()
    }
}

impl ShapeRule for RustRule {
    fn name(&self) -> &'static str {
        self.name
    }

    fn run(&self, cx: &mut RuleCx<'_, '_>) -> RuleResult {
        (self.run)(&mut OperatorCx(cx)).map_err(|error| error.0)
    }
}

/// Error of [`Described::with_rule`]: the text does not describe the operator.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("`{domain}` has no operator `{operator}`")]
pub struct NoSuchOperator {
    /// The domain.
    pub domain: String,
    /// The operator.
    pub operator: String,
}

impl Described {
    /// Replaces the shape lines of an operator, in all its versions, by a rule in Rust.
    ///
    /// # Errors
    /// [`NoSuchOperator`] if the text does not describe the operator.
    pub fn with_rule(
        mut self,
        domain: &str,
        operator: &str,
        run: impl Fn(&mut OperatorCx<'_, '_, '_>) -> Result<(), OperatorError> + Send + Sync + 'static,
    ) -> Result<Self, NoSuchOperator> {
        let entries = self.domains.get_mut(domain).and_then(|domain| domain.operators.get_mut(operator));
        let entries = entries
            .ok_or_else(|| NoSuchOperator { domain: domain.to_owned(), operator: operator.to_owned() })?;
        let name = intern_rule_name(format!("{}.shape", operator.to_lowercase()));
        let rule: std::sync::Arc<dyn ShapeRule> = std::sync::Arc::new(RustRule { name, run: Box::new(run) });
        for entry in entries.values_mut() {
            if let Some(decoded) = entry.decoded.get_mut() {
                decoded.shapes = Some(std::sync::Arc::clone(&rule));
            }
        }
        Ok(self)
    }
}
