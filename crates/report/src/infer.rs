//! The types of all values of a model as JSON: the format of `typeloom infer --format json`.
//!
//! ```json
//! {"inputs":{NAME:T},"value_info":{NAME:T},"outputs":{NAME:T},
//!  "sub":[{"path":"/3:If.then_branch","inputs":..,"value_info":..,"outputs":..}]}
//! ```
//!
//! A type `T` is `{"k":"tensor","e":"float","s":[2,"N",null]}` (`s` absent: unknown rank; a string: a
//! symbol or expression; `null`: unknown extent), `{"k":"sparse",..}`, `{"k":"seq","of":T}`,
//! `{"k":"opt","of":T}`, `{"k":"map","key":"int64","val":T}`, `{"k":"node","id":..}` for a leaf of the
//! type tree that ONNX does not know, or `{"k":"none"}` if nothing is known.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde_json::{Map, Value, json};
use typeloom_dim::Dims;
use typeloom_solver::model::Checked;
use typeloom_solver::program::{GraphId, ValueId};
use typeloom_solver::solution::{Equation, EquationSource, TensorType, Type};
use typeloom_solver::ty::Constructor;
use typeloom_solver::universe::Universe;

use crate::selection::Selection;
use crate::table::{graphs, initializers, node_outputs};

/// The types of the main graph and of every graph nested in it, depth first.
pub fn types(checked: &mut Checked<'_>) -> Map<String, Value> {
    types_of(checked, &Selection::default())
}

/// The types of the selected values. Unless all are selected, initializers are listed, in the object
/// `initializers`, and a nested graph without a selected value is left out.
pub fn types_of(checked: &mut Checked<'_>, selection: &Selection) -> Map<String, Value> {
    let mut initializers = if selection.is_all() { HashMap::new() } else { initializers(checked) };
    let mut graphs = graphs(checked.body()).into_iter().map(|(graph, path)| {
        (path, graph_types(checked, graph, initializers.remove(&graph).unwrap_or_default(), selection))
    });
    let mut main = graphs.next().map(|(_, types)| types).unwrap_or_default();
    let is_shown = |types: &Map<String, Value>| {
        selection.is_all() || types.values().any(|values| values.as_object().is_some_and(|it| !it.is_empty()))
    };
    let sub: Vec<Value> = graphs
        .filter(|(_, types)| is_shown(types))
        .map(|(path, types)| {
            let mut object = Map::new();
            object.insert("path".to_owned(), Value::String(path));
            object.extend(types);
            Value::Object(object)
        })
        .collect();
    if !sub.is_empty() {
        main.insert("sub".to_owned(), Value::Array(sub));
    }
    main
}

/// The undecided conditions of nodes on dims:
/// `{"left":"a*b","right":"c","need":"equal","node":2,"operator":"Concat","rule":"concat.axis"}`. `need` is `equal`, `one-or-equal` if the left side is broadcast, `broadcast` if either side may be, `at-most`, or `divides`; for a declaration, `value` replaces `rule`; `inside`
/// is present if a node in the called function needs it.
#[must_use]
pub fn equations(checked: &Checked<'_>) -> Vec<Value> {
    let (body, dims) = (checked.body(), checked.dims());
    let one = |equation: &Equation| {
        let Equation { left, right, need, step, rule, source } = equation;
        let mut object = json!({
            "left": dims.display(*left).to_string(),
            "right": dims.display(*right).to_string(),
            "need": need.name(),
            "node": body.step(*step).position,
            "operator": body.op_name(*step),
        });
        match source {
            EquationSource::Ports { .. } => {}
            EquationSource::Call => object["inside"] = json!(true),
            EquationSource::Declared(value) => {
                object["value"] = json!(body.value_name(*value));
                return object;
            }
        }
        object["rule"] = json!(rule);
        object
    };
    checked.equations().iter().map(one).collect()
}

