//! Diagnostic code `element-type-not-allowed`.

use crate::diagnostic::{
    Code, Diagnostic, Scope, allowed_types, cast_into, drops_fractions, element_types, is_tensor, quote,
};
use crate::elem::ElemSet;
use crate::program::StepId;
use crate::rule::Port;
use crate::signature::AllowedTypes;
use crate::solution::Type;
use crate::ty::Constructor;

super::code!("element-type-not-allowed", Error, "the operator does not take this element type");

/// Help for a bundle at an operator of ONNX, which has no type for bundles.
fn bundle_help(op: String, port: Port) -> String {
    match port {
        Port::BodyOut(..) | Port::BodyIn(..) | Port::Out(_) => {
            format!("return the values of the bundle, and bundle the results of {op}")
        }
        Port::In(_) => format!("unbundle the values that {op} computes with"),
    }
}

impl Scope<'_, '_> {
    /// Diagnostic of a port whose type the declared signature does not allow.
    pub(crate) fn not_allowed(
        &mut self,
        step: StepId,
        port: Port,
        found: &Type,
        allowed: &AllowedTypes,
    ) -> Diagnostic {
        let universe = std::sync::Arc::clone(self.core.types.universe());
        let right_kind = match found {
            Type::Tensor(_) => !allowed.tensor.is_empty(),
            Type::Container(Constructor::Sequence, inner) => {
                is_tensor(inner) && !allowed.seq_tensor.is_empty()
            }
            Type::Container(Constructor::Optional, inner) => match &**inner {
                Type::Tensor(_) => !allowed.opt_tensor.is_empty(),
                Type::Container(Constructor::Sequence, _) => !allowed.opt_seq_tensor.is_empty(),
                _ => false,
            },
            Type::Unknown(_)
            | Type::Sparse(_)
            | Type::Scalar(_)
            | Type::Container(Constructor::Map(_), _)
            | Type::Composite(_)
            | Type::Leaf(_)
            | Type::Error => false,
        };
        let code = if right_kind { Code::ElementTypeNotAllowed } else { Code::TypeMismatch };
        let shown = if right_kind { self.show_elem(found) } else { self.show(found) };
        let takes = match right_kind {
            true if is_tensor(found) => element_types(&universe, allowed.tensor),
            true => allowed_types(&universe, allowed),
            false if allowed.is_tensor_only() && !allowed.tensor.is_empty() => {
                format!("a tensor of {}", element_types(&universe, allowed.tensor))
            }
            false => allowed_types(&universe, allowed),
        };
        let verb = match port {
            Port::In(_) | Port::BodyOut(..) => "takes",
            Port::Out(_) | Port::BodyIn(..) => "gives",
        };
        let formal = self.formal(step, port).map(|name| format!(" for {}", quote(name))).unwrap_or_default();
        let message = format!(
            "{} {verb} {takes}{formal}, but {} is {shown}",
            self.op_text(step),
            self.port_text(step, port)
        );
        let mark = self.mark(step, port, &shown, true);
        let mut diagnostic = self.node_diagnostic(code, step, message, &[mark]);
        if let Type::Composite(_) = found {
            diagnostic.help = Some(bundle_help(self.op_text(step), port));
        }
        let newer = self.newer_version_allows(step, port, found);
        match (cast_into(found, allowed.tensor), newer) {
            // A cast would drop fractions, and the newer version of the operator needs no cast.
            (Some(to), Some(version)) if drops_fractions(found, to) => {
                self.with_opset(diagnostic, step, version, &shown)
            }
            (Some(to), newer) if matches!(port, Port::In(_)) => {
                self.with_cast(diagnostic, step, port, to, newer)
            }
            (_, Some(version)) => self.with_opset(diagnostic, step, version, &shown),
            (_, None) => diagnostic,
        }
    }

    /// Diagnostic of a port whose element type a rule does not allow.
    pub(crate) fn wrong_element(&mut self, step: StepId, port: Port, allowed: ElemSet) -> Diagnostic {
        let found = self.port_type(step, port);
        let allowed = AllowedTypes { tensor: allowed, ..AllowedTypes::default() };
        self.not_allowed(step, port, &found, &allowed)
    }
}

#[cfg(test)]
mod tests {
    use crate::diagnostic::tests::reports;

    #[test]
    fn a_logical_operator_takes_booleans() {
        let model = "g (float x) => (y) { y = Not(x) }";
        let expected = ["error[element-type-not-allowed]: `Not` takes bool for `X`, but `x` is float"];
        assert_eq!(reports(model), expected);
    }
}
