//! The map from outputs of the first model to inputs of the second one.

use std::collections::HashMap;

use typeloom_interface::Parameter;
use typeloom_types::suggest::nearest;

use crate::error::MapError;
use crate::source::Source;

/// A connection of an output of the first model with an input of the second one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connection {
    /// The output.
    pub output: String,
    /// The input. An output can be connected to several inputs, an input to one output.
    pub input: String,
}

impl Connection {
    /// A connection.
    pub fn new(output: impl Into<String>, input: impl Into<String>) -> Self {
        Self { output: output.into(), input: input.into() }
    }
}

/// A connection that was found in the interfaces of two models.
#[derive(Clone, Debug)]
pub(crate) struct Joint {
    pub(crate) connection: Connection,
    /// The position of the output in the interface of the first model.
    output: usize,
    /// The position of the input in the interface of the second model.
    input: usize,
}

impl Joint {
    pub(crate) fn output<'s>(&self, first: &'s Source<'_>) -> &'s Parameter {
        &first.interface.outputs[self.output]
    }

    pub(crate) fn input<'s>(&self, second: &'s Source<'_>) -> &'s Parameter {
        &second.interface.inputs[self.input]
    }
}

/// The first position of each name.
pub(crate) fn positions(list: &[Parameter]) -> HashMap<&str, usize> {
    let mut positions = HashMap::with_capacity(list.len());
    for (at, parameter) in list.iter().enumerate() {
        positions.entry(parameter.name.as_str()).or_insert(at);
    }
    positions
}

/// The connections of a map; of an empty map, those of outputs and inputs of equal names.
pub(crate) fn resolve(
    map: &[Connection],
    first: &Source<'_>,
    second: &Source<'_>,
) -> Result<Vec<Joint>, Vec<MapError>> {
    let names = |list: &[Parameter]| -> Vec<String> { list.iter().map(|it| it.name.clone()).collect() };
    let (outputs, inputs) = (positions(&first.interface.outputs), positions(&second.interface.inputs));
    let joint = |connection: Connection| -> Option<Joint> {
        let (output, input) =
            (*outputs.get(connection.output.as_str())?, *inputs.get(connection.input.as_str())?);
        Some(Joint { connection, output, input })
    };
    if map.is_empty() {
        let equal = second.interface.inputs.iter().map(|input| Connection::new(&input.name, &input.name));
        let common: Vec<Joint> = equal.filter_map(joint).collect();
        if common.is_empty() {
            let files = [first.name.to_owned(), second.name.to_owned()];
            let (outputs, inputs) = (names(&first.interface.outputs), names(&second.interface.inputs));
            return Err(vec![MapError::NothingInCommon { files, outputs, inputs }]);
        }
        return Ok(common);
    }
    let mut errors = Vec::new();
    let mut joints: Vec<Joint> = Vec::new();
    let mut by_input: HashMap<&str, &str> = HashMap::new();
    for connection in map {
        let Connection { output, input } = connection;
        let near = |list: &[Parameter], name: &str| nearest(name, list.iter().map(|it| it.name.as_str()));
        if !outputs.contains_key(output.as_str()) {
            let near = near(&first.interface.outputs, output);
            errors.push(MapError::UnknownOutput { file: first.name.to_owned(), name: output.clone(), near });
        }
        if !inputs.contains_key(input.as_str()) {
            let near = near(&second.interface.inputs, input);
            errors.push(MapError::UnknownInput { file: second.name.to_owned(), name: input.clone(), near });
        }
        match by_input.insert(input, output) {
            Some(other) => errors.push(MapError::InputMappedTwice {
                file: second.name.to_owned(),
                name: input.clone(),
                outputs: [other.to_owned(), output.clone()],
            }),
            None => joints.extend(joint(connection.clone())),
        }
    }
    if errors.is_empty() { Ok(joints) } else { Err(errors) }
}
