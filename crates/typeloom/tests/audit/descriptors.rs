//! Promises about pools, portable descriptors, bundles and exports of modules.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt::Debug;
use std::hash::Hash;

use typeloom::interface::Direction;
use typeloom::pool::{
    Descriptor, Digest, GraphRef, Idx, ModuleItem, NameId, Pool, Sort, Tag, TypeDescriptor, TypedModule,
    Variable, VariantDescriptor, Visibility,
};

use super::{Outcome, message};

/// A closed type of every kind that a pool can transport.
fn every_kind(pool: &mut Pool) -> Result<Vec<Idx>, Box<dyn std::error::Error>> {
    let mut all = Vec::new();
    for &tag in Tag::ALL {
        all.extend(pool.primitive(tag));
    }
    let (int, text) = (pool.primitive(Tag::Int)?, pool.primitive(Tag::Str)?);
    for &tag in Tag::ALL {
        all.extend(pool.container(tag, text));
        all.extend(pool.intern(&Descriptor::TwoChild { tag, child1: text, child2: int }));
    }
    let names: [NameId; 4] =
        ["Shape", "side", "T", "alias"].map(|name| pool.name(name).expect("it is valid"));
    let [shape, side, t, alias] = names;
    let (lifetime, bound) = (pool.lifetime("a")?, pool.bound(0, 0, Sort::Type)?);
    let (list, dim) = (pool.list(bound)?, pool.bound(0, 1, Sort::Const)?);
    let body = pool.tensor(bound, &[dim])?;
    let declared = pool.declared(alias, &[Sort::Type], list)?;
    let dims = [pool.dim_symbol("N")?, pool.dim_const(-7)?];
    let product = pool.dim_mul(&dims)?;
    all.extend([
        pool.borrowed(int, lifetime)?,
        pool.function(&[int, text], int)?,
        pool.tuple(&[int, int])?,
        pool.structure(shape, &[(side, int)])?,
        pool.enumeration(shape, &[(side, &[int, text]), (t, &[])])?,
        pool.applied(shape, &[int, lifetime])?,
        pool.opaque(shape)?,
        pool.named(shape)?,
        pool.rigid(t)?,
        declared,
        pool.instance(declared, &[text])?,
        pool.scheme(&[Sort::Type, Sort::Const], body)?,
        pool.tensor(int, &[product])?,
        pool.tensor_unranked(text)?,
    ]);
    all.extend(pool.intern_graph(&[
        Descriptor::Tuple { elements: vec![GraphRef::Outer(int), GraphRef::Member(1)] },
        Descriptor::Container { tag: Tag::Option, child: GraphRef::Member(0) },
    ])?);
    Ok(all)
}

