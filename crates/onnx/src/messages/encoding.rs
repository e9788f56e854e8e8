//! Encoding and decoding of fields by kind: modules of prost, and one for [`SharedText`](super::SharedText).

pub(super) use prost::encoding::{bytes, double, float, int32, int64, message, string, uint64};

/// A [`SharedText`](super::super::SharedText), encoded as a string.
pub(super) mod text {
    use bytes::{Buf, BufMut};
    use prost::DecodeError;
    use prost::encoding::{DecodeContext, WireType, encode_key, encode_varint, encoded_len_varint, key_len};

    use crate::messages::SharedText;

    pub(in crate::messages) fn encode(tag: u32, value: &SharedText, buf: &mut impl BufMut) {
        encode_key(tag, WireType::LengthDelimited, buf);
        encode_varint(value.len() as u64, buf);
        buf.put_slice(value.as_bytes());
    }

    pub(in crate::messages) fn merge(
        wire_type: WireType,
        value: &mut SharedText,
        buf: &mut impl Buf,
        ctx: DecodeContext,
    ) -> Result<(), DecodeError> {
        let mut read = String::new();
        prost::encoding::string::merge(wire_type, &mut read, buf, ctx)?;
        *value = read.into();
        Ok(())
    }

    pub(in crate::messages) fn encoded_len(tag: u32, value: &SharedText) -> usize {
        key_len(tag) + encoded_len_varint(value.len() as u64) + value.len()
    }
}
