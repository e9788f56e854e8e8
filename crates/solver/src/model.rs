//! Checks a whole model: the entry of the crate.

pub(crate) mod assume;
pub(crate) mod case;
mod checked;
pub mod functions;
pub(crate) mod load;
pub mod ports;
pub mod preconditions;
mod seeds;
pub(crate) mod solve;

use std::collections::BTreeMap;
use std::sync::Arc;

use typeloom_onnx::DecodeError;
use typeloom_onnx::view::ModelView;

use crate::catalogue::{Catalogue, Function, FunctionId, Operators};
use crate::engine::call::Instance;
use crate::map::Set;
use crate::model::case::{Alternatives, Leaf};
use crate::program::build::{self, BuildError, Defaults};
use crate::solution::{Requirement, Type};
use crate::solve_error::{ErrorSite, SolveError};
use crate::state::Core;
use crate::state::frame::Frame;
use crate::universe::Universe;

/// Whether a value whose type is not settled is an error.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Mode {
    /// It is.
    #[default]
    Strict,
    /// It is not, and neither is an operator that nobody knows.
    Permissive,
}

/// How to check a model.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Strict by default.
    pub mode: Mode,
    /// Types that the caller knows, by the name of a value of the main graph.
    pub seeds: Vec<(String, Seed)>,
    /// What the caller says of symbols of the model: a symbol and the dim that it stands for, a number (`128`), another
    /// symbol, or an expression. Every extent that is computed from the symbol follows.
    pub assume: Vec<(String, String)>,
    /// Whether symbols that the graph forces to be equal become one, the one that was named first.
    pub merge_symbols: bool,
    /// Whether to record why every value has its type, also where nothing is wrong.
    pub trace: bool,
    /// Whether to keep what was found inside functions, see [`Checked::function_types`].
    pub functions: bool,
}

/// How much is known of the types of the values of a model.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Coverage {
    /// All values, those of nested graphs included.
    pub values: usize,
    /// Values with a concrete element type whose extents are numbers and expressions over the symbols of inputs.
    pub typed: usize,
    /// Values with an extent that is unknown, or a number that only the run knows.
    pub unknown_extents: usize,
    /// Values of unknown rank.
    pub unknown_rank: usize,
    /// Values whose type rests on a declaration that had to be assumed.
    pub assumed: usize,
    /// Conditions between symbols that nothing decides.
    pub open_conditions: usize,
}

/// A type that the caller knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seed {
    /// A serialized `TypeProto`.
    Onnx(Vec<u8>),
    /// A node of the type tree, by id.
    Node(String),
}

impl Seed {
    /// A type as ONNX writes it, where a dim can be any name or expression (`float[batch, 3]`, `seq(int64)`), or the id of a node of the type tree
    /// (`tensor.f32`, `peer_id`). A node is only looked up when the seed is used.
    ///
    /// # Errors
    /// What is wrong with the text as a type.
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

/// A type with quotes around each dim that is not a number, a plain name or quoted already: exporters use names such as
/// `input.1`.
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
            let mark = if dim.chars().all(is_plain) || dim.contains('"') { "" } else { "\"" };
            quoted.extend([separator, mark, dim, mark]);
        }
        quoted.push(']');
        rest = after;
    }
    quoted.push_str(rest);
    quoted
}

/// A checked model: the type of every value, and everything that is wrong.
pub struct Checked<'a> {
    pub(crate) model: Option<ModelView<'a>>,
    pub(crate) operators: Operators<'a>,
    pub(crate) core: Core<'a>,
    pub(crate) frame: Frame<'a>,
    pub(crate) instances: Vec<Instance<'a>>,
    /// The functions whose calls led to one of `instances`.
    pub(crate) erroneous_callers: Set<FunctionId>,
    pub(crate) kept: Vec<Instance<'a>>,
    pub(crate) function_errors: Vec<(FunctionId, BuildError)>,
    pub(crate) mode: Mode,
    pub(crate) errors: Vec<SolveError<'a>>,
    /// The types that hold without assuming any declared shape, where one had to be assumed.
    pub(crate) proven: Option<Vec<Type>>,
    pub(crate) requirements: Vec<Requirement>,
    /// The cases in which something is wrong that is not wrong in general, by their position.
    pub(crate) cases: BTreeMap<usize, Leaf<'a>>,
    pub(crate) alternatives: Alternatives,
}

