//! Description and reconstruction of types; exports of modules.

use crate::support::random_types;
use typeloom_pool::{
    Descriptor, Digest, GraphRef, Idx, ModuleItem, Pool, ReconstructError, Sort, Tag, TypeDescriptor,
    TypedModule, Visibility,
};
use typeloom_testing::Random;

fn digest_of(descriptor: &TypeDescriptor) -> Digest {
    descriptor.digest().unwrap()
}

fn with_digest(descriptor: TypeDescriptor) -> (Digest, TypeDescriptor) {
    (digest_of(&descriptor), descriptor)
}

#[test]
fn a_list_of_maps_gives_four_descriptors_in_topological_order() {
    let mut pool = Pool::new();
    let int = pool.primitive(Tag::Int).unwrap();
    let str = pool.primitive(Tag::Str).unwrap();
    let map = pool.map(str, int).unwrap();
    let list = pool.list(map).unwrap();
    let descriptors = pool.describe_transitive(list).unwrap();
    assert_eq!(descriptors.len(), 4);
    let [int, str, map] = [int, str, map].map(|ty| pool.digest(ty).unwrap());
    let place = |wanted: &TypeDescriptor| {
        descriptors.iter().position(|(_, descriptor)| descriptor == wanted).unwrap()
    };
    let int_at = place(&Descriptor::Primitive(Tag::Int));
    let str_at = place(&Descriptor::Primitive(Tag::Str));
    let map_at = place(&Descriptor::TwoChild { tag: Tag::Map, child1: str, child2: int });
    let list_at = place(&Descriptor::Container { tag: Tag::List, child: map });
    assert!(int_at < map_at && str_at < map_at && map_at < list_at);
}

#[test]
fn primitives_come_first_in_the_order_of_their_names() {
    let mut pool = Pool::new();
    let [str, int, bool] = [Tag::Str, Tag::Int, Tag::Bool].map(|tag| pool.primitive(tag).unwrap());
    let list = pool.list(str).unwrap();
    let function = pool.function(&[list, int], bool).unwrap();
    let described: Vec<Digest> =
        pool.describe_transitive(function).unwrap().into_iter().map(|(digest, _)| digest).collect();
    assert_eq!(described, [bool, int, str, list, function].map(|ty| pool.digest(ty).unwrap()));
}

#[test]
fn a_pool_describes_types_without_storing_their_digests() {
    for seed in 0..20 {
        let mut pool = Pool::new();
        let mut types = random_types(&mut Random(seed), &mut pool, 40);
        let tree = |leaf: Idx| {
            let member = |at: u32| GraphRef::Member(at);
            let elements = vec![GraphRef::Outer(leaf), member(1)];
            [Descriptor::Tuple { elements }, Descriptor::Container { tag: Tag::Option, child: member(0) }]
        };
        let int = pool.primitive(Tag::Int).unwrap();
        types.extend(pool.intern_graph(&tree(int)).unwrap());
        let shared: &Pool = &pool;
        let one_by_one: Vec<_> = types.iter().map(|ty| shared.describe(*ty).unwrap()).collect();
        let all = shared.describe_all(&types).unwrap();
        assert!(types.iter().all(|ty| shared.known_digest(*ty).is_none()), "seed {seed}");
        // Some digests are stored, then all.
        for step in [3, 1] {
            for ty in types.iter().step_by(step) {
                pool.digest(*ty).unwrap();
            }
            let again: Vec<_> = types.iter().map(|ty| pool.describe(*ty).unwrap()).collect();
            assert_eq!(again, one_by_one, "seed {seed}");
            assert_eq!(pool.describe_all(&types).unwrap(), all, "seed {seed}");
        }
        let digests: Vec<_> = types.iter().map(|ty| pool.digest(*ty).unwrap()).collect();
        assert!(one_by_one.iter().map(digest_of).eq(digests), "seed {seed}");
    }
}

