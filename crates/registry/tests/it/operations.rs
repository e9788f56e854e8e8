//! Each operation without errors of the store.

use typeloom_interface::exports::Content;
use typeloom_io::stores::{Missing, Stores};
use typeloom_pool::compat::Direction;
use typeloom_registry::entry::{Change, Entry, MAX_SWEPT, Ports};
use typeloom_registry::gc::{Collection, Effect, GRACE};
use typeloom_registry::pull::Rest;
use typeloom_registry::push::Novelty;
use typeloom_registry::settings::Settings;
use typeloom_registry::verdict::Nearest;
use typeloom_registry::{Mode, RegistryError, Selector, Timestamp};

use crate::support::{bundle_of, bundles, compatible, memory, push, reference, registry, stores, subject};

/// A time after all objects of a test.
const LATER: i64 = 32_503_680_000;

fn collection(effect: Effect) -> Collection {
    Collection { grace: 0, time: Timestamp::from_unix(LATER), effect }
}

#[test]
fn versions_are_numbered_and_pulled_by_number_alias_and_latest() {
    let (registry, name) = (registry(&memory()), subject("a/b"));
    let mut first = push(&bundles()[0], "first");
    first.settings.aliases.insert("production".parse().unwrap(), Selector::Latest);
    assert_eq!(registry.push(&name, &first).unwrap().version, 1);
    // The second interface has one more output.
    assert_eq!(registry.push(&name, &push(&bundles()[1], "second")).unwrap().version, 2);
    for (text, version, bundle) in
        [("a/b", 2, 1), ("a/b@latest", 2, 1), ("a/b@1", 1, 0), ("a/b@production", 1, 0)]
    {
        let pulled = registry.pull(&reference(text)).unwrap();
        assert_eq!((pulled.version, &pulled.bundle), (version, &bundles()[bundle]), "{text}");
    }
    assert_eq!(registry.pull(&reference("a/b@1")).unwrap().aliases.len(), 1);
    assert!(matches!(registry.pull(&reference("a/b@3")), Err(RegistryError::NoVersion { versions: 2, .. })));
    assert!(matches!(registry.pull(&reference("a/b@other")), Err(RegistryError::NoAlias { .. })));
    assert!(matches!(registry.pull(&reference("a")), Err(RegistryError::NoSubject { .. })));
}

#[test]
fn a_store_without_a_marker_is_no_registry() {
    let registry = registry(&memory());
    assert!(matches!(registry.pull(&reference("a")), Err(RegistryError::NoRegistry(_))));
    assert!(matches!(registry.list(None), Err(RegistryError::NoRegistry(_))));
    let missing = typeloom_registry::Registry::open(stores(), "no/such/folder", Missing::Refuse);
    assert!(matches!(missing, Err(RegistryError::NoRegistry(_))));
}

#[test]
fn a_push_of_the_latest_content_creates_no_version() {
    let (registry, name) = (registry(&memory()), subject("a"));
    registry.push(&name, &push(&bundles()[0], "first")).unwrap();
    let again = registry.push(&name, &push(&bundles()[0], "second")).unwrap();
    assert_eq!((again.version, again.novelty, again.head.entry.entry), (1, Novelty::Existing, 1));
    let mut third = push(&bundles()[0], "third");
    third.settings.aliases.insert("production".parse().unwrap(), Selector::Latest);
    let third = registry.push(&name, &third).unwrap();
    assert_eq!((third.version, third.novelty, third.head.entry.entry), (1, Novelty::Existing, 2));
    assert!(matches!(third.head.entry.change, Change::Set {}));
}

#[test]
fn earlier_content_becomes_a_new_version() {
    let (registry, name) = (registry(&memory()), subject("a"));
    let mut first = push(&bundles()[0], "first");
    first.settings.mode = Some(Mode::None);
    registry.push(&name, &first).unwrap();
    registry.push(&name, &push(&bundles()[3], "second")).unwrap();
    assert_eq!(registry.push(&name, &push(&bundles()[0], "third")).unwrap().version, 3);
    assert!(registry.verify(None, None).unwrap().is_valid());
}

