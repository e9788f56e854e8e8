//! Crafted bundles: each import fails with a typed error and an offset, and leaves the pool unchanged.

use crate::bundle::{export_again, random_bundle};
use crate::support::random_types;
use std::collections::BTreeSet;
use typeloom_pool::{
    Bounded, Bundle, Descriptor, GraphRef, Idx, ImportError, ImportErrorKind, ImportLimits, NameError, Pool,
    PoolError, Sort, Tag, VariantDescriptor,
};
use typeloom_testing::{Random, number};

/// A pool with some content, and an identical pool that imports nothing.
struct Witness {
    pool: Pool,
    twin: Pool,
    seed: u64,
}

impl Witness {
    fn new(seed: u64) -> Self {
        let mut pool = Pool::new();
        random_types(&mut Random(seed), &mut pool, 30);
        pool.compute_all_digests();
        Witness { twin: pool.clone(), pool, seed }
    }

    fn look(pool: &Pool) -> Vec<(String, Option<typeloom_pool::Digest>)> {
        pool.ids().map(|ty| (format!("{:?}", pool.get(ty)), pool.known_digest(ty))).collect()
    }

    /// Asserts that the pool is unchanged: it contains and finds the same types as its copy and assigns the
    /// same ids next.
    fn is_untouched(&mut self) {
        self.is_untouched_by(&bundles());
    }

    fn is_untouched_by(&mut self, refused: &[Bundle]) {
        let (pool, twin) = (&mut self.pool, &mut self.twin);
        assert_eq!(Self::look(pool), Self::look(twin));
        // Types of the bundles that the pool did not have are not found.
        for bundle in refused {
            let mut other = Pool::new();
            let Ok(roots) = other.import(bundle.as_bytes()) else { continue };
            other.compute_all_digests();
            for digest in other.ids().filter_map(|ty| other.known_digest(ty)) {
                assert_eq!(pool.find_digest(&digest), twin.find_digest(&digest));
            }
            assert_eq!(pool.find_digest(&roots[0].digest), twin.find_digest(&roots[0].digest));
        }
        for name in ["S", "Node", "point", "Größe", "f0", "never seen", "N", "batch"] {
            assert_eq!(pool.find_name(name), twin.find_name(name), "{name}");
        }
        let ids: Vec<_> = pool.ids().collect();
        for ty in ids {
            if !pool.is_recursive(ty) {
                let node = pool.get(ty);
                assert_eq!(pool.intern(&node), Ok(ty));
            }
        }
        // The next types get the same names, ids and digests, including recursive types.
        assert_eq!(pool.name("the next name"), twin.name("the next name"));
        let next = |pool: &mut Pool| random_types(&mut Random(self.seed + 7), pool, 40);
        assert_eq!(next(pool), next(twin));
        for bundle in refused {
            assert_eq!(pool.import(bundle.as_bytes()), twin.import(bundle.as_bytes()));
        }
        pool.compute_all_digests();
        twin.compute_all_digests();
        assert_eq!(Self::look(pool), Self::look(twin));
        let labels: Vec<String> = (0..pool.len()).map(|at| at.to_string()).collect();
        let closed = |pool: &mut Pool| {
            let ids: Vec<Idx> = pool.ids().filter(|&ty| !pool.is_open(ty)).collect();
            let roots: Vec<(&str, Idx)> = labels.iter().map(String::as_str).zip(ids).collect();
            pool.export(&roots).unwrap()
        };
        assert_eq!(closed(pool), closed(twin));
    }
}

/// Recomputes the final digest, so that the checks after it are tested too.
fn sealed(mut body: Vec<u8>) -> Vec<u8> {
    let checksum = blake3::hash(&body);
    body.extend(checksum.as_bytes());
    body
}

fn body(bundle: &Bundle) -> Vec<u8> {
    bundle.as_bytes()[..bundle.as_bytes().len() - 32].to_vec()
}

