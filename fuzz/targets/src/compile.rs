//! Compiler passes on a model, and the artifact as a file.

use typeloom_compiler::artifact::Artifact;
use typeloom_compiler::compiler::Compiler;
use typeloom_compiler::unit::Coercion;
use typeloom_module::bindings::Bindings;

/// Compiles the bytes permissively and strictly, and loads the resulting artifacts.
///
/// # Panics
/// If a strictly compiled artifact does not load.
pub fn compile(bytes: &[u8]) {
    let compiler = Compiler::new().with_coercion(Coercion::AsDeclared);
    if let Ok(artifact) = compiler.clone().with_permissive_types().compile(bytes)
        && let Ok(file) = artifact.to_bytes()
    {
        let _ = Artifact::load(&file, &Bindings::new());
    }
    if let Ok(artifact) = compiler.compile(bytes)
        && let Ok(file) = artifact.to_bytes()
        && let Err(error) = Artifact::load(&file, &Bindings::new())
    {
        panic!("the compiled program does not load: {error}");
    }
    let _ = Artifact::load(bytes, &Bindings::new());
}
