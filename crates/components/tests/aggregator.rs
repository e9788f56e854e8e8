//! Laws of the aggregators.

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use typeloom_components::aggregator::{AggregateError, Contribution, FederatedAverage, Trim, TrimmedMean};
use typeloom_contracts::aggregator::Aggregator;
use typeloom_tensor::any_tensor::AnyTensor;

fn runner() -> TestRunner {
    TestRunner::new_with_rng(Config::with_cases(128), TestRng::from_seed(RngAlgorithm::ChaCha, &[3; 32]))
}

fn contribute<A>(aggregator: &mut A, all: &[(String, Vec<f64>, u64)])
where
    A: Aggregator<Element = [f64], Metadata = Contribution, Error = AggregateError>,
{
    for (source, element, samples) in all {
        aggregator.contribute(source, element, Contribution { samples: *samples }).expect("it fits");
    }
}

fn named(all: &[(Vec<f64>, u64)]) -> Vec<(String, Vec<f64>, u64)> {
    all.iter().enumerate().map(|(at, (element, n))| (format!("peer{at}"), element.clone(), *n)).collect()
}

/// Finite numbers of every magnitude.
fn number() -> impl Strategy<Value = f64> {
    any::<f64>().prop_filter("finite", |value| value.is_finite() && *value != 0.0)
}

#[test]
fn the_mean_of_equal_contributions_is_that_contribution() {
    let cases = (prop::collection::vec(number(), 0..8), prop::collection::vec(1..1_000_000_u64, 1..12));
    let law = |(element, samples): (Vec<f64>, Vec<u64>)| {
        let all: Vec<_> = samples.iter().map(|n| (element.clone(), *n)).collect();
        let mut average: FederatedAverage<[f64]> = FederatedAverage::default();
        contribute(&mut average, &named(&all));
        prop_assert_eq!(&*average.aggregate().expect("there are some"), &*element);
        for trim in [Trim::OneIn(3), Trim::ToMedian, Trim::Each((samples.len() - 1) / 2)] {
            let mut mean: TrimmedMean<[f64]> = TrimmedMean::new(trim);
            contribute(&mut mean, &named(&all));
            prop_assert_eq!(&*mean.aggregate().expect("there are some"), &*element);
        }
        Ok(())
    };
    runner().run(&cases, law).expect("the law holds");
}

#[test]
fn a_mean_is_between_the_extremes_and_independent_of_the_order_of_arrival() {
    let one = (prop::collection::vec(number(), 3), 0..100_u64);
    let cases =
        prop::collection::vec(one, 1..10).prop_filter("some samples", |all| all.iter().any(|it| it.1 > 0));
    let law = |all: Vec<(Vec<f64>, u64)>| {
        let named = named(&all);
        let reversed: Vec<_> = named.iter().rev().cloned().collect();
        let (mut forth, mut back) =
            (FederatedAverage::<[f64]>::default(), FederatedAverage::<[f64]>::default());
        contribute(&mut forth, &named);
        contribute(&mut back, &reversed);
        let mean = forth.aggregate().expect("there are samples");
        prop_assert_eq!(&mean, &back.aggregate().expect("there are samples"));
        for (at, mean) in mean.iter().enumerate() {
            let values = || all.iter().filter(|it| it.1 > 0).map(|it| it.0[at]);
            let (least, greatest) =
                (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max));
            prop_assert!(least <= *mean && *mean <= greatest);
        }
        Ok(())
    };
    runner().run(&cases, law).expect("the law holds");
}

#[test]
fn weights_are_numbers_of_samples() {
    // Compare with the mean over all samples in exact integers.
    let cases = prop::collection::vec((-1_000..1_000_i64, 1..50_i64), 1..20);
    let law = |all: Vec<(i64, i64)>| {
        let mut average: FederatedAverage<[f64]> = FederatedAverage::default();
        let floats: Vec<_> = all.iter().map(|(x, n)| (vec![*x as f64], n.unsigned_abs())).collect();
        contribute(&mut average, &named(&floats));
        let mean = average.aggregate().expect("there are some")[0];
        let (sum, count) = all.iter().fold((0, 0), |(sum, count), (x, n)| (sum + x * n, count + n));
        prop_assert!((mean - sum as f64 / count as f64).abs() <= 1e-12 * mean.abs().max(1.0));
        Ok(())
    };
    runner().run(&cases, law).expect("the law holds");
}