/// A small set of bundles with all kinds of content.
fn bundles() -> Vec<Bundle> {
    let mut bundles: Vec<Bundle> = (0..3).map(|seed| random_bundle(seed, 24).1).collect();
    let mut pool = Pool::new();
    let int = pool.primitive(Tag::Int).unwrap();
    let graph = [
        Descriptor::Tuple { elements: vec![GraphRef::Member(1), GraphRef::Outer(int)] },
        Descriptor::Container { tag: Tag::List, child: GraphRef::Member(0) },
    ];
    let recursive = pool.intern_graph(&graph).unwrap()[0];
    bundles.push(pool.export(&[("r", recursive), ("i", int)]).unwrap());
    bundles.push(of_every_kind().1);
    bundles
}

/// A bundle with every feature of the format, independent of the random bundles: a scheme over types,
/// constants and lifetimes, every operation on dims, a declaration with an instance, a group next to a group,
/// an enum with named and positional fields, names that are not ASCII.
fn of_every_kind() -> (Pool, Bundle) {
    let mut pool = Pool::new();
    let p = &mut pool;
    let (int, f32) = (p.primitive(Tag::Int).unwrap(), p.primitive(Tag::F32).unwrap());
    let (a, n) = (p.bound(0, 0, Sort::Type).unwrap(), p.bound(0, 1, Sort::Const).unwrap());
    let life = p.bound(0, 2, Sort::Region).unwrap();
    let (two, batch) = (p.dim_const(2).unwrap(), p.dim_symbol("batch").unwrap());
    let unknown = p.dim_unknown().unwrap();
    let sum = p.dim_add(&[n, two]).unwrap();
    let product = p.dim_mul(&[batch, two]).unwrap();
    let (quotient, rest) = (p.dim_floor_div(product, n).unwrap(), p.dim_mod(sum, two).unwrap());
    let (least, most) = (p.dim_min(&[n, batch]).unwrap(), p.dim_max(&[n, batch]).unwrap());
    let shaped = p.tensor(a, &[sum, quotient, rest, least, most, unknown]).unwrap();
    let borrowed = p.borrowed(shaped, life).unwrap();
    let unranked = p.tensor_unranked(f32).unwrap();
    let function = p.function(&[borrowed, a], unranked).unwrap();
    let scheme = p.scheme(&[Sort::Type, Sort::Const, Sort::Region], function).unwrap();
    let name = |p: &mut Pool, text: &str| p.name(text).unwrap();
    let (pair, größe, list) = (name(p, "Pair"), name(p, "Größe"), name(p, "core::List"));
    let (first, second) = (name(p, "first"), name(p, "second"));
    let body = p.structure(pair, &[(first, a), (second, int)]).unwrap();
    let declared = p.declared(pair, &[Sort::Type], body).unwrap();
    let instance = p.instance(declared, &[f32]).unwrap();
    let applied = p.applied(list, &[instance]).unwrap();
    let (opaque, named) = (p.opaque(größe).unwrap(), p.named(größe).unwrap());
    let choice = p
        .intern(&Descriptor::Enum {
            name: "Choice".into(),
            variants: vec![
                VariantDescriptor { name: "None".into(), field_names: vec![], field_types: vec![] },
                VariantDescriptor {
                    name: "Some".into(),
                    field_names: vec![],
                    field_types: vec![opaque, named],
                },
                VariantDescriptor {
                    name: "Named".into(),
                    field_names: vec!["x".into()],
                    field_types: vec![applied],
                },
            ],
        })
        .unwrap();
    let graph = |outer: Idx| {
        [
            Descriptor::Tuple {
                elements: vec![GraphRef::Member(1), GraphRef::Outer(outer), GraphRef::Member(2)],
            },
            Descriptor::Container { tag: Tag::List, child: GraphRef::Member(0) },
            Descriptor::Struct {
                name: "Node".into(),
                field_names: vec!["next".into(), "up".into()],
                field_types: vec![GraphRef::Member(2), GraphRef::Member(0)],
            },
        ]
    };
    let inner = p.intern_graph(&graph(choice)).unwrap()[0];
    let outer = p.intern_graph(&graph(inner)).unwrap()[2];
    let bundle =
        p.export(&[("scheme", scheme), ("group", outer), ("declared", declared), ("dims", unranked)]);
    let bundle = bundle.unwrap();
    (pool, bundle)
}

