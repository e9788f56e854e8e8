//! Verification of the fixes of diagnostics: each fix is applied to a copy of the model, and the copy is
//! checked.
//!
//! The solver proposes a fix for some kinds of errors. For element types, the conversion that
//! [`repair`](crate::coerce::repair) inserts at the node is tried first. A fix is kept if it alone removes
//! the diagnostic and causes no other. If it removes the diagnostic and reveals others, the [`Fix`] is
//! dropped and the help is kept. If it does not remove the diagnostic, both are dropped. A conversion that
//! changes stored integers is unsafe, and the help names the change instead.
//!
//! Copies are made of the *skeleton* of a model, in which references to a file replace large payloads,
//! because no check reads them. The cost is a few checks of the graph, and only for models with diagnostics.
//!
//! Limits: fixes are tried for the first `MAX_TRIED` diagnostics, and after the first `MIN_TRIED` only while
//! all copies together have less than `MAX_BYTES`. Further diagnostics lose their fix and keep their help.

use std::collections::BTreeMap;
use std::sync::Arc;

use typeloom_onnx::DecodeError;
use typeloom_onnx::messages::{ModelProto, metadata_entry};
use typeloom_onnx::splice::{Records, Splice};
use typeloom_onnx::view::ModelView;
use typeloom_onnx::wire::WireValue;
use typeloom_solver::catalogue::Catalogue;
use typeloom_solver::diagnostic::{
    AttributeAsInput, Code, Diagnostic, Fix, Location, NodeLocation, Reader, Safety, diagnose,
};
use typeloom_solver::model::{Checked, Options};
use typeloom_solver::universe::Universe;

use crate::Settings;
use crate::apply::apply;
use crate::coerce::{Cast, CastUse, LossKind, LossOfKind, Preferences, converted};
use crate::mend::{Repairs, mend};

/// The maximum number of diagnostics whose fixes are tried.
const MAX_TRIED: usize = 64;

/// The number of diagnostics whose fixes are tried regardless of the size of the model.
const MIN_TRIED: usize = 4;

/// The maximum number of checked bytes in all copies.
const MAX_BYTES: usize = 1 << 21;

/// The minimum length in bytes of payloads that a skeleton replaces.
const LARGE: usize = 1 << 16;

/// Returns the diagnostics of a checked model with tested fixes: applying one removes its diagnostic and adds
/// no other.
///
/// `bytes` is the model that was checked, with the same operators, type tree and options.
pub fn advised(
    bytes: &[u8],
    checked: &mut Checked<'_>,
    catalogue: &dyn Catalogue,
    universe: &Arc<Universe>,
    options: &Options,
) -> Vec<Diagnostic> {
    let mut diagnostics = diagnose(checked);
    advise(bytes, &mut diagnostics, catalogue, universe, options);
    diagnostics
}

/// Tries the fixes of diagnostics of a serialized model, and removes those that do not work.
pub fn advise(
    bytes: &[u8],
    diagnostics: &mut [Diagnostic],
    catalogue: &dyn Catalogue,
    universe: &Arc<Universe>,
    options: &Options,
) {
    if diagnostics.iter().all(|diagnostic| diagnostic.fix.is_none()) {
        return;
    }
    let settings = Settings { catalogue, universe, options };
    let Ok(skeleton) = skeleton(bytes) else {
        diagnostics.iter_mut().for_each(|diagnostic| diagnostic.fix = None);
        return;
    };
    let has_casts = diagnostics.iter().any(|diagnostic| diagnostic.fix.is_some() && is_of_types(diagnostic));
    let casts = if has_casts { planned_casts(&skeleton, settings) } else { Vec::new() };
    // The results of fixes that do not depend on a location.
    let mut of_model: Vec<(Fix, Option<DiagnosticKeys>)> = Vec::new();
    let before = keys(diagnostics);
    let mut left = MAX_BYTES;
    for (at, diagnostic) in diagnostics.iter_mut().enumerate() {
        let Some(own) = diagnostic.fix.take() else { continue };
        if at >= MAX_TRIED || (at >= MIN_TRIED && left < skeleton.len()) {
            continue;
        }
        let planned = planned(diagnostic, &casts).filter(|planned| *planned != own);
        let proposals = planned.into_iter().chain([own.clone()]).chain(alternative(&own));
        let mut resolved = false;
        for fix in proposals {
            let known = of_model.iter().find(|(known, _)| *known == fix).map(|(_, after)| after.clone());
            let after = known.unwrap_or_else(|| {
                left = left.saturating_sub(skeleton.len());
                let applied = applied(&skeleton, diagnostic, &fix, (catalogue, universe, options));
                let after = applied.and_then(|fixed| diagnosed(&fixed, settings));
                if repair_of_model(&fix).is_some() {
                    of_model.push((fix.clone(), after.clone()));
                }
                after
            });
            match effect(after.as_ref(), diagnostic, &before) {
                FixEffect::Works => {
                    if fix != own
                        && let Fix::InsertCast { value, to, .. } = &fix
                    {
                        diagnostic.help = Some(format!("insert Cast({value}, to={to}) before this node"));
                    }
                    if let Some(loss) = loss(&fix, &casts) {
                        diagnostic.help = Some(loss);
                        diagnostic.safety = Safety::Unsafe;
                    }
                    diagnostic.fix = Some(fix);
                    break;
                }
                FixEffect::Uncovers => resolved |= fix == own,
                FixEffect::Fails => {}
            }
        }
        if diagnostic.fix.is_none() && !resolved {
            diagnostic.help = None;
        }
    }
}

