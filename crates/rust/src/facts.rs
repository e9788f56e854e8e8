//! What is known about the standard library without its JSON: aliases, default arguments, variances, supertraits, and
//! some impls.
//!
//! **Invariant:** a table errs on the side of a reported change: what is not listed here is invariant, implements
//! nothing and evaluates to nothing.

use typeloom_term::Variance;

/// Aliases of the standard library: path, parameters, what they stand for in terms of `T`.
pub(crate) const ALIASES: &[(&str, usize, &str)] = &[
    ("std::io::error::Result", 1, "core::result::Result<T, std::io::error::Error>"),
    ("core::fmt::Result", 0, "core::result::Result<(), core::fmt::Error>"),
    (
        "std::thread::Result",
        1,
        "core::result::Result<T, alloc::boxed::Box<dyn core::any::Any + Send + 'static>>",
    ),
    (
        "std::thread::join_handle::Result",
        1,
        "core::result::Result<T, alloc::boxed::Box<dyn core::any::Any + Send + 'static>>",
    ),
    ("std::sync::poison::LockResult", 1, "core::result::Result<T, std::sync::poison::PoisonError<T>>"),
    ("std::sync::poison::TryLockResult", 1, "core::result::Result<T, std::sync::poison::TryLockError<T>>"),
    ("core::ffi::primitives::c_schar", 0, "i8"),
    ("core::ffi::primitives::c_uchar", 0, "u8"),
    ("core::ffi::primitives::c_short", 0, "i16"),
    ("core::ffi::primitives::c_ushort", 0, "u16"),
    ("core::ffi::primitives::c_longlong", 0, "i64"),
    ("core::ffi::primitives::c_ulonglong", 0, "u64"),
    ("core::ffi::primitives::c_float", 0, "f32"),
    ("core::ffi::primitives::c_double", 0, "f64"),
];

/// Default type arguments of the standard library's types: path, position among the type arguments, default.
pub(crate) const DEFAULTS: &[(&str, usize, &str)] = &[
    ("alloc::vec::Vec", 1, "alloc::alloc::Global"),
    ("alloc::boxed::Box", 1, "alloc::alloc::Global"),
    ("alloc::rc::Rc", 1, "alloc::alloc::Global"),
    ("alloc::rc::Weak", 1, "alloc::alloc::Global"),
    ("alloc::sync::Arc", 1, "alloc::alloc::Global"),
    ("alloc::sync::Weak", 1, "alloc::alloc::Global"),
    ("alloc::collections::vec_deque::VecDeque", 1, "alloc::alloc::Global"),
    ("alloc::collections::linked_list::LinkedList", 1, "alloc::alloc::Global"),
    ("alloc::collections::binary_heap::BinaryHeap", 1, "alloc::alloc::Global"),
    ("alloc::collections::btree::set::BTreeSet", 1, "alloc::alloc::Global"),
    ("alloc::collections::btree::map::BTreeMap", 2, "alloc::alloc::Global"),
    ("alloc::vec::into_iter::IntoIter", 1, "alloc::alloc::Global"),
    ("std::collections::hash::map::HashMap", 2, "std::hash::random::RandomState"),
    ("std::collections::hash::set::HashSet", 1, "std::hash::random::RandomState"),
    ("core::ops::control_flow::ControlFlow", 1, "()"),
];

/// Traits whose only type parameter is the self type where nothing is written.
pub(crate) const SELF_BY_DEFAULT: &[&str] = &[
    "core::cmp::PartialEq",
    "core::cmp::PartialOrd",
    "core::ops::arith::Add",
    "core::ops::arith::Sub",
    "core::ops::arith::Mul",
    "core::ops::arith::Div",
    "core::ops::arith::Rem",
    "core::ops::arith::AddAssign",
    "core::ops::arith::SubAssign",
    "core::ops::arith::MulAssign",
    "core::ops::arith::DivAssign",
    "core::ops::arith::RemAssign",
    "core::ops::bit::BitAnd",
    "core::ops::bit::BitOr",
    "core::ops::bit::BitXor",
    "core::ops::bit::Shl",
    "core::ops::bit::Shr",
    "core::ops::bit::BitAndAssign",
    "core::ops::bit::BitOrAssign",
    "core::ops::bit::BitXorAssign",
    "core::ops::bit::ShlAssign",
    "core::ops::bit::ShrAssign",
    "core::iter::traits::accum::Sum",
    "core::iter::traits::accum::Product",
];

