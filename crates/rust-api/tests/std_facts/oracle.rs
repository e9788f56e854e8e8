//! Asks the compiler about everything in the tables of the standard library, where there is one.
//!
//! - every line of `std.txt` as a generic function, under the line's own conditions and no others;
//! - for many types and traits, whether what proofs say holds (and nothing that does not hold is said to);
//! - aliases, defaults, supertraits, associated types of associated types, and every variance that is not invariant.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use typeloom_term::parse::{Scope, parse_ty};
use typeloom_term::print::Printer;
use typeloom_term::{Arity, Boxed, GenericArg, InferenceTable, Name, Symbols, TyData, Variance};

use super::table::Table;
use super::{ALIASES, DEFAULTS, OF_ITEMS, SELF_BY_DEFAULT, SUPERTRAITS};
use crate::item::Type;
use crate::predicate;
use crate::prove::assumptions::Outlives;
use crate::prove::world::{Knowledge, World};
use crate::prove::{MAX_STEPS, Prover};

/// Where rustdoc names a private module, and where its items can be named.
const PUBLIC: &[(&str, &str)] = &[
    ("alloc::collections::btree::map::", "alloc::collections::btree_map::"),
    ("alloc::collections::btree::set::", "alloc::collections::btree_set::"),
    ("alloc::collections::vec_deque::into_iter::", "alloc::collections::vec_deque::"),
    ("alloc::collections::vec_deque::iter::", "alloc::collections::vec_deque::"),
    ("alloc::collections::vec_deque::iter_mut::", "alloc::collections::vec_deque::"),
    ("alloc::vec::into_iter::", "alloc::vec::"),
    ("alloc::ffi::c_str::", "alloc::ffi::"),
    ("core::array::iter::", "core::array::"),
    ("core::cell::once::", "core::cell::"),
    ("core::cell::lazy::", "core::cell::"),
    ("core::char::convert::", "core::char::"),
    ("core::ffi::c_str::", "core::ffi::"),
    ("core::ffi::primitives::", "core::ffi::"),
    ("core::future::future::", "core::future::"),
    ("core::future::into_future::", "core::future::"),
    ("core::future::ready::", "core::future::"),
    ("core::iter::range::", "core::iter::"),
    ("core::iter::sources::", "core::iter::"),
    ("core::iter::adapters::", "core::iter::"),
    ("core::iter::traits::", "core::iter::"),
    ("core::mem::manually_drop::", "core::mem::"),
    ("core::mem::maybe_uninit::", "core::mem::"),
    ("core::num::dec2flt::", "core::num::"),
    ("core::num::error::", "core::num::"),
    ("core::ops::arith::", "core::ops::"),
    ("core::ops::bit::", "core::ops::"),
    ("core::ops::control_flow::", "core::ops::"),
    ("core::ops::deref::", "core::ops::"),
    ("core::ops::function::", "core::ops::"),
    ("core::ops::index::", "core::ops::"),
    ("core::ops::range::", "core::ops::"),
    ("core::panic::unwind_safe::", "core::panic::"),
    ("core::slice::iter::", "core::slice::"),
    ("core::str::error::", "core::str::"),
    ("core::str::iter::", "core::str::"),
    ("core::str::traits::", "core::str::"),
    ("std::collections::hash::map::", "std::collections::hash_map::"),
    ("std::collections::hash::set::", "std::collections::hash_set::"),
    ("std::ffi::os_str::", "std::ffi::"),
    ("std::hash::random::", "std::hash::"),
    ("std::io::cursor::", "std::io::"),
    ("std::io::error::", "std::io::"),
    ("std::io::stdio::", "std::io::"),
    ("std::net::tcp::", "std::net::"),
    ("std::sync::once_lock::", "std::sync::"),
    ("std::thread::thread::", "std::thread::"),
    ("core::net::ip_addr::", "core::net::"),
    ("core::net::socket_addr::", "core::net::"),
    ("core::num::wrapping::", "core::num::"),
    ("core::task::poll::", "core::task::"),
    ("core::task::wake::", "core::task::"),
    ("std::sync::poison::mutex::", "std::sync::"),
    ("std::sync::poison::rwlock::", "std::sync::"),
    ("std::sync::poison::", "std::sync::"),
    ("std::thread::join_handle::", "std::thread::"),
];

