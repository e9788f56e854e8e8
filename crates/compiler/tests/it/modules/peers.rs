//! Programs that run on several classes of peers.

use typeloom_compiler::compiler::Compiler;
use typeloom_compiler::error::BuildError;
use typeloom_compiler::unit::Coercion;
use typeloom_module::graph::Graph;
use typeloom_module::graph::operators::OperatorMethods;
use typeloom_module::graph::operators::attributes::GatherAttrs;
use typeloom_module::graph::value::ValueRef;
use typeloom_onnx::messages::NodeProto;

use super::components::Of;

fn class(node: &NodeProto) -> Option<&str> {
    let entry = node.metadata_props.iter().find(|entry| entry.key() == "ai.bytesandbrains.peer_class");
    entry.map(typeloom_onnx::messages::StringStringEntryProto::value)
}

fn sends() -> Of<impl Fn(&mut Graph)> {
    Of("gossip", |g: &mut Graph| {
        let x = g.input("x").of("float[N]");
        let workers = g.input("workers");
        let local = x.relu();
        let (data, handle) = g.send(&local, &workers);
        g.output("there", &data.neg());
        g.output("sent", &handle);
        g.output("here", &local);
    })
}

#[test]
fn a_send_has_the_class_of_the_input_that_feeds_its_peers() {
    let module = Of("m", |g: &mut Graph| {
        let x = g.input("x").of("float[N]");
        let workers = g.input("workers").of("peer_id_vec");
        let which = g.input("which").of("int64[2]");
        let chosen = workers.gather(&which, GatherAttrs::default()).identity();
        let (data, _) = g.send(&x, &chosen);
        g.output("there", &data.neg());
    });
    let artifact = Compiler::new().compile(module).expect("it compiles");
    let graph = artifact.model().graph.as_ref().expect("it has a graph");
    let send = graph.node.iter().find(|node| node.op_type() == "Send").expect("it sends");
    assert_eq!(class(send), Some("workers"));
    assert_eq!(artifact.type_of("workers"), Some("peer_id_vec"));
}

#[test]
fn receives_are_inserted_and_stamped() {
    let module = Of("m", |g: &mut Graph| {
        let x = g.input("x").of("float[N]");
        let workers = g.input("workers").of("peer_id_vec");
        let (data, handle) = g.send(&x, &workers);
        g.output("there", &data.neg());
        g.output("sent", &handle);
    });
    let artifact = Compiler::new().compile(module).expect("it compiles");
    let graph = artifact.model().graph.as_ref().expect("it has a graph");
    let receive = graph.node.iter().find(|node| node.op_type() == "Recv").expect("it receives");
    let [payload, sender] = &receive.output[..] else { panic!("a receive has two results") };
    assert_eq!(artifact.type_of(payload), Some("tensor.f32"));
    assert_eq!(artifact.type_of(sender), Some("peer_id"));
    assert_eq!(class(receive), Some("workers"));
    assert_eq!(artifact.type_of("sent"), Some("wire_req_id"));
    assert_eq!(artifact.report.receives.len(), 1);
    assert_eq!(artifact.report.receives[0].peer_class, "workers");
}

#[test]
fn an_undeclared_input_of_peers_is_a_list() {
    let artifact = Compiler::new().compile(sends()).expect("a list serves every caller");
    assert_eq!(artifact.type_of("workers"), Some("peer_id_vec"));
}

#[test]
fn the_type_of_peers_follows_from_another_use_if_there_is_one() {
    for (sends_first, ty) in [(true, "peer_id"), (false, "peer_id")] {
        let module = Of("m", move |g: &mut Graph| {
            let x = g.input("x").of("float[N]");
            let peer = g.input("peer");
            let average = g.aggregator("average");
            let contribute = |g: &mut Graph| {
                g.output("done", &average.contribute(&peer, &x, None));
            };
            if !sends_first {
                contribute(g);
            }
            let (data, _) = g.send(&x, &peer);
            g.output("there", &data.neg());
            if sends_first {
                contribute(g);
            }
        });
        let artifact = Compiler::new().with_permissive_types().compile(module).expect("it compiles");
        assert_eq!(artifact.type_of("peer"), Some(ty), "the send comes first: {sends_first}");
    }
}