#[test]
fn descriptors_have_the_published_variants_and_fields() -> Outcome {
    let mut pool = Pool::new();
    let (bool, unit) = (pool.primitive(Tag::Bool)?, pool.primitive(Tag::Unit)?);
    let [of_bool, of_unit] = [pool.digest(bool)?, pool.digest(unit)?];
    let name = pool.name("Door")?;
    let field = pool.name("open")?;
    let variable = pool.bound(0, 0, Sort::Type)?;
    let static_ = pool.lifetime("static")?;
    let of_static = pool.digest(static_)?;
    let seven: [(Tag, &str); 7] = [
        (Tag::List, "list"),
        (Tag::Option, "option"),
        (Tag::Set, "set"),
        (Tag::Channel, "channel"),
        (Tag::Range, "range"),
        (Tag::Iterator, "iterator"),
        (Tag::DoubleEndedIterator, "double_ended_iterator"),
    ];
    for (tag, word) in seven {
        let ty = pool.container(tag, unit)?;
        assert_eq!(pool.describe(ty)?, TypeDescriptor::Container { tag, child: of_unit });
        assert_eq!(pool.signature(ty), format!("{word}<unit>"));
    }
    for (ty, tag) in [(pool.map(bool, unit)?, Tag::Map), (pool.result(bool, unit)?, Tag::Result)] {
        assert_eq!(pool.describe(ty)?, TypeDescriptor::TwoChild { tag, child1: of_bool, child2: of_unit });
    }
    let expected: Vec<(Idx, TypeDescriptor)> = vec![
        (bool, TypeDescriptor::Primitive(Tag::Bool)),
        (pool.borrowed(unit, static_)?, TypeDescriptor::Borrowed { inner: of_unit, lifetime: of_static }),
        (
            pool.function(&[unit, bool], bool)?,
            TypeDescriptor::Function { params: vec![of_unit, of_bool], returns: of_bool },
        ),
        (pool.tuple(&[bool])?, TypeDescriptor::Tuple { elements: vec![of_bool] }),
        (
            pool.structure(name, &[(field, bool)])?,
            TypeDescriptor::Struct {
                name: "Door".into(),
                field_names: vec!["open".into()],
                field_types: vec![of_bool],
            },
        ),
        (
            pool.enumeration(name, &[(field, &[unit])])?,
            TypeDescriptor::Enum {
                name: "Door".into(),
                variants: vec![VariantDescriptor {
                    name: "open".into(),
                    field_names: vec![],
                    field_types: vec![of_unit],
                }],
            },
        ),
        (
            pool.applied(name, &[bool, static_])?,
            TypeDescriptor::Applied { name: "Door".into(), args: vec![of_bool, of_static] },
        ),
        (pool.named(name)?, TypeDescriptor::Named { name: "Door".into() }),
    ];
    for (ty, descriptor) in expected {
        assert_eq!(pool.describe(ty)?, descriptor);
    }
    let list = pool.list(variable)?;
    let scheme = pool.scheme(&[Sort::Type], list)?;
    let of_list = pool.digest(list)?;
    assert_eq!(pool.describe(scheme)?, TypeDescriptor::Scheme { vars: vec![Sort::Type], body: of_list });
    let bound = Variable::Bound { depth: 0, index: 0, sort: Sort::Type };
    assert_eq!(pool.describe(variable)?, TypeDescriptor::Variable(bound));
    Ok(())
}

/// The published loop over the children of a descriptor, with methods in place of fields.
fn child_hashes(descriptor: &TypeDescriptor) -> Vec<Digest> {
    match descriptor {
        TypeDescriptor::Container { .. } => descriptor.child_hash().into_iter().copied().collect(),
        TypeDescriptor::TwoChild { .. } => {
            [descriptor.child1_hash(), descriptor.child2_hash()].into_iter().flatten().copied().collect()
        }
        TypeDescriptor::Borrowed { .. } => {
            [descriptor.inner_hash(), descriptor.lifetime_id()].into_iter().flatten().copied().collect()
        }
        TypeDescriptor::Function { .. } => {
            let params = descriptor.param_hashes().into_iter().flatten();
            params.chain(descriptor.return_hash()).copied().collect()
        }
        TypeDescriptor::Enum { variants, .. } => {
            variants.iter().flat_map(VariantDescriptor::field_type_hashes).copied().collect()
        }
        _ => {
            let lists =
                [descriptor.element_hashes(), descriptor.field_type_hashes(), descriptor.arg_hashes()];
            let lists = lists.into_iter().flatten().flatten();
            lists.chain(descriptor.body_hash()).copied().collect()
        }
    }
}

#[test]
fn children_have_their_published_names_and_precede_their_parents() -> Outcome {
    let mut pool = Pool::new();
    let all = every_kind(&mut pool)?;
    let kinds = [Tag::Instance, Tag::Declared, Tag::Scheme, Tag::Tensor, Tag::TensorUnranked];
    for ty in all {
        if pool.is_recursive(ty) {
            continue;
        }
        let descriptor = pool.describe(ty)?;
        if !kinds.contains(&pool.tag(ty)) {
            let mut children = Vec::new();
            for child in pool.children(ty) {
                children.push(pool.digest(child)?);
            }
            let mut found = child_hashes(&descriptor);
            children.sort_unstable();
            found.sort_unstable();
            assert_eq!(found, children, "{descriptor:?}");
        }
        let mut known = HashSet::new();
        for (digest, descriptor) in pool.describe_transitive(ty)? {
            assert!(child_hashes(&descriptor).iter().all(|child| known.contains(child)));
            known.insert(digest);
        }
    }
    Ok(())
}

