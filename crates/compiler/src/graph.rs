//! Graphs as authors write them: ports by name, operators as methods, no types.
//!
//! | file | what it adds |
//! |---|---|
//! | `value` | values, and Rust's operators on them |
//! | `operators` | every ONNX operator as a method, generated from the operator table |
//! | `attributes` | Rust values as attributes |
//! | `slots` | placeholders of the eight roles |
//! | `wire` | sends, receives, what goes to the network, bundles |
//! | `control` | branches and loops |
//! | `calls`, `imports` | modules called as functions, functions that other modules export |
//! | `recorder` | the recording behind all of it |
//!
//! A mistake does not stop the recording: it is kept with its place in the author's program, what it should
//! have given is a value that nothing more is said about, and all mistakes are reported together.

pub mod attributes;
pub mod calls;
pub mod control;
pub mod imports;
pub mod operators;
pub mod recorder;
pub mod slots;
pub mod value;
pub mod wire;

use std::cell::RefCell;
use std::rc::Rc;

use typeloom_onnx::messages::{TensorProto, TypeProto};
use typeloom_types::any_tensor::AnyTensor;
use typeloom_types::tree::TypeNode;

use crate::authoring::{AuthoringError, AuthoringErrorKind};
use crate::module::{Recorded, model_of};
use crate::place::Place;
use recorder::{NewNode, Recorder};
use value::Value;

/// The graph that a module's body records itself into.
pub struct Graph {
    pub(crate) recorder: Rc<RefCell<Recorder>>,
}

impl Graph {
    pub(crate) fn new(module: String, callers: Vec<String>) -> Self {
        Self { recorder: Rc::new(RefCell::new(Recorder::new(module, callers))) }
    }

    /// An input of the module. Its type is whatever it is connected to; [`Value::of`] declares one.
    #[track_caller]
    pub fn input(&self, name: &str) -> Value {
        let place = Place::here();
        let mut recorder = self.recorder.borrow_mut();
        if name.trim().is_empty() {
            recorder.error(AuthoringErrorKind::NamelessPort, place);
            drop(recorder);
            return self.poison(place);
        }
        if let Some(first) = recorder.take_name(name, place) {
            recorder.error(AuthoringErrorKind::DuplicateInput { name: name.to_owned(), first }, place);
        } else {
            recorder.add_input(name);
            recorder.inputs.insert(name.to_owned(), (place, false));
            recorder.places.insert(name.to_owned(), place);
        }
        drop(recorder);
        self.value(name.to_owned(), place)
    }

    /// An output of the module.
    #[track_caller]
    pub fn output(&self, name: &str, value: &Value) {
        self.add_output(name, value, Place::here(), false);
    }

    pub(crate) fn add_output(&self, name: &str, value: &Value, place: Place, to_network: bool) {
        let Some(given) = self.name_of(value, place) else { return };
        let mut recorder = self.recorder.borrow_mut();
        if name.trim().is_empty() {
            return recorder.error(AuthoringErrorKind::NamelessPort, place);
        }
        recorder.read(&given);
        if let Some(first) = recorder.take_output(name, given, to_network, place) {
            recorder.error(AuthoringErrorKind::DuplicateOutput { name: name.to_owned(), first }, place);
        }
    }

    /// A constant out of a tensor.
    #[track_caller]
    pub fn constant(&self, tensor: &AnyTensor) -> Value {
        let message = TensorProto {
            dims: tensor.shape().iter().map(|extent| i64::try_from(*extent).unwrap_or(i64::MAX)).collect(),
            data_type: Some(tensor.dtype().onnx_number()),
            raw_data: Some(bytes::Bytes::copy_from_slice(tensor.bytes())),
            ..TensorProto::default()
        };
        self.constant_proto(message)
    }

    /// A constant out of ONNX's own message.
    #[track_caller]
    pub fn constant_proto(&self, tensor: TensorProto) -> Value {
        let place = Place::here();
        let name = self.recorder.borrow_mut().initializer(tensor, place);
        self.value(name, place)
    }

    /// A constant list of 64-bit integers: axes, a shape.
    #[track_caller]
    pub fn ints(&self, values: &[i64]) -> Value {
        let message = TensorProto {
            dims: vec![i64::try_from(values.len()).unwrap_or(i64::MAX)],
            data_type: Some(typeloom_types::dtype::Dtype::I64.onnx_number()),
            raw_data: Some(values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<_>>().into()),
            ..TensorProto::default()
        };
        self.constant_proto(message)
    }

    /// Records a node of any operator: one that has no method here, or one of a domain of somebody's own.
    #[track_caller]
    pub fn node(
        &self,
        domain: &str,
        op: &str,
        inputs: &[&Value],
        attributes: Vec<typeloom_onnx::messages::AttributeProto>,
        outputs: usize,
    ) -> Vec<Value> {
        let place = Place::here();
        let inputs: Option<Vec<String>> = inputs.iter().map(|value| self.name_of(value, place)).collect();
        let Some(inputs) = inputs else { return (0..outputs).map(|_| self.poison(place)).collect() };
        let node = NewNode { domain, op, inputs, attributes, outputs, slot: None };
        let names = self.recorder.borrow_mut().node(node, place);
        names.into_iter().map(|name| self.value(name, place)).collect()
    }

    pub(crate) fn value(&self, name: String, made: Place) -> Value {
        let scope = self.recorder.borrow().current();
        Value { recorder: Rc::clone(&self.recorder), scope, name: Some(name.into()), made }
    }

    /// What a mistake gives.
    pub(crate) fn poison(&self, made: Place) -> Value {
        let scope = self.recorder.borrow().current();
        Value { recorder: Rc::clone(&self.recorder), scope, name: None, made }
    }

    /// The name of a value that can be used here; nothing where it cannot, which is noted.
    pub(crate) fn name_of(&self, value: &Value, place: Place) -> Option<String> {
        value::usable(&self.recorder, value, place)
    }

    pub(crate) fn finish(self, place: Place) -> Result<Recorded, Vec<AuthoringError>> {
        let mut recorder = self.recorder.take();
        if !recorder.has_outputs() {
            let module = recorder.module.clone();
            recorder.error(AuthoringErrorKind::EmptyModule { module }, place);
        } else {
            let unread: Vec<(String, Place)> = recorder
                .inputs
                .iter()
                .filter(|(_, (_, read))| !read)
                .map(|(name, (place, _))| (name.clone(), *place))
                .collect();
            for (name, place) in unread {
                let module = recorder.module.clone();
                recorder.error(AuthoringErrorKind::UnwiredInput { module, name }, place);
            }
        }
        if !recorder.errors.is_empty() {
            return Err(recorder.errors);
        }
        recorder.name_outputs();
        let mut graph = recorder.close_graph();
        graph.node.shrink_to_fit();
        let Recorder { slots, functions, places, .. } = recorder;
        let mut model = model_of(graph);
        model.functions = functions.into_values().map(|(function, _)| function).collect();
        let used = crate::ir::domains(&model);
        model.opset_import.retain(|import| used.contains(import.domain()));
        Ok(Recorded { model, slots, places })
    }
}

/// How a type is written by an author.
pub trait IntoType {
    /// The type as a message, or why it is none.
    ///
    /// # Errors
    /// The text, and what is wrong with it.
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
            let message = "it has no denotation, so a declaration cannot carry it".to_owned();
            return Err((self.id.to_owned(), message));
        }
        Ok(TypeProto { denotation: Some(self.denotation.into()), ..TypeProto::default() })
    }
}

/// As ONNX writes it (`float[batch, 3]`), or the id of a node of the type tree (`peer_id`).
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
