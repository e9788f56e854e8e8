//! Structural validation of messages by the rules of the ONNX specification.
//!
//! Type checking reports wrong computations. Validation reports malformed messages, independent of the
//! computation: required fields, versions, names, the order of nodes, the fields of tensors and attributes,
//! the ports and attributes that an operator declares. It stops at the first violation, as the reference's
//! checker does.
//!
//! | module | messages |
//! |---|---|
//! | `model` | models, functions |
//! | `graph` | graphs, the scopes of names |
//! | `node` | nodes, attributes, their operators |
//! | `tensor` | dense and sparse tensors |
//! | `value` | declarations of values |
//!
//! **Invariant:** no recursion deeper than [`MAX_NESTING`], and no I/O: the caller looks for files of
//! external data.

mod graph;
mod model;
mod node;
mod tensor;
mod value;

use std::collections::BTreeMap;

use typeloom_onnx::messages::{
    AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto, SparseTensorProto, TensorProto,
    ValueInfoProto,
};

use crate::catalogue::Catalogue;
use crate::program::MAX_NESTING;

pub use graph::Scope;
pub use model::NEWEST_IR;

/// A message that is not well formed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Invalid(String);

/// Result of a rule.
pub type Validity = Result<(), Invalid>;

/// Fails with a formatted message unless a condition holds.
macro_rules! ensure {
    ($condition:expr, $($message:tt)+) => {
        if !$condition {
            return Err(crate::validate::Invalid(format!($($message)+)));
        }
    };
}
use ensure;

/// The surroundings of a message.
#[derive(Clone)]
pub struct Context<'c> {
    /// The operators.
    pub catalogue: &'c dyn Catalogue,
    /// The version of the format.
    pub ir_version: i64,
    /// The imported version of each domain.
    pub opset_imports: BTreeMap<String, i64>,
    /// Whether every operator must be known, not only those of ONNX's own domains.
    pub all_domains: bool,
    /// Tests the file that a tensor with external data refers to, by its location.
    pub external: &'c dyn Fn(&str) -> Result<(), String>,
}

/// Graphs around a message, and whether it belongs to the main graph.
#[derive(Clone, Copy)]
struct Depth {
    nesting: usize,
}

impl Depth {
    const MAIN: Self = Self { nesting: 0 };

    fn inner(self) -> Result<Self, Invalid> {
        ensure!(self.nesting < MAX_NESTING, "graphs are nested more than {MAX_NESTING} deep");
        Ok(Self { nesting: self.nesting + 1 })
    }

    fn is_main(self) -> bool {
        self.nesting == 0
    }
}

impl Context<'_> {
    /// Validates a model.
    ///
    /// # Errors
    /// The first violation.
    pub fn model(&self, model: &ModelProto, compatibility: OpsetCompatibility) -> Validity {
        model::validate(self, model, compatibility)
    }

    /// Validates a graph. Its values are added to `scope`.
    ///
    /// # Errors
    /// The first violation.
    pub fn graph(&self, graph: &GraphProto, scope: &mut Scope<'_>) -> Validity {
        graph::validate(self, graph, scope, Depth::MAIN)
    }

    /// Validates a function.
    ///
    /// # Errors
    /// The first violation.
    pub fn function(&self, function: &FunctionProto, scope: &Scope<'_>) -> Validity {
        model::function(self, function, scope)
    }

    /// Validates a node.
    ///
    /// # Errors
    /// The first violation.
    pub fn node(&self, node: &NodeProto, scope: &Scope<'_>) -> Validity {
        node::validate(self, node, scope, Depth::MAIN)
    }

    /// Validates an attribute.
    ///
    /// # Errors
    /// The first violation.
    pub fn attribute(&self, attribute: &AttributeProto, scope: &Scope<'_>) -> Validity {
        node::attribute(self, attribute, scope, Depth::MAIN)
    }

    /// Validates a tensor.
    ///
    /// # Errors
    /// The first violation.
    pub fn tensor(&self, tensor: &TensorProto) -> Validity {
        tensor::dense(self, tensor)
    }

    /// Validates a sparse tensor.
    ///
    /// # Errors
    /// The first violation.
    pub fn sparse_tensor(&self, tensor: &SparseTensorProto) -> Validity {
        tensor::sparse(self, tensor)
    }

    /// Validates the declaration of a value.
    ///
    /// # Errors
    /// The first violation.
    pub fn value_info(&self, info: &ValueInfoProto) -> Validity {
        value::validate(info, Depth::MAIN)
    }
}

/// Whether the operators of a function must mean the same in the versions that the model and the function
/// import.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OpsetCompatibility {
    /// They must.
    Required,
    /// Not tested.
    Ignored,
}

/// A field of a message that must not be empty.
fn required(is_present: bool, field: &str, message: &str) -> Validity {
    ensure!(is_present, "Field '{field}' of '{message}' is required to be non-empty.");
    Ok(())
}

/// A field of a message that must be present.
fn present(is_present: bool, field: &str, message: &str) -> Validity {
    ensure!(is_present, "Field '{field}' of '{message}' is required but missing.");
    Ok(())
}
