//! Graphs for people: scenes, pages, pictures, changes between two models.

use std::hint::black_box;

use typeloom_bench_families::models;
use typeloom_ops::check::check;
use typeloom_solver::model::Options;
use typeloom_view::engine::Engine;
use typeloom_view::page::{self, Delivery};
use typeloom_view::scene::{self, Scene};
use typeloom_view::{dot, plan, svg, wire};

use super::{Family, Work, linear, model};

pub(super) const FAMILIES: &[Family] = &[
    linear("view/scene", "layers", 2, |size| {
        let bytes = model(models::TRANSFORMER, size);
        Box::new(move || drop(black_box(scene(&bytes))))
    }),
    linear("view/page", "layers", 2, |size| {
        let scene = layers(size);
        Box::new(move || drop(black_box(page::render(&scene, "model", Delivery::File))))
    }),
    linear("view/open", "layers", 2, |size| {
        let bytes = wire::encode(&layers(size));
        Box::new(move || drop(black_box(Engine::open(black_box(&bytes)).expect("the scene is valid"))))
    }),
    linear("view/draw", "layers", 2, |size| asked(Engine::of(layers(size)), r#"{"ask": "draw"}"#)),
    linear("view/search", "layers", 2, |size| {
        asked(Engine::of(layers(size)), r#"{"ask": "search", "query": "norm1"}"#)
    }),
    linear("view/svg", "nodes", 100, |size| {
        let (scene, options) = (chain(size), options());
        Box::new(move || drop(black_box(svg::render(&scene, "model", &options))))
    }),
    linear("view/dot", "nodes", 100, |size| {
        let (scene, options) = (chain(size), options());
        Box::new(move || drop(black_box(dot::render(&scene, "model", &options))))
    }),
    linear("view/diff", "layers", 2, |size| {
        let (old, new) = (layers(size), layers(size + 1));
        Box::new(move || drop(black_box(scene::compare(&old, &new))))
    }),
];

fn scene(bytes: &[u8]) -> Scene {
    scene::scene(&mut check(bytes, &Options::default()).expect("the model is valid"), &[])
}

fn layers(size: usize) -> Scene {
    scene(&model(models::TRANSFORMER, size))
}

fn chain(size: usize) -> Scene {
    scene(&model(models::CHAIN, size))
}

fn options() -> plan::Options {
    plan::Options::to_depth(2)
}

fn asked(mut engine: Engine, request: &'static str) -> Work {
    Box::new(move || {
        let answer = engine.answer(request);
        assert!(!answer.starts_with("{\"error\""), "{answer}");
        black_box(answer);
    })
}
