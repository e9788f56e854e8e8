//! The peer table: selection and sampling.

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use typeloom_components::peers::{PeerTable, PeersError, Preference};
use typeloom_contracts::peer_selector::PeerSelector;
use typeloom_tensor::peer::PeerId;

fn peer(number: u8) -> PeerId {
    PeerId(vec![number])
}

fn table(peers: &[(u8, f64, u64)], preference: Preference, seed: u64) -> PeerTable {
    let mut table = PeerTable::new(preference, seed);
    for (number, score, seen) in peers {
        table.observe(peer(*number), *score, *seen).expect("it is a score");
    }
    table
}

#[test]
fn samples_have_no_peer_twice_and_follow_from_the_seed() {
    let cases = (prop::collection::btree_set(any::<u8>(), 0..40), any::<u64>(), 0..45_usize);
    let law = |(numbers, seed, count): (std::collections::BTreeSet<u8>, u64, usize)| {
        let peers: Vec<_> = numbers.iter().map(|number| (*number, 0.0, 0)).collect();
        let backwards: Vec<_> = peers.iter().rev().copied().collect();
        let mut forth = table(&peers, Preference::Score, seed);
        let mut back = table(&backwards, Preference::Score, seed);
        for _ in 0..3 {
            let drawn = forth.sample(count);
            prop_assert_eq!(&drawn, &back.sample(count));
            if count > numbers.len() {
                prop_assert_eq!(drawn, Err(PeersError::TooFew { wanted: count, known: numbers.len() }));
                continue;
            }
            let mut drawn = drawn.expect("there are enough");
            prop_assert_eq!(drawn.len(), count);
            drawn.sort();
            drawn.dedup();
            prop_assert_eq!(drawn.len(), count);
            prop_assert!(drawn.iter().all(|peer| numbers.contains(&peer.0[0])));
        }
        Ok(())
    };
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[5; 32]);
    TestRunner::new_with_rng(Config::with_cases(64), rng).run(&cases, law).expect("the law holds");
}

#[test]
fn every_peer_is_drawn_about_equally_often() {
    let mut table = table(&[(0, 9.0, 0), (1, 0.0, 0), (2, 5.0, 0), (3, 1.0, 0)], Preference::Score, 1);
    let mut counts = [0_u32; 4];
    for _ in 0..2_000 {
        for peer in table.sample(2).expect("there are enough") {
            counts[usize::from(peer.0[0])] += 1;
        }
    }
    assert!(counts.iter().all(|count| (900..1_100).contains(count)), "{counts:?}");
}

#[test]
fn the_best_or_the_freshest_are_selected_ties_by_id() {
    let peers = [(3, 1.0, 5), (1, 1.0, 5), (2, 2.0, 1), (4, 0.5, 9)];
    let mut by_score = table(&peers, Preference::Score, 0);
    assert_eq!(by_score.select(3), Ok(vec![peer(2), peer(1), peer(3)]));
    let mut by_freshness = table(&peers, Preference::Freshness, 0);
    assert_eq!(by_freshness.select(3), Ok(vec![peer(4), peer(1), peer(3)]));
    assert_eq!(by_score.current_view(), Ok(vec![peer(1), peer(2), peer(3), peer(4)]));
}

#[test]
fn peers_are_forgotten_by_name_and_by_age() {
    let mut table = table(&[(1, 1.0, 5), (2, 1.0, 6), (3, 1.0, 7)], Preference::Score, 0);
    table.observe(peer(1), 0.5, 2).expect("it is a score");
    assert_eq!(table.standing(&peer(1)).map(|standing| (standing.score, standing.seen)), Some((0.5, 5)));
    assert!(table.forget(&peer(3)) && !table.forget(&peer(3)));
    assert_eq!(table.expire(6), 1);
    assert_eq!(table.current_view(), Ok(vec![peer(2)]));
    assert!(matches!(table.observe(peer(9), f64::NAN, 0), Err(PeersError::NoScore { .. })));
}
