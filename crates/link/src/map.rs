//! The map from outputs of the first model to inputs of the second one.

use std::collections::HashMap;

use typeloom_interface::Parameter;
use typeloom_solver::suggest::nearest;

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

    /// The output and the input. The connection was returned by [`resolve`].
    pub(crate) fn parameters<'s>(&self, first: &'s Source<'_>, second: &'s Source<'_>) -> [&'s Parameter; 2] {
        let find = |list: &'s [Parameter], name: &str| list.iter().find(|parameter| parameter.name == name);
        let output = find(&first.interface.outputs, &self.output);
        let input = find(&second.interface.inputs, &self.input);
        [output.expect("the output was resolved"), input.expect("the input was resolved")]
    }
}

/// The connections of a map; of an empty map, those of outputs and inputs of equal names.
pub(crate) fn resolve(
    map: &[Connection],
    first: &Source<'_>,
    second: &Source<'_>,
) -> Result<Vec<Connection>, Vec<MapError>> {
    let names = |list: &[Parameter]| -> Vec<String> { list.iter().map(|it| it.name.clone()).collect() };
    let (outputs, inputs) = (names(&first.interface.outputs), names(&second.interface.inputs));
    if map.is_empty() {
        let common: Vec<Connection> = inputs
            .iter()
            .filter(|name| outputs.contains(name))
            .map(|name| Connection::new(name, name))
            .collect();
        if common.is_empty() {
            let files = [first.name.to_owned(), second.name.to_owned()];
            return Err(vec![MapError::NothingInCommon { files, outputs, inputs }]);
        }
        return Ok(common);
    }
    let mut errors = Vec::new();
    let mut connections: Vec<Connection> = Vec::new();
    let mut by_input: HashMap<&str, &str> = HashMap::new();
    for connection in map {
        let Connection { output, input } = connection;
        let near = |list: &[String], name: &str| nearest(name, list.iter().map(String::as_str));
        if !outputs.contains(output) {
            let near = near(&outputs, output);
            errors.push(MapError::UnknownOutput { file: first.name.to_owned(), name: output.clone(), near });
        }
        if !inputs.contains(input) {
            let near = near(&inputs, input);
            errors.push(MapError::UnknownInput { file: second.name.to_owned(), name: input.clone(), near });
        }
        match by_input.insert(input, output) {
            Some(other) => errors.push(MapError::InputMappedTwice {
                file: second.name.to_owned(),
                name: input.clone(),
                outputs: [other.to_owned(), output.clone()],
            }),
            None => connections.push(connection.clone()),
        }
    }
    if errors.is_empty() { Ok(connections) } else { Err(errors) }
}
