//! Operators that generate random numbers.

use typeloom_dim::shape::DimVec;
use typeloom_solver::rule::Port::{In, Out};
use typeloom_solver::rule::{RuleCx, RuleResult};

use super::common::{Source, require_extent, set_elem_attr, set_elem_attr_or_same, set_extents};
use super::elementwise::SAME_SHAPE;
use super::{Entry, rule};

pub(super) const OPERATORS: &[Entry] = &[
    Entry::of("Bernoulli RandomNormalLike RandomUniformLike", &[SAME_SHAPE, rule("random.like", like)]),
    Entry::of("Multinomial", &[rule("multinomial.samples", multinomial)]),
    Entry::of("RandomNormal RandomUniform", &[rule("random.shape", shaped)]),
];

/// The output has the extents in `shape` and the type of `dtype`. Source: RandomNormal, `shape` and `dtype`.
fn shaped(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    set_elem_attr(cx, Out(0), "dtype")?;
    let Some(extents) = cx.attr_ints("shape")? else { return Ok(()) };
    let mut shape = DimVec::new();
    for extent in extents {
        let extent = cx.dims().constant(extent);
        shape.push(require_extent(cx, Source::Attribute("shape"), extent)?);
    }
    cx.set_shape(Out(0), &shape)
}

/// The output has the type of `dtype` or of the input. Source: RandomNormalLike and Bernoulli, `dtype`.
fn like(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    set_elem_attr_or_same(cx, Out(0), "dtype")
}

/// `sample_size` samples for each row of the input. Source: Multinomial, `input` and `output`.
fn multinomial(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    set_elem_attr(cx, Out(0), "dtype")?;
    let samples = cx.attr_int("sample_size")?.unwrap_or(1);
    let samples = cx.dims().constant(samples);
    require_extent(cx, Source::Attribute("sample_size"), samples)?;
    let rows = cx.shape_of_rank(In(0), 2..=2)?.map(|shape| shape[0]);
    set_extents(cx, Out(0), [rows, Some(samples)])
}

#[cfg(test)]
mod tests {
    use super::super::testing::{error, infer};

    #[test]
    fn random_tensors_have_the_requested_shape_and_type() {
        let types = infer(
            22,
            "g (double[N, 2] x) => () {
               a = RandomNormal <shape = [2, 3]> ()
               b = RandomUniform <shape = [4], dtype = 11> ()
               c = RandomNormalLike (x)
               d = RandomUniformLike <dtype = 10> (x)
               e = Bernoulli <dtype = 9> (x)
               f = Multinomial <sample_size = 5> (x)
               h = Multinomial <dtype = 7> (x)
             }",
        );
        assert_eq!(
            ["a", "b", "c", "d", "e", "f", "h"].map(|name| types[name].as_str()),
            [
                "float[2, 3]",
                "double[4]",
                "double[N, 2]",
                "float16[N, 2]",
                "bool[N, 2]",
                "int32[N, 5]",
                "int64[N, 1]"
            ]
        );
    }

    #[test]
    fn a_type_that_the_operator_does_not_support_is_an_error() {
        assert_eq!(
            error(22, "g () => (y) { y = RandomNormal <shape = [2], dtype = 7> () }"),
            "random.shape: dtype is int64, which the output cannot have"
        );
        assert_eq!(
            error(22, "g () => (y) { y = RandomNormal <shape = [2, -1]> () }"),
            "random.shape: shape has the negative extent -1"
        );
    }
}
