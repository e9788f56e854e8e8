//! Element types and kinds of types: ports that must agree, ports that must be something.

use typeloom_types::dtype::DtypeClass;

use super::scope::Scope;
use super::words;
use super::{Code, Diagnostic, Fix};
use crate::catalogue::Lookup;
use crate::elem::{Elem, ElemSet};
use crate::program::StepId;
use crate::rule::Port;
use crate::signature::{AllowedTypes, FormalType};
use crate::solution::Type;

/// How many versions ahead an operator set is searched for one that takes a type.
const VERSIONS_AHEAD: i64 = 32;

impl Scope<'_, '_> {
    /// Two ports must have one type, and do not.
    pub(super) fn types_differ(
        &mut self,
        step: StepId,
        left: (Port, &Type),
        right: (Port, &Type),
        notes: Vec<String>,
    ) -> Diagnostic {
        let cast = self.odd_one_out(step, left, right).or_else(|| cast(left, right));
        let code = if is_tensor(left.1) && is_tensor(right.1) {
            Code::ElementTypeMismatch
        } else {
            Code::TypeMismatch
        };
        let (mut a, mut b) = (self.show_elem(left.1), self.show_elem(right.1));
        if code == Code::TypeMismatch || a == b {
            (a, b) = (self.show(left.1), self.show(right.1));
        }
        let need = if code == Code::ElementTypeMismatch { "one element type" } else { "one type" };
        let message = format!(
            "{} needs {need}, but {} is {a} and {} is {b}",
            self.op_word(step),
            self.port_word(step, left.0),
            self.port_word(step, right.0)
        );
        let left_is_culprit = cast.is_some_and(|(port, _)| port == left.0);
        let marks =
            [self.mark(step, left.0, &a, left_is_culprit), self.mark(step, right.0, &b, !left_is_culprit)];
        let diagnostic = Diagnostic::new(code, message, self.location_of_step(step))
            .with_snippets(self.snippet(step, &marks))
            .with_notes(notes);
        match cast {
            Some((port, to)) => self.with_cast(diagnostic, step, port, to, None),
            None => diagnostic,
        }
    }

    /// A port has a type that the declared signature does not allow.
    pub(super) fn not_allowed(
        &mut self,
        step: StepId,
        port: Port,
        found: &Type,
        allowed: &AllowedTypes,
        notes: Vec<String>,
    ) -> Diagnostic {
        let universe = std::sync::Arc::clone(self.core.types.universe());
        let right_kind = match found {
            Type::Tensor(_) => !allowed.tensor.is_empty(),
            Type::Sequence(inner) => is_tensor(inner) && !allowed.seq_tensor.is_empty(),
            Type::Optional(inner) => match &**inner {
                Type::Tensor(_) => !allowed.opt_tensor.is_empty(),
                Type::Sequence(_) => !allowed.opt_seq_tensor.is_empty(),
                _ => false,
            },
            Type::Unknown(_)
            | Type::Sparse(_)
            | Type::Scalar(_)
            | Type::Map(..)
            | Type::Leaf(_)
            | Type::Error => false,
        };
        let code = if right_kind { Code::ElementTypeNotAllowed } else { Code::TypeMismatch };
        let shown = if right_kind { self.show_elem(found) } else { self.show(found) };
        let takes = match allowed {
            AllowedTypes { tensor, .. } if right_kind && is_tensor(found) => words::elems(&universe, *tensor),
            AllowedTypes { .. } => words::allowed(&universe, allowed),
        };
        let takes =
            if is_tensor_only(allowed) && !right_kind { format!("a tensor of {takes}") } else { takes };
        let verb = match port {
            Port::In(_) | Port::BodyOut(..) => "takes",
            Port::Out(_) | Port::BodyIn(..) => "gives",
        };
        let formal =
            self.formal(step, port).map(|name| format!(" for {}", words::tick(name))).unwrap_or_default();
        let message = format!(
            "{} {verb} {takes}{formal}, but {} is {shown}",
            self.op_word(step),
            self.port_word(step, port)
        );
        let mark = self.mark(step, port, &shown, true);
        let diagnostic = Diagnostic::new(code, message, self.location_of_step(step))
            .with_snippets(self.snippet(step, &[mark]))
            .with_notes(notes);
        let newer = self.newer_version_allows(step, port, found);
        match (cast_into(found, allowed.tensor), newer) {
            (Some(to), newer) if matches!(port, Port::In(_)) => {
                self.with_cast(diagnostic, step, port, to, newer)
            }
            (_, Some(version)) => self.with_opset(diagnostic, step, version, &shown),
            (_, None) => diagnostic,
        }
    }

    /// A rule needs other element types than a port has.
    pub(super) fn wrong_element(
        &mut self,
        step: StepId,
        port: Port,
        allowed: ElemSet,
        notes: Vec<String>,
    ) -> Diagnostic {
        let found = self.port_type(step, port);
        let allowed = AllowedTypes { tensor: allowed, ..AllowedTypes::default() };
        self.not_allowed(step, port, &found, &allowed, notes)
    }