/// Supertraits in the standard library, of traits whose supertraits take the same arguments, or none.
pub(crate) const SUPERTRAITS: &[(&str, &[&str])] = &[
    ("core::marker::Copy", &["core::clone::Clone"]),
    ("core::clone::Clone", &["core::marker::Sized"]),
    ("core::default::Default", &["core::marker::Sized"]),
    ("core::convert::From", &["core::marker::Sized"]),
    ("core::convert::Into", &["core::marker::Sized"]),
    ("core::convert::TryFrom", &["core::marker::Sized"]),
    ("core::convert::TryInto", &["core::marker::Sized"]),
    ("core::iter::traits::collect::FromIterator", &["core::marker::Sized"]),
    ("core::str::traits::FromStr", &["core::marker::Sized"]),
    ("core::cmp::Eq", &["core::cmp::PartialEq"]),
    ("core::cmp::PartialOrd", &["core::cmp::PartialEq"]),
    ("core::cmp::Ord", &["core::cmp::Eq", "core::cmp::PartialOrd", "core::marker::Sized"]),
    ("core::ops::function::Fn", &["core::ops::function::FnMut"]),
    ("core::ops::function::FnMut", &["core::ops::function::FnOnce"]),
    ("core::ops::deref::DerefMut", &["core::ops::deref::Deref"]),
    ("core::ops::index::IndexMut", &["core::ops::index::Index"]),
    ("core::iter::traits::double_ended::DoubleEndedIterator", &["core::iter::traits::iterator::Iterator"]),
    ("core::iter::traits::exact_size::ExactSizeIterator", &["core::iter::traits::iterator::Iterator"]),
    ("core::iter::traits::marker::FusedIterator", &["core::iter::traits::iterator::Iterator"]),
    ("core::error::Error", &["core::fmt::Debug", "core::fmt::Display"]),
    ("std::io::BufRead", &["std::io::Read"]),
];

/// Associated types that a trait has from a supertrait: trait, the trait that declares them.
pub(crate) const ASSOC_HOME: &[(&str, &str)] = &[
    ("core::ops::function::Fn", "core::ops::function::FnOnce"),
    ("core::ops::function::FnMut", "core::ops::function::FnOnce"),
    ("core::ops::deref::DerefMut", "core::ops::deref::Deref"),
    ("core::ops::index::IndexMut", "core::ops::index::Index"),
    ("core::iter::traits::double_ended::DoubleEndedIterator", "core::iter::traits::iterator::Iterator"),
    ("core::iter::traits::exact_size::ExactSizeIterator", "core::iter::traits::iterator::Iterator"),
    ("core::iter::traits::marker::FusedIterator", "core::iter::traits::iterator::Iterator"),
];

/// Traits that the compiler implements by itself, by looking inside.
pub(crate) const AUTO_TRAITS: &[&str] = &[
    "core::marker::Send",
    "core::marker::Sync",
    "core::marker::Unpin",
    "core::panic::unwind_safe::UnwindSafe",
    "core::panic::unwind_safe::RefUnwindSafe",
];

/// Traits of the compiler's own that nobody can name.
pub(crate) const INTERNAL_TRAITS: &[&str] =
    &["core::marker::StructuralPartialEq", "core::marker::Freeze", "core::marker::UnsafeUnpin"];