#[test]
fn a_violation_is_rejected_with_paths_and_the_nearest_compatible_version() {
    let (registry, name) = (registry(&memory()), subject("a"));
    let float = bundle_of("g (float[N] x) => (float[N] y) { y = Relu(x) }");
    let double = bundle_of("g (double[N] x) => (double[N] y) { y = Relu(x) }");
    registry.push(&name, &push(&float, "1")).unwrap();
    let mut second = push(&double, "2");
    second.settings.mode = Some(Mode::None);
    registry.push(&name, &second).unwrap();
    let backward = Settings { mode: Some(Mode::Backward), ..Settings::default() };
    registry.set(&name, &backward, Timestamp::from_unix(0)).unwrap();
    let two = bundle_of("g (float[N] x) => (float[N] y, float[N] z) { y = Relu(x) z = Abs(x) }");
    let Err(RegistryError::Rejected(verdict)) = registry.push(&name, &push(&two, "3")) else {
        panic!("the element type differs");
    };
    assert_eq!((verdict.compared, verdict.violated, verdict.nearest), (1, 1, Nearest::Version(1)));
    let text = verdict.to_string();
    assert!(text.contains("version 2: inputs.x: double[N] -> float[N]"), "{text}");
    assert!(text.contains("nearest compatible version is 1"), "{text}");
    // Nothing is written.
    assert_eq!(registry.show(&name, 9).unwrap().current.head.entry.versions, 2);
}

#[test]
fn transitive_modes_compare_with_all_versions() {
    for (mode, direction) in [
        (Mode::BackwardTransitive, Direction::Backward),
        (Mode::ForwardTransitive, Direction::Forward),
        (Mode::FullTransitive, Direction::Full),
    ] {
        for ports in [Ports::Name, Ports::NameAndPosition] {
            let (registry, name) = (registry(&memory()), subject("a"));
            let mut versions: Vec<usize> = Vec::new();
            let settings = Settings { mode: Some(Mode::None), ports: Some(ports), ..Settings::default() };
            for bundle in [0, 1, 3] {
                let mut push = push(&bundles()[bundle], "setup");
                push.settings = settings.clone();
                registry.push(&name, &push).unwrap();
                versions.push(bundle);
            }
            let settings = Settings { mode: Some(mode), ..Settings::default() };
            registry.set(&name, &settings, Timestamp::from_unix(0)).unwrap();
            for new in 0..bundles().len() {
                let verdict = registry.check(&reference("a"), &bundles()[new], None).unwrap();
                let violated =
                    versions.iter().filter(|old| !compatible(direction, ports, **old, new)).count();
                assert_eq!(verdict.violated, violated as u64, "{mode} {new}");
                let nearest = versions.iter().rposition(|old| compatible(direction, ports, *old, new));
                let expected = match (violated, nearest) {
                    (0, _) => Nearest::NotNeeded,
                    (_, Some(at)) => Nearest::Version(at as u64 + 1),
                    (_, None) => Nearest::NoneOf(3),
                };
                assert_eq!(verdict.nearest, expected, "{mode} {new}");
            }
        }
    }
}

#[test]
fn a_reference_to_a_version_is_compared_alone() {
    let (registry, name) = (registry(&memory()), subject("a"));
    registry.push(&name, &push(&bundles()[0], "first")).unwrap();
    registry.push(&name, &push(&bundles()[1], "second")).unwrap();
    // Without the second output, the interface is compatible with the first version only.
    assert!(!registry.check(&reference("a"), &bundles()[0], None).unwrap().is_compatible());
    assert!(registry.check(&reference("a@1"), &bundles()[0], None).unwrap().is_compatible());
    let verdict = registry.check(&reference("a"), &bundles()[0], Some(Mode::Forward)).unwrap();
    assert_eq!((verdict.mode, verdict.is_compatible()), (Mode::Forward, true));
}

#[test]
fn a_new_mode_applies_to_the_push_that_sets_it() {
    let (registry, name) = (registry(&memory()), subject("a"));
    registry.push(&name, &push(&bundles()[0], "first")).unwrap();
    let mut second = push(&bundles()[1], "second");
    second.settings.mode = Some(Mode::Full);
    assert!(matches!(registry.push(&name, &second), Err(RegistryError::Rejected(_))));
    second.settings.mode = Some(Mode::None);
    assert_eq!(registry.push(&name, &second).unwrap().version, 2);
}

