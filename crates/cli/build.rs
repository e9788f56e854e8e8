//! Arguments for the linker. They make the start of a process faster.

use std::env::var;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| var(name).is_ok_and(|found| found == value);
    let is_static =
        var("CARGO_CFG_TARGET_FEATURE").is_ok_and(|all| all.split(',').any(|it| it == "crt-static"));
    if !is("CARGO_CFG_TARGET_OS", "linux") || !is("CARGO_CFG_TARGET_ENV", "gnu") || is_static {
        return;
    }
    // At a fixed address, the loader writes no pointers. In a program that can be at any address, it writes tens of thousands
    // of them into half a megabyte of tables, which takes longer than the check of a small model.
    println!("cargo:rustc-link-arg-bins=-no-pie");
    if var("TARGET").ok() == var("HOST").ok()
        && let Some(folder) = unwinder()
    {
        println!("cargo:rustc-link-search=native={}", folder.display());
        println!("cargo:rustc-link-lib=static:-bundle=gcc_eh");
    }
}

/// The folder of GCC's library for unwinding, if the compiler has it for static linking. The shared one is a file more to
/// load, and asks the processor for its features, which takes long in a virtual machine.
fn unwinder() -> Option<PathBuf> {
    const NAME: &str = "libgcc_eh.a";
    println!("cargo:rerun-if-env-changed=RUSTC_LINKER");
    let compiler = var("RUSTC_LINKER").unwrap_or_else(|_| "cc".to_owned());
    let answer = Command::new(compiler).arg(format!("-print-file-name={NAME}")).output().ok()?;
    let answer = String::from_utf8(answer.stdout).ok()?;
    // A compiler without the file answers with its name.
    let folder = Path::new(answer.trim()).canonicalize().ok()?.parent()?.to_owned();
    folder.join(NAME).is_file().then_some(folder)
}
