//! Compares the facts about the standard library with the answers of rustc, if it is installed.
//!
//! - Every impl and every associated type of the table, as a generic function with exactly its conditions.
//! - Aliases, default arguments, supertraits, and every variance that is not invariant.
//! - The proofs, for many pairs of a type and a trait: every proven predicate is true, and most true
//!   predicates are proven.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use typeloom_term::parse::{Scope, parse_ty};
use typeloom_term::print::Printer;
use typeloom_term::{Arity, Boxed, GenericArg, InferenceTable, Name, Symbols, TyData, Variance};

use super::{PARAMETERS, TABLE, conditions, declaration, is_path, std_facts};
use crate::item::Type;
use crate::predicate;
use crate::prove::Prover;
use crate::prove::world::World;

/// Replaces every word of a text, paths included.
fn replace_words(text: &str, replacement: impl Fn(&str) -> Option<String>) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(|c| is_path(c) || c == '\'') {
        let (before, tail) = rest.split_at(start);
        let len = tail[1..].find(|c| !is_path(c)).map_or(tail.len(), |len| len + 1);
        let (word, after) = tail.split_at(len);
        out.push_str(before);
        out.push_str(&replacement(word).unwrap_or_else(|| word.to_owned()));
        rest = after;
    }
    out + rest
}

/// Public paths by the path of the definition.
static PUBLIC_PATHS: LazyLock<HashMap<&'static str, &'static str>> = LazyLock::new(|| {
    let definitions = std_facts().definitions.iter();
    definitions.filter(|(public, _)| public.contains("::")).map(|(public, path)| (*path, *public)).collect()
});

/// A text in which every path is a public one.
fn nameable(text: &str) -> String {
    replace_words(text, |word| PUBLIC_PATHS.get(word).map(|path| (*path).to_owned()))
}

/// The types of the table by public path: parameters without variance signs, and clauses.
static DECLARED_TYPES: LazyLock<BTreeMap<&'static str, (Vec<&'static str>, &'static str)>> =
    LazyLock::new(|| {
        let lines = TABLE.lines().filter_map(|line| line.strip_prefix("type "));
        let types = lines.filter_map(|line| line.split_once(' ')).map(|(_, rest)| declaration(rest));
        types
            .map(|(path, params, clauses)| {
                let params = super::split(params, ", ").map(|param| {
                    let name = param.split(" = ").next().unwrap_or(param).trim_start_matches("const ");
                    name.trim_start_matches(['+', '-', '=', '?'])
                });
                (path, (params.collect(), clauses.strip_prefix(" where ").unwrap_or_default()))
            })
            .collect()
    });

/// The conditions under which a type of the table is well formed.
fn well_formed(this: &'static str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, _) in
        this.match_indices("std::").chain(this.match_indices("alloc::")).chain(this.match_indices("core::"))
    {
        let (path, args, _) = declaration(&this[at..]);
        let Some((params, clauses)) = DECLARED_TYPES.get(path) else { continue };
        let args: Vec<&str> = super::split(args, ", ").collect();
        let bound = |word: &str| {
            let at = params.iter().position(|param| *param == word)?;
            args.get(at).map(|arg| arg.replace("'_", "'a"))
        };
        found.extend(conditions(clauses).map(|(a, b)| replace_words(&format!("{a}: {b}"), bound)));
    }
    found
}

