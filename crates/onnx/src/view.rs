//! Borrowed views of a serialised model: nodes, names, types and attributes without copying and without
//! reading weights.
//!
//! A view is `Copy`: a slice of the file and its offset. Creating a view reads nothing. Iterating over its
//! fields reads the records of one message and skips nested payloads, so the cost of a pass is proportional
//! to the number of records. Of a memory-mapped file, only the pages of the graph are read.
//!
//! ```
//! use typeloom_onnx::view::{ModelView, NodeField};
//!
//! # use prost::Message;
//! # use typeloom_onnx::messages::{GraphProto, ModelProto, NodeProto};
//! # let node = NodeProto { op_type: "Relu".into(), input: vec!["x".into()], ..Default::default() };
//! # let graph = GraphProto { node: vec![node], ..Default::default() };
//! # let file = ModelProto { graph: Some(graph), ..Default::default() }.encode_to_vec();
//! let model = ModelView::new(&file)?;
//! for node in model.graph().into_iter().flat_map(|graph| graph.nodes()) {
//!     for field in node?.fields() {
//!         match field? {
//!             NodeField::OpType(op) => assert_eq!(op, "Relu"),
//!             NodeField::Input(name) => assert_eq!(name, "x"),
//!             _ => {}
//!         }
//!     }
//! }
//! # Ok::<(), typeloom_onnx::DecodeError>(())
//! ```
//! A view has the same contents as the decoded [`messages`](crate::messages):
//!
//! - of a singular number or string, the last occurrence is valid; repeated fields are in file order, packed
//!   or not;
//! - a singular *message* that occurs twice would have to be merged, which needs a copy: it is an
//!   [`ErrorKind::RepeatedMessage`]. No known writer produces such files;
//! - strings are validated when they are read.
//!
//! **Invariant:** views do not panic, recurse or read outside their slice for any input. Nested graphs and
//! types are returned as views; the caller bounds the depth of a traversal.
//!
//! **Invariant:** every iterator ends after its first error, and every error has an offset in the file.
//!
//! **Invariant:** weight payloads are not read, except by [`TensorView::int_values`],
//! [`TensorView::float_values`] and [`TensorView::string_values`], which take a limit, and by
//! [`TensorView::check_payload`], which counts variable-length integers and reads the indices of sparse
//! tensors. (Unpacked lists are iterated; no exporter writes weights unpacked.)

mod attribute;
mod graph;
mod model;
mod node;
mod payload;
mod payload_check;
mod tensor;
mod types;

#[cfg(test)]
mod tests;

use crate::error::{DecodeError, ErrorKind, FieldName};
use crate::wire::{Field, Fields};

pub use attribute::{Attribute, AttributeView};
pub use graph::{AnnotationView, GraphField, GraphFields, GraphView};
pub use model::{
    EntryView, FunctionField, FunctionFields, FunctionView, ModelView, OpsetId, OpsetIdView, TrainingInfo,
    TrainingInfoView,
};
pub use node::{NodeField, NodeFields, NodeView};
pub use payload::{Ints, TensorDims};
pub use payload_check::typed_field;
pub use tensor::{SparseTensor, SparseTensorView, TensorHeader, TensorView};
pub use types::{DimValue, DimView, ShapeView, Type, TypeKindView, TypeView, ValueInfo, ValueInfoView};

/// Declares views: a slice of the file and its offset.
macro_rules! views {
    ($( $(#[$meta:meta])* $view:ident ),* $(,)?) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $view<'a> {
            bytes: &'a [u8],
            offset: usize,
        }

        impl<'a> $view<'a> {
            /// A view of a message's body with absolute offset `offset`. Reads nothing.
            #[inline]
            pub const fn from_body(bytes: &'a [u8], offset: usize) -> Self {
                Self { bytes, offset }
            }

            /// The encoded body.
            #[inline]
            pub const fn bytes(&self) -> &'a [u8] {
                self.bytes
            }

            /// The absolute offset of the body.
            #[inline]
            pub const fn offset(&self) -> usize {
                self.offset
            }

            /// The uninterpreted records of the body.
            #[inline]
            pub const fn wire_fields(&self) -> $crate::wire::Fields<'a> {
                $crate::wire::Fields::new(self.bytes, self.offset)
            }
        }
    )*};
}