#[test]
fn a_shared_pool_describes_its_types() -> Outcome {
    fn description(pool: &Pool, ty: Idx) -> Result<(TypeDescriptor, usize), Box<dyn std::error::Error>> {
        Ok((pool.describe(ty)?, pool.describe_transitive(ty)?.len()))
    }
    let mut pool = Pool::new();
    let (int, text) = (pool.primitive(Tag::Int)?, pool.primitive(Tag::Str)?);
    let map = pool.map(text, int)?;
    let list = pool.list(map)?;
    let (descriptor, count) = description(&pool, list)?;
    assert_eq!((descriptor.child_hash(), count), (Some(&pool.digest(map)?), 4));
    assert_eq!(descriptor.digest()?, pool.digest(list)?);
    Ok(())
}

#[test]
fn children_are_digests_that_do_not_depend_on_the_pool() -> Outcome {
    let build = |pool: &mut Pool| -> Result<_, Box<dyn std::error::Error>> {
        let all = every_kind(pool)?;
        Ok(pool.describe_transitive(*all.last().expect("there are kinds"))?)
    };
    let mut empty = Pool::new();
    let mut used = Pool::new();
    for name in ["zeta", "side", "Shape"] {
        let name = used.name(name)?;
        let opaque = used.opaque(name)?;
        used.container(Tag::Set, opaque)?;
    }
    assert_eq!(build(&mut empty)?, build(&mut used)?);
    let (one, other) = (every_kind(&mut empty)?, every_kind(&mut used)?);
    assert_ne!(one, other, "local ids differ");
    for (one, other) in one.into_iter().zip(other) {
        assert_eq!(empty.digest(one)?, used.digest(other)?);
        assert_eq!(empty.describe(one)?, used.describe(other)?);
    }
    Ok(())
}

#[test]
fn every_kind_has_a_digest_of_its_own() -> Outcome {
    let mut pool = Pool::new();
    let all = every_kind(&mut pool)?;
    let digests: BTreeSet<Digest> = all.iter().map(|ty| pool.digest(*ty)).collect::<Result<_, _>>()?;
    assert_eq!(digests.len(), all.len());
    // The digest of a description is the digest of the type: nothing of the content is missing.
    for ty in all {
        assert_eq!(pool.describe(ty)?.digest()?, pool.digest(ty)?);
    }
    Ok(())
}

#[test]
fn a_transitive_description_is_deduplicated_with_leaves_first() -> Outcome {
    let mut pool = Pool::new();
    let (int, text) = (pool.primitive(Tag::Int)?, pool.primitive(Tag::Str)?);
    let map = pool.map(text, int)?;
    let list = pool.list(map)?;
    // The published order: int, str, map, list.
    let digests: Vec<Digest> =
        pool.describe_transitive(list)?.into_iter().map(|(digest, _)| digest).collect();
    assert_eq!(digests, [pool.digest(int)?, pool.digest(text)?, pool.digest(map)?, pool.digest(list)?]);

    // A lattice of shared pairs: 40 levels are 41 descriptors, not 2^40.
    let mut ty = int;
    for _ in 0..40 {
        ty = pool.tuple(&[ty, ty])?;
    }
    let all = pool.describe_transitive(ty)?;
    assert_eq!(all.len(), 41);
    let mut known = HashSet::new();
    for (digest, descriptor) in &all {
        if let TypeDescriptor::Tuple { elements } = descriptor {
            assert!(elements.iter().all(|child| known.contains(child)));
        }
        assert!(known.insert(*digest));
    }
    Ok(())
}

#[test]
fn reconstruct_keeps_existing_types_and_maps_digests_to_local_ids() -> Outcome {
    let mut source = Pool::new();
    let all = every_kind(&mut source)?;
    for ty in all {
        let descriptors = source.describe_transitive(ty)?;
        // Into an empty pool, and into one that has a part of the types already, in the reverse order.
        let mut empty = Pool::new();
        let types: BTreeMap<Digest, Idx> = empty.reconstruct(&descriptors)?;
        assert_eq!(types.len(), descriptors.len());
        assert_eq!(empty.describe_transitive(types[&source.digest(ty)?])?, descriptors);

        let mut other = Pool::new();
        let half = &descriptors[..descriptors.len().div_ceil(2)];
        let first = other.reconstruct(half)?;
        let before = other.len();
        let reversed: Vec<_> = descriptors.iter().rev().cloned().collect();
        let both = other.reconstruct(&reversed)?;
        assert!(first.iter().all(|(digest, id)| both[digest] == *id));
        let after = other.len();
        assert_eq!(other.reconstruct(&descriptors)?, both);
        assert_eq!(other.len(), after, "nothing is interned twice");
        assert!(after >= before);
    }
    Ok(())
}

