//! Checks models in textual syntax with the standard operators.

use std::sync::Arc;

use prost::Message;
use typeloom_onnx::text::{parse_model, parse_type};
use typeloom_ops::catalogue::Standard;
use typeloom_solver::diagnostic::{Diagnostic, diagnose};
use typeloom_solver::model::{Checked, Mode, Options, Seed, check};
use typeloom_solver::universe::Universe;

/// Types that the caller gives, with the names of their values.
pub(crate) type Seeds = Vec<(String, Seed)>;

/// Reads the seeds (`seed=x:int64[3]`) among the words that follow the language of a code fence.
pub(crate) fn seeds_of<'w>(words: impl Iterator<Item = &'w str>) -> Seeds {
    words
        .filter_map(|word| word.strip_prefix("seed=")?.split_once(':'))
        .map(|(name, ty)| (name.to_owned(), Seed::Onnx(parse_type(ty).unwrap().encode_to_vec())))
        .collect()
}

/// The bytes of a model in textual syntax.
pub(crate) fn bytes_of(text: &str) -> Vec<u8> {
    parse_model(text).unwrap_or_else(|error| panic!("{error}\n{text}")).encode_to_vec()
}

/// The diagnostics of a model in textual syntax, in strict mode.
pub(crate) fn check_text(text: &str, seeds: &Seeds) -> Vec<Diagnostic> {
    let bytes = bytes_of(text);
    let options = Options { seeds: seeds.clone(), ..Options::default() };
    diagnose(&mut checked(&bytes, &options))
}

/// A checked model.
pub(crate) fn checked<'a>(bytes: &'a [u8], options: &Options) -> Checked<'a> {
    check(bytes, &Standard, universe(), options).unwrap_or_else(|error| panic!("{error}"))
}

/// Options of permissive mode that also record why each value has its type.
pub(crate) fn traced() -> Options {
    Options { mode: Mode::Permissive, trace: true, ..Options::default() }
}

pub(crate) fn universe() -> &'static Arc<Universe> {
    Universe::standard()
}