/// Types of the standard library that are invariant in their parameters.
const INVARIANT: &[&str] = &[
    "core::cell::Cell",
    "core::cell::RefCell",
    "core::cell::UnsafeCell",
    "core::cell::SyncUnsafeCell",
    "core::cell::RefMut",
    "core::cell::once::OnceCell",
    "core::cell::lazy::LazyCell",
    "core::sync::atomic::AtomicPtr",
    "core::sync::atomic::Atomic",
    "core::marker::variance::PhantomInvariant",
    "core::marker::variance::PhantomInvariantLifetime",
    "std::sync::poison::mutex::Mutex",
    "std::sync::poison::rwlock::RwLock",
    "std::sync::nonpoison::mutex::Mutex",
    "std::sync::nonpoison::rwlock::RwLock",
    "std::sync::once_lock::OnceLock",
    "std::sync::lazy_lock::LazyLock",
    "std::sync::reentrant_lock::ReentrantLock",
    "std::thread::local::LocalKey",
];

/// The variance of parameter `index` of a type of the standard library.
pub(crate) fn std_variance(path: &str, index: usize) -> Variance {
    let last = path.rsplit("::").next().unwrap_or(path);
    match last {
        "PhantomContravariant" | "PhantomContravariantLifetime" => return Variance::Contravariant,
        "PhantomInvariantLifetime" => return Variance::Invariant,
        _ => {}
    }
    if INVARIANT.contains(&path) {
        return if path == "core::cell::RefMut" && index == 0 {
            Variance::Covariant
        } else {
            Variance::Invariant
        };
    }
    // Handles through which a collection is changed, by the naming of the standard library; a lifetime comes first.
    let is_handle = ["Mut", "Guard", "Entry", "Drain"].iter().any(|suffix| last.ends_with(suffix));
    if is_handle || last.starts_with("Extract") {
        return if index == 0 { Variance::Covariant } else { Variance::Invariant };
    }
    let modules = ["std::sync::mpsc::", "std::sync::mpmc::", "std::thread::", "core::task::", "core::ffi::"];
    if modules.iter().any(|module| path.starts_with(module)) {
        Variance::Invariant
    } else {
        Variance::Covariant
    }
}

/// Whether a path is of the standard library.
pub(crate) fn is_std(path: &str) -> bool {
    ["core::", "alloc::", "std::"].iter().any(|root| path.starts_with(root))
}

/// Types and the traits that they have to implement.
type Conditions = &'static [(&'static str, &'static str)];

