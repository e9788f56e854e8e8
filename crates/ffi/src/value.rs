//! Values: tensors from the parts that C code passes, and views of results for C code.

use std::any::Any;
use std::ffi::c_void;
use std::sync::Arc;

use typeloom::run::values::Scalar;
use typeloom::run::{Datum, RunOutcome};
use typeloom::types::{AnyTensor, Dtype};

use crate::layout::{Bytes, Field, Fields, List, Tensor, Value};
use crate::status::{Error, Result, Status};

/// Maximum number of axes of a tensor from C code.
pub(crate) const MAX_RANK: u32 = 64;

/// Maximum depth of composites in composites.
pub(crate) const MAX_DEPTH: usize = 32;

/// The message for composites beyond [`MAX_DEPTH`].
pub(crate) fn too_deep() -> String {
    format!("composites are nested more than {MAX_DEPTH} deep")
}

/// Checks the fields of a tensor before its memory is read: the element type is that of the leaf, and the
/// shape needs the given number of bytes.
pub(crate) fn check_tensor(leaf: Dtype, tensor: &Tensor, dims: &[u64]) -> Result<Vec<usize>> {
    let bad = |text: String| Error::new(Status::BadValue, text);
    if tensor.dtype != leaf.onnx_number() {
        let given = Dtype::from_onnx_number(tensor.dtype);
        let given =
            given.map_or_else(|| format!("number {}", tensor.dtype), |dtype| dtype.onnx_name().to_owned());
        return Err(bad(format!(
            "the wire hash is that of {} tensors, and the element type is {given}",
            leaf.onnx_name()
        )));
    }
    let shape: Option<Vec<usize>> = dims.iter().map(|dim| usize::try_from(*dim).ok()).collect();
    let shape = shape.ok_or_else(|| bad("an extent is too large".to_owned()))?;
    let needed = AnyTensor::byte_len(leaf, &shape).map_err(|error| bad(error.to_string()))?;
    // Strings have text after the offsets.
    let fits = if leaf == Dtype::String { tensor.length >= needed } else { tensor.length == needed };
    if !fits {
        let name = leaf.onnx_name();
        return Err(bad(format!(
            "{name}{shape:?} takes {needed} bytes, and the length is {}",
            tensor.length
        )));
    }
    Ok(shape)
}

/// A tensor with the bytes of C code, which are copied.
pub(crate) fn tensor(leaf: Dtype, shape: &[usize], bytes: &[u8]) -> Result<AnyTensor> {
    AnyTensor::from_le_bytes(leaf, shape, bytes).map_err(|error| Error::new(Status::BadValue, error))
}

/// The results of a run, in the order of the outputs.
pub(crate) struct Results(Vec<Result<View>>);

impl Results {
    pub(crate) fn new(outcome: RunOutcome) -> Self {
        Self(outcome.outputs.into_iter().map(|(_, datum)| View::new(datum)).collect())
    }

    /// The structure of a result, which lives as long as `self`.
    pub(crate) fn value(&self, index: usize) -> Result<Value> {
        let view = self.0.get(index).ok_or_else(|| bad_index("result", index, self.0.len()))?;
        view.as_ref().map(|view| view.value).map_err(Clone::clone)
    }
}

/// The error of an index that is too large.
pub(crate) fn bad_index(what: &str, index: usize, count: usize) -> Error {
    Error::new(Status::BadIndex, format!("there is no {what} {index}: the program has {count}"))
}

/// A value as structures of C, with the memory that they point to.
///
/// **Invariant:** pointers lead to elements of `kept`, which are neither moved nor changed.
pub(crate) struct View {
    value: Value,
    #[expect(dead_code, reason = "owns the memory behind the pointers of `value`")]
    kept: Vec<Arc<dyn Any>>,
}

impl View {
    fn new(datum: Datum) -> Result<Self> {
        let mut memory = Memory::default();
        let value = memory.value(datum, 0)?;
        Ok(Self { value, kept: memory.0 })
    }
}

/// Allocations with stable addresses.
#[derive(Default)]
struct Memory(Vec<Arc<dyn Any>>);

