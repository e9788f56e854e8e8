//! Aggregators and the decoding of contribution metadata.

use std::sync::Arc;

use bytes::Bytes;
use typeloom_contracts::aggregator::Aggregator;
use typeloom_onnx::messages::NodeProto;
use typeloom_tensor::datum::Datum;
use typeloom_tensor::peer::PeerId;

use super::args::wrong_argument;
use super::{Args, ComponentError, Locked, Method, Results, done, method};
use crate::convert::{FromDatum, IntoDatum};

/// Metadata of a contribution, decoded from the bytes sent with it. Numbers are little-endian.
pub trait FromMetadata: Sized {
    /// Decodes the metadata; `bytes` is `None` if the contribution has none.
    ///
    /// # Errors
    /// The reason why the bytes are invalid.
    fn from_metadata(bytes: Option<&[u8]>) -> Result<Self, String>;
}

impl FromMetadata for () {
    fn from_metadata(_: Option<&[u8]>) -> Result<Self, String> {
        Ok(())
    }
}

impl FromMetadata for Vec<u8> {
    fn from_metadata(bytes: Option<&[u8]>) -> Result<Self, String> {
        Ok(bytes.unwrap_or_default().to_vec())
    }
}

impl FromMetadata for String {
    fn from_metadata(bytes: Option<&[u8]>) -> Result<Self, String> {
        Self::from_utf8(Vec::from_metadata(bytes)?).map_err(|error| error.to_string())
    }
}

impl<M: FromMetadata> FromMetadata for Option<M> {
    fn from_metadata(bytes: Option<&[u8]>) -> Result<Self, String> {
        bytes.map(|bytes| M::from_metadata(Some(bytes))).transpose()
    }
}

macro_rules! numbers {
    ($($number:ty),*) => {
        $(
            impl FromMetadata for $number {
                fn from_metadata(bytes: Option<&[u8]>) -> Result<Self, String> {
                    let wanted = concat!("the bytes of a ", stringify!($number));
                    let Some(bytes) = bytes else { return Err(format!("{wanted} are missing")) };
                    let bytes = bytes.try_into().map_err(|_| format!("{} bytes are not {wanted}", bytes.len()))?;
                    Ok(<$number>::from_le_bytes(bytes))
                }
            }
        )*
    };
}

numbers!(f32, f64, u32, u64, i32, i64);

type ReadMetadata<M> = Box<dyn Fn(Option<&Bytes>) -> Result<M, String> + Send + Sync>;

pub(super) struct AggregatorAdapter<A: Aggregator> {
    pub(super) component: Locked<A>,
    pub(super) metadata: ReadMetadata<A::Metadata>,
}

impl<A: Aggregator<Element: FromDatum + IntoDatum>> AggregatorAdapter<A> {
    pub(super) fn resolve(self: Arc<Self>, name: &str, _: &NodeProto) -> Option<Method> {
        match name {
            "contribute" => method(move |args| self.contribute(args)),
            "aggregate" => method(move |args| args.result(self.component.write().aggregate())),
            _ => None,
        }
    }

    fn contribute(&self, args: &Args<'_>) -> Result<Results, ComponentError> {
        let source = args.datum(0)?;
        let Datum::Peer(peer) = source else { return Err(wrong_argument(source, 0, "a peer")) };
        let element = args.input::<A::Element>(1)?;
        let metadata = (self.metadata)(args.bytes(2)?).map_err(ComponentError::Inconsistent)?;
        done(self.component.write().contribute(&text(peer), &element, metadata))
    }
}

/// A peer as text: UTF-8 unchanged, other bytes in hexadecimal.
fn text(peer: &PeerId) -> String {
    match std::str::from_utf8(&peer.0) {
        Ok(text) if !text.chars().any(char::is_control) => text.to_owned(),
        Ok(_) | Err(_) => peer.0.iter().map(|byte| format!("{byte:02x}")).collect(),
    }
}
