//! The entry point: checks a whole model.
//!
//! [`check`] takes the bytes of a model and returns a [`Checked`], with the type of each value and all
//! errors:
//!
//! ```text
//! <ir_version: 10, opset_import: ["": 21]>
//! g (float[N, 2] x, float[2, 3] w) => (y) { y = MatMul (x, w) }
//!
//! y: float[N, 3]
//! ```
//!
//! A check has four stages. The opset imports and the functions of the model select its operators in a
//! [`Catalogue`]. The main graph becomes a body with dense ids (`program::build`). The passes of `solve`
//! solve it, and each function once for each distinct tuple of argument types. Last, for [`Detail::Full`],
//! the versions in the header of the model are compared with the catalogue.
//!
//! A problem of the model is an error in [`Checked::errors`]. [`CheckError`] is for bytes that have no graph
//! to check, and for options that do not fit the model.
//!
//! **Invariant:** a check does not read files or the environment, and depends only on its arguments. Tensors
//! in other files come from [`Options::side_data`].
//!
//! **Cost:** most models are solved once, in time linear in their nodes if types flow forward. Errors,
//! branches that differ, declarations without a proof, merged symbols and contradicting seeds add passes over
//! the body. Of tensor data, only small constants are read.

pub(crate) mod assume;
pub mod bodies;
pub(crate) mod case;
mod checked;
pub mod functions;
pub(crate) mod load;
pub mod ports;
pub mod preconditions;
mod seeds;
pub(crate) mod solve;
pub mod value_types;

use std::collections::BTreeMap;
use std::sync::Arc;

use typeloom_onnx::domain::canonical;
use typeloom_onnx::other_format::OtherFormat;
use typeloom_onnx::view::ModelView;
use typeloom_onnx::{DecodeError, ErrorKind};

use crate::catalogue::Catalogue;
use crate::diagnostic::text::suggestion;
use crate::engine::call::Instance;
use crate::map::Set;
use crate::model::case::{Alternatives, Leaf};
use crate::operators::{Function, FunctionId, Imports, Operators};
use crate::program::build::{self, BuildError, Defaults};
use crate::solution::{Requirement, Type};
use crate::solve_error::SolveError;
use crate::state::Core;
use crate::state::frame::Frame;
use crate::universe::Universe;

pub use crate::mode::{Detail, FollowedValues, Mode};
pub use crate::state::side_data::{ExternalTensor, SideData};
pub use checked::TensorKey;

/// Options of a check.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The mode; strict by default.
    pub mode: Mode,
    /// Types from the caller, by the name of a value of the main graph.
    pub seeds: Vec<(String, Seed)>,
    /// Assumptions about symbols of the model: a symbol, and a number (`128`), another symbol or an
    /// expression for it. Every extent that is computed from the symbol follows.
    pub assume: Vec<(String, String)>,
    /// Whether to merge symbols that the graph requires to be equal into the first declared one.
    pub merge_symbols: bool,
    /// Whether to record the causes of types even without an error.
    pub trace: bool,
    /// The values that decide shapes; all that can be computed by default.
    pub values: FollowedValues,
    /// Whether to keep the types inside functions, see [`Checked::function_types`].
    pub functions: bool,
    /// The results that the caller uses; all by default.
    pub detail: Detail,
    /// The source of tensors in other files, whose values decide shapes as those of tensors in the model do;
    /// none by default.
    pub side_data: Option<Arc<dyn SideData>>,
}

/// Statistics about the types of the values of a model.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Coverage {
    /// All values, including those of nested graphs.
    pub values: usize,
    /// Values with a concrete element type whose extents are numbers or expressions over symbols of inputs.
    pub typed: usize,
    /// Values with an extent that is unknown or decided by data.
    pub unknown_extents: usize,
    /// Values of unknown rank.
    pub unknown_rank: usize,
    /// Values whose type depends on an assumed declaration.
    pub assumed: usize,
    /// Undecided conditions on symbols.
    pub open_conditions: usize,
}

/// A type from the caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seed {
    /// A serialized `TypeProto`.
    Onnx(Vec<u8>),
    /// A node of the type tree, by id.
    Node(String),
}

