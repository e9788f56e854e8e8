//! The new version; see `old.rs`.

/// Changes that break somebody.
pub mod breaks {
    pub mod field_type {
        pub struct S {
            pub a: u64,
        }
    }
    pub mod field_gone {
        pub struct S {
            pub a: u32,
        }
    }
    pub mod field_private {
        pub struct S {
            pub a: u32,
            b: u32,
        }
    }
    pub mod field_added {
        pub struct S {
            pub a: u32,
            pub b: u32,
        }
    }
    pub mod private_field_added {
        pub struct S {
            pub a: u32,
            _b: u32,
        }
    }
    pub mod parameter_type {
        pub fn f(_x: i32) {}
    }
    pub mod parameter_lifetime {
        pub fn f(_x: &'static str) {}
    }
    pub mod parameter_added {
        pub fn f(_x: u32, _y: u32) {}
    }
    pub mod lifetimes_tied {
        pub fn f<'a>(x: &'a str, _y: &'a str) -> &'a str {
            x
        }
    }
    pub mod lifetimes_tied_by_elision {
        pub struct S;
        impl S {
            pub fn f(&self, _x: &str) -> &str {
                ""
            }
        }
    }
    pub mod return_type {
        pub fn f() -> u16 {
            0
        }
    }
    pub mod return_lifetime {
        pub fn f(x: &str) -> &str {
            x
        }
    }
    pub mod return_gone {
        pub fn f() {}
    }
    pub mod bound_added {
        pub fn f<T: Clone>(_x: T) {}
    }
    pub mod bound_added_to_type {
        pub struct S<T: Clone>(pub T);
    }
    pub mod bound_removed_from_result {
        pub fn f() -> impl Iterator<Item = u8> {
            std::iter::empty()
        }
    }
    pub mod higher_ranked_bound_added {
        pub fn f<'a, F: Fn(&str) -> &str>(_f: F, _x: &'a str) {}
    }
    pub mod where_added_to_method {
        pub struct S<T>(pub T);
        impl<T> S<T> {
            pub fn f(&self)
            where
                T: Copy,
            {
            }
        }
    }
    pub mod assoc_type {
        pub struct S;
        impl Iterator for S {
            type Item = u16;
            fn next(&mut self) -> Option<u16> {
                None
            }
        }
    }
    pub mod assoc_type_bound {
        pub trait T {
            type A: Clone;
        }
    }
    pub mod assoc_type_bound_gone {
        pub trait T {
            type A;
        }
    }
    pub mod const_type {
        pub const C: u64 = 1;
    }
    pub mod static_type {
        pub static S: u64 = 1;
    }
    pub mod static_mutability {
        pub static S: u32 = 1;
    }
    pub mod assoc_const_type {
        pub struct S;
        impl S {
            pub const C: u64 = 1;
        }
    }
    pub mod trait_method_parameter {
        pub trait T {
            fn f(&self, x: u64);
        }
    }
    pub mod trait_method_widened {
        pub trait T {
            fn f(&self, x: &str);
        }
    }
    pub mod trait_method_added {
        pub trait T {
            fn f(&self);
            fn g(&self);
        }
    }
    pub mod trait_method_default_gone {
        pub trait T {
            fn f(&self);
        }
    }
    pub mod trait_type_added {
        pub trait T {
            type A;
        }
    }
    pub mod supertrait_added {
        pub trait T: Clone {}
    }
    pub mod supertrait_removed {
        pub trait T {}
    }
    pub mod trait_unsafe {
        pub unsafe trait T {}
    }
    pub mod trait_not_dyn {
        pub trait T {
            fn f(&self);
            fn g<X>(&self, _x: X) {}
        }
    }
    pub mod trait_parameter_added {
        pub trait T<X> {
            fn f(_x: X) {}
        }
    }
    pub mod generic_added {
        pub fn f<A, B: Default>(_a: A) {
            let _ = B::default();
        }
    }
    pub mod generic_added_to_type {
        pub struct S<A, B>(pub A, pub std::marker::PhantomData<B>);
    }
    pub mod generics_swapped {
        pub fn f<B: Copy, A: Clone>(_a: A, _b: B) {}
    }
    pub mod const_generic_type {
        pub struct S<const N: u8>;
    }
    pub mod default_argument {
        pub struct S<T = u16>(pub T);
    }
    pub mod default_argument_gone {
        pub struct S<T>(pub T);
    }
    pub mod shared_to_mut {
        pub fn f(_x: &mut u32) {}
    }
    pub mod receiver {
        pub struct S;
        impl S {
            pub fn f(&mut self) {}
        }
    }
    pub mod receiver_by_value {
        pub struct S;
        impl S {
            pub fn f(self) {}
        }
    }
    pub mod method_to_function {
        pub struct S;
        impl S {
            pub fn f(_this: &Self) {}
        }
    }
    pub mod dyn_send_lost {
        pub fn f() -> Box<dyn std::fmt::Debug> {
            Box::new(1)
        }
    }
    pub mod dyn_send_asked {
        pub fn f(_x: Box<dyn std::fmt::Debug + Send>) {}
    }
    pub mod dyn_lifetime {
        pub fn f<'a>(_x: &'a u8) -> Box<dyn std::fmt::Debug + 'a> {
            Box::new(1)
        }
    }
    pub mod fn_pointer_abi {
        pub fn f(_x: extern "C" fn(u32)) {}
    }
    pub mod fn_pointer_unsafe {
        pub static F: unsafe fn(u32) = g;
        fn g(_: u32) {}
    }
    pub mod fn_pointer_less_general {
        pub fn f() -> fn(&'static u8) -> &'static u8 {
            |x| x
        }
    }
    pub mod const_lost {
        pub fn f() {}
    }
    pub mod made_unsafe {
        pub unsafe fn f() {}
    }
    pub mod abi {
        pub fn f() {}
    }
    pub mod made_async {
        pub async fn f() -> u8 {
            0
        }
    }
    pub mod variant_payload {
        pub enum E {
            A(u64),
        }
    }
    pub mod variant_added {
        pub enum E {
            A,
            B,
        }
    }
    pub mod variant_gone {
        pub enum E {
            A,
        }
    }
    pub mod variant_form {
        pub enum E {
            A { a: u32 },
        }
    }
    pub mod array_length {
        pub fn f() -> [u8; 4] {
            [0; 4]
        }
    }
    pub mod array_length_by_constant {
        pub const N: usize = 4;
        pub fn f() -> [u8; N] {
            [0; N]
        }
    }
    pub mod tuple_arity {
        pub fn f() -> (u8, u8, u8) {
            (0, 0, 0)
        }
    }
    pub mod sized_asked {
        pub fn f<T>(_x: &T) {}
    }
    pub mod variance {
        pub struct S<'a>(pub std::marker::PhantomData<&'a u8>, pub std::marker::PhantomData<fn(&'a u8)>);
    }
    pub mod auto_trait_lost {
        pub struct S {
            _private: std::rc::Rc<u8>,
        }
    }
    pub mod impl_gone {
        pub struct S;
    }
    pub mod impl_condition {
        pub struct S<T>(pub T);
        impl<T: Clone> Clone for S<T> {
            fn clone(&self) -> Self {
                panic!()
            }
        }
    }
    pub mod alias_target {
        pub type A = Vec<u16>;
    }
    pub mod alias_in_signature {
        type A = Vec<u16>;
        pub fn f() -> A {
            Vec::new()
        }
    }
    pub mod item_gone {}
    pub mod reexport_gone {
        mod inner {
            pub struct S;
        }
        pub use inner::S;
    }
    pub mod non_exhaustive {
        #[non_exhaustive]
        pub struct S {
            pub a: u8,
        }
    }
    pub mod outlives_added {
        pub fn f<T>(_x: &'static T) {}
    }
    pub mod static_bound_added {
        pub fn f<T: Clone + 'static>(_x: T) {}
    }
    pub mod projection_value {
        pub fn f<I: Iterator<Item = u16>>(_x: I) {}
    }
    pub mod turbofish_lost {
        pub fn f(_x: impl Clone) {}
    }
    pub mod impl_trait_to_concrete_parameter {
        pub fn f(_x: String) {}
    }
    pub mod concrete_to_impl_trait_result {
        pub fn f() -> impl IntoIterator<Item = u8> {
            Vec::new()
        }
    }
    pub mod result_projection {
        pub struct S;
        impl Iterator for S {
            type Item = u16;
            fn next(&mut self) -> Option<u16> {
                None
            }
        }
        pub fn f() -> <S as Iterator>::Item {
            0
        }
    }
    pub mod union_field {
        pub union U {
            pub a: u64,
        }
    }
    pub mod gat {
        pub trait Lend {
            type Item<'a>
            where
                Self: 'a;
            fn lend<'a>(&'a mut self) -> Self::Item<'a>;
        }
        pub struct S;
        impl Lend for S {
            type Item<'a> = &'a u16;
            fn lend<'a>(&'a mut self) -> &'a u16 {
                &0
            }
        }
    }
    pub mod raw_pointer {
        pub fn f(_x: *mut u8) {}
    }
    pub mod slice_to_vec {
        pub fn f(_x: &Vec<u8>) {}
    }
    pub mod option_added {
        pub fn f() -> Option<u8> {
            None
        }
    }
    pub mod impl_for_less {
        pub trait T {}
        impl T for Vec<u8> {}
    }

    pub mod closure_asked_more {
        pub fn f<F: Fn(u8)>(_f: F) {}
    }
    pub mod self_sized_added {
        pub trait T {
            fn f(&self)
            where
                Self: Sized;
        }
    }
    pub mod made_private {
        pub(crate) fn f() {}
    }
    pub mod generic_method_to_impl_trait {
        pub trait T {
            fn f(&self, _x: impl Clone);
        }
    }
    pub mod unsafe_trait_method {
        pub trait T {
            unsafe fn f(&self);
        }
    }
    pub mod boxed_error_send_asked {
        pub fn f() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
            Ok(())
        }
    }
    pub mod variant_non_exhaustive {
        pub enum E {
            #[non_exhaustive]
            A { a: u8 },
        }
    }
    pub mod opaque_lifetime {
        pub fn f<'a>(_x: &'a u8) -> impl Clone + 'a {
            0
        }
    }
    pub mod mutable_reference_is_invariant {
        pub fn f(_x: &mut &'static str) {}
    }
    pub mod cell_is_invariant {
        pub fn f<'a>(_x: std::cell::Cell<&'a str>, _y: &'a u8) {}
        pub fn g<'a>(_x: &'a u8) -> std::cell::Cell<&'static str> {
            std::cell::Cell::new("")
        }
    }
    pub mod alias_parameter {
        pub type A<T, U = T> = Result<T, U>;
    }
    pub mod const_generic_argument {
        pub struct S<const N: usize>;
        pub fn f(_x: S<4>) {}
    }
    pub mod trait_const_added {
        pub trait T {
            const C: u8;
        }
    }
    pub mod trait_const_type {
        pub trait T {
            const C: u16;
        }
    }
    pub mod trait_generic_bound {
        pub trait T<X: Clone> {
            fn f(&self, _x: X) {}
        }
    }
    pub mod assoc_type_gone {
        pub trait T {
            fn f(&self) {}
        }
    }
    pub mod struct_to_enum {
        pub enum S {}
    }
    pub mod const_to_static {
        pub static C: u8 = 0;
    }
    pub mod dyn_trait_argument {
        pub trait T<X> {
            fn f(&self, _x: X);
        }
        pub fn f(_x: &dyn T<u16>) {}
    }
    pub mod dyn_item {
        pub fn f(_x: &dyn Iterator<Item = u16>) {}
    }
    pub mod where_on_projection {
        pub fn f<I: Iterator>(_x: I)
        where
            I::Item: Copy,
        {
        }
    }
    pub mod impl_for_reference {
        pub trait T {}
        impl T for &'static u8 {}
    }
    pub mod variadic {
        pub fn f(_x: unsafe extern "C" fn(u8, ...)) {}
    }
    pub mod nested_lifetime {
        pub fn f(_x: Vec<Option<&'static u8>>) {}
    }
    pub mod returned_closure {
        pub fn f() -> impl Fn(&'static u8) -> u8 {
            |x| *x
        }
    }
}

