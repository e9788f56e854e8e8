//! Typed linking: one model that computes the second of two models on outputs of the first.
//!
//! [`link()`] connects outputs of one model with inputs of another by their solved types. The result computes
//! what the two models compute one after the other, and its types are those of the two models.
//!
//! | step | module |
//! |---|---|
//! | check both models, decode all but stored tensors | `source` |
//! | find the connections | `map` |
//! | unify the types, collect conflicts | `unify` |
//! | choose one version of each operator set | `opsets` |
//! | choose the names of values, nodes, symbols and functions | `plan`, `symbols`, `functions` |
//! | write the records of both models | `rename`, `write`, `join` |
//! | check the result, compare its interface with the expected one | `verify` |
//!
//! # Invariants
//!
//! - A result is well typed, and can replace the sequence of the two models for every caller. An interface
//!   that differs is [`LinkError::Interface`], and no file.
//! - The first model is not restricted: an input type of the second model that not every output satisfies is
//!   a [`Conflict`], unless the options allow to narrow symbols or to accept claims without a proof.
//! - Bytes of stored tensors are not copied or read. The result is a list of [`Piece`]s.
//! - The same input gives the same bytes.
//!
//! # Limits
//!
//! Training steps and compiled programs are refused. There is no version converter for operators. Inputs of
//! equal names are not merged. Nodes whose outputs nothing reads are kept.
//!
//! Example of [`link()`]:
//!
//! ```
//! use typeloom_link::{Connection, LinkOptions, Part, link};
//! use typeloom_onnx::prost::Message;
//! use typeloom_onnx::text::parse_model;
//! use typeloom_ops::catalogue::Standard;
//! use typeloom_solver::universe::Universe;
//!
//! let model = |graph: &str| {
//!     let text = format!("<ir_version: 10, opset_import: [\"\" : 21]>\n{graph}");
//!     parse_model(&text).map(|model| model.encode_to_vec().into())
//! };
//! let first = model("a (float[N, 8] x) => (float[N, 8] y) { y = Relu(x) }")?;
//! let second = model("b (float[batch, 8] x) => (float[batch, 8] z) { z = Exp(x) }")?;
//! let options = LinkOptions { map: vec![Connection::new("y", "x")], ..LinkOptions::default() };
//! let parts = [Part { name: "a.onnx", bytes: &first }, Part { name: "b.onnx", bytes: &second }];
//! let linked = link(&parts, &Standard, Universe::standard(), &options)?;
//! assert_eq!(linked.interface.to_string(), "(x: float[N, 8]) -> (z: float[N, 8])");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod error;
mod external;
mod fields;
mod functions;
mod join;
mod map;
mod opsets;
mod plan;
mod rename;
mod scan;
mod source;
mod symbols;
mod unify;
mod verify;
mod walk;
mod write;

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use typeloom_interface::Interface;
use typeloom_solver::catalogue::Catalogue;
use typeloom_solver::elem::Elem;
use typeloom_solver::model::Mode;
use typeloom_solver::universe::Universe;

pub use error::{Conflict, LinkError};
pub use external::external_locations;
pub use map::Connection;
pub use opsets::OpsetChange;
pub use plan::Rename;
pub use symbols::Substitution;
pub use write::Piece;

/// A model to link.
#[derive(Clone, Copy, Debug)]
pub struct Part<'a> {
    /// The name in messages.
    pub name: &'a str,
    /// The serialized model.
    pub bytes: &'a Bytes,
}

/// Permitted casts between connected tensors.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Casts {
    /// None: different element types are a conflict.
    #[default]
    Never,
    /// Casts that keep every value.
    Lossless,
    /// All casts.
    Any,
}

/// Treatment of symbols of the first model that the second one restricts to one value.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Narrowing {
    /// They are conflicts.
    #[default]
    Reject,
    /// The result has the value instead of the symbol.
    Allow,
}

/// Treatment of claims without a proof, which a run can refute.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Unproven {
    /// They are conflicts.
    #[default]
    Reject,
    /// They are reported.
    Accept,
}

/// The outputs of the result.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Outputs {
    /// The outputs of the first model that are not connected, and those of the second one.
    #[default]
    Unconsumed,
    /// All outputs of both models.
    All,
    /// The outputs of these names, in this order.
    Named(Vec<String>),
}

/// Options of [`link()`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LinkOptions {
    /// The connections. If there are none, outputs and inputs of equal names are connected.
    pub map: Vec<Connection>,
    /// Permitted casts.
    pub casts: Casts,
    /// Treatment of symbols that must have one value.
    pub narrowing: Narrowing,
    /// Treatment of claims without a proof.
    pub unproven: Unproven,
    /// The outputs of the result.
    pub outputs: Outputs,
    /// The prefixes of all names of values and nodes, by model.
    pub prefixes: [String; 2],
    /// New locations of external data, by model. Others stay as they are.
    pub locations: [BTreeMap<String, String>; 2],
    /// The mode of all checks.
    pub mode: Mode,
}

/// A connection of the result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Joined {
    /// The output and the input.
    pub connection: Connection,
    /// The type of the output in the result.
    pub ty: String,
    /// The inserted cast.
    pub cast: Option<InsertedCast>,
}

/// A cast between an output and the inputs that it is connected to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InsertedCast {
    /// The element type of the output.
    pub from: Elem,
    /// The element type of the input.
    pub to: Elem,
    /// The value that inputs read.
    pub value: String,
}

impl InsertedCast {
    /// Whether the cast can lose values.
    #[must_use]
    pub fn is_lossy(&self) -> bool {
        !typeloom_rewrite::coerce::keeps_values(self.from, self.to)
    }
}

/// A linked model.
#[derive(Clone, Debug)]
pub struct Linked {
    /// The file.
    pub pieces: Vec<Piece>,
    /// The interface of the result.
    pub interface: Interface,
    /// The connections.
    pub joined: Vec<Joined>,
    /// The symbols that are other extents in the result.
    pub substitutions: Vec<Substitution>,
    /// The changed names.
    pub renames: Vec<Rename>,
    /// The changed versions of operator sets.
    pub opsets: Vec<OpsetChange>,
    /// The accepted claims, each a clause.
    pub unproven: Vec<String>,
    /// Parts of the models that the result lacks, each a clause.
    pub dropped: Vec<String>,
}

impl Linked {
    /// The file, from the files of the models.
    ///
    /// # Panics
    /// If `models` are not the files that were linked.
    #[must_use]
    pub fn to_vec(&self, models: [&[u8]; 2]) -> Vec<u8> {
        let mut file = Vec::new();
        for piece in &self.pieces {
            match piece {
                Piece::Old { model, range } => file.extend_from_slice(&models[*model][range.clone()]),
                Piece::New(bytes) => file.extend_from_slice(bytes),
            }
        }
        file
    }
}

/// Joins two serialized models.
///
/// # Errors
/// [`LinkError`] with both sides of everything that does not fit.
pub fn link(
    parts: &[Part<'_>; 2],
    catalogue: &dyn Catalogue,
    universe: &Arc<Universe>,
    options: &LinkOptions,
) -> Result<Linked, LinkError> {
    join::join(parts, catalogue, universe, options)
}