impl Seed {
    /// Parses a type in the ONNX notation, in which a dim may be any name or expression (`float[batch, 3]`,
    /// `seq(int64)`), or the id of a node of the type tree (`tensor.f32`, `peer_id`). A node is looked up
    /// when the seed is used.
    ///
    /// # Errors
    /// The syntax error in the text.
    pub fn parse(text: &str) -> Result<Self, typeloom_onnx::text::ParseError> {
        use typeloom_onnx::prost::Message as _;
        let text = text.trim();
        let parse = typeloom_onnx::text::parse_type;
        match parse(text).or_else(|error| parse(&with_quoted_dims(text)).map_err(|_| error)) {
            Ok(ty) => Ok(Self::Onnx(ty.encode_to_vec())),
            Err(error) => {
                let is_id = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
                if !text.is_empty() && text.chars().all(is_id) {
                    Ok(Self::Node(text.to_owned()))
                } else {
                    Err(error)
                }
            }
        }
    }
}

/// Quotes each dim that is not a number, a plain name or quoted. Exporters use names such as `input.1`.
fn with_quoted_dims(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 8);
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('[') {
        let Some((dims, after)) = after.split_once(']') else { break };
        quoted.push_str(before);
        quoted.push('[');
        for (at, dim) in dims.split(',').enumerate() {
            let is_plain = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '?';
            let dim = dim.trim();
            let separator = if at == 0 { "" } else { "," };
            let bare = dim == "..." || dim.chars().all(is_plain) || dim.contains('"');
            let mark = if bare { "" } else { "\"" };
            quoted.extend([separator, mark, dim, mark]);
        }
        quoted.push(']');
        rest = after;
    }
    quoted.push_str(rest);
    quoted
}

/// A checked model: the types of its values, and its errors.
pub struct Checked<'a> {
    pub(crate) model: Option<ModelView<'a>>,
    pub(crate) operators: Operators<'a>,
    pub(crate) core: Box<Core<'a>>,
    pub(crate) frame: Box<Frame<'a>>,
    pub(crate) mode: Mode,
    pub(crate) errors: Vec<SolveError<'a>>,
    pub(crate) rare: Findings<'a>,
}

/// The results of a check that most models do not have.
#[derive(Default)]
pub(crate) struct Findings<'a> {
    /// The instances of functions with errors.
    pub(crate) instances: Vec<Instance<'a>>,
    /// The functions whose calls lead to one of `instances`.
    pub(crate) erroneous_callers: Set<FunctionId>,
    /// The instances without errors, if the caller wants them.
    pub(crate) kept: Vec<Instance<'a>>,
    /// The functions without a body.
    pub(crate) function_errors: Vec<(FunctionId, BuildError)>,
    /// The types without assumed declarations, if there are assumed ones. Empty for [`Detail::Types`].
    pub(crate) proven: Option<Vec<Type>>,
    /// The conditions on the symbols of inputs.
    pub(crate) requirements: Vec<Requirement>,
    /// The cases with errors of their own, by position.
    pub(crate) cases: BTreeMap<usize, Leaf<'a>>,
    /// The possible types of values whose shapes depend on branches.
    pub(crate) alternatives: Alternatives,
}

/// Error of a model that cannot be checked at all.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CheckError {
    /// The bytes are not a model.
    #[error(transparent)]
    Malformed(#[from] DecodeError),
    /// Graphs are nested too deeply.
    #[error("graphs are nested more than {} deep", crate::program::MAX_NESTING)]
    NestingTooDeep,
    /// The model has no graph.
    #[error("the model has no graph")]
    NoGraph,
    /// The bytes are a Git LFS pointer.
    #[error("the file is a Git LFS pointer, not the model itself: download the model with `git lfs pull`")]
    LfsPointer,
    /// A seed that is not a type.
    #[error("the type given for `{name}` is not a type of this tree{}", suggestion(near))]
    BadSeed {
        /// The name of the value.
        name: String,
        /// Similar names of types.
        near: Vec<String>,
    },
    /// An assumption about a symbol that the model does not declare.
    #[error("the model declares no symbol `{name}`{}", suggestion(near))]
    UnknownSymbol {
        /// The name of the symbol.
        name: String,
        /// Similar symbols.
        near: Vec<String>,
    },
    /// An invalid assumption.
    #[error("`{name}` cannot be assumed to be `{dim}`: {reason}")]
    BadAssumption {
        /// The name of the symbol.
        name: String,
        /// The assumed dim.
        dim: String,
        /// The reason.
        reason: String,
    },
    /// A seed for a value that is not in the model.
    #[error("there is no value `{name}` to give a type to")]
    UnknownSeed {
        /// The name of the value.
        name: String,
    },
}

