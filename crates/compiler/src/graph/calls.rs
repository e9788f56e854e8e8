//! Modules that are called as functions.

use typeloom_onnx::messages::{FunctionProto, GraphProto, NodeProto, OperatorSetIdProto};

use super::Graph;
use super::operators::record as record_node;
use super::value::Value;
use crate::authoring::AuthoringErrorKind;
use crate::module::{Module, imports};
use crate::names::MODULE_DOMAIN;
use crate::place::Place;

impl Graph {
    /// Calls a module: its inputs are given in the order in which it declares them, its outputs come in theirs.
    ///
    /// What the module declares of types holds for each call; the types themselves are found out for each
    /// call anew, so that one module can be used with several types.
    #[track_caller]
    pub fn call(&self, module: &dyn Module, inputs: &[&Value]) -> Vec<Value> {
        let place = Place::here();
        let name = module.name().to_owned();
        let mut callers = self.recorder.borrow().callers.clone();
        callers.push(self.recorder.borrow().module.clone());
        if callers.contains(&name) {
            self.recorder.borrow_mut().error(AuthoringErrorKind::RecursiveModule { module: name }, place);
            return Vec::new();
        }
        let mut graph = Graph::new(name.clone(), callers);
        module.body(&mut graph);
        let recorded = match graph.finish(place) {
            Ok(recorded) => recorded,
            Err(errors) => {
                self.recorder.borrow_mut().errors.extend(errors);
                return Vec::new();
            }
        };
        let mut recorder = self.recorder.borrow_mut();
        for (slot, used) in recorded.slots {
            recorder.use_slot(&slot, used.role, used.place);
        }
        let body = recorded.model.graph.unwrap_or_default();
        let (names, outputs): (Vec<String>, usize) =
            (body.input.iter().map(|info| info.name().to_owned()).collect(), body.output.len());
        for function in recorded.model.functions {
            self_add(&mut recorder, function, place);
        }
        self_add(&mut recorder, function_of(&name, body), place);
        if names.len() != inputs.len() {
            let kind = AuthoringErrorKind::CallArity {
                module: name,
                inputs: names.len(),
                names: names.join(", "),
                given: inputs.len(),
            };
            recorder.error(kind, place);
            drop(recorder);
            return (0..outputs).map(|_| self.poison(place)).collect();
        }
        drop(recorder);
        record_node(self, None, (MODULE_DOMAIN, &name), &[inputs.into()], Vec::new(), outputs, place)
    }
}

/// Keeps a called module; another one of the same name is a mistake.
fn self_add(recorder: &mut super::recorder::Recorder, function: FunctionProto, place: Place) {
    let name = function.name().to_owned();
    match recorder.functions.get(&name) {
        Some((known, first)) if *known != function => {
            let first = *first;
            recorder.error(AuthoringErrorKind::ModuleNameTaken { module: name, first }, place);
        }
        Some(_) => {}
        None => {
            recorder.functions.insert(name, (function, place));
        }
    }
}

/// A recorded graph as a function: constants become nodes, declared types one list.
fn function_of(name: &str, body: GraphProto) -> FunctionProto {
    let GraphProto { node, input, output, initializer, mut value_info, .. } = body;
    let constants = initializer.into_iter().map(|mut tensor| {
        let output = tensor.name.take().unwrap_or_default();
        NodeProto {
            op_type: Some("Constant".to_owned()),
            output: vec![output],
            attribute: vec![super::attributes::IntoAttribute::into_attribute(tensor, "value")],
            ..NodeProto::default()
        }
    });
    let names = |list: &[typeloom_onnx::messages::ValueInfoProto]| {
        list.iter().map(|info| info.name().to_owned()).collect::<Vec<_>>()
    };
    let (inputs, outputs) = (names(&input), names(&output));
    let typed = |info: &typeloom_onnx::messages::ValueInfoProto| info.r#type.is_some();
    value_info.extend(input.into_iter().chain(output).filter(typed));
    FunctionProto {
        name: Some(name.to_owned()),
        domain: Some(MODULE_DOMAIN.to_owned()),
        input: inputs,
        output: outputs,
        node: constants.chain(node).collect(),
        value_info,
        opset_import: imports()
            .into_iter()
            .filter(|import: &OperatorSetIdProto| import.domain.is_some())
            .collect(),
        ..FunctionProto::default()
    }
}
