//! Two ways to write one thing; each module is a case.

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
