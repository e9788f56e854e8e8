//! Nodes and attributes, and the ports and attributes that an operator declares.

use std::collections::HashSet;

use typeloom_onnx::domain::shown;
use typeloom_onnx::messages::{AttributeProto, NodeProto};

use super::{Context, Depth, Invalid, Scope, Validity, ensure, graph, present, required, tensor};
use crate::catalogue::Lookup;
use crate::signature::{Arity, AttributeKind, Formal, Schema};

/// Operators of early versions that were removed without a schema; nodes with them are accepted.
const REMOVED: [&str; 11] = [
    "ATen",
    "Affine",
    "ConstantFill",
    "Crop",
    "DynamicSlice",
    "GRUUnit",
    "GivenTensorFill",
    "ImageScaler",
    "ParametricSoftplus",
    "Scale",
    "ScaledTanh",
];

/// The domains that ONNX defines.
const OWN_DOMAINS: [&str; 4] = ["", "ai.onnx.ml", "ai.onnx.preview.training", "ai.onnx.preview"];

/// The first version of the format whose attributes state their type.
const TYPED_ATTRIBUTES: i64 = 2;

/// Adds the node to a violation.
pub(super) fn in_context(Invalid(message): Invalid, node: &NodeProto) -> Invalid {
    let (name, op_type) = (node.name.as_str(), node.op_type.as_str());
    Invalid(format!("{message}\n\n==> Context: Bad node spec for node. Name: {name} OpType: {op_type}"))
}

pub(super) fn validate(cx: &Context<'_>, node: &NodeProto, scope: &Scope<'_>, depth: Depth) -> Validity {
    required(!node.op_type.is_empty(), "op_type", "node")?;
    let op_type = node.op_type.as_str();
    ensure!(
        !node.input.is_empty() || !node.output.is_empty(),
        "NodeProto (name: {}, type: {op_type}) has zero input and zero output.",
        node.name.as_str()
    );
    let domain = node.domain.as_str();
    let version = cx.opset_imports.get(domain).or_else(|| cx.opset_imports.get(shown(domain))).copied();
    let is_own = OWN_DOMAINS.contains(&domain);
    let Some(version) = version else {
        return Err(Invalid(format!("No opset import for domain '{domain}'")));
    };
    for one in &node.attribute {
        attribute(cx, one, scope, depth)?;
    }
    if domain.is_empty() && REMOVED.contains(&op_type) {
        return Ok(());
    }
    let unknown = || Invalid(format!("No Op registered for {op_type} with domain_version of {version}"));
    if !is_own {
        return if cx.all_domains { Err(unknown()) } else { Ok(()) };
    }
    match cx.catalogue.lookup(domain, op_type, version) {
        Lookup::Found(operator) => declared(operator.schema, node, version),
        Lookup::Declared(_) => Ok(()),
        Lookup::NewerThanOpset { .. } | Lookup::UnknownOperator | Lookup::UnknownDomain => Err(unknown()),
    }
}

/// Validates a node against the declaration of its operator.
fn declared(schema: &Schema, node: &NodeProto, version: i64) -> Validity {
    let op_type = node.op_type.as_str();
    ensure!(!schema.deprecated, "Op registered for {op_type} is deprecated in domain_version of {version}");
    ports(schema, node, "input", &schema.inputs, &node.input)?;
    ports(schema, node, "output", &schema.outputs, &node.output)?;
    let mut seen: HashSet<&str> = HashSet::new();
    for attribute in &node.attribute {
        let name = attribute.name.as_str();
        ensure!(seen.insert(name), "Attribute '{name}' appeared multiple times.");
        let Some(decl) = schema.attribute(name) else {
            return Err(Invalid(format!("Unrecognized attribute: {name} for operator {op_type}")));
        };
        let found = attribute.r#type.unwrap_or_default();
        ensure!(
            found == decl.kind as i32,
            "Mismatched attribute type in '{} : {name}'. Expected: '{}', actual: '{}'",
            node.name.as_str(),
            decl.kind.name(),
            AttributeKind::from_onnx(found).map_or("undefined", AttributeKind::name)
        );
    }
    let missing = schema.attributes.iter().find(|decl| decl.required && !seen.contains(&*decl.name));
    ensure!(missing.is_none(), "Required attribute '{}' is missing.", missing.map_or("", |decl| &*decl.name));
    Ok(())
}