/// A temporary folder, removed on drop.
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
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn rustc(folder: &Path, source: &str, options: &[&str]) -> Option<std::process::Output> {
    let file = folder.join("probe.rs");
    std::fs::write(&file, source).expect("the folder exists");
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

/// The features that the table needs, and the traits that it names by their last part.
fn head() -> String {
    let mut head =
        "#![feature(allocator_api, fn_traits, never_type, nonzero_internals, pattern, slice_index_methods, step_trait, \
                    tuple_trait, unboxed_closures)]\nextern crate alloc;\n"
            .to_owned();
    for (short, path) in std_facts().definitions.iter().filter(|(short, _)| !short.contains("::")) {
        head.push_str(&format!("use {} as {short};\n", PUBLIC_PATHS[path]));
    }
    head
}

/// Compiles functions, each of which states one fact. All of them must compile.
fn all_hold(name: &str, functions: &[String]) {
    assert!(!functions.is_empty());
    let folder = Folder::new(name);
    let source = format!("{}{}\n", head(), functions.join("\n"));
    let Some(output) = rustc(&folder.0, &source, &["--crate-type", "lib", "--emit", "metadata"]) else {
        return;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

const GENERICS: &str =
    "'a, 'b, 'c, T: 'a + 'b, U: 'a + 'b, V: 'a + 'b, W: 'a + 'b, X: 'a + 'b, const N: usize, const M: usize";

/// The conditions of a line, with the conditions under which its type is well formed.
fn clause(of: &str, this: &'static str, own: &'static str) -> String {
    let mut list: Vec<String> = conditions(own).map(|(this, bound)| format!("{this}: {bound}")).collect();
    list.extend(well_formed(this));
    if this.contains("'static") {
        list.push("T: 'static".to_owned());
    }
    if of.starts_with("Fn") {
        list.push("U: std::marker::Tuple".to_owned());
    }
    list.join(", ").replace(": _", &format!(": {of}")).replace("'_", "'a")
}

#[test]
fn every_impl_of_the_table_holds() {
    let mut functions = Vec::new();
    for line in &std_facts().impls {
        for (text, path) in &line.traits {
            let clause = clause(text, line.this, line.conditions);
            let of = text.replace("'_", "'a");
            let of = if *text == of && std_facts().of_trait(path).self_by_default && !of.ends_with('>') {
                format!("{of}<{}>", line.this.replace("'_", "'a"))
            } else {
                of
            };
            let tuple = if text.starts_with("Fn") { "where U: std::marker::Tuple" } else { "" };
            let index = functions.len();
            functions.push(format!(
                "fn i{index}<{GENERICS}>() where {clause} {{ fn is<{GENERICS}, Y: ?Sized + {of}>() {tuple} {{}} \
                 is::<T, U, V, W, X, N, M, {}>() }}",
                line.this
            ));
        }
    }
    all_hold("impls", &functions);
}

#[test]
fn every_associated_type_of_the_table_has_the_value_that_the_table_states() {
    let mut functions = Vec::new();
    for (index, line) in std_facts().values.iter().enumerate() {
        let (of, item) = line.item.rsplit_once("::").expect("an item is in a trait");
        let of = nameable(of);
        let args = line.arg.map_or_else(String::new, |arg| format!("<{arg}>"));
        let last = of.rsplit("::").next().unwrap_or_default();
        let clause = clause(last, line.this, line.conditions);
        functions.push(format!(
            "fn p{index}<{GENERICS}>(x: *const <{} as {of}{args}>::{item}) -> *const {} where {clause} {{ x }}",
            line.this, line.value
        ));
    }
    all_hold("values", &functions);
}

#[test]
fn aliases_defaults_and_supertraits_hold() {
    let mut functions = Vec::new();
    for line in TABLE.lines() {
        let index = functions.len();
        let Some((kind, rest)) = line.split_once(' ') else { continue };
        let Some((_, text)) = rest.split_once(' ') else { continue };
        let (path, params, rest) = declaration(text);
        let generics = if params.is_empty() { String::new() } else { format!("<{params}>") };
        match kind {
            "alias" => {
                let target = rest.trim_start_matches(" = ");
                functions.push(format!(
                    "fn s{index}{generics}(x: *const {path}{generics}) -> *const {target} {{ x }}"
                ));
            }
            "type" if params.contains(" = ") && !params.contains('\'') => {
                let (before, default) = params.rsplit_once(" = ").expect("just found");
                let default = default.split(", Global").next().unwrap_or(default);
                let names: Vec<&str> =
                    before.split(", ").map(|name| name.trim_start_matches(['+', '-', '=', '?'])).collect();
                let written = names[..names.len() - 1].join(", ");
                functions.push(format!(
                    "fn d{index}<{written}>(x: *const {path}<{written}>) -> *const {path}<{written}, {default}> {{ x }}"
                ));
            }
            "trait" => {
                let above = rest.trim_start_matches(": ");
                let args = if params.is_empty() { "" } else { "<T>" };
                if !above.is_empty() {
                    let tuple = if path.contains("Fn") { "T: std::marker::Tuple" } else { "T" };
                    functions.push(format!(
                        "fn a{index}<{tuple}, Y: ?Sized + {above}>() {{}} \
                         fn b{index}<{tuple}, Y: {path}{args}>() {{ a{index}::<T, Y>() }}"
                    ));
                }
                if params.ends_with(" = Self") {
                    functions.push(format!(
                        "fn e{index}<X: {path}<X>>() {{}} fn f{index}<X: {path}>() {{ e{index}::<X>() }}"
                    ));
                }
            }
            _ => {}
        }
    }
    all_hold("names", &functions);
}

#[test]
fn every_type_of_the_table_can_be_parsed() {
    let mut symbols = Symbols::new();
    for line in &std_facts().impls {
        parsed(&mut symbols, line.this);
        for (text, _) in &line.traits {
            parsed(&mut symbols, text);
        }
        for (this, bound) in conditions(line.conditions) {
            parsed(&mut symbols, this);
            if bound != "_" {
                parsed(&mut symbols, bound);
            }
        }
    }
    for line in &std_facts().values {
        parsed(&mut symbols, line.this);
        parsed(&mut symbols, line.value);
    }
}

/// A world with only the standard library.
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
    let scope = Scope::new().types(["T", "U", "V", "W", "X"]).consts(["N", "M"]);
    let text = std_facts().with_definitions(text);
    parse_ty(&Boxed::new(), symbols, &scope, &text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Arguments for the parameters of types in the table.
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

/// The types of the table with concrete arguments, and some more.
fn types() -> BTreeSet<String> {
    let mut types: BTreeSet<String> = TYPES.iter().map(|&text| text.to_owned()).collect();
    let table: BTreeSet<&'static str> = std_facts().impls.iter().map(|line| line.this).collect();
    // A type with bounds, such as `Peekable`, exists for few of the arguments.
    let is_bounded = |this| well_formed(this).iter().any(|clause| !clause.contains(": '"));
    for (index, this) in table.into_iter().filter(|this| !is_bounded(this)).enumerate() {
        let (t, u) = ARGUMENTS[index % ARGUMENTS.len()];
        types.insert(std_facts().with_definitions(&replace_words(this, |word| {
            Some(match word {
                "T" | "V" | "X" => t.to_owned(),
                "U" | "W" => u.to_owned(),
                "N" | "M" => "2".to_owned(),
                word if word.starts_with('\'') => "'static".to_owned(),
                _ => return None,
            })
        })));
    }
    types
}

#[test]
fn proofs_about_types_of_the_standard_library_hold() {
    let mut symbols = Symbols::new();
    let mut goals = Vec::new();
    for of in TRAITS {
        let of = parsed(&mut symbols, of);
        for this in types() {
            goals.push((of.clone(), parsed(&mut symbols, &this)));
        }
    }
    // The world contains the facts of the table about the names in the questions.
    let world = world(&mut symbols);
    let mut proven = Vec::new();
    let mut source =
        format!("{}use std::marker::PhantomData;\nstruct Of<T: ?Sized>(PhantomData<T>);\n", head());
    let (mut names, mut questions, mut main) = (Vec::<Type>::new(), Vec::new(), String::new());
    for (of, this) in goals {
        let TyData::Apply(applied) = of.data() else { panic!("a trait is parsed as an application") };
        let Name::Adt(symbol) = applied.name else { panic!("a trait is parsed as a definition") };
        let args: Vec<GenericArg<Boxed>> =
            std::iter::once(this.clone().into()).chain(applied.args.iter().cloned()).collect();
        let goal = predicate::implements(&Boxed::new(), Arity::NONE, symbol, &args).expect("small");
        let prover = Prover::new(&world, &mut symbols, &[], &[]).expect("there are no facts");
        proven.push(prover.holds(&mut InferenceTable::new(Boxed::new()), &goal));
        let print = |ty: &Type| nameable(&Printer::new(&symbols).ty(ty));
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
        questions.push(format!("{}: {}", print(&this), print(&of)));
    }
    source.push_str(&format!("fn main() {{ for is in [{main}] {{ print!(\"{{}}\", u8::from(is)); }} }}\n"));
    let folder = Folder::new("proofs");
    let Some(output) = rustc(&folder.0, &source, &["--crate-name", "probe"]) else { return };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let run = Command::new(folder.0.join("probe")).output().expect("rustc wrote it");
    let answers = String::from_utf8(run.stdout).expect("digits");
    assert_eq!(answers.len(), questions.len());
    let answers: Vec<bool> = answers.chars().map(|digit| digit == '1').collect();
    let wrong = |is_proven: bool| -> Vec<&String> {
        let all = questions.iter().zip(proven.iter().zip(&answers));
        all.filter(|(_, (own, answer))| **own == is_proven && **answer != is_proven)
            .map(|(text, _)| text)
            .collect()
    };
    let (untrue, unproven) = (wrong(true), wrong(false));
    println!(
        "{} questions, {} true, {} of them not proven",
        questions.len(),
        answers.iter().filter(|is| **is).count(),
        unproven.len()
    );
    for one in &unproven {
        println!("  not proven: {one}");
    }
    assert!(untrue.is_empty(), "proven, but not true:\n{untrue:#?}");
    // A comparison reports a change where a proof is missing.
    let hold = answers.iter().filter(|is| **is).count();
    assert!(unproven.len() * 8 < hold, "{} of {hold} are true and not proven", unproven.len());
}

#[test]
fn variances_of_the_standard_library_hold() {
    let mut functions = Vec::new();
    let definitions: HashMap<_, _> = PUBLIC_PATHS.iter().map(|(path, public)| (*public, *path)).collect();
    for (path, (params, clauses)) in &*DECLARED_TYPES {
        // Other bounds would have to hold for references with any lifetime.
        if conditions(clauses).any(|(_, bound)| !bound.starts_with('\'')) {
            continue;
        }
        for (index, param) in params
            .iter()
            .enumerate()
            .filter(|(_, param)| PARAMETERS[..5].contains(*param) || param.starts_with('\''))
        {
            let with = |own: &str| {
                let args = params.iter().enumerate().map(|(at, other)| match *other {
                    _ if at == index && param.starts_with('\'') => own.to_owned(),
                    _ if at == index => format!("&{own} u8"),
                    "Global" => "alloc::alloc::Global".to_owned(),
                    "N" | "M" => "2".to_owned(),
                    region if region.starts_with('\'') => "'static".to_owned(),
                    _ => "&'static u16".to_owned(),
                });
                format!("{path}<{}>", args.collect::<Vec<_>>().join(", "))
            };
            let (from, to) = match std_facts().variance(definitions[path], index) {
                Variance::Covariant => (with("'static"), with("'b")),
                Variance::Contravariant => (with("'b"), with("'static")),
                Variance::Invariant => continue,
                Variance::Bivariant => panic!("no type of the standard library is bivariant: {path}"),
            };
            functions.push(format!("fn v{}<'b>(x: *const {from}) -> *const {to} {{ x }}", functions.len()));
        }
    }
    all_hold("variances", &functions);
}