fn graph_types(
    checked: &mut Checked<'_>,
    graph: GraphId,
    initializers: Vec<ValueId>,
    selection: &Selection,
) -> Map<String, Value> {
    let body = checked.body();
    let listed = body.graph(graph);
    let (inputs, outputs) = (listed.inputs.to_vec(), listed.outputs.to_vec());
    let promised: HashSet<ValueId> = outputs.iter().copied().collect();
    let ports: HashSet<ValueId> = inputs.iter().chain(&outputs).copied().collect();
    let initializers: Vec<ValueId> =
        initializers.into_iter().filter(|value| !ports.contains(value)).collect();
    let values = node_outputs(body, graph).filter(|value| !promised.contains(value)).collect();
    let mut types = Map::new();
    let lists =
        [("inputs", inputs), ("initializers", initializers), ("value_info", values), ("outputs", outputs)];
    for (key, values) in lists {
        let mut object = Map::new();
        for value in values {
            if !selection.contains(checked, value) {
                continue;
            }
            let ty = checked.type_of(value);
            let is_assumed = checked.is_assumed(value);
            let name = checked.body().value_name(value).to_owned();
            let mut ty = type_json(checked, &ty);
            let alternatives: Vec<Value> =
                checked.alternatives(value).iter().map(|ty| type_json(checked, ty)).collect();
            if is_assumed {
                ty["assumed"] = json!(true);
            }
            if !alternatives.is_empty() {
                ty["alternatives"] = json!(alternatives);
            }
            object.insert(name, ty);
        }
        if !(key == "initializers" && object.is_empty()) {
            types.insert(key.to_owned(), Value::Object(object));
        }
    }
    types
}

/// One type as JSON.
#[must_use]
pub fn type_json(checked: &Checked<'_>, ty: &Type) -> Value {
    type_value(checked.universe(), checked.dims(), ty)
}

/// One type of any solve as JSON.
#[must_use]
pub fn type_value(universe: &Universe, dims: &Dims, ty: &Type) -> Value {
    let (constructors, inner) = ty.split();
    let mut value = match inner {
        Type::Unknown(Some(node)) | Type::Leaf(node) => {
            let id = universe.lattice().node(*node).map_or("", |node| node.id);
            json!({"k": "node", "id": id})
        }
        Type::Tensor(tensor) => tensor_json(universe, dims, "tensor", tensor),
        Type::Sparse(tensor) => tensor_json(universe, dims, "sparse", tensor),
        Type::Scalar(elem) => match elem.single() {
            Some(elem) => json!({"k": "scalar", "e": universe.elem_name(elem)}),
            None => json!({"k": "scalar"}),
        },
        Type::Composite(composite) => {
            let child = |(name, ty): &(Arc<str>, Type)| json!({"name": **name, "type": type_value(universe, dims, ty)});
            let children: Vec<Value> = composite.children.iter().map(child).collect();
            json!({"k": "composite", "children": children, "open": composite.is_open})
        }
        Type::Unknown(None) | Type::Error | Type::Container(..) => json!({"k": "none"}),
    };
    for constructor in constructors.into_iter().rev() {
        value = match constructor {
            Constructor::Sequence => json!({"k": "seq", "of": value}),
            Constructor::Map(key) => json!({"k": "map", "key": universe.elem_name(key), "val": value}),
            Constructor::Optional => json!({"k": "opt", "of": value}),
        };
    }
    value
}

fn tensor_json(universe: &Universe, dims: &Dims, kind: &str, tensor: &TensorType) -> Value {
    let mut object = json!({"k": kind});
    if let Some(elem) = tensor.elem.single() {
        object["e"] = json!(universe.elem_name(elem));
    }
    if let Some(shape) = &tensor.shape {
        let extents = shape.iter().map(|dim| match dims.as_constant(*dim) {
            Some(extent) => json!(extent),
            None if dims.is_anonymous(*dim) => Value::Null,
            None => json!(dims.display(*dim).to_string()),
        });
        object["s"] = extents.collect();
    }
    object
}
