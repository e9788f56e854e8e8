//! The indices agree with a brute-force search in `f64`.

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use typeloom_components::index::{Exact, IndexError, Metric};
use typeloom_contracts::backend::by_execution::ByExecution;
use typeloom_contracts::index::Index;
use typeloom_runtime::backend::Cpu;
use typeloom_tensor::any_tensor::AnyTensor;

type OnCpu<V> = Exact<ByExecution<Cpu>, V>;

const METRICS: [Metric; 3] = [Metric::Euclidean, Metric::InnerProduct, Metric::Cosine];

fn runner(cases: u32) -> TestRunner {
    TestRunner::new_with_rng(Config::with_cases(cases), TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]))
}

fn distance(metric: Metric, a: &[f32], b: &[f32]) -> f64 {
    let pairs = || a.iter().zip(b).map(|(a, b)| (f64::from(*a), f64::from(*b)));
    let product = pairs().map(|(a, b)| a * b).sum::<f64>();
    let norm = |of: &[f32]| of.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt();
    match metric {
        Metric::Euclidean => pairs().map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt(),
        Metric::InnerProduct => -product,
        Metric::Cosine if norm(a) == 0.0 || norm(b) == 0.0 => 1.0,
        Metric::Cosine => (1.0 - product / norm(a) / norm(b)).clamp(0.0, 2.0),
    }
}

/// Brute-force search.
fn brute_force(metric: Metric, stored: &[(u64, Vec<f32>)], query: &[f32], k: usize) -> Vec<(u64, f64)> {
    let mut all: Vec<(u64, f64)> =
        stored.iter().map(|(id, vector)| (*id, distance(metric, vector, query))).collect();
    all.sort_by(|a, b| (a.1 + 0.0).total_cmp(&(b.1 + 0.0)).then(a.0.cmp(&b.0)));
    all.truncate(k);
    all
}

#[test]
fn an_exact_index_equals_a_full_comparison_with_ties_by_id() {
    // On a small integer grid, distances are exact and have many ties.
    let vectors = prop::collection::vec(prop::collection::vec(-2_i8..=2, 3), 1..40);
    let cases = (vectors, prop::collection::vec(-2_i8..=2, 3), 0..45_usize);
    let check = |(vectors, query, k): (Vec<Vec<i8>>, Vec<i8>, usize)| {
        let floats = |of: &[i8]| of.iter().map(|x| f32::from(*x)).collect::<Vec<f32>>();
        let query = floats(&query);
        // Ids in another order than insertion.
        let stored: Vec<(u64, Vec<f32>)> =
            vectors.iter().enumerate().map(|(at, v)| ((at as u64 * 37) % 101, floats(v))).collect();
        for metric in [Metric::Euclidean, Metric::InnerProduct] {
            let mut index: OnCpu<[f32]> = Exact::new(ByExecution(Cpu), metric);
            for (id, vector) in &stored {
                index.add(*id, vector).expect("it can be stored");
            }
            let found = index.search(&query, k).expect("it can be searched");
            let expected = brute_force(metric, &stored, &query, k);
            prop_assert_eq!(found.len(), expected.len());
            for ((id, distance), (expected_id, expected)) in found.iter().zip(&expected) {
                prop_assert_eq!((id, *distance), (expected_id, *expected as f32), "{:?}", metric);
            }
        }
        Ok(())
    };
    runner(64).run(&cases, check).expect("the law holds");
}

