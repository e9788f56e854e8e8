//! Facts about one version of a runtime.
//!
//! The text has one fact per line. Words are separated by blanks.
//!
//! ```text
//! typeloom-target 1
//! source onnxruntime 1.31.1             the package and its version
//! provider CPUExecutionProvider         whose kernels are listed
//! ir 13                                 the newest IR version
//! domain ai.onnx 26                     the newest version of a domain; a domain that is not listed has no limit
//! unknown complex64 float6e2m3          element types that the loader rejects wherever they occur
//! removed Constant                      operators that the loader replaces by initializers
//! set 4 float seq(float)                a set of types, by number
//! folded Shape                          operators that the loader computes from the extents of the input, for any type
//! pushed Reshape Transpose              operators behind a `DequantizeLinear` of int8 with which the loader, on some processors, makes nodes
//!                                       that it rejects
//! calls all-outputs                     calls of model-local functions must name all outputs
//! op ai.onnx.ml::Scaler 1               a version of an operator; `deprecated` may follow
//!   in X:T Y?:T Z*:T                    inputs with their type or variable: optional `?`, variadic `*`, `+` if the types may differ
//!   out Y:T                             outputs
//!   types T=4                           the allowed types of each variable
//!   attrs axis mode!                    attributes; `!` if required, `*` if the loader ignores others
//!   kernel T=4                          a kernel with its types
//!   function 18 20 T=4                  accepted without a kernel in versions 18 to 20 of the domain
//!   sometimes 18 20 T=4                 accepted for a part of the values of attributes and inputs
//!   never 18 20 T=4                     rejected in these versions, although a cast would lead to a kernel
//!   rejects layout=1                    values of attributes that the kernel rejects
//!   doubts size<=0                      nodes that the loader may reject
//!   machine locale mode=LOWER           needs a locale, named by the attribute `locale`, that not every machine has
//!   below pads kernel_shape             the kernel rejects pads that are not smaller than the window
//!   fuses Transpose T=4                 an input from this operator is fused with the node, and the result has no kernel
//!   crashes constants                   the loader crashes on some nodes with constant inputs only
//!   crashes transposed            the loader crashes on nodes with parameters for each axis before a `Transpose` without `perm`
//!   reads pads axes                     the inference of the loader reads these inputs if they are constants, and fails if one is in another
//!                                       file; `ranked` before the names: if it knows the rank of the first input;
//!                                       `sized`: if it may need the extents of the other inputs, or of their axis
//! ```
//!
//! Conditions precede types, with `|` between both: `function 18 20 mode=tanh | T=4`. All must hold. A
//! condition is an attribute with its value, and `?` if an absent attribute has this value. `p<=0` and `p>=3`
//! compare numbers; a list is compared if one of its elements is. `inputs=2` and `outputs>=2` are about the
//! number of present ports, `absent=intercepts` requires that an attribute is absent, `missing=scales` that
//! an input is, `present=scales` that it is there, and `constant=scales` that an input is a constant. `mode!=a,b` requires a present attribute
//! with another value, `rank.X!=2,3` is about the rank of an input, and `always` holds for all nodes.
//!
//! A kernel supports a node if, for each of its names, the first present value with this variable (or at the
//! port with this name) has one of the types; inputs precede outputs. A `function` names all variables at
//! present inputs.

mod parse;

pub use parse::FactsError;

use std::collections::BTreeMap;

/// Facts about one version of a runtime.
#[derive(Debug, Default)]
pub struct Facts<'t> {
    /// The package and its version.
    pub source: &'t str,
    /// The provider of the kernels.
    pub provider: &'t str,
    /// The newest IR version.
    pub ir: i64,
    /// The newest accepted version of each domain; `""` is ONNX's own.
    pub domains: BTreeMap<&'t str, i64>,
    /// Element types that the loader rejects.
    pub unknown: Vec<&'t str>,
    /// Operators without kernels that the loader replaces by initializers.
    pub removed: Vec<&'t str>,
    /// Operators that the loader computes from the extents of their input.
    pub folded: Vec<&'t str>,
    /// Operators before which the loader, on some processors, makes a wrong node of a `DequantizeLinear` of int8.
    pub pushed: Vec<&'t str>,
    /// Whether calls of model-local functions must name all outputs.
    pub needs_all_outputs: bool,
    sets: Vec<Vec<&'t str>>,
    /// The versions of each operator, by domain and name.
    operators: BTreeMap<&'t str, BTreeMap<&'t str, Vec<Signature<'t>>>>,
}

/// A version of an operator.
#[derive(Debug, Default)]
pub struct Signature<'t> {
    /// The version of the domain that introduced it.
    pub since: i64,
    /// Whether this version withdraws the operator.
    pub deprecated: bool,
    pub inputs: Vec<Formal<'t>>,
    pub outputs: Vec<Formal<'t>>,
    /// The allowed types of each variable.
    pub types: Vec<(&'t str, TypeSet)>,
    pub attributes: Vec<&'t str>,
    /// The attributes that a node must have.
    pub required: Vec<&'t str>,
    /// Whether the loader ignores attributes that it does not know.
    pub ignores_attributes: bool,
    pub kernels: Vec<Kernel<'t>>,
    pub functions: Vec<FunctionBody<'t>>,
    /// Nodes that the kernel rejects.
    pub rejects: Vec<Rule<'t>>,
    /// Nodes that the loader may reject.
    pub doubts: Vec<Rule<'t>>,
    /// Nodes that need a locale of the machine.
    pub locale: Vec<Rule<'t>>,
    /// Pairs of attributes: each element of the first must be smaller than the element of its axis in the
    /// second.
    pub below: Vec<(&'t str, &'t str)>,
    /// Operators that the loader fuses into this one, with the types for which the result has no kernel.
    pub fuses: Vec<(&'t str, Vec<(&'t str, TypeSet)>)>,
    /// Whether the loader crashes on some nodes with constant inputs only.
    pub crashes_on_constants: bool,
    /// Whether the loader crashes on some nodes with parameters for each axis before a `Transpose`.
    pub crashes_when_transposed: bool,
    /// The inputs that the loader reads before it has the files of the model.
    pub reads: Option<Reads<'t>>,
}

