//! Catalogue of the measured models: families with cases of growing size.
//!
//! A case is an existing file or a generated model. Every generated model is valid and well typed, and
//! declares the types of its inputs and outputs only.

mod control;
mod flat;
mod heavy;
mod stored;
mod transformer;

use std::io::{self, Write};
use std::path::PathBuf;

use crate::model::{Graph, envelope, open_graph};
use crate::wire::Message;

/// Selection of cases.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// Small sizes: minutes.
    Quick,
    Full,
}

impl Scale {
    /// All of `sizes`, or the first `quick` of them.
    fn of(self, sizes: &[u64], quick: usize) -> Vec<u64> {
        match self {
            Self::Quick => sizes[..quick].to_vec(),
            Self::Full => sizes.to_vec(),
        }
    }
}

/// Models that differ in size only, or that have a common origin.
pub struct Family {
    /// The name for `--only`.
    pub name: &'static str,
    /// Description of the models for the heading of the table.
    pub about: &'static str,
    /// Unit of the size, if cases differ in size only.
    pub size: Option<&'static str>,
    /// The cases, smallest first.
    pub cases: fn(Scale) -> io::Result<Vec<Case>>,
}

pub struct Case {
    pub name: String,
    /// The varied size of the family.
    pub size: Option<u64>,
    /// Origin of the model.
    pub model: Model,
}

/// Origin of a model.
pub enum Model {
    Stored(PathBuf),
    /// Generated for the measurement; the function returns the number of nodes.
    Made(fn(u64, &mut dyn Write) -> io::Result<u64>),
}

/// Every family, in the order of the report.
pub static FAMILIES: &[Family] = &[
    Family {
        name: "light",
        about: "the nine networks of the ONNX test suite without their weights",
        size: None,
        cases: stored::light,
    },
    Family { name: "models", about: "the models of this repository", size: None, cases: stored::models },
    Family {
        name: "chain",
        about: "a chain of Relu, Add, Sigmoid and Mul",
        size: Some("nodes"),
        cases: |scale| made(scale.of(FLAT, 2), flat::chain),
    },
    Family {
        name: "wide",
        about: "a branch of three nodes from each of n/3 inputs, joined by one variadic Sum",
        size: Some("nodes"),
        cases: |scale| made(scale.of(FLAT, 2), flat::wide),
    },
    Family {
        name: "fan",
        about: "every node reads one value",
        size: Some("nodes"),
        cases: |scale| made(scale.of(FLAT, 2), flat::fan),
    },
    Family {
        name: "if",
        about: "a chain whose every tenth node is an If; both branches read the value before it",
        size: Some("nodes of the chain"),
        cases: |scale| made(scale.of(&[1_000, 4_000, 16_000, 64_000], 2), control::ifs),
    },
    Family {
        name: "functions",
        about: "functions inside functions, each calling the next twice",
        size: Some("depth"),
        cases: |scale| made(scale.of(&[4, 8, 12, 16], 3), control::functions),
    },
    Family {
        name: "transformer",
        about: "decoder layers with a key-value cache and the shape arithmetic that exporters write; \
                weights are graph inputs",
        size: Some("layers"),
        cases: |scale| made(scale.of(&[96, 960, 1536], 1), transformer::decoder),
    },
    Family {
        name: "heavy",
        about: "a chain of matrix products with its weights in the file",
        size: Some("bytes of weights"),
        cases: |scale| match scale {
            Scale::Quick => made(vec![200_000_000], heavy::products),
            Scale::Full => made(vec![2_000_000_000], heavy::products),
        },
    },
];

const FLAT: &[u64] = &[1_000, 10_000, 100_000, 1_000_000];

fn made(sizes: Vec<u64>, write: fn(u64, &mut dyn Write) -> io::Result<u64>) -> io::Result<Vec<Case>> {
    let case = |size| Case { name: grouped(size), size: Some(size), model: Model::Made(write) };
    Ok(sizes.into_iter().map(case).collect())
}

/// Writes a whole model and returns the number of nodes of its graph.
fn write_model(out: &mut dyn Write, functions: &[Message], graph: &Graph) -> io::Result<u64> {
    let body = graph.encoded().as_bytes();
    out.write_all(envelope(functions).as_bytes())?;
    out.write_all(open_graph(body.len()).as_bytes())?;
    out.write_all(body)?;
    Ok(graph.nodes())
}

/// Formats a number with separators between its thousands.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> = digits
        .as_bytes()
        .rchunks(3)
        .rev()
        .map(|group| str::from_utf8(group).expect("digits are ASCII"))
        .collect();
    groups.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::count_nodes;

    #[test]
    fn thousands_are_set_apart() {
        assert_eq!([7, 1_000, 64_000, 2_000_000_000].map(grouped), ["7", "1,000", "64,000", "2,000,000,000"]);
    }

    #[test]
    fn generated_models_have_the_nodes_they_claim() {
        for family in FAMILIES {
            for case in (family.cases)(Scale::Quick).unwrap() {
                let (Model::Made(write), Some(size)) = (case.model, case.size) else { continue };
                if family.name == "heavy" {
                    continue;
                }
                let mut bytes = Vec::new();
                let nodes = write(size, &mut bytes).unwrap();
                let top = count_nodes(&bytes);
                assert!(top > 0 && top <= nodes, "{} {}: {top} of {nodes}", family.name, case.name);
            }
        }
    }

    #[test]
    fn names_are_distinct() {
        let mut names: Vec<_> = FAMILIES.iter().map(|family| family.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), FAMILIES.len());
    }
}
