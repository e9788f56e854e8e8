//! `types`: facts about the type tree and about dims, one a line.
//!
//! ```text
//! tensor.f32 <: tensor                     subtype
//! tensor.f32 \/ scalar.f32 = any           join; `/\` is the meet, `none` if there is none
//! concrete tensor.f32                      a value can have this type; also: abstract tensor
//! float = tensor.f32                       the ONNX name of an element type
//! denotation bb.peer_id = peer_id          the node of a denotation
//! dim seq + 1 + seq = 2*seq + 1            equal for all values; `!=`: equal for none; `?=`: undecided
//! dim min(n, 8) in 0..8                    the tightest known bounds; either bound is optional
//! dim 2*n + 1 = 9 gives n = 4              the solution of an equation
//! dim n + n prints 2*n                     the printed form
//! not any <: tensor                        the negation of any of these facts
//! ```
//!
//! ` # ` starts prose. Dims of one fence share their symbols.

use typeloom_dim::{Decision, DimId, Dims, Solved};
use typeloom_solver::universe::Universe;
use typeloom_types::lattice::{Lattice, NodeNo};

use crate::spec::document::Malformed;
use crate::spec::kinds::Context;

/// Facts are not blessed: each that is false is listed.
pub(crate) fn truth(cx: &Context<'_>) -> Result<String, Malformed> {
    let text = &cx.fence().text;
    let mut dims = Dims::new();
    let mut wrong: Option<Malformed> = None;
    for (number, line) in text.lines().enumerate() {
        let fact = line.split_once(" # ").map_or(line, |(fact, _)| fact).trim();
        if fact.is_empty() {
            continue;
        }
        let (fact, wanted) = fact.strip_prefix("not ").map_or((fact, true), |fact| (fact.trim(), false));
        let judged = match fact.strip_prefix("dim ") {
            Some(fact) => dim_fact(&mut dims, fact.trim()),
            None => type_fact(Lattice::get(), fact),
        };
        let Judged { holds, instead } = judged.map_err(|message| cx.malformed(number, message))?;
        if holds != wanted {
            let message = match (wanted, instead) {
                (true, Some(instead)) => format!("`{fact}` does not hold: {instead}"),
                (true, None) => format!("`{fact}` does not hold"),
                (false, _) => format!("`{fact}` holds"),
            };
            match &mut wrong {
                Some(wrong) => {
                    wrong.message.push_str(&format!("\nline {}: {message}", cx.fence().line + 1 + number));
                }
                None => wrong = Some(cx.malformed(number, message)),
            }
        }
    }
    wrong.map_or_else(|| Ok(text.clone()), Err)
}

struct Judged {
    holds: bool,
    instead: Option<String>,
}

impl Judged {
    fn whether(holds: bool) -> Result<Self, String> {
        Ok(Self { holds, instead: None })
    }

    fn equal(found: &str, stated: &str) -> Result<Self, String> {
        Ok(Self { holds: found == stated, instead: Some(format!("it is `{found}`")) })
    }
}

fn type_fact(lattice: &Lattice, fact: &str) -> Result<Judged, String> {
    let node = |id: &str| {
        let id = id.trim();
        lattice.lookup(id).map(|node| node.no).ok_or_else(|| format!("the tree has no node `{id}`"))
    };
    let id = |no: NodeNo| lattice.node(no).map_or("none", |node| node.id);
    if let Some((a, b)) = fact.split_once("<:") {
        return Judged::whether(lattice.is_subtype(node(a)?, node(b)?));
    }
    if let Some(of) = fact.strip_prefix("concrete ") {
        return Judged::whether(lattice.node(node(of)?).is_some_and(|node| node.is_concrete()));
    }
    if let Some(of) = fact.strip_prefix("abstract ") {
        return Judged::whether(lattice.node(node(of)?).is_some_and(|node| node.is_abstract()));
    }
    let (of, stated) = fact.split_once('=').ok_or_else(|| format!("`{fact}` is no fact"))?;
    let (of, stated) = (of.trim(), stated.trim());
    if let Some((a, b)) = of.split_once("\\/") {
        return Judged::equal(id(lattice.join(node(a)?, node(b)?)), stated);
    }
    if let Some((a, b)) = of.split_once("/\\") {
        return Judged::equal(lattice.meet(node(a)?, node(b)?).map_or("none", id), stated);
    }
    if let Some(denotation) = of.strip_prefix("denotation ") {
        return Judged::equal(
            lattice.lookup_denotation(denotation.trim()).map_or("none", |node| node.id),
            stated,
        );
    }
    let universe = Universe::try_standard().map_err(ToString::to_string)?;
    let elem = universe.elem_named(of).ok_or_else(|| format!("there is no element type `{of}`"))?;
    Judged::equal(universe.tensor_leaf(elem).map_or("none", id), stated)
}

fn dim_fact(dims: &mut Dims, fact: &str) -> Result<Judged, String> {
    if let Some((dim, stated)) = fact.split_once(" prints ") {
        let dim = parse(dims, dim)?;
        return Judged::equal(&dims.display(dim).to_string(), stated.trim());
    }
    if let Some((dim, stated)) = fact.split_once(" in ") {
        let dim = parse(dims, dim)?;
        let (low, high) = dims.bounds(dim);
        let end = |end: Option<i64>| end.map(|end| end.to_string()).unwrap_or_default();
        return Judged::equal(&format!("{}..{}", end(low), end(high)), stated.trim());
    }
    if let Some((equation, stated)) = fact.split_once(" gives ") {
        let (left, right) = equation.split_once('=').ok_or("an equation has two sides")?;
        let (left, right) = (parse(dims, left)?, parse(dims, right)?);
        let solved = dims.solve_for(left, right);
        let equal =
            |dims: &Dims, of: DimId, value: DimId| format!("{} = {}", dims.display(of), dims.display(value));
        let found = match solved {
            Solved::Always => "nothing".to_owned(),
            Solved::Contradiction => "a contradiction".to_owned(),
            Solved::Symbol { symbol, value } => equal(dims, symbol, value),
            Solved::Variable { variable, value } => equal(dims, variable, value),
            Solved::Undecided => "no decision".to_owned(),
        };
        return Judged::equal(&found, stated.trim());
    }
    for (sign, stated) in [("!=", Decision::Different), ("?=", Decision::Undecided), ("=", Decision::Equal)] {
        if let Some((left, right)) = fact.split_once(sign) {
            let (left, right) = (parse(dims, left)?, parse(dims, right)?);
            let found = dims.compare(left, right);
            let instead = match found {
                Decision::Equal => "the two are equal for all values",
                Decision::Different => "the two are equal for no values",
                Decision::Undecided => "that is not decided",
            };
            return Ok(Judged { holds: found == stated, instead: Some(instead.to_owned()) });
        }
    }
    Err(format!("`dim {fact}` is no fact about dims"))
}

fn parse(dims: &mut Dims, text: &str) -> Result<DimId, String> {
    dims.parse(text.trim()).map_err(|error| format!("`{}`: {error}", text.trim()))
}
