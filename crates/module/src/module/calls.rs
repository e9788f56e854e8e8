//! Calls of modules as functions.

use typeloom_onnx::messages::{FunctionProto, GraphProto, ModelProto, NodeProto, ValueInfoProto};
use typeloom_program::domain::Domain;
use typeloom_program::write::write;

use super::Module;
use crate::authoring::AuthoringErrorKind;
use crate::graph::Graph;
use crate::graph::operators::record as record_node;
use crate::graph::outputs::Outputs;
use crate::graph::recorded::imports;
use crate::graph::recorder::Recorder;
use crate::graph::value::ValueRef;
use crate::location::SourceLocation;
use typeloom_onnx::messages::IntoAttribute;

impl Graph {
    /// Calls a module. Inputs and outputs are in the order of their declarations.
    ///
    /// Types are solved separately for each call, so one module can be used with several types.
    #[track_caller]
    pub fn call(&self, module: &dyn Module, inputs: &[&ValueRef]) -> Outputs {
        let location = SourceLocation::here();
        let name = module.name().to_owned();
        let failed = |outputs| self.failed_call(&name, inputs, outputs, location);
        let Some(callers) = self.callers_of(&name, location) else { return failed(Vec::new()) };
        let mut graph = Graph::new(name.clone(), callers);
        module.body(&mut graph);
        let recorded = match graph.finish(location) {
            Ok(recorded) => recorded,
            Err(errors) => {
                self.recorder.borrow_mut().errors.extend(errors);
                return failed(Vec::new());
            }
        };
        let mut recorder = self.recorder.borrow_mut();
        for (slot, used) in recorded.slots {
            recorder.use_slot(&slot, used.role, used.location);
        }
        let ModelProto { graph, functions, .. } = write(&recorded.program, &recorded.facts);
        let body = graph.unwrap_or_default();
        let names_of =
            |list: &[ValueInfoProto]| list.iter().map(|info| info.name().to_owned()).collect::<Vec<_>>();
        let (names, outputs) = (names_of(&body.input), names_of(&body.output));
        for function in functions {
            add_function(&mut recorder, function, location);
        }
        add_function(&mut recorder, function_of(&name, body), location);
        if names.len() != inputs.len() {
            let kind = AuthoringErrorKind::CallArity {
                module: name.clone(),
                inputs: names.len(),
                names: names.join(", "),
                given: inputs.len(),
            };
            recorder.error(kind, location);
            drop(recorder);
            return failed(outputs);
        }
        drop(recorder);
        let op = (Domain::Module, name.as_str());
        let values = record_node(self, None, op, &[inputs.into()], Vec::new(), outputs.len(), location);
        Outputs::new(&name, outputs, values, self.poison(location))
    }
}

/// Adds a called module; a different one of the same name is an error.
fn add_function(recorder: &mut Recorder, function: FunctionProto, location: SourceLocation) {
    let name = function.name().to_owned();
    match recorder.functions.get(&name) {
        Some((known, first)) if *known != function => {
            let first = *first;
            recorder.error(AuthoringErrorKind::ModuleNameTaken { module: name, first }, location);
        }
        Some(_) => {}
        None => {
            recorder.functions.insert(name, (function, location));
        }
    }
}

/// Converts a recorded graph to a function. Constants become nodes, and all declared types are in one list.
fn function_of(name: &str, body: GraphProto) -> FunctionProto {
    let GraphProto { node, input, output, initializer, mut value_info, .. } = body;
    let constants = initializer.into_iter().map(|mut tensor| {
        let output = std::mem::take(&mut tensor.name).into();
        NodeProto {
            op_type: "Constant".into(),
            output: vec![output],
            attribute: vec![tensor.into_attribute("value")],
            ..NodeProto::default()
        }
    });
    let names = |list: &[ValueInfoProto]| list.iter().map(|info| info.name().to_owned()).collect::<Vec<_>>();
    let (inputs, outputs) = (names(&input), names(&output));
    let typed = |info: &ValueInfoProto| info.r#type.is_some();
    value_info.extend(input.into_iter().chain(output).filter(typed));
    FunctionProto {
        name: name.into(),
        domain: Domain::Module.name().into(),
        input: inputs,
        output: outputs,
        node: constants.chain(node).collect(),
        value_info,
        opset_import: imports(),
        ..FunctionProto::default()
    }
}