/// Modules of iterators that are private one by one.
const ITERATORS: &[&str] = &[
    "accum",
    "chain",
    "cloned",
    "collect",
    "copied",
    "cycle",
    "double_ended",
    "empty",
    "enumerate",
    "exact_size",
    "filter",
    "fuse",
    "inspect",
    "iterator",
    "map",
    "marker",
    "once",
    "peekable",
    "repeat",
    "rev",
    "skip",
    "skip_while",
    "step_by",
    "take",
    "take_while",
    "zip",
];

/// A text with paths that a program can name, and with a lifetime where none is written.
fn nameable(text: &str) -> String {
    let mut text = text.replace("'_", "'a");
    for (private, public) in PUBLIC {
        text = text.replace(private, public);
    }
    for module in ITERATORS {
        text = text.replace(&format!("core::iter::{module}::"), "core::iter::");
    }
    text
}

/// A folder that is gone when the test is.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("typeloom-facts-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).expect("the folder for temporary files can be written to");
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left behind in the folder for temporary files does no harm.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn rustc(folder: &Path, source: &str, options: &[&str]) -> Option<std::process::Output> {
    let file = folder.join("asked.rs");
    std::fs::write(&file, source).expect("the folder was just made");
    let compiler = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let run = Command::new(compiler)
        .args(["--edition", "2024", "--cap-lints", "allow", "--out-dir"])
        .arg(folder)
        .args(options)
        .arg(&file)
        .env("RUSTC_BOOTSTRAP", "1")
        .output();
    if run.is_err() {
        println!("skipped: there is no rustc on the path");
    }
    run.ok()
}

const HEAD: &str = "#![feature(allocator_api, unboxed_closures, fn_traits, step_trait, tuple_trait, never_type)]\nextern crate alloc;\n";