#[test]
fn other_types_and_interfaces_do_not_replace_each_other() {
    let (registry, name) = (registry(&memory()), subject("a"));
    registry.push(&name, &push(&bundles()[0], "first")).unwrap();
    let mut pool = typeloom_pool::Pool::new();
    let int = pool.primitive(typeloom_pool::Tag::I64).unwrap();
    let types = pool.export(&[("int", int)]).unwrap().into_bytes().into();
    let Err(RegistryError::Rejected(verdict)) = registry.push(&name, &push(&types, "second")) else {
        panic!("the kinds differ");
    };
    assert!(verdict.to_string().contains("the old version holds interfaces of models"));
    assert_eq!(registry.push(&subject("b"), &push(&types, "third")).unwrap().version, 1);
    assert!(registry.verify(None, None).unwrap().is_valid());
}

#[test]
fn content_that_is_no_bundle_is_refused() {
    let registry = registry(&memory());
    let result = registry.push(&subject("a"), &push(&"nothing".into(), "first"));
    assert!(matches!(result, Err(RegistryError::NotABundle(_))));
}

#[test]
fn aliases_are_moved_and_removed() {
    let (registry, name) = (registry(&memory()), subject("a"));
    registry.push(&name, &push(&bundles()[0], "first")).unwrap();
    registry.push(&name, &push(&bundles()[1], "second")).unwrap();
    let time = Timestamp::from_unix(0);
    let set = |alias: &str, selector: &str| {
        let aliases = [(alias.parse().unwrap(), selector.parse().unwrap())].into();
        registry.set(&name, &Settings { aliases, ..Settings::default() }, time)
    };
    set("x", "1").unwrap();
    set("y", "x").unwrap();
    set("x", "latest").unwrap();
    let state = |text: &str| registry.pull(&reference(text)).map(|pulled| pulled.version);
    assert_eq!((state("a@x").unwrap(), state("a@y").unwrap()), (2, 1));
    assert!(matches!(set("z", "3"), Err(RegistryError::NoVersion { .. })));
    assert!(matches!(set("z", "none"), Err(RegistryError::NoAlias { .. })));
    let remove = Settings { removed: ["x".parse().unwrap()].into(), ..Settings::default() };
    registry.set(&name, &remove, time).unwrap();
    assert!(matches!(state("a@x"), Err(RegistryError::NoAlias { .. })));
    assert!(matches!(registry.set(&name, &remove, time), Err(RegistryError::NoAlias { .. })));
    // Equal settings write nothing.
    let before = registry.show(&name, 0).unwrap().current.head.entry.entry;
    assert_eq!(set("y", "1").unwrap().head.entry.entry, before);
}

#[test]
fn subjects_are_listed_by_prefix() {
    let registry = registry(&memory());
    for name in ["vision/b", "vision/a", "vision", "visions", "text/log"] {
        registry.push(&subject(name), &push(&bundles()[0], name)).unwrap();
    }
    let names = |prefix: Option<&str>| -> Vec<String> {
        let prefix = prefix.map(subject);
        registry.list(prefix.as_ref()).unwrap().into_iter().map(|it| it.subject.to_string()).collect()
    };
    assert_eq!(names(None), ["text/log", "vision", "vision/a", "vision/b", "visions"]);
    assert_eq!(names(Some("vision")), ["vision", "vision/a", "vision/b"]);
    assert_eq!(names(Some("other")), Vec::<String>::new());
}

#[test]
fn entries_are_shown_from_the_latest_one() {
    let (registry, name) = (registry(&memory()), subject("a"));
    registry.push(&name, &push(&bundles()[0], "first")).unwrap();
    registry.push(&name, &push(&bundles()[1], "second")).unwrap();
    let tools = |limit: usize| -> (Vec<String>, Rest) {
        let history = registry.show(&name, limit).unwrap();
        let tool = |entry: &Entry| entry.version().map(|version| version.tool.clone());
        (history.entries.iter().filter_map(|it| tool(&it.entry)).collect(), history.rest)
    };
    assert_eq!(tools(9), (vec!["second".to_owned(), "first".to_owned()], Rest::None));
    assert_eq!(tools(1), (vec!["second".to_owned()], Rest::Entries(1)));
}

