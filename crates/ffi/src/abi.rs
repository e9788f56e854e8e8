//! The exported functions, and all unsafe code of the crate.
//!
//! Each function checks its arguments, calls safe code of the other modules under `guard`, and writes its
//! result through a pointer. An error leaves the target of the pointer unchanged.
//!
//! # Safety
//! Callers are C programs. They promise that a pointer that is not null refers to memory of the documented
//! type and length that no other thread changes during the call. The functions check what can be checked:
//! null, alignment, lengths against shapes, indices, handles.

#![expect(
    unsafe_code,
    reason = "C code passes pointers, and exported names cannot be checked for uniqueness"
)]
#![expect(clippy::missing_safety_doc, reason = "the requirements are those of the module")]

use std::ffi::{CStr, c_char, c_void};

use half::f16;
use typeloom::module::PeerId;
use typeloom::run::Datum;
use typeloom::run::values::{LeafDatum, Scalar};
use typeloom::run::wire::{Multiaddress, WireReqId};
use typeloom::types::{AnyTensor, Dtype, Lattice};
use typeloom_project::file::File;
use typeloom_project::parts::types::plural::counted;

use crate::layout::{Bytes, Fields, Limits, List, Port, Tensor, Value};
use crate::program::{Program, file, port};
use crate::registry;
use crate::status::{self, Error, Result, Status, guard};
use crate::value::{self, MAX_DEPTH, MAX_RANK, Results, View};

/// The version of the interface. It changes when a program that was compiled with an older header no longer
/// works.
pub const ABI_VERSION: u32 = 1;

/// A loaded program. 0 is not a program.
pub type ProgramHandle = u64;

/// The results of a run. 0 is not a result.
pub type ResultHandle = u64;

// SAFETY: a view is not changed after its creation. Its pointers lead to memory that it owns: tensors, bytes and
// structures without interior mutability, all of which may be read and dropped on any thread.
unsafe impl Send for View {}
// SAFETY: as above.
unsafe impl Sync for View {}

/// Writes the version of the library's interface. It is compatible with a header if it equals
/// TYPELOOM_ABI_VERSION.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn typeloom_abi_version(version: *mut u32) -> Status {
    // SAFETY: the caller's promise.
    guard(|| unsafe { write(version, "version", || Ok(ABI_VERSION)) })
}

/// The text of the last error in this thread, never null; empty if there was none. It is valid until the next
/// error in this thread.
#[unsafe(no_mangle)]
pub extern "C" fn typeloom_last_error() -> *const c_char {
    status::last()
}

/// Loads an artifact or an ONNX model from memory. The bytes are not used after the call. Slots for backends
/// are bound to the embedded backend. The program is freed by typeloom_program_free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn typeloom_load_bytes(
    bytes: *const c_void,
    length: usize,
    program: *mut ProgramHandle,
) -> Status {
    // SAFETY: the caller's promise.
    guard(|| unsafe {
        let bytes = slice(bytes.cast::<u8>(), length, "bytes")?;
        let load = || Program::load(&File::of_bytes("<model>", bytes.to_vec()));
        write(program, "program", || load().map(registry::insert_program))
    })
}

/// As typeloom_load_bytes, from a file. The path is in UTF-8 and ends in a zero byte. Tensors in other files
/// are not read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn typeloom_load_file(path: *const c_char, program: *mut ProgramHandle) -> Status {
    // SAFETY: the caller's promise.
    guard(|| unsafe {
        let path = string(path, "path")?;
        write(program, "program", || Program::load(&file(path)?).map(registry::insert_program))
    })
}

/// Frees a program. Its ports and their names become invalid; results of its runs stay valid.
#[unsafe(no_mangle)]
pub extern "C" fn typeloom_program_free(program: ProgramHandle) -> Status {
    guard(|| registry::free_program(program))
}

/// Writes the digest of the program's interface in hexadecimal. It belongs to the program. The header of an
/// equal program has the same text as ..._DIGEST.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn typeloom_program_digest(
    program: ProgramHandle,
    digest: *mut *const c_char,
) -> Status {
    // SAFETY: the caller's promise.
    guard(|| unsafe { write(digest, "digest", || Ok(registry::program(program)?.digest.as_ptr())) })
}