/// Impls of the standard library, `T` and `U` being any types: conditions, then the trait and the type.
///
/// These decide whether a parameter that has become generic still takes what it took, so the list holds what such
/// parameters ask for.
pub(crate) const IMPLS: &[(Conditions, &str, &str)] = &[
    (&[], "core::convert::AsRef<str>", "str"),
    (&[], "core::convert::AsRef<str>", "alloc::string::String"),
    (&[], "core::convert::AsRef<[u8]>", "str"),
    (&[], "core::convert::AsRef<[u8]>", "alloc::string::String"),
    (&[], "core::convert::AsRef<[T]>", "[T]"),
    (&[], "core::convert::AsRef<[T]>", "alloc::vec::Vec<T>"),
    (&[], "core::convert::AsRef<std::path::Path>", "str"),
    (&[], "core::convert::AsRef<std::path::Path>", "alloc::string::String"),
    (&[], "core::convert::AsRef<std::path::Path>", "std::path::Path"),
    (&[], "core::convert::AsRef<std::path::Path>", "std::path::PathBuf"),
    (&[], "core::convert::AsRef<std::ffi::os_str::OsStr>", "str"),
    (&[], "core::convert::AsRef<std::ffi::os_str::OsStr>", "alloc::string::String"),
    (&[("T", "core::convert::AsRef<U>")], "core::convert::AsRef<U>", "&'_ T"),
    (&[("T", "core::convert::AsRef<U>")], "core::convert::AsRef<U>", "&'_ mut T"),
    (&[], "core::convert::From<T>", "T"),
    (&[("U", "core::convert::From<T>")], "core::convert::Into<U>", "T"),
    (&[], "core::convert::From<&'_ str>", "alloc::string::String"),
    (&[], "core::convert::From<T>", "core::option::Option<T>"),
    (&[], "core::convert::From<T>", "alloc::boxed::Box<T>"),
    (&[], "core::borrow::Borrow<T>", "T"),
    (&[], "core::borrow::Borrow<str>", "alloc::string::String"),
    (&[], "core::borrow::Borrow<[T]>", "alloc::vec::Vec<T>"),
    (&[], "core::borrow::Borrow<T>", "&'_ T"),
    (&[("T", "core::iter::traits::iterator::Iterator")], "core::iter::traits::collect::IntoIterator", "T"),
    (&[], "core::iter::traits::collect::IntoIterator", "alloc::vec::Vec<T>"),
    (&[], "core::iter::traits::collect::IntoIterator", "core::option::Option<T>"),
    (&[], "core::iter::traits::collect::IntoIterator", "&'_ [T]"),
    (&[], "core::iter::traits::collect::IntoIterator", "&'_ alloc::vec::Vec<T>"),
    (&[], "core::iter::traits::collect::IntoIterator", "&'_ mut [T]"),
    (&[], "core::iter::traits::iterator::Iterator", "alloc::vec::into_iter::IntoIter<T>"),
    (&[], "core::iter::traits::double_ended::DoubleEndedIterator", "alloc::vec::into_iter::IntoIter<T>"),
    (&[], "core::iter::traits::exact_size::ExactSizeIterator", "alloc::vec::into_iter::IntoIter<T>"),
    (&[], "core::iter::traits::iterator::Iterator", "core::slice::iter::Iter<'_, T>"),
    (&[], "core::iter::traits::double_ended::DoubleEndedIterator", "core::slice::iter::Iter<'_, T>"),
    (&[], "core::iter::traits::exact_size::ExactSizeIterator", "core::slice::iter::Iter<'_, T>"),
    (&[], "core::ops::deref::Deref", "alloc::vec::Vec<T>"),
    (&[], "core::ops::deref::Deref", "alloc::string::String"),
    (&[], "core::ops::deref::Deref", "alloc::boxed::Box<T>"),
    (&[], "core::ops::deref::Deref", "alloc::rc::Rc<T>"),
    (&[], "core::ops::deref::Deref", "alloc::sync::Arc<T>"),
    (&[], "core::ops::deref::Deref", "&'_ T"),
    (&[("T", "core::fmt::Display")], "alloc::string::ToString", "T"),
    (&[], "core::fmt::Display", "str"),
    (&[], "core::fmt::Display", "alloc::string::String"),
    (&[], "core::fmt::Debug", "str"),
    (&[], "core::fmt::Debug", "alloc::string::String"),
    (&[], "core::fmt::Debug", "()"),
    (&[("T", "core::fmt::Debug")], "core::fmt::Debug", "alloc::vec::Vec<T>"),
    (&[("T", "core::fmt::Debug")], "core::fmt::Debug", "core::option::Option<T>"),
    (&[("T", "core::fmt::Debug")], "core::fmt::Debug", "[T]"),
    (&[("T", "core::fmt::Debug")], "core::fmt::Debug", "alloc::boxed::Box<T>"),
    (&[("T", "core::fmt::Debug")], "core::fmt::Debug", "&'_ T"),
    (&[("T", "core::fmt::Display")], "core::fmt::Display", "&'_ T"),
    (&[("T", "core::fmt::Display")], "core::fmt::Display", "alloc::boxed::Box<T>"),
    (&[], "core::clone::Clone", "alloc::string::String"),
    (&[("T", "core::clone::Clone")], "core::clone::Clone", "alloc::vec::Vec<T>"),
    (&[("T", "core::clone::Clone")], "core::clone::Clone", "core::option::Option<T>"),
    (&[("T", "core::clone::Clone")], "core::clone::Clone", "alloc::boxed::Box<T>"),
    (&[], "core::clone::Clone", "alloc::rc::Rc<T>"),
    (&[], "core::clone::Clone", "alloc::sync::Arc<T>"),
    (&[("T", "core::marker::Copy")], "core::marker::Copy", "core::option::Option<T>"),
    (&[], "core::default::Default", "alloc::string::String"),
    (&[], "core::default::Default", "alloc::vec::Vec<T>"),
    (&[], "core::default::Default", "core::option::Option<T>"),
    (&[], "core::cmp::PartialEq", "str"),
    (&[], "core::cmp::Eq", "str"),
    (&[], "core::cmp::PartialOrd", "str"),
    (&[], "core::cmp::Ord", "str"),
    (&[], "core::hash::Hash", "str"),
    (&[], "core::cmp::PartialEq", "alloc::string::String"),
    (&[], "core::cmp::Eq", "alloc::string::String"),
    (&[], "core::cmp::PartialOrd", "alloc::string::String"),
    (&[], "core::cmp::Ord", "alloc::string::String"),
    (&[], "core::hash::Hash", "alloc::string::String"),
    (&[("T", "core::cmp::PartialEq")], "core::cmp::PartialEq", "alloc::vec::Vec<T>"),
    (&[("T", "core::cmp::Eq")], "core::cmp::Eq", "alloc::vec::Vec<T>"),
    (&[("T", "core::hash::Hash")], "core::hash::Hash", "alloc::vec::Vec<T>"),
    (&[("T", "core::cmp::PartialEq")], "core::cmp::PartialEq", "core::option::Option<T>"),
    (&[("T", "core::cmp::Eq")], "core::cmp::Eq", "core::option::Option<T>"),
    (&[("T", "core::hash::Hash")], "core::hash::Hash", "core::option::Option<T>"),
    (&[("T", "core::ops::function::FnOnce<U>")], "core::ops::function::FnOnce<U>", "alloc::boxed::Box<T>"),
];