#[test]
fn an_exact_index_tolerates_the_rounding_of_its_product() {
    // Far from the origin, the difference of squares cancels: in 32 bits no digit of these distances would
    // remain.
    let offset = 30_000.0_f32;
    let stored: Vec<(u64, Vec<f32>)> = (0..64)
        .map(|at| (at, vec![offset + (at as f32) * 0.0078125, offset, -offset, offset * 0.5]))
        .collect();
    for metric in METRICS {
        let mut index: OnCpu<[f32]> = Exact::new(ByExecution(Cpu), metric);
        for (id, vector) in &stored {
            index.add(*id, vector).expect("it can be stored");
        }
        for (query_id, query) in stored.iter().step_by(9) {
            let found = index.search(query, 5).expect("it can be searched");
            let expected = brute_force(metric, &stored, query, 5);
            if metric == Metric::Euclidean {
                assert_eq!(found[0], (*query_id, 0.0));
                let ids = |found: Vec<u64>| found;
                assert_eq!(
                    ids(found.iter().map(|it| it.0).collect()),
                    expected.iter().map(|it| it.0).collect::<Vec<_>>()
                );
            }
            for ((_, distance), (_, expected)) in found.iter().zip(&expected) {
                let scale = expected.abs().max(1e-6);
                assert!((f64::from(*distance) - expected).abs() <= 1e-6 * scale, "{metric:?}");
            }
        }
    }
}

#[test]
fn removed_or_replaced_vectors_are_not_found() {
    let mut index: OnCpu<[f64]> = Exact::default();
    for id in 0..5_u64 {
        index.add(id, &[id as f64, 0.0]).expect("it can be stored");
    }
    assert_eq!(index.remove(1), Ok(true));
    assert_eq!(index.remove(1), Ok(false));
    index.add(0, &[10.0, 0.0]).expect("it can be replaced");
    assert_eq!(index.len(), 4);
    let found = index.search(&[0.0, 0.0], 9).expect("it can be searched");
    assert_eq!(found, [(2, 2.0), (3, 3.0), (4, 4.0), (0, 10.0)]);
    for id in [0, 2, 3, 4] {
        assert_eq!(index.remove(id), Ok(true));
    }
    assert_eq!(index.search(&[0.0, 0.0], 3), Ok(Vec::new()));
}

#[test]
fn several_queries_equal_single_queries() {
    let mut index: OnCpu<AnyTensor> = Exact::new(ByExecution(Cpu), Metric::Cosine);
    for id in 0..20_u64 {
        let at = id as f32;
        index.add(id, &AnyTensor::from([at.sin(), at.cos(), at * 0.1])).expect("it can be stored");
    }
    let queries = [AnyTensor::from([1.0_f32, 0.0, 0.0]), AnyTensor::from([0.0_f32, 0.0, 0.0])];
    let together = index.search_batch(&queries.each_ref(), 4).expect("it can be searched");
    for (query, found) in queries.iter().zip(&together) {
        assert_eq!(index.search(query, 4).as_ref(), Ok(found));
    }
    assert_eq!(together[1], [(0, 1.0), (1, 1.0), (2, 1.0), (3, 1.0)]);
}

#[test]
fn half_precision_vectors_are_compared_without_overflow() {
    let vector = |x: f32| AnyTensor::from([half::f16::from_f32(x), half::f16::from_f32(300.0)]);
    let mut index: OnCpu<AnyTensor> = Exact::default();
    for (id, x) in [(1, 300.0), (2, 301.0), (3, -300.0)] {
        index.add(id, &vector(x)).expect("it can be stored");
    }
    assert_eq!(index.search(&vector(301.0), 2), Ok(vec![(2, 0.0), (1, 1.0)]));
}

#[test]
fn vectors_that_do_not_fit_are_refused() {
    let mut index: OnCpu<AnyTensor> = Exact::default();
    index.add(1, &AnyTensor::from([1.0_f32, 2.0])).expect("it can be stored");
    let refused = |vector: AnyTensor| index.search(&vector, 1).expect_err("it does not fit");
    assert_eq!(refused(AnyTensor::from([1.0_f32])), IndexError::Length { expected: 2, found: 1 });
    assert!(matches!(refused(AnyTensor::from([1.0_f64, 2.0])), IndexError::ElementType { .. }));
    assert!(matches!(refused(AnyTensor::from([1_i32, 2])), IndexError::NotFloats(_)));
    assert_eq!(refused(AnyTensor::from([1.0_f32, f32::NAN])), IndexError::NotFinite { at: 1 });
    assert!(matches!(refused(AnyTensor::from_scalar(1.0_f32)), IndexError::NotAVector { .. }));
    let bad = AnyTensor::from([f32::INFINITY, 0.0]);
    assert_eq!(index.train(&[&bad]), Err(IndexError::NotFinite { at: 0 }));
}

