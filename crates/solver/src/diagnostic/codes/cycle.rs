//! Diagnostic code `cycle`.

use crate::diagnostic::{Code, Diagnostic, Location, Mark, Scope, arrow_list};
use crate::program::{StepId, ValueId};

super::code!("cycle", Error, "nodes wait for each other");

/// The maximum number of printed nodes of a cycle.
const MAX_NODES: usize = 8;

impl Scope<'_, '_> {
    /// Nodes wait for each other.
    pub(crate) fn cycle(&self, steps: &[(StepId, ValueId)]) -> Diagnostic {
        // From the node that comes first in the file, in the direction in which values flow.
        let start = steps.iter().enumerate().min_by_key(|(_, (step, _))| *step).map_or(0, |(at, _)| at);
        let cycle: Vec<(StepId, ValueId)> = steps[start..].iter().chain(&steps[..start]).copied().collect();
        let Some((first, _)) = cycle.first().copied() else {
            return Diagnostic::new(Code::Cycle, "nodes wait for each other".to_owned(), Location::default());
        };
        let flow = cycle.iter().skip(1).rev().map(|(step, _)| *step);
        let names: Vec<String> =
            [first].into_iter().chain(flow).chain([first]).map(|step| self.node_text(step)).collect();
        let message = match cycle.len() {
            1 => format!("{} waits for its own output {}", self.node_text(first), self.name(cycle[0].1)),
            _ => format!("nodes wait for each other: {}", arrow_list(&names, 0)),
        };
        let snippets: Vec<_> = cycle
            .iter()
            .enumerate()
            .take(MAX_NODES)
            .filter_map(|(at, (step, value))| {
                let (next, _) = cycle[(at + 1) % cycle.len()];
                let text = format!("waits for {}", self.node_text(next));
                let mark = Mark { part: self.input_part(*step, *value), text, primary: at == 0 };
                if at == 0 { self.snippet(*step, &[mark]) } else { self.other_snippet(*step, &[mark]) }
            })
            .collect();
        let hidden = cycle.len().saturating_sub(MAX_NODES);
        Diagnostic::new(Code::Cycle, message, self.location_of_step(first))
            .with_snippets(snippets)
            .with_notes((hidden > 0).then(|| format!("{hidden} more nodes are part of the cycle")))
    }
}

#[cfg(test)]
mod tests {
    use crate::diagnostic::tests::reports;

    #[test]
    fn a_node_does_not_wait_for_itself() {
        let model = "g (float[3] x) => (y) { [self] y = Add(x, y) }";
        let expected = ["error[cycle]: `self` waits for its own output `y`"];
        assert_eq!(reports(model), expected);
    }
}
