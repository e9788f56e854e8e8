//! Nodes that stand in the wrong order, or in a circle.

use super::node::{Mark, Part};
use super::scope::Scope;
use super::words::{arrows, count};
use super::{Code, Diagnostic, Fix};
use crate::program::{StepId, ValueId};

/// The most nodes of a cycle that are printed.
const MAX_NODES: usize = 8;

impl Scope<'_, '_> {
    /// Nodes are not in topological order: a node stands before the node whose result it reads.
    pub(super) fn node_order(
        &self,
        step: StepId,
        (value, input): (ValueId, usize),
        maker: StepId,
        others: usize,
    ) -> Diagnostic {
        let (name, maker_word) = (self.name(value), self.node_word(maker));
        let mut message = format!("{} reads {name} before {maker_word} makes it", self.op_word(step));
        if others > 0 {
            message.push_str(&format!(", and {} out of order", are(others)));
        }
        let reader = self.snippet(step, &[Mark::primary(Part::Input(input), "not made yet")]);
        let part = self.output_part(maker, value);
        let made = self.other_snippet(maker, &[Mark::context(part, "made here")]);
        Diagnostic::new(Code::NodeOrder, message, self.location_of_step(step))
            .with_snippets(reader)
            .with_snippets(made)
            .with_help("sort the nodes; `typeloom fix` does".to_owned())
            .with_fix(Fix::SortNodes)
    }

    /// Nodes wait for each other.
    pub(super) fn cycle(&self, steps: &[(StepId, ValueId)]) -> Diagnostic {
        // From the node that comes first in the file, in the direction in which values flow.
        let start = steps.iter().enumerate().min_by_key(|(_, (step, _))| *step).map_or(0, |(at, _)| at);
        let turn: Vec<(StepId, ValueId)> = steps[start..].iter().chain(&steps[..start]).copied().collect();
        let Some((first, _)) = turn.first().copied() else {
            return Diagnostic::new(
                Code::Cycle,
                "nodes wait for each other".to_owned(),
                super::Location::default(),
            );
        };
        let flow = turn.iter().skip(1).rev().map(|(step, _)| *step);
        let names: Vec<String> =
            [first].into_iter().chain(flow).chain([first]).map(|step| self.node_word(step)).collect();
        let message = match turn.len() {
            1 => format!("{} waits for its own output {}", self.node_word(first), self.name(turn[0].1)),
            _ => format!("nodes wait for each other: {}", arrows(&names, 0)),
        };
        let snippets: Vec<_> = turn
            .iter()
            .enumerate()
            .take(MAX_NODES)
            .filter_map(|(at, (step, value))| {
                let (next, _) = turn[(at + 1) % turn.len()];
                let text = format!("waits for {}", self.node_word(next));
                let mark = Mark { part: self.input_part(*step, *value), text, primary: at == 0 };
                if at == 0 { self.snippet(*step, &[mark]) } else { self.other_snippet(*step, &[mark]) }
            })
            .collect();
        let hidden = turn.len().saturating_sub(MAX_NODES);
        Diagnostic::new(Code::Cycle, message, self.location_of_step(first))
            .with_snippets(snippets)
            .with_notes((hidden > 0).then(|| format!("{hidden} more nodes are part of the cycle")))
    }

    fn input_part<'n>(&self, step: StepId, value: ValueId) -> Part<'n> {
        let body = self.body();
        let at = body.inputs(body.first_step(step)).iter().position(|input| *input == Some(value));
        at.map_or(Part::Operator, Part::Input)
    }

    /// The part of a node that makes a value.
    pub(super) fn output_part<'n>(&self, step: StepId, value: ValueId) -> Part<'n> {
        let body = self.body();
        let at = body.outputs(body.last_step(step)).iter().position(|output| *output == Some(value));
        at.map_or(Part::Operator, Part::Output)
    }
}

/// `1 more node is`, `2 more nodes are`.
fn are(others: usize) -> String {
    format!("{} {}", count(others, "more node"), if others == 1 { "is" } else { "are" })
}