impl From<BuildError> for CheckError {
    fn from(error: BuildError) -> Self {
        match error {
            BuildError::Malformed(error) => Self::Malformed(error),
            BuildError::NestingTooDeep => Self::NestingTooDeep,
        }
    }
}

/// Checks a serialized model.
///
/// # Errors
/// [`CheckError`] if the model cannot be checked. Errors in a model are in [`Checked::errors`].
pub fn check<'a>(
    bytes: &'a [u8],
    catalogue: &'a dyn Catalogue,
    universe: &Arc<Universe>,
    options: &Options,
) -> Result<Checked<'a>, CheckError> {
    check_with(bytes, catalogue, universe, options, SeedConflict::RejectSeed)
}

/// The error of bytes without a graph.
fn no_graph(bytes: &[u8]) -> CheckError {
    match OtherFormat::of(bytes) {
        Some(format) => {
            CheckError::Malformed(DecodeError { offset: 0, kind: ErrorKind::OtherFormat(format) })
        }
        None => CheckError::NoGraph,
    }
}

/// The treatment of a seed that contradicts the node that computes its value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SeedConflict {
    /// The seed is the error, and the rest is checked without it.
    RejectSeed,
    /// The node is in error.
    ReportNode,
}

/// As [`check`], with a treatment of contradicted seeds.
pub(crate) fn check_with<'a>(
    bytes: &'a [u8],
    catalogue: &'a dyn Catalogue,
    universe: &Arc<Universe>,
    options: &Options,
    conflict: SeedConflict,
) -> Result<Checked<'a>, CheckError> {
    if typeloom_onnx::lfs::is_pointer(bytes) {
        return Err(CheckError::LfsPointer);
    }
    let model = ModelView::new(bytes)?;
    let graph = model.graph().ok_or_else(|| no_graph(bytes))?;
    let mut operators = Operators::new(catalogue);
    if options.detail == Detail::Types {
        operators.suggest_nothing();
    }
    let imports = imports(model.opset_imports())?;
    let own = operators.add_imports(&imports);
    let functions = model.has_functions().then(|| model.functions());
    for function in functions.into_iter().flatten() {
        let view = function?;
        let own_imports = self::imports(view.opset_imports())?;
        let imports = operators.add_imports(if own_imports.is_empty() { &imports } else { &own_imports });
        let (domain, name, overload) = (view.domain()?, view.name()?, view.overload()?);
        operators.add_function(Function { domain, name, overload, view, imports });
    }
    // Before IR version 4, every initializer had to be an input too.
    let defaults = if model.ir_version() < 4 { Defaults::Constant } else { Defaults::Replaceable };
    let body = build::main(graph, defaults, &mut |domain, name, overload| {
        operators.resolve(own, domain, name, overload)
    })?;
    let versions = match options.detail {
        Detail::Full => load::versions(&model, &operators),
        Detail::Types => return solve::solve(Some(model), body, operators, universe, options, conflict),
    };
    let mut checked = solve::solve(Some(model), body, operators, universe, options, conflict)?;
    checked.errors.splice(0..0, versions);
    Ok(checked)
}

fn imports<'a>(
    imports: impl Iterator<Item = Result<typeloom_onnx::view::OpsetId<'a>, DecodeError>>,
) -> Result<Imports<'a>, DecodeError> {
    let mut found = Imports::new();
    for import in imports {
        let import = import?;
        found.push((canonical(import.domain), import.version));
    }
    Ok(found)
}
