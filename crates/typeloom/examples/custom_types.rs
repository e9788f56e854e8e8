//! A leaf of the type tree, an operator that returns it, and an operator with a rule on symbolic dims.
//!
//! `cargo run --example custom_types`

use typeloom::check::{Described, Operators, Options, check_with};
use typeloom::onnx::model_from_text;
use typeloom::types::builtins::TYPE_TENSOR_F32;
use typeloom::types::operators::{
    AtomicOpDecl, AtomicOpKind, AtomicOpsetDecl, PortDecl, PortRef, TypeRelation,
};
use typeloom::types::{TypeKind, TypeNode, register_type_node};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

static POSIT: TypeNode = TypeNode {
    id: "tensor.posit",
    parent: Some("tensor"),
    kind: TypeKind::Concrete,
    ffi_name: "",
    wire_hash: 0,
    denotation: "org.example.tensor.posit",
};
register_type_node!(POSIT);

static POSITS: AtomicOpsetDecl = AtomicOpsetDecl {
    domain: "org.example.posits",
    version: 1,
    ops: &[AtomicOpDecl {
        name: "Round",
        inputs: &[PortDecl::required("x", &TYPE_TENSOR_F32)],
        outputs: &[PortDecl::required("rounded", &POSIT)],
        kind: AtomicOpKind::Pure,
        type_relations: &[TypeRelation::BroadcastShape {
            in0: PortRef::Input(0),
            in1: PortRef::Input(0),
            out: PortRef::Output(0),
        }],
    }],
};

const FOLD: &str = "typeloom-operators 1
domain org.example 1
op Fold 1
  type T tensor(float)
  in data T
  out folded T
  attr width int required
";

#[expect(clippy::print_stdout, reason = "an example prints")]
pub(crate) fn main() -> Outcome<()> {
    println!("{}", walk()?.join("\n"));
    Ok(())
}

/// The printed lines.
pub(crate) fn walk() -> Outcome<Vec<String>> {
    let fold = Described::parse(FOLD)?.with_rule("org.example", "Fold", |cx| {
        let (Some(data), Some(width)) = (cx.shape(0), cx.int("width")?) else { return Ok(()) };
        let [batch, length] = data[..] else { return Err(cx.error("`Fold` needs two axes")) };
        let width = cx.fixed(width);
        let count = cx.floor_div(length, width);
        cx.set_shape(0, &[batch, count, width])
    })?;
    let operators = Operators::standard().with(fold).with_opset(&POSITS);
    let model = model_from_text(
        r#"<ir_version: 10, opset_import: ["" : 21, "org.example" : 1, "org.example.posits" : 1]>
        g (float[N, 4*S] x) => (y) {
            folded = org.example.Fold <width = 4> (x)
            y = org.example.posits.Round(folded)
        }"#,
    )?;
    let mut checked = check_with(&model, &Options::default(), &operators)?;
    let mut lines: Vec<String> = checked.values().iter().map(ToString::to_string).collect();
    lines.extend(checked.diagnostics().iter().map(ToString::to_string));
    let leaf = checked.value("y").and_then(|value| value.ty().leaf());
    lines.push(format!("the leaf of y is registered: {}", leaf == Some(&POSIT)));
    Ok(lines)
}
