//! Sends, bundles, network outputs, addresses and the address book.

use std::sync::Arc;
use std::time::Duration;

use typeloom as bb;
use typeloom::half::f16;
use typeloom::module::{Artifact, Compiler, Graph, OperatorMethods as _};
use typeloom::onnx::{FunctionProto, NodeProto};
use typeloom::run::components::{PeerTable, Preference};
use typeloom::run::host::SystemClock;
use typeloom::run::values::Scalar;
use typeloom::run::wire::{
    AddressBook, AnswerError, BookLimits, LocalNetwork, PortType, RunId, Transport as _, TransportError,
};
use typeloom::run::wire::{Multiaddress, Segment, WireReqId};
use typeloom::run::{Components, Datum, Part, Verify};

use super::support::{Body, LONG, Outcome, Pair, endpoint, named, peer, run};

fn compiled(body: fn(&mut Graph)) -> Result<Artifact, bb::BuildError> {
    Compiler::new().compile(Body("probe", body))
}

fn alone(artifact: &Artifact) -> Result<Pair, Box<dyn std::error::Error>> {
    let class = artifact.parts().map(FunctionProto::name).find(|name| *name != "self").ok_or("one part")?;
    Pair::new(artifact, class, &Components::new(), &Components::new())
}

/// Returns a value to its sender, by way of the peer.
fn echo(g: &mut Graph, ty: &str) {
    let (there, handle) = g.send(g.input("x").of(ty), g.input("peers"));
    let (received, sender) = g.receive(&there);
    let (back, _) = g.send(received, &sender);
    let (home, from) = g.receive(&back);
    g.output("y", home);
    g.output("from", &from);
    g.output("handle", handle);
}

/// A module and a value that it sends.
type Case = (fn(&mut Graph), Datum);

#[test]
fn values_of_every_leaf_travel_to_a_peer_and_back() -> Outcome {
    let address = |text: &str| text.parse::<Multiaddress>().expect("an address");
    let cases: [Case; 13] = [
        (|g| echo(g, "scalar.f32"), Datum::Scalar(Scalar::F32(-0.0))),
        (|g| echo(g, "scalar.f64"), Datum::Scalar(Scalar::F64(f64::MAX))),
        (|g| echo(g, "scalar.f16"), Datum::Scalar(Scalar::F16(f16::MIN))),
        (|g| echo(g, "scalar.u8"), Datum::Scalar(Scalar::U8(0))),
        (|g| echo(g, "scalar.i32"), Datum::Scalar(Scalar::I32(-1))),
        (|g| echo(g, "peer_id"), Datum::Peer(peer("\u{0}"))),
        (|g| echo(g, "peer_id_vec"), Datum::Peers(vec![peer("x"), peer("x"), peer("")])),
        (|g| echo(g, "trigger"), Datum::Trigger),
        (|g| echo(g, "bytes"), Datum::Bytes(vec![0, 255].into())),
        (|g| echo(g, "wire_req_id"), Datum::Request(WireReqId(u64::MAX))),
        (|g| echo(g, "multiaddress"), Datum::Address(address("/ip6/::1/udp/9/quic-v1"))),
        (
            |g| echo(g, "address_vec"),
            Datum::Addresses(vec![address("/dns4/example.org/tcp/443/wss"), address("/memory/3")]),
        ),
        (
            |g| echo(g, "composite{a: scalar.i32, b: composite{c: peer_id}}"),
            Datum::Composite(vec![
                ("a".to_owned(), Datum::Scalar(Scalar::I32(5))),
                ("b".to_owned(), Datum::Composite(vec![("c".to_owned(), Datum::Peer(peer("z")))])),
            ]),
        ),
    ];
    for (body, value) in cases {
        let artifact = compiled(body)?;
        assert_eq!(artifact.type_of("y"), value.type_node().map(|node| node.id));
        let (outcome, _) =
            alone(&artifact)?.run([("x", value.clone()), ("peers", Datum::Peers(vec![peer("there")]))])?;
        assert_eq!(outcome.get("y"), Some(&value));
        assert_eq!(outcome.get("from"), Some(&Datum::Peer(peer("there"))));
        assert!(matches!(outcome.get("handle"), Some(Datum::Request(_))));
    }
    Ok(())
}

