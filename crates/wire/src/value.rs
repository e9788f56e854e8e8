//! Encoding of values. The format is specified in `docs/wire-format.md`.
//!
//! **Invariant:** every value has exactly one encoding, and the parser rejects all others.

use bytes::Bytes;
use half::f16;
use typeloom_contracts::peer_selector::PeerId;
use typeloom_types::any_tensor::AnyTensor;
use typeloom_types::dtype::Dtype;
use typeloom_types::lattice::lookup_by_id;
use typeloom_types::tree::TypeNode;

use crate::bytes::{Reader, put_bytes, put_int, put_limited};
use crate::error::{Exceeded, Flaw, Limited, Malformed, within};
use crate::limits::{Limits, MAX_DEPTH};
use typeloom_contracts::datum::{Datum, LeafDatum, Multiaddress, Scalar, WireReqId};

/// Discriminants of the encoded values.
mod form {
    pub(super) const TENSOR: u8 = 1;
    pub(super) const SEQUENCE: u8 = 2;
    pub(super) const NOTHING: u8 = 3;
    pub(super) const SOMETHING: u8 = 4;
    pub(super) const F32: u8 = 5;
    pub(super) const F64: u8 = 6;
    pub(super) const F16: u8 = 7;
    pub(super) const U8: u8 = 8;
    pub(super) const I32: u8 = 9;
    pub(super) const TRIGGER: u8 = 10;
    pub(super) const BYTES: u8 = 11;
    pub(super) const PEER: u8 = 12;
    pub(super) const PEERS: u8 = 13;
    pub(super) const REQUEST: u8 = 14;
    pub(super) const ADDRESS: u8 = 15;
    pub(super) const ADDRESSES: u8 = 16;
    pub(super) const COMPOSITE: u8 = 17;
    pub(super) const LEAF: u8 = 18;
}

/// Wire tag of a value's leaf type; 0 for sequences and optionals, which have none.
pub(crate) fn tag_of(datum: &Datum) -> u64 {
    datum.type_node().map_or(0, TypeNode::wire_tag)
}

/// Appends the encoding of a value.
///
/// # Errors
/// [`Exceeded`].
pub(crate) fn put_value(out: &mut Vec<u8>, datum: &Datum, limits: &Limits) -> Result<(), Exceeded> {
    Writer { out, limits, values: 0 }.value(datum, 0)
}

/// Parses a value.
pub(crate) fn value(reader: &mut Reader<'_>, limits: &Limits) -> Result<Datum, Malformed> {
    Parser { reader, limits, values: 0 }.value(0)
}

struct Writer<'w> {
    out: &'w mut Vec<u8>,
    limits: &'w Limits,
    values: usize,
}