#[test]
fn a_claimed_digest_is_not_trusted_and_a_missing_child_is_listed() -> Outcome {
    let mut pool = Pool::new();
    let (int, text) = (pool.primitive(Tag::Int)?, pool.primitive(Tag::Str)?);
    let (ints, texts) = (pool.list(int)?, pool.list(text)?);
    let map = pool.map(texts, ints)?;
    let all = pool.describe_transitive(map)?;

    let mut swapped = all.clone();
    let last = swapped.len() - 1;
    swapped[last].0 = all[0].0;
    let mut other = Pool::new();
    assert!(message(other.reconstruct(&swapped)).contains("has the digest"));
    assert!(other.is_empty(), "an error leaves the pool unchanged");

    let without: Vec<_> =
        all.iter().filter(|(_, one)| !matches!(one, Descriptor::Primitive(_))).cloned().collect();
    let error = message(other.reconstruct(&without));
    assert!(error.contains("2 types"), "{error}");
    assert!(other.is_empty());
    // With the missing types in the pool, the same descriptions are complete.
    other.primitive(Tag::Int)?;
    other.primitive(Tag::Str)?;
    assert_eq!(other.reconstruct(&without)?.len(), 3);
    Ok(())
}

#[test]
fn deep_and_malformed_descriptions_are_no_crash() -> Outcome {
    let mut pool = Pool::new();
    let mut ty = pool.primitive(Tag::Unit)?;
    for _ in 0..100_000 {
        ty = pool.option(ty)?;
    }
    let all = pool.describe_transitive(ty)?;
    let mut other = Pool::new();
    let types = other.reconstruct(&all)?;
    assert_eq!(other.digest(types[&pool.digest(ty)?])?, pool.digest(ty)?);

    let unit = pool.primitive(Tag::Unit)?;
    let of_unit = pool.digest(unit)?;
    let malformed = [
        TypeDescriptor::Primitive(Tag::List),
        TypeDescriptor::Container { tag: Tag::Map, child: of_unit },
        TypeDescriptor::TwoChild { tag: Tag::Unit, child1: of_unit, child2: of_unit },
        TypeDescriptor::Struct { name: "S".into(), field_names: vec!["a".into()], field_types: vec![] },
        TypeDescriptor::Struct {
            name: "S".into(),
            field_names: vec!["a".into(), "a".into()],
            field_types: vec![of_unit, of_unit],
        },
        TypeDescriptor::Named { name: String::new() },
        TypeDescriptor::Borrowed { inner: of_unit, lifetime: of_unit },
        TypeDescriptor::Scheme { vars: vec![], body: of_unit },
        TypeDescriptor::Instance { declaration: of_unit, args: vec![] },
    ];
    for descriptor in malformed {
        let Ok(digest) = descriptor.digest() else { continue };
        let list = [(of_unit, TypeDescriptor::Primitive(Tag::Unit)), (digest, descriptor.clone())];
        let before = other.len();
        assert!(other.reconstruct(&list).is_err(), "{descriptor:?}");
        assert_eq!(other.len(), before);
    }
    Ok(())
}

#[test]
fn bound_variables_do_not_depend_on_local_numbering_and_inference_variables_do_not_travel() -> Outcome {
    let mut pool = Pool::new();
    let scheme = |pool: &mut Pool, first: u32, second: u32| -> Result<Idx, Box<dyn std::error::Error>> {
        let (a, b) = (pool.bound(0, first, Sort::Type)?, pool.bound(0, second, Sort::Type)?);
        let function = pool.function(&[a, b], a)?;
        Ok(pool.scheme(&[Sort::Type; 3], function)?)
    };
    let (one, other) = (scheme(&mut pool, 0, 1)?, scheme(&mut pool, 2, 0)?);
    assert_eq!(one, other, "an unused variable and the order of the variables do not count");
    assert_eq!(pool.signature(one), "forall T, U. (T, U) -> T");

    let open = pool.infer(3, Sort::Type)?;
    let list = pool.list(open)?;
    assert!(message(pool.describe(list)).contains("inference"));
    assert!(pool.describe_transitive(list).is_err() && pool.digest(list).is_err());
    assert!(pool.export(&[("list", list)]).is_err());
    Ok(())
}

