//! Shared test support: random messages of a schema, recorded models, fixed seeds.

use std::fs;
use std::path::{Path, PathBuf};

use bytes::BufMut;
use proptest::strategy::Strategy;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseResult, TestRng, TestRunner};
use prost::encoding::{WireType, encode_key, encode_varint};
use typeloom_testing::number;

use crate::messages::schema::{Entry, FieldSchema, Kind, Label, MessageSchema};
use crate::wire::WireKind;

/// Checks a property with a fixed seed on `cases` random cases, and on a fifth of them in a plain run.
pub(crate) fn check<S: Strategy>(cases: u32, strategy: S, property: impl Fn(S::Value) -> TestCaseResult) {
    let cases = number(cases.div_ceil(5), cases);
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    if let Err(error) = TestRunner::new_with_rng(config, rng).run(&strategy, property) {
        panic!("{error}");
    }
}

/// The recorded files with this extension, in order. If they are missing, prints a note and returns an empty
/// list.
pub(crate) fn conformance(extension: &str) -> Vec<PathBuf> {
    let root = std::env::var_os("TYPELOOM_CONFORMANCE").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/conformance"),
        PathBuf::from,
    );
    let mut files = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|found| found == extension) {
                files.push(path);
            }
        }
    }
    if files.is_empty() {
        assert!(std::env::var("CI").as_deref() != Ok("true"), "no recorded cases in {}", root.display());
        println!("skipped: no recorded cases in {}", root.display());
    }
    files.sort();
    files
}

/// A random number generator (SplitMix64), seeded by proptest.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// A number of random width.
    fn number(&mut self) -> u64 {
        self.next() >> self.below(64)
    }
}

/// One message in two encodings.
pub(crate) struct Sample {
    /// An encoding that readers must accept: fields in any order, numbers packed or not, values overwritten.
    pub(crate) wire: Vec<u8>,
    /// The encoding of `messages`: fields in order of declaration, unknown ones last.
    pub(crate) canonical: Vec<u8>,
}

/// A random message of this schema, at most `depth` deep, with unknown fields at every level.
pub(crate) fn sample(dice: &mut Dice, schema: &MessageSchema, depth: usize) -> Sample {
    let mut canonical = Vec::new();
    // Records with the same field number keep their order, others may interleave.
    let mut queues: Vec<Vec<Vec<u8>>> = Vec::new();
    for entry in schema.fields {
        let field = match entry {
            Entry::Field(field) => field,
            Entry::OneOf(members) => &members[dice.below(members.len())],
        };
        if depth > 0 || !matches!(field.kind, Kind::Message(_)) {
            queues.push(sample_field(dice, field, depth, &mut canonical));
        }
    }
    let unknown: Vec<_> = (0..dice.below(3)).map(|_| unknown_record(dice, schema)).collect();
    canonical.extend(unknown.concat());
    queues.push(unknown);

    let mut wire = Vec::new();
    queues.iter_mut().for_each(|queue| queue.reverse());
    queues.retain(|queue| !queue.is_empty());
    while !queues.is_empty() {
        let pick = dice.below(queues.len());
        wire.extend(queues[pick].pop().expect("empty queues are removed"));
        queues.retain(|queue| !queue.is_empty());
    }
    Sample { wire, canonical }
}

/// The records of one field; appends their canonical encoding.
fn sample_field(dice: &mut Dice, field: &FieldSchema, depth: usize, canonical: &mut Vec<u8>) -> Vec<Vec<u8>> {
    let repeated = matches!(field.label, Label::Repeated | Label::Packed);
    let count = match (field.kind, repeated) {
        // Rare, otherwise the message would grow exponentially with depth.
        (Kind::Message(_), _) if !dice.once_in(3) => 0,
        (Kind::Message(_), true) => 1 + dice.below(2),
        (_, true) => dice.below(4),
        (_, false) => dice.below(2),
    };
    let numeric = field.kind.wire() != WireKind::Len;
    if !numeric {
        // A singular string may be repeated; a message may not, because it would be merged.
        if field.label == Label::Optional && count == 1 && !matches!(field.kind, Kind::Message(_)) {
            let overwritten = length_delimited(field.number, b"overwritten");
            let last = sample_payload(dice, field.kind, depth);
            canonical.extend(length_delimited(field.number, &last.canonical));
            return vec![overwritten, length_delimited(field.number, &last.wire)];
        }
        let payloads: Vec<_> = (0..count).map(|_| sample_payload(dice, field.kind, depth)).collect();
        canonical.extend(payloads.iter().flat_map(|one| length_delimited(field.number, &one.canonical)));
        return payloads.iter().map(|one| length_delimited(field.number, &one.wire)).collect();
    }

    let numbers: Vec<_> = (0..count).map(|_| sample_number(dice, field.kind)).collect();
    let single = |payload: &[u8]| {
        let wire_type = match field.kind.wire() {
            WireKind::Varint => WireType::Varint,
            WireKind::Fixed64 => WireType::SixtyFourBit,
            WireKind::Fixed32 => WireType::ThirtyTwoBit,
            WireKind::Len | WireKind::Group => unreachable!("numbers are neither"),
        };
        let mut record = Vec::new();
        encode_key(field.number, wire_type, &mut record);
        record.put_slice(payload);
        record
    };
    if field.label == Label::Packed && count > 0 {
        let packed: Vec<_> = numbers.iter().flat_map(|one| one.canonical.clone()).collect();
        canonical.extend(length_delimited(field.number, &packed));
    } else {
        canonical.extend(numbers.iter().flat_map(|one| single(&one.canonical)));
    }
    let mut records = Vec::new();
    let mut rest = &numbers[..];
    while !rest.is_empty() {
        if repeated && dice.once_in(2) {
            let (now, later) = rest.split_at(1 + dice.below(rest.len()));
            let packed: Vec<_> = now.iter().flat_map(|one| one.wire.clone()).collect();
            records.push(length_delimited(field.number, &packed));
            rest = later;
        } else {
            records.push(single(&rest[0].wire));
            rest = &rest[1..];
        }
    }
    if !repeated && field.label != Label::OneOf && !records.is_empty() {
        records.insert(0, single(&sample_number(dice, field.kind).wire));
    }
    records
}