/// Writes a public function of a program, by its name, which is in the header as ..._FUNCTION. The function
/// is a program of its own with ports of its own: it is freed by typeloom_program_free, before or after the
/// first program.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn typeloom_program_function(
    program: ProgramHandle,
    name: *const c_char,
    function: *mut ProgramHandle,
) -> Status {
    // SAFETY: the caller's promise.
    guard(|| unsafe {
        let name = string(name, "name")?;
        write(function, "function", || {
            registry::program(program)?.function(name).map(registry::insert_program)
        })
    })
}

/// Writes the number of inputs.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn typeloom_input_count(program: ProgramHandle, count: *mut usize) -> Status {
    // SAFETY: the caller's promise.
    guard(|| unsafe { write(count, "count", || Ok(registry::program(program)?.inputs.len())) })
}

/// Writes the number of outputs.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn typeloom_output_count(program: ProgramHandle, count: *mut usize) -> Status {
    // SAFETY: the caller's promise.
    guard(|| unsafe { write(count, "count", || Ok(registry::program(program)?.outputs.len())) })
}

/// Writes the description of an input.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn typeloom_input(
    program: ProgramHandle,
    index: usize,
    description: *mut Port,
) -> Status {
    // SAFETY: the caller's promise.
    guard(|| unsafe {
        write(description, "port", || port(&registry::program(program)?.inputs, index, "input"))
    })
}

/// Writes the description of an output.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn typeloom_output(
    program: ProgramHandle,
    index: usize,
    description: *mut Port,
) -> Status {
    // SAFETY: the caller's promise.
    guard(|| unsafe {
        write(description, "port", || port(&registry::program(program)?.outputs, index, "output"))
    })
}

/// Runs a program on one value for each input, in the order of the inputs. A value of zeros leaves out an
/// input with a default. Limits may be null. The inputs are not used after the call. The results are freed by
/// typeloom_result_free. Several threads can run one program at a time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn typeloom_run(
    program: ProgramHandle,
    inputs: *const Value,
    count: usize,
    limits: *const Limits,
    result: *mut ResultHandle,
) -> Status {
    // SAFETY: the caller's promise.
    guard(|| unsafe {
        let program = registry::program(program)?;
        if count != program.inputs.len() {
            let verb = if count == 1 { "is" } else { "are" };
            let [inputs, values] = [counted(program.inputs.len(), "input"), counted(count, "value")];
            let text = format!("the program has {inputs}, and {values} {verb} given");
            return Err(Error::new(Status::BadArgument, text));
        }
        let limits = if limits.is_null() { None } else { Some(read(limits, "limits")?) };
        let inputs = slice(inputs, count, "inputs")?;
        write(result, "result", || {
            let mut values = Vec::with_capacity(count);
            for (value, port) in inputs.iter().zip(&program.inputs) {
                values.push(input(value).map_err(|error| error.at(&port.name))?);
            }
            Ok(registry::insert_results(Results::new(program.run(values, limits)?)))
        })
    })
}

/// Writes the value of an output. The memory behind its pointers belongs to the result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn typeloom_result_value(
    result: ResultHandle,
    index: usize,
    value: *mut Value,
) -> Status {
    // SAFETY: the caller's promise.
    guard(|| unsafe { write(value, "value", || registry::results(result)?.value(index)) })
}

/// Frees the results of a run, and all that their values point to.
#[unsafe(no_mangle)]
pub extern "C" fn typeloom_result_free(result: ResultHandle) -> Status {
    guard(|| registry::free_results(result))
}

/// Writes the number of programs and results that are not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn typeloom_live_handles(count: *mut usize) -> Status {
    // SAFETY: the caller's promise.
    guard(|| unsafe { write(count, "count", || Ok(registry::live())) })
}

