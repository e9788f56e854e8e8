//! Operators that create tables for signal processing: windows and the mel scale.

use typeloom_dim::DimId;
use typeloom_solver::rule::Port::{In, Out};
use typeloom_solver::rule::{RuleCx, RuleError, RuleResult};

use super::common::{Source, require_extent, set_elem_attr, set_extents, single};
use super::signal::one_sided_bins;
use super::{Entry, rule};

pub(super) const OPERATORS: &[Entry] = &[
    Entry::of("BlackmanWindow HammingWindow HannWindow", &[rule("window.size", window)]),
    Entry::of("MelWeightMatrix", &[rule("melweightmatrix.shape", mel)]),
];

fn output_type(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    match set_elem_attr(cx, Out(0), "output_datatype")? {
        Some(_) => Ok(()),
        None => Err(RuleError::attribute("output_datatype", "does not name an element type")),
    }
}

/// An extent given by an input, or the unknown one of this output axis.
fn extent(cx: &mut RuleCx<'_, '_>, at: usize) -> RuleResult<Option<DimId>> {
    match single(cx, In(at))? {
        Some(extent) => require_extent(cx, Source::Input(In(at)), extent).map(Some),
        None => Ok(None),
    }
}

/// The window has `size` elements of the type of `output_datatype`. Source: HannWindow, `size`.
fn window(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    output_type(cx)?;
    let size = extent(cx, 0)?;
    set_extents(cx, Out(0), [size])
}

/// The matrix is `[dft_length/2 + 1, num_mel_bins]`. Source: MelWeightMatrix, `num_mel_bins` and
/// `dft_length`.
fn mel(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    output_type(cx)?;
    let bins = extent(cx, 1)?.map(|length| one_sided_bins(cx, length));
    let bands = extent(cx, 0)?;
    for at in 2..5 {
        super::common::require_single(cx, In(at))?;
    }
    set_extents(cx, Out(0), [bins, bands])
}

#[cfg(test)]
mod tests {
    use super::super::testing::{error, infer, infer_y};

    #[test]
    fn a_window_is_as_long_as_its_size() {
        let types = infer(
            17,
            "g (float[N] x, int32 runtime) => () <int64 ten = {10}> {
               a = HannWindow (ten)
               n = Size (x)
               b = HammingWindow <output_datatype = 11> (n)
               c = BlackmanWindow (runtime)
             }",
        );
        assert_eq!(["a", "b", "c"].map(|name| types[name].as_str()), ["float[10]", "double[N]", "float[?]"]);
    }

    #[test]
    fn a_mel_matrix_has_half_the_frequencies_and_the_bands() {
        let graph =
            "g (float low, float high) => (y) <int64 bands = {8}, int64 length = {17}, int64 rate = {8192}> {
          y = MelWeightMatrix (bands, length, rate, low, high)
        }";
        assert_eq!(infer_y(17, graph), "float[9, 8]");
    }

    #[test]
    fn a_negative_size_is_an_error() {
        let graph = "g () => (y) <int64 size = {-1}> { y = HannWindow (size) }";
        assert_eq!(error(17, graph), "window.size: input 0 has the negative extent -1");
    }
}
