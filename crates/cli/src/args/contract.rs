//! The arguments for contracts for serving.

use clap::builder::PossibleValue;
use clap::{Args as ClapArgs, ValueEnum};
use typeloom_project::parts::serving::Format;

/// A contract instead of an interface.
#[derive(Debug, Default, ClapArgs)]
pub(crate) struct ContractArgs {
    /// Write a contract for serving (see docs/serving.md)
    #[arg(long = "as", value_enum, value_name = "FORMAT", id = "contract", conflicts_with = "format")]
    pub(crate) format: Option<FormatName>,
    /// The name under which the model is served (default: the name of the file without its extension; none in
    /// `triton`, where the name is that of the folder)
    #[arg(long, value_name = "NAME", requires = "contract")]
    pub(crate) model_name: Option<String>,
    /// Of `triton`: let the server form batches of at most NUMBER; refused unless one symbol is the first
    /// axis of all inputs and outputs
    #[arg(long, value_name = "NUMBER", requires = "contract")]
    pub(crate) max_batch: Option<u32>,
}

/// A format of contracts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FormatName(pub(crate) Format);

impl ValueEnum for FormatName {
    fn value_variants<'a>() -> &'a [Self] {
        const ALL: [FormatName; Format::ALL.len()] = {
            let mut all = [FormatName(Format::Triton); Format::ALL.len()];
            let mut at = 0;
            while at < all.len() {
                all[at] = FormatName(Format::ALL[at]);
                at += 1;
            }
            all
        };
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let help = match self.0 {
            Format::Triton => "`config.pbtxt` of Triton Inference Server",
            Format::Oip => "Model metadata of the Open Inference Protocol, version 2",
            Format::Mlflow => "A model signature of MLflow",
            Format::JsonSchema => "JSON Schema of requests and responses with nested arrays",
            Format::OpenApi => "An OpenAPI document with the inference path of the Open Inference Protocol",
            Format::CHeader => "A header in C99 and C++ with structures",
            Format::Rust => "A Rust module with structures and a trait",
            Format::Python => "A Python module with dataclasses of NumPy arrays",
        };
        Some(PossibleValue::new(self.0.name()).help(help))
    }
}
