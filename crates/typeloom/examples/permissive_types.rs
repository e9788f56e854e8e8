//! Open types in strict and permissive mode: `cargo run --example permissive_types`.

use std::error::Error;

use typeloom::module::{Compiler, Graph, Module, OperatorMethods};

/// The type of `x` is not determined, and no component is bound to `compute`.
struct Open;

impl Module for Open {
    fn name(&self) -> &str {
        "open"
    }

    fn body(&self, g: &mut Graph) {
        let (x, y) = (g.input("x"), g.input("y").of("float[4]"));
        let compute = g.backend("compute");
        g.output("a", &compute.neg(&x));
        g.output("b", &y.relu());
    }
}

pub(crate) fn walk() -> Result<Vec<String>, Box<dyn Error>> {
    let refused = Compiler::new().compile(Open).err().ok_or("an open module compiled strictly")?;
    let artifact = Compiler::new().with_permissive_types().compile(Open)?;
    let text = refused.to_string();
    let mut lines = vec![format!("strict: {}", text.split(" (at").next().unwrap_or_default())];
    for value in ["x", "a", "y", "b"] {
        lines.push(format!("permissive: {value} is {}", artifact.type_of(value).unwrap_or("open")));
    }
    Ok(lines)
}

#[expect(clippy::print_stdout, reason = "an example prints its results")]
pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    for line in walk()? {
        println!("{line}");
    }
    Ok(())
}
