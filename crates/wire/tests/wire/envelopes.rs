//! Tests of the message encoding.

use bytes::Bytes;
use half::f16;
use typeloom_pool::Digest;
use typeloom_tensor::address::Multiaddress;
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::datum::{Datum, LeafDatum, Scalar, WireReqId};
use typeloom_tensor::map::{MapDatum, MapError};
use typeloom_tensor::peer::PeerId;
use typeloom_types::dtype::Dtype;
use typeloom_types::tree::{TypeKind, TypeNode};
use typeloom_wire::envelope::{Envelope, MessageId, PortId, RunId, TypeTag};
use typeloom_wire::error::{Exceeded, Flaw, Limited, Malformed};
use typeloom_wire::limits::{MAX_DEPTH, MessageLimits};
use typeloom_wire::receipt::{Receipt, Refusal, Verdict};

static TYPE_SKETCH: TypeNode = TypeNode {
    id: "sketch",
    parent: Some("any"),
    kind: TypeKind::Concrete,
    ffi_name: "",
    wire_hash: 0,
    denotation: "org.example.sketch",
};
typeloom_types::register_type_node!(TYPE_SKETCH);

fn peer(name: &str) -> PeerId {
    PeerId(name.as_bytes().to_vec())
}

fn address(text: &str) -> Multiaddress {
    text.parse().expect("it is an address")
}

fn envelope(value: Datum) -> Envelope {
    Envelope {
        id: MessageId { incarnation: 1_700_000_000_000_000_000, number: 300 },
        floor: 17,
        run: RunId(4),
        sender: peer("here"),
        addresses: Vec::new(),
        port: PortId { program: "m".to_owned(), peer_class: "workers".to_owned(), wire: "data".to_owned() },
        ty: TypeTag { digest: Digest([7; 32]), node: value.type_node().map_or(0, TypeNode::wire_tag) },
        value,
    }
}

/// Values with every encoding and every element type.
fn values() -> Vec<Datum> {
    let mut values: Vec<Datum> = Dtype::ALL
        .into_iter()
        .flat_map(|dtype| [vec![], vec![0], vec![2, 3]].map(|shape| AnyTensor::zeros(dtype, &shape)))
        .map(|tensor| Datum::Tensor(tensor.expect("a small tensor")))
        .collect();
    let strings = AnyTensor::from_strings(&[2], &["a", "bc"]).expect("two strings");
    values.extend([
        Datum::Tensor(strings),
        Datum::Tensor(AnyTensor::from_slice(&[2], &[f32::NAN, -0.0]).expect("two floats")),
        Datum::Scalar(Scalar::F32(1.5)),
        Datum::Scalar(Scalar::F64(-2.5)),
        Datum::Scalar(Scalar::F16(f16::ONE)),
        Datum::Scalar(Scalar::U8(255)),
        Datum::Scalar(Scalar::I32(-7)),
        Datum::Trigger,
        Datum::Bytes(Bytes::from_static(b"bytes")),
        Datum::Bytes(Bytes::new()),
        Datum::Peer(peer("p")),
        Datum::Peers(vec![]),
        Datum::Peers(vec![peer("p"), peer("")]),
        Datum::Request(WireReqId(u64::MAX)),
        Datum::Address(address("/ip4/127.0.0.1")),
        Datum::Addresses(vec![address("/ip6/::1/tcp/1"), address("/dns4/example.org/udp/2/quic-v1")]),
        Datum::Leaf(LeafDatum { node: &TYPE_SKETCH, bytes: Bytes::from_static(b"s") }),
        Datum::Optional(None),
        scores(&[1, 5]),
    ]);
    let all = values.clone();
    values.push(Datum::Optional(Some(Box::new(Datum::Sequence(vec![Datum::Composite(vec![])])))));
    let named = |(at, value): (usize, Datum)| (format!("part {at}"), value);
    values.push(Datum::Composite(all.into_iter().enumerate().map(named).collect()));
    values
}

/// Replaces the digest with that of the modified bytes, as a malicious sender would.
fn resealed(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.truncate(bytes.len() - 32);
    let digest = blake3::hash(&bytes);
    bytes.extend_from_slice(digest.as_bytes());
    bytes
}

#[test]
fn every_value_is_decoded_unchanged() {
    let limits = MessageLimits::default();
    for value in values() {
        let sent = envelope(value);
        let bytes = sent.to_bytes(&limits).expect("it is within the limits");
        let read = Envelope::from_bytes(&bytes, &limits).expect("it is a message");
        assert_eq!(read.to_bytes(&limits), Ok(bytes), "{:?}", sent.value);
        assert_eq!(read.id, sent.id);
        assert_eq!((read.floor, read.run, read.sender, read.port), (17, RunId(4), sent.sender, sent.port));
    }
}