/// A tensor whose data is in another file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExternalTensor<'a> {
    /// The initializer or node that it belongs to.
    pub site: ErrorSite,
    /// The file, as the model writes it: relative to the model's folder. Empty where the model names none.
    pub location: &'a str,
    /// Where the data starts in the file.
    pub offset: u64,
    /// The bytes of its elements; `None` where the dims or the element type have no size.
    pub bytes: Option<u64>,
}

/// Why a model could not be checked at all.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CheckError {
    /// The bytes are not a model.
    #[error(transparent)]
    Malformed(#[from] DecodeError),
    /// Graphs nest too deep.
    #[error("graphs are nested more than {} deep", crate::program::MAX_NESTING)]
    NestingTooDeep,
    /// There is no graph in the model.
    #[error("the model has no graph")]
    NoGraph,
    /// The bytes are a Git LFS pointer.
    #[error("the file is a Git LFS pointer, not the model itself: download the model with `git lfs pull`")]
    LfsPointer,
    /// A seed that is no type.
    #[error("the type given for `{name}` is not a type of this tree{}", did_you_mean(near))]
    BadSeed {
        /// The value's name.
        name: String,
        /// Types that are written nearly like it.
        near: Vec<String>,
    },
    /// An assumption about a symbol that the model does not declare.
    #[error("the model declares no symbol `{name}` to assume anything of{}", did_you_mean(near))]
    UnknownSymbol {
        /// The symbol.
        name: String,
        /// Symbols that are written nearly like it.
        near: Vec<String>,
    },
    /// An assumption that makes no sense.
    #[error("`{name}` cannot be assumed to be `{dim}`: {reason}")]
    BadAssumption {
        /// The symbol.
        name: String,
        /// What it is assumed to be.
        dim: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A seed for a value that the model does not have.
    #[error("there is no value `{name}` to give a type to")]
    UnknownSeed {
        /// The value's name.
        name: String,
    },
}

fn did_you_mean(near: &[String]) -> String {
    if near.is_empty() { String::new() } else { format!("; did you mean `{}`?", near.join("`, `")) }
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
/// [`CheckError`] where there is nothing to check; what is wrong with a model that can be read is in
/// [`Checked::errors`].
pub fn check<'a>(
    bytes: &'a [u8],
    catalogue: &'a dyn Catalogue,
    universe: &Arc<Universe>,
    options: &Options,
) -> Result<Checked<'a>, CheckError> {
    check_with(bytes, catalogue, universe, options, SeedConflict::RejectSeed)
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
    let graph = model.graph().ok_or(CheckError::NoGraph)?;
    let mut operators = Operators::new(catalogue);
    let imports = imports(model.opset_imports())?;
    let own = operators.add_imports(imports.clone());
    for function in model.functions() {
        let view = function?;
        let mut own_imports = self::imports(view.opset_imports())?;
        if own_imports.is_empty() {
            own_imports.clone_from(&imports);
        }
        let imports = operators.add_imports(own_imports);
        let (domain, name, overload) = (view.domain()?, view.name()?, view.overload()?);
        operators.add_function(Function { domain, name, overload, view, imports });
    }
    // Before IR version 4, every initializer had to be listed as an input.
    let defaults = if model.ir_version() < 4 { Defaults::Constant } else { Defaults::Replaceable };
    let body = build::main(graph, defaults, &mut |domain, name, overload| {
        operators.resolve(own, domain, name, overload)
    })?;
    let versions = load::versions(&model, &operators);
    let mut checked = solve::solve(Some(model), Arc::new(body), operators, universe, options, conflict)?;
    checked.errors.splice(0..0, versions);
    Ok(checked)
}

fn imports<'a>(
    imports: impl Iterator<Item = Result<typeloom_onnx::view::OpsetId<'a>, DecodeError>>,
) -> Result<Vec<(&'a str, i64)>, DecodeError> {
    imports.map(|import| import.map(|import| (import.domain, import.version))).collect()
}
