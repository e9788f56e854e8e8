//! The recording of modules and its errors.

use typeloom_module::authoring::AuthoringErrorKind;
use typeloom_module::graph::Graph;
use typeloom_module::graph::operators::OperatorMethods;
use typeloom_module::graph::operators::attributes::SoftmaxAttrs;
use typeloom_module::graph::value::ValueRef;
use typeloom_module::module::record;
use typeloom_onnx::messages::GraphProto;
use typeloom_onnx::text::{PrintOptions, print_graph};

use super::components::Of;

fn mistakes(module: Of<impl Fn(&mut Graph)>) -> Vec<AuthoringErrorKind> {
    let errors = record(&module).expect_err("the recording has mistakes");
    assert!(errors.iter().all(|error| error.location.file.ends_with("recording.rs")));
    errors.into_iter().map(|error| error.kind).collect()
}

fn graph(module: Of<impl Fn(&mut Graph)>) -> GraphProto {
    record(&module).expect("the recording has no mistakes").model().graph.expect("a recording has a graph")
}

#[test]
fn operators_are_recorded_with_inputs_attributes_and_gaps() {
    let graph = graph(Of("m", |g: &mut Graph| {
        let x = g.input("x");
        let (low, high) = (g.input("low"), g.input("high"));
        let clipped = x.clip(None, Some(&high));
        let y = (&clipped + &low).softmax(SoftmaxAttrs { axis: Some(1) });
        let both = g.concat(&[&x, &y], 0);
        g.output("both", &both);
    }));
    let text = print_graph(&graph, &PrintOptions::display()).text;
    for line in
        ["Clip(x, \"\", high)", "Add (clip_0, low)", "Softmax <axis = 1> (add_0)", "both = Concat <axis = 0>"]
    {
        let squeezed = text.replace(' ', "");
        assert!(squeezed.contains(&line.replace(' ', "")), "{line} is not in {text}");
    }
}

#[test]
fn two_outputs_of_one_name_are_an_error_at_the_second() {
    let found = mistakes(Of("m", |g: &mut Graph| {
        let x = g.input("x");
        g.output("y", &x.relu());
        g.output("y", &x.abs());
    }));
    assert!(
        matches!(&found[..], [AuthoringErrorKind::DuplicateOutput { name, .. }] if name == "y"),
        "{found:?}"
    );
}

#[test]
fn two_inputs_of_one_name_are_an_error() {
    let found = mistakes(Of("m", |g: &mut Graph| {
        let (a, b) = (g.input("x"), g.input("x"));
        g.output("y", &(&a + &b));
    }));
    assert!(matches!(&found[..], [AuthoringErrorKind::DuplicateInput { .. }]), "{found:?}");
}

#[test]
fn a_value_of_another_graph_is_one_error_without_consequences() {
    let found = mistakes(Of("outer", |g: &mut Graph| {
        let x = g.input("x");
        let stolen = std::cell::RefCell::new(None);
        let inner = Of("inner", |h: &mut Graph| {
            let z = h.input("z");
            h.output("w", &z);
            *stolen.borrow_mut() = Some(z);
        });
        let called = g.call(&inner, &[&x]);
        let z = stolen.borrow().clone().expect("the inner module was recorded");
        let bad = &called[0] + &z;
        g.output("y", &bad.relu());
        g.output("w", &called[0]);
    }));
    assert!(
        matches!(&found[..], [AuthoringErrorKind::ForeignValue { value, .. }] if value == "z"),
        "{found:?}"
    );
}

#[test]
fn a_value_of_a_branch_cannot_be_used_after_it() {
    let found = mistakes(Of("m", |g: &mut Graph| {
        let (x, c) = (g.input("x"), g.input("c"));
        let mut escaped = None;
        let y = g.if_(
            &c,
            |_| {
                let inner = x.relu();
                escaped = Some(inner.clone());
                vec![inner]
            },
            |_| vec![x.abs()],
        );
        g.output("y", &y[0]);
        g.output("z", &escaped.expect("the branch was recorded").neg());
    }));
    assert!(matches!(&found[0], AuthoringErrorKind::ForeignValue { .. }), "{found:?}");
}

/// The error names what has the name.
#[test]
fn a_port_cannot_have_the_name_of_another_kind_of_value() {
    type Body = fn(&mut Graph, &ValueRef);
    let cases: [(Body, &str); 4] = [
        (|g, x| g.output("x", x.neg()), "output `x` has the name of an input, from "),
        (
            |g, x| {
                g.output("y", x.neg());
                g.output("z", g.input("y").abs());
            },
            "input `y` has the name of an output, from ",
        ),
        (
            |g, x| {
                let y = x.neg();
                g.output("neg_0", y.abs());
            },
            "output `neg_0` has the name of a computed value, from ",
        ),
        (
            |g, x| {
                g.output("y", x.neg());
                g.output("z", g.input("neg_0").abs());
            },
            "input `neg_0` has the name of a computed value, from ",
        ),
    ];
    for (body, message) in cases {
        let module = Of("m", move |g: &mut Graph| {
            let x = g.input("x");
            body(g, &x);
        });
        let found = mistakes(module);
        let [kind @ AuthoringErrorKind::NameTaken { .. }] = &found[..] else { panic!("{found:?}") };
        assert!(kind.to_string().starts_with(message), "{kind}");
        assert!(kind.to_string().ends_with("; rename one of them"), "{kind}");
    }
}

