//! Run-time values.
//!
//! A [`Datum`] is a value of any type of the type tree: operand of operators, argument and result of
//! components, and payload of messages between peers. ONNX operators use tensors, sequences, optionals
//! and maps only; the other variants occur in modules.
//!
//! **Invariant:** the type of a datum depends only on the datum, not on the context; see
//! [`Datum::type_node`] and [`Datum::describe`].

use std::fmt;

use crate::any_tensor::AnyTensor;
use bytes::Bytes;
use half::f16;
use typeloom_types::dtype::Dtype;
use typeloom_types::element::Element;
use typeloom_types::tree::TypeNode;
use typeloom_types::tree::builtin::{
    TYPE_ADDRESS_VEC, TYPE_BYTES, TYPE_COMPOSITE, TYPE_MULTIADDRESS, TYPE_PEER_ID, TYPE_PEER_ID_VEC,
    TYPE_SCALAR_F16, TYPE_SCALAR_F32, TYPE_SCALAR_F64, TYPE_SCALAR_I32, TYPE_SCALAR_U8, TYPE_TRIGGER,
    TYPE_WIRE_REQ_ID,
};

use crate::address::Multiaddress;
use crate::map::MapDatum;
use crate::peer::PeerId;
use crate::value_type::{Dim, ValueType};

/// A value of any type of the type tree. Clones of tensors and bytes share their memory.
#[derive(Clone, Debug, PartialEq)]
pub enum Datum {
    Tensor(AnyTensor),
    /// A sequence of values.
    Sequence(Vec<Datum>),
    /// An optional value.
    Optional(Option<Box<Datum>>),
    /// A map from keys to tensors.
    Map(Box<MapDatum>),
    Scalar(Scalar),
    /// A signal without payload.
    Trigger,
    Bytes(Bytes),
    Peer(PeerId),
    Peers(Vec<PeerId>),
    /// The handle of a request on the wire.
    Request(WireReqId),
    Address(Multiaddress),
    Addresses(Vec<Multiaddress>),
    /// Named values bundled into one.
    Composite(Vec<(String, Datum)>),
    /// A value of a user-registered leaf type.
    Leaf(LeafDatum),
}

/// A single number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scalar {
    F32(f32),
    F64(f64),
    F16(f16),
    U8(u8),
    I32(i32),
}

/// Handle of a request; the second output of a send operator.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct WireReqId(pub u64);

/// A value of a user-registered leaf type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeafDatum {
    pub node: &'static TypeNode,
    /// The value in the byte format that the owner of the leaf defines.
    pub bytes: Bytes,
}

impl Scalar {
    #[must_use]
    pub fn type_node(&self) -> &'static TypeNode {
        match self {
            Self::F32(_) => &TYPE_SCALAR_F32,
            Self::F64(_) => &TYPE_SCALAR_F64,
            Self::F16(_) => &TYPE_SCALAR_F16,
            Self::U8(_) => &TYPE_SCALAR_U8,
            Self::I32(_) => &TYPE_SCALAR_I32,
        }
    }
}

impl Datum {
    /// The tensor, or `None` for other values.
    #[must_use]
    pub fn as_tensor(&self) -> Option<&AnyTensor> {
        if let Self::Tensor(tensor) = self { Some(tensor) } else { None }
    }

    /// The elements of a sequence, or `None` for other values.
    #[must_use]
    pub fn as_sequence(&self) -> Option<&[Datum]> {
        if let Self::Sequence(values) = self { Some(values) } else { None }
    }

    /// The map, or `None` for other values.
    #[must_use]
    pub fn as_map(&self) -> Option<&MapDatum> {
        if let Self::Map(map) = self { Some(map) } else { None }
    }

    /// The peers of a [`Datum::Peer`] or [`Datum::Peers`].
    #[must_use]
    pub fn as_peers(&self) -> Option<&[PeerId]> {
        if let Self::Peer(peer) = self {
            return Some(std::slice::from_ref(peer));
        }
        if let Self::Peers(peers) = self { Some(peers) } else { None }
    }