impl Memory {
    fn keep<T: 'static>(&mut self, value: T) -> *const T {
        let kept = Arc::new(value);
        let pointer = Arc::as_ptr(&kept);
        self.0.push(kept);
        pointer
    }

    fn keep_all<T: 'static>(&mut self, values: Vec<T>) -> *const T {
        let kept: Arc<Vec<T>> = Arc::new(values);
        let pointer = kept.as_ptr();
        self.0.push(kept);
        pointer
    }

    fn erased<T: 'static>(&mut self, value: T) -> *const c_void {
        self.keep(value).cast()
    }

    fn value(&mut self, datum: Datum, depth: usize) -> Result<Value> {
        let unsupported = || {
            let text = format!("{} has no representation in C", datum.describe());
            Error::new(Status::Unsupported, text)
        };
        let wire_hash = datum.type_node().ok_or_else(unsupported)?.wire_tag();
        let value = match datum {
            Datum::Tensor(tensor) => self.tensor(tensor),
            Datum::Scalar(Scalar::F32(number)) => self.erased(number),
            Datum::Scalar(Scalar::F64(number)) => self.erased(number),
            Datum::Scalar(Scalar::F16(number)) => self.erased(number.to_bits()),
            Datum::Scalar(Scalar::U8(number)) => self.erased(number),
            Datum::Scalar(Scalar::I32(number)) => self.erased(number),
            Datum::Trigger => self.erased(0_u8),
            Datum::Bytes(bytes) => self.bytes_value(bytes),
            Datum::Peer(peer) => self.bytes_value(peer.0),
            Datum::Peers(peers) => self.list(peers.into_iter().map(|peer| peer.0)),
            Datum::Request(request) => self.erased(request.0),
            Datum::Address(address) => self.bytes_value(Vec::from(address.as_bytes())),
            Datum::Addresses(addresses) => {
                self.list(addresses.iter().map(|address| address.as_bytes().to_vec()))
            }
            Datum::Composite(parts) => self.fields(parts, depth)?,
            Datum::Leaf(leaf) => self.bytes_value(leaf.bytes),
            Datum::Sequence(_) | Datum::Optional(_) | Datum::Map(_) => return Err(unsupported()),
        };
        Ok(Value { wire_hash, value })
    }

    fn tensor(&mut self, tensor: AnyTensor) -> *const c_void {
        let dims: Vec<u64> = tensor.shape().iter().map(|extent| *extent as u64).collect();
        let dtype = tensor.dtype().onnx_number();
        let rank = u32::try_from(dims.len()).expect("a tensor has fewer than 2^32 axes");
        let dims = self.keep_all(dims);
        let kept = Arc::new(tensor);
        // Small tensors store their bytes inline, so the address is taken after the last move.
        let (data, length) = (kept.bytes().as_ptr().cast(), kept.bytes().len());
        self.0.push(kept);
        self.erased(Tensor { data, length, dims, rank, dtype })
    }

    fn bytes<B: AsRef<[u8]> + 'static>(&mut self, bytes: B) -> Bytes {
        let kept = Arc::new(bytes);
        let slice: &[u8] = (*kept).as_ref();
        let bytes = Bytes { data: slice.as_ptr(), length: slice.len() };
        self.0.push(kept);
        bytes
    }

    fn bytes_value<B: AsRef<[u8]> + 'static>(&mut self, bytes: B) -> *const c_void {
        let bytes = self.bytes(bytes);
        self.erased(bytes)
    }

    fn list(&mut self, items: impl Iterator<Item = Vec<u8>>) -> *const c_void {
        let items: Vec<Bytes> = items.map(|item| self.bytes(item)).collect();
        let count = items.len();
        let items = self.keep_all(items);
        self.erased(List { items, count })
    }

    fn fields(&mut self, parts: Vec<(String, Datum)>, depth: usize) -> Result<*const c_void> {
        if depth == MAX_DEPTH {
            return Err(Error::new(Status::Unsupported, too_deep()));
        }
        let mut fields = Vec::with_capacity(parts.len());
        for (name, part) in parts {
            fields.push(Field { name: self.bytes(name.into_bytes()), value: self.value(part, depth + 1)? });
        }
        let count = fields.len();
        let items = self.keep_all(fields);
        Ok(self.erased(Fields { items, count }))
    }
}