#[test]
fn parts_have_their_published_names() {
    let mut pool = Pool::new();
    let [int, str] = [Tag::Int, Tag::Str].map(|tag| pool.primitive(tag).unwrap());
    let [of_int, of_str] = [int, str].map(|ty| pool.digest(ty).unwrap());
    let name = pool.name("Name").unwrap();
    let static_ = pool.lifetime("static").unwrap();
    let of_static = pool.digest(static_).unwrap();
    let of = |ty: Result<Idx, _>, pool: &Pool| pool.describe(ty.unwrap()).unwrap();

    let list = of(pool.list(int), &pool);
    assert_eq!((list.child_hash(), list.child1_hash(), list.element_hashes()), (Some(&of_int), None, None));
    let map = of(pool.map(str, int), &pool);
    assert_eq!((map.child1_hash(), map.child2_hash()), (Some(&of_str), Some(&of_int)));
    let borrowed = of(pool.borrowed(int, static_), &pool);
    assert_eq!((borrowed.inner_hash(), borrowed.lifetime_id()), (Some(&of_int), Some(&of_static)));
    let function = of(pool.function(&[int, str], int), &pool);
    assert_eq!(function.param_hashes(), Some(&[of_int, of_str][..]));
    assert_eq!(function.return_hash(), Some(&of_int));
    assert_eq!(of(pool.tuple(&[str]), &pool).element_hashes(), Some(&[of_str][..]));
    assert_eq!(of(pool.structure(name, &[(name, int)]), &pool).field_type_hashes(), Some(&[of_int][..]));
    assert_eq!(of(pool.applied(name, &[int, static_]), &pool).arg_hashes(), Some(&[of_int, of_static][..]));
    let variable = pool.bound(0, 0, Sort::Type).unwrap();
    let scheme = of(pool.scheme(&[Sort::Type], variable), &pool);
    let of_variable = pool.digest(variable).unwrap();
    assert_eq!((scheme.var_count(), scheme.body_hash()), (Some(1), Some(&of_variable)));
    let choice = of(pool.enumeration(name, &[(name, &[int, str])]), &pool);
    let Descriptor::Enum { variants, .. } = &choice else { panic!("an enum") };
    assert_eq!(variants[0].field_type_hashes(), [of_int, of_str]);
    assert_eq!(choice.field_type_hashes(), None);
    // The parts of a descriptor of this pool are ids.
    let list = pool.list(int).unwrap();
    assert_eq!(pool.get(list).child_hash(), Some(&int));
}

#[test]
fn a_function_rebuilds_in_an_empty_pool() {
    let mut pool = Pool::new();
    let [int, str, bool] = [Tag::Int, Tag::Str, Tag::Bool].map(|tag| pool.primitive(tag).unwrap());
    let list = pool.list(int).unwrap();
    let map = pool.map(str, list).unwrap();
    let option = pool.option(bool).unwrap();
    let function = pool.function(&[map], option).unwrap();
    let descriptors = pool.describe_transitive(function).unwrap();
    let mut empty = Pool::new();
    let types = empty.reconstruct(&descriptors).unwrap();
    let rebuilt = types[&pool.digest(function).unwrap()];
    assert_eq!(empty.signature(rebuilt), "(map<str, list<int>>) -> option<bool>");
    assert_eq!(empty.describe_transitive(rebuilt).unwrap(), descriptors);
    assert_eq!(empty.digest(rebuilt), pool.digest(function));
}

#[test]
fn random_types_rebuild_from_descriptors_in_any_order() {
    for seed in 0..40 {
        let mut rng = Random(seed);
        let mut pool = Pool::new();
        let types = random_types(&mut rng, &mut pool, 50);
        let roots: Vec<Idx> = types.into_iter().filter(|&ty| !pool.is_open(ty)).collect();
        let descriptors = pool.describe_all(&roots).unwrap();
        let mut shuffled = descriptors.clone();
        for at in (1..shuffled.len()).rev() {
            shuffled.swap(at, rng.below(at + 1));
        }
        let mut other = Pool::new();
        random_types(&mut Random(seed + 500), &mut other, 20);
        let rebuilt = other.reconstruct(&shuffled).unwrap();
        assert_eq!(rebuilt.len(), descriptors.len());
        for &root in &roots {
            let digest = pool.digest(root).unwrap();
            assert_eq!(other.describe(rebuilt[&digest]).unwrap(), pool.describe(root).unwrap());
        }
        for (digest, descriptor) in &descriptors {
            assert_eq!(*digest, digest_of(descriptor));
            let ty = rebuilt[digest];
            assert_eq!(&other.describe(ty).unwrap(), descriptor);
        }
        let before = other.len();
        other.reconstruct(&descriptors).unwrap();
        assert_eq!(other.len(), before);
    }
}