#[test]
fn nominal_opaque_applied_unresolved_and_rigid_names_are_different_things() -> Outcome {
    let mut pool = Pool::new();
    let name = pool.name("Key")?;
    let int = pool.primitive(Tag::Int)?;
    let text = pool.primitive(Tag::Str)?;
    let (of_int, of_text) = (pool.declared(name, &[], int)?, pool.declared(name, &[], text)?);
    let types = [
        pool.opaque(name)?,
        pool.named(name)?,
        pool.rigid(name)?,
        pool.applied(name, &[])?,
        of_int,
        of_text,
        pool.instance(of_int, &[])?,
        pool.structure(name, &[])?,
    ];
    let digests: BTreeSet<Digest> = types.iter().map(|ty| pool.digest(*ty)).collect::<Result<_, _>>()?;
    assert_eq!(digests.len(), types.len(), "a declaration covers its definition");
    let texts = types[..4].iter().map(|ty| pool.signature(*ty)).collect::<Vec<_>>();
    assert_eq!(texts, ["Key", "?Key", "!Key", "Key<>"]);
    // No kind is compatible with another one of the same name.
    for (at, one) in types.iter().enumerate() {
        for other in &types[at + 1..] {
            assert!(!pool.compat(*one, *other, Direction::Full).is_compatible());
        }
    }
    Ok(())
}

#[test]
fn a_placeholder_inside_a_scheme_is_rigid_through_a_bundle() -> Outcome {
    use typeloom::term::{Boxed, Scope, Symbols, parse_ty, print};

    let (cx, mut symbols) = (Boxed::new(), Symbols::new());
    let scope = Scope::new().types(["Element"]);
    let rigid = parse_ty(&cx, &mut symbols, &scope, "for<'a> fn(&'a Element) -> Element")?;
    let opaque = parse_ty(&cx, &mut symbols, &Scope::new(), "for<'a> fn(&'a Element) -> Element")?;
    let mut pool = Pool::new();
    let (rigid, opaque) =
        (pool.intern_term(&cx, &symbols, &rigid)?, pool.intern_term(&cx, &symbols, &opaque)?);
    assert_ne!(pool.digest(rigid)?, pool.digest(opaque)?);
    assert!(pool.signature(rigid).contains("!Element"), "{}", pool.signature(rigid));
    let bundle = pool.export(&[("f", rigid)])?;
    let mut other = Pool::new();
    let root = other.import(bundle.as_bytes())?[0].ty;
    let mut fresh = Symbols::new();
    let back = other.term(&cx, &mut fresh, root)?;
    assert_eq!(print(&back, &fresh), "for<'x> fn(&'x Element) -> Element");
    let element = other.children(root);
    assert!(!element.is_empty());
    let kinds: Vec<TypeDescriptor> =
        other.describe_transitive(root)?.into_iter().map(|(_, descriptor)| descriptor).collect();
    assert!(kinds.contains(&TypeDescriptor::Rigid { name: "Element".into() }));
    assert!(!kinds.iter().any(|kind| matches!(kind, TypeDescriptor::Named { .. })));
    Ok(())
}

#[test]
fn payloads_of_aliases_travel() -> Outcome {
    use typeloom::term::{Boxed, Scope, Symbols, parse_ty, print};

    let (cx, mut symbols) = (Boxed::new(), Symbols::new());
    let mut pool = Pool::new();
    let scope = Scope::new().types(["B"]);
    let mut digests = BTreeSet::new();
    for text in [
        "<B as Backend>::Tensor",
        "<u8 as Backend>::Tensor",
        "<B as Index<u8>>::Tensor",
        "<B as Backend>::Error",
    ] {
        let ty = parse_ty(&cx, &mut symbols, &scope, text)?;
        let id = pool.intern_term(&cx, &symbols, &ty)?;
        let descriptors = pool.describe_transitive(id)?;
        let digest = pool.digest(id)?;
        let mut other = Pool::new();
        let back = other.reconstruct(&descriptors)?[&digest];
        let mut fresh = Symbols::new();
        let back = other.term(&cx, &mut fresh, back)?;
        assert_eq!(print(&back, &fresh), text);
        assert!(digests.insert(digest), "{text}");
    }
    Ok(())
}

