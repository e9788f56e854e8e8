//! Objects that are changed behind the registry: verification and reading report them.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::TryStreamExt as _;
use object_store::ObjectStore;
use object_store::memory::InMemory;
use object_store::path::Path as Key;
use object_store::{ObjectStoreExt as _, PutPayload};
use typeloom_registry::settings::Settings;
use typeloom_registry::verify::Checkpoint;
use typeloom_registry::{Mode, RegistryError, Selector, Timestamp};
use typeloom_testing::{Random, number};

use crate::support::{bundles, memory, push, reference, registry, stores, subject};

/// All objects of a store.
type Objects = Vec<(Key, Bytes)>;

fn objects(store: &Arc<dyn ObjectStore>) -> Objects {
    let read = async {
        let mut found: Vec<Key> = store.list(None).map_ok(|meta| meta.location).try_collect().await?;
        found.sort_unstable();
        let mut objects = Objects::new();
        for key in found {
            objects.push((key.clone(), store.get(&key).await?.bytes().await?));
        }
        Ok::<_, object_store::Error>(objects)
    };
    stores().wait(read).unwrap()
}

/// A store with these objects.
fn store_of(objects: &Objects) -> Arc<dyn ObjectStore> {
    let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    for (key, bytes) in objects {
        stores().wait(store.put(key, PutPayload::from_bytes(bytes.clone()))).unwrap();
    }
    store
}

fn find<'o>(objects: &'o mut Objects, end: &str) -> &'o mut Bytes {
    let found = objects.iter_mut().find(|(key, _)| key.as_ref().ends_with(end));
    &mut found.expect("the object exists").1
}

/// A registry with two subjects. The first one has four versions in six entries.
fn small() -> Arc<dyn ObjectStore> {
    let store = memory();
    let registry = registry(&store);
    let time = Timestamp::from_unix(0);
    for name in ["a", "b"] {
        let name = subject(name);
        let mut first = push(&bundles()[0], "first");
        first.settings.aliases.insert("production".parse().unwrap(), Selector::Latest);
        registry.push(&name, &first).unwrap();
        registry.push(&name, &push(&bundles()[1], "second")).unwrap();
        let settings = Settings { mode: Some(Mode::None), ..Settings::default() };
        registry.set(&name, &settings, time).unwrap();
        registry.push(&name, &push(&bundles()[2], "third")).unwrap();
        let aliases = [("stable".parse().unwrap(), Selector::Version(2))].into();
        registry.set(&name, &Settings { aliases, ..Settings::default() }, time).unwrap();
    }
    registry.push(&subject("a"), &push(&bundles()[3], "fourth")).unwrap();
    store
}

/// The references to all versions and their bundles.
const REFERENCES: [(&str, usize); 7] =
    [("a", 3), ("a@1", 0), ("a@2", 1), ("a@3", 2), ("a@production", 0), ("a@stable", 1), ("b", 2)];

/// Verification reports the change, and each pull fails or returns what was pushed. Returns the number of
/// pulls that fail.
fn detected(objects: &Objects, context: &str) -> usize {
    detected_by(objects, &REFERENCES, context)
}

fn detected_by(objects: &Objects, references: &[(&str, usize)], context: &str) -> usize {
    let registry = registry(&store_of(objects));
    let report = registry.verify(None, None);
    let is_reported = match &report {
        Ok(report) => !report.is_valid(),
        Err(RegistryError::UnknownFormat { .. } | RegistryError::NoRegistry(_)) => true,
        Err(error) => panic!("{context}: {error}"),
    };
    assert!(is_reported, "{context}: {report:?}");
    let mut failed = 0;
    for (text, bundle) in references {
        match registry.pull(&reference(text)) {
            Ok(pulled) => assert_eq!(pulled.bundle, bundles()[*bundle], "{context}: {text}"),
            Err(_) => failed += 1,
        }
    }
    failed
}