/// Checks that a pointer is neither null nor misaligned.
fn check<T>(pointer: *const T, what: &str) -> Result<()> {
    if pointer.is_null() {
        return Err(Error::new(Status::NullPointer, format!("`{what}` is null")));
    }
    if !pointer.is_aligned() {
        let text = format!("`{what}` is not aligned to {} bytes", align_of::<T>());
        return Err(Error::new(Status::BadArgument, text));
    }
    Ok(())
}

/// Reads a structure.
///
/// # Safety
/// A pointer that is not null refers to a `T`.
unsafe fn read<T: Copy>(pointer: *const T, what: &str) -> Result<T> {
    check(pointer, what)?;
    // SAFETY: the pointer is not null, is aligned, and refers to a `T` by the caller's promise.
    Ok(unsafe { pointer.read() })
}

/// Computes a value and writes it. The pointer is checked first, so that no handle is lost.
///
/// # Safety
/// A pointer that is not null refers to memory for a `T`.
unsafe fn write<T>(pointer: *mut T, what: &str, value: impl FnOnce() -> Result<T>) -> Result<()> {
    check(pointer.cast_const(), what)?;
    let value = value()?;
    // SAFETY: the pointer is not null, is aligned, and refers to memory for a `T` by the caller's promise. `T` is plain
    // data, so overwriting the old value drops nothing.
    unsafe { pointer.write(value) };
    Ok(())
}

/// The elements behind a pointer, which may be null if there are none.
///
/// # Safety
/// A pointer that is not null refers to `count` elements, which outlive the use of the slice and are not
/// changed.
unsafe fn slice<'a, T>(pointer: *const T, count: usize, what: &str) -> Result<&'a [T]> {
    if count == 0 {
        return Ok(&[]);
    }
    check(pointer, what)?;
    if count.checked_mul(size_of::<T>()).is_none_or(|bytes| bytes > isize::MAX.unsigned_abs()) {
        return Err(Error::new(
            Status::BadArgument,
            format!("`{what}` has {}, more than memory can hold", counted(count, "element")),
        ));
    }
    // SAFETY: the pointer is not null and is aligned, the size is at most `isize::MAX`, and the elements are readable
    // and unchanged by the caller's promise.
    Ok(unsafe { std::slice::from_raw_parts(pointer, count) })
}

/// Text that ends in a zero byte.
///
/// # Safety
/// A pointer that is not null refers to such a text, which outlives its use.
unsafe fn string<'a>(pointer: *const c_char, what: &str) -> Result<&'a str> {
    check(pointer, what)?;
    // SAFETY: the pointer is not null, and refers to text with a zero byte by the caller's promise.
    let text = unsafe { CStr::from_ptr(pointer) };
    text.to_str().map_err(|error| Error::new(Status::BadArgument, format!("`{what}` is not UTF-8: {error}")))
}

/// The value of an input; `None` for zeros.
///
/// # Safety
/// The pointer of the value refers to the structure of its leaf.
unsafe fn input(value: &Value) -> Result<Option<Datum>> {
    if value.wire_hash == 0 && value.value.is_null() {
        return Ok(None);
    }
    // SAFETY: the caller's promise.
    unsafe { datum(value, 0) }.map(Some)
}