    /// A rule needs another kind of type than a port has.
    pub(super) fn wrong_kind(
        &mut self,
        step: StepId,
        port: Port,
        expected: &str,
        notes: Vec<String>,
    ) -> Diagnostic {
        let found = self.port_type(step, port);
        let shown = self.show(&found);
        let (op, name) = (self.op_word(step), self.port_word(step, port));
        let message = format!("{op} needs {expected}, but {name} is {shown}");
        let mark = self.mark(step, port, &shown, true);
        Diagnostic::new(Code::TypeMismatch, message, self.location_of_step(step))
            .with_snippets(self.snippet(step, &[mark]))
            .with_notes(notes)
    }

    /// The input that the rest of the model speaks against, with the element type of the other one.
    fn odd_one_out(&self, step: StepId, left: (Port, &Type), right: (Port, &Type)) -> Option<(Port, Elem)> {
        let culprit = *self.frame.culprits.get(&self.body().first_step(step))?;
        let [(port, from), (_, to)] =
            if self.value(step, left.0) == Some(culprit) { [left, right] } else { [right, left] };
        width(single(from)?)?;
        let to = single(to)?;
        width(to)?;
        (self.value(step, port) == Some(culprit)).then_some((port, to))
    }

    fn with_cast(
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
        let cast = format!("insert Cast({}, to={to}) before this node", words::plain(&value, 64));
        let help = match newer {
            Some(version) => format!("{cast}, or import opset {version}, which takes the type as it is"),
            None => cast,
        };
        diagnostic.with_help(help).with_fix(Fix::InsertCast { input, value, to, readers: Vec::new() })
    }

    fn with_opset(&self, diagnostic: Diagnostic, step: StepId, version: i64, shown: &str) -> Diagnostic {
        let domain = self.op(step).domain.to_owned();
        diagnostic
            .with_help(format!("import opset {version}, where it is {shown} as well"))
            .with_fix(Fix::ImportOpset { domain, version })
    }

    /// The first newer version of the operator that allows a type at a port.
    fn newer_version_allows(&self, step: StepId, port: Port, found: &Type) -> Option<i64> {
        if !self.explains {
            return None;
        }
        let op = self.op(step);
        let Type::Tensor(tensor) = found else { return None };
        let imported = self.operators.imported(op)?;
        let allows = |version: i64| {
            let Lookup::Found(operator) = self.operators.in_version(op, version) else { return None };
            let schema = operator.schema;
            let formal = match port {
                Port::In(at) => schema.input(at),
                Port::Out(at) => schema.output(at),
                Port::BodyIn(..) | Port::BodyOut(..) => None,
            };
            let allowed = formal.is_some_and(|formal| match formal.ty {
                FormalType::Tensor(elem) => tensor.elem.contains(elem),
                FormalType::Var(variable) => {
                    let allowed = &schema.type_vars[usize::from(variable)].allowed;
                    !allowed.tensor.intersect(tensor.elem).is_empty()
                }
            });
            Some((allowed, i64::from(schema.since_version) == version))
        };
        // Where the signature allows it already, a rule is against it, and rules do not relax.
        if allows(imported).is_some_and(|(allowed, _)| allowed) {
            return None;
        }
        (1..=VERSIONS_AHEAD)
            .filter_map(|ahead| imported.checked_add(ahead))
            .find(|version| allows(*version) == Some((true, true)))
    }
}

fn is_tensor(ty: &Type) -> bool {
    matches!(ty, Type::Tensor(_))
}

fn is_tensor_only(allowed: &AllowedTypes) -> bool {
    let AllowedTypes { tensor, seq_tensor, opt_tensor, opt_seq_tensor, map, seq_map } = allowed;
    !tensor.is_empty()
        && [seq_tensor, opt_tensor, opt_seq_tensor].iter().all(|set| set.is_empty())
        && map.is_empty()
        && seq_map.is_empty()
}

/// Which of two inputs to convert, and to what: the one whose values the other's type can hold.
fn cast(left: (Port, &Type), right: (Port, &Type)) -> Option<(Port, Elem)> {
    let (a, b) = (single(left.1)?, single(right.1)?);
    let (narrow_a, narrow_b) = (width(a)?, width(b)?);
    let candidates =
        if narrow_a < narrow_b { [(left.0, b), (right.0, a)] } else { [(right.0, a), (left.0, b)] };
    candidates.into_iter().find(|(port, _)| matches!(port, Port::In(_)))
}

/// What to convert a tensor to, so that it becomes one of `allowed`.
fn cast_into(found: &Type, allowed: ElemSet) -> Option<Elem> {
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

fn single(ty: &Type) -> Option<Elem> {
    match ty {
        Type::Tensor(tensor) => tensor.elem.single(),
        Type::Unknown(_)
        | Type::Sparse(_)
        | Type::Scalar(_)
        | Type::Sequence(_)
        | Type::Optional(_)
        | Type::Map(..)
        | Type::Leaf(_)
        | Type::Error => None,
    }
}

/// Widths from this one on are those of floats.
const FIRST_FLOAT: u32 = 128;

/// Rank of an element type by what it can represent, to choose a conversion that loses little; `None` for types that are
/// not numbers.
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