#[test]
fn every_bit_flip_and_truncation_of_a_thin_bundle_is_refused_or_names_missing_types() {
    let (mut pool, full) = of_every_kind();
    let mut receiver = Pool::new();
    let roots = receiver.import(full.as_bytes()).unwrap();
    let group = roots.iter().find(|root| root.label == "group").unwrap().ty;
    let scheme = roots.iter().find(|root| root.label == "scheme").unwrap().ty;
    let has: BTreeSet<_> = [group, scheme].into_iter().map(|ty| receiver.digest(ty).unwrap()).collect();
    // New types refer to types of the receiver.
    let own: Vec<Idx> = pool.import(full.as_bytes()).unwrap().into_iter().map(|root| root.ty).collect();
    let more = pool.tuple(&own).unwrap();
    let more = pool.list(more).unwrap();
    let thin = pool.export_thin(&[("more", more)], &has).unwrap();
    assert!(thin.as_bytes().len() < full.as_bytes().len());
    let body = body(&thin);
    for len in 0..body.len() {
        let mut used = receiver.clone();
        assert!(used.import(&sealed(body[..len].to_vec())).is_err(), "{len}");
        assert_eq!(used.len(), receiver.len());
    }
    let mut missing = 0;
    for bit in 0..body.len() * 8 {
        let mut flipped = body.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        let bytes = sealed(flipped);
        let mut used = receiver.clone();
        match used.import(&bytes) {
            Ok(roots) => {
                let labelled: Vec<(&str, Idx)> =
                    roots.iter().map(|root| (root.label.as_str(), root.ty)).collect();
                assert_eq!(used.export_thin(&labelled, &has).unwrap().into_bytes(), bytes, "bit {bit}");
            }
            Err(ImportError::Invalid { offset, .. }) => {
                assert!(offset <= bytes.len());
                assert_eq!(used.len(), receiver.len(), "bit {bit}");
            }
            Err(ImportError::NotFound { missing: digests }) => {
                assert!(!digests.is_empty());
                assert_eq!(used.len(), receiver.len(), "bit {bit}");
                missing += 1;
            }
        }
    }
    assert!(missing >= 256, "every bit of every import is another type: {missing}");
    used_by_name(&thin);
}

/// A receiver without the types gets an error that lists them, and stays empty.
fn used_by_name(thin: &Bundle) {
    let mut empty = Pool::new();
    match empty.import(thin.as_bytes()) {
        Err(ImportError::NotFound { missing }) => assert!(!missing.is_empty()),
        other => panic!("{other:?}"),
    }
    assert!(empty.is_empty());
}

#[test]
fn every_truncation_is_rejected() {
    for bundle in bundles() {
        for len in 0..bundle.as_bytes().len() {
            let mut pool = Pool::new();
            let error = pool.import(&bundle.as_bytes()[..len]).unwrap_err();
            assert!(
                matches!(error, ImportError::Invalid { offset, .. } if offset <= len),
                "{len}: {error:?}"
            );
            assert!(pool.is_empty());
        }
    }
}

#[test]
fn every_bit_flip_is_rejected() {
    for bundle in bundles() {
        let mut pool = Pool::new();
        for bit in (0..bundle.as_bytes().len() * 8).step_by(number(7, 1)) {
            let mut bytes = bundle.as_bytes().to_vec();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(pool.import(&bytes).is_err(), "bit {bit}");
            assert!(pool.is_empty());
        }
    }
}

#[test]
fn every_bit_flip_under_a_valid_seal_is_rejected_or_decodes_to_the_same_bytes() {
    let mut accepted = 0;
    for (at, bundle) in bundles().iter().enumerate() {
        let mut witness = Witness::new(at as u64 + 50);
        let body = body(bundle);
        for bit in (0..body.len() * 8).step_by(number(7, 1)) {
            let mut flipped = body.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let bytes = sealed(flipped);
            match witness.pool.import(&bytes) {
                Ok(_) => {
                    // Labels are free text; a flip there produces another valid bundle.
                    assert_eq!(export_again(&mut Pool::new(), &bytes).unwrap(), bytes, "bit {bit}");
                    accepted += 1;
                    witness = Witness::new(at as u64 + 50);
                }
                Err(ImportError::Invalid { offset, .. }) => assert!(offset <= bytes.len()),
                // A flipped count can turn other bytes into imports.
                Err(ImportError::NotFound { missing }) => assert!(!missing.is_empty()),
            }
        }
        witness.is_untouched();
    }
    assert!(accepted > 0);
}

