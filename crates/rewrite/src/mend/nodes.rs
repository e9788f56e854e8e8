//! Application of the fixes of nodes and imports that diagnostics propose.
//!
//! One round applies the safe fixes of all nodes at once. If the result is not as expected, they are tried
//! one by one.

use std::collections::HashSet;

use typeloom_solver::diagnostic::{Diagnostic, Fix, Location, Safety, diagnose, text};
use typeloom_solver::model::Checked;

use super::{AppliedFix, Mended};
use crate::Settings;
use crate::advise::{DiagnosticKeys, FixEffect, alternative, diagnosed, effect, keys, repair_of_model};
use crate::apply::{Edited, apply};
use crate::coerce::{RepairError, graph_text};
use crate::safety::Withheld;

/// The maximum number of fixes that are tried one by one.
const MAX_TRIED: usize = 64;

/// Applies the fixes of one check; `None` if there are none that work.
pub(super) fn repair(
    bytes: &[u8],
    settings: Settings<'_>,
    applied: Safety,
    mended: &mut Mended,
) -> Result<Option<Vec<u8>>, RepairError> {
    let mut checked: Checked<'_> = settings.check(bytes)?;
    if !checked.has_findings() {
        return Ok(None);
    }
    let diagnostics = diagnose(&mut checked);
    drop(checked);
    let (permitted, unsafe_ones): (Vec<_>, Vec<_>) = diagnostics
        .iter()
        .filter_map(|diagnostic| Some((diagnostic, diagnostic.fix.as_ref().filter(|fix| is_of_node(fix))?)))
        .partition(|(diagnostic, _)| diagnostic.safety <= applied);
    let before = keys(&diagnostics);
    let found = together(bytes, &permitted, &before, settings)
        .or_else(|| permitted.iter().take(MAX_TRIED).find_map(|fix| alone(bytes, *fix, &before, settings)));
    let Some((edited, used)) = found else {
        for (diagnostic, fix) in unsafe_ones {
            let Location { function, graph, .. } = &diagnostic.location;
            let withheld =
                Withheld { graph: graph_text(function.as_deref(), graph), repair: change(diagnostic, fix) };
            let works = || alone(bytes, (diagnostic, fix), &before, settings).is_some();
            if !mended.withheld.contains(&withheld) && mended.withheld.len() < MAX_TRIED && works() {
                mended.withheld.push(withheld);
            }
        }
        return Ok(None);
    };
    for (diagnostic, fix) in used {
        let Location { function, graph, .. } = &diagnostic.location;
        let graph = graph_text(function.as_deref(), graph);
        mended.fixed.push(AppliedFix { graph, change: change(diagnostic, fix) });
    }
    mended.hunks.extend(edited.hunks);
    Ok(Some(edited.file))
}

/// A diagnostic with its fix.
type Proposal<'d> = (&'d Diagnostic, &'d Fix);

/// Applies all safe fixes, each at a node of its own; imports come first, because they decide about nodes.
fn together<'d>(
    bytes: &[u8],
    proposals: &[Proposal<'d>],
    before: &DiagnosticKeys,
    settings: Settings<'_>,
) -> Option<(Edited, Vec<Proposal<'d>>)> {
    let is_import = |fix: &Fix| matches!(fix, Fix::ImportOpset { .. });
    let has_imports = proposals.iter().any(|(_, fix)| is_import(fix));
    let mut sites = HashSet::new();
    let mut chosen: Vec<Proposal<'d>> = proposals
        .iter()
        .copied()
        .filter(|(diagnostic, fix)| diagnostic.safety == Safety::Safe && is_import(fix) == has_imports)
        .filter(|(diagnostic, fix)| sites.insert(site(diagnostic, fix)))
        .collect();
    if chosen.is_empty() {
        return None;
    }
    chosen.sort_by_key(|(diagnostic, _)| diagnostic.location.node.as_ref().map(|node| node.index));
    let fixes: Vec<(&Location, &Fix)> = chosen.iter().map(|(of, fix)| (&of.location, *fix)).collect();
    let edited = apply(bytes, &fixes)?;
    let after = diagnosed(&edited.file, settings);
    let is_removed =
        |(diagnostic, _): &Proposal<'_>| effect(after.as_ref(), diagnostic, before) != FixEffect::Fails;
    chosen.iter().all(is_removed).then_some((edited, chosen))
}