/// A value as a datum. Its memory is copied.
///
/// # Safety
/// As [`input`].
unsafe fn datum(value: &Value, depth: usize) -> Result<Datum> {
    let Value { wire_hash, value } = *value;
    let leaf = Lattice::get().lookup_wire_hash(wire_hash).and_then(|leaf| leaf.as_static());
    let Some(leaf) = leaf else {
        return Err(Error::new(Status::BadValue, format!("no type has the wire hash {wire_hash:#x}")));
    };
    let dtype = Dtype::from_node_id(leaf.id);
    // SAFETY: the pointer refers to the structure of the leaf by the caller's promise.
    unsafe {
        Ok(match (leaf.id, dtype) {
            (id, Some(dtype)) if id.starts_with("tensor.") => Datum::Tensor(tensor(value.cast(), dtype)?),
            ("scalar.f32", _) => Datum::Scalar(Scalar::F32(read(value.cast(), "value")?)),
            ("scalar.f64", _) => Datum::Scalar(Scalar::F64(read(value.cast(), "value")?)),
            ("scalar.f16", _) => {
                Datum::Scalar(Scalar::F16(f16::from_bits(read::<u16>(value.cast(), "value")?)))
            }
            ("scalar.u8", _) => Datum::Scalar(Scalar::U8(read(value.cast(), "value")?)),
            ("scalar.i32", _) => Datum::Scalar(Scalar::I32(read(value.cast(), "value")?)),
            ("trigger", _) => Datum::Trigger,
            ("bytes", _) => Datum::Bytes(bytes(value.cast())?.into()),
            ("peer_id", _) => Datum::Peer(PeerId(bytes(value.cast())?)),
            ("peer_id_vec", _) => Datum::Peers(list(value.cast(), |peer| Ok(PeerId(peer)))?),
            ("wire_req_id", _) => Datum::Request(WireReqId(read(value.cast(), "value")?)),
            ("multiaddress", _) => Datum::Address(address(bytes(value.cast())?)?),
            ("address_vec", _) => Datum::Addresses(list(value.cast(), address)?),
            ("composite", _) => Datum::Composite(fields(value.cast(), depth)?),
            _ => Datum::Leaf(LeafDatum { node: leaf, bytes: bytes(value.cast())?.into() }),
        })
    }
}

/// An address in its binary form.
fn address(bytes: Vec<u8>) -> Result<Multiaddress> {
    Multiaddress::from_bytes(&bytes).map_err(|error| Error::new(Status::BadValue, error.to_string()))
}

/// A tensor. Its fields are checked before its memory is read.
///
/// # Safety
/// The pointer refers to a tensor, whose pointers refer to `rank` extents and `length` bytes.
unsafe fn tensor(pointer: *const Tensor, dtype: Dtype) -> Result<AnyTensor> {
    // SAFETY: the caller's promise.
    unsafe {
        let tensor = read(pointer, "value")?;
        if tensor.rank > MAX_RANK {
            let text = format!("a tensor of {}; the maximum is {MAX_RANK}", counted(tensor.rank, "axis"));
            return Err(Error::new(Status::BadValue, text));
        }
        let dims = slice(tensor.dims, tensor.rank as usize, "dims")?;
        let shape = value::check_tensor(dtype, &tensor, dims)?;
        value::tensor(dtype, &shape, slice(tensor.data.cast::<u8>(), tensor.length, "data")?)
    }
}

/// Bytes, copied.
///
/// # Safety
/// The pointer refers to a structure whose pointer refers to `length` bytes.
unsafe fn bytes(pointer: *const Bytes) -> Result<Vec<u8>> {
    // SAFETY: the caller's promise.
    unsafe {
        let bytes = read(pointer, "value")?;
        Ok(slice(bytes.data, bytes.length, "data")?.to_vec())
    }
}

/// A list of byte strings.
///
/// # Safety
/// The pointer refers to a structure whose pointer refers to `count` valid items.
unsafe fn list<T>(pointer: *const List, item: impl Fn(Vec<u8>) -> Result<T>) -> Result<Vec<T>> {
    // SAFETY: the caller's promise.
    unsafe {
        let list = read(pointer, "value")?;
        slice(list.items, list.count, "items")?.iter().map(|it| item(bytes(it)?)).collect()
    }
}

/// The parts of a composite.
///
/// # Safety
/// The pointer refers to a structure whose pointer refers to `count` valid fields.
unsafe fn fields(pointer: *const Fields, depth: usize) -> Result<Vec<(String, Datum)>> {
    if depth == MAX_DEPTH {
        return Err(Error::new(Status::BadValue, value::too_deep()));
    }
    // SAFETY: the caller's promise.
    unsafe {
        let fields = read(pointer, "value")?;
        let mut parts = Vec::new();
        for field in slice(fields.items, fields.count, "items")? {
            let name = slice(field.name.data, field.name.length, "name")?;
            let name = std::str::from_utf8(name).map_err(|error| Error::new(Status::BadValue, error))?;
            parts.push((name.to_owned(), datum(&field.value, depth + 1)?));
        }
        Ok(parts)
    }
}