#[test]
fn a_collection_deletes_unreferenced_bundles_after_a_grace_period() {
    let store = memory();
    let (registry, name) = (registry(&store), subject("a"));
    registry.push(&name, &push(&bundles()[0], "first")).unwrap();
    let folder = stores().folder_of(store, "some/folder".into(), "test");
    for number in 0..MAX_SWEPT + 1 {
        let nonce = format!("{number:032x}");
        let digest = typeloom_registry::entry::Hash::of(b"stray");
        folder.replace(&format!("subjects/a/_bundles/{digest}-{nonce}"), "stray".into()).unwrap();
    }
    let verified = registry.verify(Some(&name), None).unwrap();
    assert!(verified.is_valid());
    assert_eq!(verified.subjects[0].unreferenced.bundles, MAX_SWEPT as u64 + 1);
    let young = Collection { grace: GRACE, time: Timestamp::from_unix(0), effect: Effect::Delete };
    assert_eq!(registry.gc(None, young).unwrap()[0].bundles.len(), 0);
    let dry = registry.gc(None, collection(Effect::DryRun)).unwrap();
    assert_eq!(dry[0].bundles.len(), MAX_SWEPT + 1);
    let collected = registry.gc(None, collection(Effect::Delete)).unwrap();
    assert_eq!(collected, dry);
    let verified = registry.verify(Some(&name), None).unwrap();
    assert!(verified.is_valid());
    assert_eq!(verified.subjects[0].unreferenced.bundles, 0);
    assert_eq!(registry.pull(&reference("a")).unwrap().bundle, bundles()[0]);
    // Two sweeps, and the versions stay.
    let history = registry.show(&name, 9).unwrap();
    assert_eq!(history.current.head.entry.entry, 3);
    assert!(matches!(history.entries[0].entry.change, Change::Sweep { .. }));
}

#[test]
fn a_collection_of_a_subject_that_was_never_created_stays_invisible() {
    let store = memory();
    let registry = registry(&store);
    registry.push(&subject("other"), &push(&bundles()[0], "first")).unwrap();
    let folder = stores().folder_of(store, "some/folder".into(), "test");
    let digest = typeloom_registry::entry::Hash::of(b"stray");
    folder.replace(&format!("subjects/a/_bundles/{digest}-{:032x}", 1), "stray".into()).unwrap();
    assert_eq!(registry.gc(Some(&subject("a")), collection(Effect::Delete)).unwrap()[0].bundles.len(), 1);
    assert!(matches!(registry.pull(&reference("a")), Err(RegistryError::NoSubject { .. })));
    assert!(matches!(registry.show(&subject("a"), 1), Err(RegistryError::NoSubject { .. })));
    assert_eq!(registry.list(None).unwrap().len(), 1);
    assert_eq!(registry.push(&subject("a"), &push(&bundles()[0], "second")).unwrap().version, 1);
    assert!(registry.verify(None, None).unwrap().is_valid());
}

#[test]
fn names_of_symbols_are_those_of_the_first_push() {
    let of = |symbol: &str| {
        bundle_of(&format!(
            "g (float[{symbol}, 3] x, float[?, 3] w) => (y) {{ y = Concat <axis = 0> (x, x) }}"
        ))
    };
    let (registry, name) = (registry(&memory()), subject("a"));
    assert_ne!(of("batch"), of("rows"));
    assert_eq!(registry.push(&name, &push(&of("batch"), "one")).unwrap().novelty, Novelty::New);
    let again = push(&of("rows"), "two");
    assert_eq!(registry.preview(&name, &again).unwrap().novelty, Novelty::Existing);
    let pushed = registry.push(&name, &again).unwrap();
    assert_eq!((pushed.version, pushed.novelty, pushed.head.entry.entry), (1, Novelty::Existing, 1));
    let pulled = registry.pull(&reference("a")).unwrap();
    let Content::Interfaces(interfaces) = &*pulled.content else { panic!("an interface") };
    let text = "(x: float[batch, 3], w: float[?, 3]) -> (y: float[2*batch, 3])";
    assert_eq!(interfaces[0].interface.to_string(), text);
    assert!(registry.verify(None, None).unwrap().all().next().is_none());
}

#[test]
fn a_preview_has_the_result_of_a_push_and_writes_nothing() {
    let store = memory();
    let (registry, name) = (registry(&store), subject("a"));
    let folder = stores().folder_of(store, "some/folder".into(), "test");
    let mut before = Vec::new();
    for number in [0, 0, 1, 0] {
        let push = push(&bundles()[number], "many");
        let preview = registry.preview(&name, &push);
        assert_eq!(folder.list("", None, 100).unwrap(), before);
        match (preview, registry.push(&name, &push)) {
            (Ok(preview), Ok(pushed)) => {
                assert_eq!((preview.version, preview.novelty), (pushed.version, pushed.novelty));
            }
            (Err(RegistryError::Rejected(one)), Err(RegistryError::Rejected(other))) => {
                assert_eq!(one.to_string(), other.to_string());
            }
            (preview, pushed) => panic!("{preview:?} {pushed:?}"),
        }
        before = folder.list("", None, 100).unwrap();
    }
}

