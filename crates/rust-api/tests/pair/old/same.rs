//! Two ways to write one thing; each module is a case.

pub mod lifetime_names {
    pub fn f<'a, 'b>(x: &'a str, _y: &'b str) -> &'a str {
        x
    }
}
pub mod elision {
    pub struct S<'a>(pub &'a u8);
    impl<'a> S<'a> {
        pub fn f<'s, 'x>(&'s self, _x: &'x u8) -> &'s u8 {
            self.0
        }
    }
    pub fn g<'a>(x: S<'a>) -> &'a u8 {
        x.0
    }
}
pub mod alias_expanded {
    pub type A<T> = Result<T, String>;
    pub fn f() -> A<u8> {
        Ok(0)
    }
    pub fn g() -> std::io::Result<u8> {
        Ok(0)
    }
}
pub mod this {
    pub struct S;
    impl S {
        pub fn new() -> Self {
            Self
        }
        pub fn with(self, _other: Self) -> Self {
            self
        }
    }
    impl PartialEq for S {
        fn eq(&self, _: &Self) -> bool {
            true
        }
    }
}
pub mod where_form {
    pub fn f<T: Clone + Send, U: Iterator<Item = T>>(_x: T, _y: U) {}
    pub struct S<T: Clone>(pub T);
}
pub mod projection {
    pub struct S;
    impl Iterator for S {
        type Item = u8;
        fn next(&mut self) -> Option<u8> {
            None
        }
    }
    pub fn f() -> <S as Iterator>::Item {
        0
    }
    pub fn g(_x: <Vec<u16> as IntoIterator>::Item) {}
    pub fn h<I: Iterator<Item = u8>>(_x: I) -> I::Item {
        0
    }
}
pub mod default_argument {
    pub struct S<T = u8>(pub T);
    pub fn f(_x: S) {}
    pub fn g(_x: std::collections::HashMap<u8, u8>) {}
    pub trait T<R = Self> {}
    impl T for u8 {}
    pub fn h<X: T>(_x: X) {}
    pub fn i<X: std::ops::Add>(_x: X) {}
}
pub mod higher_ranked {
    pub fn f<F: for<'a> Fn(&'a u8) -> &'a u8>(_f: F) {}
    pub fn g(_f: for<'a> fn(&'a u8) -> &'a u8) {}
    pub fn h<F>(_f: F)
    where
        for<'a> F: Fn(&'a u8),
    {
    }
    pub fn i(_f: &dyn for<'a, 'b> Fn(&'a u8, &'b u8)) {}
}
pub mod dyn_order {
    pub fn f(_x: Box<dyn std::fmt::Debug + Send + Sync>) {}
}
pub mod object_lifetime {
    pub fn f<'a>(_x: &'a dyn std::fmt::Debug, _y: Box<dyn std::fmt::Debug>) {}
}
pub mod generic_names {
    pub struct S<T, const N: usize>(pub [T; N]);
    impl<T: Clone, const N: usize> S<T, N> {
        pub fn f<U: Into<T>>(&self, _x: U) {}
    }
    pub trait Tr<A> {
        type Out;
        fn f(&self, x: A) -> Self::Out;
    }
}
pub mod impl_trait {
    pub fn f(_x: impl Clone + Send) {}
}
pub mod parameter_names {
    pub fn f(_a: u8, _b: u8) {}
}
pub mod paths {
    pub fn f(_x: std::string::String, _y: core::option::Option<u8>) {}
}
pub mod moved {
    mod inner {
        pub struct S {
            pub a: u8,
        }
        impl S {
            pub fn f(&self) {}
        }
    }
    pub use inner::*;
    pub fn g(_x: S) {}
}
pub mod constant {
    pub const N: usize = 4;
    pub fn f(_x: [u8; 4]) {}
}
pub mod bound_implied {
    pub fn f<T: Copy>(_x: T) {}
}
pub mod async_fn {
    pub async fn f(_x: &u8) -> u8 {
        0
    }
}
pub mod impl_params {
    pub struct S<A, B>(pub A, pub B);
    impl<A: Clone, B> S<A, B> {
        pub fn f(&self) {}
    }
    impl<A, B> Clone for S<A, B>
    where
        A: Clone,
        B: Clone,
    {
        fn clone(&self) -> Self {
            panic!()
        }
    }
}
pub mod nested_bounds {
    pub fn f<I: IntoIterator<Item: Clone>>(_x: I) {}
}
pub mod associated_shorthand {
    pub trait Tr {
        type A;
        fn f(&self, x: Self::A) -> Option<Self::A>;
    }
    pub fn g<T: Tr>(_x: T::A) {}
}
pub mod glob {
    mod inner {
        pub fn f() {}
        pub struct S;
    }
    pub use inner::*;
}
pub mod variance_kept {
    pub struct S<'a, T>(pub &'a T);
}
pub mod bound_order {
    pub fn f<T: Clone + std::fmt::Debug>(_x: T) {}
    pub trait Tr: Clone + Send {}
}

pub mod implied_outlives {
    pub struct S<'a, T: 'a>(pub &'a T);
    pub fn f<'a, T: 'a>(_x: &'a T) {}
}
pub mod associated_constant {
    pub struct S;
    impl S {
        pub const N: usize = 4;
        pub fn f(&self) -> [u8; Self::N] {
            [0; 4]
        }
    }
}
pub mod unit {
    pub fn f() {}
    pub extern "C" fn g() {}
}
pub mod patterns {
    pub fn f((_a, _b): (u8, u8)) {}
    pub fn g(mut _x: u8) {}
}
pub mod derived {
    #[derive(Clone)]
    pub struct S<T>(pub T);
}
pub mod own_item {
    pub struct S;
    impl Iterator for S {
        type Item = u8;
        fn next(&mut self) -> Option<Self::Item> {
            None
        }
    }
    impl S {
        pub fn f(&self) -> Option<<Self as Iterator>::Item> {
            None
        }
    }
}
pub mod split_impls {
    pub struct S<T>(pub T);
    impl<T> S<T> {
        pub fn f(&self) {}
        pub fn g(&self) {}
    }
}
pub mod order {
    pub struct S {
        pub a: u8,
        pub b: u8,
    }
    pub fn f<'a, 'b>(_x: &'a u8, _y: &'b u8) {}
    pub trait T {
        type A;
        fn f(&self);
    }
}
pub mod sized_spelled_out {
    pub fn f<T>(_x: T) {}
    pub trait Tr: Sized {}
}
pub mod unused_binder {
    pub fn f(_x: for<'a> fn(u8)) {}
}
pub mod function_alias {
    pub type Callback<'a> = Box<dyn Fn(&str) -> bool + 'a>;
    pub fn f(_x: Callback<'static>) {}
}
pub mod private_alias {
    type Inner<T> = std::collections::HashMap<String, T>;
    pub fn f(_x: Inner<u8>) {}
}
pub mod specific_impls {
    pub struct S<T>(pub T);
    impl S<u8> {
        pub fn f(&self) -> u8 {
            0
        }
    }
    impl S<u16> {
        pub fn f(&self) -> u16 {
            0
        }
    }
}
pub mod lifetime_in_impl_header {
    pub trait T {}
    impl<'a> T for &'a u8 {}
}
