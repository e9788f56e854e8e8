//! Harmless changes; each module is a case.

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