/// Changes that break nobody.
pub mod harmless {
    pub mod parameter_widened {
        pub fn f(_x: &str) {}
    }
    pub mod result_narrowed {
        pub fn f<'a>(_x: &'a str) -> &'static str {
            ""
        }
    }
    pub mod bound_dropped {
        pub fn f<T>(_x: T) {}
    }
    pub mod sized_dropped {
        pub fn f<T: ?Sized>(_x: &T) {}
    }
    pub mod const_gained {
        pub const fn f() {}
    }
    pub mod made_safe {
        pub fn f() {}
    }
    pub mod result_bound_added {
        pub fn f() -> impl Iterator<Item = u8> + Clone {
            std::iter::empty()
        }
    }
    pub mod result_made_concrete {
        pub fn f() -> Vec<u8> {
            Vec::new()
        }
    }
    pub mod impl_gained {
        #[derive(Clone, Debug)]
        pub struct S;
    }
    pub mod impl_condition_dropped {
        pub struct S<T>(pub T);
        impl<T> Clone for S<T> {
            fn clone(&self) -> Self {
                panic!()
            }
        }
    }
    pub mod item_gained {
        pub struct S;
        pub fn f() {}
    }
    pub mod provided_method_added {
        pub trait T {
            fn f(&self);
            fn g(&self) {}
        }
    }
    pub mod field_of_opaque_struct_added {
        pub struct S {
            pub a: u8,
            pub c: u8,
            _b: u8,
        }
    }
    pub mod variant_of_non_exhaustive_added {
        #[non_exhaustive]
        pub enum E {
            A,
            B,
        }
    }
    pub mod sealed_trait_method_added {
        mod private {
            pub trait Sealed {}
        }
        pub trait T: private::Sealed {
            fn f(&self);
            fn g(&self);
        }
    }
    pub mod defaulted_parameter_added {
        pub struct S<A, B = u8>(pub A, std::marker::PhantomData<B>);
    }
    pub mod dyn_asked_less {
        pub fn f<'a>(_x: &'a u8, _y: Box<dyn std::fmt::Debug + 'a>) {}
    }
    pub mod lifetimes_freed {
        pub fn f<'a, 'b>(x: &'a str, _y: &'b str) -> &'a str {
            x
        }
    }
    pub mod fn_pointer_more_general {
        pub fn f() -> for<'a> fn(&'a u8) {
            |_| {}
        }
    }
    pub mod parameter_made_generic {
        pub fn f(_x: impl Into<String>) {}
    }
    pub mod covariant_result {
        pub struct S<'a, T>(pub &'a T);
        pub fn f<'a>(_x: &'a u8) -> Vec<S<'static, u8>> {
            Vec::new()
        }
    }
    pub mod contravariant_parameter {
        pub struct S<'a>(pub fn(&'a u8));
        pub fn f<'a>(_x: &'a u8) -> S<'a> {
            panic!()
        }
    }
    pub mod method_for_more {
        pub struct S<T>(pub T);
        impl<T> S<T> {
            pub fn f(&self) {}
        }
    }
    pub mod default_provided {
        pub trait T {
            fn f(&self) {}
        }
    }
    pub mod impl_for_more {
        pub trait T {}
        impl<X> T for Vec<X> {}
    }

    pub mod closure_asked_less {
        pub fn f<F: FnOnce(u8) -> u8>(_f: F) {}
    }
    pub mod vec_to_into_iterator {
        pub fn f(_x: impl IntoIterator<Item = u8>) {}
    }
    pub mod str_to_as_ref {
        pub fn f(_x: impl AsRef<str>) {}
        pub fn g(_x: impl AsRef<std::path::Path>) {}
        pub fn h(_x: impl AsRef<[u8]>) {}
    }
    pub mod display_to_generic {
        pub fn f(_x: impl std::fmt::Display) {}
        pub fn g(_x: impl Into<u64>) {}
    }
    pub mod local_type_to_generic {
        #[derive(Clone)]
        pub struct S;
        pub fn f(_x: impl Clone + Into<S> + Send) {}
    }
    pub mod higher_ranked_asked_less {
        pub fn f<'a, F: Fn(&'a str)>(_f: F, _x: &'a str) {}
    }
    pub mod opaque_made_iterator {
        pub fn f() -> std::vec::IntoIter<u8> {
            Vec::new().into_iter()
        }
    }
    pub mod cow_narrowed {
        pub fn f<'a>(_x: &'a str) -> std::borrow::Cow<'static, str> {
            "".into()
        }
    }
    pub mod supertrait_of_sealed_added {
        mod private {
            pub trait Sealed {}
        }
        pub trait T: private::Sealed + Send {}
    }
    pub mod opaque_outlives_more {
        pub fn f<'a>(_x: &'a u8) -> impl Clone + 'static {
            0
        }
    }
    pub mod lifetime_split {
        pub struct S<'a>(pub &'a u8);
        impl<'a> S<'a> {
            pub fn f<'s>(&'s self) -> &'a u8 {
                self.0
            }
        }
    }
    pub mod returned_closure {
        pub fn f() -> impl Fn(&u8) -> u8 {
            |x| *x
        }
    }
}

