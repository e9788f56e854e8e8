//! Serialisation of tensors with `serde`.
//!
//! A tensor is a record of `dtype` (the short name), `shape` and `data` (the packed bytes, as lower-case
//! hexadecimal text in human-readable formats). Deserialisation validates like every constructor and never
//! allocates more than the size of the input.

use serde::de::{self, Deserialize, Deserializer, SeqAccess, Visitor};
use serde::ser::{Serialize, Serializer};

use super::AnyTensor;
use typeloom_types::dtype::Dtype;

#[derive(serde::Serialize)]
#[serde(rename = "AnyTensor")]
struct Written<'a> {
    dtype: Dtype,
    shape: &'a [usize],
    data: Data<&'a [u8]>,
}

#[derive(serde::Deserialize)]
#[serde(rename = "AnyTensor", deny_unknown_fields)]
struct Read {
    dtype: Dtype,
    shape: Vec<usize>,
    data: Data<Vec<u8>>,
}

impl Serialize for AnyTensor {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Written { dtype: self.dtype, shape: &self.shape, data: Data(self.bytes()) }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for AnyTensor {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Read { dtype, shape, data: Data(bytes) } = Read::deserialize(deserializer)?;
        Self::from_le_bytes(dtype, &shape, &bytes).map_err(de::Error::custom)
    }
}

struct Data<B>(B);

impl Serialize for Data<&[u8]> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if !serializer.is_human_readable() {
            return serializer.serialize_bytes(self.0);
        }
        serializer.serialize_str(&hex::encode(self.0))
    }
}

impl<'de> Deserialize<'de> for Data<Vec<u8>> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            deserializer.deserialize_str(DataVisitor)
        } else {
            deserializer.deserialize_byte_buf(DataVisitor)
        }
    }
}

struct DataVisitor;

impl<'de> Visitor<'de> for DataVisitor {
    type Value = Data<Vec<u8>>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("bytes, or pairs of hexadecimal digits")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
        let invalid = |_| E::invalid_value(de::Unexpected::Other("other text"), &self);
        hex::decode(text).map(Data).map_err(invalid)
    }

    fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<Self::Value, E> {
        Ok(Data(bytes.into()))
    }

    fn visit_byte_buf<E: de::Error>(self, bytes: Vec<u8>) -> Result<Self::Value, E> {
        Ok(Data(bytes))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Self::Value, A::Error> {
        // The length that the input claims is not trusted: the vector grows with the elements that are
        // present.
        let mut bytes = Vec::new();
        while let Some(byte) = elements.next_element()? {
            bytes.push(byte);
        }
        Ok(Data(bytes))
    }
}
