//! C programs that use the library through the generated header.
//!
//! The tests need a C compiler (`cc`, or `CC`) and a C++ compiler (`c++`, or `CXX`). Without one they report
//! that they are skipped, and fail if `CI=true`.

use std::mem::offset_of;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use typeloom::interface::{self, Interface, Recorded};
use typeloom::module::{Compiler, Graph, Module, OperatorMethods as _};
use typeloom::run::Cpu;
use typeloom::run::components::Exact;
use typeloom::types::Lattice;
use typeloom_ffi::layout;
use typeloom_ffi::status::Status;
use typeloom_interface::bundle::Exported;
use typeloom_report::c_header::{Program, c_header};
use typeloom_testing::number;

/// Loads, runs and frees of one program.
fn cycles() -> String {
    number(200, 10_000).to_string()
}

/// A compiler, or `None` with a message.
#[expect(clippy::print_stderr, reason = "reports that a test is skipped")]
pub(crate) fn compiler(variable: &str, default: &str) -> Option<String> {
    let program = std::env::var(variable).unwrap_or_else(|_| default.to_owned());
    if Command::new(&program).arg("--version").output().is_ok_and(|output| output.status.success()) {
        return Some(program);
    }
    assert_ne!(std::env::var("CI").as_deref(), Ok("true"), "there is no compiler `{program}`");
    eprintln!("skipped: there is no compiler `{program}`");
    None
}

/// An empty folder for the files of a test.
pub(crate) fn folder(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("ffi-{test}"));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("the folder for tests is writable");
    folder
}

pub(crate) fn write(folder: &Path, name: &str, content: impl AsRef<[u8]>) {
    std::fs::write(folder.join(name), content).expect("the folder for tests is writable");
}

/// Runs a command, which succeeds; returns its output.
pub(crate) fn run(command: &mut Command) -> String {
    let shown = format!("{command:?}");
    // Cargo's path has the folder of an earlier `cargo build` before that of the library under test.
    command.env_remove("LD_LIBRARY_PATH");
    let Output { status, stdout, stderr } = command.output().expect("the program starts");
    let (stdout, stderr) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    assert!(status.success(), "{shown}\n{status}\n{stdout}\n{stderr}");
    stdout.into_owned()
}

/// A compiler with the flags of the tests.
pub(crate) fn strict(compiler: &str, standard: &str) -> Command {
    let mut command = Command::new(compiler);
    command.args([standard, "-pedantic", "-Wall", "-Wextra", "-Werror"]);
    command
}

pub(crate) fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c").join(name)
}

/// The folder in which cargo puts the library.
pub(crate) fn libraries() -> PathBuf {
    let test = std::env::current_exe().expect("the test has a path");
    test.parent().expect("the test is in a folder").to_path_buf()
}

struct Scorer;

impl Module for Scorer {
    fn name(&self) -> &str {
        "scorer"
    }

    fn body(&self, g: &mut Graph) {
        let (query, weights) = (g.input("query").of("float[N, 4]"), g.input("weights").of("float[4, K]"));
        g.output("scores", &g.backend("compute").matmul(&query, &weights).relu());
    }
}

/// Returns inputs that are not tensors unchanged.
struct Values;

impl Module for Values {
    fn name(&self) -> &str {
        "values"
    }

    fn body(&self, g: &mut Graph) {
        let (scale, peers) = (g.input("scale").of("scalar.f32"), g.input("peers").of("peer_id_vec"));
        g.output("same scale", &scale);
        g.output("same peers", &peers);
        g.output("both", &g.bundle(&[("scale", &scale), ("peers", &peers)]));
    }
}

/// Needs a component that the C interface does not provide.
struct Indexed;

impl Module for Indexed {
    fn name(&self) -> &str {
        "indexed"
    }

    fn body(&self, g: &mut Graph) {
        let query = g.input("query").of("float[4]");
        let (_, distances) = g.index("store").search(&query, 1);
        g.output("distances", &distances);
    }
}