/// The conversions that a repair of the model inserts, among them unsafe ones if there are no others.
fn planned_casts(bytes: &[u8], settings: Settings<'_>) -> Vec<Cast> {
    let repaired = |applied| {
        let preferences = Preferences { applied, ..Preferences::default() };
        converted(bytes, settings, preferences, Repairs::Exporters).unwrap_or_default()
    };
    let safe = repaired(Safety::Safe);
    if safe.withheld.is_empty() { safe.casts } else { repaired(Safety::Unsafe).casts }
}

/// The help for a conversion that changes stored integers, which a repair does not insert by itself.
fn loss(fix: &Fix, casts: &[Cast]) -> Option<String> {
    let Fix::InsertCast { value, to, .. } = fix else { return None };
    let is_it = |cast: &&Cast| cast.input == *value && cast.to.onnx_name() == Some(to);
    let mut changes =
        casts.iter().filter(is_it).filter_map(|cast| cast.loss.as_ref()).flat_map(|it| &it.changes);
    let LossOfKind { from, to: becomes, .. } = changes.find(|change| change.kind == LossKind::Wrapped)?;
    Some(format!(
        "correct the elements or the type of `{value}`: in Cast({value}, to={to}) {from} becomes {becomes}"
    ))
}

/// Effect of a fix.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FixEffect {
    /// The diagnostic is removed, and no other is caused.
    Works,
    /// The diagnostic is removed, and another one is revealed.
    Uncovers,
    /// The diagnostic remains, or the fix cannot be applied.
    Fails,
}

/// Applies the fix of a diagnostic to a model; `None` if it cannot be applied.
#[must_use]
pub fn applied(
    bytes: &[u8],
    diagnostic: &Diagnostic,
    fix: &Fix,
    (catalogue, universe, options): (&dyn Catalogue, &Arc<Universe>, &Options),
) -> Option<Vec<u8>> {
    match repair_of_model(fix) {
        Some(code) => mend(bytes, catalogue, universe, options, Repairs::Only(code), Safety::Safe).ok()?.file,
        None => Some(apply(bytes, &[(&diagnostic.location, fix)])?.file),
    }
}

/// Another form of a fix: an integer that becomes an input is a scalar for some operators, and a list of one
/// for others.
pub(crate) fn alternative(fix: &Fix) -> Option<Fix> {
    let Fix::PassAsInputs { ports } = fix else { return None };
    let as_list = |port: &AttributeAsInput| AttributeAsInput { is_list: true, ..port.clone() };
    let lists = Fix::PassAsInputs { ports: ports.iter().map(as_list).collect() };
    (lists != *fix).then_some(lists)
}

/// The kind of diagnostic that a fix repairs in the whole model, independent of the location of its
/// diagnostic; `None` for a fix of one location.
pub(crate) fn repair_of_model(fix: &Fix) -> Option<Code> {
    match fix {
        Fix::SortNodes => Some(Code::NodeOrder),
        Fix::DropShapes => Some(Code::EmptyShape),
        Fix::DropDims => Some(Code::NegativeDim),
        Fix::RenameDims => Some(Code::PlaceholderDim),
        Fix::CorrectDeclarations => Some(Code::DeclaredTypeContradiction),
        Fix::DropRepetitions => Some(Code::DuplicateValue),
        Fix::InsertCast { .. }
        | Fix::RenameInput { .. }
        | Fix::RenameOperator { .. }
        | Fix::RenameAttribute { .. }
        | Fix::RemoveAttribute { .. }
        | Fix::SetAttribute { .. }
        | Fix::PassAsInputs { .. }
        | Fix::PassAsAttributes { .. }
        | Fix::UnsqueezeInput { .. }
        | Fix::ImportOpset { .. }
        | Fix::RenameOutput { .. } => None,
    }
}