#[test]
fn every_truncation_under_a_valid_seal_is_rejected_and_leaves_a_used_pool_as_it_was() {
    for (at, bundle) in bundles().iter().enumerate() {
        let mut witness = Witness::new(at as u64);
        let body = body(bundle);
        for len in 0..body.len() {
            assert!(witness.pool.import(&sealed(body[..len].to_vec())).is_err(), "{len}");
        }
        witness.is_untouched();
        witness.pool.import(bundle.as_bytes()).unwrap();
    }
}

/// Builds the bytes of a bundle by hand.
struct Craft {
    strings: Vec<Vec<u8>>,
    imports: Vec<[u8; 32]>,
    types: Vec<Vec<u8>>,
    roots: Vec<(Vec<u8>, u32, [u8; 32])>,
    count: Option<u32>,
}

fn varint(out: &mut Vec<u8>, mut value: u32) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

impl Craft {
    fn types(types: &[&[u8]]) -> Self {
        let root = types.len() as u32 - 1;
        Craft {
            strings: Vec::new(),
            imports: Vec::new(),
            types: types.iter().map(|ty| ty.to_vec()).collect(),
            roots: vec![(b"r".to_vec(), root, [0; 32])],
            count: None,
        }
    }

    fn strings(mut self, strings: &[&[u8]]) -> Self {
        self.strings = strings.iter().map(|s| s.to_vec()).collect();
        self
    }

    fn root(mut self, item: u32) -> Self {
        self.roots[0].1 = item;
        self
    }

    fn count(mut self, count: u32) -> Self {
        self.count = Some(count);
        self
    }

    fn bytes(&self) -> Vec<u8> {
        let mut out = b"TLPB\x02\x01\0\0".to_vec();
        varint(&mut out, self.strings.len() as u32);
        for string in &self.strings {
            varint(&mut out, string.len() as u32);
            out.extend(string);
        }
        varint(&mut out, self.imports.len() as u32);
        self.imports.iter().for_each(|import| out.extend(import));
        varint(&mut out, self.count.unwrap_or(self.types.len() as u32));
        self.types.iter().for_each(|ty| out.extend(ty));
        varint(&mut out, self.roots.len() as u32);
        for (label, item, digest) in &self.roots {
            varint(&mut out, label.len() as u32);
            out.extend(label);
            varint(&mut out, *item);
            out.extend(digest);
        }
        sealed(out)
    }

    fn error_kind(&self) -> ImportErrorKind {
        error_kind_of(&self.bytes(), &ImportLimits::default())
    }
}

fn error_kind_of(bytes: &[u8], limits: &ImportLimits) -> ImportErrorKind {
    let mut witness = Witness::new(9);
    let error = witness.pool.import_within(bytes, limits).unwrap_err();
    witness.is_untouched();
    match error {
        ImportError::Invalid { offset, kind } => {
            assert!(offset <= bytes.len());
            kind
        }
        ImportError::NotFound { .. } => panic!("{error:?}"),
    }
}

const INT: &[u8] = &[Tag::Int as u8];
const STR: &[u8] = &[Tag::Str as u8];

#[test]
fn the_head_is_checked() {
    let good = Craft::types(&[INT]).bytes();
    let with = |at: usize, byte: u8| {
        let mut bytes = good[..good.len() - 32].to_vec();
        bytes[at] = byte;
        error_kind_of(&sealed(bytes), &ImportLimits::default())
    };
    assert_eq!(with(0, b'X'), ImportErrorKind::BadMagic);
    assert_eq!(with(4, 9), ImportErrorKind::Version { found: 9 });
    assert_eq!(with(5, 2), ImportErrorKind::Suite { found: 2 });
    assert_eq!(with(6, 1), ImportErrorKind::Reserved);
    assert_eq!(error_kind_of(&[], &ImportLimits::default()), ImportErrorKind::Truncated);
    let mut long = good[..good.len() - 32].to_vec();
    long = sealed(long);
    long.push(0);
    assert_eq!(error_kind_of(&long, &ImportLimits::default()), ImportErrorKind::TrailingBytes);
    let mut wrong = good;
    let last = wrong.len() - 1;
    wrong[last] ^= 1;
    assert_eq!(error_kind_of(&wrong, &ImportLimits::default()), ImportErrorKind::Checksum);
}