fn model(graph: &str) -> Vec<u8> {
    let text = format!(r#"<ir_version: 10, opset_import: ["" : 21]> {graph}"#);
    typeloom::onnx::model_from_text(&text).expect("the text is a model").to_vec()
}

fn artifact(compiler: &Compiler, module: impl Module + 'static) -> Vec<u8> {
    compiler.compile(module).expect("the module compiles").to_bytes().expect("its types can be encoded")
}

/// The header of an artifact.
fn header(file: &[u8]) -> String {
    let recorded = Recorded::read(file).expect("the interface is valid").expect("the file was compiled");
    let functions: Vec<_> = recorded.exports().map(|it| (it.label.as_str(), &it.interface)).collect();
    interface::c_header(&recorded.main.label, &functions).expect("the leaves have valid names")
}

/// A program with a private function and a public one, which has a slot of its own.
struct Function(&'static str, fn(&Graph));

impl Module for Function {
    fn name(&self) -> &str {
        self.0
    }

    fn body(&self, g: &mut Graph) {
        (self.1)(g);
    }
}

const HELPER: Function = Function("helper", |g| g.output("y", g.input("x").abs()));
const SCALE: Function = Function("re scale", |g| {
    let (x, factor) = (g.input("base.x").of("double[N]"), g.input("factor").of("double[1]"));
    g.output("scaled", &g.backend("scaling").mul(&x, &factor));
});
const LIBRARY: Function = Function("library", |g| {
    let x = g.input("x").of("int32[N, 2]");
    g.output("size", g.call(&HELPER, &[&x]).remove(0));
    g.export(&SCALE);
});

#[test]
fn a_header_lists_the_ports_of_every_public_function_and_c_programs_run_them() {
    let Some(cc) = compiler("CC", "cc") else { return };
    let folder = folder("functions");
    let library = artifact(&Compiler::new().bind_backend::<Cpu>("scaling"), LIBRARY);
    write(&folder, "library.h", header(&library));
    write(&folder, "library.onnx", library);
    let link = |mut command: Command, program: &Path| {
        command.arg("-I").arg(&folder).arg(source("functions.c")).args(["-x", "none", "-o"]).arg(program);
        command.arg("-L").arg(libraries()).arg("-ltypeloom_ffi");
        command.arg(format!("-Wl,-rpath,{}", libraries().display()));
        run(&mut command);
        run(Command::new(program).arg(&folder))
    };
    let expected = "\
library: the digest is equal
  input 0: x, int32[N, 2]
  output 0: size, int32[N, 2]
re scale: the digest is equal
  input 0: base.x, double[N]
  input 1: factor, double[1]
  output 0: scaled, double[N]
there is no function `helper`; the program exports re scale
there is no function `re scale`: the program has only its main function
6 10 -14
";
    assert_eq!(link(strict(&cc, "-std=c99"), &folder.join("as_c")), expected);
    let Some(cxx) = compiler("CXX", "c++") else { return };
    let mut command = strict(&cxx, "-std=c++11");
    command.args(["-x", "c++"]);
    assert_eq!(link(command, &folder.join("as_cpp")), expected);
}

/// Writes the programs of the tests and their headers.
fn programs(folder: &Path) {
    let scorer = artifact(&Compiler::new().bind_backend::<Cpu>("compute"), Scorer);
    let values = artifact(&Compiler::new(), Values);
    let indexed = artifact(&Compiler::new().bind_index::<Exact<Cpu, [f32]>>("store"), Indexed);
    write(folder, "scorer.h", header(&scorer));
    write(folder, "values.h", header(&values));
    write(folder, "scorer.onnx", scorer);
    write(folder, "values.onnx", values);
    write(folder, "indexed.onnx", indexed);
    write(folder, "plain.onnx", model("g (float[N] x, float k) => (y) <float k = {2.0}> { y = Mul(x, k) }"));
    write(folder, "ill_typed.onnx", model("g (float[N] x, int64[N] k) => (y) { y = Mul(x, k) }"));
}

#[test]
fn a_c_program_loads_runs_and_frees_programs() {
    let Some(cc) = compiler("CC", "cc") else { return };
    let folder = folder("dynamic");
    programs(&folder);
    let program = folder.join("program");
    let mut command = strict(&cc, "-std=c99");
    command.arg("-I").arg(&folder).arg(source("program.c")).arg("-o").arg(&program);
    command.arg("-L").arg(libraries()).arg("-ltypeloom_ffi");
    command.arg(format!("-Wl,-rpath,{}", libraries().display()));
    run(&mut command);
    assert_eq!(run(Command::new(&program).arg(&folder).arg(cycles())), "ok\n");
}

/// A linker can omit the registrations of type nodes, to which no other object refers, so the whole archive
/// is linked. That takes the linker of the system some seconds, so a short run links only the shared library.
#[cfg(target_os = "linux")]
#[test]
fn the_static_library_links() {
    if !typeloom_testing::is_all() {
        println!("skipped: TYPELOOM_TESTS is not `all`");
        return;
    }
    let Some(cc) = compiler("CC", "cc") else { return };
    let folder = folder("static");
    programs(&folder);
    let program = folder.join("program");
    let mut command = strict(&cc, "-std=c99");
    command.arg("-I").arg(&folder).arg(source("program.c")).arg("-o").arg(&program);
    command
        .arg("-Wl,--whole-archive")
        .arg(libraries().join("libtypeloom_ffi.a"))
        .arg("-Wl,--no-whole-archive");
    command.args(["-lpthread", "-ldl", "-lm", "-lrt", "-lutil"]);
    run(&mut command);
    assert_eq!(run(Command::new(&program).arg(&folder).arg("10")), "ok\n");
}

#[test]
fn structures_have_the_layout_of_the_c_compiler() {
    let Some(cc) = compiler("CC", "cc") else { return };
    let folder = folder("layout");
    programs(&folder);
    let program = folder.join("layout");
    run(strict(&cc, "-std=c99").arg("-I").arg(&folder).arg(source("layout.c")).arg("-o").arg(&program));
    let printed = run(&mut Command::new(&program));
    let expected = [
        ("typeloom_status", size_of::<Status>()),
        ("typeloom_tensor", size_of::<layout::Tensor>()),
        ("typeloom_tensor.data", offset_of!(layout::Tensor, data)),
        ("typeloom_tensor.length", offset_of!(layout::Tensor, length)),
        ("typeloom_tensor.dims", offset_of!(layout::Tensor, dims)),
        ("typeloom_tensor.rank", offset_of!(layout::Tensor, rank)),
        ("typeloom_tensor.dtype", offset_of!(layout::Tensor, dtype)),
        ("typeloom_bytes", size_of::<layout::Bytes>()),
        ("typeloom_bytes.length", offset_of!(layout::Bytes, length)),
        ("typeloom_list", size_of::<layout::List>()),
        ("typeloom_list.count", offset_of!(layout::List, count)),
        ("typeloom_value", size_of::<layout::Value>()),
        ("typeloom_value.value", offset_of!(layout::Value, value)),
        ("typeloom_field", size_of::<layout::Field>()),
        ("typeloom_field.value", offset_of!(layout::Field, value)),
        ("typeloom_fields", size_of::<layout::Fields>()),
        ("typeloom_fields.count", offset_of!(layout::Fields, count)),
        ("typeloom_limits", size_of::<layout::Limits>()),
        ("typeloom_limits.steps", offset_of!(layout::Limits, steps)),
        ("typeloom_limits.memory", offset_of!(layout::Limits, memory)),
        ("typeloom_port", size_of::<layout::Port>()),
        ("typeloom_port.type_text", offset_of!(layout::Port, type_text)),
        ("typeloom_port.wire_hash", offset_of!(layout::Port, wire_hash)),
        ("typeloom_port.dims", offset_of!(layout::Port, dims)),
        ("typeloom_port.rank", offset_of!(layout::Port, rank)),
        ("typeloom_port.dtype", offset_of!(layout::Port, dtype)),
        ("typeloom_port.has_default", offset_of!(layout::Port, has_default)),
    ];
    let expected: String = expected.iter().map(|(name, value)| format!("{name} {value}\n")).collect();
    assert_eq!(printed, expected);
}

/// Names that C does not accept, that are equal as identifiers, or that could end a comment.
const HOSTILE: &[&str] = &[
    "*/ #error a",
    "/*",
    "a.b",
    "a_b",
    "a_b_2",
    "A.B",
    "count",
    "int",
    "",
    "7",
    "\u{e9}",
    "\u{4e2d}",
    "??/",
    "\\",
    "a\nb",
    "\u{202e}",
    "\"",
    "%s",
    "__",
    "query\0x",
];

/// Headers of programs with such names, and of no program.
fn headers() -> Vec<(String, String)> {
    let text = "g (float[N, 3] x) => (y) { y = Relu(x) }";
    let interface = Interface::of(&model(text)).expect("the text is a model");
    let mut hostile = interface.clone();
    let port = |name: &&str| {
        let mut port = interface.inputs[0].clone();
        (*name).clone_into(&mut port.name);
        port
    };
    hostile.inputs = HOSTILE.iter().map(port).collect();
    hostile.outputs = HOSTILE.iter().map(port).collect();
    // The type of a structure with two equal fields cannot be encoded.
    let exported = Exported::new("g", interface).expect("the interface can be encoded");
    let mut headers =
        vec![("none".to_owned(), c_header(Lattice::get(), None).expect("the leaves have valid names"))];
    for (number, name) in HOSTILE.iter().enumerate() {
        let main = Exported { label: (*name).to_owned(), interface: hostile.clone(), ..exported.clone() };
        let functions = [main.clone(), main.clone(), main];
        let header = c_header(Lattice::get(), Some(Program { name, functions: &functions }))
            .expect("the leaves have valid names");
        headers.push((format!("hostile{number}"), header));
    }
    headers
}

#[test]
fn headers_compile_as_c_and_as_cpp() {
    let (Some(cc), Some(cxx)) = (compiler("CC", "cc"), compiler("CXX", "c++")) else { return };
    let folder = folder("headers");
    for (name, text) in headers() {
        write(&folder, &format!("{name}.h"), &text);
        // A second inclusion changes nothing, and the header of another program can be included.
        let includes = format!("#include \"{name}.h\"\n#include \"{name}.h\"\n#include \"none.h\"\n");
        write(&folder, &format!("{name}.c"), format!("{includes}int main(void) {{ return 0; }}\n"));
    }
    let files = std::fs::read_dir(&folder).expect("the folder exists");
    let sources: Vec<PathBuf> = files
        .map(|entry| entry.expect("the folder is readable").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "c"))
        .collect();
    assert_eq!(sources.len(), HOSTILE.len() + 1);
    run(strict(&cc, "-std=c99").arg("-fsyntax-only").args(&sources));
    run(strict(&cxx, "-std=c++11").args(["-fsyntax-only", "-x", "c++"]).args(&sources));
}

#[test]
fn no_two_constants_of_a_header_are_equal() {
    for (name, text) in headers() {
        let mut seen = std::collections::HashSet::new();
        for line in text.lines().filter_map(|line| line.strip_prefix("#define ")) {
            let constant = line.split(' ').next().unwrap_or_default();
            assert!(seen.insert(constant), "{name}: `{constant}` is defined twice");
        }
        assert!(seen.len() > 100, "{name}");
    }
}

/// The example of the manual.
#[test]
fn the_example_of_the_manual_runs() {
    let Some(cc) = compiler("CC", "cc") else { return };
    let folder = folder("manual");
    programs(&folder);
    let manual = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/c-abi.md");
    let manual = std::fs::read_to_string(manual).expect("the manual exists");
    let (_, example) = manual.split_once("```c\n").expect("the manual has an example");
    let (example, _) = example.split_once("```").expect("the example ends");
    write(&folder, "example.c", example);
    let program = folder.join("example");
    let mut command = strict(&cc, "-std=c99");
    command.arg("-I").arg(&folder).arg(folder.join("example.c")).arg("-o").arg(&program);
    command.arg("-L").arg(libraries()).arg("-ltypeloom_ffi");
    command.arg(format!("-Wl,-rpath,{}", libraries().display()));
    run(&mut command);
    assert_eq!(run(Command::new(&program).current_dir(&folder)), "score 4\nscore 6\n");
}
