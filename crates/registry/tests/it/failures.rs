//! Errors of the store: each scenario runs once for each of its store operations, which then fails.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use object_store::ObjectStore;
use object_store::local::LocalFileSystem;
use object_store::path::Path as Key;
use typeloom_registry::gc::{Collection, Effect};
use typeloom_registry::settings::Settings;
use typeloom_registry::{Mode, Registry, RegistryError, Selector, Timestamp};
use typeloom_testing::number;

use crate::store::{Conditions, Failing, Failure, Plan};
use crate::support::{bundles, memory, push, reference, registry, stores, subject};

/// Upper bound of the number of store operations in a scenario.
const MAX_OPERATIONS: usize = 60;

/// Runs an operation once for each kind of failure and each of its store operations. `check` receives the
/// store after the run, whether the operation succeeded, and a text for messages.
fn at_every_step(
    prepare: impl Fn(&Registry),
    operation: impl Fn(&Registry) -> Result<(), RegistryError>,
    check: impl Fn(&Arc<dyn ObjectStore>, bool, &str),
) {
    for failure in Failure::ALL {
        let mut runs = 0;
        for at in 0.. {
            assert!(at < MAX_OPERATIONS, "the operation does not end");
            let temporary = tempfile::tempdir().unwrap();
            let folder = LocalFileSystem::new_with_prefix(temporary.path()).unwrap();
            let mut operations = 0;
            // A store in a folder is slower than one in memory, so it is used only for some runs.
            let with_folder = at % number(4, 1) == 0;
            let stores = [memory(), Arc::new(folder)].into_iter().take(1 + usize::from(with_folder));
            for store in stores {
                prepare(&registry(&store));
                let failing = Arc::new(Failing::new(&store, Plan::At(at, failure)));
                let client: Arc<dyn ObjectStore> = failing.clone();
                let result = operation(&registry(&client));
                check(&store, result.is_ok(), &format!("{failure:?} at {at} of {store}: {result:?}"));
                operations = failing.operations();
                assert!(operations > at || result.is_ok(), "without an error: {result:?}");
            }
            runs += 1;
            if operations <= at {
                break;
            }
        }
        assert!(runs > 5, "{runs} runs");
    }
}

fn verified(store: &Arc<dyn ObjectStore>, context: &str) {
    let report = registry(store).verify(None, None).unwrap();
    assert!(report.all().next().is_none(), "{context}: {report:?}");
}

#[test]
fn a_first_push_is_visible_as_a_whole_or_not_at_all() {
    let name = subject("a");
    at_every_step(
        |_| {},
        |registry| registry.push(&name, &push(&bundles()[0], "first")).map(drop),
        |store, is_ok, context| {
            let clean = registry(store);
            match clean.pull(&reference("a")) {
                Ok(pulled) => assert_eq!((pulled.version, &pulled.bundle), (1, &bundles()[0]), "{context}"),
                Err(RegistryError::NoSubject { .. } | RegistryError::NoRegistry(_)) => {
                    assert!(!is_ok, "{context}");
                }
                Err(error) => panic!("{context}: {error}"),
            }
            // The same push succeeds when it is repeated. In total, one version is created.
            assert_eq!(clean.push(&name, &push(&bundles()[0], "again")).unwrap().version, 1, "{context}");
            verified(store, context);
        },
    );
}

#[test]
fn a_later_push_is_visible_as_a_whole_or_not_at_all() {
    let name = subject("a");
    let mut second = push(&bundles()[1], "second");
    second.settings.aliases.insert("production".parse().unwrap(), Selector::Latest);
    at_every_step(
        |registry| drop(registry.push(&name, &push(&bundles()[0], "first")).unwrap()),
        |registry| registry.push(&name, &second).map(drop),
        |store, is_ok, context| {
            let pulled = registry(store).pull(&reference("a")).unwrap();
            let alias = registry(store).pull(&reference("a@production"));
            match pulled.version {
                1 => assert!(!is_ok && matches!(alias, Err(RegistryError::NoAlias { .. })), "{context}"),
                _ => {
                    assert_eq!((pulled.version, &pulled.bundle), (2, &bundles()[1]), "{context}");
                    assert_eq!(alias.unwrap().version, 2, "{context}");
                }
            }
            verified(store, context);
            assert_eq!(registry(store).push(&name, &second).unwrap().version, 2, "{context}");
            verified(store, context);
        },
    );
}