#[test]
fn missing_children_are_listed_and_nothing_is_interned() {
    let mut pool = Pool::new();
    let int = pool.primitive(Tag::Int).unwrap();
    let list = pool.list(int).unwrap();
    let set = pool.container(Tag::Set, list).unwrap();
    let descriptors = pool.describe_transitive(set).unwrap();
    let mut other = Pool::new();
    let missing = vec![pool.digest(int).unwrap()];
    assert_eq!(other.reconstruct(&descriptors[1..]), Err(ReconstructError::NotFound { missing }));
    assert!(other.is_empty());
    other.primitive(Tag::Int).unwrap();
    assert_eq!(other.reconstruct(&descriptors[1..]).unwrap().len(), 2);
}

#[test]
fn a_claimed_digest_is_not_trusted() {
    let mut pool = Pool::new();
    let [int, str] = [Tag::Int, Tag::Str].map(|tag| pool.primitive(tag).unwrap());
    let [claimed, found] = [int, str].map(|ty| pool.digest(ty).unwrap());
    let mut other = Pool::new();
    let forged = [(claimed, pool.describe(str).unwrap())];
    assert_eq!(other.reconstruct(&forged), Err(ReconstructError::WrongDigest { claimed, found }));
    assert!(other.is_empty());
}

#[test]
fn descriptors_that_are_not_in_normal_form_are_refused() {
    let mut pool = Pool::new();
    let b = pool.bound(0, 1, Sort::Type).unwrap();
    let var = pool.describe(b).unwrap();
    let scheme = Descriptor::Scheme { vars: vec![Sort::Type, Sort::Type], body: digest_of(&var) };
    let digest = digest_of(&scheme);
    let mut other = Pool::new();
    assert_eq!(
        other.reconstruct(&[var, scheme].map(with_digest)),
        Err(ReconstructError::NotNormal { digest })
    );
    assert!(other.is_empty());
    // A group with two equal members.
    let list = |member| Descriptor::Container { tag: Tag::List, child: GraphRef::Member(member) };
    let group = std::sync::Arc::new(typeloom_pool::GroupDescriptor { members: vec![list(1), list(0)] });
    let twice: TypeDescriptor = Descriptor::Recursive { group, member: 0 };
    let digest = digest_of(&twice);
    assert_eq!(other.reconstruct(&[with_digest(twice)]), Err(ReconstructError::NotNormal { digest }));
    assert!(other.is_empty());
}

#[test]
fn a_module_exports_exactly_the_types_that_its_public_signatures_reach() {
    let mut pool = Pool::new();
    let [int, str, f32] = [Tag::Int, Tag::Str, Tag::F32].map(|tag| pool.primitive(tag).unwrap());
    let public = pool.function(&[int], str).unwrap();
    let hidden = pool.list(f32).unwrap();
    let items = [
        ModuleItem { name: "parse", ty: public, visibility: Visibility::Public },
        ModuleItem { name: "helper", ty: hidden, visibility: Visibility::Private },
    ];
    let module = TypedModule::new(&mut pool, &items).unwrap();
    assert_eq!(module.exports.keys().collect::<Vec<_>>(), ["parse"]);
    assert_eq!(module.type_descriptors.len(), 3);
    assert!(module.type_descriptors.iter().all(|(_, ty)| *ty != Descriptor::Primitive(Tag::F32)));
    let mut importer = Pool::new();
    let exports = module.import(&mut importer).unwrap();
    assert_eq!(importer.signature(exports["parse"]), "(int) -> str");
    // Modules are values that can be memoized.
    let set: std::collections::HashSet<TypedModule> = [module.clone(), module].into();
    assert_eq!(set.len(), 1);
}

#[test]
#[should_panic(expected = "type #2 is not in this pool")]
fn a_type_of_another_pool_is_named_by_the_panic() {
    let mut one = Pool::new();
    let int = one.primitive(Tag::Int).unwrap();
    let foreign = one.list(int).unwrap();
    let _ = Pool::new().tag(foreign);
}
