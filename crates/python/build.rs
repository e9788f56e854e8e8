//! Linker arguments of an extension module.
//!
//! macOS resolves the symbols of the interpreter when it loads the module. On Linux on x86-64, the linker of
//! the toolchain (`rust-lld`) folds identical functions.

fn main() {
    pyo3_build_config::add_extension_module_link_args();
    let target = |key: &str| std::env::var(key).unwrap_or_default();
    if target("CARGO_CFG_TARGET_OS") == "linux" && target("CARGO_CFG_TARGET_ARCH") == "x86_64" {
        println!("cargo::rustc-link-arg-cdylib=-Wl,--icf=all");
    }
}
