//! Types of values as Python tuples, and the type tree.

use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use typeloom::check::{Dim, Element, Seed, ValueType};
use typeloom::types::{Dtype, Lattice};
use typeloom_project::parts::onnx::messages::{TypeProto, read};
use typeloom_project::parts::types::lattice::build::NodeSpec;

use crate::error::core_error;

/// A type: `(kind, node, element, dims, inner, text)`.
///
/// `kind` is `tensor`, `sparse`, `scalar`, `sequence`, `optional`, `map`, `composite`, `node` or `unknown`;
/// `dims` is `None` for an unknown rank, and contains an integer, the text of a symbol or expression, or
/// `None` for each axis. `inner` is the type of the elements of a sequence, optional or map, or a list of
/// `(name, type)` of a composite.
pub(crate) fn type_tuple<'py>(py: Python<'py>, ty: &ValueType) -> PyResult<Bound<'py, PyTuple>> {
    let dtype_name = |dtype: &Option<Dtype>| dtype.map(Dtype::onnx_name);
    let (kind, element, inner) = match &ty.element {
        Element::Tensor(dtype) => ("tensor", dtype_name(dtype), None),
        Element::Sparse(dtype) => ("sparse", dtype_name(dtype), None),
        Element::Scalar(dtype) => ("scalar", dtype_name(dtype), None),
        // Types are nested by a bounded number of levels.
        Element::Sequence(inner) => ("sequence", None, Some(type_tuple(py, inner)?.into_any())),
        Element::Optional(inner) => ("optional", None, Some(type_tuple(py, inner)?.into_any())),
        Element::Map(key, inner) => ("map", Some(key.onnx_name()), Some(type_tuple(py, inner)?.into_any())),
        Element::Composite(composite) => {
            let children = PyList::empty(py);
            for (name, child) in &composite.children {
                children.append((&**name, type_tuple(py, child)?))?;
            }
            ("composite", None, Some(children.into_any()))
        }
        Element::Opaque if ty.is_unknown() => ("unknown", None, None),
        Element::Opaque => ("node", None, None),
    };
    let dims = match &ty.shape {
        None => None,
        Some(shape) => {
            let dims: PyResult<Vec<Bound<'py, PyAny>>> = shape
                .iter()
                .map(|dim| match dim {
                    Dim::Fixed(size) => Ok(size.into_pyobject(py)?.into_any()),
                    Dim::Unknown => Ok(py.None().into_bound(py)),
                    Dim::Symbol(_) | Dim::Expression(_) => Ok(dim.as_text().into_pyobject(py)?.into_any()),
                })
                .collect();
            Some(PyTuple::new(py, dims?)?)
        }
    };
    (kind, ty.node.map(|node| node.id), element, dims, inner, ty.to_string()).into_pyobject(py)
}

/// Parses a type: ONNX's syntax, such as `float[N, 3]`, or the id of a node of the type tree.
#[pyfunction]
pub(crate) fn parse_type<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyTuple>> {
    let ty = match Seed::parse(text).map_err(core_error)? {
        Seed::Onnx(bytes) => ValueType::from_message(&read::<TypeProto>(bytes.into()).map_err(core_error)?),
        Seed::Node(id) => {
            let node = Lattice::try_get().map_err(core_error)?.lookup(&id);
            let node = node.ok_or_else(|| core_error(format!("there is no type node `{id}`")))?;
            match node.as_static() {
                Some(node) => ValueType::of_node(node),
                None => return Err(core_error(format!("`{id}` is not part of the standard tree"))),
            }
        }
    };
    type_tuple(py, &ty)
}

/// A node of the type tree as `(id, parent, is concrete, denotation)`.
type Node = (String, Option<String>, bool, String);

/// The nodes of the type tree, parents before children.
#[pyfunction]
pub(crate) fn tree_nodes() -> PyResult<Vec<Node>> {
    let lattice = Lattice::try_get().map_err(core_error)?;
    let node = |node: typeloom_project::parts::types::lattice::NodeRef<'_>| {
        (node.id.to_owned(), node.parent.map(str::to_owned), node.is_concrete(), node.denotation.to_owned())
    };
    Ok(lattice.nodes().map(node).collect())
}

/// Adds leaves to the type tree, each as `(id, parent, denotation)`. The tree is fixed after that.
#[pyfunction]
pub(crate) fn tree_extend(nodes: Vec<(String, String, Option<String>)>) -> PyResult<()> {
    let spec = |(id, parent, denotation): (String, String, Option<String>)| {
        let node = NodeSpec::concrete(id, parent);
        match denotation {
            Some(denotation) => node.with_denotation(denotation),
            None => node,
        }
    };
    Lattice::extend(nodes.into_iter().map(spec)).map_err(core_error)
}