/// A wrong value causes no complaint about a module without outputs.
#[test]
fn an_output_with_an_error_is_an_output() {
    let found = mistakes(Of("m", |g: &mut Graph| {
        let x = g.input("x").of("no type");
        g.output("y", x.neg());
        g.output(" ", x);
    }));
    assert!(!found.iter().any(|kind| matches!(kind, AuthoringErrorKind::EmptyModule { .. })), "{found:?}");
}

/// [`mistakes`] checks that the lines are in the module.
#[test]
fn a_missing_result_has_the_line_of_its_use() {
    let found = mistakes(Of("m", |g: &mut Graph| {
        let x = g.input("x").of("float[N]");
        let called = g.call(&Of("inner", |g: &mut Graph| g.output("y", g.input("x").neg())), &[&x]);
        g.output("a", &called["z"]);
        g.output("b", &called[1]);
    }));
    assert!(found.iter().all(|kind| matches!(kind, AuthoringErrorKind::UnknownOutput { .. })), "{found:?}");
    assert_eq!(found.len(), 2);
}

/// A caller that reads the results of a module with errors gets these errors only.
#[test]
fn the_results_of_a_module_with_errors_can_be_read() {
    let wrong = Of("wrong", |g: &mut Graph| {
        let x = g.input("x").of("no type");
        g.output("y", x.neg());
        g.output("y", x.abs());
    });
    let found = mistakes(Of("m", |g: &mut Graph| {
        let y = g.call(&wrong, &[&g.input("x")]);
        g.output("y", &y[0] + &y[1]);
    }));
    assert!(
        matches!(found[..], [AuthoringErrorKind::BadType { .. }, AuthoringErrorKind::DuplicateOutput { .. }]),
        "{found:?}"
    );
}

#[test]
fn a_module_without_outputs_is_empty() {
    let found = mistakes(Of("m", |g: &mut Graph| {
        let _ = g.input("x").relu();
    }));
    assert!(matches!(&found[..], [AuthoringErrorKind::EmptyModule { module }] if module == "m"), "{found:?}");
}

#[test]
fn an_unread_input_is_an_error() {
    let found = mistakes(Of("m", |g: &mut Graph| {
        let x = g.input("x");
        let _ = g.input("unused");
        g.output("y", &x.relu());
    }));
    assert!(
        matches!(&found[..], [AuthoringErrorKind::UnwiredInput { name, .. }] if name == "unused"),
        "{found:?}"
    );
}

#[test]
fn a_slot_has_one_role() {
    let found = mistakes(Of("m", |g: &mut Graph| {
        let x = g.input("x");
        let compute = g.backend("s");
        let y = compute.neg(&x);
        let (ids, _) = g.index("s").search(&y, 3);
        g.output("ids", &ids);
    }));
    let [AuthoringErrorKind::SlotRole { slot, .. }] = &found[..] else { panic!("{found:?}") };
    assert_eq!(slot, "s");
}

#[test]
fn a_module_that_calls_itself_is_an_error() {
    struct Endless;
    impl typeloom_module::module::Module for Endless {
        fn name(&self) -> &str {
            "endless"
        }

        fn body(&self, g: &mut Graph) {
            let x = g.input("x");
            let y = g.call(&Endless, &[&x]);
            g.output("y", y.first().unwrap_or(&x));
        }
    }
    let errors = record(&Endless).expect_err("the module calls itself");
    assert!(
        errors.iter().any(|error| matches!(&error.kind, AuthoringErrorKind::RecursiveModule { .. })),
        "{errors:?}"
    );
}

#[test]
fn an_output_can_be_an_input_and_a_value_two_outputs() {
    let graph = graph(Of("m", |g: &mut Graph| {
        let x = g.input("x");
        let y = x.relu();
        g.output("x", &x);
        g.output("same", &x);
        g.output("y", &y);
        g.output("again", &y);
    }));
    let names: Vec<_> = graph.output.iter().map(|info| info.name().to_owned()).collect();
    assert_eq!(names, ["x", "same", "y", "again"]);
    let made: Vec<_> = graph.node.iter().map(|node| node.output.join(",")).collect();
    assert_eq!(made, ["y", "same", "again"]);
}

#[test]
fn a_malformed_type_is_an_error_at_its_declaration() {
    let found = mistakes(Of("m", |g: &mut Graph| {
        let x = g.input("x").of("flaot[3]");
        g.output("y", &x.relu());
    }));
    assert!(
        matches!(&found[..], [AuthoringErrorKind::BadType { text, .. }] if text == "flaot[3]"),
        "{found:?}"
    );
}
