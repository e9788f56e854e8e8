//! The interface that a compiled file records in its metadata, read without loading the program.
//!
//! **Invariant:** types are verified by their digests, but not compared with the program. Loading the program
//! in the compiler does that.

use typeloom_onnx::view::ModelView;
use typeloom_pool::{Descriptor, Idx, Pool};

use crate::MAIN;
use crate::bundle::{self, BundleError, Exported};

/// Key of the model metadata with the bundle of the program's exports, in hexadecimal.
pub const INTERFACE: &str = "ai.bytesandbrains.interface";

/// Prefix of the keys of the model metadata with the compiled programs of other public functions, in
/// hexadecimal.
pub const FUNCTION: &str = "ai.bytesandbrains.function.";

/// Prefix of the labels of slots in the bundle.
pub const SLOTS: &str = "slot:";

/// Prefix of the labels of parts in the bundle.
pub const PARTS: &str = "part:";

/// The recorded interface of a compiled file.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// The main function, labelled with the name of the program.
    pub main: Exported,
    /// The public functions other than the main function.
    pub functions: Vec<Exported>,
    /// The parts of a program with sends, labelled `part:` and the name of the peer class.
    pub parts: Vec<Exported>,
    /// The slots of all public functions, which need a component.
    pub slots: Vec<RecordedSlot>,
}

/// The recorded requirement of a slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedSlot {
    /// The name of the slot.
    pub name: String,
    /// The name of the component's contract; `None` if the type has no name.
    pub contract: Option<String>,
    /// The type of the component.
    pub needs: String,
}

/// Error of reading a recorded interface.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordedError {
    /// The bundle is invalid.
    #[error(transparent)]
    Bundle(#[from] BundleError),
    /// The bundle has no main function.
    #[error("the recorded interface has no main function")]
    NoMain,
}

impl Recorded {
    /// The main function, the other public functions and the parts, in this order.
    pub fn exports(&self) -> impl Iterator<Item = &Exported> {
        std::iter::once(&self.main).chain(&self.functions).chain(&self.parts)
    }

    /// Reads the interface that a compiled file records; `None` for other files.
    ///
    /// # Errors
    /// [`RecordedError`] if the recorded bundle is invalid.
    pub fn read(file: &[u8]) -> Result<Option<Self>, RecordedError> {
        let Some((program, bundle)) = recorded_bundle(file) else { return Ok(None) };
        let mut pool = Pool::new();
        let (mut main, mut functions, mut parts) = (None, Vec::new(), Vec::new());
        let mut slots: Vec<RecordedSlot> = Vec::new();
        for root in pool.import(&bundle).map_err(BundleError::from)? {
            if let Some(name) = root.label.strip_prefix(SLOTS) {
                slots.push(slot(&pool, name, root.ty));
            } else if root.label.starts_with(PARTS) {
                parts.push(bundle::exported(&pool, root)?);
            } else if root.label == program {
                main = Some(bundle::exported(&pool, root)?);
            } else {
                functions.push(bundle::exported(&pool, root)?);
            }
        }
        let main = main.ok_or(RecordedError::NoMain)?;
        for function in function_files(file) {
            let others = Self::read(&function)?.map(|function| function.slots).unwrap_or_default();
            let others =
                others.into_iter().filter(|other| slots.iter().all(|known| known.name != other.name));
            slots.extend(others.collect::<Vec<_>>());
        }
        Ok(Some(Self { main, functions, parts, slots }))
    }
}

fn slot(pool: &Pool, name: &str, ty: Idx) -> RecordedSlot {
    let contract = match pool.get(ty) {
        Descriptor::Struct { name, .. } => Some(name.to_string()),
        _ => None,
    };
    RecordedSlot { name: name.to_owned(), contract, needs: pool.signature(ty) }
}

/// The compiled files of public functions, from the metadata. Each is at most half as long as `file`, which
/// bounds the recursion of [`Recorded::read`].
fn function_files(file: &[u8]) -> Vec<Vec<u8>> {
    let Ok(model) = ModelView::new(file) else { return Vec::new() };
    let entries = model.metadata_props().filter_map(Result::ok);
    let functions = entries.filter(|entry| entry.key().is_ok_and(|key| key.starts_with(FUNCTION)));
    functions.filter_map(|entry| hex::decode(entry.value().ok()?).ok()).collect()
}

/// The name of a compiled program, and the bundle in its metadata.
fn recorded_bundle(file: &[u8]) -> Option<(String, Vec<u8>)> {
    let model = ModelView::new(file).ok()?;
    let name = model.graph().and_then(|graph| graph.name().ok()).filter(|name| !name.is_empty());
    let mut entries = model.metadata_props().filter_map(Result::ok);
    let found = entries.find(|entry| entry.key() == Ok(INTERFACE))?;
    Some((name.unwrap_or(MAIN).to_owned(), hex::decode(found.value().ok()?).ok()?))
}
