//! Graphs as authors write them: ports by name, operators as methods, no types.
//!
//! | file | contents |
//! |---|---|
//! | `value` | handles of values, and Rust's operators on them |
//! | `operators` | every ONNX operator as a method, generated from the operator table |
//! | `slots` | placeholders of the components of the eight roles |
//! | `wire` | sends, receives, network outputs, bundles |
//! | `control` | branches and loops |
//! | `outputs` | results of calls, by position and by name |
//! | `recorder`, `recorded` | the state of a recording, and its result |
//!
//! An error does not stop the recording: it is collected with its source location. The results of the
//! operation are *poisoned* values, which cause no further errors. All errors are reported together.

pub mod control;
pub mod operators;
pub mod outputs;
pub mod recorded;
pub mod recorder;
pub mod slots;
pub mod value;
pub mod wire;

use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

use typeloom_onnx::messages::{TensorProto, TypeProto};
use typeloom_program::domain::Domain;
use typeloom_program::program::ValueId;
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_types::tree::TypeNode;

use crate::authoring::{AuthoringError, AuthoringErrorKind};
use crate::location::SourceLocation;
use outputs::Outputs;
use recorded::Recorded;
use recorder::Recorder;
use value::ValueRef;

/// The graph into which the body of a module is recorded.
pub struct Graph {
    pub(crate) recorder: Rc<RefCell<Recorder>>,
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Graph").field("module", &self.recorder.borrow().module).finish_non_exhaustive()
    }
}

impl Graph {
    pub(crate) fn new(module: String, callers: Vec<String>) -> Self {
        Self { recorder: Rc::new(RefCell::new(Recorder::new(module, callers))) }
    }

    /// Adds an input of the module. Its type is inferred from its uses, or declared by [`ValueRef::of`].
    #[track_caller]
    pub fn input(&self, name: &str) -> ValueRef {
        let location = SourceLocation::here();
        let mut recorder = self.recorder.borrow_mut();
        if name.trim().is_empty() {
            recorder.error(AuthoringErrorKind::NamelessPort, location);
            drop(recorder);
            return self.poison(location);
        }
        let known = match recorder.add_module_input(name, location) {
            Ok(value) => Some(value),
            Err(kind) => {
                recorder.error(kind, location);
                recorder.program.value_named(name)
            }
        };
        drop(recorder);
        known.map_or_else(|| self.poison(location), |value| self.value(value, location))
    }

    /// Adds an output of the module. The value is passed by value or by reference.
    #[track_caller]
    pub fn output(&self, name: &str, value: impl std::borrow::Borrow<ValueRef>) {
        self.add_output(name, std::borrow::Borrow::borrow(&value), SourceLocation::here(), false);
    }

    pub(crate) fn add_output(
        &self,
        name: &str,
        value: &ValueRef,
        location: SourceLocation,
        to_network: bool,
    ) {
        self.recorder.borrow_mut().given_outputs += 1;
        let Some(given) = self.usable(value, location) else { return };
        let mut recorder = self.recorder.borrow_mut();
        if name.trim().is_empty() {
            return recorder.error(AuthoringErrorKind::NamelessPort, location);
        }
        recorder.read(given);
        if let Err(kind) = recorder.add_module_output(name, given, to_network, location) {
            recorder.error(kind, location);
        }
    }

    /// Adds a constant tensor.
    #[track_caller]
    pub fn constant(&self, tensor: &AnyTensor) -> ValueRef {
        self.constant_proto(TensorProto::from(tensor))
    }

    /// Adds a constant tensor from its ONNX message.
    #[track_caller]
    pub fn constant_proto(&self, tensor: TensorProto) -> ValueRef {
        let location = SourceLocation::here();
        let value = self.recorder.borrow_mut().initializer(tensor, location);
        self.value(value, location)
    }

    /// Adds a constant list of 64-bit integers, such as axes or a shape.
    #[track_caller]
    pub fn ints(&self, values: &[i64]) -> ValueRef {
        self.constant(&AnyTensor::from(values))
    }