#[test]
fn references_must_point_at_earlier_types() {
    let list = Tag::List as u8;
    assert_eq!(Craft::types(&[INT, &[list, 2]]).error_kind(), ImportErrorKind::DanglingReference);
    assert_eq!(Craft::types(&[INT, &[list, 0]]).error_kind(), ImportErrorKind::ForwardReference);
    assert_eq!(Craft::types(&[INT]).root(1).error_kind(), ImportErrorKind::DanglingReference);
    // A group whose member 0 refers to member 7, and one that refers to itself as an outside type.
    assert_eq!(Craft::types(&[&[127, 1, list, 15]]).error_kind(), ImportErrorKind::DanglingReference);
    assert_eq!(Craft::types(&[&[127, 1, list, 0]]).error_kind(), ImportErrorKind::ForwardReference);
    assert_eq!(Craft::types(&[&[127, 1, 127, 1]]).count(2).error_kind(), ImportErrorKind::NestedGroup);
}

#[test]
fn content_must_be_there_once_and_be_reached() {
    let list = Tag::List as u8;
    assert_eq!(Craft::types(&[INT, INT]).error_kind(), ImportErrorKind::DuplicateType);
    assert_eq!(Craft::types(&[INT, &[list, 1], &[list, 2]]).error_kind(), ImportErrorKind::DuplicateType);
    assert_eq!(Craft::types(&[INT, STR]).error_kind(), ImportErrorKind::TypeOrder);
    assert_eq!(Craft::types(&[INT, STR]).root(0).error_kind(), ImportErrorKind::UnreachableType);
    let map = [Tag::Map as u8, 1, 2];
    assert_eq!(Craft::types(&[INT, STR, &map]).error_kind(), ImportErrorKind::TypeOrder);
    assert_eq!(
        Craft::types(&[INT]).strings(&[b"x"]).error_kind(),
        ImportErrorKind::UnusedString { name: "x".into() }
    );
    let mut craft = Craft::types(&[INT]);
    craft.roots.clear();
    assert_eq!(craft.error_kind(), ImportErrorKind::UnreachableType);
}

#[test]
fn claimed_digests_are_recomputed() {
    assert_eq!(Craft::types(&[INT]).error_kind(), ImportErrorKind::RootDigest { label: "r".into() });
}

#[test]
fn imports_must_be_used_and_ordered() {
    let mut pool = Pool::new();
    let int = pool.primitive(Tag::Int).unwrap();
    let digest = pool.digest(int).unwrap();
    let mut craft = Craft::types(&[STR]).root(1);
    craft.imports = vec![digest.0];
    let mut known = Pool::new();
    known.primitive(Tag::Int).unwrap();
    let error = known.import(&craft.bytes()).unwrap_err();
    assert_eq!(error, ImportError::Invalid { offset: 10, kind: ImportErrorKind::UnusedImport });
    craft.imports = vec![digest.0, digest.0];
    assert_eq!(craft.error_kind(), ImportErrorKind::ImportOrder);
    craft.imports = vec![digest.0];
    craft.types = vec![INT.to_vec()];
    assert_eq!(
        known.import(&craft.bytes()).unwrap_err(),
        ImportError::Invalid { offset: 43, kind: ImportErrorKind::DuplicateType }
    );
    assert_eq!(
        Pool::new().import(&craft.bytes()).unwrap_err(),
        ImportError::NotFound { missing: vec![digest] }
    );
}

