//! typeloom proves the type of every value in a tensor program, and transfers those types across modules,
//! processes and languages.
//!
//! ```
//! let model = typeloom::onnx::model_from_text(r#"<ir_version: 10, opset_import: ["" : 21]>
//! g (float[N, 3] x, float[3, 4] w) => (y) { h = MatMul(x, w)  y = Relu(h) }"#)?;
//!
//! let mut checked = typeloom::check(&model, &typeloom::check::Options::default())?;
//! assert!(checked.is_ok());
//! assert_eq!(checked.value("y").unwrap().to_string(), "y: float[N, 4]");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Each module covers one task and starts with a complete program. [`guide`] explains which of the type
//! representations to use, and how to convert between them. Submodules contain items for special tasks:
//!
//! | submodule | special task |
//! |---|---|
//! | [`module::attributes`] | set optional attributes of operators in a module |
//! | [`module::slots`] | use components in a module |
//! | [`module::passes`] | add a pass to the compiler |
//! | [`pool::service`] | share a pool between threads; limit the input of others |
//! | [`run::components`], [`run::engine`], [`run::host`], [`run::values`], [`run::wire`] | bind ready-made components, use other engines, run on several peers |
//! | [`term::infer`], [`term::build`] | relate types with variables and aliases; build binders, and terms in an arena |
//! | [`term::goals`], [`term::traverse`], [`term::family`] | prove that types implement traits or not; inspect and replace parts of terms; store terms of a compiler |
//! | [`types::builtins`], [`types::operators`] | name built-in type nodes; declare operators as statics |
//!
//! | feature | adds | default |
//! |---|---|---|
//! | `interfaces` | [`interface`], [`link`](mod@link), [`pool`]: what a model accepts, as portable types | yes |
//! | `modules` | [`module`]: modules of components, and the compiler; implies `interfaces` | yes |
//! | `cpu` | the kernels of the embedded backend; implies `modules` | yes |
//! | `runtime` | [`run`](mod@run): sessions, executors, components, messages; implies `cpu` | yes |
//! | `rust` | [`rust`](mod@rust): the public types of Rust crates | yes |
//! | `targets` | [`targets`](mod@targets): facts about runtimes, and verdicts whether they load a model | yes |
//! | `approximate` | the approximate index of [`run::components`] | no |
//! | `images` | `ImageDecoder` on the embedded backend | no |
//!
//! A program that only checks models needs none of them: `default-features = false`.
//!
//! This crate is the only one with a stability promise.

#![deny(missing_docs)]

pub mod check;
pub mod guide;
#[cfg(feature = "interfaces")]
pub mod interface;
#[cfg(feature = "interfaces")]
pub mod link;
#[cfg(feature = "modules")]
pub mod module;
pub mod onnx;
#[cfg(feature = "interfaces")]
pub mod pool;
pub mod published;
#[cfg(feature = "runtime")]
pub mod run;
#[cfg(feature = "rust")]
pub mod rust;
#[cfg(feature = "targets")]
pub mod targets;
pub mod term;
pub mod types;

#[doc(inline)]
pub use check::check;
#[doc(hidden)]
pub use published::names::*;
