//! ONNX Runtime as an engine: typed ONNX models run on it as far as it keeps their types.
//!
//! ONNX Runtime is a shared library, which is loaded when an [`Ort`] is made: nothing of it is linked. The wheel
//! `onnxruntime` of PyPI holds one (`onnxruntime/capi/libonnxruntime.so.*`), and so do its own releases. It loads a model once for all
//! extents, and says at once where it has no kernel for an operator on some types.
//!
//! The runs of one session take turns: the safe interface to the library asks for that. Each of them uses as many threads
//! as the library likes, so little is lost.
//!
//! ```no_run
//! use std::sync::Arc;
//!
//! use typeloom::run::engine::session::EngineSession;
//! use typeloom::check::Options;
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
use typeloom_solver::value_type::{Dim, Element, ValueType};
use typeloom_types::any_tensor::AnyTensor;
use typeloom_types::dtype::Dtype;

/// The engine.
pub struct Ort {
    environment: Environment,
    threads: Option<usize>,
}

/// The library allows a process one environment.
static ENVIRONMENT: Mutex<Option<Environment>> = Mutex::new(None);

/// Why the shared library could not be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadLibraryError {
    /// It is not there, or too old.
    #[error(transparent)]
    Library(#[from] ort::LoadDynamicError),
    /// It could not be set up.
    #[error(transparent)]
    Environment(#[from] ort::Error),
}

impl Ort {
    /// Loads the shared library. A process can load one: a further call has the first one again.
    ///
    /// # Errors
    /// [`LoadLibraryError`].
    pub fn load(library: &Path) -> Result<Self, LoadLibraryError> {
        let mut only = ENVIRONMENT.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(environment) = &*only {
            return Ok(Self::of(environment.clone()));
        }
        let environment = ort::init_from(library)?.with_name("typeloom").build()?;
        // What goes wrong is in the errors; the library would write it to the terminal as well.
        environment.set_log_level(LogLevel::Fatal);
        *only = Some(environment.clone());
        Ok(Self::of(environment))
    }

    fn of(environment: Environment) -> Self {
        Self { environment, threads: None }
    }

    /// The same with so many threads for one run, where the library would take as many as there are cores.
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
        // A run that panicked leaves the library's session as it was.
        let mut session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        // The binding panics where the library computes no value for an output. That happens: its optimiser removes some branches
        // of `If` together with what their outputs read.
        let run = AssertUnwindSafe(|| match session.run(&given[..]) {
            Ok(results) => results.into_iter().map(|(_, value)| tensor::from_ort(value)).collect(),
            Err(error) => Err(error.to_string()),
        });
        catch_unwind(run).unwrap_or_else(|_| Err("ONNX Runtime gave no value for an output".to_owned()))
    }
}