#[test]
fn groups_must_be_single_minimal_cycles_in_canonical_order() {
    let (list, set, tuple) = (Tag::List as u8, Tag::Set as u8, Tag::Tuple as u8);
    // Two equal members, a member outside the cycle, a group without cycle, an empty group.
    assert_eq!(
        Craft::types(&[&[127, 2, list, 3, list, 1]]).count(2).root(0).error_kind(),
        ImportErrorKind::GroupNotMinimal
    );
    assert_eq!(
        Craft::types(&[&[127, 2, list, 1, set, 1]]).count(2).root(1).error_kind(),
        ImportErrorKind::GroupNotMinimal
    );
    assert_eq!(
        Craft::types(&[INT, &[127, 1, list, 2]]).root(1).error_kind(),
        ImportErrorKind::GroupNotMinimal
    );
    assert_eq!(Craft::types(&[&[127, 0]]).count(1).root(0).error_kind(), ImportErrorKind::GroupNotMinimal);
    assert_eq!(
        Craft::types(&[&[127, 3, list, 1]]).count(1).root(0).error_kind(),
        ImportErrorKind::CountTooLarge { count: 3 }
    );
    // An unfolding of an earlier group: E = (E, E), A = (A, E).
    let e: &[u8] = &[127, 1, tuple, 2, 1, 1];
    let a: &[u8] = &[127, 1, tuple, 2, 1, 2];
    assert_eq!(Craft::types(&[e, a]).root(1).error_kind(), ImportErrorKind::DuplicateType);
    // An ordinary type that unfolds a group duplicates its member.
    assert_eq!(
        Craft::types(&[&[127, 1, list, 1], &[list, 1]]).root(1).error_kind(),
        ImportErrorKind::DuplicateType
    );
    // list and set of each other, in both orders: the canonical one fails only at the digest.
    let orders = [&[127, 2, list, 3, set, 1], &[127, 2, set, 3, list, 1]]
        .map(|group: &[u8; 6]| Craft::types(&[group]).count(2).root(0).error_kind());
    assert!(orders.contains(&ImportErrorKind::GroupOrder), "{orders:?}");
    assert!(orders.contains(&ImportErrorKind::RootDigest { label: "r".into() }), "{orders:?}");
}

#[test]
fn counts_beyond_the_bytes_and_limits_are_refused_before_anything_is_allocated() {
    let huge = |at_strings: bool| {
        let mut out = b"TLPB\x02\x01\0\0".to_vec();
        if !at_strings {
            out.extend([0, 0]);
        }
        out.extend([0xff, 0xff, 0xff, 0xff, 0x0f]);
        error_kind_of(&sealed(out), &ImportLimits::default())
    };
    assert_eq!(huge(true), ImportErrorKind::CountTooLarge { count: u32::MAX });
    assert_eq!(huge(false), ImportErrorKind::CountTooLarge { count: u32::MAX });
    let mut out = b"TLPB\x02\x01\0\0".to_vec();
    out.extend([0xff, 0xff, 0xff, 0xff, 0x1f]);
    assert_eq!(error_kind_of(&sealed(out), &ImportLimits::default()), ImportErrorKind::IntegerTooLarge);
    let mut out = b"TLPB\x02\x01\0\0".to_vec();
    out.extend([0x80, 0x00]);
    assert_eq!(error_kind_of(&sealed(out), &ImportLimits::default()), ImportErrorKind::IntegerNotMinimal);

    let (_, bundle) = random_bundle(1, 40);
    let base = ImportLimits::default();
    let within = |limits: ImportLimits| match error_kind_of(bundle.as_bytes(), &limits) {
        ImportErrorKind::Limit { what, .. } => what,
        other => panic!("{other:?}"),
    };
    assert_eq!(within(ImportLimits { bytes: 100, ..base }), Bounded::Bytes);
    assert_eq!(within(ImportLimits { types: 5, ..base }), Bounded::Types);
    assert_eq!(within(ImportLimits { strings: 1, ..base }), Bounded::Strings);
    assert_eq!(within(ImportLimits { name_bytes: 1, ..base }), Bounded::NameBytes);
    assert_eq!(within(ImportLimits { arity: 1, ..base }), Bounded::Arity);
    assert_eq!(within(ImportLimits { depth: 1, ..base }), Bounded::Depth);
    assert_eq!(within(ImportLimits { roots: 1, ..base }), Bounded::Roots);
    let mut pool = Pool::new();
    let graph: Vec<_> = (0..9u32)
        .map(|at| Descriptor::Container {
            tag: if at == 0 { Tag::Set } else { Tag::List },
            child: GraphRef::Member((at + 1) % 9),
        })
        .collect();
    let ring = pool.intern_graph(&graph).unwrap()[0];
    let ring = pool.export(&[("ring", ring)]).unwrap();
    let kind = |limits: &ImportLimits| error_kind_of(ring.as_bytes(), limits);
    assert_eq!(
        kind(&ImportLimits { group: 8, ..base }),
        ImportErrorKind::Limit { what: Bounded::Group, limit: 8 }
    );
    assert_eq!(
        kind(&ImportLimits { work: 10, ..base }),
        ImportErrorKind::Limit { what: Bounded::Work, limit: 10 }
    );
}