#[cfg(feature = "approximate")]
mod approximate {
    use super::*;
    use typeloom_components::index::approximate::{Approximate, Settings};
    use typeloom_components::seeded::Seeded;

    fn vectors(count: u64, seed: u64) -> Vec<(u64, Vec<f32>)> {
        let mut seeded = Seeded::new(seed);
        let mut unit = || (seeded.unit() - 0.5) as f32;
        (0..count).map(|id| (id, (0..8).map(|_| unit()).collect())).collect()
    }

    fn filled(metric: Metric, stored: &[(u64, Vec<f32>)]) -> Approximate<ByExecution<Cpu>, [f32]> {
        let exact = Exact::new(ByExecution(Cpu), metric);
        let settings = Settings { candidates: 48, building: 32, seed: 9, least: 64 };
        let mut index: Approximate<_, [f32]> = Approximate::new(exact, settings);
        for (id, vector) in stored {
            index.add(*id, vector).expect("it can be stored");
        }
        index
    }

    #[test]
    fn most_of_the_nearest_are_found_also_after_changes() {
        for metric in [Metric::Euclidean, Metric::Cosine] {
            let mut stored = vectors(500, 1);
            let mut index = filled(metric, &stored);
            for id in (0..500).step_by(7) {
                assert_eq!(index.remove(id), Ok(true));
            }
            stored.retain(|(id, _)| id % 7 != 0);
            for (id, vector) in vectors(60, 2) {
                index.add(id, &vector).expect("it can be stored");
                stored.retain(|(other, _)| *other != id);
                stored.push((id, vector));
            }
            let (mut hits, mut all) = (0, 0);
            for (_, query) in vectors(40, 3) {
                let found = index.search(&query, 10).expect("it can be searched");
                let expected = brute_force(metric, &stored, &query, 10);
                assert_eq!(found.len(), 10);
                assert!(found.windows(2).all(|pair| pair[0].1 <= pair[1].1));
                for (id, distance) in &found {
                    let (_, vector) = stored.iter().find(|(other, _)| other == id).expect("it is stored");
                    let expected = super::distance(metric, vector, &query);
                    assert!((f64::from(*distance) - expected).abs() < 1e-6);
                }
                hits += expected.iter().filter(|(id, _)| found.iter().any(|(other, _)| other == id)).count();
                all += expected.len();
            }
            let recall = hits as f64 / all as f64;
            assert!(recall >= 0.95, "{metric:?}: recall is {recall}");
        }
    }

    #[test]
    fn answers_are_independent_of_the_order_of_insertion() {
        let stored = vectors(200, 4);
        let reversed: Vec<_> = stored.iter().rev().cloned().collect();
        let (mut a, mut b) = (filled(Metric::Euclidean, &stored), filled(Metric::Euclidean, &reversed));
        a.train(&[]).expect("it can be built");
        b.train(&[]).expect("it can be built");
        for (_, query) in vectors(10, 5) {
            assert_eq!(a.search(&query, 20), b.search(&query, 20));
        }
    }

    #[test]
    fn incomplete_answers_of_the_graph_are_computed_exactly() {
        let stored = vectors(130, 6);
        let index = filled(Metric::Euclidean, &stored);
        let found = index.search(&stored[3].1, 130).expect("it can be searched");
        assert_eq!(found.len(), 130);
        assert_eq!(found[0], (3, 0.0));
    }
}
