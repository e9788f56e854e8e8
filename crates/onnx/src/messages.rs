//! Owned ONNX messages, for building and editing models.
//!
//! There is one struct per message of ONNX's IR version 14 (`onnx-ml.proto` and `onnx-data.proto`), with
//! ONNX's names and field numbers. The conventions are those of `prost`: a singular field is an `Option`, and
//! a singular text a [`Text`], because in proto2 an absent field differs from an empty one; a getter with the
//! field's name returns the default for an absent field; a `oneof` is an enum in a module with the message's
//! name. Large numeric payloads are [`bytes::Bytes`], so decoding from `Bytes` shares them with the file's
//! buffer.
//!
//! **Invariant:** unknown fields are preserved. Every message keeps undeclared records in `unknown_fields`
//! and writes them after the declared ones, so reading and writing a model of a newer ONNX version loses
//! nothing at any depth. To change a few fields of a large file, use [`splice`](crate::splice) instead, which
//! copies all other bytes verbatim.
//!
//! **Invariant:** decoding is bounded. Messages are nested at most 100 deep (the limit of prost and protobuf,
//! about 33 nested control-flow graphs), strings are UTF-8, and memory is proportional to the size of the
//! input (an empty message of two bytes becomes a struct of a few hundred).
//!
//! [`read`] reports the offset of an error; `prost::Message::decode` does not.
//!
//! To check large models, use a [`view`](crate::view), which does not copy.
//!
//! ```
//! use prost::Message;
//! use typeloom_onnx::messages::{GraphProto, ModelProto, NodeProto};
//!
//! let relu = NodeProto {
//!     op_type: "Relu".into(),
//!     input: vec!["x".into()],
//!     output: vec!["y".into()],
//!     ..Default::default()
//! };
//! let model = ModelProto {
//!     ir_version: Some(10),
//!     graph: Some(GraphProto { node: vec![relu], ..Default::default() }),
//!     ..Default::default()
//! };
//! let again = typeloom_onnx::messages::read::<ModelProto>(model.encode_to_vec().into())?;
//! assert_eq!(again, model);
//! assert_eq!(again.graph.unwrap_or_default().node[0].op_type(), "Relu");
//! # Ok::<(), typeloom_onnx::DecodeError>(())
//! ```

mod macros;

mod encoding;

mod convert;
mod data;
mod graph;
mod model;
pub(crate) mod schema;
mod shared;
mod tensor;
mod text;
mod types;
mod unknown;

#[cfg(test)]
mod tests;

use bytes::{Buf, Bytes};
use prost::Message;

use crate::error::{DecodeError, ErrorKind};

pub use convert::{IntoAttribute, metadata_entry, opset_import};
pub use data::{MapProto, OptionalProto, SequenceProto, sequence_proto};
pub use graph::{
    AttributeProto, GraphProto, IntIntListEntryProto, NodeDeviceConfigurationProto, NodeProto,
    ShardedDimProto, ShardingSpecProto, SimpleShardedDimProto, TensorAnnotation, ValueInfoProto,
    attribute_proto, simple_sharded_dim_proto,
};
pub use model::{
    DeviceConfigurationProto, FunctionProto, ModelProto, OperatorSetIdProto, OperatorStatus,
    StringStringEntryProto, TrainingInfoProto, Version,
};
pub use shared::SharedText;
pub use tensor::{SparseTensorProto, TensorProto, tensor_proto};
pub use text::Text;
pub use types::{TensorShapeProto, TypeProto, tensor_shape_proto, type_proto};
pub use unknown::UnknownFields;

/// Implemented by all messages of this module.
pub trait OnnxMessage: Message + Default + schema::Described {}

impl<M: Message + Default + schema::Described> OnnxMessage for M {}

/// A singular field of a message.
trait Singular {
    /// The type of the value.
    type Value;

    fn value(&self) -> Option<&Self::Value>;

    /// The value, inserted if it is absent.
    fn value_mut(&mut self) -> &mut Self::Value;
}

impl<T: Default> Singular for Option<T> {
    type Value = T;

    fn value(&self) -> Option<&T> {
        self.as_ref()
    }

    fn value_mut(&mut self) -> &mut T {
        self.get_or_insert_default()
    }
}

/// Decodes a whole message; large payloads are shared with `bytes`.
///
/// # Errors
/// The first error, with its offset from the start of `bytes`.
pub fn read<M: OnnxMessage>(bytes: Bytes) -> Result<M, DecodeError> {
    let mut rest = bytes.clone();
    M::decode(&mut rest).map_err(|error| {
        // A second decoder finds the error and its offset. If it finds none, the position at which prost
        // stopped is used.
        schema::find_error(M::SCHEMA, &bytes).unwrap_or_else(|| {
            let offset = bytes.len() - rest.remaining();
            DecodeError { offset, kind: ErrorKind::Other(error.to_string().into_boxed_str()) }
        })
    })
}
