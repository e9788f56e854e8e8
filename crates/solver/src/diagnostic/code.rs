//! The codes: one for each kind of problem, stable, each with a page in `docs/codes/`.

use std::fmt;

/// How bad a problem is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Severity {
    /// The model is wrong.
    Error,
    /// The model can be used, but probably not as its author means.
    Warning,
}

impl Severity {
    /// `error` or `warning`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

macro_rules! codes {
    ($($code:ident = $name:literal, $severity:ident, $summary:literal;)*) => {
        /// Which kind of problem a diagnostic is about.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Code {
            $(
                #[doc = concat!("`", $name, "`: ", $summary, ".")]
                $code,
            )*
        }

        impl Code {
            /// Every code.
            pub const ALL: &[Self] = &[$(Self::$code),*];

            /// The code's name, which is stable.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$code => $name,)*
                }
            }

            /// How bad the problem is, in strict mode.
            #[must_use]
            pub fn severity(self) -> Severity {
                match self {
                    $(Self::$code => Severity::$severity,)*
                }
            }

            /// The problem in general, in a few words.
            #[must_use]
            pub fn summary(self) -> &'static str {
                match self {
                    $(Self::$code => $summary,)*
                }
            }
        }
    };
}

codes! {
    ElementTypeMismatch = "element-type-mismatch", Error, "element types that must agree differ";
    ElementTypeNotAllowed = "element-type-not-allowed", Error, "the operator does not take this element type";
    TypeMismatch = "type-mismatch", Error, "one kind of type stands where another is needed, such as a sequence for a tensor";
    DimMismatch = "dim-mismatch", Error, "dims that must be equal differ";
    ShapeMismatch = "shape-mismatch", Error, "shapes do not fit together";
    WrongRank = "wrong-rank", Error, "a tensor has the wrong number of axes";
    EmptyShape = "empty-shape", Error, "a value with axes is declared as a scalar";
    PlaceholderDim = "placeholder-dim", Warning, "a dim is named by a mark for an unknown extent";
    NegativeDim = "negative-dim", Error, "a declared dim is negative";
    ExtentOverflow = "extent-overflow", Error, "a tensor has more elements than 64 bits can count";
    TensorData = "tensor-data", Error, "a tensor's data does not fit its dims and element type";
    UnknownOperator = "unknown-operator", Error, "nothing defines the operator";
    NewerOperator = "newer-operator", Error, "the operator is newer than the imported operator set";
    DeprecatedOperator = "deprecated-operator", Error, "the operator was withdrawn from the operator set";
    MissingOpset = "missing-opset", Error, "the model does not import the operator's domain";
    NewerOpset = "newer-opset", Error, "the model imports a newer operator set than is known";
    IrVersion = "ir-version", Error, "the model's IR version is missing or newer than is known";
    MissingInput = "missing-input", Error, "a required input is left out";
    MissingOutput = "missing-output", Error, "a required output is left out";
    SurplusPorts = "surplus-ports", Error, "a node has more inputs or outputs than its operator";
    InputValue = "input-value", Error, "the operator cannot use the value of a constant input";
    MissingAttribute = "missing-attribute", Error, "a required attribute is left out";
    UnknownAttribute = "unknown-attribute", Error, "the operator has no such attribute";
    AttributeKind = "attribute-kind", Error, "an attribute has the wrong kind of value";
    AttributeValue = "attribute-value", Error, "the operator cannot use the value of an attribute";
    UndefinedValue = "undefined-value", Error, "a node reads a value that nothing defines";
    UndefinedOutput = "undefined-output", Error, "a graph promises an output that nothing defines";
    DuplicateValue = "duplicate-value", Error, "a value is defined twice";
    DuplicateNodeName = "duplicate-node-name", Warning, "nodes of a graph have the same name";
    NodeOrder = "node-order", Error, "a node stands before the node whose result it reads";
    Cycle = "cycle", Error, "nodes wait for each other";
    DeclaredTypeContradiction = "declared-type-contradiction", Error, "a declared type contradicts the inferred one";
    DefaultContradiction = "default-contradiction", Error, "an initializer contradicts the declared type of its input";
    SeedContradiction = "seed-contradiction", Error, "a type given by the caller contradicts the model";
    BranchMismatch = "branch-mismatch", Error, "the branches of a node give different types";
    BodyMismatch = "body-mismatch", Error, "a nested graph does not fit the node it belongs to";
    RelationFailed = "relation-failed", Error, "a relation that a custom operator declares does not hold";
    CallArity = "call-arity", Error, "a function is called with too many or too few inputs or outputs";
    RecursiveFunction = "recursive-function", Error, "a function calls itself";
    TooManyInstances = "too-many-instances", Error, "a function is called with more different types than are solved";
    ForcedSymbol = "forced-symbol", Error, "a dim that is declared free has finitely many admissible values";
    ForcedEquality = "forced-equality", Warning, "two dims that are declared apart can only be equal";
    RestrictedSymbol = "restricted-symbol", Warning, "the model runs for some values of a symbol only";
    AssumedType = "assumed-type", Warning, "a declared type that nothing confirms or refutes";
    LimitReached = "limit-reached", Warning, "a limit of the checker hides a part of a type";
    UnresolvedType = "unresolved-type", Error, "nothing determines the type of a value";
    MalformedFile = "malformed-file", Error, "the bytes are not an ONNX model";
    LfsPointer = "lfs-pointer", Error, "the file is a Git LFS pointer";
    NestingTooDeep = "nesting-too-deep", Error, "graphs are nested too deep";
    MissingExternalData = "missing-external-data", Error, "a tensor's data is in a file that cannot be used";
}

impl Code {
    /// The code's page, as a path in the repository.
    #[must_use]
    pub fn page(self) -> String {
        format!("docs/codes/{}.md", self.name())
    }

    /// The code with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|code| code.name() == name)
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
