//! Properties of addresses on generated segment sequences, bytes and texts, compared with the crate
//! `multiaddr`.

use std::borrow::Cow;
use std::net::{Ipv4Addr, Ipv6Addr};

use multiaddr::Multiaddr;
use multiaddr::multihash::Multihash;
use proptest::collection::vec;
use proptest::prelude::*;
use typeloom_tensor::address::{AddressError, Multiaddress, Segment};

/// Text of a name in an address: also text with slashes, with `%` and without characters.
fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[a-z0-9.-]{1,12}",
        1 => "[a-z/%:~ \u{e9}\u{4e2d}]{0,6}",
        1 => Just(String::new()),
    ]
}

fn hash() -> impl Strategy<Value = Multihash<64>> {
    let digest = vec(any::<u8>(), 32);
    digest.prop_map(|digest| Multihash::wrap(0x12, &digest).expect("32 bytes fit"))
}

/// Every kind of segment.
fn segment() -> impl Strategy<Value = Segment<'static>> {
    let without_parameter = prop::sample::select(vec![
        Segment::Http,
        Segment::Https,
        Segment::P2pWebRtcDirect,
        Segment::P2pWebRtcStar,
        Segment::WebRTCDirect,
        Segment::P2pWebSocketStar,
        Segment::P2pCircuit,
        Segment::Quic,
        Segment::QuicV1,
        Segment::Tls,
        Segment::Noise,
        Segment::Udt,
        Segment::Utp,
        Segment::WebTransport,
        Segment::P2pStardust,
        Segment::WebRTC,
    ]);
    let number = prop_oneof![
        any::<u16>().prop_map(Segment::Dccp),
        any::<u16>().prop_map(Segment::Sctp),
        any::<u16>().prop_map(Segment::Tcp),
        any::<u16>().prop_map(Segment::Udp),
        any::<u64>().prop_map(Segment::Memory),
        any::<u8>().prop_map(Segment::Ipcidr),
    ];
    let host = prop_oneof![
        any::<u32>().prop_map(|ip| Segment::Ip4(Ipv4Addr::from(ip))),
        any::<u128>().prop_map(|ip| Segment::Ip6(Ipv6Addr::from(ip))),
        any::<u16>().prop_map(|ip| Segment::Ip6(Ipv6Addr::from(u128::from(ip)))),
    ];
    let named = prop_oneof![
        name().prop_map(|name| Segment::Dns(name.into())),
        name().prop_map(|name| Segment::Dns4(name.into())),
        name().prop_map(|name| Segment::Dns6(name.into())),
        name().prop_map(|name| Segment::Dnsaddr(name.into())),
        name().prop_map(|name| Segment::Unix(name.into())),
        name().prop_map(|name| Segment::Ws(name.into())),
        name().prop_map(|name| Segment::Wss(name.into())),
        name().prop_map(|name| Segment::Ip6zone(name.into())),
        name().prop_map(|name| Segment::Sni(name.into())),
    ];
    let hashed = prop_oneof![
        hash().prop_map(Segment::Certhash),
        hash().prop_map(|hash| Segment::P2p(multiaddr::PeerId::from_multihash(hash).expect("SHA-256"))),
        (any::<[u8; 10]>(), 1_u16..).prop_map(|(host, port)| Segment::Onion(Cow::Owned(host), port)),
        (any::<[u8; 32]>(), any::<[u8; 3]>(), 1_u16..).prop_map(|(key, rest, port)| {
            let mut host = [0; 35];
            host[..32].copy_from_slice(&key);
            host[32..].copy_from_slice(&rest);
            Segment::Onion3((host, port).into())
        }),
        vec(any::<u8>(), 0..400).prop_map(|bytes| Segment::Garlic64(bytes.into())),
        vec(any::<u8>(), 0..64).prop_map(|bytes| Segment::Garlic32(bytes.into())),
    ];
    prop_oneof![2 => without_parameter, 3 => number, 3 => host, 3 => named, 2 => hashed]
}

/// The properties of an address: text, bytes and segments determine each other.
fn check(address: &Multiaddress) -> Result<(), TestCaseError> {
    let text = address.to_string();
    prop_assert_eq!(text.parse::<Multiaddress>(), Ok(address.clone()));
    prop_assert_eq!(Multiaddress::from_bytes(address.as_bytes()), Ok(address.clone()));
    prop_assert_eq!(Multiaddress::of(address.segments()), Ok(address.clone()));
    let theirs = Multiaddr::from(address.clone());
    prop_assert_eq!(&theirs.to_string(), &text);
    prop_assert_eq!(theirs.to_vec(), address.as_bytes());
    prop_assert!(address.segments().eq(theirs.iter()));
    prop_assert!(address.segments().count() > 0);
    let last_peer = theirs.iter().filter_map(|segment| match segment {
        Segment::P2p(peer) => Some(peer.to_bytes()),
        _ => None,
    });
    prop_assert_eq!(address.peer().map(|peer| peer.0), last_peer.last());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn segments_make_an_address_that_keeps_them_or_a_typed_error(segments in vec(segment(), 0..6)) {
        let theirs: Multiaddr = segments.iter().cloned().collect();
        match Multiaddress::of(segments.iter().cloned()) {
            Ok(address) => {
                prop_assert!(address.segments().eq(segments));
                check(&address)?;
            }
            Err(AddressError::Empty) => prop_assert!(segments.is_empty()),
            // Another sequence of segments, or none, has this text.
            Err(AddressError::Ambiguous { text }) => {
                prop_assert_eq!(&text, &theirs.to_string());
                prop_assert_ne!(text.parse::<Multiaddr>().ok(), Some(theirs));
            }
            Err(error @ AddressError::Malformed { .. }) => prop_assert!(false, "{}: {}", theirs, error),
        }
    }

    #[test]
    fn names_without_special_characters_are_never_ambiguous(
        names in vec("[a-z0-9.-]{1,12}", 1..5), port: u16, number: u64,
    ) {
        let segments = names.into_iter().map(|name| Segment::Dns(name.into()));
        let segments = segments.chain([Segment::Tcp(port), Segment::Memory(number), Segment::P2pCircuit]);
        check(&Multiaddress::of(segments).expect("the text is unambiguous"))?;
    }

    #[test]
    fn no_bytes_cause_a_panic(bytes in vec(any::<u8>(), 0..64)) {
        if let Ok(address) = Multiaddress::from_bytes(&bytes) {
            prop_assert_eq!(address.as_bytes(), &bytes[..]);
            check(&address)?;
        }
    }

    #[test]
    fn no_change_of_a_valid_address_causes_a_panic(
        segments in vec(segment(), 1..6), at: prop::sample::Index, byte: u8, cut: prop::sample::Index,
    ) {
        let mut bytes = segments.into_iter().collect::<Multiaddr>().to_vec();
        let (at, cut) = (at.index(bytes.len()), cut.index(bytes.len() + 1));
        bytes[at] = byte;
        for bytes in [&bytes[..], &bytes[..cut]] {
            if let Ok(address) = Multiaddress::from_bytes(bytes) {
                check(&address)?;
            }
        }
    }

    #[test]
    fn no_text_causes_a_panic(text in prop_oneof![
        "\\PC*",
        "(/(ip4|ip6|tcp|udp|dns|p2p|unix|ws|memory|onion|onion3|garlic64|certhash|ipcidr|quic|x)?(/[0-9a-z:.%~=-]{0,9})?){0,6}",
    ]) {
        match text.parse::<Multiaddress>() {
            Ok(address) => check(&address)?,
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
    }
}