    /// Type-tree leaf of the value; `None` for sequences, optionals and maps, which are type constructors.
    #[must_use]
    pub fn type_node(&self) -> Option<&'static TypeNode> {
        Some(match self {
            Self::Tensor(tensor) => tensor.type_node(),
            Self::Sequence(_) | Self::Optional(_) | Self::Map(_) => return None,
            Self::Scalar(scalar) => scalar.type_node(),
            Self::Trigger => &TYPE_TRIGGER,
            Self::Bytes(_) => &TYPE_BYTES,
            Self::Peer(_) => &TYPE_PEER_ID,
            Self::Peers(_) => &TYPE_PEER_ID_VEC,
            Self::Request(_) => &TYPE_WIRE_REQ_ID,
            Self::Address(_) => &TYPE_MULTIADDRESS,
            Self::Addresses(_) => &TYPE_ADDRESS_VEC,
            Self::Composite(_) => &TYPE_COMPOSITE,
            Self::Leaf(leaf) => leaf.node,
        })
    }

    /// Returns the type of the value for messages, tensor types in the notation of models: `float[2, 3]`.
    #[must_use]
    pub fn describe(&self) -> String {
        match self {
            Self::Tensor(tensor) => describe_tensor(tensor.dtype(), tensor.shape()),
            Self::Sequence(values) => {
                let first =
                    values.first().map_or_else(String::new, |first| format!(" of {}, ...", first.describe()));
                format!("a sequence of {}{first}", values.len())
            }
            Self::Optional(None) => "nothing".to_owned(),
            Self::Optional(Some(held)) => format!("optional({})", held.describe()),
            Self::Map(map) => {
                let (key, value, shape) = map.types();
                format!("map({}, {}) of {}", key.onnx_name(), describe_tensor(value, shape), map.len())
            }
            Self::Composite(parts) => {
                let part = |(name, part): &(String, Self)| format!("{name}: {}", part.describe());
                let parts: Vec<String> = parts.iter().map(part).collect();
                format!("composite({})", parts.join(", "))
            }
            Self::Scalar(_)
            | Self::Trigger
            | Self::Bytes(_)
            | Self::Peer(_)
            | Self::Peers(_)
            | Self::Request(_)
            | Self::Address(_)
            | Self::Addresses(_)
            | Self::Leaf(_) => self.type_node().map_or("?", |node| node.id).to_owned(),
        }
    }
}

/// Prints a tensor with its first elements: `f32[2] [1.0, 2.0]`. Prints other values as `Debug` does.
impl fmt::Display for Datum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tensor(tensor) => tensor.fmt(f),
            other => fmt::Debug::fmt(other, f),
        }
    }
}

macro_rules! elements {
    ($([$($generic:tt)*] $from:ty;)*) => {
        $(
            /// A tensor of rank 1.
            impl<T: Element, $($generic)*> From<$from> for Datum {
                fn from(elements: $from) -> Self {
                    Self::Tensor(elements.into())
                }
            }
        )*
    };
}

elements! {
    [] Vec<T>;
    [] &[T];
    [const N: usize] [T; N];
}

impl From<PeerId> for Datum {
    fn from(peer: PeerId) -> Self {
        Self::Peer(peer)
    }
}

impl From<Vec<PeerId>> for Datum {
    fn from(peers: Vec<PeerId>) -> Self {
        Self::Peers(peers)
    }
}

impl<const N: usize> From<[PeerId; N]> for Datum {
    fn from(peers: [PeerId; N]) -> Self {
        Self::Peers(peers.into())
    }
}

impl From<Multiaddress> for Datum {
    fn from(address: Multiaddress) -> Self {
        Self::Address(address)
    }
}

impl From<AnyTensor> for Datum {
    fn from(tensor: AnyTensor) -> Self {
        Self::Tensor(tensor)
    }
}

/// Returns the type of a tensor in the notation of models.
fn describe_tensor(dtype: Dtype, shape: &[usize]) -> String {
    ValueType::tensor(dtype, shape.iter().copied().map(Dim::Fixed)).to_string()
}