impl Writer<'_> {
    /// Recursion ends at [`MAX_DEPTH`].
    fn value(&mut self, datum: &Datum, depth: usize) -> Result<(), Exceeded> {
        within(Limited::Depth, depth, MAX_DEPTH)?;
        self.more(1)?;
        let out = &mut *self.out;
        let peer_bytes = self.limits.peer_bytes;
        match datum {
            Datum::Tensor(tensor) => {
                within(Limited::Rank, tensor.rank(), self.limits.rank)?;
                out.extend([form::TENSOR, tensor.dtype() as u8]);
                put_int(out, tensor.rank() as u64);
                for extent in tensor.shape() {
                    put_int(out, *extent as u64);
                }
                put_bytes(out, tensor.bytes());
            }
            Datum::Sequence(values) => {
                out.push(form::SEQUENCE);
                put_int(out, values.len() as u64);
                values.iter().try_for_each(|value| self.value(value, depth + 1))?;
            }
            Datum::Composite(parts) => {
                out.push(form::COMPOSITE);
                put_int(out, parts.len() as u64);
                for (name, part) in parts {
                    put_limited(self.out, name.as_bytes(), Limited::Name, self.limits.name_bytes)?;
                    self.value(part, depth + 1)?;
                }
            }
            Datum::Optional(None) => out.push(form::NOTHING),
            Datum::Optional(Some(held)) => {
                out.push(form::SOMETHING);
                self.value(held, depth + 1)?;
            }
            Datum::Scalar(scalar) => match scalar {
                Scalar::F32(value) => fixed(out, form::F32, &value.to_le_bytes()),
                Scalar::F64(value) => fixed(out, form::F64, &value.to_le_bytes()),
                Scalar::F16(value) => fixed(out, form::F16, &value.to_le_bytes()),
                Scalar::U8(value) => fixed(out, form::U8, &[*value]),
                Scalar::I32(value) => fixed(out, form::I32, &value.to_le_bytes()),
            },
            Datum::Trigger => out.push(form::TRIGGER),
            Datum::Bytes(bytes) => {
                out.push(form::BYTES);
                put_bytes(out, bytes);
            }
            Datum::Peer(PeerId(peer)) => {
                out.push(form::PEER);
                put_limited(out, peer, Limited::Peer, peer_bytes)?;
            }
            Datum::Peers(peers) => self.list(form::PEERS, peers.iter().map(|PeerId(peer)| peer))?,
            Datum::Request(WireReqId(request)) => {
                out.push(form::REQUEST);
                put_int(out, *request);
            }
            Datum::Address(Multiaddress(address)) => {
                out.push(form::ADDRESS);
                put_limited(out, address, Limited::Peer, peer_bytes)?;
            }
            Datum::Addresses(addresses) => {
                self.list(form::ADDRESSES, addresses.iter().map(|Multiaddress(address)| address))?;
            }
            Datum::Leaf(LeafDatum { node, bytes }) => {
                out.push(form::LEAF);
                put_limited(out, node.id.as_bytes(), Limited::Name, self.limits.name_bytes)?;
                put_bytes(out, bytes);
            }
        }
        within(Limited::Envelope, self.out.len(), self.limits.envelope_bytes)
    }

    fn list<'b>(
        &mut self,
        form: u8,
        list: impl ExactSizeIterator<Item = &'b Vec<u8>>,
    ) -> Result<(), Exceeded> {
        self.more(list.len())?;
        self.out.push(form);
        put_int(self.out, list.len() as u64);
        for bytes in list {
            put_limited(self.out, bytes, Limited::Peer, self.limits.peer_bytes)?;
        }
        Ok(())
    }

    fn more(&mut self, values: usize) -> Result<(), Exceeded> {
        self.values = self.values.saturating_add(values);
        within(Limited::Values, self.values, self.limits.values)
    }
}

fn fixed(out: &mut Vec<u8>, form: u8, bytes: &[u8]) {
    out.push(form);
    out.extend_from_slice(bytes);
}

struct Parser<'p, 'b> {
    reader: &'p mut Reader<'b>,
    limits: &'p Limits,
    values: usize,
}

impl Parser<'_, '_> {
    /// Recursion ends at [`MAX_DEPTH`].
    fn value(&mut self, depth: usize) -> Result<Datum, Malformed> {
        within(Limited::Depth, depth, MAX_DEPTH).or_else(|exceeded| self.reader.fail(exceeded))?;
        self.more(1)?;
        let peer_bytes = self.limits.peer_bytes;
        let found = self.reader.byte()?;
        Ok(match found {
            form::TENSOR => Datum::Tensor(self.tensor()?),
            form::SEQUENCE => Datum::Sequence(self.several(|parser| parser.value(depth + 1))?),
            form::COMPOSITE => Datum::Composite(self.several(|parser| parser.part(depth + 1))?),
            form::NOTHING => Datum::Optional(None),
            form::SOMETHING => Datum::Optional(Some(Box::new(self.value(depth + 1)?))),
            form::F32 => Datum::Scalar(Scalar::F32(f32::from_le_bytes(self.reader.array()?))),
            form::F64 => Datum::Scalar(Scalar::F64(f64::from_le_bytes(self.reader.array()?))),
            form::F16 => Datum::Scalar(Scalar::F16(f16::from_le_bytes(self.reader.array()?))),
            form::U8 => Datum::Scalar(Scalar::U8(self.reader.byte()?)),
            form::I32 => Datum::Scalar(Scalar::I32(i32::from_le_bytes(self.reader.array()?))),
            form::TRIGGER => Datum::Trigger,
            form::BYTES => Datum::Bytes(Bytes::copy_from_slice(self.reader.bytes()?)),
            form::PEER => Datum::Peer(PeerId(self.reader.limited(Limited::Peer, peer_bytes)?.to_vec())),
            form::PEERS => Datum::Peers(self.list()?.into_iter().map(PeerId).collect()),
            form::REQUEST => Datum::Request(WireReqId(self.reader.int()?)),
            form::ADDRESS => {
                Datum::Address(Multiaddress(self.reader.limited(Limited::Peer, peer_bytes)?.to_vec()))
            }
            form::ADDRESSES => Datum::Addresses(self.list()?.into_iter().map(Multiaddress).collect()),
            form::LEAF => Datum::Leaf(self.leaf()?),
            _ => return self.reader.fail(Flaw::Kind { what: "value", found }),
        })
    }

