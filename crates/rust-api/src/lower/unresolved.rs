//! Names of the JSON that cannot be resolved. The term of such a name is an error, which equals no type in a
//! comparison.
//!
//! rustdoc resolves every name, so its own output contains none of these errors. They occur in JSON of other
//! tools, and if a newer rustdoc has a primitive type that this crate does not know.

use typeloom_term::ty::Reporter;
use typeloom_term::{ErrorProof, Flags, GenericArg, Ty};

use super::Lower;
use crate::item::{Item, Param, ParamKind, Type};

/// A part of a signature that is not resolved, with the reason.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, thiserror::Error)]
pub enum Unresolved {
    /// A type that is left to inference. Signatures of public items have none.
    #[error("`_` is not the type of a public item")]
    Inferred,
    /// A type parameter that is not in scope.
    #[error("no type parameter `{0}` is in scope")]
    Parameter(String),
    /// A lifetime that is not in scope.
    #[error("no lifetime `{0}` is in scope")]
    Lifetime(String),
    /// A primitive type without a term.
    #[error("`{0}` is not a known primitive type")]
    Primitive(String),
    /// An entry of the standard library table that is not a type.
    #[error("`{0}` is not a type")]
    Text(String),
}

impl Unresolved {
    /// The name as it is in the JSON.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Inferred => "_",
            Self::Parameter(name) | Self::Lifetime(name) | Self::Primitive(name) | Self::Text(name) => name,
        }
    }
}

/// Whether a type contains an error.
pub(crate) fn has_error(ty: &Type) -> bool {
    ty.meta().flags.intersects(Flags::ERROR)
}

impl Lower<'_> {
    /// Records an unresolved name.
    pub(super) fn unresolved(&mut self, reason: Unresolved) -> ErrorProof {
        *self.counts.unknown.entry(reason.name().to_owned()).or_default() += 1;
        self.errors.report(reason)
    }

    /// The error type of an unresolved name.
    pub(super) fn error_type(&mut self, reason: Unresolved) -> Type {
        let proof = self.unresolved(reason);
        Ty::error(&self.cx, proof)
    }

    /// Attaches the recorded reasons from number `errors` on to the items with an error from number `items`
    /// on.
    pub(super) fn attach_reasons(&mut self, items: usize, errors: usize) {
        let reasons = self.errors.get(errors..).unwrap_or_default();
        if reasons.is_empty() {
            return;
        }
        for item in self.items.iter_mut().skip(items).filter(|item| item.has_error()) {
            for reason in reasons {
                if !item.unresolved.contains(reason) {
                    item.unresolved.push(reason.clone());
                }
            }
        }
    }
}

impl Item {
    /// Whether a part of the item is not resolved. Such an item is compatible with no other one.
    #[must_use]
    pub fn has_error(&self) -> bool {
        let in_param = |param: &Param| {
            matches!(&param.kind, ParamKind::Const(ty) if has_error(ty))
                || param.default.as_ref().and_then(GenericArg::as_ty).is_some_and(has_error)
        };
        // An associated type whose evaluation ignores the error is not resolved either.
        !self.unresolved.is_empty() || self.types().any(has_error) || self.params.iter().any(in_param)
    }
}