/// The diagnostics of a model; `None` if it cannot be checked.
pub(crate) fn diagnosed(bytes: &[u8], settings: Settings<'_>) -> Option<DiagnosticKeys> {
    Some(keys(&diagnose(&mut settings.check(bytes).ok()?)))
}

/// The effect of a fix, given the diagnostics after it; `None` if it cannot be applied.
pub(crate) fn effect(
    after: Option<&DiagnosticKeys>,
    diagnostic: &Diagnostic,
    before: &DiagnosticKeys,
) -> FixEffect {
    let Some(after) = after else { return FixEffect::Fails };
    let key = key(diagnostic);
    let count = |of: &DiagnosticKeys, key: &DiagnosticKey| of.get(key).copied().unwrap_or(0);
    if count(after, &key) >= count(before, &key) {
        return FixEffect::Fails;
    }
    let is_known = |(key, found): (&DiagnosticKey, &usize)| *found <= count(before, key);
    if after.iter().all(is_known) { FixEffect::Works } else { FixEffect::Uncovers }
}

/// Identity of a diagnostic in two versions of a model, in which positions of nodes can differ.
type DiagnosticKey = (Code, String);

/// The number of diagnostics with each key.
pub(crate) type DiagnosticKeys = BTreeMap<DiagnosticKey, usize>;

fn key(diagnostic: &Diagnostic) -> DiagnosticKey {
    let mut text = String::with_capacity(diagnostic.message.len());
    let mut after_number_sign = false;
    for letter in diagnostic.message.chars() {
        if after_number_sign && letter.is_ascii_digit() {
            continue;
        }
        after_number_sign = letter == '#';
        text.push(letter);
    }
    (diagnostic.code, text)
}

pub(crate) fn keys(diagnostics: &[Diagnostic]) -> DiagnosticKeys {
    let mut keys = BTreeMap::new();
    for diagnostic in diagnostics {
        *keys.entry(key(diagnostic)).or_insert(0) += 1;
    }
    keys
}

fn is_of_types(diagnostic: &Diagnostic) -> bool {
    matches!(diagnostic.code, Code::ElementTypeMismatch | Code::ElementTypeNotAllowed | Code::TypeMismatch)
}

/// The conversion that a repair inserts for the node of a diagnostic.
fn planned(diagnostic: &Diagnostic, casts: &[Cast]) -> Option<Fix> {
    let location = &diagnostic.location;
    let node = location.node.as_ref()?.index;
    if !is_of_types(diagnostic) || location.function.is_some() {
        return None;
    }
    let is_own = |it: &&CastUse| it.function.is_none() && it.graph == location.graph && it.node == Some(node);
    let here = |cast: &&Cast| cast.like.is_none() && cast.uses.iter().any(|it| is_own(&it));
    let mut found = casts.iter().filter(here);
    let cast = found.next()?;
    // Several conversions at one node: one of them alone does not remove the diagnostic.
    if found.next().is_some() || cast.uses.iter().any(|it| it.node.is_none()) {
        return None;
    }
    let own = cast.uses.iter().find(is_own)?;
    let others = cast.uses.iter().filter(|it| *it != own).filter_map(|it| {
        let node = NodeLocation {
            index: it.node?,
            name: String::new(),
            operator: it.operator.clone(),
            output: None,
        };
        let location = Location {
            function: it.function.clone(),
            graph: it.graph.clone(),
            node: Some(node),
            ..Location::default()
        };
        Some(Reader { location, input: it.at })
    });
    Some(Fix::InsertCast {
        input: own.at,
        value: cast.input.clone(),
        to: cast.to.onnx_name()?.to_owned(),
        readers: others.collect(),
    })
}

/// The model without large payloads.
fn skeleton(bytes: &[u8]) -> Result<Vec<u8>, DecodeError> {
    const RAW_DATA: u32 = 9;
    const EXTERNAL_DATA: u32 = 13;
    const DATA_LOCATION: u32 = 14;
    const EXTERNAL: i64 = 1;
    let mut splice = Splice::new::<ModelProto>(bytes);
    let model = ModelView::new(bytes)?;
    if let Some(graph) = model.graph() {
        for tensor in graph.initializers() {
            let tensor = tensor?;
            for field in tensor.wire_fields() {
                let field = field?;
                if let (RAW_DATA, WireValue::Len(data, _)) = (field.number, field.value)
                    && data.len() >= LARGE
                {
                    let entry = metadata_entry("location", "payload");
                    let records = Records::new().message(EXTERNAL_DATA, &entry).int(DATA_LOCATION, EXTERNAL);
                    splice.replace(tensor.offset(), &field, records);
                }
            }
        }
    }
    // The edits refer to records read from these bytes, so they cannot fail.
    Ok(splice.finish().map_or_else(|_| bytes.to_vec(), |spliced| spliced.to_vec()))
}