#[test]
fn every_truncation_and_every_flipped_bit_is_refused() {
    let limits = MessageLimits::default();
    for value in values().into_iter().skip(80) {
        let bytes = envelope(value).to_bytes(&limits).expect("it is within the limits");
        for end in 0..bytes.len() {
            assert!(Envelope::from_bytes(&bytes[..end], &limits).is_err(), "cut at {end}");
        }
        for bit in 0..8 * bytes.len().min(400) {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(Envelope::from_bytes(&flipped, &limits).is_err(), "bit {bit}");
        }
    }
}

#[test]
fn resealed_messages_with_flipped_bits_are_other_messages_or_errors() {
    let limits = MessageLimits::default();
    for value in values().into_iter().skip(70) {
        let bytes = envelope(value).to_bytes(&limits).expect("it is within the limits");
        for bit in 0..8 * (bytes.len() - 32).min(300) {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let flipped = resealed(flipped);
            if let Ok(read) = Envelope::from_bytes(&flipped, &limits) {
                assert_eq!(read.to_bytes(&limits), Ok(flipped), "bit {bit}: a message has one encoding");
            }
        }
    }
}

#[test]
fn a_message_of_another_version_is_reported() {
    let limits = MessageLimits::default();
    let mut bytes = envelope(Datum::Trigger).to_bytes(&limits).expect("a small message");
    bytes[4] = 3;
    let found = Envelope::from_bytes(&bytes, &limits).expect_err("it is of another version");
    assert_eq!(found, Malformed { at: 4, flaw: Flaw::Version { found: 3, supported: 2 } });
    assert_eq!(found.to_string(), "byte 4: the format version is 3, but 2 is supported");
}

#[test]
fn addresses_of_the_sender_travel_in_version_2_and_other_messages_have_version_1() {
    let limits = MessageLimits::default();
    let without = envelope(Datum::Trigger);
    let addresses = vec![address("/ip4/10.0.0.1/tcp/4001"), address("/dns/example.org/tcp/443/wss")];
    let with = Envelope { addresses: addresses.clone(), ..without.clone() };
    let bytes = [&without, &with].map(|message| message.to_bytes(&limits).expect("a small message"));
    assert_eq!([bytes[0][4], bytes[1][4]], [1, 2]);
    let read = bytes.each_ref().map(|bytes| Envelope::from_bytes(bytes, &limits).expect("a message"));
    assert_eq!((&read[0], &read[1].addresses), (&without, &addresses));
    assert_eq!(read[1], with);
    // A message of version 2 has addresses, so every message has one form.
    let mut none = bytes[0].clone();
    none[4] = 2;
    let sender = none.windows(4).position(|window| window == b"here").expect("it names the sender") + 4;
    none.insert(sender, 0);
    let error = Envelope::from_bytes(&resealed(none), &limits).expect_err("it has no addresses");
    assert_eq!(error.flaw, Flaw::NoAddresses);
}

#[test]
fn malformed_and_too_many_addresses_are_refused() {
    let limits = MessageLimits::default();
    let one = Envelope { addresses: vec![address("/ip4/1.2.3.4/tcp/5")], ..envelope(Datum::Trigger) };
    let mut bytes = one.to_bytes(&limits).expect("a small message");
    let at = bytes.windows(5).position(|window| window == [4, 1, 2, 3, 4]).expect("the address is in it");
    bytes[at] = 5;
    let error = Envelope::from_bytes(&resealed(bytes), &limits).expect_err("there is no protocol 5");
    assert!(matches!(error.flaw, Flaw::Address(_)), "{error}");
    let addresses = (0..=16).map(|port| address(&format!("/ip4/1.2.3.4/tcp/{port}"))).collect();
    let many = Envelope { addresses, ..one };
    let refused = many.to_bytes(&limits).expect_err("a sender has 16 addresses");
    assert_eq!(refused.what, Limited::Addresses);
}

#[test]
fn messages_beyond_the_limits_are_refused_at_both_ends() {
    let limits = MessageLimits::default();
    let narrow = [
        (MessageLimits { envelope_bytes: 100, ..limits }, Limited::Envelope),
        (MessageLimits { name_bytes: 3, ..limits }, Limited::Name),
        (MessageLimits { peer_bytes: 2, ..limits }, Limited::Peer),
        (MessageLimits { values: 1, ..limits }, Limited::Values),
        (MessageLimits { rank: 1, ..limits }, Limited::Rank),
    ];
    let tensor = AnyTensor::zeros(Dtype::F32, &[1, 1]).expect("a small tensor");
    let sent = envelope(Datum::Sequence(vec![Datum::Tensor(tensor)]));
    let bytes = sent.to_bytes(&limits).expect("it is within the usual limits");
    for (narrow, what) in narrow {
        let refused = sent.to_bytes(&narrow).expect_err("it exceeds a limit");
        assert_eq!(refused.what, what);
        let malformed = Envelope::from_bytes(&bytes, &narrow).expect_err("it exceeds a limit");
        assert!(matches!(malformed.flaw, Flaw::Exceeded(Exceeded { what: found, .. }) if found == what));
    }
}

