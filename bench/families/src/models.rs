//! Serialized models. Every model is valid and well typed, and declares the types of its inputs and outputs
//! only.

mod control;
mod flat;
mod heavy;
mod transformer;

use std::io::{self, Write};

use crate::model::{Graph, envelope, open_graph};
use crate::wire::Message;

/// Models that differ in size only.
#[derive(Clone, Copy)]
pub struct Generator {
    /// The name in arguments.
    pub name: &'static str,
    /// Description of the models.
    pub about: &'static str,
    /// Unit of the size.
    pub unit: &'static str,
    /// Writes the model of a size and returns its number of nodes.
    pub write: fn(u64, &mut dyn Write) -> io::Result<u64>,
}

impl Generator {
    /// The bytes of the model of a size.
    #[must_use]
    pub fn model(&self, size: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        (self.write)(size, &mut bytes).expect("a vector accepts all bytes");
        bytes
    }
}

/// A chain of unary and binary operators.
pub const CHAIN: Generator = Generator {
    name: "chain",
    about: "a chain of Relu, Add, Sigmoid and Mul",
    unit: "nodes",
    write: flat::chain,
};

/// Many inputs that meet in one node.
pub const WIDE: Generator = Generator {
    name: "wide",
    about: "a branch of three nodes from each of n/3 inputs, joined by one variadic Sum",
    unit: "nodes",
    write: flat::wide,
};

/// One value with many readers.
pub const FAN: Generator =
    Generator { name: "fan", about: "every node reads one value", unit: "nodes", write: flat::fan };

/// Branches.
pub const IF: Generator = Generator {
    name: "if",
    about: "a chain whose every tenth node is an If; both branches read the value before it",
    unit: "nodes of the chain",
    write: control::ifs,
};

/// Nested calls. The work grows with the depth, and the number of expanded nodes exponentially.
pub const FUNCTIONS: Generator = Generator {
    name: "functions",
    about: "functions inside functions, each calling the next twice",
    unit: "depth",
    write: control::functions,
};

/// Layers with arithmetic on shapes.
pub const TRANSFORMER: Generator = Generator {
    name: "transformer",
    about: "decoder layers with a key-value cache and the shape arithmetic that exporters write; \
            weights are graph inputs",
    unit: "layers",
    write: transformer::decoder,
};

/// Weights in the file.
pub const HEAVY: Generator = Generator {
    name: "heavy",
    about: "a chain of matrix products with its weights in the file",
    unit: "bytes of weights",
    write: heavy::products,
};

/// Writes a whole model and returns the number of nodes of its graph.
fn write_model(out: &mut dyn Write, functions: &[Message], graph: &Graph) -> io::Result<u64> {
    let body = graph.encoded().as_bytes();
    out.write_all(envelope(functions).as_bytes())?;
    out.write_all(open_graph(body.len()).as_bytes())?;
    out.write_all(body)?;
    Ok(graph.nodes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::count_nodes;

    #[test]
    fn generated_models_have_the_nodes_they_claim() {
        for (generator, size) in [
            (CHAIN, 1000),
            (WIDE, 999),
            (FAN, 1000),
            (IF, 1000),
            (FUNCTIONS, 8),
            (TRANSFORMER, 3),
            (HEAVY, 40_000_000),
        ] {
            let mut bytes = Vec::new();
            let nodes = (generator.write)(size, &mut bytes).unwrap();
            let top = count_nodes(&bytes);
            assert!(top > 0 && top <= nodes, "{} {size}: {top} of {nodes}", generator.name);
        }
    }
}
