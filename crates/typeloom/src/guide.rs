//! Which type do I need?
//!
//! | representation | describes | identity | use it to |
//! |---|---|---|---|
//! | [`TypeNode`](crate::types::TypeNode) | the kind of a value: `tensor.f32`, `peer_id` | static id | declare leaves, bounds and storage |
//! | [`ValueType`](crate::check::ValueType) | a value of a checked model: node, element type, shape | structural | read results of a check, prepare runs |
//! | [`Ty`](crate::term::Ty) | any type of a program, with binders and variables | alpha-equivalence | compare, infer, evaluate aliases |
//! | [`TypeDescriptor`](crate::pool::TypeDescriptor) | one interned type of a pool | digest | store and transfer types |
//! | [`TypeProto`](crate::onnx::TypeProto) | the type in an ONNX file | message | read and write models |
//!
//! # Conversions
//!
//! | from | to | call |
//! |---|---|---|
//! | `TypeNode` | `ValueType` | `ValueType::of_node(&node)` |
//! | `ValueType` | `TypeNode` | `value_type.node` |
//! | `ValueType` | `TypeProto` | `value_type.to_message()` |
//! | `TypeProto` | `ValueType` | `ValueType::from_message(&message)` |
//! | `Interface` | pool type | `interface.to_pool(&mut pool)` |
//! | pool type | term | `pool.to_term(idx, ..)` |
//! | term | pool type | `pool.from_term(&ty, ..)` |
//! | pool type | `TypeDescriptor` | `pool.describe(idx)` |
//! | `TypeDescriptor`s | pool types | `pool.reconstruct(&descriptors)` |
//!
//! ```
//! use typeloom::check::{Dim, ValueType};
//! use typeloom::types::{Dtype, builtins::TYPE_PEER_ID};
//!
//! let ty = ValueType::tensor(Dtype::F32, [Dim::Symbol("N".into()), Dim::Fixed(3)]);
//! assert_eq!(ty.to_string(), "float[N, 3]");
//! assert_eq!(ty.node.map(|node| node.id), Some("tensor.f32"));
//! assert_eq!(ValueType::from_message(&ty.to_message()), ty);
//! assert_eq!(ValueType::of_node(&TYPE_PEER_ID).to_string(), "peer_id");
//! ```