/// Numbers that others can be made from without loss: the one that is made, what from.
pub(crate) const LOSSLESS: &[(&str, &[&str])] = &[
    ("u16", &["u8"]),
    ("i16", &["i8", "u8"]),
    ("u32", &["u8", "u16", "char"]),
    ("i32", &["i8", "u8", "i16", "u16"]),
    ("u64", &["u8", "u16", "u32", "char"]),
    ("i64", &["i8", "u8", "i16", "u16", "i32", "u32"]),
    ("u128", &["u8", "u16", "u32", "u64"]),
    ("i128", &["i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64"]),
    ("usize", &["u8", "u16"]),
    ("isize", &["i16", "u8", "i8"]),
    ("f64", &["f32", "u8", "u16", "u32", "i8", "i16", "i32"]),
    ("f32", &["u8", "u16", "i8", "i16"]),
    ("char", &["u8"]),
];

/// What primitive types implement: the trait, then whether floating-point numbers do too.
pub(crate) const OF_PRIMITIVES: &[(&str, bool)] = &[
    ("core::clone::Clone", true),
    ("core::marker::Copy", true),
    ("core::fmt::Debug", true),
    ("core::fmt::Display", true),
    ("core::default::Default", true),
    ("core::cmp::PartialEq", true),
    ("core::cmp::PartialOrd", true),
    ("core::cmp::Eq", false),
    ("core::cmp::Ord", false),
    ("core::hash::Hash", false),
];