    fn tensor(&mut self) -> Result<AnyTensor, Malformed> {
        let number = self.reader.byte()?;
        let Some(dtype) = Dtype::from_onnx_number(i32::from(number)) else {
            return self.reader.fail(Flaw::Kind { what: "element", found: number });
        };
        let rank = self.reader.count()?;
        within(Limited::Rank, rank, self.limits.rank).or_else(|exceeded| self.reader.fail(exceeded))?;
        let mut shape = Vec::new();
        for _ in 0..rank {
            shape.push(self.reader.count()?);
        }
        let bytes = self.reader.bytes()?;
        let tensor =
            AnyTensor::from_le_bytes(dtype, &shape, bytes).or_else(|error| self.reader.fail(error))?;
        // Tensors ignore padding bits, but the encoding of a value is unique, so they must be zero.
        if dtype.size_bits().is_some_and(|bits| bits % 8 != 0) && tensor.bytes() != bytes {
            return self.reader.fail(Flaw::Padding);
        }
        Ok(tensor)
    }

    fn several<T>(
        &mut self,
        mut one: impl FnMut(&mut Self) -> Result<T, Malformed>,
    ) -> Result<Vec<T>, Malformed> {
        let count = self.reader.count()?;
        // The declared count is not trusted: no memory is reserved for it, the list grows with the parsed
        // elements.
        let mut values = Vec::new();
        for _ in 0..count {
            values.push(one(self)?);
        }
        Ok(values)
    }

    fn part(&mut self, depth: usize) -> Result<(String, Datum), Malformed> {
        let name = self.reader.text(Limited::Name, self.limits.name_bytes)?.to_owned();
        Ok((name, self.value(depth)?))
    }

    fn list(&mut self) -> Result<Vec<Vec<u8>>, Malformed> {
        let count = self.reader.count()?;
        self.more(count)?;
        let mut list = Vec::new();
        for _ in 0..count {
            list.push(self.reader.limited(Limited::Peer, self.limits.peer_bytes)?.to_vec());
        }
        Ok(list)
    }

    fn leaf(&mut self) -> Result<LeafDatum, Malformed> {
        let id = self.reader.text(Limited::Name, self.limits.name_bytes)?;
        let Some(node) = lookup_by_id(id).filter(|node| node.is_concrete() && !has_own_form(node)) else {
            return self.reader.fail(Flaw::UnknownLeaf { id: id.to_owned() });
        };
        Ok(LeafDatum { node, bytes: Bytes::copy_from_slice(self.reader.bytes()?) })
    }

    fn more(&mut self, values: usize) -> Result<(), Malformed> {
        self.values = self.values.saturating_add(values);
        within(Limited::Values, self.values, self.limits.values)
            .or_else(|exceeded| self.reader.fail(exceeded))
    }
}

/// Whether values of a leaf type have a dedicated encoding and are never encoded as registered leaves.
fn has_own_form(node: &TypeNode) -> bool {
    use typeloom_types::tree::builtin as tree;
    let scalars = [
        &tree::TYPE_SCALAR_F32,
        &tree::TYPE_SCALAR_F64,
        &tree::TYPE_SCALAR_F16,
        &tree::TYPE_SCALAR_U8,
        &tree::TYPE_SCALAR_I32,
    ];
    let others = [
        &tree::TYPE_TRIGGER,
        &tree::TYPE_BYTES,
        &tree::TYPE_PEER_ID,
        &tree::TYPE_PEER_ID_VEC,
        &tree::TYPE_WIRE_REQ_ID,
        &tree::TYPE_MULTIADDRESS,
        &tree::TYPE_ADDRESS_VEC,
        &tree::TYPE_COMPOSITE,
    ];
    let tensors = Dtype::ALL.into_iter().map(Dtype::type_node);
    tensors.chain(scalars).chain(others).any(|own| own.id == node.id)
}