/// Two ways to write one thing.
pub mod same {
    pub mod lifetime_names {
        pub fn f<'y, 'x>(x: &'x str, _y: &'y str) -> &'x str {
            x
        }
    }
    pub mod elision {
        pub struct S<'a>(pub &'a u8);
        impl S<'_> {
            pub fn f(&self, _x: &u8) -> &u8 {
                self.0
            }
        }
        pub fn g(x: S<'_>) -> &u8 {
            x.0
        }
    }
    pub mod alias_expanded {
        pub type A<T> = Result<T, String>;
        pub fn f() -> Result<u8, String> {
            Ok(0)
        }
        pub fn g() -> Result<u8, std::io::Error> {
            Ok(0)
        }
    }
    pub mod this {
        pub struct S;
        impl S {
            pub fn new() -> S {
                S
            }
            pub fn with(self: S, _other: S) -> S {
                self
            }
        }
        impl PartialEq<S> for S {
            fn eq(&self, _: &S) -> bool {
                true
            }
        }
    }
    pub mod where_form {
        pub fn f<T, U>(_x: T, _y: U)
        where
            U: Iterator<Item = T>,
            T: Send,
            T: Clone,
        {
        }
        pub struct S<T>(pub T)
        where
            T: Clone;
    }
    pub mod projection {
        pub struct S;
        impl Iterator for S {
            type Item = u8;
            fn next(&mut self) -> Option<u8> {
                None
            }
        }
        pub fn f() -> u8 {
            0
        }
        pub fn g(_x: u16) {}
        pub fn h<I: Iterator<Item = u8>>(_x: I) -> u8 {
            0
        }
    }
    pub mod default_argument {
        pub struct S<T = u8>(pub T);
        pub fn f(_x: S<u8>) {}
        pub fn g(_x: std::collections::HashMap<u8, u8, std::collections::hash_map::RandomState>) {}
        pub trait T<R = Self> {}
        impl T<u8> for u8 {}
        pub fn h<X: T<X>>(_x: X) {}
        pub fn i<X: std::ops::Add<X>>(_x: X) {}
    }
    pub mod higher_ranked {
        pub fn f<F: Fn(&u8) -> &u8>(_f: F) {}
        pub fn g(_f: fn(&u8) -> &u8) {}
        pub fn h<F: for<'z> Fn(&'z u8)>(_f: F) {}
        pub fn i(_f: &dyn Fn(&u8, &u8)) {}
    }
    pub mod dyn_order {
        pub fn f(_x: Box<dyn Sync + std::fmt::Debug + Send>) {}
    }
    pub mod object_lifetime {
        pub fn f<'a>(_x: &'a (dyn std::fmt::Debug + 'a), _y: Box<dyn std::fmt::Debug + 'static>) {}
    }
    pub mod generic_names {
        pub struct S<Element, const LEN: usize>(pub [Element; LEN]);
        impl<E: Clone, const L: usize> S<E, L> {
            pub fn f<V: Into<E>>(&self, _x: V) {}
        }
        pub trait Tr<B> {
            type Out;
            fn f(&self, x: B) -> Self::Out;
        }
    }
    pub mod impl_trait {
        pub fn f<X: Clone + Send>(_x: X) {}
    }
    pub mod parameter_names {
        pub fn f(_b: u8, _a: u8) {}
    }
    pub mod paths {
        pub fn f(_x: String, _y: Option<u8>) {}
    }
    pub mod moved {
        mod elsewhere {
            pub mod deeper {
                pub struct S {
                    pub a: u8,
                }
            }
            impl deeper::S {
                pub fn f(&self) {}
            }
        }
        pub use elsewhere::deeper::S;
        pub fn g(_x: S) {}
    }
    pub mod constant {
        pub const N: usize = 4;
        pub fn f(_x: [u8; N]) {}
    }
    pub mod bound_implied {
        pub fn f<T: Copy + Clone>(_x: T) {}
    }
    pub mod async_fn {
        pub fn f(_x: &u8) -> impl Future<Output = u8> {
            async { 0 }
        }
    }
    pub mod impl_params {
        pub struct S<A, B>(pub A, pub B);
        impl<B, A> S<A, B>
        where
            A: Clone,
        {
            pub fn f(&self) {}
        }
        impl<Y: Clone, X: Clone> Clone for S<X, Y> {
            fn clone(&self) -> Self {
                panic!()
            }
        }
    }
    pub mod nested_bounds {
        pub fn f<I>(_x: I)
        where
            I: IntoIterator,
            I::Item: Clone,
        {
        }
    }
    pub mod associated_shorthand {
        pub trait Tr {
            type A;
            fn f(&self, x: <Self as Tr>::A) -> Option<<Self as Tr>::A>;
        }
        pub fn g<T: Tr>(_x: <T as Tr>::A) {}
    }
    pub mod glob {
        mod inner {
            pub fn f() {}
            pub struct S;
        }
        pub use inner::S;
        pub use inner::f;
    }
    pub mod variance_kept {
        pub struct S<'b, U>(pub &'b U);
    }
    pub mod bound_order {
        pub fn f<T: std::fmt::Debug + Clone>(_x: T) {}
        pub trait Tr: Send + Clone {}
    }

    pub mod implied_outlives {
        pub struct S<'a, T>(pub &'a T);
        pub fn f<'a, T>(_x: &'a T) {}
        pub fn g<'a, 'b: 'a>(_x: &'a &'b u8) {}
    }
    pub mod associated_constant {
        pub struct S;
        impl S {
            pub const N: usize = 4;
            pub fn f(&self) -> [u8; 4] {
                [0; 4]
            }
        }
    }
    pub mod unit {
        pub fn f() -> () {}
        pub extern fn g() {}
    }
    pub mod patterns {
        pub fn f(_pair: (u8, u8)) {}
        pub fn g(_x: u8) {}
    }
    pub mod derived {
        pub struct S<T>(pub T);
        impl<X> Clone for S<X>
        where
            X: Clone,
        {
            fn clone(&self) -> Self {
                S(self.0.clone())
            }
        }
    }
    pub mod own_item {
        pub struct S;
        impl Iterator for S {
            type Item = u8;
            fn next(&mut self) -> Option<u8> {
                None
            }
        }
        impl S {
            pub fn f(&self) -> Option<u8> {
                None
            }
        }
    }
    pub mod split_impls {
        pub struct S<T>(pub T);
        impl<T> S<T> {
            pub fn g(&self) {}
        }
        impl<T> S<T> {
            pub fn f(&self) {}
        }
    }
    pub mod order {
        pub trait T {
            fn f(&self);
            type A;
        }
        pub fn f<'b, 'a>(_x: &'a u8, _y: &'b u8) {}
        pub struct S {
            pub b: u8,
            pub a: u8,
        }
    }
    pub mod sized_spelled_out {
        pub fn f<T: Sized>(_x: T) {}
        pub trait Tr
        where
            Self: Sized,
        {
        }
    }
    pub mod unused_binder {
        pub fn f(_x: fn(u8)) {}
    }
    pub mod function_alias {
        pub type Callback<'b> = Box<dyn for<'x> Fn(&'x str) -> bool + 'b>;
        pub fn f(_x: Box<dyn Fn(&str) -> bool>) {}
    }
    pub mod private_alias {
        pub fn f(_x: std::collections::HashMap<String, u8>) {}
    }
    pub mod specific_impls {
        pub struct S<T>(pub T);
        impl S<u16> {
            pub fn f(&self) -> u16 {
                0
            }
        }
        impl S<u8> {
            pub fn f(&self) -> u8 {
                0
            }
        }
    }
    pub mod lifetime_in_impl_header {
        pub trait T {}
        impl T for &u8 {}
    }
}