#[test]
fn unknown_names_have_suggestions() {
    let registry = registry(&memory());
    for name in ["ranking/scorer", "ranking/old", "vision/net"] {
        let mut push = push(&bundles()[0], "one");
        push.settings.aliases.insert("production".parse().unwrap(), Selector::Latest);
        registry.push(&subject(name), &push).unwrap();
    }
    for (text, message) in [
        ("ranking/scorrer", "there is no subject `ranking/scorrer`; did you mean `ranking/scorer`?"),
        ("rankin/scorrer", "there is no subject `rankin/scorrer`; did you mean `ranking/scorer`?"),
        ("ranking", "there is no subject `ranking`; did you mean `ranking/old` or `ranking/scorer`?"),
        ("quite/different", "there is no subject `quite/different`"),
        (
            "vision/net@prodction",
            "`vision/net` has no alias `prodction` (its aliases: `production`); did you mean `production`?",
        ),
        ("vision/net@v1", "`vision/net` has no alias `v1` (its aliases: `production`); did you mean `1`?"),
        (
            "vision/net@lates",
            "`vision/net` has no alias `lates` (its aliases: `production`); did you mean `latest`?",
        ),
        ("vision/net@v2", "`vision/net` has no alias `v2` (its aliases: `production`)"),
    ] {
        assert_eq!(registry.pull(&reference(text)).unwrap_err().to_string(), message);
    }
    let set = |settings| registry.set(&subject("ranking/sc0rer"), &settings, Timestamp::from_unix(0));
    let error = set(Settings::default()).unwrap_err().to_string();
    assert_eq!(error, "there is no subject `ranking/sc0rer`; did you mean `ranking/scorer`?");
}

#[test]
fn a_folder_is_a_registry() {
    let (temporary, stores) = (tempfile::tempdir().unwrap(), Stores::new(Vec::new()).unwrap());
    let url = temporary.path().join("new");
    let open = |missing| typeloom_registry::Registry::open(&stores, url.to_str().unwrap(), missing);
    assert!(open(Missing::Refuse).is_err());
    let registry = open(Missing::Create).unwrap();
    registry.push(&subject("a/b"), &push(&bundles()[0], "first")).unwrap();
    assert!(url.join("subjects/a/b/_log/0000000001.json").is_file());
    assert!(url.join("subjects/a/b/_head.json").is_file());
    // An interrupted write is invisible, and removed by a collection.
    std::fs::write(url.join("subjects/a/b/_log/0000000002.json#1"), "half").unwrap();
    let opened = open(Missing::Refuse).unwrap();
    assert_eq!(opened.pull(&reference("a/b")).unwrap().bundle, bundles()[0]);
    assert!(opened.verify(None, None).unwrap().all().next().is_none());
    let collected = opened.gc(None, collection(Effect::Delete)).unwrap();
    assert_eq!(collected[0].interrupted.len(), 1);
    assert!(!url.join("subjects/a/b/_log/0000000002.json#1").exists());
}

#[test]
fn a_missing_or_old_hint_only_costs_reads() {
    let store = memory();
    let (registry, name) = (registry(&store), subject("a"));
    let folder = stores().folder_of(store, "some/folder".into(), "test");
    let mut hints = Vec::new();
    let mut settings = Settings { mode: Some(Mode::None), ..Settings::default() };
    for number in 0..40 {
        let mut push = push(&bundles()[number % 3], "many");
        push.settings = std::mem::take(&mut settings);
        registry.push(&name, &push).unwrap();
        hints.push(folder.read("subjects/a/_head.json", 1 << 10).unwrap().unwrap());
    }
    for hint in hints {
        folder.replace("subjects/a/_head.json", hint).unwrap();
        assert_eq!(registry.pull(&reference("a")).unwrap().version, 40);
    }
    folder.delete("subjects/a/_head.json").unwrap();
    assert_eq!(registry.pull(&reference("a")).unwrap().version, 40);
    assert!(registry.verify(None, None).unwrap().is_valid());
}