/// Compiles functions; each has to be right, and is named after the fact it states.
fn all_hold(name: &str, functions: &[String]) {
    assert!(!functions.is_empty());
    let folder = Folder::new(name);
    let source = format!("{HEAD}{}\n", functions.join("\n"));
    let Some(output) = rustc(&folder.0, &source, &["--crate-type", "lib", "--emit", "metadata"]) else {
        return;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

const GENERICS: &str = "'a, T: 'a, U: 'a, const N: usize";

/// What can be called is called with a tuple.
const TUPLES: &str = "'a, T: 'a, U: 'a + core::marker::Tuple, const N: usize";

/// The conditions of a line; what is for `'static` types only says nothing about lifetimes in the table.
fn clause(conditions: &[(String, String)], line: &str) -> String {
    let mut list: Vec<String> = conditions.iter().map(|(this, of)| format!("{this}: {of}")).collect();
    if line.contains("'static") {
        list.push("T: 'static".to_owned());
    }
    nameable(&list.join(", "))
}

#[test]
fn every_impl_of_the_table_holds() {
    let mut functions = Vec::new();
    for (index, one) in Table::of_std().impls.iter().enumerate() {
        let (of, this) = (nameable(&one.of), nameable(&one.this));
        let clause = clause(&one.conditions, &this);
        let generics = if of.contains("::Fn") { TUPLES } else { GENERICS };
        functions.push(format!("fn is{index}<{generics}, X: ?Sized + {of}>() {{}}"));
        functions
            .push(format!("fn i{index}<{generics}>() where {clause} {{ is{index}::<T, U, N, {this}>() }}"));
    }
    all_hold("impls", &functions);
}

#[test]
fn every_associated_type_of_the_table_is_what_it_says() {
    let mut functions = Vec::new();
    for (index, one) in Table::of_std().projections.iter().enumerate() {
        let (of, item) = one.item.rsplit_once("::").expect("an item is in a trait");
        let args = one.arg.as_ref().map_or_else(String::new, |arg| format!("<{arg}>"));
        let (of, this, value) = (nameable(&format!("{of}{args}")), nameable(&one.this), nameable(&one.value));
        let clause = clause(&one.conditions, "");
        functions.push(format!(
            "fn p{index}<{GENERICS}>(x: *const <{this} as {of}>::{item}) -> *const {value} where {clause} {{ x }}"
        ));
    }
    all_hold("projections", &functions);
}

#[test]
fn aliases_defaults_and_supertraits_hold() {
    let mut functions = Vec::new();
    let mut same = |generics: &str, one: &str, other: &str| {
        let (one, other) = (nameable(one), nameable(other));
        let index = functions.len();
        functions.push(format!("fn s{index}<{generics}>(x: *const {one}) -> *const {other} {{ x }}"));
    };
    for (path, params, value) in ALIASES {
        let args = if *params == 0 { "" } else { "<T>" };
        same("T", &format!("{path}{args}"), value);
    }
    for (path, at, default) in DEFAULTS {
        let written = if *at == 1 { "T" } else { "T, U" };
        same("T, U", &format!("{path}<{written}>"), &format!("{path}<{written}, {default}>"));
    }
    for (outer, inner, value) in OF_ITEMS {
        let ((of_outer, outer), (of_inner, inner)) =
            (outer.rsplit_once("::").expect("an item"), inner.rsplit_once("::").expect("an item"));
        let value = value.rsplit("::").next().expect("an item");
        let left = format!("<<X as {of_outer}>::{outer} as {of_inner}>::{inner}");
        same(&nameable(&format!("X: {of_outer}")), &left, &format!("<X as {of_outer}>::{value}"));
    }
    for (index, (of, above)) in SUPERTRAITS.iter().enumerate() {
        let args = |path: &str| match path.rsplit("::").next() {
            Some("Fn" | "FnMut" | "FnOnce") => "<(u8,)>",
            Some("From" | "Into" | "TryFrom" | "TryInto" | "FromIterator" | "Index" | "IndexMut") => "<u8>",
            _ => "",
        };
        for (number, above) in above.iter().enumerate() {
            let (below, above) = (nameable(of), nameable(above));
            functions.push(format!("fn a{index}_{number}<X: ?Sized + {above}{}>() {{}}", args(&above)));
            functions.push(format!(
                "fn b{index}_{number}<X: {}{below}{}>() {{ a{index}_{number}::<X>() }}",
                if above.ends_with("::Sized") { "" } else { "?Sized + " },
                args(&below)
            ));
        }
    }
    for (index, of) in SELF_BY_DEFAULT.iter().enumerate() {
        let of = nameable(of);
        functions
            .push(format!("fn d{index}<X: {of}<X>>() {{}} fn e{index}<X: {of}>() {{ d{index}::<X>() }}"));
    }
    all_hold("names", &functions);
}

/// A world that holds nothing but the standard library.
fn world(symbols: &mut Symbols) -> World {
    let json = format!(
        r#"{{"root":0,"crate_version":null,"includes_private":false,"index":{{"0":{{"id":0,"crate_id":0,"name":"empty",
        "span":null,"visibility":"public","docs":null,"links":{{}},"attrs":[],"deprecation":null,
        "inner":{{"module":{{"is_crate":true,"items":[],"is_stripped":false}}}}}}}},"paths":{{}},"external_crates":{{}},
        "target":{{"triple":"","target_features":[]}},"format_version":{}}}"#,
        rustdoc_types::FORMAT_VERSION
    );
    let api =
        crate::describe(json.as_bytes(), crate::Edition::default(), symbols).expect("the crate is empty");
    World::new(&api, symbols).expect("the tables are small")
}

