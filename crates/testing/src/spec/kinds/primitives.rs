//! `primitives`: nodes of the tensor primitives, typed by their declared relations alone.
//!
//! ```text
//! seed x: tensor.f32
//! z = Add(x, y)         # z: tensor.f32; y: tensor.f32
//! ```
//!
//! The types are nodes of the tree. Problems have no codes: `# error: MESSAGE`.

use typeloom_onnx::messages::GraphProto;
use typeloom_onnx::text::parse_node;
use typeloom_solver::model::Mode;
use typeloom_solver::type_solver::{TypeError, TypeSolver};
use typeloom_types::op::primitives::TENSOR_PRIMITIVES;

use crate::spec::comments::{self, Codes, Line};
use crate::spec::document::Malformed;
use crate::spec::kinds::Context;

pub(crate) fn truth(cx: &Context<'_>, mode: Mode) -> Result<String, Malformed> {
    let text = &cx.fence().text;
    let lines =
        comments::read(text, Codes::Without).map_err(|(line, message)| cx.malformed(line, message))?;
    let mut graph = GraphProto::default();
    let mut seeds = Vec::new();
    for (number, Line { code, .. }) in lines.iter().enumerate() {
        let code = code.trim();
        if let Some(seed) = code.strip_prefix("seed ") {
            let seed =
                seed.split_once(':').ok_or_else(|| cx.malformed(number, "write `seed VALUE: NODE`"))?;
            seeds.push((seed.0.trim(), seed.1.trim()));
        } else if !code.is_empty() {
            let node = parse_node(code)
                .map_err(|error| cx.malformed(number, format!("this is no node: {error}")))?;
            graph.node.push(node);
        }
    }
    let solver = TypeSolver::from_graph(&graph, |_, name| TENSOR_PRIMITIVES.op(name));
    let solved = solver.and_then(|mut solver| {
        for (value, node) in seeds {
            solver.seed(value, node);
        }
        match mode {
            Mode::Strict => solver.solve_strict(),
            Mode::Permissive => solver.solve(),
        }
    });
    let found: Vec<String> = solved.as_ref().err().map(text_of).unwrap_or_default();
    let ty = |line, value: &str| {
        let Ok(solution) = &solved else {
            return Err(cx.malformed(line, "the fence has errors, so its values have no types"));
        };
        let bound = solution.bound_of(value);
        let bound = bound.ok_or_else(|| cx.malformed(line, format!("there is no value `{value}`")))?;
        Ok(bound.id.to_owned())
    };
    comments::rewrite(&lines, found, ty, |_, _| Ok(()))
}

fn text_of(error: &TypeError) -> Vec<String> {
    error.errors().iter().map(|error| format!("error: {error}")).collect()
}
