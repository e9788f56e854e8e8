//! The registry, on a store in memory.

use std::hint::black_box;
use std::sync::Arc;

use bytes::Bytes;
use object_store::ObjectStore;
use object_store::memory::InMemory;
use object_store::path::Path as Key;
use typeloom_interface::Interface;
use typeloom_io::stores::Stores;
use typeloom_registry::entry::{Hash, SourceFile};
use typeloom_registry::mode::Mode;
use typeloom_registry::push::Push;
use typeloom_registry::registry::Contention;
use typeloom_registry::settings::Settings;
use typeloom_registry::{Registry, Timestamp};

use super::{Family, Work, interfaces, linear};

pub(super) const FAMILIES: &[Family] = &[
    linear("registry/push versions", "versions of one subject", 5, |size| {
        let (bundles, store) = (bundles(size), Store::new());
        Box::new(move || store.push(&store.open(), "team/subject", &bundles))
    }),
    linear("registry/push subjects", "subjects", 5, |size| {
        let (bundles, store) = (bundles(1), Store::new());
        Box::new(move || {
            let registry = store.open();
            (0..size).for_each(|at| store.push(&registry, &format!("team/subject{at}"), &bundles));
        })
    }),
    linear("registry/list", "subjects", 10, |size| {
        let (bundles, store) = (bundles(1), Store::new());
        let registry = store.open();
        (0..size).for_each(|at| store.push(&registry, &format!("team/subject{at}"), &bundles));
        Box::new(move || assert_eq!(store.open().list(None).expect(READS).len(), size))
    }),
    linear("registry/check", "versions of one subject", 5, checked),
    linear("registry/pull", "versions of one subject", 5, |size| {
        let store = with_versions(size);
        let reference = "team/subject@1".parse().expect("a reference");
        Box::new(move || drop(black_box(store.open().pull(&reference).expect(READS))))
    }),
    linear("registry/verify", "versions of one subject", 5, |size| {
        let store = with_versions(size);
        Box::new(move || assert!(store.open().verify(None, None).expect(READS).is_valid()))
    }),
];

const READS: &str = "the registry is valid";

/// A store in memory that registries without cached bundles are opened on.
struct Store {
    stores: Stores,
    objects: Arc<dyn ObjectStore>,
}

impl Store {
    fn new() -> Self {
        Self { stores: Stores::new(Vec::new()).expect("threads start"), objects: Arc::new(InMemory::new()) }
    }

    fn open(&self) -> Registry {
        let folder = self.stores.folder_of(Arc::clone(&self.objects), Key::from("registry"), "memory");
        Registry::new(folder, Contention::default())
    }

    fn push(&self, registry: &Registry, subject: &str, bundles: &[Bytes]) {
        let subject = subject.parse().expect("a subject");
        for bundle in bundles {
            let push = Push {
                bundle: bundle.clone(),
                source: SourceFile { digest: Hash::of(b"model"), name: "model.onnx".to_owned(), size: 5 },
                tool: "guards".to_owned(),
                settings: Settings { mode: Some(Mode::None), ..Settings::default() },
                time: Timestamp::from_unix(0),
            };
            registry.push(&subject, &push).expect("every version is accepted");
        }
    }
}

/// Different bundles, of about equal sizes.
fn bundles(count: usize) -> Vec<Bytes> {
    let bundle = |at: usize| {
        let model = interfaces::model(10, &(1000 + at).to_string());
        interfaces::encoded(&Interface::of(&model).expect("the model is valid")).into()
    };
    (0..count).map(bundle).collect()
}

fn with_versions(count: usize) -> Store {
    let store = Store::new();
    store.push(&store.open(), "team/subject", &bundles(count));
    store
}

/// A comparison with all versions.
fn checked(size: usize) -> Work {
    let store = with_versions(size);
    let new = bundles(size + 1).pop().expect("there is a last bundle");
    let reference = "team/subject".parse().expect("a reference");
    let mode = Mode::FullTransitive;
    Box::new(move || drop(black_box(store.open().check(&reference, &new, Some(mode)).expect(READS))))
}