#[test]
fn sums_keep_small_contributions_next_to_large_ones() {
    let mut average: FederatedAverage<[f64]> = FederatedAverage::default();
    let all: Vec<_> = [1e16, 1.0, 1.0, -1e16].iter().map(|x| (vec![*x], 1)).collect();
    contribute(&mut average, &named(&all));
    assert_eq!(*average.aggregate().expect("there are some"), [0.5]);
}

#[test]
fn a_trimmed_mean_withstands_as_many_wrong_peers_as_it_trims() {
    let mut mean: TrimmedMean<[f64]> = TrimmedMean::new(Trim::Each(2));
    let all: Vec<_> = [1.0, 2.0, 3.0, 1e308, -1e308].iter().map(|x| (vec![*x], u64::MAX)).collect();
    contribute(&mut mean, &named(&all));
    assert_eq!(*mean.aggregate().expect("there are enough"), [2.0]);
    contribute(&mut mean, &named(&all[..4]));
    assert_eq!(mean.aggregate(), Err(AggregateError::TooFew { needed: 5, found: 4 }));
}

#[test]
fn a_contribution_that_arrives_twice_counts_once_and_a_round_begins_anew() {
    let mut average: FederatedAverage<AnyTensor> = FederatedAverage::of_at_least(2);
    let one = Contribution::default();
    average.contribute("a", &AnyTensor::from([1.0_f32]), one).expect("it fits");
    average.contribute("a", &AnyTensor::from([3.0_f32]), one).expect("it fits");
    assert_eq!(average.aggregate(), Err(AggregateError::TooFew { needed: 2, found: 1 }));
    average.contribute("b", &AnyTensor::from([5.0_f32]), one).expect("it fits");
    assert_eq!(*average.aggregate().expect("there are two"), AnyTensor::from([4.0_f32]));
    assert!(average.is_empty());
}

#[test]
fn contributions_that_do_not_fit_are_refused_with_their_source() {
    let mut average: FederatedAverage<AnyTensor> = FederatedAverage::default();
    let one = Contribution::default();
    average.contribute("a", &AnyTensor::from([1.0_f32, 2.0]), one).expect("it fits");
    let mut refused = |tensor: AnyTensor| average.contribute("b", &tensor, one).expect_err("it does not fit");
    let shape = refused(AnyTensor::from([1.0_f32]));
    assert_eq!(shape.to_string(), "`b` contributed [1], but the others have shape [2]");
    let ty = refused(AnyTensor::from([1.0_f64, 2.0]));
    assert_eq!(ty.to_string(), "`b` contributed f64, but the others are f32");
    let nan = refused(AnyTensor::from([1.0_f32, f32::NAN]));
    assert_eq!(nan.to_string(), "element 1 of the contribution of `b` is not finite");
    assert!(matches!(refused(AnyTensor::from([1_i64, 2])), AggregateError::NotFloats { .. }));
    assert_eq!(*average.aggregate().expect("one fitted"), AnyTensor::from([1.0_f32, 2.0]));
    average.contribute("a", &AnyTensor::from([1.0_f32]), Contribution { samples: 0 }).expect("it fits");
    assert_eq!(average.aggregate(), Err(AggregateError::NoSamples));
}

#[test]
fn metadata_of_a_contribution_is_encoded_as_bytes() {
    let said = Contribution { samples: 1 << 40 };
    assert_eq!(Contribution::try_from(&said.to_bytes()[..]), Ok(said));
    assert!(Contribution::try_from(&[1, 2][..]).is_err());
}