#[test]
fn a_module_exports_the_types_of_public_signatures_only() -> Outcome {
    let mut pool = Pool::new();
    let (int, text) = (pool.primitive(Tag::Int)?, pool.primitive(Tag::Str)?);
    let [secret, shown] = ["Secret", "Shown"].map(|name| pool.name(name).expect("it is valid"));
    let field = pool.name("f")?;
    let secret = pool.structure(secret, &[(field, text)])?;
    let shown = pool.structure(shown, &[(field, int)])?;
    let (public, private) = (pool.function(&[shown, shown], int)?, pool.function(&[secret], secret)?);
    let items = [
        ModuleItem { name: "measure", ty: public, visibility: Visibility::Public },
        ModuleItem { name: "again", ty: public, visibility: Visibility::Public },
        ModuleItem { name: "encode", ty: private, visibility: Visibility::Private },
    ];
    let module = TypedModule::new(&mut pool, &items)?;
    let described: Vec<Digest> = module.type_descriptors.iter().map(|(digest, _)| *digest).collect();
    assert_eq!(described, [pool.digest(int)?, pool.digest(shown)?, pool.digest(public)?]);
    assert_eq!(module.exports.keys().collect::<Vec<_>>(), ["again", "measure"]);
    // The importer has neither the source nor the pool.
    drop(pool);
    let copy = module.clone();
    let mut importer = Pool::new();
    let exports = copy.import(&mut importer)?;
    assert_eq!(
        importer.signature(exports["measure"]),
        "(struct Shown { f: int }, struct Shown { f: int }) -> int"
    );
    let mut broken = copy.clone();
    broken.type_descriptors.remove(0);
    let mut other = Pool::new();
    assert!(broken.import(&mut other).is_err() && other.is_empty());
    Ok(())
}

#[test]
fn values_can_be_memoised() {
    fn memoised<T: Clone + Eq + Hash + Debug>() {}
    memoised::<TypeDescriptor>();
    memoised::<VariantDescriptor>();
    memoised::<TypedModule>();
    memoised::<Digest>();
    memoised::<Idx>();
    memoised::<Tag>();
    memoised::<Sort>();
    memoised::<ModuleItem<'_>>();
    memoised::<typeloom::pool::TypeChange>();
    assert_eq!(size_of::<Digest>(), 32, "an identity has 256 bits");
    assert_eq!((size_of::<Idx>(), size_of::<Option<Idx>>()), (4, 4), "local ids are dense and small");
}

#[test]
fn the_shape_digest_erases_nominal_names_only() -> Outcome {
    let mut pool = Pool::new();
    let int = pool.primitive(Tag::Int)?;
    let [a, b, f, g] = ["A", "B", "f", "g"].map(|name| pool.name(name).expect("it is valid"));
    let (one, other) = (pool.structure(a, &[(f, int)])?, pool.structure(b, &[(f, int)])?);
    let renamed = pool.structure(a, &[(g, int)])?;
    let wider = pool.structure(a, &[(f, int), (g, int)])?;
    assert_ne!(pool.digest(one)?, pool.digest(other)?);
    assert_eq!(pool.shape_digest(one)?, pool.shape_digest(other)?);
    assert_ne!(pool.shape_digest(one)?, pool.shape_digest(wider)?);
    assert_ne!(pool.shape_digest(one)?, pool.shape_digest(renamed)?);
    Ok(())
}

#[test]
fn recursive_types_are_equal_however_they_are_written() -> Outcome {
    let mut pool = Pool::new();
    let name = pool.name("Chain")?;
    let node = |next: u32| Descriptor::Struct {
        name: "Chain".to_owned(),
        field_names: vec!["next".to_owned()],
        field_types: vec![GraphRef::Member(next)],
    };
    let option = |of: u32| Descriptor::Container { tag: Tag::Option, child: GraphRef::Member(of) };
    let short = pool.intern_graph(&[node(1), option(0)])?[0];
    let long = pool.intern_graph(&[node(1), option(2), node(3), option(4), node(5), option(0)])?[0];
    assert_eq!(short, long);
    let option = pool.option(short)?;
    let field = pool.name("next")?;
    assert_eq!(pool.structure(name, &[(field, option)])?, short, "an unfolding is the type itself");
    let mut other = Pool::new();
    let descriptors = pool.describe_transitive(short)?;
    let back = other.reconstruct(&descriptors)?[&pool.digest(short)?];
    assert_eq!(other.signature(back), "rec0 = struct Chain { next: option<rec0> }");
    Ok(())
}

