//! Values of every type of the tree, as modules pass them from node to node and from peer to peer.
//!
//! Operators of ONNX know tensors, sequences and optionals ([`Value`]). Modules also pass scalars, peers, requests,
//! addresses, bundles and whatever leaves a program registers; a [`Datum`] is any of these.
//!
//! **Invariant:** a datum says its own type: [`Datum::type_node`] needs nothing but the datum.

use bytes::Bytes;
use half::f16;
use typeloom_contracts::peer_selector::PeerId;
use typeloom_cpu::value::Value;
use typeloom_types::any_tensor::AnyTensor;
use typeloom_types::tree::TypeNode;
use typeloom_types::tree::builtin::{
    TYPE_ADDRESS_VEC, TYPE_BYTES, TYPE_COMPOSITE, TYPE_MULTIADDRESS, TYPE_PEER_ID, TYPE_PEER_ID_VEC,
    TYPE_SCALAR_F16, TYPE_SCALAR_F32, TYPE_SCALAR_F64, TYPE_SCALAR_I32, TYPE_SCALAR_U8, TYPE_TRIGGER,
    TYPE_WIRE_REQ_ID,
};

use crate::stamp::describe_tensor;

/// A value of any type of the tree. Clones of tensors and bytes share their memory.
#[derive(Clone, Debug, PartialEq)]
pub enum Datum {
    /// A tensor.
    Tensor(AnyTensor),
    /// A sequence of values.
    Sequence(Vec<Datum>),
    /// A value that may be missing.
    Optional(Option<Box<Datum>>),
    /// A single number.
    Scalar(Scalar),
    /// A signal without a value.
    Trigger,
    /// Opaque bytes.
    Bytes(Bytes),
    /// One peer.
    Peer(PeerId),
    /// Peers.
    Peers(Vec<PeerId>),
    /// The handle of a request on the wire.
    Request(WireReqId),
    /// One network address.
    Address(Multiaddress),
    /// Network addresses.
    Addresses(Vec<Multiaddress>),
    /// Several values bundled into one, each under a name: whoever takes a bundle apart asks by name.
    Composite(Vec<(String, Datum)>),
    /// A value of a leaf that the program registered, as the leaf's owner writes it.
    Leaf(LeafDatum),
}

/// A single number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scalar {
    /// A 32-bit float.
    F32(f32),
    /// A 64-bit float.
    F64(f64),
    /// A half-precision float.
    F16(f16),
    /// An 8-bit unsigned integer.
    U8(u8),
    /// A 32-bit signed integer.
    I32(i32),
}

/// The handle of a request: what a send gives beside the value where it arrives.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct WireReqId(pub u64);

/// A network address, as the transport writes it in bytes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Multiaddress(pub Vec<u8>);

/// A value of a registered leaf.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeafDatum {
    /// The leaf.
    pub node: &'static TypeNode,
    /// The value, as the leaf's owner writes it.
    pub bytes: Bytes,
}

impl Scalar {
    /// The leaf of the number.
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
    /// The tensor, where this is one.
    #[must_use]
    pub fn as_tensor(&self) -> Option<&AnyTensor> {
        if let Self::Tensor(tensor) = self { Some(tensor) } else { None }
    }

    /// The peers that it names: one, or a list.
    #[must_use]
    pub fn as_peers(&self) -> Option<&[PeerId]> {
        if let Self::Peer(peer) = self {
            return Some(std::slice::from_ref(peer));
        }
        if let Self::Peers(peers) = self { Some(peers) } else { None }
    }

    /// The leaf of the value; nothing for sequences and optionals, which are constructors over types.
    #[must_use]
    pub fn type_node(&self) -> Option<&'static TypeNode> {
        Some(match self {
            Self::Tensor(tensor) => tensor.type_node(),
            Self::Sequence(_) | Self::Optional(_) => return None,
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

    /// The value's own type in words.
    #[must_use]
    pub fn describe(&self) -> String {
        match self {
            Self::Tensor(tensor) => describe_tensor(tensor),
            Self::Sequence(values) => {
                let first =
                    values.first().map_or_else(String::new, |first| format!(" of {}, ...", first.describe()));
                format!("a sequence of {}{first}", values.len())
            }
            Self::Optional(None) => "nothing".to_owned(),
            Self::Optional(Some(held)) => format!("optional({})", held.describe()),
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

    /// The value as operators of ONNX take it; itself where they know no such value.
    ///
    /// # Errors
    /// The datum, where it is, or holds, something else than tensors.
    pub fn into_value(self) -> Result<Value, Self> {
        match self {
            Self::Tensor(tensor) => Ok(Value::Tensor(tensor)),
            Self::Sequence(values) => {
                let mut taken = Vec::with_capacity(values.len());
                let mut rest = values.into_iter();
                while let Some(value) = rest.next() {
                    match value.into_value() {
                        Ok(value) => taken.push(value),
                        Err(odd) => {
                            let before = taken.into_iter().map(Self::from);
                            return Err(Self::Sequence(before.chain([odd]).chain(rest).collect()));
                        }
                    }
                }
                Ok(Value::Sequence(taken))
            }
            Self::Optional(None) => Ok(Value::Optional(None)),
            Self::Optional(Some(held)) => match held.into_value() {
                Ok(held) => Ok(Value::Optional(Some(Box::new(held)))),
                Err(odd) => Err(Self::Optional(Some(Box::new(odd)))),
            },
            other @ (Self::Scalar(_)
            | Self::Trigger
            | Self::Bytes(_)
            | Self::Peer(_)
            | Self::Peers(_)
            | Self::Request(_)
            | Self::Address(_)
            | Self::Addresses(_)
            | Self::Composite(_)
            | Self::Leaf(_)) => Err(other),
        }
    }
}

impl From<Value> for Datum {
    fn from(value: Value) -> Self {
        match value {
            Value::Tensor(tensor) => Self::Tensor(tensor),
            Value::Sequence(values) => Self::Sequence(values.into_iter().map(Self::from).collect()),
            Value::Optional(held) => Self::Optional(held.map(|held| Box::new(Self::from(*held)))),
        }
    }
}

impl From<AnyTensor> for Datum {
    fn from(tensor: AnyTensor) -> Self {
        Self::Tensor(tensor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_operators_come_back_as_they_were() {
        let tensor = AnyTensor::from_scalar(2.0_f32);
        let value = Value::Sequence(vec![
            Value::Tensor(tensor.clone()),
            Value::Optional(None),
            Value::Optional(Some(Box::new(Value::Tensor(tensor)))),
        ]);
        assert_eq!(Datum::from(value.clone()).into_value(), Ok(value));
    }

    #[test]
    fn what_operators_do_not_know_is_given_back_whole() {
        let tensor = Datum::Tensor(AnyTensor::from_scalar(1_i64));
        let datum = Datum::Sequence(vec![tensor.clone(), Datum::Trigger, tensor]);
        assert_eq!(datum.clone().into_value(), Err(datum));
    }
}