#[test]
fn a_change_of_settings_happens_as_a_whole_or_not_at_all() {
    let name = subject("a");
    let settings = Settings { mode: Some(Mode::Full), ..Settings::default() };
    at_every_step(
        |registry| drop(registry.push(&name, &push(&bundles()[0], "first")).unwrap()),
        |registry| registry.set(&name, &settings, Timestamp::from_unix(0)).map(drop),
        |store, is_ok, context| {
            let mode = registry(store).show(&name, 1).unwrap().current.head.entry.state.mode;
            assert!(mode == Mode::Full || !is_ok && mode == Mode::Backward, "{context}: {mode}");
            verified(store, context);
        },
    );
}

#[test]
fn a_collection_can_end_at_every_step_and_be_continued() {
    let name = subject("a");
    let collection =
        Collection { grace: 0, time: Timestamp::from_unix(32_503_680_000), effect: Effect::Delete };
    let stray = |number: usize| {
        let digest = typeloom_registry::entry::Hash::of(b"stray");
        format!("subjects/a/_bundles/{digest}-{number:032x}")
    };
    for failure in Failure::ALL {
        for at in 0.. {
            assert!(at < MAX_OPERATIONS, "the collection does not end");
            let store = memory();
            let clean = registry(&store);
            clean.push(&name, &push(&bundles()[0], "first")).unwrap();
            let folder = stores().folder_of(Arc::clone(&store), "some/folder".into(), "test");
            for number in 0..3 {
                folder.replace(&stray(number), "stray".into()).unwrap();
            }
            let failing = Arc::new(Failing::new(&store, Plan::At(at, failure)));
            let client: Arc<dyn ObjectStore> = failing.clone();
            let result = registry(&client).gc(None, collection);
            let context = format!("{failure:?} at {at}: {result:?}");
            assert_eq!(clean.pull(&reference("a")).unwrap().bundle, bundles()[0], "{context}");
            let report = clean.verify(None, None).unwrap();
            assert!(report.is_valid(), "{context}: {report:?}");
            if result.is_ok() {
                assert_eq!(report.subjects[0].unreferenced.bundles, 0, "{context}");
            }
            clean.gc(None, collection).unwrap();
            let report = clean.verify(None, None).unwrap();
            assert_eq!((report.is_valid(), report.subjects[0].unreferenced.bundles), (true, 0), "{context}");
            if failing.operations() <= at {
                break;
            }
        }
    }
}

#[test]
fn a_push_whose_bundle_is_swept_uploads_it_again() {
    let (store, name) = (memory(), subject("a"));
    let clean = registry(&store);
    clean.push(&name, &push(&bundles()[0], "first")).unwrap();
    let (inner, is_done) = (Arc::clone(&store), AtomicBool::new(false));
    // Runs a collection before the client creates its first entry of the log.
    let hook = move |key: &Key| {
        if !key.as_ref().contains("_log/") || is_done.swap(true, Ordering::SeqCst) {
            return;
        }
        let store = Arc::clone(&inner);
        // Calls of a registry block, which is not allowed on a thread of the asynchronous runtime.
        let collected = std::thread::spawn(move || {
            let time = Timestamp::from_unix(32_503_680_000);
            registry(&store).gc(None, Collection { grace: 0, time, effect: Effect::Delete })
        });
        let collected = collected.join().expect("no panic").expect("collected");
        assert_eq!(collected[0].bundles.len(), 1);
    };
    let collecting: Arc<dyn ObjectStore> =
        Arc::new(Failing::new(&store, Plan::None).with_hook(Box::new(hook)));
    let pushed = registry(&collecting).push(&name, &push(&bundles()[1], "second")).unwrap();
    assert_eq!((pushed.version, pushed.head.entry.entry), (2, 3));
    assert_eq!(clean.pull(&reference("a")).unwrap().bundle, bundles()[1]);
    verified(&store, "after the sweep");
}

#[test]
fn a_store_that_ignores_conditions_is_refused() {
    let store = Failing::new(&memory(), Plan::None).with_conditions(Conditions::Ignored);
    let store: Arc<dyn ObjectStore> = Arc::new(store);
    let result = registry(&store).push(&subject("a"), &push(&bundles()[0], "first"));
    assert!(matches!(result, Err(RegistryError::NoConditionalWrites(_))));
}
