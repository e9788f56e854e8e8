//! Adapter that runs typed ONNX models on ONNX Runtime, as far as the engine preserves their types.
//!
//! [`Ort::load`] loads ONNX Runtime at run time as a shared library; nothing is linked. The wheel
//! `onnxruntime` of PyPI contains the library (`onnxruntime/capi/libonnxruntime.so.*`), as do the releases of
//! ONNX Runtime. A model is loaded once for all extents. Loading fails if an operator lacks a kernel for its
//! element types.
//!
//! Runs of one session are serialised because the safe interface of the library requires exclusive access.
//! Each run is multi-threaded, so the loss is small.
//!
//! ```no_run
//! use std::sync::Arc;
//!
//! use typeloom::check::Options;
//! use typeloom::run::engine::EngineSession;
//! use typeloom::run::Verify;
//! use typeloom_ort::Ort;
//!
//! let engine = Arc::new(Ort::load("libonnxruntime.so".as_ref())?);
//! let bytes = typeloom::onnx::model_from_text(
//!     r#"<ir_version: 10, opset_import: ["" : 18]> g (float[N, 2] x) => (y) { y = Add(x, x) }"#,
//! )?;
//! let mut checked = typeloom::check(&bytes, &Options::default())?;
//! let no_files = |_: &_| Err("no other files are read".to_owned());
//! let session = EngineSession::of_checked(engine, checked.solved(), &no_files, Verify::Inputs)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod objections;
mod tensor;
mod versions;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use ort::environment::Environment;
use ort::logging::LogLevel;
use ort::session::{Session, SessionInputValue};
use ort::value::ValueType as OrtType;
use typeloom::ModelProto;
use typeloom_onnx::prost::Message as _;
use typeloom_runtime::engine::{Engine, Loaded, Loads, Offer, Program};
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::value_type::{Dim, Element, ValueType};
use typeloom_types::dtype::Dtype;

/// The ONNX Runtime engine.
pub struct Ort {
    environment: Environment,
    threads: Option<usize>,
}

/// The library permits one environment per process.
static ENVIRONMENT: Mutex<Option<Environment>> = Mutex::new(None);

/// Error of loading the shared library.
#[derive(Debug, thiserror::Error)]
pub enum LoadLibraryError {
    /// The library is missing or too old.
    #[error(transparent)]
    Library(#[from] ort::LoadDynamicError),
    /// The initialisation failed.
    #[error(transparent)]
    Environment(#[from] ort::Error),
}

impl Ort {
    /// Loads the shared library. A process loads it once; later calls return the first library.
    ///
    /// # Errors
    /// [`LoadLibraryError`].
    pub fn load(library: &Path) -> Result<Self, LoadLibraryError> {
        let mut only = ENVIRONMENT.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(environment) = &*only {
            return Ok(Self::of(environment.clone()));
        }
        let environment = ort::init_from(library)?.with_name("typeloom").build()?;
        // Errors already contain the messages; the library would also print them to the terminal.
        environment.set_log_level(LogLevel::Fatal);
        *only = Some(environment.clone());
        Ok(Self::of(environment))
    }

    fn of(environment: Environment) -> Self {
        Self { environment, threads: None }
    }

    /// Sets the number of threads per run. The default is the number of cores.
    #[must_use]
    pub fn with_threads(self, threads: usize) -> Self {
        Self { threads: Some(threads), ..self }
    }
}

impl Engine for Ort {
    fn name(&self) -> &str {
        "ort"
    }

    fn dtypes(&self) -> &[Dtype] {
        tensor::DTYPES
    }

    fn loads(&self) -> Loads {
        Loads::ForAllExtents
    }

    fn calls_functions(&self) -> bool {
        true
    }

    fn objection(&self, offer: &Offer<'_>) -> Option<String> {
        objections::of(offer)
    }

    fn load(&self, model: &ModelProto) -> Result<Loaded, String> {
        let bytes = versions::lowered(model).as_ref().unwrap_or(model).encode_to_vec();
        let builder = Session::builder(&self.environment).map_err(|error| error.to_string())?;
        let mut builder = builder.with_log_level(LogLevel::Fatal).map_err(|error| error.to_string())?;
        if let Some(threads) = self.threads {
            builder = builder.with_intra_threads(threads).map_err(|error| error.to_string())?;
        }
        let session = builder.commit_from_memory(&bytes).map_err(|error| error.to_string())?;
        let types =
            session.outputs().iter().map(|it| (it.name().to_owned(), value_type(it.dtype()))).collect();
        Ok(Loaded { program: Box::new(Running { session: Mutex::new(session) }), types })
    }
}

fn value_type(ty: &OrtType) -> ValueType {
    let container = |element| ValueType { element, ..ValueType::default() };
    match ty {
        OrtType::Tensor { ty, shape, dimension_symbols: _ } => {
            let dim = |extent: &i64| usize::try_from(*extent).map_or(Dim::Unknown, Dim::Fixed);
            let shape = Some(shape.iter().map(dim).collect());
            let dtype = tensor::dtype(*ty);
            ValueType { node: dtype.map(Dtype::type_node), element: Element::Tensor(dtype), shape }
        }
        OrtType::Sequence(inner) => container(Element::Sequence(Arc::new(value_type(inner)))),
        OrtType::Optional(inner) => container(Element::Optional(Arc::new(value_type(inner)))),
        OrtType::Map { .. } => ValueType::default(),
    }
}

struct Running {
    session: Mutex<Session>,
}

impl Program for Running {
    fn run(&self, inputs: Vec<AnyTensor>) -> Result<Vec<AnyTensor>, String> {
        let given = inputs.iter().map(tensor::to_ort).collect::<Result<Vec<SessionInputValue<'_>>, _>>()?;
        // A panic does not affect the state of the library's session.
        let mut session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        // The binding panics if the library computes no value for an output. Its optimiser can cause this by
        // removing branches of `If` together with values that their outputs read.
        let run = AssertUnwindSafe(|| match session.run(&given[..]) {
            Ok(results) => results.into_iter().map(|(_, value)| tensor::from_ort(value)).collect(),
            Err(error) => Err(error.to_string()),
        });
        catch_unwind(run).unwrap_or_else(|_| Err("ONNX Runtime gave no value for an output".to_owned()))
    }
}
