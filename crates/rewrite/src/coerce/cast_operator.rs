//! `Cast` and `CastLike` in the operator set of a model.

use typeloom_onnx::domain::is_onnx;
use typeloom_onnx::messages::attribute_proto::AttributeType;
use typeloom_onnx::messages::{AttributeProto, NodeProto, OperatorSetIdProto, TensorProto, opset_import};
use typeloom_onnx::view::ModelView;
use typeloom_solver::catalogue::{Catalogue, Lookup};
use typeloom_solver::elem::{Elem, ElemSet};
use typeloom_solver::model::CheckError;
use typeloom_solver::signature::{FormalType, Schema};

/// The first operator set in which attribute `to` of `Cast` is a number. Before, it is a string.
const FIRST_NUMERIC: i64 = 6;

/// The newest operator set released with each version of the IR, from [`FIRST_IR_VERSION`] on.
const RELEASED_OPSETS: [i64; 12] = [8, 9, 10, 11, 14, 18, 20, 22, 23, 24, 25, 26];
const FIRST_IR_VERSION: i64 = 3;

/// The `Cast` of a model's operator set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct CastOperator {
    /// Supported element types of the input.
    pub(crate) from: ElemSet,
    /// Supported element types of the output.
    pub(crate) to: ElemSet,
    pub(crate) version: i64,
    /// Whether the model has to import the version.
    needs_import: bool,
}

impl CastOperator {
    /// `Cast` in the operator set of a model; `None` if the catalogue has none.
    pub(crate) fn of_model(
        model: &ModelView<'_>,
        catalogue: &dyn Catalogue,
    ) -> Result<Option<Self>, CheckError> {
        let mut imported = None;
        for import in model.opset_imports() {
            let import = import?;
            if is_onnx(import.domain) {
                imported = Some(import.version);
            }
        }
        // A model that imports only other domains gets the operator set released with its version of the IR.
        let released = || {
            let at = usize::try_from(model.ir_version() - FIRST_IR_VERSION).unwrap_or(0);
            RELEASED_OPSETS[at.min(RELEASED_OPSETS.len() - 1)]
        };
        let version = imported.unwrap_or_else(released);
        let Lookup::Found(operator) = catalogue.lookup("", "Cast", version) else { return Ok(None) };
        let schema = operator.schema;
        let elems = |ty: Option<FormalType>| ty.map_or(ElemSet::EMPTY, |ty| allowed(schema, ty));
        Ok(Some(Self {
            from: elems(schema.input(0).map(|formal| formal.ty)),
            to: elems(schema.output(0).map(|formal| formal.ty)),
            version,
            needs_import: imported.is_none(),
        }))
    }

    /// The import that the model needs for casts in its main graph, if it is missing.
    pub(crate) fn missing_import(&self) -> Option<OperatorSetIdProto> {
        self.needs_import.then(|| opset_import("", self.version))
    }
}

/// The element types of tensors at a port.
pub(crate) fn allowed(schema: &Schema, ty: FormalType) -> ElemSet {
    match ty {
        FormalType::Var(variable) => schema.type_vars[usize::from(variable)].allowed.tensor,
        FormalType::Tensor(elem) => ElemSet::of(elem),
    }
}

/// The element types of tensors at a port, those in sequences and optional values too.
pub(crate) fn inner_allowed(schema: &Schema, ty: FormalType) -> ElemSet {
    match ty {
        FormalType::Var(variable) => {
            let allowed = &schema.type_vars[usize::from(variable)].allowed;
            let sets = [allowed.seq_tensor, allowed.opt_tensor, allowed.opt_seq_tensor];
            sets.into_iter().fold(allowed.tensor, ElemSet::union)
        }
        FormalType::Tensor(elem) => ElemSet::of(elem),
    }
}

/// The ports and the name of a new node.
pub struct NewNode<'n> {
    /// The name of the node.
    pub name: &'n str,
    /// The value that it reads.
    pub input: &'n str,
    /// The value that it defines.
    pub output: &'n str,
}

/// A `Cast` of an operator set version.
#[must_use]
pub fn cast(node: &NewNode<'_>, elem: Elem, version: i64) -> NodeProto {
    let mut to = AttributeProto { name: "to".into(), ..AttributeProto::default() };
    if version < FIRST_NUMERIC {
        let name = elem.onnx_name().unwrap_or_default().to_uppercase();
        to.s = Some(name.into_bytes().into());
        to.r#type = Some(AttributeType::String as i32);
    } else {
        to.i = Some(i64::from(elem.number()));
        to.r#type = Some(AttributeType::Int as i32);
    }
    NodeProto { attribute: vec![to], ..conversion("Cast", node, Vec::new()) }
}

/// A `CastLike` into the type of another value.
pub(crate) fn cast_like(node: &NewNode<'_>, other: &str) -> NodeProto {
    conversion("CastLike", node, vec![other.to_owned()])
}

/// A `Constant` with a tensor.
pub(crate) fn constant(output: &str, tensor: &TensorProto) -> NodeProto {
    let value = AttributeProto {
        name: "value".into(),
        t: Some(Box::new(tensor.clone())),
        r#type: Some(AttributeType::Tensor as i32),
        ..AttributeProto::default()
    };
    NodeProto {
        output: vec![output.to_owned()],
        op_type: "Constant".into(),
        attribute: vec![value],
        ..NodeProto::default()
    }
}

fn conversion(op: &str, node: &NewNode<'_>, others: Vec<String>) -> NodeProto {
    NodeProto {
        input: [vec![node.input.to_owned()], others].concat(),
        output: vec![node.output.to_owned()],
        name: node.name.into(),
        op_type: op.into(),
        ..NodeProto::default()
    }
}