/// `Send(value, peers) -> (data, handle)` in the wire domain, and a `Recv -> (payload, sender)` that the
/// compiler makes.
#[test]
fn a_send_has_data_and_handle_and_the_compiler_makes_the_receive() -> Outcome {
    let artifact = compiled(|g| {
        let (data, handle) = g.send(g.input("x").of("uint16[N]"), g.input("targets"));
        g.output("y", data.cast(bb::Dtype::I64, Default::default()));
        g.output("handle", &handle);
    })?;
    let parts: Vec<_> = artifact.parts().collect();
    let ops = |part: usize| -> Vec<(&str, &str, usize)> {
        let nodes = parts[part].node.iter();
        nodes.map(|node| (node.domain(), node.op_type(), node.output.len())).collect()
    };
    let names: Vec<&str> = parts.iter().map(|part| part.name()).collect();
    assert_eq!(names, ["self", "targets"]);
    assert_eq!(ops(0), [("ai.bytesandbrains.wire", "Send", 2)]);
    assert_eq!(ops(1), [("ai.bytesandbrains.wire", "Recv", 2), ("", "Cast", 1)]);
    assert_eq!(artifact.type_of("handle"), Some("wire_req_id"));
    // The peers are not declared: a value is sent to a list of peers.
    assert_eq!(artifact.type_of("targets"), Some("peer_id_vec"));
    let sender = &parts[1].node[0].output[1];
    let types = &parts[1].value_info;
    let sender = types.iter().find(|info| info.name() == sender).and_then(|info| info.r#type.as_ref());
    assert!(sender.is_none_or(|ty| ty.denotation.as_str() == "bb.peer_id"), "{sender:?}");
    Ok(())
}

/// The input is found through all six structural operators, and stamped with its own name.
#[test]
fn peer_classes_follow_lists_through_six_operators() -> Outcome {
    let artifact = compiled(|g| {
        let (first, second) = (g.input("ring").of("peer_id_vec"), g.input("rest").of("peer_id_vec"));
        let int = |value: i64| g.ints(&[value]);
        let mut list = g.node("", "Identity", &[&first], Vec::new(), 1).remove(0);
        list = g.node("", "Slice", &[&list, &int(0), &int(1)], Vec::new(), 1).remove(0);
        list = g.node("", "Gather", &[&list, &int(0)], Vec::new(), 1).remove(0);
        list = g.node("", "Unsqueeze", &[&list, &int(0)], Vec::new(), 1).remove(0);
        list = g.node("", "Squeeze", &[&list, &int(0)], Vec::new(), 1).remove(0);
        let x = g.input("x").of("float[2]");
        g.output("y", g.send(&x, &g.concat(&[&list], 0)).0.exp());
        g.output("z", g.send(&x, &second).0.abs());
    })?;
    let graph = artifact.model().graph.as_ref().ok_or("a graph")?;
    for (input, class) in [("ring", Some("ring")), ("rest", Some("rest")), ("x", None)] {
        let info = graph.input.iter().find(|info| info.name() == input).ok_or("an input")?;
        let key = "ai.bytesandbrains.peer_class";
        let found = info.metadata_props.iter().find_map(|entry| (entry.key() == key).then(|| entry.value()));
        assert_eq!(found, class, "{input}");
    }
    let names: Vec<&str> = artifact.parts().map(FunctionProto::name).collect();
    assert_eq!(names, ["self", "rest", "ring"]);
    Ok(())
}

/// A bundled float is no `int64`, also after a send, and the error names the child and both types.
#[test]
fn a_composite_type_flows_through_a_send_and_contradictions_are_errors() -> Outcome {
    let wrong = compiled(|g| {
        let (a, b) = (g.input("a").of("float[3]"), g.input("b").of("scalar.i32"));
        let (sent, _) = g.send(g.bundle(&[("first part", &a), ("b", &b)]), g.input("peers"));
        let parts = g.unbundle(&sent, &["first part"]);
        g.output("y", parts[0].clone().of("int64[3]").neg());
    })
    .expect_err("a float is no integer");
    let text = wrong.to_string();
    assert!(matches!(wrong, bb::BuildError::TypeConstraintFailed(_)), "{text}");
    assert!(text.contains("first part") && text.contains("float") && text.contains("int64"), "{text}");

    let right = compiled(|g| {
        let (a, b) = (g.input("a").of("float[N]"), g.input("b").of("scalar.i32"));
        let bundle = g.bundle(&[("first part", &a), ("b", &b)]);
        let (sent, _) = g.send(&bundle, g.input("peers"));
        let parts = g.unbundle(&sent, &["b", "first part"]);
        g.output("size", &parts[1].neg());
        g.output("count", &parts[0]);
        g.output("own", bundle);
    })?;
    let own = right.value_type("own").ok_or("a type")?.to_string();
    assert_eq!(own, "composite{b: scalar.i32, \"first part\": float[N]}");
    let inputs = [
        ("a", bb::AnyTensor::from([1.0_f32, -2.0]).into()),
        ("b", Datum::Scalar(Scalar::I32(-9))),
        ("peers", Datum::Peers(vec![peer("there")])),
    ];
    let (_, there) = alone(&right)?.run(inputs)?;
    assert_eq!(there.get("size"), Some(&bb::AnyTensor::from([-1.0_f32, 2.0]).into()));
    assert_eq!(there.get("count"), Some(&Datum::Scalar(Scalar::I32(-9))));
    Ok(())
}

#[test]
fn composite_types_are_parts_of_port_digests_and_are_checked_on_receipt() -> Outcome {
    let of = |body: fn(&mut Graph)| -> Result<_, Box<dyn std::error::Error>> {
        let artifact = compiled(body)?;
        let port = alone(&artifact)?.other.ports().remove(0);
        Ok((artifact, port.1))
    };
    let (floats, float_port) = of(|g| {
        let bundle = g.bundle(&[("a", &g.input("x").of("float[2]"))]);
        g.output("y", g.unbundle(&g.send(&bundle, g.input("peers")).0, &["a"]).remove(0));
    })?;
    let (ints, int_port) = of(|g| {
        let bundle = g.bundle(&[("a", &g.input("x").of("int32[2]"))]);
        g.output("y", g.unbundle(&g.send(&bundle, g.input("peers")).0, &["a"]).remove(0));
    })?;
    assert_ne!(float_port.digest(), int_port.digest());
    // A peer of another program of the same name refuses the message.
    let own = Part::new(&floats, "self", &Components::new())?;
    let other = Part::new(&ints, "peers", &Components::new())?;
    let pair = Pair::of(own, other)?;
    let inputs = named([
        ("x", bb::AnyTensor::from([1.0_f32, 2.0]).into()),
        ("peers", Datum::Peers(vec![peer("there")])),
    ]);
    let refused = pair.own.run(&pair.home, RunId(1), inputs, LONG, Verify::Inputs).expect_err("another type");
    assert!(refused.to_string().contains("there"), "{refused}");
    assert_eq!(pair.there.held(), 0);
    // A caller that passes another composite gets an error, also without checks of every value.
    let passed = compiled(|g| g.output("y", g.input("x").of("composite{a: float[2]}")))?;
    let wrong = Datum::Composite(vec![("a".to_owned(), bb::AnyTensor::from([1_i32, 2]).into())]);
    let error = run(&passed, [("x", wrong)]).expect_err("integers").to_string();
    assert!(error.contains("int32[2]") && error.contains("float[2]"), "{error}");
    Ok(())
}

/// Two peers answer in any order; answers are in the order of the peers. Wrong types and missing answers are
/// errors.
#[test]
fn a_network_output_returns_a_request_id_that_the_runtime_awaits() -> Outcome {
    let artifact = compiled(|g| {
        let peers = g.input("peers");
        let first = g.net_out("first", g.input("x").of("bool[1]"), &peers);
        let second = g.net_out("second", g.input("z").of("scalar.u8"), &peers);
        g.output("first id", &first);
        g.output("second id", second);
    })?;
    let answers = PortType::of_node(&bb::TYPE_ADDRESS_VEC)?;
    let part = |name: &str| -> Result<Part, Box<dyn std::error::Error>> {
        Ok(Part::new(&artifact, name, &Components::new())?.with_answer("second", answers.clone())?)
    };
    let (own, other) = (part("self")?, part("peers")?);
    let no_output = own.clone().with_answer("third", answers.clone()).expect_err("there is no such output");
    assert!(matches!(no_output, AnswerError::NoOutput { .. }), "{no_output}");
    let network = LocalNetwork::new();
    let home = endpoint(&network, "home", &own)?;
    let (there, second) = (endpoint(&network, "there", &other)?, endpoint(&network, "second", &other)?);
    let inputs = named([
        ("x", bb::AnyTensor::from([true]).into()),
        ("z", Datum::Scalar(Scalar::U8(7))),
        ("peers", Datum::Peers(vec![peer("there"), peer("second")])),
    ]);
    let outcome = own.run(&home, RunId(77), inputs, LONG, Verify::EveryValue)?;
    let ids: Vec<Datum> = outcome.requests.iter().map(|request| Datum::Request(request.id)).collect();
    assert_eq!([outcome.get("first id"), outcome.get("second id")], [ids.first(), ids.get(1)]);
    assert_ne!(ids[0], ids[1]);
    let request = outcome.requests.iter().find(|request| request.output == "second").ok_or("a request")?;
    assert_eq!(request.peers, [peer("there"), peer("second")]);

    let value = |port: u16| {
        Datum::Addresses(vec![
            Multiaddress::of([Segment::Memory(1), Segment::Tcp(port)]).expect("an address"),
        ])
    };
    let answer = |endpoint: &_, value: &Datum| -> Outcome {
        let served = other.serve(endpoint, LONG, Verify::EveryValue)?.ok_or("nothing arrived")?;
        assert_eq!(served.get("second"), Some(&Datum::Scalar(Scalar::U8(7))));
        assert_eq!(served.get("first"), Some(&bb::AnyTensor::from([true]).into()));
        assert!(other.answer(endpoint, &served, "second", &Datum::Trigger, LONG).is_err(), "another type");
        assert!(matches!(
            other.answer(endpoint, &served, "first", value, LONG),
            Err(AnswerError::NoType { .. })
        ));
        Ok(other.answer(endpoint, &served, "second", value, LONG)?)
    };
    answer(&second, &value(2))?;
    let missing =
        own.await_answers(&home, request, Duration::from_millis(20)).expect_err("one peer is silent");
    let AnswerError::Missing { peers, .. } = &missing else { return Err(missing.into()) };
    assert_eq!(peers[..], [peer("there")]);
    answer(&there, &value(1))?;
    let answers = own.await_answers(&home, request, LONG)?;
    assert_eq!(answers, [(peer("there"), value(1)), (peer("second"), value(2))]);
    Ok(())
}

/// Parse, print, validate; segments are typed.
#[test]
fn a_multiaddress_is_a_sequence_of_typed_segments() -> Outcome {
    let text = "/dns6/example.org/tcp/65535/tls/ws/p2p-circuit";
    let address: Multiaddress = text.parse()?;
    let segments: Vec<Segment<'_>> = address.segments().collect();
    assert_eq!(segments[..2], [Segment::Dns6("example.org".into()), Segment::Tcp(65_535)]);
    assert_eq!(segments.len(), 5);
    assert_eq!(Multiaddress::of(segments)?.to_string(), text);
    for wrong in ["", "/", "/tcp", "/tcp/65536", "/ip4/1.2.3", "tcp/1", "/nothing/1", "/ip6/::1::"] {
        assert!(wrong.parse::<Multiaddress>().is_err(), "{wrong}");
    }
    for wrong in [&[][..], &[6], &[6, 0], &[0x35, 200, 1], &[0xff, 0xff, 0xff, 0xff]] {
        assert!(Multiaddress::from_bytes(wrong).is_err(), "{wrong:?}");
    }
    Ok(())
}

#[test]
fn an_address_book_installs_looks_up_and_expires() -> Outcome {
    let address = |port: u16| Multiaddress::of([Segment::Udp(port)]).expect("an address");
    let second = Duration::from_secs(1);
    let mut book = AddressBook::new(BookLimits { peers: 2, addresses: 2 });
    assert!(book.install(&peer("a"), [address(1)], Some(5 * second), second));
    assert!(book.install(&peer("a"), [address(2)], None, second));
    assert_eq!(book.look_up(&peer("a"), second), [address(2), address(1)]);
    assert!(!book.install(&peer("a"), [address(3)], Some(second), second), "both addresses end later");
    assert_eq!(book.look_up(&peer("a"), 6 * second), [address(2)]);
    assert_eq!((book.expire(6 * second), book.len()), (1, 1));
    book.remove(&peer("a"));
    assert!(book.is_empty() && book.look_up(&peer("a"), second).is_empty());
    Ok(())
}

/// The transport looks peers up, learns the addresses in messages, and forgets them.
#[test]
fn the_address_book_is_used_by_the_transport() -> Outcome {
    let network = LocalNetwork::new();
    let clock = Arc::new(SystemClock::new());
    let transport = network.join_at(peer("a"), "/memory/10".parse()?, clock);
    assert_eq!(transport.addresses(), ["/memory/10".parse::<Multiaddress>()?]);
    let exchange = || transport.exchange(&peer("b"), b"no message", Duration::from_secs(1));
    assert_eq!(exchange(), Err(TransportError::UnknownPeer));
    // What `Transport::learn` reports is found, and is not mixed with other peers.
    transport.learn(&peer("b"), &["/memory/11".parse()?]);
    assert_eq!(transport.look_up(&peer("b")), ["/memory/11".parse::<Multiaddress>()?]);
    assert!(transport.look_up(&peer("c")).is_empty());
    assert!(matches!(exchange(), Err(TransportError::Unreachable { .. })));
    assert!(transport.install(&peer("b"), ["/memory/12".parse()?], Some(Duration::ZERO)));
    assert_eq!((transport.look_up(&peer("b")).len(), transport.expire()), (1, 0));
    Ok(())
}

/// `net_out` is an output of the part at the peers, and its marker names it in the file.
#[test]
fn a_network_output_is_marked_in_the_file() -> Outcome {
    let artifact = compiled(|g| {
        let request = g.net_out("update \u{e9}", g.input("x").of("float"), g.input("peers"));
        g.output("id", request);
    })?;
    let loaded = Artifact::load(&artifact.to_bytes()?, &typeloom::module::Bindings::new())?;
    let parts: Vec<_> = loaded.parts().collect();
    assert_eq!(
        (&parts[0].output[..], &parts[1].output[..]),
        (&["id".to_owned()][..], &["update \u{e9}".to_owned()][..])
    );
    let is_marked = |node: &NodeProto| node.metadata_props.iter().any(|it| it.value() == "update \u{e9}");
    assert!(parts[0].node.iter().any(is_marked));
    Ok(())
}

/// Two lists, given as inputs or by a selector, are two classes, and a join of both is a third one.
#[test]
fn lists_of_peers_from_different_sources_are_different_classes() -> Outcome {
    type Lists = fn(&mut Graph) -> [bb::module::ValueRef; 2];
    let table = || PeerTable::new(Preference::Score, 1);
    let components = Components::new().peer_selector("a", table());
    let cases: [(Lists, &[&str]); 4] = [
        (|g| [g.input("a"), g.peer_selector("a").select(None, 1)], &["self", "a", "a.selector"]),
        (|g| [g.peer_selector("a").select(None, 1), g.input("b")], &["self", "a", "b"]),
        (
            |g| {
                let (first, second) = (g.peer_selector("a").select(None, 1), g.input("b"));
                [second.clone(), g.concat(&[&second, &first], 0)]
            },
            &["self", "a+b", "b"],
        ),
        (
            |g| {
                let (first, second) = (g.input("a"), g.input("b"));
                let _ = g.peer_selector("a").select(None, 1);
                let all = g.concat(&[&second, &first, &second], 0);
                [g.concat(&[&first, &second], 0), all]
            },
            &["self", "a+b"],
        ),
    ];
    for (lists, parts) in cases {
        let compile = |adds: bool| {
            let module = Sends(|g: &mut Graph| {
                let x = g.input("x").of("float[2]");
                let [first, second] = lists(g).map(|peers| g.send(&x, &peers).0);
                if adds {
                    g.output("y", &first + &second);
                } else {
                    g.output("first", first.neg());
                    g.output("second", second.neg());
                }
            });
            Compiler::new().with_bindings(components.bindings().clone()).compile(module)
        };
        let artifact = compile(false)?;
        assert_eq!(artifact.parts().map(FunctionProto::name).collect::<Vec<_>>(), parts);
        Artifact::load(&artifact.to_bytes()?, components.bindings())?;
        match compile(true) {
            Ok(_) => assert_eq!(parts.len(), 2, "only values on one class are added"),
            Err(error) => {
                assert!(matches!(error, bb::BuildError::CrossesWithoutSend { .. }), "{error}");
                assert!(parts[1..].iter().all(|class| error.to_string().contains(*class)), "{error}");
            }
        }
    }
    Ok(())
}

struct Sends<F>(F);

impl<F: Fn(&mut Graph)> bb::Module for Sends<F> {
    fn name(&self) -> &str {
        "sends"
    }

    fn body(&self, g: &mut Graph) {
        (self.0)(g);
    }
}

/// A peer of both lists gets one message of the joined class.
#[test]
fn a_value_reaches_the_peers_of_joined_lists() -> Outcome {
    let artifact = compiled(|g| {
        let peers = g.concat(&[&g.input("b"), &g.input("a")], 0);
        g.output("y", g.send(g.input("x").of("float[1]"), &peers).0.neg());
    })?;
    let inputs = [
        ("x", bb::AnyTensor::from([2.0_f32]).into()),
        ("a", Datum::Peers(vec![peer("there")])),
        ("b", Datum::Peers(vec![peer("there")])),
    ];
    let (_, there) = alone(&artifact)?.run(inputs)?;
    assert_eq!(there.get("y"), Some(&bb::AnyTensor::from([-2.0_f32]).into()));
    Ok(())
}

/// `self` names the module's own part. An input of this name that lists no peers is an input.
#[test]
fn peers_cannot_be_named_self() -> Outcome {
    let error = compiled(|g| g.output("y", g.send(g.input("x").of("float[1]"), g.input("self")).0.neg()))
        .expect_err("`self` is reserved");
    assert!(matches!(error, bb::BuildError::ReservedClass { .. }), "{error}");
    assert!(error.to_string().contains("rename it (at "), "{error}");
    let artifact = compiled(|g| g.output("y", g.input("self").of("float[1]").neg()))?;
    assert_eq!(artifact.type_of("self"), Some("tensor.f32"));
    Ok(())
}

/// The answer to a peer that sent a constant goes to this peer.
#[test]
fn the_sender_of_a_constant_is_the_peer_that_sends_it() -> Outcome {
    let artifact = compiled(|g| {
        let (a, b) = (g.input("a"), g.input("b").of("peer_id_vec"));
        let (list, _) = g.send(&b, &a);
        let (note, _) = g.send(g.ints(&[7]), &list);
        let (_, sender) = g.receive(&note);
        g.output("y", g.send(note.neg(), &sender).0.abs());
    })?;
    let parts: Vec<_> = artifact.parts().collect();
    let ops =
        |part: &FunctionProto| part.node.iter().map(|node| node.op_type().to_owned()).collect::<Vec<_>>();
    assert_eq!(parts.iter().map(|part| part.name()).collect::<Vec<_>>(), ["self", "a", "b"]);
    assert_eq!(ops(parts[1]), ["Constant", "Recv", "Send", "Recv", "Abs"]);
    Ok(())
}
