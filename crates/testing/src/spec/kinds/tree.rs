//! `tree`: the type tree, or the part below a node.

use typeloom_solver::elem::{Elem, ElemSet};
use typeloom_solver::universe::Universe;
use typeloom_types::lattice::{Lattice, NodeRef};

use crate::spec::document::Malformed;
use crate::spec::kinds::Context;

/// One line per node: id, indented; whether it is a bound; ONNX's name of the element type; the denotation.
pub(crate) fn truth(cx: &Context<'_>, top: Option<&str>) -> Result<String, Malformed> {
    let lattice = Lattice::get();
    let above = |mut node: NodeRef<'_>| {
        let mut depth = 0;
        while let Some(parent) = lattice.parent(node.no).and_then(|parent| lattice.node(parent)) {
            depth += 1;
            node = parent;
        }
        depth
    };
    let top = match top {
        Some(id) => {
            lattice.lookup(id).ok_or_else(|| cx.malformed(0, format!("the tree has no node `{id}`")))?
        }
        None => lattice.node(lattice.root()).ok_or_else(|| cx.malformed(0, "the tree has no root"))?,
    };
    let universe = Universe::try_standard().map_err(|error| cx.malformed(0, error.to_string()))?;
    let depth = above(top);
    let mut text = String::new();
    for node in lattice.nodes().filter(|node| node.is_subtype_of(top.no)) {
        let id = format!("{}{}", "  ".repeat(above(node) - depth), node.id);
        let kind = if node.is_abstract() { "bound" } else { "" };
        let elem = universe.tensor_elems(node.no).and_then(ElemSet::single);
        let elem = elem.and_then(Elem::onnx_name).filter(|_| node.is_concrete()).unwrap_or_default();
        let line = format!("{id:<26} {kind:<6} {elem:<15} {}", node.denotation);
        text.push_str(line.trim_end());
        text.push('\n');
    }
    Ok(text)
}