fn ports(schema: &Schema, node: &NodeProto, side: &str, formals: &[Formal], given: &[String]) -> Validity {
    let least = formals
        .iter()
        .enumerate()
        .map(|(at, formal)| match formal.arity {
            Arity::Required => at + 1,
            Arity::Optional => 0,
            Arity::Variadic { min, .. } => at + min as usize,
        })
        .max()
        .unwrap_or_default();
    let is_open = formals.last().is_some_and(|last| matches!(last.arity, Arity::Variadic { .. }));
    let most = if is_open { usize::MAX } else { formals.len() };
    ensure!(
        (least..=most).contains(&given.len()),
        "Node with schema({}::{}:{}) has {side} size {} not in range [min={least}, max={most}].",
        schema.domain,
        schema.name,
        schema.since_version,
        given.len()
    );
    for (at, (name, formal)) in given.iter().zip(formals).enumerate() {
        ensure!(
            !name.is_empty() || formal.arity != Arity::Required,
            "Node ({})'s {side} {at} is marked single but has an empty string in the graph",
            node.name.as_str()
        );
    }
    Ok(())
}

pub(super) fn attribute(
    cx: &Context<'_>,
    attribute: &AttributeProto,
    scope: &Scope<'_>,
    depth: Depth,
) -> Validity {
    required(!attribute.name.is_empty(), "name", "attr")?;
    if cx.ir_version >= TYPED_ATTRIBUTES {
        present(attribute.r#type.is_some_and(|number| number != 0), "type", "attr")?;
    }
    let used = used_fields(attribute);
    let name = attribute.name.as_str();
    let is_reference = !attribute.ref_attr_name.is_empty();
    let stated = attribute.r#type.and_then(AttributeKind::from_onnx);
    let agrees = match used[..] {
        [] => true,
        [_] if is_reference => false,
        [kind] => stated.is_none_or(|stated| stated == kind),
        _ => false,
    };
    ensure!(agrees, "type field and data field mismatch in attribute {name}.");
    for tensor in attribute.t.iter().map(|tensor| &**tensor).chain(&attribute.tensors) {
        tensor::dense(cx, tensor)?;
    }
    for sparse in attribute.sparse_tensor.iter().map(|sparse| &**sparse).chain(&attribute.sparse_tensors) {
        tensor::sparse(cx, sparse)?;
    }
    for nested in attribute.g.iter().map(|graph| &**graph).chain(&attribute.graphs) {
        graph::validate(cx, nested, &mut scope.inner(), depth.inner()?)?;
    }
    Ok(())
}

/// The kinds of the values that an attribute has.
fn used_fields(attribute: &AttributeProto) -> Vec<AttributeKind> {
    let fields = [
        (AttributeKind::Float, attribute.f.is_some()),
        (AttributeKind::Int, attribute.i.is_some()),
        (AttributeKind::String, attribute.s.is_some()),
        (AttributeKind::Tensor, attribute.t.is_some()),
        (AttributeKind::Graph, attribute.g.is_some()),
        (AttributeKind::Floats, !attribute.floats.is_empty()),
        (AttributeKind::Ints, !attribute.ints.is_empty()),
        (AttributeKind::Strings, !attribute.strings.is_empty()),
        (AttributeKind::Tensors, !attribute.tensors.is_empty()),
        (AttributeKind::Graphs, !attribute.graphs.is_empty()),
        (AttributeKind::SparseTensor, attribute.sparse_tensor.is_some()),
        (AttributeKind::SparseTensors, !attribute.sparse_tensors.is_empty()),
        (AttributeKind::Type, attribute.tp.is_some()),
        (AttributeKind::Types, !attribute.type_protos.is_empty()),
    ];
    fields.into_iter().filter_map(|(kind, is_used)| is_used.then_some(kind)).collect()
}