fn parsed(symbols: &mut Symbols, text: &str) -> Type {
    let scope = Scope::new().types(["T", "U"]).consts(["N"]);
    parse_ty(&Boxed::new(), symbols, &scope, text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// What is put for the parameters of types in the table.
const ARGUMENTS: &[(&str, &str)] = &[
    ("u8", "char"),
    ("f64", "alloc::string::String"),
    ("alloc::rc::Rc<u8>", "core::cell::Cell<u8>"),
    ("&'static str", "fn(u8)"),
];

const TYPES: &[&str] = &[
    "bool",
    "char",
    "u8",
    "i128",
    "usize",
    "f32",
    "f64",
    "str",
    "()",
    "(u8,)",
    "(u8, f64, char)",
    "!",
    "[u8]",
    "[u8; 3]",
    "[f64; 3]",
    "&'static u8",
    "&'static mut u8",
    "&'static str",
    "*const u8",
    "*mut u8",
    "fn(u8) -> f64",
    "core::cell::Cell<u8>",
    "core::cell::RefCell<u8>",
    "core::cell::UnsafeCell<u8>",
    "core::cell::Ref<'static, u8>",
    "core::cell::RefMut<'static, u8>",
    "core::marker::PhantomData<u8>",
    "core::marker::PhantomPinned",
    "core::marker::PhantomData<alloc::rc::Rc<u8>>",
    "core::ptr::non_null::NonNull<u8>",
    "core::num::wrapping::Wrapping<u8>",
    "core::fmt::Formatter<'static>",
    "core::fmt::Arguments<'static>",
    "core::task::wake::Waker",
    "core::task::wake::Context<'static>",
    "core::pin::Pin<alloc::boxed::Box<u8>>",
    "core::time::Duration",
    "core::sync::atomic::AtomicPtr<u8>",
    "core::ops::range::Range<u8>",
    "core::ops::range::RangeFull",
    "std::sync::poison::mutex::Mutex<core::cell::Cell<u8>>",
    "std::sync::poison::mutex::MutexGuard<'static, u8>",
    "std::sync::poison::rwlock::RwLock<core::cell::Cell<u8>>",
    "std::sync::poison::rwlock::RwLockReadGuard<'static, u8>",
    "std::sync::mpsc::Sender<u8>",
    "std::sync::mpsc::Receiver<u8>",
    "std::thread::join_handle::JoinHandle<u8>",
    "std::thread::thread::Thread",
    "std::env::Args",
    "std::env::Vars",
    "std::fs::File",
    "std::time::Instant",
    "std::io::stdio::Stdin",
    "std::io::stdio::StdinLock<'static>",
    "std::net::tcp::TcpStream",
    "std::process::Child",
    "core::net::ip_addr::IpAddr",
    "core::any::TypeId",
    "core::panic::location::Location<'static>",
    "alloc::string::Drain<'static>",
    "alloc::vec::drain::Drain<'static, u8>",
    "std::sync::barrier::Barrier",
    "std::sync::once_lock::OnceLock<core::cell::Cell<u8>>",
    "core::cell::once::OnceCell<u8>",
    "alloc::sync::Weak<u8>",
    "alloc::rc::Weak<u8>",
    "core::iter::adapters::peekable::Peekable<core::str::iter::Chars<'static>>",
    "alloc::boxed::Box<dyn core::fmt::Debug + 'static>",
    "alloc::boxed::Box<dyn core::fmt::Debug + core::marker::Send + 'static>",
    "&'static (dyn core::any::Any + core::marker::Send + core::marker::Sync + 'static)",
    "dyn core::error::Error + 'static",
    "core::option::Option<alloc::boxed::Box<dyn core::error::Error + core::marker::Send + 'static>>",
];

const TRAITS: &[&str] = &[
    "core::marker::Sized",
    "core::marker::Send",
    "core::marker::Sync",
    "core::marker::Unpin",
    "core::marker::Copy",
    "core::panic::unwind_safe::UnwindSafe",
    "core::panic::unwind_safe::RefUnwindSafe",
    "core::clone::Clone",
    "core::fmt::Debug",
    "core::fmt::Display",
    "core::default::Default",
    "core::cmp::PartialEq",
    "core::cmp::Eq",
    "core::cmp::PartialOrd",
    "core::cmp::Ord",
    "core::hash::Hash",
    "core::iter::traits::iterator::Iterator",
    "core::iter::traits::double_ended::DoubleEndedIterator",
    "core::iter::traits::exact_size::ExactSizeIterator",
    "core::iter::traits::marker::FusedIterator",
    "core::iter::traits::collect::IntoIterator",
    "alloc::string::ToString",
    "core::error::Error",
    "core::ops::deref::Deref",
    "std::io::Read",
    "core::any::Any",
    "core::convert::AsRef<str>",
    "core::convert::AsRef<[u8]>",
    "core::convert::Into<alloc::string::String>",
    "core::convert::From<u8>",
    "core::convert::From<char>",
    "core::convert::From<i8>",
    "core::convert::Into<f64>",
    "core::convert::Into<i32>",
    "core::ops::function::Fn<(u8,)>",
    "core::ops::function::FnOnce<(u8,)>",
];

/// Paths of rustdoc's that [`PUBLIC`] does not need, since the table has no such types.
fn nameable_type(text: &str) -> String {
    let mut text = nameable(text);
    for (private, public) in [
        ("core::ptr::non_null::", "core::ptr::"),
        ("core::panic::location::", "core::panic::"),
        ("alloc::vec::drain::", "alloc::vec::"),
        ("std::sync::barrier::", "std::sync::"),
    ] {
        text = text.replace(private, public);
    }
    text
}

/// The types of the table, with concrete arguments, and some more.
fn types() -> BTreeSet<String> {
    let table = Table::of_std();
    let mut types: BTreeSet<String> = TYPES.iter().map(|&text| text.to_owned()).collect();
    let of_table =
        table.impls.iter().map(|one| &one.this).chain(table.projections.iter().map(|one| &one.this));
    // `Peekable` of what is no iterator is no type at all.
    for this in of_table.filter(|this| !this.contains("::Peekable<")) {
        for (t, u) in ARGUMENTS {
            let mut text = format!(" {this} ").replace("'_", "'static").replace("'a", "'static");
            for (param, arg) in [("T", *t), ("U", *u), ("N", "2")] {
                for (before, after) in [
                    ('<', '>'),
                    ('<', ','),
                    (' ', '>'),
                    (' ', ','),
                    ('[', ';'),
                    ('[', ']'),
                    ('(', ','),
                    (' ', ')'),
                    (' ', ']'),
                    (' ', ' '),
                ] {
                    text = text.replace(&format!("{before}{param}{after}"), &format!("{before}{arg}{after}"));
                }
            }
            types.insert(text.trim().to_owned());
        }
    }
    types
}

#[test]
fn what_proofs_say_of_types_of_the_standard_library_holds() {
    let mut symbols = Symbols::new();
    let world = world(&mut symbols);
    let mut questions = Vec::new();
    for of in TRAITS {
        let of = parsed(&mut symbols, of);
        for this in types() {
            questions.push((of.clone(), parsed(&mut symbols, &this)));
        }
    }
    let knowledge = Knowledge::new(&world, &symbols, &[]);
    let outlives = Outlives::new(&world, &symbols, &[], &[]);
    let mut proven = Vec::new();
    let mut source = format!("{HEAD}use std::marker::PhantomData;\nstruct Of<T: ?Sized>(PhantomData<T>);\n");
    let (mut names, mut asked, mut main) = (Vec::<Type>::new(), Vec::new(), String::new());
    for (of, this) in questions {
        let TyData::Apply(applied) = of.data() else { panic!("a trait is parsed as an application") };
        let Name::Adt(symbol) = applied.name else { panic!("a trait is parsed as a definition") };
        let args: Vec<GenericArg<Boxed>> =
            std::iter::once(this.clone().into()).chain(applied.args.iter().cloned()).collect();
        let goal = predicate::implements(&Boxed::new(), Arity::NONE, symbol, &args).expect("small");
        let prover =
            Prover { knowledge: &knowledge, facts: &[], outlives: &outlives, steps: MAX_STEPS.into() };
        proven.push(prover.holds(&mut InferenceTable::new(Boxed::new()), &goal));
        let print = |ty: &Type| nameable_type(&Printer::new(&symbols).ty(ty));
        let index = names.iter().position(|own| *own == of).unwrap_or_else(|| {
            let index = names.len();
            source.push_str(&format!(
                "trait No{index} {{ const IS{index}: bool = false; }}\nimpl<T: ?Sized> No{index} for Of<T> {{}}\n\
                 impl<T: ?Sized + {}> Of<T> {{ const IS{index}: bool = true; }}\n",
                print(&of)
            ));
            names.push(of.clone());
            index
        });
        main.push_str(&format!("Of::<{}>::IS{index}, ", print(&this)));
        asked.push(format!("{}: {}", print(&this), print(&of)));
    }
    source.push_str(&format!("fn main() {{ for is in [{main}] {{ print!(\"{{}}\", u8::from(is)); }} }}\n"));
    let folder = Folder::new("proofs");
    let Some(output) = rustc(&folder.0, &source, &["--crate-name", "asked"]) else { return };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let run = Command::new(folder.0.join("asked")).output().expect("the compiler wrote it");
    let answers = String::from_utf8(run.stdout).expect("digits");
    assert_eq!(answers.len(), asked.len());
    let answers: Vec<bool> = answers.chars().map(|digit| digit == '1').collect();
    let wrong = |said: bool| -> Vec<&String> {
        let all = asked.iter().zip(proven.iter().zip(&answers));
        all.filter(|(_, (own, answer))| **own == said && **answer != said).map(|(text, _)| text).collect()
    };
    let (untrue, unproven) = (wrong(true), wrong(false));
    println!(
        "{} questions, {} true, {} of them not proven",
        asked.len(),
        answers.iter().filter(|is| **is).count(),
        unproven.len()
    );
    for one in &unproven {
        println!("  not proven: {one}");
    }
    assert!(untrue.is_empty(), "proven, but not so:\n{untrue:#?}");
    // What is not proven is reported as a change, which is why there should be little of it.
    let hold = answers.iter().filter(|is| **is).count();
    assert!(unproven.len() * 8 < hold, "{} of {hold} are true and not proven", unproven.len());
}

#[test]
fn variances_of_the_standard_library_hold() {
    let mut symbols = Symbols::new();
    let world = world(&mut symbols);
    let table = Table::of_std();
    let of_table =
        table.impls.iter().map(|one| &one.this).chain(table.projections.iter().map(|one| &one.this));
    let mut found: BTreeSet<String> = of_table.cloned().collect();
    for more in [
        "core::cell::Cell<T>",
        "core::cell::RefCell<T>",
        "core::cell::UnsafeCell<T>",
        "std::sync::poison::mutex::Mutex<T>",
        "core::marker::PhantomData<T>",
        "core::ptr::non_null::NonNull<T>",
        "alloc::vec::drain::Drain<'a, T>",
        "std::sync::poison::rwlock::RwLockReadGuard<'a, T>",
        "core::cell::Ref<'a, T>",
        "core::cell::RefMut<'a, T>",
        "alloc::sync::Weak<T>",
        "core::sync::atomic::AtomicPtr<T>",
        "core::iter::adapters::map::Map<T, U>",
        "alloc::borrow::Cow<'a, [T]>",
        "core::str::iter::Split<'a, T>",
        "core::iter::adapters::flatten::Flatten<T>",
        "core::mem::maybe_uninit::MaybeUninit<T>",
        "core::option::IterMut<'a, T>",
        "core::slice::iter::Chunks<'a, T>",
        "core::slice::iter::ChunksMut<'a, T>",
        "std::collections::hash::map::Entry<'a, T, U>",
        "alloc::collections::btree::map::Entry<'a, T, U>",
        "std::collections::hash::map::Drain<'a, T, U>",
        "alloc::collections::btree::map::Range<'a, T, U>",
        "core::task::poll::Poll<T>",
        "std::sync::once_lock::OnceLock<T>",
        "std::sync::mpsc::Sender<T>",
    ] {
        found.insert(more.to_owned());
    }
    let mut functions = Vec::new();
    for text in found {
        let ty = parsed(&mut symbols, &text);
        let TyData::Apply(app) = ty.data() else { continue };
        if !matches!(app.name, Name::Adt(_)) {
            continue;
        }
        for (index, arg) in app.args.iter().enumerate() {
            let shown = Printer::new(&symbols).arg(arg);
            let variance = world.variances.get(&symbols, app.name, index);
            let with = |own: &str| {
                let list = app.args.iter().enumerate().map(|(at, other)| match other {
                    _ if at == index => own.to_owned(),
                    GenericArg::Region(_) => "'static".to_owned(),
                    GenericArg::Ty(_) => "&'static u16".to_owned(),
                    GenericArg::Const(_) => "2".to_owned(),
                });
                let path = Printer::new(&symbols).ty(&ty);
                let path = path.split('<').next().unwrap_or_default();
                nameable_type(&format!("{path}<{}>", list.collect::<Vec<_>>().join(", ")))
            };
            let (long, short) = match (arg, shown.as_str()) {
                (GenericArg::Region(_), _) => (with("'static"), with("'b")),
                (GenericArg::Ty(_), "T" | "U") => (with("&'static u8"), with("&'b u8")),
                _ => continue,
            };
            let (from, to) = match variance {
                Variance::Covariant => (&long, &short),
                Variance::Contravariant => (&short, &long),
                Variance::Invariant => continue,
                Variance::Bivariant => panic!("nothing in the standard library is bivariant: {text}"),
            };
            functions.push(format!("fn v{}<'b>(x: *const {from}) -> *const {to} {{ x }}", functions.len()));
        }
    }
    functions.sort();
    functions.dedup();
    all_hold("variances", &functions);
}