/// Undeclared inputs reach the peers of a send through operators, calls, bundles and other messages.
#[test]
fn undeclared_inputs_of_peers_are_lists_wherever_they_pass() {
    let sender = Of("sender", |g: &mut Graph| {
        let (x, to) = (g.input("x"), g.input("to"));
        g.output("there", &g.send(&x, &to).0.neg());
    });
    let outer = Of("outer", |g: &mut Graph| {
        let (x, to) = (g.input("x"), g.input("to"));
        let some = to.slice(&g.ints(&[0]), &g.ints(&[1]), None, None);
        g.output("there", &g.call(&sender, &[&x, &some])[0]);
    });
    type Body<'b> = &'b dyn Fn(&mut Graph, &ValueRef);
    let bodies: [(Body<'_>, &[&str]); 5] = [
        (&|g, x| g.output("y", &g.call(&outer, &[x, &g.input("a")])[0]), &["a"]),
        (
            &|g, x| {
                let both = g.concat(&[&g.input("a"), &g.input("b").identity()], 0);
                let one = both.identity().gather(&g.ints(&[1]), Default::default());
                g.output("y", &g.send(x, &one).0.neg());
            },
            &["a", "b"],
        ),
        (
            &|g, x| {
                let bundle = g.bundle(&[("to", &g.input("a")), ("x", x)]);
                let inner = g.unbundle(&g.bundle(&[("inner", &bundle)]), &["inner"]).remove(0);
                let parts = g.unbundle(&inner, &["to", "x"]);
                g.output("y", &g.send(&parts[1], &parts[0]).0.neg());
            },
            &["a"],
        ),
        (
            &|g, x| {
                let bundle = g.bundle(&[("to", &g.input("b")), ("x", x)]);
                let (there, _) = g.send(&bundle, &g.input("a"));
                let parts = g.unbundle(&there, &["x", "to"]);
                g.output("y", &g.send(&parts[0], &parts[1]).0.neg());
            },
            &["a", "b"],
        ),
        (
            &|g, x| {
                let both = g.concat(&[&g.input("a"), &g.input("b")], 0);
                let request = g.net_out("out", x, &both.squeeze(None));
                g.output("request", &request);
            },
            &["a", "b"],
        ),
    ];
    for (at, (body, inputs)) in bodies.into_iter().enumerate() {
        let module = Of("m", |g: &mut Graph| {
            let x = g.input("x").of("float[N]");
            body(g, &x);
        });
        let artifact = Compiler::new().compile(module).unwrap_or_else(|error| panic!("{at}: {error}"));
        for input in inputs {
            assert_eq!(artifact.type_of(input), Some("peer_id_vec"), "{at}: {input}");
        }
    }
}

#[test]
fn a_computed_value_is_no_list_of_peers_by_default() {
    let module = Of("m", |g: &mut Graph| {
        let x = g.input("x").of("float[N]");
        let bundle = g.input("bundle").of("composite");
        let peers = g.unbundle(&bundle, &["peers"]);
        let (data, _) = g.send(&x, &peers[0]);
        g.output("there", &data.neg());
    });
    let error = Compiler::new().compile(module).expect_err("the bundle may contain one peer or several");
    assert!(matches!(error, BuildError::UnresolvedType(_)), "{error}");
}

fn declared() -> Of<impl Fn(&mut Graph)> {
    Of("gossip", |g: &mut Graph| {
        let x = g.input("x").of("float[N]");
        let workers = g.input("workers").of("peer_id_vec");
        let two = g.ints(&[2]).cast(typeloom_types::dtype::Dtype::F32, Default::default());
        let local = &x * &two;
        let (data, handle) = g.send(&local, &workers);
        g.output("there", &(&data.neg() * &two));
        g.output("sent", &handle);
        g.output("here", &local);
    })
}

#[test]
fn a_program_is_split_at_its_sends_into_typed_functions() {
    let artifact = Compiler::new().compile(declared()).expect("it compiles");
    let parts: Vec<_> = artifact.parts().collect();
    let names: Vec<_> = parts.iter().map(|part| part.name()).collect();
    assert_eq!(names, ["self", "workers"]);
    let ops = |at: usize| parts[at].node.iter().map(NodeProto::op_type).collect::<Vec<_>>();
    assert_eq!(ops(0), ["Constant", "Cast", "Mul", "Send"]);
    assert_eq!(
        ops(1),
        ["Constant", "Cast", "Recv", "Neg", "Mul"],
        "each part that reads a constant has a copy"
    );
    assert_eq!(parts[0].output, ["sent", "here"]);
    assert_eq!(parts[1].output, ["there"]);
    assert!(parts[1].input.is_empty(), "received values are no inputs of a part");
    for part in parts {
        for node in &part.node {
            for output in &node.output {
                let info = part.value_info.iter().find(|info| info.name() == output);
                assert!(
                    info.is_some_and(|info| info.r#type.is_some()),
                    "{output} of {} has no type",
                    part.name()
                );
            }
        }
    }
    assert!(artifact.interface.exports.contains_key("part:workers"));
}

#[test]
fn a_value_that_crosses_without_a_send_is_an_error_that_names_both_classes() {
    let module = Of("m", |g: &mut Graph| {
        let x = g.input("x").of("float[N]");
        let workers = g.input("workers").of("peer_id_vec");
        let (data, _) = g.send(&x, &workers);
        g.output("y", &(&data + &x));
    });
    let error = Compiler::new().compile(module).expect_err("it crosses");
    assert!(matches!(error, BuildError::CrossesWithoutSend { .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains("the peers of `workers`") && text.contains("the module's own peer"), "{text}");
    assert!(text.contains("peers.rs:"), "{text}");
}

#[test]
fn an_answer_goes_to_the_class_of_the_sender() {
    let module = Of("m", |g: &mut Graph| {
        let x = g.input("x").of("float[N]");
        let workers = g.input("workers").of("peer_id_vec");
        let (data, _) = g.send(&x, &workers);
        let (payload, sender) = g.receive(&data);
        let (back, _) = g.send(&payload.neg(), &sender);
        g.output("y", &(&back + &x));
    });
    let artifact = Compiler::new().compile(module).expect("the answer returns to the module's own peer");
    let graph = artifact.model().graph.as_ref().expect("it has a graph");
    let receives = graph.node.iter().filter(|node| node.op_type() == "Recv").count();
    assert_eq!(receives, 2, "one is recorded, one is inserted");
    assert_eq!(artifact.type_of("y"), Some("tensor.f32"));
}

fn received() -> Of<impl Fn(&mut Graph)> {
    Of("m", |g: &mut Graph| {
        let x = g.input("x").of("float[N]");
        let workers = g.input("workers").of("peer_id_vec");
        let (data, _) = g.send(&x, &workers);
        let data = data.of("double[N]");
        g.output("there", &data.neg());
    })
}

#[test]
fn a_received_value_is_cast_to_another_declared_type() {
    let error = Compiler::new().compile(received()).expect_err("no cast is inserted by default");
    assert!(error.to_string().contains("double"), "{error}");
    let artifact =
        Compiler::new().with_coercion(Coercion::Lossless).compile(received()).expect("it is lossless");
    let graph = artifact.model().graph.as_ref().expect("it has a graph");
    let ops: Vec<_> = graph.node.iter().map(NodeProto::op_type).collect();
    assert_eq!(ops, ["Send", "Recv", "Cast", "Neg"], "the received value is cast, not the sent one");
    assert_eq!(class(&graph.node[2]), Some("workers"));
    assert_eq!(artifact.type_of("there"), Some("tensor.f64"));
    assert_eq!(artifact.report.casts[0].from, "tensor.f32");
}

#[test]
fn a_receive_without_a_send_is_an_error() {
    let module = Of("m", |g: &mut Graph| {
        let x = g.input("x").of("float[N]");
        let (payload, _) = g.receive(&x);
        g.output("y", &payload.neg());
    });
    let error = Compiler::new().compile(module).expect_err("the value is not sent");
    assert!(
        error.to_string().contains("has no matching send") && error.to_string().contains("peers.rs:"),
        "{error}"
    );
}

#[test]
fn a_send_in_a_branch_is_an_error() {
    let module = Of("m", |g: &mut Graph| {
        let x = g.input("x").of("float[N]");
        let c = g.input("c").of("bool");
        let workers = g.input("workers").of("peer_id_vec");
        let y = g.if_(&c, |g| vec![g.send(&x, &workers).0], |_| vec![x.clone()]);
        g.output("y", &y[0]);
    });
    let error = Compiler::new().compile(module).expect_err("it is sent inside");
    let text = error.to_string();
    assert!(text.contains("sent inside of `If`") && text.contains("peers.rs:"), "{error}");
    assert!(text.contains("let out = g.if_(..); let (data, _) = g.send(&out[0], &peers);"), "{error}");
}

#[test]
fn the_result_of_a_branch_is_sent_as_the_message_suggests() {
    let module = Of("m", |g: &mut Graph| {
        let x = g.input("x").of("float[N]");
        let c = g.input("c").of("bool");
        let peers = g.input("workers").of("peer_id_vec");
        let out = g.if_(&c, |_| vec![x.neg()], |_| vec![x.clone()]);
        let (data, _) = g.send(&out[0], &peers);
        g.output("y", &data.neg());
    });
    let artifact = Compiler::new().compile(module).expect("it compiles");
    assert_eq!(artifact.parts().count(), 2);
}

#[test]
fn a_received_value_can_be_read_next_to_its_receive() {
    let module = Of("m", |g: &mut Graph| {
        let x = g.input("x").of("float[N]");
        let workers = g.input("workers").of("peer_id_vec");
        let (data, _) = g.send(&x, &workers);
        let (payload, sender) = g.receive(&data);
        g.output("sum", &(&payload + &data));
        g.output("from", &sender);
    });
    let artifact = Compiler::new().compile(module).expect("it compiles");
    let part = artifact.parts().nth(1).expect("there are two sides");
    let receives = part.node.iter().filter(|node| node.op_type() == "Recv").count();
    assert_eq!((part.name(), receives), ("workers", 1));
    assert_eq!(artifact.type_of("from"), Some("peer_id"));
}
