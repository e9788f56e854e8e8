//! Repairs of random models keep the values that were right, with the fewest casts. `TYPELOOM_SEED` repeats a
//! run.

use typeloom_differential::broken::Broken;
use typeloom_differential::choices::Choices;
use typeloom_differential::repairs::{has_fewer, judge};
use typeloom_rewrite::coerce::Policy;
use typeloom_testing::number;

/// The greatest number of casts that is compared with a search.
const MAX_SEARCHED: usize = 3;

#[test]
fn repairs_keep_right_values_and_insert_the_fewest_casts() {
    let first = std::env::var("TYPELOOM_SEED").map_or(1, |text| text.trim().parse().expect("a number"));
    let (mut repaired, mut compared, mut searched) = (0, 0, [0; MAX_SEARCHED + 1]);
    let models = u64::try_from(number(200, 2_000)).expect("a small number");
    for seed in first..first + models {
        let broken = Broken::random(12, &mut Choices::seeded(seed));
        let fail = |message: String| -> ! { panic!("TYPELOOM_SEED={seed}: {message}\n{}", broken.text()) };
        let judged = match judge(&broken, Policy::default()) {
            Ok(Some(judged)) => judged,
            Ok(None) => continue,
            Err(message) => fail(message),
        };
        let Some(repair) = &judged.repair else { continue };
        repaired += 1;
        match judged.compare(&broken) {
            Ok(values) => compared += values.unwrap_or(0),
            Err(message) => fail(message),
        }
        let casts = repair.casts.len();
        if broken.is_flat() && repair.is_minimal && (1..=MAX_SEARCHED).contains(&casts) {
            searched[casts] += 1;
            if has_fewer(&broken, &judged.right, casts) {
                fail(format!("{casts} casts, but fewer suffice"));
            }
        }
    }
    assert!(repaired * 4 > models, "{repaired} of {models} models were repaired");
    assert!(compared > number(200, 2_000), "{compared} values were compared");
    assert!(searched[1..].iter().all(|count| *count > 5), "{searched:?} repairs of each size were compared");
}
