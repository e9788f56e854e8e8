//! Linker arguments of an extension module; macOS resolves the symbols of the interpreter when it loads the module.

fn main() {
    pyo3_build_config::add_extension_module_link_args();
}
