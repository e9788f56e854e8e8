//! Breaking changes; each module is a case.

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
pub mod lifetime_fixed_early {
    // `f` no longer has the type `for<'a, 'b> fn(&'a &'b u8)`.
    pub fn f<'a, 'b: 'a>(_x: &'a &'b u8) {}
}
