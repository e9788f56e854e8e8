//! The pictures of small models, compared with the recorded ones in `golden`. `TYPELOOM_BLESS=1` records
//! them.

use std::path::Path;

use typeloom_solver::model::Options;
use typeloom_view::plan::Options as Plan;
use typeloom_view::scene::Scene;
use typeloom_view::{dot, mermaid, scene, svg};

const MODELS: [(&str, &str); 3] = [
    (
        "error",
        "g (float[N, 8] query, float[8, 8] weights, int64[8] mask) => (y) {
           scores = MatMul(query, weights)  y = Add(scores, mask)
         }",
    ),
    (
        "branch",
        "g (bool c, float[N] x) => (y) <float[1] s = {2}> {
           h = Mul(x, s)
           y = If (c) <then_branch = t () => (a) { a = Neg(h) }, else_branch = e () => (b) { b = Abs(h) }>
         }",
    ),
    (
        "groups",
        "g (float[N, 4] x, float[4, 4] w) => (y) {
           [\"/block/up/MatMul\"] a = MatMul(x, w)
           [\"/block/up/Relu\"] b = Relu(a)
           [\"/block/down/MatMul\"] c = MatMul(b, w)
           [\"/block/down/Relu\"] d = Relu(c)
           [\"/head/Softmax\"] y = Softmax <axis = -1> (d)
         }",
    ),
];

/// Another version of the last model: a removed, an added and a changed node, another input and another type.
const NEW: &str = "g (float[N, 4] x, float[4, 6] w, float[6] b) => (y) {
   [\"/block/up/MatMul\"] a = MatMul(x, w)
   [\"/block/down/Add\"] c = Add(a, b)
   [\"/block/down/Gelu\"] d = Gelu(c)
   [\"/head/Softmax\"] y = Softmax <axis = 1> (d)
 }";

fn scene_of(text: &str) -> Scene {
    let text = format!("<ir_version: 10, opset_import: [\"\" : 21]>\n{text}");
    let bytes = typeloom_onnx::text::model_bytes(&text).expect("the text is a model");
    let options = Options { functions: true, ..Options::default() };
    let mut checked = typeloom_ops::check::check(&bytes, &options).expect("the model can be checked");
    let diagnostics = checked.diagnostics();
    scene::scene(&mut checked, &diagnostics)
}

fn pictures(scene: &Scene) -> [(&'static str, String); 3] {
    let plan = Plan::default();
    [
        ("svg", svg::render(scene, "model", &plan)),
        ("dot", dot::render(scene, "model", &plan)),
        ("mmd", mermaid::render(scene, "model", &plan)),
    ]
}

#[test]
fn pictures_are_the_recorded_ones() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let bless = std::env::var_os("TYPELOOM_BLESS").is_some();
    let mut differing = Vec::new();
    let mut scenes: Vec<(&str, Scene)> = MODELS.map(|(name, text)| (name, scene_of(text))).into();
    let (both, _) = scene::compare(&scenes[2].1, &scene_of(NEW));
    scenes.push(("changes", both));
    for (name, scene) in &scenes {
        for (extension, picture) in pictures(scene) {
            let file = folder.join(format!("{name}.{extension}"));
            if bless {
                std::fs::write(&file, &picture).expect("the picture is written");
            }
            if std::fs::read_to_string(&file).unwrap_or_default() != picture {
                differing.push(file.display().to_string());
            }
        }
    }
    assert!(differing.is_empty(), "differing, TYPELOOM_BLESS=1 records them: {differing:#?}");
}