fn sample_number(dice: &mut Dice, kind: Kind) -> Sample {
    let mut canonical = Vec::new();
    match kind {
        Kind::Int32 | Kind::Enum => {
            encode_varint(i64::from(dice.number() as i32).cast_unsigned(), &mut canonical);
        }
        Kind::Int64 | Kind::Uint64 => encode_varint(dice.number(), &mut canonical),
        Kind::Float => canonical.put_u32_le(dice.next() as u32),
        Kind::Double => canonical.put_u64_le(dice.next()),
        Kind::String | Kind::Bytes | Kind::Message(_) => unreachable!("not a number"),
    }
    let mut wire = canonical.clone();
    if kind.wire() == WireKind::Varint && wire.len() < 10 && dice.once_in(8) {
        // An overlong encoding, which readers must accept.
        *wire.last_mut().expect("a number has a byte") |= 0x80;
        wire.push(0);
    }
    Sample { wire, canonical }
}

fn sample_payload(dice: &mut Dice, kind: Kind, depth: usize) -> Sample {
    let payload: Vec<u8> = match kind {
        Kind::Message(schema) => return sample(dice, schema(), depth - 1),
        Kind::String => {
            (0..dice.below(6)).flat_map(|_| ["a", "_", "é", "名", "/"][dice.below(5)].bytes()).collect()
        }
        Kind::Bytes => (0..dice.below(12)).map(|_| dice.next() as u8).collect(),
        _ => unreachable!("not length-delimited"),
    };
    Sample { wire: payload.clone(), canonical: payload }
}

pub(crate) fn length_delimited(number: u32, payload: &[u8]) -> Vec<u8> {
    let mut record = Vec::new();
    encode_key(number, WireType::LengthDelimited, &mut record);
    encode_varint(payload.len() as u64, &mut record);
    record.put_slice(payload);
    record
}

/// A record with a field number that is not in the schema.
fn unknown_record(dice: &mut Dice, schema: &MessageSchema) -> Vec<u8> {
    let mut number = 1 + dice.below(40) as u32;
    if schema.field(number).is_some() || dice.once_in(8) {
        number = (1 << 29) - 1 - dice.below(1000) as u32;
    }
    let mut record = Vec::new();
    match dice.below(5) {
        0 => {
            encode_key(number, WireType::Varint, &mut record);
            encode_varint(dice.number(), &mut record);
        }
        1 => {
            encode_key(number, WireType::SixtyFourBit, &mut record);
            record.put_u64_le(dice.next());
        }
        2 => {
            encode_key(number, WireType::ThirtyTwoBit, &mut record);
            record.put_u32_le(dice.next() as u32);
        }
        3 => {
            encode_key(number, WireType::StartGroup, &mut record);
            for _ in 0..dice.below(2) {
                record.extend(unknown_record(dice, schema));
            }
            encode_key(number, WireType::EndGroup, &mut record);
        }
        _ => {
            let payload: Vec<u8> = (0..dice.below(150)).map(|_| dice.next() as u8).collect();
            record = length_delimited(number, &payload);
        }
    }
    record
}

/// Damages bytes: flips a bit, truncates, or overwrites, removes or duplicates a few bytes.
pub(crate) fn damage(dice: &mut Dice, bytes: &mut Vec<u8>) {
    for _ in 0..=dice.below(3) {
        if bytes.is_empty() {
            return;
        }
        let at = dice.below(bytes.len());
        match dice.below(5) {
            0 => bytes.truncate(at),
            1 => bytes[at] = dice.next() as u8,
            2 => drop(bytes.drain(at..(at + 1 + dice.below(4)).min(bytes.len()))),
            3 => bytes.insert(at, dice.next() as u8),
            _ => bytes[at] ^= 1 << dice.below(8),
        }
    }
}
