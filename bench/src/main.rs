//! `cargo run --release -- NAME [ARGUMENTS]` runs a benchmark; without a name, it lists the benchmarks.
//!
//! A benchmark is a member of this workspace or a script in Python. Cargo builds and starts the member alone,
//! so that its features are its own. Packages of Python are installed in `.venv`, at the versions in
//! `requirements.txt`, unless `TYPELOOM_PYTHON` names an interpreter that has them. A script that measures
//! the command finds it in `TYPELOOM_COMMAND`; unless that is set, the command is built.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail, ensure};

#[derive(Clone, Copy)]
enum Program {
    /// The member with the name of the benchmark, built with a profile. Without the packages, some of its
    /// columns are empty.
    Member(&'static str),
    /// A script.
    Script(&'static str),
    /// A script that measures the command.
    OfCommand(&'static str),
}

use Program::{Member, OfCommand, Script};

/// Name, program, packages of Python, description, other needs.
type Benchmark = (&'static str, Program, &'static [&'static str], &'static str, &'static str);

/// The package of this repository.
const TYPELOOM: &str = "typeloom";

#[rustfmt::skip]
static BENCHMARKS: &[Benchmark] = &[
    ("checking", Member("release"), &["onnx"],
        "checks of models, next to the ONNX reference and a Rust peer", "15 minutes, 10 GB of memory, 5 GB of disk space"),
    ("compiler", Member("lto"), &[],
        "recording and compiling modules", "2 minutes, 2 GB of memory"),
    ("dispatch", Member("release"), &[],
        "the cost of dispatch in chains of operators", "2 minutes"),
    ("fleet", Script("python/fleet.py"), &[TYPELOOM, "pytest"],
        "`typeloom.fleet`: models per second, bytes fetched", "10 minutes, 3 GB of memory, a folder of models"),
    ("folder", OfCommand("cli/folder.py"), &["onnx"],
        "`typeloom check` on a folder of 100,000 models", "5 minutes, 500 MB of disk space"),
    ("guards", Member("guards"), &[],
        "counts of instructions, next to recorded ones", "5 minutes, valgrind"),
    ("infer_shapes", Script("python/infer_shapes.py"), &[TYPELOOM, "onnx"],
        "`infer_shapes` of the Python package, next to the reference", "1 minute, 1 GB of memory"),
    ("operators", Script("operators/compare.py"), &["numpy", "onnx", "onnxruntime"],
        "single operators and real models, next to ONNX Runtime", "20 minutes, 4 GB of memory"),
    ("package", Script("python/package.py"), &[TYPELOOM],
        "`typeloom.check` of the Python package, next to the command", "5 minutes, 2 GB of memory"),
    ("pool", Member("lto"), &[],
        "interned types, next to the published design", "2 minutes, 1 GB of memory"),
    ("runtime", Member("release"), &["onnxruntime"],
        "runs of models, next to other engines", "10 minutes after a build of 10, 4 GB of memory"),
    ("start", OfCommand("cli/start.py"), &["onnx"],
        "a process of `typeloom check` for one file", "1 minute"),
    ("term", Member("lto"), &[],
        "terms, next to chalk-ir and polytype", "1 minute"),
    ("threads", Script("operators/threads.py"), &["numpy", "onnx", "onnxruntime"],
        "the gain of a second thread, next to that of ONNX Runtime", "5 minutes"),
    ("view", OfCommand("view/compare.py"), &["netron", "onnx", "playwright", "psutil"],
        "pages of `typeloom view`, next to Netron", "10 minutes, 8 GB of memory, Chromium"),
];

fn main() -> Result<ExitCode> {
    let mut arguments = env::args_os().skip(1);
    let Some(name) = arguments.next() else {
        list();
        return Ok(ExitCode::SUCCESS);
    };
    let Some(benchmark) = BENCHMARKS.iter().find(|(own, ..)| name == *own) else {
        list();
        bail!("there is no benchmark `{}`", name.display());
    };
    let mut command = prepared(benchmark)?;
    let status = command.args(arguments).status().with_context(|| format!("cannot run {command:?}"))?;
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from))
}

fn list() {
    println!("cargo run --release -- NAME [ARGUMENTS]\n");
    for (name, _, packages, about, needs) in BENCHMARKS {
        let python = if packages.is_empty() { "" } else { ", Python with " };
        println!("{name:<13} {about} ({needs}{python}{})", packages.join(", "));
    }
}

/// The command that runs a benchmark, after its preparation.
fn prepared((name, program, packages, ..): &Benchmark) -> Result<Command> {
    let mut command = match program {
        Member(profile) => {
            let mut command = cargo("run", "Cargo.toml");
            command.args(["--profile", profile, "--package", &format!("typeloom-bench-{name}"), "--"]);
            if !packages.is_empty() {
                match python(packages) {
                    Ok(python) => drop(command.env("TYPELOOM_PYTHON", python)),
                    Err(problem) => eprintln!("without Python: {problem:#}"),
                }
            }
            command
        }
        Script(path) | OfCommand(path) => {
            let mut command = Command::new(python(packages)?);
            command.arg(here().join(path));
            command
        }
    };
    if let OfCommand(_) = program
        && env::var_os("TYPELOOM_COMMAND").is_none()
    {
        run(cargo("build", "../Cargo.toml").args(["--release", "--package", "typeloom-cli"]))?;
        let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| here().join("../target"), PathBuf::from);
        command.env("TYPELOOM_COMMAND", target.join("release/typeloom"));
    }
    Ok(command)
}

/// An interpreter that has the packages.
fn python(packages: &[&str]) -> Result<OsString> {
    if let Some(own) = env::var_os("TYPELOOM_PYTHON") {
        return Ok(own);
    }
    let environment = here().join(".venv");
    let python = environment.join("bin/python");
    if !python.exists() {
        run(Command::new("python3").args(["-m", "venv"]).arg(&environment))?;
    }
    let mut install = Command::new(&python);
    // The package as releases have it.
    install.env("MATURIN_PEP517_ARGS", "--profile dist");
    install.args(["-m", "pip", "install", "--quiet", "--constraint"]).arg(here().join("requirements.txt"));
    for package in packages {
        if *package == TYPELOOM {
            install.arg(here().join(".."))
        } else {
            install.arg(package)
        };
    }
    run(&mut install)?;
    Ok(python.into())
}

fn cargo(verb: &str, manifest: &str) -> Command {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args([verb, "--manifest-path"]).arg(here().join(manifest));
    cargo
}

fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot run {command:?}"))?;
    ensure!(status.success(), "{command:?} failed");
    Ok(())
}

fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}
