//! Verified search along links, compared with a walk over all entries.

use std::sync::Arc;

use object_store::ObjectStore;
use typeloom_registry::names::Named;
use typeloom_registry::settings::Settings;
use typeloom_registry::{Mode, Reference, Selector, Timestamp};
use typeloom_testing::Random;

use crate::store::{Failing, Plan};
use crate::support::{bundles, memory, push, registry, subject};

#[test]
fn every_version_is_found_with_few_reads() {
    let seed = 20;
    println!("seed {seed}");
    let (store, name, mut random) = (memory(), subject("a"), Random(seed));
    let writer = registry(&store);
    let mut pushed: Vec<usize> = Vec::new();
    for number in 0..600 {
        let last = pushed.last().copied();
        if last.is_some() && random.one_in(3) {
            let alias = format!("alias{}", random.below(5)).parse().unwrap();
            let version = Selector::Version(random.bits() % pushed.len() as u64 + 1);
            let settings = Settings { aliases: [(alias, version)].into(), ..Settings::default() };
            writer.set(&name, &settings, Timestamp::from_unix(number)).unwrap();
            continue;
        }
        let bundle = random.below(bundles().len());
        let mut push = push(&bundles()[bundle], &number.to_string());
        push.settings.mode = Some(Mode::None);
        writer.push(&name, &push).unwrap();
        if last != Some(bundle) {
            pushed.push(bundle);
        }
    }
    // The reference: all entries in order.
    let history = writer.show(&name, usize::MAX).unwrap();
    let walked: Vec<_> = history.entries.iter().rev().filter(|it| it.entry.version().is_some()).collect();
    assert_eq!(walked.len(), pushed.len());
    let entries = history.current.head.entry.entry;
    // The marker, the head, its entry, the next one, the bundle, and the links.
    let bound = 5 + 3 * (u64::BITS - entries.leading_zeros()) as usize + 2;
    for (at, entry) in walked.iter().enumerate() {
        let reader = Arc::new(Failing::new(&store, Plan::None));
        let counted: Arc<dyn ObjectStore> = reader.clone();
        let version = at as u64 + 1;
        let reference =
            Reference { subject: name.clone(), selector: Selector::Version(version), version: Named::Yes };
        let pulled = registry(&counted).pull(&reference).unwrap();
        assert_eq!(&pulled.entry, *entry);
        assert_eq!(pulled.bundle, bundles()[pushed[at]]);
        assert!(reader.operations() <= bound, "version {version}: {} reads", reader.operations());
    }
}
