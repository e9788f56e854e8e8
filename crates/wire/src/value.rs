//! Encoding of values. The format is specified in `docs/wire-format.md`.

use bytes::Bytes;
use half::f16;
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::datum::{Datum, LeafDatum, Scalar};
use typeloom_tensor::map::MapDatum;
use typeloom_types::dtype::Dtype;
use typeloom_types::lattice::lookup_by_id;
use typeloom_types::tree::TypeNode;

use crate::codec::{Encoded, Reader, Variants, Writer, variants};
use crate::error::{Flaw, Malformed};

/// Wire tag of a value's leaf type; 0 for sequences, optionals and maps, which have none.
pub(crate) fn tag_of(datum: &Datum) -> u64 {
    datum.type_node().map_or(0, TypeNode::wire_tag)
}

variants! { Datum, "value":
    1 => (Self::Tensor(tensor)) [tensor],
    2 => (Self::Sequence(values)) [values],
    3 => (Self::Optional(None)) [],
    4 => (Self::Optional(Some(held))) [held],
    5 => (Self::Scalar(Scalar::F32(scalar))) [scalar],
    6 => (Self::Scalar(Scalar::F64(scalar))) [scalar],
    7 => (Self::Scalar(Scalar::F16(scalar))) [scalar],
    8 => (Self::Scalar(Scalar::U8(scalar))) [scalar],
    9 => (Self::Scalar(Scalar::I32(scalar))) [scalar],
    10 => (Self::Trigger) [],
    11 => (Self::Bytes(bytes)) [bytes],
    12 => (Self::Peer(peer)) [peer],
    13 => (Self::Peers(peers)) [peers],
    14 => (Self::Request(request)) [request],
    15 => (Self::Address(address)) [address],
    16 => (Self::Addresses(addresses)) [addresses],
    17 => (Self::Composite(parts)) [parts],
    18 => (Self::Leaf(leaf)) [leaf],
    19 => (Self::Map(map)) [map],
}

/// The recursion is bounded by [`MAX_DEPTH`](crate::limits::MAX_DEPTH).
impl Encoded for Datum {
    const COUNTS: bool = false;

    fn put(&self, out: &mut Writer<'_>) {
        out.value(|out| self.put_variant(out));
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        reader.value(Self::read_variant)
    }
}

impl<T: Encoded> Encoded for Box<T> {
    fn put(&self, out: &mut Writer<'_>) {
        (**self).put(out);
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        T::read(reader).map(Self::new)
    }
}

macro_rules! little_endian {
    ($($number:ty),*) => {
        $(
            impl Encoded for $number {
                fn put(&self, out: &mut Writer<'_>) {
                    out.bytes(&self.to_le_bytes());
                }

                fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
                    reader.array().map(Self::from_le_bytes)
                }
            }
        )*
    };
}

little_endian!(f32, f64, f16, i32);

impl Encoded for AnyTensor {
    fn put(&self, out: &mut Writer<'_>) {
        if !out.rank(self.rank()) {
            return;
        }
        out.bytes(&[self.dtype() as u8]);
        out.int(self.rank() as u64);
        self.shape().iter().for_each(|extent| out.int(*extent as u64));
        out.sized(self.bytes());
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let found = reader.byte()?;
        let Some(dtype) = Dtype::from_onnx_number(i32::from(found)) else {
            return reader.fail(Flaw::Kind { what: "element", found });
        };
        let rank = reader.rank()?;
        let shape = reader.repeat(rank, Reader::count)?;
        let bytes = reader.sized()?;
        let tensor = Self::from_le_bytes(dtype, &shape, bytes).or_else(|error| reader.fail(error))?;
        // Tensors ignore padding bits, but the encoding of a value is unique, so they must be zero.
        if dtype.size_bits().is_some_and(|bits| bits % 8 != 0) && tensor.bytes() != bytes {
            return reader.fail(Flaw::Padding);
        }
        Ok(tensor)
    }
}

impl Encoded for MapDatum {
    fn put(&self, out: &mut Writer<'_>) {
        self.keys().put(out);
        self.values().put(out);
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let (keys, values) = (AnyTensor::read(reader)?, AnyTensor::read(reader)?);
        Self::new(keys, values).or_else(|error| reader.fail(error))
    }
}

impl Encoded for LeafDatum {
    fn put(&self, out: &mut Writer<'_>) {
        out.text(self.node.id);
        out.sized(&self.bytes);
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let id = reader.text()?;
        let Some(node) = lookup_by_id(id).filter(|node| node.is_concrete() && !has_own_form(node)) else {
            return reader.fail(Flaw::UnknownLeaf { id: id.to_owned() });
        };
        Ok(Self { node, bytes: Bytes::copy_from_slice(reader.sized()?) })
    }
}

/// Whether values of a leaf type have a dedicated encoding and are never encoded as registered leaves.
fn has_own_form(node: &TypeNode) -> bool {
    use typeloom_types::tree::builtin as tree;
    let builtin = [
        &tree::TYPE_SCALAR_F32,
        &tree::TYPE_SCALAR_F64,
        &tree::TYPE_SCALAR_F16,
        &tree::TYPE_SCALAR_U8,
        &tree::TYPE_SCALAR_I32,
        &tree::TYPE_TRIGGER,
        &tree::TYPE_BYTES,
        &tree::TYPE_PEER_ID,
        &tree::TYPE_PEER_ID_VEC,
        &tree::TYPE_WIRE_REQ_ID,
        &tree::TYPE_MULTIADDRESS,
        &tree::TYPE_ADDRESS_VEC,
        &tree::TYPE_COMPOSITE,
    ];
    Dtype::ALL.into_iter().map(Dtype::type_node).chain(builtin).any(|own| own.id == node.id)
}