/// A static field name.
macro_rules! name {
    ($message:literal, $field:literal) => {
        &$crate::error::FieldName { message: $message, field: $field }
    };
}

/// Decodes singular fields of a message: rows `number "name" kind target`, with the kinds `string`, `int32`,
/// `int64` and `(View)` for a message that occurs at most once, and `seen` for a flag whether the field
/// occurs.
macro_rules! decode {
    ($fields:expr, $message:literal; $( $number:literal $name:literal $kind:tt $target:expr; )*) => {
        for field in $fields {
            let field = field?;
            match field.number {
                $( $number => $crate::view::decode!(@$kind field $target, $crate::view::name!($message, $name)), )*
                _ => {}
            }
        }
    };
    (@($view:ident) $field:ident $target:expr, $name:expr) => {
        $crate::view::set_once(&mut $target, &$field, $name, $view::from_body)?
    };
    (@seen $field:ident $target:expr, $name:expr) => { $target = true };
    (@$kind:ident $field:ident $target:expr, $name:expr) => { $target = $field.$kind($name)? };
}

/// Declares getters of a message's fields. A row reads `number "name" label type getter`, with the labels
/// `last` (a singular string, of which the last occurrence is valid), `all` (an iterator over a repeated
/// field) and `custom` (no getter).
macro_rules! getters {
    ($view:ident of $message:literal; $(
        $(#[$doc:meta])* $number:literal $name:literal $label:ident $ty:ident $getter:ident;
    )*) => {
        impl<'a> $view<'a> {
            $( $crate::view::getters!(@$label $ty $(#[$doc])* $getter $number $crate::view::name!($message, $name)); )*
        }
    };
    (@custom $($row:tt)*) => {};
    (@last str $(#[$doc:meta])* $getter:ident $number:literal $name:expr) => {
        $(#[$doc])*
        pub fn $getter(&self) -> Result<&'a str, DecodeError> {
            $crate::view::last_string(self.wire_fields(), $number, $name)
        }
    };
    (@all str $(#[$doc:meta])* $getter:ident $number:literal $name:expr) => {
        $(#[$doc])*
        pub fn $getter(&self) -> impl Iterator<Item = Result<&'a str, DecodeError>> + Clone + use<'a> {
            $crate::view::strings(self.wire_fields(), $number, $name)
        }
    };
    (@all $view:ident $(#[$doc:meta])* $getter:ident $number:literal $name:expr) => {
        $(#[$doc])*
        pub fn $getter(&self) -> impl Iterator<Item = Result<$view<'a>, DecodeError>> + Clone + use<'a> {
            $crate::view::messages(self.wire_fields(), $number, $name, $view::from_body)
        }
    };
}

/// Declares an enum of a message's fields, an iterator over them in file order, and their getters (see
/// [`getters`]). `$inline` is the inline attribute of the functions on the hot path.
macro_rules! fields {
    (
        #[$inline:meta]
        $(#[$meta:meta])*
        pub enum $field:ident of $view:ident ($message:literal), $fields:ident;
        $( $(#[$doc:meta])* $number:literal $name:literal $variant:ident($ty:ident) => $label:ident $getter:ident; )*
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug)]
        pub enum $field<'a> {
            $( $(#[$doc])* $variant(fields!(@ty $ty)), )*
            /// A field that graph readers do not need, or an unknown one.
            Other($crate::wire::Field<'a>),
        }

        #[doc = concat!("The fields of one `", $message, "` in file order.")]
        #[derive(Clone, Copy, Debug)]
        pub struct $fields<'a> {
            fields: $crate::wire::Fields<'a>,
        }

        impl<'a> Iterator for $fields<'a> {
            type Item = Result<$field<'a>, DecodeError>;

            #[$inline]
            fn next(&mut self) -> Option<Self::Item> {
                let read = match self.fields.next()? {
                    Ok(field) => $field::read(&field),
                    Err(error) => return Some(Err(error)),
                };
                if read.is_err() {
                    self.fields.stop();
                }
                Some(read)
            }
        }

        impl std::iter::FusedIterator for $fields<'_> {}

        impl<'a> $field<'a> {
            #[$inline]
            fn read(field: &$crate::wire::Field<'a>) -> Result<Self, DecodeError> {
                Ok(match field.number {
                    $( $number => Self::$variant(fields!(@read $ty field $crate::view::name!($message, $name))), )*
                    _ => Self::Other(*field),
                })
            }
        }

        impl<'a> $view<'a> {
            /// The fields in file order, in one pass.
            #[inline]
            pub const fn fields(&self) -> $fields<'a> {
                $fields { fields: self.wire_fields() }
            }
        }

        $crate::view::getters! {
            $view of $message;
            $( $(#[$doc])* $number $name $label $ty $getter; )*
        }
    };
    (@ty str) => { &'a str };
    (@ty $view:ident) => { $view<'a> };
    (@read str $source:ident $name:expr) => { $source.string($name)? };
    (@read $view:ident $source:ident $name:expr) => {{
        let (bytes, offset) = $source.bytes($name)?;
        $view::from_body(bytes, offset)
    }};
}

use {decode, fields, getters, name, views};

/// Iterator over the fields with one number, decoded by `read`, in file order.
#[derive(Clone, Copy, Debug)]
struct Select<'a, F> {
    fields: Fields<'a>,
    number: u32,
    read: F,
}

impl<'a, T, F: Fn(&Field<'a>) -> Result<T, DecodeError>> Iterator for Select<'a, F> {
    type Item = Result<T, DecodeError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.fields.next()? {
                Ok(field) if field.number != self.number => {}
                Ok(field) => return Some((self.read)(&field).inspect_err(|_| self.fields.stop())),
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

impl<'a, T, F: Fn(&Field<'a>) -> Result<T, DecodeError>> std::iter::FusedIterator for Select<'a, F> {}

/// The strings with one field number.
fn strings<'a>(
    fields: Fields<'a>,
    number: u32,
    name: &'static FieldName,
) -> impl Iterator<Item = Result<&'a str, DecodeError>> + Clone {
    Select { fields, number, read: move |field: &Field<'a>| field.string(name) }
}

/// The messages with one field number.
fn messages<'a, T>(
    fields: Fields<'a>,
    number: u32,
    name: &'static FieldName,
    view: fn(&'a [u8], usize) -> T,
) -> impl Iterator<Item = Result<T, DecodeError>> + Clone {
    Select {
        fields,
        number,
        read: move |field: &Field<'a>| field.bytes(name).map(|(bytes, offset)| view(bytes, offset)),
    }
}

/// The last occurrence of a singular string, or the empty string.
fn last_string<'a>(
    fields: Fields<'a>,
    number: u32,
    name: &'static FieldName,
) -> Result<&'a str, DecodeError> {
    let mut last = "";
    for field in fields {
        let field = field?;
        if field.number == number {
            last = field.string(name)?;
        }
    }
    Ok(last)
}

/// Stores a singular message; an error if the field occurs twice.
fn set_once<'a, T>(
    slot: &mut Option<T>,
    field: &Field<'a>,
    name: &'static FieldName,
    view: fn(&'a [u8], usize) -> T,
) -> Result<(), DecodeError> {
    let (bytes, offset) = field.bytes(name)?;
    match slot.replace(view(bytes, offset)) {
        None => Ok(()),
        Some(_) => {
            Err(DecodeError { offset: field.offset, kind: ErrorKind::RepeatedMessage { field: name } })
        }
    }
}