/// Associated types of the standard library's impls: the item, the self type, the value.
pub(crate) const PROJECTIONS: &[(&str, &str, &str)] = &[
    ("core::iter::traits::collect::IntoIterator::Item", "alloc::vec::Vec<T>", "T"),
    (
        "core::iter::traits::collect::IntoIterator::IntoIter",
        "alloc::vec::Vec<T>",
        "alloc::vec::into_iter::IntoIter<T>",
    ),
    ("core::iter::traits::collect::IntoIterator::Item", "core::option::Option<T>", "T"),
    ("core::iter::traits::collect::IntoIterator::Item", "[T; N]", "T"),
    ("core::iter::traits::collect::IntoIterator::Item", "&'a [T; N]", "&'a T"),
    ("core::iter::traits::collect::IntoIterator::Item", "&'a [T]", "&'a T"),
    ("core::iter::traits::collect::IntoIterator::IntoIter", "&'a [T]", "core::slice::iter::Iter<'a, T>"),
    ("core::iter::traits::collect::IntoIterator::Item", "&'a mut [T]", "&'a mut T"),
    ("core::iter::traits::collect::IntoIterator::Item", "&'a alloc::vec::Vec<T>", "&'a T"),
    (
        "core::iter::traits::collect::IntoIterator::IntoIter",
        "&'a alloc::vec::Vec<T>",
        "core::slice::iter::Iter<'a, T>",
    ),
    ("core::iter::traits::collect::IntoIterator::Item", "&'a mut alloc::vec::Vec<T>", "&'a mut T"),
    (
        "core::iter::traits::collect::IntoIterator::Item",
        "std::collections::hash::map::HashMap<T, U>",
        "(T, U)",
    ),
    (
        "core::iter::traits::collect::IntoIterator::Item",
        "alloc::collections::btree::map::BTreeMap<T, U>",
        "(T, U)",
    ),
    ("core::iter::traits::collect::IntoIterator::Item", "std::collections::hash::set::HashSet<T>", "T"),
    ("core::iter::traits::collect::IntoIterator::Item", "alloc::collections::btree::set::BTreeSet<T>", "T"),
    ("core::iter::traits::collect::IntoIterator::Item", "alloc::collections::vec_deque::VecDeque<T>", "T"),
    ("core::iter::traits::iterator::Iterator::Item", "alloc::vec::into_iter::IntoIter<T>", "T"),
    ("core::iter::traits::iterator::Iterator::Item", "core::slice::iter::Iter<'a, T>", "&'a T"),
    ("core::iter::traits::iterator::Iterator::Item", "core::slice::iter::IterMut<'a, T>", "&'a mut T"),
    ("core::iter::traits::iterator::Iterator::Item", "core::option::IntoIter<T>", "T"),
    ("core::iter::traits::iterator::Iterator::Item", "core::str::iter::Chars<'a>", "char"),
    ("core::iter::traits::iterator::Iterator::Item", "core::str::iter::Bytes<'a>", "u8"),
    ("core::iter::traits::iterator::Iterator::Item", "core::str::iter::Lines<'a>", "&'a str"),
    ("core::iter::traits::iterator::Iterator::Item", "core::ops::range::Range<T>", "T"),
    ("core::iter::traits::iterator::Iterator::Item", "core::iter::sources::once::Once<T>", "T"),
    ("core::iter::traits::iterator::Iterator::Item", "core::iter::sources::empty::Empty<T>", "T"),
    ("core::iter::traits::iterator::Iterator::Item", "core::iter::sources::repeat::Repeat<T>", "T"),
    ("alloc::borrow::ToOwned::Owned", "str", "alloc::string::String"),
    ("alloc::borrow::ToOwned::Owned", "[T]", "alloc::vec::Vec<T>"),
    ("alloc::borrow::ToOwned::Owned", "std::path::Path", "std::path::PathBuf"),
    ("core::ops::deref::Deref::Target", "alloc::vec::Vec<T>", "[T]"),
    ("core::ops::deref::Deref::Target", "alloc::string::String", "str"),
    ("core::ops::deref::Deref::Target", "alloc::boxed::Box<T>", "T"),
    ("core::ops::deref::Deref::Target", "alloc::rc::Rc<T>", "T"),
    ("core::ops::deref::Deref::Target", "alloc::sync::Arc<T>", "T"),
    ("core::ops::deref::Deref::Target", "std::path::PathBuf", "std::path::Path"),
    ("core::ops::deref::Deref::Target", "&'a T", "T"),
    ("core::ops::deref::Deref::Target", "&'a mut T", "T"),
    ("core::future::future::Future::Output", "core::future::ready::Ready<T>", "T"),
];