/// Applies one fix, or its alternative. An unsafe one may reveal no other diagnostic.
fn alone<'d>(
    bytes: &[u8],
    (diagnostic, fix): Proposal<'d>,
    before: &DiagnosticKeys,
    settings: Settings<'_>,
) -> Option<(Edited, Vec<Proposal<'d>>)> {
    [Some(fix.clone()), alternative(fix)].into_iter().flatten().find_map(|form| {
        let edited = apply(bytes, &[(&diagnostic.location, &form)])?;
        let works = match effect(diagnosed(&edited.file, settings).as_ref(), diagnostic, before) {
            FixEffect::Works => true,
            FixEffect::Uncovers => diagnostic.safety == Safety::Safe,
            FixEffect::Fails => false,
        };
        works.then(|| (edited, vec![(diagnostic, fix)]))
    })
}

/// The part of the model that a fix changes: an import, or a node.
fn site(diagnostic: &Diagnostic, fix: &Fix) -> (Option<String>, String, Option<usize>) {
    let Location { function, graph, node, .. } = &diagnostic.location;
    match fix {
        Fix::ImportOpset { domain, .. } => (function.clone(), domain.clone(), None),
        _ => (function.clone(), graph.to_string(), node.as_ref().map(|node| node.index)),
    }
}

/// Whether a fix changes a node, an import or an output. Casts are [chosen together](crate::coerce), and the
/// fixes of a whole model are repairs of their own.
fn is_of_node(fix: &Fix) -> bool {
    repair_of_model(fix).is_none() && !matches!(fix, Fix::InsertCast { .. })
}

/// A fix as text, with the node that it changes.
fn change(diagnostic: &Diagnostic, fix: &Fix) -> String {
    let quote = text::quote;
    let change = match fix {
        Fix::RenameInput { to, .. } => format!("read {}", quote(to)),
        Fix::RenameOperator { to } => format!("use {}", quote(to)),
        Fix::RenameAttribute { from, to } => format!("rename {} to {}", quote(from), quote(to)),
        Fix::RemoveAttribute { name } => format!("remove {}", quote(name)),
        Fix::SetAttribute { name, value } => format!("set {} to {value}", quote(name)),
        Fix::PassAsInputs { ports } => {
            let names: Vec<String> = ports.iter().map(|port| quote(&port.attribute)).collect();
            let noun = if names.len() == 1 { "an input" } else { "inputs" };
            format!("pass {} as {noun}", text::list(&names, "and"))
        }
        Fix::PassAsAttributes { ports } => {
            let names: Vec<String> = ports.iter().map(|port| quote(&port.attribute)).collect();
            let noun = if names.len() == 1 { "an attribute" } else { "attributes" };
            format!("pass {} as {noun}", text::list(&names, "and"))
        }
        Fix::UnsqueezeInput { value, .. } => format!("give {} an axis", quote(value)),
        Fix::ImportOpset { domain, version } if domain.is_empty() => {
            return format!("import opset {version}");
        }
        Fix::ImportOpset { domain, version } => return format!("import {} {version}", quote(domain)),
        Fix::RenameOutput { from, to } => {
            return format!("use {} as output instead of {}", quote(to), quote(from));
        }
        Fix::InsertCast { .. }
        | Fix::SortNodes
        | Fix::CorrectDeclarations
        | Fix::DropRepetitions
        | Fix::DropShapes
        | Fix::DropDims
        | Fix::RenameDims => String::new(),
    };
    match &diagnostic.location.node {
        Some(node) if node.name.is_empty() => {
            format!("{} (#{}): {change}", quote(&node.operator), node.index)
        }
        Some(node) => format!("{}: {change}", quote(&node.name)),
        None => change,
    }
}
