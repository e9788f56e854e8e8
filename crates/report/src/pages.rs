//! The pages of the diagnostic codes: what a code means, why it is a problem, an example that fails and
//! the fix that passes. They are the files of `docs/codes/`, as they are.

use typeloom_solver::diagnostic::Code;

macro_rules! page {
    ($name:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/codes/", $name, ".md"))
    };
}

/// The page of a code, in Markdown.
#[must_use]
pub fn page(code: Code) -> &'static str {
    match code {
        Code::ElementTypeMismatch => page!("element-type-mismatch"),
        Code::ElementTypeNotAllowed => page!("element-type-not-allowed"),
        Code::TypeMismatch => page!("type-mismatch"),
        Code::DimMismatch => page!("dim-mismatch"),
        Code::ShapeMismatch => page!("shape-mismatch"),
        Code::WrongRank => page!("wrong-rank"),
        Code::EmptyShape => page!("empty-shape"),
        Code::PlaceholderDim => page!("placeholder-dim"),
        Code::NegativeDim => page!("negative-dim"),
        Code::ExtentOverflow => page!("extent-overflow"),
        Code::TensorData => page!("tensor-data"),
        Code::UnknownOperator => page!("unknown-operator"),
        Code::NewerOperator => page!("newer-operator"),
        Code::DeprecatedOperator => page!("deprecated-operator"),
        Code::MissingOpset => page!("missing-opset"),
        Code::NewerOpset => page!("newer-opset"),
        Code::IrVersion => page!("ir-version"),
        Code::MissingInput => page!("missing-input"),
        Code::MissingOutput => page!("missing-output"),
        Code::SurplusPorts => page!("surplus-ports"),
        Code::InputValue => page!("input-value"),
        Code::MissingAttribute => page!("missing-attribute"),
        Code::UnknownAttribute => page!("unknown-attribute"),
        Code::AttributeKind => page!("attribute-kind"),
        Code::AttributeValue => page!("attribute-value"),
        Code::UndefinedValue => page!("undefined-value"),
        Code::UndefinedOutput => page!("undefined-output"),
        Code::DuplicateValue => page!("duplicate-value"),
        Code::DuplicateNodeName => page!("duplicate-node-name"),
        Code::NodeOrder => page!("node-order"),
        Code::Cycle => page!("cycle"),
        Code::DeclaredTypeContradiction => page!("declared-type-contradiction"),
        Code::DefaultContradiction => page!("default-contradiction"),
        Code::SeedContradiction => page!("seed-contradiction"),
        Code::BranchMismatch => page!("branch-mismatch"),
        Code::BodyMismatch => page!("body-mismatch"),
        Code::RelationFailed => page!("relation-failed"),
        Code::CallArity => page!("call-arity"),
        Code::RecursiveFunction => page!("recursive-function"),
        Code::TooManyInstances => page!("too-many-instances"),
        Code::ForcedSymbol => page!("forced-symbol"),
        Code::RestrictedSymbol => page!("restricted-symbol"),
        Code::AssumedType => page!("assumed-type"),
        Code::ForcedEquality => page!("forced-equality"),
        Code::LimitReached => page!("limit-reached"),
        Code::UnresolvedType => page!("unresolved-type"),
        Code::MalformedFile => page!("malformed-file"),
        Code::LfsPointer => page!("lfs-pointer"),
        Code::NestingTooDeep => page!("nesting-too-deep"),
        Code::MissingExternalData => page!("missing-external-data"),
    }
}