#[test]
fn bundles_are_canonical_and_damage_is_found() -> Outcome {
    let mut pool = Pool::new();
    let all = every_kind(&mut pool)?;
    let labels: Vec<String> = (0..all.len()).map(|at| format!("t{at:03}")).collect();
    let roots: Vec<(&str, Idx)> = labels.iter().map(String::as_str).zip(all.iter().copied()).collect();
    let bytes = pool.export(&roots)?.into_bytes();
    // Another pool with another history exports the same bytes.
    let mut other = Pool::new();
    let unrelated = other.name("unrelated")?;
    other.opaque(unrelated)?;
    let imported = other.import(&bytes)?;
    for (root, (label, ty)) in imported.iter().zip(&roots) {
        assert_eq!((root.label.as_str(), root.digest), (*label, pool.digest(*ty)?));
    }
    let again: Vec<(&str, Idx)> = imported.iter().map(|root| (root.label.as_str(), root.ty)).collect();
    assert_eq!(other.export(&again)?.into_bytes(), bytes);
    // Every changed byte is an error, or yields types with other digests or labels; a failed import adds
    // nothing.
    for at in (0..bytes.len()).step_by(3) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x15;
        let mut reader = Pool::new();
        match reader.import(&damaged) {
            Err(_) => assert!(reader.is_empty(), "byte {at}"),
            Ok(found) => assert!(
                !found.iter().zip(&imported).all(|(a, b)| (&a.label, a.digest) == (&b.label, b.digest)),
                "byte {at}"
            ),
        }
    }
    for end in (0..bytes.len()).step_by(7) {
        assert!(Pool::new().import(&bytes[..end]).is_err());
    }
    Ok(())
}

#[test]
fn compatibility_has_directions_and_paths() -> Outcome {
    let mut pool = Pool::new();
    let (int, text) = (pool.primitive(Tag::Int)?, pool.primitive(Tag::Str)?);
    let [reply, code, note] = ["Reply", "code", "note"].map(|name| pool.name(name).expect("it is valid"));
    let old = pool.structure(reply, &[(code, int)])?;
    let new = pool.structure(reply, &[(code, int), (note, text)])?;
    let (old, new) = (pool.function(&[text], old)?, pool.function(&[text], new)?);
    let verdict = |pool: &Pool, direction| pool.compat(old, new, direction).is_compatible();
    assert!(!verdict(&pool, Direction::Backward) && verdict(&pool, Direction::Forward));
    assert!(!verdict(&pool, Direction::Full));
    assert_eq!(pool.diff(old, new), "returns: field `note` added (breaks backward)\n");
    assert!(pool.diff(new, new).is_empty() && pool.compat(new, new, Direction::Full).equal);
    Ok(())
}

#[test]
fn differences_name_the_variables_of_schemes() -> Outcome {
    let mut pool = Pool::new();
    let (key, value) = (pool.bound(0, 0, Sort::Type)?, pool.bound(0, 1, Sort::Type)?);
    let (int, lookup) = (pool.primitive(Tag::Int)?, pool.map(key, value)?);
    let found = pool.option(value)?;
    let function = pool.function(&[lookup, key], found)?;
    let narrowed = pool.function(&[lookup, int], found)?;
    let (old, new) = (pool.scheme(&[Sort::Type; 2], function)?, pool.scheme(&[Sort::Type; 2], narrowed)?);
    // Variables are numbered by their first use, and the result comes first.
    assert_eq!(pool.signature(old), "forall T, U. (map<U, T>, U) -> option<T>");
    assert_eq!(pool.diff(old, new), "body.param[1]: `U` -> `int` (incompatible)\n");
    assert!(pool.tree(old).contains("0: map"), "{}", pool.tree(old));
    assert!(!pool.tree(old).contains('^') && !pool.diff(new, old).contains('^'));
    Ok(())
}