#[test]
fn a_flipped_bit_in_any_byte_is_reported() {
    let mut original = objects(&small());
    original.retain(|(key, _)| !key.as_ref().contains("subjects/b/"));
    assert!(registry(&store_of(&original)).verify(None, None).unwrap().all().next().is_none());
    let (mut flips, mut failed) = (0, 0);
    // A step of 11 shares no divisor with the length of a digest, so that every field has a flipped bit.
    let step = number(11, 1);
    for at in 0..original.len() {
        for byte in (0..original[at].1.len()).step_by(step) {
            let mut objects = original.clone();
            let mut bytes = objects[at].1.to_vec();
            bytes[byte] ^= 1 << (byte % 8);
            objects[at].1 = bytes.into();
            failed += detected_by(&objects, &REFERENCES[..4], &format!("byte {byte} of {}", objects[at].0));
            flips += 1;
        }
    }
    assert!(flips * step > 3000 && failed > flips, "{flips} flips, {failed} failed pulls");
}

#[test]
fn swapped_objects_are_reported() {
    let original = objects(&small());
    let (mut swaps, mut failed) = (0, 0);
    let step = number(3, 1);
    for a in 0..original.len() {
        for b in (a + 1..original.len()).step_by(step) {
            if original[a].1 == original[b].1 {
                continue;
            }
            let mut objects = original.clone();
            (objects[a].1, objects[b].1) = (original[b].1.clone(), original[a].1.clone());
            failed += detected(&objects, &format!("{} and {}", original[a].0, original[b].0));
            swaps += 1;
        }
    }
    assert!(swaps * step > 100 && failed > swaps, "{swaps} swaps, {failed} failed pulls");
}

#[test]
fn every_missing_object_is_reported_except_a_hint_and_the_end_of_a_log() {
    let original = objects(&small());
    for at in 0..original.len() {
        let mut objects = original.clone();
        let (key, _) = objects.remove(at);
        if !key.as_ref().ends_with("_head.json") {
            let failed = detected(&objects, &format!("without {key}"));
            assert!(failed > 0 || !key.as_ref().contains("a/_bundles"), "{key}");
        }
    }
}

#[test]
fn truncated_and_extended_objects_are_reported() {
    let original = objects(&small());
    for at in 0..original.len() {
        let bytes = &original[at].1;
        for changed in [bytes.slice(..bytes.len() - 1), bytes.slice(..0), [bytes, &b"\n"[..]].concat().into()]
        {
            let mut objects = original.clone();
            objects[at].1 = changed;
            detected(&objects, &format!("the length of {}", original[at].0));
        }
        let mut objects = original.clone();
        objects[at].1 = vec![b' '; 1 << 20].into();
        detected(&objects, &format!("{} of a megabyte", original[at].0));
    }
}

#[test]
fn entries_of_another_subject_are_reported() {
    let original = objects(&small());
    for number in 1..=5 {
        let mut objects = original.clone();
        let name = format!("_log/{number:010}.json");
        let other = find(&mut objects, &format!("subjects/b/{name}")).clone();
        *find(&mut objects, &format!("subjects/a/{name}")) = other;
        detected(&objects, &format!("entry {number} of another subject"));
    }
}

#[test]
fn a_forged_hint_is_reported() {
    let original = objects(&small());
    let head =
        |entry: u64, digest: &str| Bytes::from(format!("{{\"digest\":\"{digest}\",\"entry\":{entry}}}"));
    let own = find(&mut original.clone(), "subjects/a/_head.json").clone();
    let digest = String::from_utf8(own.to_vec()).unwrap()[11..75].to_owned();
    for (what, forged) in [
        ("another digest", head(6, &"0".repeat(64))),
        ("another entry", head(5, &digest)),
        ("a later entry", head(7, &digest)),
        ("no entry", head(0, &digest)),
        ("a huge entry", head(u64::MAX, &digest)),
        ("that of another subject", find(&mut original.clone(), "subjects/b/_head.json").clone()),
        ("no JSON", Bytes::from_static(b"[[[[[[[[")),
    ] {
        let mut objects = original.clone();
        *find(&mut objects, "subjects/a/_head.json") = forged;
        assert!(detected(&objects, what) >= 6, "{what}");
    }
}

