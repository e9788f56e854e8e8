//! Classification of the symbols and variables of an interface: chosen by the caller or by the program.

use std::collections::{HashMap, HashSet};

use typeloom_dim::DimId;

use crate::{Interface, Parameter, extents};

/// The symbols and variables of an interface.
#[derive(Debug, Default)]
pub(crate) struct Leaves {
    /// Those in inputs and conditions; the caller chooses their values.
    pub(crate) of_caller: HashSet<DimId>,
    /// Those that occur in outputs only, with their occurrences; the program chooses their values.
    of_program: HashMap<DimId, Occurrence>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Occurrence {
    count: usize,
    in_expression: bool,
}

impl Leaves {
    pub(crate) fn of(interface: &Interface) -> Self {
        let mut leaves = Self::default();
        for dim in dims_of(&interface.inputs) {
            leaves.of_caller.extend(leaves_of(interface, dim));
        }
        for condition in &interface.conditions {
            for side in [condition.left, condition.right] {
                leaves.of_caller.extend(leaves_of(interface, side));
            }
        }
        for dim in dims_of(&interface.outputs) {
            let inside = leaves_of(interface, dim);
            let alone = inside == [dim];
            for leaf in inside.into_iter().filter(|leaf| !leaves.of_caller.contains(leaf)) {
                let seen = leaves.of_program.entry(leaf).or_default();
                seen.count += 1;
                seen.in_expression |= !alone;
            }
        }
        leaves
    }

    /// Whether a symbol or variable is chosen by the program and related to no other extent.
    pub(crate) fn is_idle(&self, leaf: DimId) -> bool {
        self.of_program.get(&leaf).is_some_and(|seen| seen.count == 1 && !seen.in_expression)
    }
}

/// The symbols and variables in a dim.
pub(crate) fn leaves_of(interface: &Interface, dim: DimId) -> Vec<DimId> {
    let mut leaves = interface.dims.symbols_of(dim).to_vec();
    leaves.extend(interface.dims.variables_of(dim));
    leaves
}

/// Returns every extent with its parameter.
pub(crate) fn dims_of(parameters: &[Parameter]) -> impl Iterator<Item = DimId> {
    parameters.iter().flat_map(|parameter| extents(&parameter.ty)).copied()
}
