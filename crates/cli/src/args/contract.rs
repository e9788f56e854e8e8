//! The arguments for contracts for serving.

use clap::builder::PossibleValue;
use clap::{Args as ClapArgs, ValueEnum};
use typeloom_project::parts::serving::Format;

/// A contract, or code, instead of an interface.
#[derive(Debug, Default, ClapArgs)]
#[command(next_help_heading = "Contracts and code")]
pub(crate) struct ContractArgs {
    /// Write a contract for serving (see docs/serving.md) or code
    #[arg(long = "as", value_enum, value_name = "FORMAT", id = "contract", conflicts_with = "format")]
    pub(crate) format: Option<As>,
    /// The name under which the model is served, or with which the names in the code begin (default: the name
    /// of the file without its extension; none in `triton`, where the name is that of the folder; of the
    /// program in `c-abi`)
    #[arg(long, value_name = "NAME", requires = "contract", alias = "name")]
    pub(crate) model_name: Option<String>,
    /// Of `triton`: let the server form batches of at most NUMBER; refused unless one symbol is the first
    /// axis of all inputs and outputs
    #[arg(long, value_name = "NUMBER", requires = "contract")]
    pub(crate) max_batch: Option<u32>,
}

/// A format of contracts or code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum As {
    Contract(Format),
    /// The header of the C interface.
    CAbi,
}

impl ValueEnum for As {
    fn value_variants<'a>() -> &'a [Self] {
        const ALL: [As; Format::ALL.len() + 1] = {
            let mut all = [As::CAbi; Format::ALL.len() + 1];
            let mut at = 0;
            while at < Format::ALL.len() {
                all[at] = As::Contract(Format::ALL[at]);
                at += 1;
            }
            all
        };
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let Self::Contract(format) = self else {
            let help = "The header of typeloom's C library, with the type tree and the ports of the program; without FILE, \
                        of no program (see docs/c-abi.md); `c-header` needs no library";
            return Some(PossibleValue::new("c-abi").help(help));
        };
        let help = match format {
            Format::Triton => "`config.pbtxt` of Triton Inference Server",
            Format::Oip => "Model metadata of the Open Inference Protocol, version 2",
            Format::Mlflow => "A model signature of MLflow",
            Format::JsonSchema => "JSON Schema of requests and responses with nested arrays",
            Format::OpenApi => "An OpenAPI document with the inference path of the Open Inference Protocol",
            Format::CHeader => {
                "A header in C99 and C++ with a structure for each input and output; `c-abi` is for typeloom's C library"
            }
            Format::Rust => "A Rust module with structures and a trait",
            Format::Python => "A Python module with dataclasses of NumPy arrays",
        };
        Some(PossibleValue::new(format.name()).help(help))
    }
}