#[test]
fn values_nest_up_to_a_maximum_depth() {
    let limits = MessageLimits::default();
    let nested =
        |depth: usize| (0..depth).fold(Datum::Trigger, |held, _| Datum::Optional(Some(Box::new(held))));
    let mut deepest = envelope(nested(MAX_DEPTH)).to_bytes(&limits).expect("it is deep enough");
    let refused = envelope(nested(MAX_DEPTH + 1)).to_bytes(&limits).expect_err("it is too deep");
    assert_eq!(refused.what, Limited::Depth);
    let message = "sequences, optionals and composites around a value: 17, but at most 16 are accepted";
    assert_eq!(refused.to_string(), message);
    // Adds one level by hand: the optional discriminant before the trigger.
    let trigger = deepest.len() - 33;
    deepest.insert(trigger, deepest[trigger - 1]);
    let malformed = Envelope::from_bytes(&resealed(deepest), &limits).expect_err("it is too deep");
    assert!(matches!(malformed.flaw, Flaw::Exceeded(Exceeded { what: Limited::Depth, .. })));
}

#[test]
fn a_false_count_allocates_nothing() {
    let limits = MessageLimits::default();
    let mut bytes = envelope(Datum::Sequence(vec![])).to_bytes(&limits).expect("a small message");
    let count = bytes.len() - 33;
    bytes.splice(count..=count, [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]);
    let malformed = Envelope::from_bytes(&resealed(bytes), &limits).expect_err("nothing is there");
    assert_eq!(malformed.flaw, Flaw::Truncated);
}

/// A map with these keys, each to 0.
fn scores(keys: &[i64]) -> Datum {
    let values = AnyTensor::zeros(Dtype::F32, &[keys.len()]).expect("a vector");
    Datum::Map(Box::new(MapDatum::new(AnyTensor::from(keys), values).expect("the keys ascend")))
}

#[test]
fn a_map_with_keys_in_another_order_is_refused() {
    let limits = MessageLimits::default();
    let key = i64::MAX - 0x0123_4567_89ab;
    let mut bytes = envelope(scores(&[5, key])).to_bytes(&limits).expect("a small message");
    let at =
        bytes.windows(8).position(|window| window == key.to_le_bytes()).expect("the key is in the message");
    bytes[at..at + 8].copy_from_slice(&5_i64.to_le_bytes());
    let malformed = Envelope::from_bytes(&resealed(bytes), &limits).expect_err("a key occurs twice");
    assert_eq!(malformed.flaw, Flaw::Map(MapError::Order));
}

#[test]
fn a_leaf_that_is_not_registered_is_refused() {
    let limits = MessageLimits::default();
    let leaf = Datum::Leaf(LeafDatum { node: &TYPE_SKETCH, bytes: Bytes::new() });
    let mut bytes = envelope(leaf).to_bytes(&limits).expect("a small message");
    let name = bytes.windows(6).position(|text| text == b"sketch").expect("the id is in the message");
    for other in [b"sketcX", b"tensor"] {
        bytes[name..name + 6].copy_from_slice(other);
        let malformed =
            Envelope::from_bytes(&resealed(bytes.clone()), &limits).expect_err("the leaf is not registered");
        assert!(matches!(malformed.flaw, Flaw::UnknownLeaf { .. }), "{malformed}");
    }
}

#[test]
fn receipts_are_read_back_and_damage_is_refused() {
    let (port, expected, found) = ("m::data".to_owned(), "float[2]".to_owned(), "int64[2]".to_owned());
    let refusals = [
        Refusal::Version { supported: 3 },
        Refusal::Malformed { reason: "byte 3".to_owned() },
        Refusal::UnknownPeer,
        Refusal::WrongSender,
        Refusal::UnknownPort { port: port.clone() },
        Refusal::OtherType {
            port: port.clone(),
            expected: expected.clone(),
            digest: Digest([1; 32]),
            found: found.clone(),
        },
        Refusal::OtherValue { port, expected, found },
        Refusal::Busy,
        Refusal::NotKept,
        Refusal::Stale,
    ];
    let verdicts = [Verdict::Taken, Verdict::TakenBefore].into_iter().chain(refusals.map(Verdict::Refused));
    for verdict in verdicts {
        let receipt = Receipt { id: MessageId { incarnation: 5, number: 6 }, verdict };
        let bytes = receipt.to_bytes();
        assert_eq!(Receipt::from_bytes(&bytes), Ok(receipt));
        for bit in 0..8 * bytes.len() {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(Receipt::from_bytes(&flipped).is_err());
        }
        for end in 0..bytes.len() {
            assert!(Receipt::from_bytes(&bytes[..end]).is_err());
        }
    }
}

#[test]
fn long_texts_of_receipts_are_cut_between_characters() {
    let verdict = Verdict::Refused(Refusal::Malformed { reason: "ä".repeat(5000) });
    let receipt = Receipt { id: MessageId { incarnation: 0, number: 0 }, verdict };
    let read = Receipt::from_bytes(&receipt.to_bytes()).expect("it is a receipt");
    let Verdict::Refused(Refusal::Malformed { reason }) = read.verdict else {
        panic!("another verdict: {read:?}")
    };
    assert_eq!(reason, "ä".repeat(512));
}
