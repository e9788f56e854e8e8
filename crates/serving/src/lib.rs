//! Contracts for serving: the formats in which systems that serve models describe inputs and outputs.
//!
//! [`write()`] generates a contract from an [`Interface`]; [`Contract::read`] reads one, and
//! [`Contract::project`] prepares an interface for the comparison with it by [`typeloom_interface::compare`].
//!
//! Every format has one file, and converts from or to a [`Signature`], a list of named tensors. No format
//! states all facts of an interface: `docs/serving.md` has the table. Formats with comments or descriptions
//! contain the missing facts as text.
//!
//! **Invariant:** the text of a contract depends on the interface and the [`Options`] only.
//!
//! **Invariant:** names of a model are arbitrary text. They are escaped in strings and comments, and
//! converted to distinct [identifiers](identifier) elsewhere.
//!
//! Limits: dense tensors only, with at most [`MAX_RANK`](signature::MAX_RANK) axes. Contracts that are read
//! have at most [`MAX_BYTES`] bytes.
//!
//! ```
//! use typeloom_interface::{Interface, PortIdentity, compare};
//! use typeloom_onnx::text::model_bytes;
//! use typeloom_serving::{Contract, Format, Options, write};
//!
//! # use typeloom_pool::compat::Direction;
//! let model = model_bytes(r#"<ir_version: 10, opset_import: ["" : 21]> g (float[N, 3] x) => (y) { y = Relu(x) }"#)?;
//! let interface = Interface::of(&model)?;
//! let config = write(Format::Triton, &interface, &Options::named("scorer"))?;
//! assert!(config.contains("dims: [ -1, 3 ] # float[N, 3]"));
//!
//! let contract = Contract::read(config.as_bytes(), Some("config.pbtxt"))?;
//! let model = contract.project(&interface);
//! let comparison = compare(&contract.interface(), &model.interface, Direction::Backward, PortIdentity::Name);
//! assert!(comparison.is_compatible());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod c_header;
pub mod c_text;
mod contract;
mod error;
mod json;
mod json_schema;
mod mlflow;
mod oip;
mod openapi;
mod python;
mod rust;
mod template;
mod textproto;
mod triton;

pub mod identifier;
pub mod signature;

use std::fmt;

use typeloom_interface::Interface;

pub use contract::{Contract, MAX_BYTES, Projection};
pub use error::{ContractError, ReadError, Reason};
use signature::Signature;

/// A format of contracts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// The model configuration of Triton Inference Server, `config.pbtxt`.
    Triton,
    /// Model metadata of the Open Inference Protocol, version 2, as JSON.
    Oip,
    /// The model signature of MLflow, as JSON.
    Mlflow,
    /// JSON Schemas of a request and a response with nested arrays.
    JsonSchema,
    /// An OpenAPI 3.1 document with the inference request of the Open Inference Protocol.
    OpenApi,
    /// A header in C99 and C++.
    CHeader,
    /// A Rust module.
    Rust,
    /// A Python module.
    Python,
}

impl Format {
    /// Every format.
    pub const ALL: [Self; 8] = [
        Self::Triton,
        Self::Oip,
        Self::Mlflow,
        Self::JsonSchema,
        Self::OpenApi,
        Self::CHeader,
        Self::Rust,
        Self::Python,
    ];

    /// The name in commands.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Triton => "triton",
            Self::Oip => "oip",
            Self::Mlflow => "mlflow",
            Self::JsonSchema => "json-schema",
            Self::OpenApi => "openapi",
            Self::CHeader => "c-header",
            Self::Rust => "rust",
            Self::Python => "python",
        }
    }

    /// The format of a name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Settings of a contract.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Options {
    /// The name under which the model is served. Without one, a configuration of Triton has none, so that it
    /// applies to the model of its folder; other formats use `model`.
    pub name: Option<String>,
    /// Of [`Format::Triton`]: the maximum batch size. The first axis of all inputs and outputs is then the
    /// axis of batches, which the configuration leaves out.
    pub max_batch: Option<u32>,
}

impl Options {
    /// A name, and no batches.
    #[must_use]
    pub fn named(name: &str) -> Self {
        Self { name: Some(name.to_owned()), max_batch: None }
    }

    fn name_or_default(&self) -> &str {
        self.name.as_deref().unwrap_or("model")
    }
}

/// Writes a contract; the text ends in a line break.
///
/// # Errors
/// [`ContractError`] for a type that the format cannot express, with the name of the input or output.
pub fn write(format: Format, interface: &Interface, options: &Options) -> Result<String, ContractError> {
    if options.max_batch.is_some() && format != Format::Triton {
        return Err(ContractError::MaxBatch);
    }
    let signature = Signature::of(interface)?;
    match format {
        Format::Triton => triton::write(&signature, options),
        Format::Oip => oip::write(&signature, options),
        Format::Mlflow => mlflow::write(&signature),
        Format::JsonSchema => json_schema::write(&signature, options),
        Format::OpenApi => openapi::write(&signature, options),
        Format::CHeader => Ok(c_header::write(&signature, options)),
        Format::Rust => Ok(rust::write(&signature, options)),
        Format::Python => Ok(python::write(&signature, options)),
    }
}
