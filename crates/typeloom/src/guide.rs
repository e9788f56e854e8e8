//! Which type do I need?
//!
//! | representation | describes | identity | use it to |
//! |---|---|---|---|
//! | [`TypeNode`](crate::types::TypeNode) | the kind of a value: `tensor.f32`, `peer_id` | static id | declare leaves, bounds and storage |
//! | [`ValueType`](crate::check::ValueType) | a value of a checked model: node, element type, shape | structural | read results of a check, prepare runs |
//! | [`Interface`](crate::interface::Interface) | all inputs and outputs of a model, with their symbols | digest of its pool type | compare and transfer models |
//! | [`Ty`](crate::term::Ty) | any type of a program, with binders and variables | alpha-equivalence | compare; infer and evaluate aliases ([`term::infer`](crate::term::infer)) |
//! | [`Idx`](crate::pool::Idx) | one interned type of a pool | id in its pool | build and inspect types |
//! | [`TypeDescriptor`](crate::pool::TypeDescriptor) | one type with children given by digest | digest | store and transfer types |
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
//! | checked model | `ValueType` | `checked.value(name)`, `checked.values()` |
//! | compiled module | `ValueType` | `artifact.value_type(name)`, `executor.outputs()` |
//! | checked model | `Interface` | `checked.interface()` |
//! | part of an `Interface` | `ValueType` | `interface.value_type(&parameter.ty)` |
//! | `Interface` | pool type | `interface.to_pool(&mut pool)` |
//! | pool type | `Interface` | `Interface::from_pool(&pool, idx, &interface.universe)` |
//! | pool type | term | `pool.term(&family, &mut symbols, idx)` |
//! | term | pool type | `pool.intern_term(&family, &symbols, &ty)` |
//! | pool type | `TypeDescriptor`s | `pool.describe_transitive(idx)` |
//! | `TypeDescriptor`s | pool types | `pool.reconstruct(&descriptors)` |
//! | pool types | bundle | `pool.export(&[(label, idx)])` |
//! | bundle | pool types | `pool.import(bundle.as_bytes())` |
//!
//! A bundle of interfaces is written and read in one call: [`export`](crate::interface::export),
//! [`import`](crate::interface::import). [`compare`](crate::interface::compare) decides whether one interface
//! can replace another; `Pool::compat` compares types of data, for which a symbol in the place of a number is
//! an incompatible change.
//!
//! ```
//! use typeloom::check::{Dim, ValueType, check};
//! use typeloom::interface::Interface;
//! use typeloom::pool::Pool;
//! use typeloom::term::{Boxed, Symbols, print};
//! use typeloom::types::{Dtype, builtins::TYPE_PEER_ID};
//!
//! // Node, value type and message.
//! let ty = ValueType::tensor(Dtype::F32, [Dim::Symbol("N".into()), Dim::Fixed(3)]);
//! assert_eq!(ty.to_string(), "float[N, 3]");
//! assert_eq!(ty.node.map(|node| node.id), Some("tensor.f32"));
//! assert_eq!(ValueType::from_message(&ty.to_message()), ty);
//! assert_eq!(ValueType::of_node(&TYPE_PEER_ID).to_string(), "peer_id");
//!
//! // Model, interface and pool type.
//! let model = typeloom::onnx::model_from_text(
//!     r#"<ir_version: 10, opset_import: ["" : 21]> g (float[N, 3] x) => (y) { y = Relu(x) }"#,
//! )?;
//! let mut checked = check(&model, &Default::default())?;
//! assert_eq!(checked.value("x").unwrap().ty(), &ty);
//! let interface = checked.interface();
//! assert_eq!(interface.value_type(&interface.inputs[0].ty), ty);
//! let mut pool = Pool::new();
//! let idx = interface.to_pool(&mut pool)?;
//! assert_eq!(Interface::from_pool(&pool, idx, &interface.universe)?.inputs.len(), 1);
//!
//! // Pool type, descriptors, bundle and term.
//! let descriptors = pool.describe_transitive(idx)?;
//! let digest = pool.digest(idx)?;
//! assert!(Pool::new().reconstruct(&descriptors)?.contains_key(&digest));
//! let bundle = pool.export(&[("g", idx)])?;
//! assert_eq!(Pool::new().import(bundle.as_bytes())?[0].digest, digest);
//! let list = pool.list(idx)?;
//! # let _ = list;
//! let (family, mut symbols) = (Boxed::new(), Symbols::new());
//! let float = pool.primitive(typeloom::pool::Tag::Float)?;
//! let floats = pool.list(float)?;
//! let term = pool.term(&family, &mut symbols, floats)?;
//! assert_eq!(pool.intern_term(&family, &symbols, &term)?, floats);
//! println!("{}", print(&term, &symbols));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