#[test]
fn names_and_strings_must_be_well_formed() {
    let named = [Tag::Named as u8, 0];
    let craft = |name: &[u8]| Craft::types(&[&named]).strings(&[name]).error_kind();
    assert_eq!(craft(b""), ImportErrorKind::Name(NameError::Empty));
    assert_eq!(craft(b"a\x07"), ImportErrorKind::Name(NameError::Control { code: 7 }));
    assert_eq!(craft(&[0xff, 0xfe]), ImportErrorKind::Name(NameError::NotUtf8));
    assert_eq!(craft(&[b'x'; 5000]), ImportErrorKind::Limit { what: Bounded::NameBytes, limit: 4096 });
    assert_eq!(craft(b"r"), ImportErrorKind::RootDigest { label: "r".into() });
    let two = [Tag::Named as u8, 1];
    let craft = |types: &[&[u8]], strings: &[&[u8]]| Craft::types(types).strings(strings).error_kind();
    assert_eq!(craft(&[&two], &[b"a", b"b"]), ImportErrorKind::StringOrder);
    assert_eq!(craft(&[&two], &[b"a"]), ImportErrorKind::DanglingString { index: 1 });
    assert_eq!(craft(&[&named], &[b"a", b"a"]), ImportErrorKind::DuplicateString { name: "a".into() });
    let mut label = Craft::types(&[INT]);
    label.roots[0].0 = Vec::new();
    // An empty label makes the roots shorter than their count requires, or is an invalid name.
    assert!(matches!(
        label.error_kind(),
        ImportErrorKind::Name(NameError::Empty) | ImportErrorKind::CountTooLarge { .. }
    ));
    label.roots = vec![(b"b".to_vec(), 0, [0; 32]), (b"a".to_vec(), 0, [0; 32])];
    assert_eq!(label.error_kind(), ImportErrorKind::RootOrder);
}

#[test]
fn types_must_be_well_formed() {
    let structure = Tag::Struct as u8;
    assert_eq!(Craft::types(&[&[200]]).error_kind(), ImportErrorKind::UnknownTag { number: 200 });
    assert_eq!(Craft::types(&[&[Tag::Infer as u8, 0, 0]]).error_kind(), ImportErrorKind::InferenceVariable);
    let symbol: &[u8] = &[Tag::DimSymbol as u8, 0];
    assert_eq!(
        Craft::types(&[symbol, &[Tag::List as u8, 1]]).strings(&[b"N"]).error_kind(),
        ImportErrorKind::Type(PoolError::WrongSort {
            tag: Tag::List,
            expected: Sort::Type,
            found: Sort::Const
        })
    );
    assert_eq!(
        Craft::types(&[INT, &[structure, 6, 0, 5, 1, 1, 1, 1]]).strings(&[b"S", b"x"]).error_kind(),
        ImportErrorKind::Type(PoolError::DuplicateField { name: "x".into() })
    );
    // Three words announced, two fields declared.
    assert_eq!(
        Craft::types(&[INT, &[structure, 3, 0, 4, 1]]).strings(&[b"S"]).error_kind(),
        ImportErrorKind::Type(PoolError::Layout { tag: Tag::Struct })
    );
    assert_eq!(Craft::types(&[&[Tag::Bound as u8, 0, 0, 0]]).error_kind(), ImportErrorKind::OpenRoot);
    let (bound, scheme) = (Tag::Bound as u8, Tag::Scheme as u8);
    assert_eq!(
        Craft::types(&[&[bound, 0, 1, 0], &[scheme, 3, 1, 0, 0]]).error_kind(),
        ImportErrorKind::SchemeNotNormal
    );
    assert_eq!(
        Craft::types(&[&[bound, 0, 3, 0], &[scheme, 2, 1, 0]]).error_kind(),
        ImportErrorKind::Type(PoolError::VariableOutOfScope { index: 3, count: 1 })
    );
    assert_eq!(
        Craft::types(&[INT, &[Tag::Instance as u8, 1, 1]]).error_kind(),
        ImportErrorKind::Type(PoolError::NotADeclaration { found: Tag::Int })
    );
}