    /// Records a node of any operator, including operators without a method and those of custom domains.
    #[track_caller]
    pub fn node(
        &self,
        domain: &str,
        op: &str,
        inputs: &[&ValueRef],
        attributes: Vec<typeloom_onnx::messages::AttributeProto>,
        outputs: usize,
    ) -> Vec<ValueRef> {
        let location = SourceLocation::here();
        operators::record(
            self,
            None,
            (Domain::of(domain), op),
            &[inputs.into()],
            attributes,
            outputs,
            location,
        )
    }

    pub(crate) fn value(&self, value: ValueId, made: SourceLocation) -> ValueRef {
        let recorder = self.recorder.borrow();
        let (scope, name) = (recorder.current(), Arc::clone(&recorder.program[value].name));
        ValueRef { recorder: Rc::clone(&self.recorder), scope, value: Some((value, name)), made }
    }

    /// Creates a poisoned value: the result of an operation with an error.
    pub(crate) fn poison(&self, made: SourceLocation) -> ValueRef {
        let scope = self.recorder.borrow().current();
        ValueRef { recorder: Rc::clone(&self.recorder), scope, value: None, made }
    }

    /// The results of a call with an error, which reads its arguments.
    pub(crate) fn failed_call(
        &self,
        owner: &str,
        inputs: &[&ValueRef],
        outputs: Vec<String>,
        location: SourceLocation,
    ) -> Outputs {
        for value in inputs.iter().filter_map(|input| self.usable(input, location)) {
            self.recorder.borrow_mut().read(value);
        }
        Outputs::failed(owner, outputs, self.poison(location))
    }

    /// Returns a value that can be used in the innermost open graph; otherwise as [`value::usable`].
    pub(crate) fn usable(&self, value: &ValueRef, location: SourceLocation) -> Option<ValueId> {
        value::usable(&self.recorder, value, location)
    }

    pub(crate) fn finish(self, location: SourceLocation) -> Result<Recorded, Vec<AuthoringError>> {
        let mut recorder = self.recorder.borrow_mut();
        if recorder.given_outputs == 0 {
            let module = recorder.module.clone();
            recorder.error(AuthoringErrorKind::EmptyModule { module }, location);
        } else {
            let unread: Vec<(ValueId, SourceLocation)> = recorder
                .inputs
                .iter()
                .filter(|(_, (_, read))| !read)
                .map(|(value, (location, _))| (*value, *location))
                .collect();
            for (value, location) in unread {
                let (module, name) = (recorder.module.clone(), recorder.program[value].name.to_string());
                recorder.error(AuthoringErrorKind::UnwiredInput { module, name }, location);
            }
        }
        if !recorder.errors.is_empty() {
            return Err(std::mem::take(&mut recorder.errors));
        }
        recorder.name_outputs();
        let recorder = std::mem::replace(&mut *recorder, Recorder::new(String::new(), Vec::new()));
        let Recorder { program, facts, slots, functions, exports, locations, .. } = recorder;
        let functions = functions.into_values().map(|(function, _)| function);
        let exports = exports.into_values().map(|(function, _)| function).collect();
        Ok(Recorded::new(program, facts, functions, slots, exports, locations))
    }
}

/// A type as authors declare it.
pub trait IntoType {
    /// Returns the type as a message.
    ///
    /// # Errors
    /// The text that is not a type, and the reason.
    fn into_type(self) -> Result<TypeProto, (String, String)>;
}

impl IntoType for TypeProto {
    fn into_type(self) -> Result<TypeProto, (String, String)> {
        Ok(self)
    }
}

/// A node of the type tree.
impl IntoType for &TypeNode {
    fn into_type(self) -> Result<TypeProto, (String, String)> {
        if self.denotation.is_empty() {
            let message = "it has no denotation, so a declaration cannot contain it".to_owned();
            return Err((self.id.to_owned(), message));
        }
        Ok(TypeProto { denotation: self.denotation.into(), ..TypeProto::default() })
    }
}

/// A type in ONNX's textual syntax (`float[batch, 3]`), or the id of a node of the type tree (`peer_id`).
impl IntoType for &str {
    fn into_type(self) -> Result<TypeProto, (String, String)> {
        match typeloom_onnx::text::parse_type(self.trim()) {
            Ok(ty) => Ok(ty),
            Err(error) => match typeloom_types::lattice::lookup_by_id(self.trim()) {
                Some(node) => node.into_type(),
                None => Err((self.to_owned(), error.to_string())),
            },
        }
    }
}
