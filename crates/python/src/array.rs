//! Values at run time as Python objects.
//!
//! | Python | Rust | memory |
//! |---|---|---|
//! | `numpy.ndarray` in C order | tensor | shared |
//! | `("codes", element, shape, array of uint8)` | tensor of elements that NumPy lacks, one code in each byte | copied if elements share a byte |
//! | `("raw", element, array)` | tensor of elements that NumPy lacks, as unsigned integers of the same width | shared |
//! | `("strings", shape, list)` | tensor of strings | copied |
//! | `("sequence", list)`, `("optional", value or None)` | sequence, optional | |
//! | `("map", keys, values)` with two forms of tensors | map | as the tensors |
//!
//! Results have the same forms, with a [`Tensor`] in place of the array. It implements `__array_interface__`,
//! because the stable ABI of Python 3.10 has no buffer protocol.

use std::slice;

use bytes::Bytes;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use typeloom::run::Datum;
use typeloom::run::values::MapDatum;
use typeloom::types::{AnyTensor, Dtype};

use crate::error::core_error;

/// Maximum nesting of sequences and optionals.
const MAX_NESTING: usize = 64;

/// A tensor that a run returned. NumPy reads its memory in place.
#[pyclass(frozen, module = "typeloom._core")]
pub(crate) struct Tensor(AnyTensor);

#[pymethods]
impl Tensor {
    /// The element type by ONNX's name.
    #[getter]
    fn element(&self) -> &'static str {
        self.0.dtype().onnx_name()
    }

    #[getter]
    fn shape(&self) -> Vec<usize> {
        self.0.shape().to_vec()
    }

    /// Element types that NumPy lacks are described as unsigned integers of the same width.
    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let typestr = typestr(self.0.dtype())
            .ok_or_else(|| PyTypeError::new_err("the elements have no fixed width"))?;
        let interface = PyDict::new(py);
        interface.set_item("version", 3)?;
        interface.set_item("shape", PyTuple::new(py, self.0.shape())?)?;
        interface.set_item("typestr", typestr)?;
        // Read-only, because other tensors may share the memory.
        interface.set_item("data", (self.0.bytes().as_ptr().addr(), true))?;
        Ok(interface)
    }
}

/// NumPy's description of elements of whole bytes.
fn typestr(dtype: Dtype) -> Option<&'static str> {
    Some(match dtype {
        Dtype::F16 => "<f2",
        Dtype::F32 => "<f4",
        Dtype::F64 => "<f8",
        Dtype::I8 => "|i1",
        Dtype::I16 => "<i2",
        Dtype::I32 => "<i4",
        Dtype::I64 => "<i8",
        Dtype::U16 | Dtype::BF16 => "<u2",
        Dtype::U32 => "<u4",
        Dtype::U64 => "<u8",
        Dtype::Bool => "|b1",
        Dtype::Complex64 => "<c8",
        Dtype::Complex128 => "<c16",
        other => return (other.size_bytes() == Some(1)).then_some("|u1"),
    })
}

/// A value from Python.
pub(crate) fn datum(value: &Bound<'_, PyAny>) -> PyResult<Datum> {
    nested_datum(value, 0)
}

fn nested_datum(value: &Bound<'_, PyAny>, depth: usize) -> PyResult<Datum> {
    if depth > MAX_NESTING {
        return Err(PyValueError::new_err(format!("the value is nested more than {MAX_NESTING} deep")));
    }
    let Ok(tuple) = value.cast::<PyTuple>() else {
        let array = Memory::of(value)?;
        let dtype =
            Dtype::ALL.into_iter().find(|dtype| native(*dtype) && typestr(*dtype) == Some(&array.typestr));
        let dtype = dtype.ok_or_else(|| {
            PyTypeError::new_err(format!("no element type corresponds to `{}`", array.typestr))
        })?;
        return array.into_tensor(dtype).map(Datum::Tensor);
    };
    let kind: String = tuple.get_item(0)?.extract()?;
    Ok(match kind.as_str() {
        "raw" => {
            let dtype = element(&tuple.get_item(1)?)?;
            Memory::of(&tuple.get_item(2)?)?.into_tensor(dtype)?.into()
        }
        "codes" => {
            let dtype = element(&tuple.get_item(1)?)?;
            let shape: Vec<usize> = tuple.get_item(2)?.extract()?;
            let codes = Memory::of(&tuple.get_item(3)?)?;
            AnyTensor::from_codes(dtype, &shape, codes.as_ref()).map_err(core_error)?.into()
        }
        "strings" => {
            let shape: Vec<usize> = tuple.get_item(1)?.extract()?;
            let strings: Vec<String> = tuple.get_item(2)?.extract()?;
            AnyTensor::from_strings(&shape, &strings).map_err(core_error)?.into()
        }
        "sequence" => {
            let values = tuple.get_item(1)?;
            let values = values.cast::<PyList>()?.iter().map(|value| nested_datum(&value, depth + 1));
            Datum::Sequence(values.collect::<PyResult<_>>()?)
        }
        "map" => {
            let [keys, values] = [1, 2].map(|at| nested_datum(&tuple.get_item(at)?, depth + 1));
            let (Datum::Tensor(keys), Datum::Tensor(values)) = (keys?, values?) else {
                return Err(PyTypeError::new_err("the keys and values of a map are tensors"));
            };
            Datum::Map(Box::new(MapDatum::new(keys, values).map_err(core_error)?))
        }
        "optional" => match tuple.get_item(1)? {
            value if value.is_none() => Datum::Optional(None),
            value => Datum::Optional(Some(Box::new(nested_datum(&value, depth + 1)?))),
        },
        other => return Err(PyTypeError::new_err(format!("`{other}` is no kind of value"))),
    })
}