#[test]
fn constants_must_be_in_normal_form_and_order() {
    let (int, sum, tensor) = (Tag::DimConst as u8, Tag::DimSum as u8, Tag::Tensor as u8);
    let symbol = Tag::DimSymbol as u8;
    // 0 + 1 * N is N.
    let craft = Craft::types(&[INT, &[symbol, 0], &[sum, 5, 0, 0, 1, 0, 1], &[tensor, 2, 3, 1]]);
    assert_eq!(craft.strings(&[b"N"]).error_kind(), ImportErrorKind::ConstNotNormal);
    // 3 // 2 is 1.
    let quotient = [Tag::DimFloorDiv as u8, 2, 1];
    let craft = Craft::types(&[INT, &[int, 3, 0], &[int, 2, 0], &quotient, &[tensor, 2, 4, 1]]);
    assert_eq!(craft.error_kind(), ImportErrorKind::ConstNotNormal);
    // N + M and M + N: one is in the order of digests.
    let kinds = [[b"N", b"M"], [b"M", b"N"]].map(|[a, b]| {
        let types: &[&[u8]] =
            &[INT, &[symbol, 0], &[symbol, 1], &[sum, 8, 0, 0, 1, 0, 2, 1, 0, 1], &[tensor, 2, 4, 1]];
        Craft::types(types).strings(&[a, b]).error_kind()
    });
    assert!(kinds.contains(&ImportErrorKind::OperandOrder), "{kinds:?}");
    assert!(kinds.contains(&ImportErrorKind::RootDigest { label: "r".into() }), "{kinds:?}");
}

#[test]
fn arbitrary_bytes_and_spliced_bundles_never_panic() {
    let mut rng = Random(31);
    let sources = bundles();
    let mut pool = Pool::new();
    for _ in 0..3000 {
        let mut bytes = body(&sources[rng.below(sources.len())]);
        for _ in 0..1 + rng.below(4) {
            let at = rng.below(bytes.len());
            match rng.below(4) {
                0 => bytes[at] = rng.bits() as u8,
                1 => {
                    bytes.remove(at);
                }
                2 => bytes.insert(at, rng.bits() as u8),
                _ => {
                    let other = body(&sources[rng.below(sources.len())]);
                    let from = rng.below(other.len());
                    let len = rng.below(16).min(other.len() - from);
                    bytes.splice(at..at, other[from..from + len].iter().copied());
                }
            }
        }
        let bytes = sealed(bytes);
        if pool.import(&bytes).is_ok() {
            assert_eq!(export_again(&mut Pool::new(), &bytes).unwrap(), bytes);
            pool = Pool::new();
        }
        assert!(pool.is_empty());
    }
}

#[test]
fn broken_json_views_are_typed_errors() {
    let (_, bundle) = random_bundle(2, 20);
    let json = bundle.to_json().unwrap();
    let limits = ImportLimits::default();
    let mut rng = Random(8);
    for _ in 0..300 {
        let mut text: Vec<char> = json.chars().collect();
        let at = rng.below(text.len());
        text[at] = *rng.pick(&['0', '9', '"', '{', ']', 'x', '-']);
        let text: String = text.into_iter().collect();
        if let Ok(changed) = Bundle::from_json(&text, &limits)
            && let Ok(back) = export_again(&mut Pool::new(), changed.as_bytes())
        {
            assert_eq!(back, changed.as_bytes());
        }
    }
    for len in (0..json.len()).step_by(7).filter(|&len| json.is_char_boundary(len)) {
        assert!(Bundle::from_json(&json[..len], &limits).is_err());
    }
    let deep = "[".repeat(100_000);
    assert!(Bundle::from_json(&deep, &limits).is_err());
    assert!(Bundle::from_json(&json, &ImportLimits { bytes: 10, ..limits }).is_err());
}
