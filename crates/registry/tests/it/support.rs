//! Bundles, registries and random numbers for tests.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use object_store::ObjectStore;
use object_store::memory::InMemory;
use object_store::path::Path as Key;
use prost::Message as _;
use typeloom_interface::bundle::{Exported, export_interfaces};
use typeloom_interface::exports::Content;
use typeloom_interface::{Interface, MAIN, PortIdentity};
use typeloom_io::stores::Stores;
use typeloom_pool::compat::Direction;
use typeloom_registry::entry::{Hash, Ports, SourceFile};
use typeloom_registry::push::Push;
use typeloom_registry::registry::Contention;
use typeloom_registry::settings::Settings;
use typeloom_registry::{Reference, Registry, Subject, Timestamp};

/// The stores of all tests: one runtime.
pub(crate) fn stores() -> &'static Stores {
    static STORES: OnceLock<Stores> = OnceLock::new();
    STORES.get_or_init(|| Stores::new(Vec::new()).expect("threads start"))
}

pub(crate) fn memory() -> Arc<dyn ObjectStore> {
    Arc::new(InMemory::new())
}

/// A registry in a folder of a store.
pub(crate) fn registry(store: &Arc<dyn ObjectStore>) -> Registry {
    let folder = stores().folder_of(Arc::clone(store), Key::from("some/folder"), "test");
    let (first_pause, longest_pause) = (Duration::from_micros(20), Duration::from_millis(2));
    Registry::new(folder, Contention { attempts: 100_000, first_pause, longest_pause })
}

pub(crate) fn subject(name: &str) -> Subject {
    name.parse().expect("a subject")
}

pub(crate) fn reference(text: &str) -> Reference {
    text.parse().expect("a reference")
}

/// The bundle of the interface of a graph.
pub(crate) fn bundle_of(graph: &str) -> Bytes {
    let text = format!("<ir_version: 10, opset_import: [\"\" : 21]>\n{graph}");
    let model = typeloom_onnx::text::parse_model(&text).expect("a model").encode_to_vec();
    let interface = Interface::of(&model).expect("a checked model");
    let exported = Exported::new(MAIN, interface).expect("a portable interface");
    export_interfaces(&[exported]).expect("a bundle").into_bytes().into()
}

/// Bundles of small interfaces that are compatible in some directions, and not in others.
pub(crate) fn bundles() -> &'static [Bytes] {
    static BUNDLES: OnceLock<Vec<Bytes>> = OnceLock::new();
    BUNDLES.get_or_init(|| {
        let mut bundles = Vec::new();
        for dims in ["3", "N", "4"] {
            bundles.push(bundle_of(&format!("g (float[{dims}] x) => (float[{dims}] y) {{ y = Relu(x) }}")));
            bundles.push(bundle_of(&format!(
                "g (float[{dims}] x) => (float[{dims}] y, float[{dims}] z) {{ y = Relu(x) z = Abs(x) }}"
            )));
            bundles.push(bundle_of(&format!(
                "g (float[{dims}] x, float[{dims}] w) => (float[{dims}] y) {{ y = Add(x, w) }}"
            )));
        }
        bundles.push(bundle_of("g (double[3] x) => (double[3] y) { y = Relu(x) }"));
        bundles
    })
}

/// Whether bundle `new` can follow bundle `old`, by their interfaces:
/// `compatible()[direction][ports][old][new]`.
pub(crate) fn compatible(direction: Direction, ports: Ports, old: usize, new: usize) -> bool {
    type Table = Vec<(Direction, Ports, Vec<Vec<bool>>)>;
    static TABLE: OnceLock<Table> = OnceLock::new();
    let table = TABLE.get_or_init(|| {
        let contents: Vec<Content> =
            bundles().iter().map(|bytes| Content::import(bytes).expect("a bundle")).collect();
        let mut table = Table::new();
        for direction in [Direction::Backward, Direction::Forward, Direction::Full] {
            for ports in [Ports::Name, Ports::NameAndPosition] {
                let one = |old: &Content, new: &Content| {
                    let comparison = old.compare(new, direction, PortIdentity::from(ports));
                    comparison.expect("interfaces").is_compatible()
                };
                let row = |old: &Content| contents.iter().map(|new| one(old, new)).collect();
                table.push((direction, ports, contents.iter().map(row).collect()));
            }
        }
        table
    });
    let found = table.iter().find(|(of, by, _)| (*of, *by) == (direction, ports));
    found.expect("all directions").2[old][new]
}

/// A push of a bundle. `tool` identifies it.
pub(crate) fn push(bundle: &Bytes, tool: &str) -> Push {
    Push {
        bundle: bundle.clone(),
        source: SourceFile { digest: Hash::of(b"model"), name: "model.onnx".to_owned(), size: 5 },
        tool: tool.to_owned(),
        settings: Settings::default(),
        time: Timestamp::from_unix(1_767_225_600),
    }
}
