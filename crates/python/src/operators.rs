//! Operators of other domains, with rules in Python.
//!
//! A rule receives the facts about a node as Python objects, and returns the shapes of its outputs. It keeps
//! no reference to the solver. Dims pass as text; a dim with an extent that has no name passes as a name of
//! this call.

use std::sync::Arc;

use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use typeloom::check::{Described, OperatorCx, OperatorError, RuleDim};
use typeloom::types::Dtype;
use typeloom_project::parts::solver::signature::AttributeKind;

use crate::error::core_error;
use crate::interrupt::{is_ending, raise_later};

/// ONNX's operators, those of ONNX Runtime, and described ones.
#[pyclass(frozen, module = "typeloom._core")]
pub(crate) struct Operators {
    /// ONNX's operators and the described ones.
    pub(crate) all: Arc<typeloom::check::Operators>,
    sources: Vec<Description>,
}

/// A text, and its rules: domain, operator, and the function that is called with the facts about a node.
type Description = (String, Vec<(String, String, Py<PyAny>)>);

#[pymethods]
impl Operators {
    /// Adds the operators that texts describe, each with its rules.
    #[new]
    fn new(py: Python<'_>, sources: Vec<Description>) -> PyResult<Self> {
        let all = add(py, typeloom::check::Operators::standard(), &sources)?;
        Ok(Self { all: Arc::new(all), sources })
    }
}

impl Operators {
    /// These operators with others, over which they take precedence.
    pub(crate) fn over(
        &self,
        py: Python<'_>,
        others: typeloom::check::Operators,
    ) -> PyResult<typeloom::check::Operators> {
        add(py, others, &self.sources)
    }
}

/// Adds the operators that texts describe.
fn add(
    py: Python<'_>,
    mut operators: typeloom::check::Operators,
    sources: &[Description],
) -> PyResult<typeloom::check::Operators> {
    for (text, rules) in sources {
        let mut described = Described::parse(text).map_err(core_error)?;
        for (domain, operator, function) in rules {
            let function = function.clone_ref(py);
            let rule = move |cx: &mut OperatorCx<'_, '_, '_>| run(cx, &function);
            described = described.with_rule(domain, operator, rule).map_err(core_error)?;
        }
        operators = operators.with(described);
    }
    Ok(operators)
}

/// The shapes of the outputs: `None` for an unknown rank, and `None` for an unknown extent.
type Shapes = Vec<Option<Vec<Option<String>>>>;

fn run(cx: &mut OperatorCx<'_, '_, '_>, function: &Py<PyAny>) -> Result<(), OperatorError> {
    // A check that finds errors solves twice.
    if is_ending() {
        return Err(cx.error("the check was interrupted"));
    }
    let mut names = LocalNames::default();
    let answer = Python::attach(|py| -> PyResult<Result<Shapes, OperatorError>> {
        let inputs = PyList::empty(py);
        for input in 0..cx.input_count() {
            inputs.append(names.input(py, cx, input)?)?;
        }
        let attributes = match attributes(py, cx)? {
            Ok(attributes) => attributes,
            Err(error) => return Ok(Err(error)),
        };
        let (shapes, error): (Shapes, Option<String>) =
            function.call1(py, (inputs, attributes, cx.output_count()))?.extract(py)?;
        Ok(match error {
            Some(message) => Err(cx.error(message)),
            None => Ok(shapes),
        })
    });
    let shapes = match answer {
        Ok(shapes) => shapes?,
        Err(exception) => {
            let message = Python::attach(|py| {
                // An exception of the rule arrives as a message. Others, such as an interrupt, end the call.
                let is_error = exception.is_instance_of::<PyException>(py);
                let message = exception.to_string();
                if !is_error {
                    raise_later(exception);
                }
                message
            });
            return Err(cx.error(message));
        }
    };
    for (output, shape) in shapes.into_iter().enumerate() {
        let Some(shape) = shape else { continue };
        let dim = |dim: Option<String>| match dim {
            Some(text) => cx.parse(&text, &names.0),
            None => Ok(cx.unknown()),
        };
        let shape = shape.into_iter().map(dim).collect::<Result<Vec<_>, _>>()?;
        cx.set_shape(output, &shape)?;
    }
    Ok(())
}

/// Names of dims that contain extents without a name.
#[derive(Default)]
struct LocalNames(Vec<(String, RuleDim)>);

impl LocalNames {
    /// An input: `None`, or `(element type, dims, elements)`.
    fn input<'py>(
        &mut self,
        py: Python<'py>,
        cx: &mut OperatorCx<'_, '_, '_>,
        input: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        if !cx.has_input(input) {
            return Ok(py.None().into_bound(py));
        }
        let element = cx.element(input).map(Dtype::onnx_name);
        let dims = cx.shape(input).map(|dims| self.texts(cx, &dims));
        // An element can be negative, and a name of this call denotes a size: unknown elements stay unknown.
        let elements = cx.elements(input);
        let elements: Option<Vec<Option<String>>> =
            elements.map(|elements| elements.into_iter().map(|element| cx.text(element)).collect());
        Ok((element, dims, elements).into_pyobject(py)?.into_any())
    }

    fn texts(&mut self, cx: &mut OperatorCx<'_, '_, '_>, dims: &[RuleDim]) -> Vec<String> {
        dims.iter().map(|dim| cx.text(*dim).unwrap_or_else(|| self.name(*dim))).collect()
    }

    fn name(&mut self, dim: RuleDim) -> String {
        if let Some((name, _)) = self.0.iter().find(|(_, known)| *known == dim) {
            return name.clone();
        }
        let name = format!("{UNNAMED}{}", self.0.len());
        self.0.push((name.clone(), dim));
        name
    }
}

/// Prefix of the names of a call: a letter, so that the name is an identifier, and one that no exporter
/// writes.
const UNNAMED: char = '\u{294}';

/// The numbers and strings in attributes of a node, or their defaults, by name. Tensors, graphs and types do
/// not reach rules.
fn attributes<'py>(
    py: Python<'py>,
    cx: &mut OperatorCx<'_, '_, '_>,
) -> PyResult<Result<Bound<'py, PyDict>, OperatorError>> {
    let values = PyDict::new(py);
    let declared: Vec<_> = cx.attributes().map(|(name, kind)| (name.to_owned(), kind)).collect();
    macro_rules! set {
        ($name:ident, $value:expr) => {
            match $value {
                Ok(Some(value)) => values.set_item($name, value)?,
                Ok(None) => {}
                Err(error) => return Ok(Err(error)),
            }
        };
    }
    for (name, kind) in &declared {
        match kind {
            AttributeKind::Int => set!(name, cx.int(name)),
            AttributeKind::Ints => set!(name, cx.ints(name)),
            AttributeKind::Float => set!(name, cx.float(name)),
            AttributeKind::Floats => set!(name, cx.floats(name)),
            AttributeKind::String => set!(name, cx.string(name)),
            AttributeKind::Strings => set!(name, cx.strings(name)),
            AttributeKind::Tensor
            | AttributeKind::Tensors
            | AttributeKind::Graph
            | AttributeKind::Graphs
            | AttributeKind::SparseTensor
            | AttributeKind::SparseTensors
            | AttributeKind::Type
            | AttributeKind::Types => {}
        }
    }
    Ok(Ok(values))
}
