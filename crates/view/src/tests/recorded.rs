//! The invariants on all recorded models.

use typeloom_testing::number;

use crate::drawing::Drawing;
use crate::plan::{Options, Plan};
use crate::scene::{Maker, Scene};
use crate::testing::{
    dot_problem, drawing_problems, mermaid_problem, models, scene_of_bytes, scene_problems, svg_problem,
};
use crate::{dot, mermaid, svg};

/// The violated invariants of the pictures of a scene.
fn picture_problems(scene: &Scene, options: &Options) -> Vec<String> {
    let plan = Plan::of(scene, options);
    let mut found = drawing_problems(&plan, &Drawing::of(scene, &plan));
    found.extend(svg_problem(&svg::render(scene, "model", options)));
    found.extend(dot_problem(&dot::render(scene, "model", options)));
    found.extend(mermaid_problem(&mermaid::render(scene, "model", options)));
    found
}

#[test]
fn every_model_has_a_valid_scene_and_valid_pictures() {
    let (mut drawn, mut wrong) = (0, Vec::new());
    for path in models().into_iter().step_by(number(8, 1)) {
        let bytes = std::fs::read(&path).expect("the model can be read");
        let Some(scene) = scene_of_bytes(&bytes) else { continue };
        drawn += 1;
        let mut found = scene_problems(&scene);
        for options in [Options::default(), Options::to_depth(1)] {
            found.extend(picture_problems(&scene, &options));
        }
        wrong.extend(found.into_iter().map(|problem| format!("{}: {problem}", path.display())));
    }
    assert!(drawn >= number(2, 15), "only {drawn} models");
    println!("{drawn} models");
    assert_eq!(wrong, [""; 0]);
}

#[test]
fn every_node_of_a_model_is_a_node_or_a_stored_value() {
    for path in models().iter().filter(|path| path.components().any(|part| part.as_os_str() == "models")) {
        let bytes = std::fs::read(path).expect("the model can be read");
        let Ok(view) = typeloom_onnx::view::ModelView::new(&bytes) else { continue };
        let (Some(graph), Some(scene)) = (view.graph(), scene_of_bytes(&bytes)) else { continue };
        let main = scene.group(scene.main());
        let stored = scene.values.iter().filter(|it| it.maker == Maker::Stored && it.graph == scene.main());
        let initializers = graph.initializers().count() + graph.sparse_initializers().count();
        let constants = stored.count().saturating_sub(initializers);
        let nodes = graph.nodes().count();
        assert!(
            main.nodes.len() <= nodes && nodes <= main.nodes.len() + constants + initializers,
            "{}",
            path.display()
        );
    }
}
