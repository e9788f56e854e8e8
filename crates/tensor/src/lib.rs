//! Values at run time, their types, and the check of a value against a type.
//!
//! # Question
//!
//! A program that runs a model passes values whose types it learns from a file: how does it hold a tensor of
//! bits, of 8-bit floats or of strings, when none of them has a Rust type, and how does it stop one part from
//! reading the bytes of another type? A `Vec<f32>` for each element type would need a function for each;
//! plain bytes would move the check to every reader.
//!
//! # Idea
//!
//! An [`AnyTensor`](any_tensor::AnyTensor) is an element type, a shape and packed bytes that are validated
//! once, when it is made. Reading it as a slice of a Rust type compares one tag. A [`Datum`](datum::Datum) is
//! any value: a tensor, a sequence, an optional, a map, or a value of the other leaves of the type tree, such
//! as a peer. The type of a value is a function of the value alone.
//!
//! A [`ValueType`](value_type::ValueType) states what is known before a value exists: the solver proves it,
//! files declare it, and its shape can have symbols. [`SymbolBindings`](value_check::SymbolBindings) compare
//! values with such types. The first value whose type has a symbol determines its extent, and later values are
//! compared with it.
//!
//! | module | contents |
//! |---|---|
//! | [`any_tensor`] | tensors whose element type is known only at run time |
//! | [`datum`] | values of any type |
//! | [`map`] | maps from numbers or strings to tensors |
//! | [`peer`], [`address`] | identities and network addresses of peers |
//! | `message` | tensors as messages of ONNX |
//! | [`value_type`] | types of values, their text and their messages of ONNX |
//! | [`value_check`] | checks of values against types |
//!
//! Without the feature `values` there are tensors and types only: the solver needs no more.
//!
//! **Invariant:** element type, shape and bytes of a tensor agree, and its bytes are canonical.
//!
//! **Invariant:** this crate computes nothing. Kernels are in `typeloom-cpu`, and the solver finds the types.
//!
//! # Example
//!
//! ```
//! use typeloom_tensor::any_tensor::AnyTensor;
//! use typeloom_tensor::datum::Datum;
//! use typeloom_tensor::value_check::SymbolBindings;
//! use typeloom_tensor::value_type::{Dim, ValueType};
//! use typeloom_types::dtype::Dtype;
//! use typeloom_types::tree::builtin::TYPE_TENSOR_F32;
//!
//! let tensor = AnyTensor::from_slice(&[2, 2], &[1.0_f32, 2.0, 3.0, 4.0])?;
//! assert_eq!(tensor.as_slice::<f32>()?[3], 4.0);
//! assert!(tensor.as_slice::<i64>().is_err());
//!
//! let value = Datum::from(tensor);
//! assert_eq!(value.describe(), "float[2, 2]");
//! assert_eq!(value.type_node(), Some(&TYPE_TENSOR_F32));
//!
//! let square = ValueType::tensor(Dtype::F32, [Dim::parse("N"), Dim::parse("N")]);
//! let mut symbols = SymbolBindings::default();
//! symbols.check(&value, &square).expect("a float[2, 2] is a float[N, N]");
//! assert_eq!(symbols.get("N"), Some(2));
//! let other = ValueType::tensor(Dtype::F32, [Dim::parse("N"), Dim::Fixed(3)]);
//! let mismatch = symbols.check(&value, &other).expect_err("the second extent is 2");
//! assert_eq!(mismatch.to_string(), "float[2, 2] is not float[N, 3], where N = 2");
//! # Ok::<(), typeloom_tensor::any_tensor::error::TensorError>(())
//! ```

#[cfg(feature = "values")]
pub mod address;
pub mod any_tensor;
#[cfg(feature = "values")]
pub mod datum;
#[cfg(feature = "values")]
pub mod map;
mod message;
#[cfg(feature = "values")]
pub mod peer;
#[cfg(feature = "values")]
pub mod value_check;
pub mod value_type;
