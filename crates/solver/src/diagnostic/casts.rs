//! Conversions and operator-set versions that repair an element type.

use typeloom_types::dtype::DtypeClass;

use super::{Diagnostic, Fix, Safety, Scope, clip};
use crate::catalogue::Lookup;
use crate::elem::{Elem, ElemSet};
use crate::program::StepId;
use crate::rule::Port;
use crate::signature::FormalType;
use crate::solution::Type;

/// Number of newer operator-set versions that are searched.
const VERSIONS_AHEAD: i64 = 32;

/// The smallest width of a float.
const FIRST_FLOAT: u32 = 128;

impl Scope<'_, '_> {
    /// The input that contradicts the rest of the model, with the element type of the other one.
    pub(super) fn contradicting_input(
        &self,
        step: StepId,
        left: (Port, &Type),
        right: (Port, &Type),
    ) -> Option<(Port, Elem)> {
        let culprit = *self.frame.rare.culprits.get(&self.body().first_step(step))?;
        let [(port, from), (_, to)] =
            if self.value(step, left.0) == Some(culprit) { [left, right] } else { [right, left] };
        width(single(from)?)?;
        let to = single(to)?;
        width(to)?;
        (self.value(step, port) == Some(culprit)).then_some((port, to))
    }

    pub(super) fn with_cast(
        &self,
        diagnostic: Diagnostic,
        step: StepId,
        port: Port,
        to: Elem,
        newer: Option<i64>,
    ) -> Diagnostic {
        let (Port::In(input), Some(value)) = (port, self.value(step, port)) else { return diagnostic };
        let (value, to) =
            (self.body().value_name(value).to_owned(), self.core.types.universe().elem_name(to).to_owned());
        let cast = format!("insert Cast({}, to={to}) before this node", clip(&value, 64));
        let help = match newer {
            Some(version) => format!("{cast}, or import opset {version}, which takes the type as it is"),
            None => cast,
        };
        diagnostic
            .with_help(help)
            .with_fix(Fix::InsertCast { input, value, to, readers: Vec::new() }, Safety::Safe)
    }

    pub(super) fn with_opset(
        &self,
        diagnostic: Diagnostic,
        step: StepId,
        version: i64,
        shown: &str,
    ) -> Diagnostic {
        let help = format!("import opset {version}, where it is {shown} as well");
        self.with_import(diagnostic.with_help(help), step, version)
    }

    /// The first newer version of the operator that allows a type at a port.
    pub(super) fn newer_version_allows(&self, step: StepId, port: Port, found: &Type) -> Option<i64> {
        if !self.explains() {
            return None;
        }
        let op = self.op(step);
        let Type::Tensor(tensor) = found else { return None };
        let imported = self.operators.imported(op)?;
        let allows = |version: i64| {
            let Lookup::Found(operator) = self.operators.in_version(op, version) else { return None };
            let schema = operator.schema;
            let allowed = schema.formal(port).is_some_and(|formal| match formal.ty {
                FormalType::Tensor(elem) => tensor.elem.contains(elem),
                FormalType::Var(variable) => {
                    let allowed = &schema.type_vars[usize::from(variable)].allowed;
                    !allowed.tensor.intersect(tensor.elem).is_empty()
                }
            });
            Some((allowed, i64::from(schema.since_version) == version))
        };
        // If the signature already allows the type, a rule rejects it, and newer versions do not relax rules.
        if allows(imported).is_some_and(|(allowed, _)| allowed) {
            return None;
        }
        (1..=VERSIONS_AHEAD)
            .filter_map(|ahead| imported.checked_add(ahead))
            .find(|version| allows(*version) == Some((true, true)))
    }
}

pub(super) fn is_tensor(ty: &Type) -> bool {
    matches!(ty, Type::Tensor(_))
}

/// The input to convert, and its new type: the input whose values the other's type can represent.
pub(super) fn best_cast(left: (Port, &Type), right: (Port, &Type)) -> Option<(Port, Elem)> {
    let (a, b) = (single(left.1)?, single(right.1)?);
    let (narrow_a, narrow_b) = (width(a)?, width(b)?);
    let candidates =
        if narrow_a < narrow_b { [(left.0, b), (right.0, a)] } else { [(right.0, a), (left.0, b)] };
    candidates.into_iter().find(|(port, _)| matches!(port, Port::In(_)))
}

/// The element type of `allowed` to convert a tensor to.
pub(super) fn cast_into(found: &Type, allowed: ElemSet) -> Option<Elem> {
    const INTEGERS_FIRST: [Elem; 6] =
        [Elem::INT64, Elem::INT32, Elem::FLOAT, Elem::DOUBLE, Elem::FLOAT16, Elem::BOOL];
    const FLOATS_FIRST: [Elem; 6] =
        [Elem::FLOAT, Elem::DOUBLE, Elem::FLOAT16, Elem::INT64, Elem::INT32, Elem::BOOL];
    let from = single(found)?;
    let order = if width(from)? < FIRST_FLOAT { INTEGERS_FIRST } else { FLOATS_FIRST };
    order
        .into_iter()
        .find(|to| allowed.contains(*to))
        .or_else(|| allowed.single().filter(|to| width(*to).is_some()))
}

/// Whether a conversion is one of floats to integers or bools.
pub(super) fn drops_fractions(found: &Type, to: Elem) -> bool {
    let is_float = |elem: Elem| width(elem).is_some_and(|width| width >= FIRST_FLOAT);
    single(found).is_some_and(is_float) && !is_float(to)
}

fn single(ty: &Type) -> Option<Elem> {
    if let Type::Tensor(tensor) = ty { tensor.elem.single() } else { None }
}

/// Rank of a numeric element type by the range of its values, to choose a conversion that loses little.
fn width(elem: Elem) -> Option<u32> {
    let dtype = elem.dtype()?;
    let bits = dtype.size_bits()?;
    match dtype.class() {
        DtypeClass::Bool => Some(0),
        DtypeClass::SignedInt | DtypeClass::UnsignedInt => Some(bits),
        DtypeClass::Float => Some(FIRST_FLOAT + bits),
        DtypeClass::Complex | DtypeClass::String => None,
    }
}