/// Constant inputs whose elements the loader reads to infer shapes.
#[derive(Debug)]
pub struct Reads<'t> {
    pub inputs: Vec<&'t str>,
    /// The required knowledge about the shapes of other inputs before it reads them.
    pub needs: Needs,
}

/// Knowledge about a shape.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Needs {
    #[default]
    Nothing,
    /// Its rank; of the first input, where the loader needs it.
    Rank,
    /// Its extents; of all inputs that are not read, where the loader needs them. If the node has an axis, the extent of that axis.
    Extents,
}

/// Conditions and types under which a fact holds.
#[derive(Debug, Default)]
pub struct Rule<'t> {
    pub conditions: Vec<Condition<'t>>,
    pub types: Vec<(&'t str, TypeSet)>,
}

/// A condition on a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Condition<'t> {
    /// An attribute, or one of `inputs`, `outputs`, `absent`, `missing`, `present`, `constant`, `always` and `rank.X`.
    pub name: &'t str,
    pub comparison: Comparison,
    pub value: &'t str,
    /// Whether the value is the default.
    pub is_default: bool,
}

/// The comparison of a condition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Comparison {
    Equal,
    /// The value is none of those in a list with commas.
    NotIn,
    AtMost,
    AtLeast,
}

impl Comparison {
    /// The sign in the text.
    #[must_use]
    pub fn sign(self) -> &'static str {
        match self {
            Self::Equal => "=",
            Self::NotIn => "!=",
            Self::AtMost => "<=",
            Self::AtLeast => ">=",
        }
    }
}

/// A port of an operator.
#[derive(Debug)]
pub struct Formal<'t> {
    pub name: &'t str,
    /// A variable or a type.
    pub ty: &'t str,
    pub is_variadic: bool,
    /// Whether a node must give a value for it.
    pub is_required: bool,
}

/// A kernel: the types of each variable or port.
#[derive(Debug, Default)]
pub struct Kernel<'t> {
    pub types: Vec<(&'t str, TypeSet)>,
}

/// Versions and types for which the runtime accepts an operator without a kernel.
#[derive(Debug)]
pub struct FunctionBody<'t> {
    /// The first and the last version of the domain.
    pub versions: (i64, i64),
    pub rule: Rule<'t>,
    /// Whether all nodes with these types are accepted, or only some.
    pub certainty: Certainty,
}

/// Whether a fact holds for all nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Certainty {
    Always,
    Sometimes,
    /// The body is wrong for these types, and prevents a cast to others.
    Never,
}

/// The number of a set of types.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TypeSet(usize);

impl<'t> Facts<'t> {
    /// Parses the text of a target.
    ///
    /// # Errors
    /// [`FactsError`] with the number of the wrong line.
    pub fn parse(text: &'t str) -> Result<Self, FactsError> {
        parse::facts(text)
    }

    /// The version of an operator that a node denotes, for an imported version of its domain.
    #[must_use]
    pub fn signature(&self, domain: &str, name: &str, version: i64) -> Option<&Signature<'t>> {
        self.versions(domain, name).iter().rev().find(|signature| signature.since <= version)
    }

    /// All versions of an operator, oldest first.
    #[must_use]
    pub fn versions(&self, domain: &str, name: &str) -> &[Signature<'t>] {
        self.operators.get(domain).and_then(|names| names.get(name)).map_or(&[], Vec::as_slice)
    }

    /// Whether the runtime has operators of a domain.
    #[must_use]
    pub fn has_domain(&self, domain: &str) -> bool {
        self.domains.contains_key(domain)
    }

    /// The types of a set, in alphabetical order.
    #[must_use]
    pub fn types_of(&self, set: TypeSet) -> &[&'t str] {
        &self.sets[set.0]
    }

    /// Whether a set contains a type.
    #[must_use]
    pub fn contains(&self, set: TypeSet, ty: &str) -> bool {
        self.types_of(set).binary_search(&ty).is_ok()
    }

    /// The number of kernels, counted by version and types.
    #[must_use]
    pub fn kernel_count(&self) -> usize {
        self.operators
            .values()
            .flat_map(BTreeMap::values)
            .flatten()
            .map(|signature| signature.kernels.len())
            .sum()
    }

    /// The number of operators of a domain with a kernel or a body.
    #[must_use]
    pub fn operators_of(&self, domain: &str) -> usize {
        let runs =
            |signature: &Signature<'_>| !signature.kernels.is_empty() || !signature.functions.is_empty();
        let operators = self.operators.get(domain).into_iter().flat_map(BTreeMap::values);
        operators.filter(|versions| versions.iter().any(runs)).count()
    }

    /// The number of operators with a kernel or a body.
    #[must_use]
    pub fn operator_count(&self) -> usize {
        self.operators.keys().map(|domain| self.operators_of(domain)).sum()
    }
}
