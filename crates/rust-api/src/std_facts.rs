//! What is known about the standard library without its JSON: aliases, default arguments, variances, supertraits, and
//! some impls.
//!
//! **Invariant:** a table errs on the side of a reported change: what is not listed here is invariant, implements
//! nothing and evaluates to nothing.

// Beside the other tests, because it runs the compiler, which nothing among these sources may.
#[cfg(test)]
#[path = "../tests/std_facts/oracle.rs"]
mod oracle;
pub(crate) mod table;

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

/// Whether whatever implements one trait of the standard library implements another one.
pub(crate) fn is_below(path: &str, above: &str) -> bool {
    let mut todo = vec![path];
    while let Some(path) = todo.pop() {
        if path == above {
            return true;
        }
        let list = SUPERTRAITS.iter().filter(|(name, _)| *name == path);
        todo.extend(list.flat_map(|(_, above)| above.iter().copied()));
    }
    false
}

/// Types and items that evaluating may give, or asks about.
pub(crate) const EVALUATED: &[&str] = &[
    "core::marker::Send",
    "core::marker::Sync",
    "core::panic::unwind_safe::UnwindSafe",
    "core::panic::unwind_safe::RefUnwindSafe",
    "core::convert::Infallible",
    "core::num::error::TryFromIntError",
    "core::iter::traits::iterator::Iterator",
    "core::iter::traits::iterator::Iterator::Item",
    "core::future::future::Future::Output",
    "core::ops::function::FnOnce::Output",
    "core::ops::function::FnMut",
    "core::ops::function::FnOnce",
    "core::iter::traits::collect::IntoIterator::Item",
    "core::future::into_future::IntoFuture::Output",
];

/// What traits of the standard library say about their associated types: the type, a trait's associated type of it, and
/// what that is, an associated type of the first trait.
pub(crate) const OF_ITEMS: &[(&str, &str, &str)] = &[
    (
        "core::iter::traits::collect::IntoIterator::IntoIter",
        "core::iter::traits::iterator::Iterator::Item",
        "core::iter::traits::collect::IntoIterator::Item",
    ),
    (
        "core::future::into_future::IntoFuture::IntoFuture",
        "core::future::future::Future::Output",
        "core::future::into_future::IntoFuture::Output",
    ),
];

/// Whether an associated type of the standard library implements a trait because its own trait says so.
pub(crate) fn is_bounded(item: &str, of: &str) -> bool {
    let home = |inner: &str| inner.rsplit_once("::").map(|(home, _)| home.to_owned());
    OF_ITEMS.iter().any(|(outer, inner, _)| *outer == item && home(inner).as_deref() == Some(of))
}

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

/// Associated types of the standard library whose size need not be known.
pub(crate) const UNSIZED_ITEMS: &[&str] =
    &["core::ops::deref::Deref::Target", "core::ops::index::Index::Output"];

/// Types of the standard library whose size is not known.
pub(crate) const UNSIZED_TYPES: &[&str] =
    &["core::ffi::c_str::CStr", "std::ffi::os_str::OsStr", "std::path::Path"];

/// What tuples implement if all of their elements do, as function pointers do of any kind, but for the last one.
pub(crate) const OF_TUPLES: &[&str] = &[
    "core::fmt::Debug",
    "core::cmp::PartialEq",
    "core::cmp::Eq",
    "core::cmp::PartialOrd",
    "core::cmp::Ord",
    "core::hash::Hash",
    "core::default::Default",
];

/// How many elements a tuple may have that implements anything but what the compiler knows of.
pub(crate) const MAX_TUPLE: usize = 12;

/// Modules and types of the standard library whose values stay in one thread.
pub(crate) const OF_ONE_THREAD: &[&str] = &[
    "alloc::rc::",
    "core::cell::Ref",
    "core::cell::RefMut",
    "core::ptr::non_null::",
    "core::fmt::",
    "core::task::",
    "core::panic::",
    "core::ffi::",
    "core::marker::",
    "std::env::",
    "std::io::stdio::",
    "std::sync::poison::",
    "std::sync::nonpoison::",
    "std::sync::mpsc::",
    "std::thread::",
    "std::panic::",
];

/// Modules of the standard library whose types own what they hold: they are sent with it, and shared with it.
pub(crate) const OWNING: &[&str] = &[
    "alloc::vec::",
    "alloc::boxed::",
    "alloc::string::",
    "alloc::collections::",
    "core::option::",
    "core::result::",
    "core::array::",
    "core::iter::",
    "core::ops::",
    "core::cmp::",
    "core::num::",
    "std::collections::",
    "std::path::",
    "std::io::error::",
];

/// Modules of the standard library whose types share what they hold, and do not change it.
pub(crate) const SHARING: &[&str] = &["alloc::rc::Rc", "alloc::sync::Arc"];

/// Types of the standard library whose first type parameter has to outlive their lifetime.
pub(crate) const FIRST_OUTLIVES: &[&str] = &[
    "core::cell::Ref",
    "core::cell::RefMut",
    "std::sync::poison::mutex::MutexGuard",
    "std::sync::poison::mutex::MappedMutexGuard",
    "std::sync::poison::rwlock::RwLockReadGuard",
    "std::sync::poison::rwlock::RwLockWriteGuard",
    "std::sync::poison::rwlock::MappedRwLockReadGuard",
    "std::sync::poison::rwlock::MappedRwLockWriteGuard",
];

/// Traits of the standard library that are for `'static` types only.
pub(crate) const STATIC_TRAITS: &[&str] = &["core::any::Any"];

/// Traits that the compiler implements by itself, by looking inside.
pub(crate) const AUTO_TRAITS: &[&str] = &[
    "core::marker::Send",
    "core::marker::Sync",
    "core::marker::Unpin",
    "core::panic::unwind_safe::UnwindSafe",
    "core::panic::unwind_safe::RefUnwindSafe",
];

/// Auto traits of which a type loses at least one by a field that makes a parameter invariant: `&mut`, a cell or a trait
/// object.
pub(crate) const LOST_BY_INVARIANCE: &[&str] = &[
    "core::panic::unwind_safe::UnwindSafe",
    "core::panic::unwind_safe::RefUnwindSafe",
    "core::marker::Freeze",
];

/// The auto trait that a type loses by a pointer as well.
pub(crate) const LOST_BY_POINTERS: &str = "core::marker::Sync";

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
    // They hold associated types of their parameters, or have patterns inside of them that do.
    "core::iter::adapters::peekable::Peekable",
    "core::str::iter::Lines",
    "core::str::iter::SplitWhitespace",
    "core::str::iter::SplitAsciiWhitespace",
];

/// Modules of the standard library whose types hold associated types of their parameters.
const INVARIANT_MODULES: &[&str] =
    &["core::iter::adapters::flatten::", "core::iter::adapters::map_windows::"];

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
    // `Cow` holds what its parameter is owned as; ways to split a text hold what the pattern searches with.
    let holds_projection = path == "alloc::borrow::Cow" && index > 0
        || path.starts_with("core::str::iter::") && (last.contains("Split") || last.contains("Match"))
        || INVARIANT_MODULES.iter().any(|module| path.starts_with(module));
    if holds_projection {
        return Variance::Invariant;
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
