//! Parts of descriptors by their published names, such as `child_hash` for the field `child`.
//!
//! The fields have names without `hash`, because a child is a digest in a `TypeDescriptor` only.

use super::{Descriptor, VariantDescriptor};

/// Declares accessors: the pattern of the descriptors that have the part, and the part.
macro_rules! parts {
    ($($(#[$doc:meta])* $name:ident: $ty:ty = $pattern:pat => $part:expr;)*) => {
        impl<R> Descriptor<R> {
            $($(#[$doc])*
            #[must_use]
            pub fn $name(&self) -> Option<$ty> {
                if let $pattern = self { Some($part) } else { None }
            })*
        }
    };
}

parts! {
    /// Returns the content of a container.
    child_hash: &R = Descriptor::Container { child, .. } => child;
    /// Returns the key type of a map, or the success type of a result.
    child1_hash: &R = Descriptor::TwoChild { child1, .. } => child1;
    /// Returns the value type of a map, or the error type of a result.
    child2_hash: &R = Descriptor::TwoChild { child2, .. } => child2;
    /// Returns the type of a borrowed value.
    inner_hash: &R = Descriptor::Borrowed { inner, .. } => inner;
    /// Returns the lifetime of a borrow. A lifetime is identified like a type and not by a number, so it
    /// is the same in every pool.
    lifetime_id: &R = Descriptor::Borrowed { lifetime, .. } => lifetime;
    /// Returns the parameters of a function.
    param_hashes: &[R] = Descriptor::Function { params, .. } => params;
    /// Returns the result of a function.
    return_hash: &R = Descriptor::Function { returns, .. } => returns;
    /// Returns the elements of a tuple.
    element_hashes: &[R] = Descriptor::Tuple { elements } => elements;
    /// Returns the fields of a struct.
    field_type_hashes: &[R] = Descriptor::Struct { field_types, .. } => field_types;
    /// Returns the arguments of a constructor or of a declaration.
    arg_hashes: &[R] = Descriptor::Applied { args, .. } | Descriptor::Instance { args, .. } => args;
    /// Returns the number of variables of a scheme.
    var_count: usize = Descriptor::Scheme { vars, .. } => vars.len();
    /// Returns the type that a scheme or a declaration binds variables in.
    body_hash: &R = Descriptor::Scheme { body, .. } | Descriptor::Declared { body, .. } => body;
}

impl<R> VariantDescriptor<R> {
    /// Returns the fields of the variant.
    #[must_use]
    pub fn field_type_hashes(&self) -> &[R] {
        &self.field_types
    }
}
