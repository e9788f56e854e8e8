//! Owned ONNX messages: what modules and passes build and edit.
//!
//! One struct per message of ONNX's IR version 14 (`onnx-ml.proto` and `onnx-data.proto`), with ONNX's names and field
//! numbers, and the conventions of `prost`: `Option` for a singular field, because ONNX is proto2 and "absent" differs
//! from "empty"; getters with the field's name that fall back to the default; `oneof`s as enums in a module named like
//! the message. Numeric payloads that can be large are [`bytes::Bytes`], so decoding from `Bytes` shares them with the
//! file's buffer instead of copying.
//!
//! **Invariant:** unknown fields survive. Every message keeps the records that its schema does not declare in
//! `unknown_fields` and writes them back after the known ones, so reading and writing a model of a newer ONNX loses
//! nothing, at any depth. To change a few fields of a large file, use [`splice`](crate::splice) instead: it copies every
//! untouched byte verbatim.
//!
//! **Invariant:** reading is bounded: messages nest at most 100 deep (prost's and protobuf's own limit, about 33
//! control-flow graphs inside one another), strings are UTF-8, and memory is at most proportional to the bytes read (an
//! empty message of two bytes becomes a struct of a few hundred).
//!
//! [`read`] reports what is wrong with malformed bytes and where; `prost::Message::decode` works too, without the offset.
//!
//! Not for checking large models: a [`view`](crate::view) reads those without copying.
//!
//! ```
//! use prost::Message;
//! use typeloom_onnx::messages::{GraphProto, ModelProto, NodeProto};
//!
//! let relu = NodeProto {
//!     op_type: Some("Relu".into()),
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

mod data;
mod graph;
mod model;
pub(crate) mod schema;
mod shared;
mod tensor;
mod types;
mod unknown;

#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use bytes::{Buf, Bytes};
use prost::Message;

use crate::error::{DecodeError, ErrorKind};

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
pub use types::{TensorShapeProto, TypeProto, tensor_shape_proto, type_proto};
pub use unknown::UnknownFields;

/// A message of this module.
pub trait OnnxMessage: Message + Default + schema::Described {}

impl<M: Message + Default + schema::Described> OnnxMessage for M {}

/// Reads a whole message, sharing large payloads with `bytes`.
///
/// On malformed bytes the error tells what is wrong and where, counted from the start of `bytes`.
pub fn read<M: OnnxMessage>(bytes: Bytes) -> Result<M, DecodeError> {
    let mut rest = bytes.clone();
    M::decode(&mut rest).map_err(|error| {
        // The cold path looks for the cause a second time, now with offsets. prost stops where the fault is, so
        // its position is the fallback.
        schema::find_fault(M::SCHEMA, &bytes).unwrap_or_else(|| {
            let offset = bytes.len() - rest.remaining();
            DecodeError { offset, kind: ErrorKind::Other(error.to_string().into_boxed_str()) }
        })
    })
}

/// Reads a whole message that lies in pieces one after the other, sharing large payloads with the piece that they are in.
pub fn read_pieces<M: OnnxMessage>(pieces: Vec<Bytes>) -> Result<M, DecodeError> {
    let full = pieces.iter().filter(|piece| !piece.is_empty());
    let mut rest = Pieces { left: pieces.iter().map(Bytes::len).sum(), pieces: full.cloned().collect() };
    M::decode(&mut rest).or_else(|_| read(pieces.concat().into()))
}

/// Bytes in pieces, none of which is empty.
struct Pieces {
    pieces: VecDeque<Bytes>,
    left: usize,
}

impl Buf for Pieces {
    fn remaining(&self) -> usize {
        self.left
    }

    fn chunk(&self) -> &[u8] {
        self.pieces.front().map_or(&[], |piece| piece)
    }

    fn advance(&mut self, count: usize) {
        let mut count = count;
        self.left -= count;
        while let Some(front) = self.pieces.front_mut() {
            if count < front.len() {
                front.advance(count);
                return;
            }
            count -= front.len();
            self.pieces.pop_front();
        }
    }

    fn copy_to_bytes(&mut self, len: usize) -> Bytes {
        if let Some(front) = self.pieces.front()
            && len <= front.len()
        {
            let bytes = front.slice(..len);
            self.advance(len);
            return bytes;
        }
        let mut bytes = Vec::with_capacity(len);
        while bytes.len() < len && self.left > 0 {
            let part = self.chunk().len().min(len - bytes.len());
            bytes.extend_from_slice(&self.chunk()[..part]);
            self.advance(part);
        }
        bytes.into()
    }
}