fn element(name: &Bound<'_, PyAny>) -> PyResult<Dtype> {
    let name: String = name.extract()?;
    name.parse::<Dtype>().map_err(|error| PyTypeError::new_err(error.to_string()))
}

/// Whether NumPy has the element type.
fn native(dtype: Dtype) -> bool {
    typestr(dtype).is_some_and(|text| dtype == Dtype::U8 || (text != "|u1" && dtype != Dtype::BF16))
}

/// A value for Python.
pub(crate) fn object<'py>(py: Python<'py>, value: Datum) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Datum::Tensor(tensor) if tensor.dtype() == Dtype::String => {
            let strings: Vec<&str> = tensor.strings().map_err(core_error)?.collect();
            ("strings", tensor.shape(), strings).into_pyobject(py)?.into_any()
        }
        Datum::Tensor(tensor) if tensor.dtype().is_sub_byte() => {
            let codes: Vec<u8> = tensor.codes().map_err(core_error)?.collect();
            let unpacked = AnyTensor::from_vec(tensor.shape(), codes).map_err(core_error)?;
            ("codes", tensor.dtype().onnx_name(), Tensor(unpacked)).into_pyobject(py)?.into_any()
        }
        Datum::Tensor(tensor) if !native(tensor.dtype()) => {
            ("raw", tensor.dtype().onnx_name(), Tensor(tensor)).into_pyobject(py)?.into_any()
        }
        Datum::Tensor(tensor) => Tensor(tensor).into_pyobject(py)?.into_any(),
        Datum::Sequence(values) => {
            let list = PyList::empty(py);
            for value in values {
                list.append(object(py, value)?)?;
            }
            ("sequence", list).into_pyobject(py)?.into_any()
        }
        Datum::Optional(value) => {
            let value = value.map(|value| object(py, *value)).transpose()?;
            ("optional", value).into_pyobject(py)?.into_any()
        }
        Datum::Map(map) => {
            let [keys, values] =
                [map.keys(), map.values()].map(|part| object(py, Datum::Tensor(part.clone())));
            ("map", keys?, values?).into_pyobject(py)?.into_any()
        }
        other => return Err(PyTypeError::new_err(format!("{} has no form in Python", other.describe()))),
    })
}

/// The memory of an array.
struct Memory {
    start: *const u8,
    len: usize,
    shape: Vec<usize>,
    typestr: String,
    /// Keeps the memory alive.
    _array: Py<PyAny>,
}

#[expect(unsafe_code, reason = "arrays are read in place; the stable ABI of Python 3.10 has no buffers")]
// SAFETY: the pointer is read only, and the array that owns the memory can be released on any thread.
unsafe impl Send for Memory {}
#[expect(unsafe_code, reason = "as above")]
// SAFETY: shared access only reads.
unsafe impl Sync for Memory {}

impl AsRef<[u8]> for Memory {
    #[expect(unsafe_code, reason = "as above")]
    fn as_ref(&self) -> &[u8] {
        if self.len == 0 {
            return &[];
        }
        // SAFETY: `of` accepts `numpy.ndarray` in C order only, whose `len` bytes from `start` on are initialized and
        // stay allocated while the array is alive. Python code that writes to the array during a run changes
        // the results of the run, as with every other runtime; no invariant of Rust code depends on two reads
        // being equal, except that of `bool`, whose arrays are copied.
        unsafe { slice::from_raw_parts(self.start, self.len) }
    }
}

impl Memory {
    /// The memory of a `numpy.ndarray` in C order and native byte order.
    fn of(array: &Bound<'_, PyAny>) -> PyResult<Self> {
        let ndarray = array.py().import("numpy")?.getattr("ndarray")?;
        if !array.is_instance(&ndarray)? {
            return Err(PyTypeError::new_err("a tensor is passed as a numpy.ndarray"));
        }
        let flags = array.getattr("flags")?;
        if !flags.getattr("c_contiguous")?.extract::<bool>()? {
            return Err(PyValueError::new_err("the array is not in C order"));
        }
        let interface = array.getattr("__array_interface__")?;
        let typestr: String = interface.get_item("typestr")?.extract()?;
        let shape: Vec<usize> = interface.get_item("shape")?.extract()?;
        let (address, _): (usize, bool) = interface.get_item("data")?.extract()?;
        let len: usize = array.getattr("nbytes")?.extract()?;
        let start = std::ptr::with_exposed_provenance(address);
        Ok(Self { start, len, shape, typestr, _array: array.clone().unbind() })
    }

    fn into_tensor(self, dtype: Dtype) -> PyResult<AnyTensor> {
        let shape = self.shape.clone();
        if dtype == Dtype::Bool {
            return AnyTensor::from_le_bytes(dtype, &shape, self.as_ref()).map_err(core_error);
        }
        AnyTensor::from_shared(dtype, &shape, Bytes::from_owner(self)).map_err(core_error)
    }
}
