//! Interned types, portable digests, bundles and compatibility.

mod binder;
mod build;
mod compat;
mod describe;
mod descriptor;
mod digest;
mod dim;
mod error;
mod export;
mod fault;
mod frozen;
mod graph;
mod hashing;
mod import;
mod json;
mod layout;
mod limits;
mod module;
mod name;
mod pool;
mod refine;
mod render;
mod shape;
mod shared;
mod table;
mod tag;
mod wire;

pub use compat::{
    Change, Compat, CompatCache, Difference, Direction, MAX_DIFFERENCES, ModuleCompat, Path, Step,
};
pub use describe::ReconstructError;
pub use descriptor::{
    ConstDescriptor, Descriptor, GraphRef, GroupDescriptor, TypeDescriptor, Variable, VariantDescriptor,
};
pub use digest::{Digest, DigestParseError};
pub use dim::MAX_TERMS;
pub use error::TypeError;
pub use export::{Bundle, ExportError};
pub use fault::{Bounded, Fault, ImportError};
pub use frozen::FrozenPool;
pub use graph::{MAX_GROUP, MAX_WORK};
pub use hashing::NotPortable;
pub use import::Root;
pub use json::JsonError;
pub use limits::Limits;
pub use module::{Item, TypedModule, Visibility};
pub use name::{MAX_NAME, Name, NameError, check_name};
pub use pool::{Idx, MAX_BINDERS, Pool};
pub use render::RenderLimits;
pub use shape::ShapeError;
pub use shared::{Lock, Shared, SharedPool};
pub use tag::{Class, Sort, Tag};