#[test]
fn a_replayed_log_is_reported_by_a_checkpoint() {
    let store = small();
    let early = objects(&store);
    let checkpoint = |store: &Arc<dyn ObjectStore>| registry(store).verify(None, None).unwrap().checkpoint();
    let before = checkpoint(&store);
    registry(&store).push(&subject("a"), &push(&bundles()[4], "fifth")).unwrap();
    let after = checkpoint(&store);
    let verify = |store: &Arc<dyn ObjectStore>, checkpoint: &Checkpoint| {
        registry(store).verify(None, Some(checkpoint)).unwrap()
    };
    // The log extends the earlier checkpoint.
    assert!(verify(&store, &before).is_valid());
    assert!(verify(&store, &after).is_valid());
    // The earlier state of all objects is a valid registry, but not one that contains the later checkpoint.
    let replayed = store_of(&early);
    assert!(verify(&replayed, &before).is_valid());
    let report = verify(&replayed, &after);
    assert!(!report.is_valid());
    assert!(
        report.all().any(|it| it.corruption.to_string().contains("the checkpoint refers to it")),
        "{report:?}"
    );
    // Another log of the same length.
    let other = small();
    registry(&other).push(&subject("a"), &push(&bundles()[5], "fifth")).unwrap();
    assert!(registry(&other).verify(None, None).unwrap().is_valid());
    assert!(!verify(&other, &after).is_valid());
    // A removed subject.
    let mut without = early.clone();
    without.retain(|(key, _)| !key.as_ref().contains("subjects/a/"));
    assert!(!verify(&store_of(&without), &before).is_valid());
}

#[test]
fn a_truncated_log_is_reported_by_its_hint() {
    let mut objects = objects(&small());
    objects.retain(|(key, _)| !key.as_ref().ends_with("subjects/a/_log/0000000006.json"));
    assert_eq!(detected(&objects, "without the last entry"), 6);
}

#[test]
fn a_push_into_a_damaged_log_is_refused() {
    let mut objects = objects(&small());
    let head = find(&mut objects, "subjects/a/_log/0000000006.json");
    let mut bytes = head.to_vec();
    let at = bytes.windows(6).position(|part| part == b"fourth").unwrap();
    bytes[at] = b'F';
    *head = bytes.into();
    let registry = registry(&store_of(&objects));
    assert!(matches!(
        registry.push(&subject("a"), &push(&bundles()[4], "fifth")),
        Err(RegistryError::Corrupt(_))
    ));
}

#[test]
fn unknown_objects_are_warnings() {
    let mut objects = objects(&small());
    for name in [
        "x",
        "subjects/x",
        "subjects/a/x",
        "subjects/a/_log/1.json",
        "subjects/a/_bundles/x",
        "subjects/.x/y",
    ] {
        objects.push((Key::from(format!("some/folder/{name}")), Bytes::new()));
    }
    let report = registry(&store_of(&objects)).verify(None, None).unwrap();
    assert!(report.is_valid());
    assert_eq!(report.all().count(), 6, "{report:?}");
}

#[test]
fn a_huge_gap_in_a_log_is_one_finding() {
    let mut objects = objects(&small());
    let entry = find(&mut objects, "subjects/a/_log/0000000006.json").clone();
    objects.push((Key::from("some/folder/subjects/a/_log/9999999999.json"), entry));
    let report = registry(&store_of(&objects)).verify(None, None).unwrap();
    let problems: Vec<String> = report.all().map(|it| it.corruption.to_string()).collect();
    assert_eq!(problems.len(), 2, "{problems:?}");
    assert!(problems[0].contains("0000000007.json` is missing: entry 9999999999 exists"), "{problems:?}");
    assert!(problems[1].contains("another number: expected 9999999999, found 6"), "{problems:?}");
}

#[test]
fn random_bytes_end_in_typed_errors() {
    let seed = 5;
    println!("seed {seed}");
    let (original, mut random) = (objects(&small()), Random(seed));
    for _ in 0..number(100, 500) {
        let mut objects = original.clone();
        for _ in 0..random.below(4) + 1 {
            let at = random.below(objects.len());
            let mut bytes = objects[at].1.to_vec();
            for _ in 0..random.below(8) + 1 {
                let (byte, value) = (random.below(bytes.len() + 1), random.bits().to_le_bytes()[0]);
                match (random.below(3), bytes.get_mut(byte)) {
                    (0, Some(at)) => *at = value,
                    (1, _) => bytes.insert(byte, value),
                    (_, _) => bytes.truncate(byte),
                }
            }
            objects[at].1 = bytes.into();
        }
        let registry = registry(&store_of(&objects));
        let _ = registry.verify(None, None);
        let _ = registry.list(None);
        for (text, bundle) in REFERENCES {
            if let Ok(pulled) = registry.pull(&reference(text)) {
                assert_eq!(pulled.bundle, bundles()[bundle], "{text}");
            }
        }
    }
}
