//! Compatibility: directions, paths, caching, text.

use crate::support::{chain, random_types};
use typeloom_pool::compat::{Compat, CompatCache, Direction, MAX_DIFFERENCES, TypeChange};
use typeloom_pool::{Descriptor, GraphRef, Idx, Pool, Sort, Tag, VariantDescriptor};
use typeloom_testing::{Random, number};

fn structure(pool: &mut Pool, fields: &[(&str, Idx)]) -> Idx {
    let name = pool.name("S").unwrap();
    let fields: Vec<_> = fields.iter().map(|&(field, ty)| (pool.name(field).unwrap(), ty)).collect();
    pool.structure(name, &fields).unwrap()
}

fn verdict(pool: &Pool, old: Idx, new: Idx) -> (bool, bool, bool) {
    let fits = |direction| pool.compat(old, new, direction).is_compatible();
    (fits(Direction::Backward), fits(Direction::Forward), fits(Direction::Full))
}

const BACKWARD: (bool, bool, bool) = (true, false, false);
const FORWARD: (bool, bool, bool) = (false, true, false);
const NEITHER: (bool, bool, bool) = (false, false, false);

#[test]
fn fields_and_variants_decide_the_direction() {
    let mut pool = Pool::new();
    let [int, str] = [Tag::Int, Tag::Str].map(|tag| pool.primitive(tag).unwrap());
    let one = structure(&mut pool, &[("a", int)]);
    let two = structure(&mut pool, &[("a", int), ("b", str)]);
    assert_eq!(verdict(&pool, two, one), BACKWARD);
    assert_eq!(verdict(&pool, one, two), FORWARD);
    let swapped = structure(&mut pool, &[("b", str), ("a", int)]);
    assert_eq!(verdict(&pool, two, swapped), (true, true, true));
    let variants = |pool: &mut Pool, names: &[&str]| {
        let variants = names
            .iter()
            .map(|name| VariantDescriptor { name: (*name).into(), field_names: vec![], field_types: vec![] })
            .collect();
        pool.intern(&Descriptor::Enum { name: "E".into(), variants }).unwrap()
    };
    let (few, many) = (variants(&mut pool, &["A"]), variants(&mut pool, &["A", "B"]));
    assert_eq!(verdict(&pool, few, many), BACKWARD);
    assert_eq!(verdict(&pool, many, few), FORWARD);
    let answer = pool.compat(many, few, Direction::Backward);
    assert_eq!(answer.breaking[0].change, TypeChange::VariantRemoved("B".into()));
}

#[test]
fn variance_flips_in_parameters_and_stops_in_channels_and_arguments() {
    let mut pool = Pool::new();
    let [int, any, never, unit] =
        [Tag::Int, Tag::Any, Tag::Never, Tag::Unit].map(|tag| pool.primitive(tag).unwrap());
    assert_eq!(verdict(&pool, int, any), BACKWARD);
    assert_eq!(verdict(&pool, never, int), BACKWARD);
    let param = |pool: &mut Pool, ty| pool.function(&[ty], unit).unwrap();
    let (takes_int, takes_any) = (param(&mut pool, int), param(&mut pool, any));
    assert_eq!(verdict(&pool, takes_any, takes_int), BACKWARD);
    let (higher_int, higher_any) = (param(&mut pool, takes_int), param(&mut pool, takes_any));
    assert_eq!(verdict(&pool, higher_int, higher_any), BACKWARD);
    let channel = |pool: &mut Pool, ty| pool.container(Tag::Channel, ty).unwrap();
    let (of_int, of_any) = (channel(&mut pool, int), channel(&mut pool, any));
    assert_eq!(verdict(&pool, of_int, of_any), NEITHER);
    let name = pool.name("Box").unwrap();
    let (box_int, box_any) = (pool.applied(name, &[int]).unwrap(), pool.applied(name, &[any]).unwrap());
    assert_eq!(verdict(&pool, box_int, box_any), NEITHER);
    let lifetimes = ["static", "a"].map(|name| pool.lifetime(name).unwrap());
    let [long, short] = lifetimes.map(|lifetime| pool.borrowed(int, lifetime).unwrap());
    assert_eq!(verdict(&pool, long, short), BACKWARD);
}

#[test]
fn tensors_widen_to_unknown_extents_and_ranks() {
    let mut pool = Pool::new();
    let f32 = pool.primitive(Tag::F32).unwrap();
    let (three, unknown, n) =
        (pool.dim_const(3).unwrap(), pool.dim_unknown().unwrap(), pool.dim_symbol("N").unwrap());
    let fixed = pool.tensor(f32, &[three, n]).unwrap();
    let loose = pool.tensor(f32, &[unknown, n]).unwrap();
    let unranked = pool.tensor_unranked(f32).unwrap();
    assert_eq!(verdict(&pool, fixed, loose), BACKWARD);
    assert_eq!(verdict(&pool, loose, unranked), BACKWARD);
    let answer = pool.compat(loose, fixed, Direction::Backward);
    assert_eq!(answer.breaking.len(), 1);
    assert_eq!((answer.breaking[0].old.as_str(), answer.breaking[0].new.as_str()), ("?", "3"));
}

#[test]
fn every_difference_has_its_path() {
    let mut pool = Pool::new();
    let [int, str, bool] = [Tag::Int, Tag::Str, Tag::Bool].map(|tag| pool.primitive(tag).unwrap());
    let build = |pool: &mut Pool, leaf: Idx, extra: &[(&str, Idx)]| {
        let list = pool.list(leaf).unwrap();
        let map = pool.map(str, list).unwrap();
        let fields = [&[("items", map), ("n", bool)][..], extra].concat();
        let structure = structure(pool, &fields);
        pool.function(&[structure, leaf], leaf).unwrap()
    };
    let old = build(&mut pool, int, &[]);
    let new = build(&mut pool, bool, &[("more", int)]);
    let answer = pool.compat(old, new, Direction::Full);
    let paths: Vec<String> = answer.breaking.iter().map(|difference| difference.path.to_string()).collect();
    assert_eq!(paths, ["param[0]", "param[0].items.value.element", "param[1]", "returns"]);
    assert_eq!(
        pool.diff(old, new),
        "param[0]: field `more` added (breaks forward)\n\
         param[0].items.value.element: `int` -> `bool` (incompatible)\n\
         param[1]: `int` -> `bool` (incompatible)\n\
         returns: `int` -> `bool` (incompatible)\n"
    );
    assert_eq!(pool.diff(old, old), "");
}

#[test]
fn recursive_types_are_compared_coinductively() {
    let mut pool = Pool::new();
    let [int, any] = [Tag::Int, Tag::Any].map(|tag| pool.primitive(tag).unwrap());
    let (ints, anys) = (chain(&mut pool, int), chain(&mut pool, any));
    assert_eq!(verdict(&pool, ints, anys), BACKWARD);
    let answer = pool.compat(anys, ints, Direction::Backward);
    assert_eq!(answer.breaking.len(), 1);
    assert_eq!(answer.breaking[0].path.to_string(), "value");
}

#[test]
fn compatibility_is_a_preorder_on_random_types_and_forward_is_backward_reversed() {
    let mut rng = Random(6);
    let mut pool = Pool::new();
    let mut types = random_types(&mut rng, &mut pool, number(12, 30));
    let mut related: Vec<Idx> =
        [Tag::Int, Tag::Any, Tag::Never].map(|tag| pool.primitive(tag).unwrap()).into();
    for _ in 0..number(16, 40) {
        let (a, b) = (*rng.pick(&related), *rng.pick(&related));
        related.push(match rng.below(4) {
            0 => pool.list(a).unwrap(),
            1 => pool.function(&[a], b).unwrap(),
            2 => pool.container(Tag::Channel, a).unwrap(),
            _ => structure(&mut pool, &[("x", a), ("y", b)][..1 + rng.below(2)]),
        });
    }
    types.extend(related);
    // Generic types whose variables are numbered by the order of the fields.
    let vars = [0, 1].map(|place| pool.bound(0, place, Sort::Type).unwrap());
    for _ in 0..number(12, 30) {
        let parts = [0; 3].map(|_| match rng.below(3) {
            0 => types[rng.below(4)],
            at => vars[at - 1],
        });
        let [x, y, returns] = parts;
        let fields = [[("x", x), ("y", y)], [("y", y), ("x", x)]][rng.below(2)];
        let body = structure(&mut pool, &fields[..1 + rng.below(2)]);
        let function = pool.function(&[body], returns).unwrap();
        types.push(pool.scheme(&[Sort::Type; 2], function).unwrap());
    }
    let count = types.len();
    let mut cache = CompatCache::new();
    let mut matrix = vec![vec![false; count]; count];
    for a in 0..count {
        for b in 0..count {
            let [backward, forward, full] = [Direction::Backward, Direction::Forward, Direction::Full]
                .map(|direction| pool.compat_cached(&mut cache, types[a], types[b], direction).unwrap());
            matrix[a][b] = backward.is_compatible();
            assert_eq!(full.is_compatible(), backward.is_compatible() && forward.is_compatible());
            assert_eq!(*full, pool.compat(types[a], types[b], Direction::Full));
            let turned = pool.compat(types[b], types[a], Direction::Forward);
            assert_eq!(turned.is_compatible(), backward.is_compatible());
            assert_eq!(turned.breaking.is_empty(), backward.is_compatible());
            // The reversed direction reports the same breaks at the same paths.
            let paths = |compat: &Compat| -> Vec<String> {
                compat.breaking.iter().map(|it| it.path.to_string()).collect()
            };
            assert_eq!(paths(&backward), paths(&turned));
        }
    }
    let mut chains = 0;
    for a in 0..count {
        assert!(matrix[a][a]);
        for b in (0..count).filter(|&b| matrix[a][b] && types[a] != types[b]) {
            for c in (0..count).filter(|&c| matrix[b][c] && types[b] != types[c]) {
                assert!(
                    matrix[a][c],
                    "{} {} {}",
                    pool.signature(types[a]),
                    pool.signature(types[b]),
                    pool.signature(types[c])
                );
                chains += 1;
            }
        }
    }
    assert!(chains > number(20, 100), "{chains}");
}

#[test]
fn more_differences_than_are_listed_do_not_change_the_answer() {
    let mut pool = Pool::new();
    let int = pool.primitive(Tag::Int).unwrap();
    let names: Vec<String> = (0..MAX_DIFFERENCES + 5).map(|at| format!("f{at}")).collect();
    let fields: Vec<(&str, Idx)> = names.iter().map(|name| (name.as_str(), int)).collect();
    let (none, many) = (structure(&mut pool, &[]), structure(&mut pool, &fields));
    assert_eq!(verdict(&pool, many, none), BACKWARD);
    let answer = pool.compat(many, none, Direction::Backward);
    assert!(answer.truncated && answer.harmless.len() == MAX_DIFFERENCES);
    assert!(pool.diff(many, none).ends_with("…\n"));
}

#[test]
fn recursive_types_that_never_fall_into_step_are_given_up() {
    let mut pool = Pool::new();
    let int = pool.primitive(Tag::Int).unwrap();
    let mut ring = |len: u32| {
        let node = |at: u32| {
            let marks = usize::from(at == 0);
            Descriptor::Struct {
                name: "R".into(),
                field_names: [&["next".to_owned()][..], &vec!["mark".into(); marks]].concat(),
                field_types: [&[GraphRef::Member((at + 1) % len)][..], &vec![GraphRef::Outer(int); marks]]
                    .concat(),
            }
        };
        pool.intern_graph(&(0..len).map(node).collect::<Vec<_>>()).unwrap()[0]
    };
    let size = number(600, 1500);
    let (old, new) = (ring(size), ring(size - 1));
    let answer = pool.compat(old, new, Direction::Full);
    assert!(answer.truncated && !answer.is_compatible());
    let longest = answer.breaking.iter().map(|it| it.path.0.len()).max();
    assert_eq!(longest, Some(257));
    assert!(answer.breaking.iter().any(|it| it.path.to_string().starts_with("….next.next")));
}

#[test]
fn answers_are_cached_by_digest_across_pools() {
    let mut cache = CompatCache::new();
    let build = |pool: &mut Pool| {
        let [int, str] = [Tag::Int, Tag::Str].map(|tag| pool.primitive(tag).unwrap());
        (pool.list(int).unwrap(), pool.list(str).unwrap())
    };
    let mut pool = Pool::new();
    let (a, b) = build(&mut pool);
    let first = pool.compat_cached(&mut cache, a, b, Direction::Full).unwrap();
    let mut other = Pool::new();
    other.primitive(Tag::Bool).unwrap();
    let (a, b) = build(&mut other);
    let second = other.compat_cached(&mut cache, a, b, Direction::Full).unwrap();
    assert!(std::sync::Arc::ptr_eq(&first, &second));
    assert_eq!(cache.len(), 1);
}

#[test]
fn exports_may_be_added_and_not_removed() {
    let mut pool = Pool::new();
    let [int, any] = [Tag::Int, Tag::Any].map(|tag| pool.primitive(tag).unwrap());
    let narrow = pool.function(&[int], any).unwrap();
    let wide = pool.function(&[any], int).unwrap();
    let old = [("f".to_owned(), narrow), ("g".to_owned(), int)].into();
    let new = [("f".to_owned(), wide), ("g".to_owned(), int), ("h".to_owned(), int)].into();
    let mut cache = CompatCache::new();
    let answer = pool.compat_exports(&mut cache, &old, &new, Direction::Backward).unwrap();
    assert!(answer.is_compatible());
    assert_eq!((answer.added.len(), answer.removed.len(), answer.changed.len()), (1, 0, 1));
    assert!(!pool.compat_exports(&mut cache, &new, &old, Direction::Backward).unwrap().is_compatible());
}

#[test]
fn many_generic_types_over_one_large_body_are_compared_in_bounded_time() {
    let mut pool = Pool::new();
    let vars = [0, 1].map(|place| pool.bound(0, place, Sort::Type).unwrap());
    let mut side = |order: usize| {
        let leaf = structure(
            &mut pool,
            &[[("x", vars[0]), ("y", vars[1])], [("y", vars[0]), ("x", vars[1])]][order],
        );
        let mut body = leaf;
        for _ in 0..300 {
            let wide = pool.tuple(&[body, leaf]).unwrap();
            body = pool.list(wide).unwrap();
        }
        let mut mark = pool.primitive(Tag::Int).unwrap();
        let mut schemes = Vec::new();
        for _ in 0..number(100, 2500) {
            mark = pool.list(mark).unwrap();
            let marked = pool.tuple(&[body, mark]).unwrap();
            schemes.push(pool.scheme(&[Sort::Type; 2], marked).unwrap());
        }
        pool.tuple(&schemes).unwrap()
    };
    let (old, new) = (side(0), side(1));
    let answer = pool.compat(old, new, Direction::Full);
    // Both are one type with renamed variables. All cases have more pairs than the limit, so the answer is
    // given up.
    assert_eq!((answer.truncated, answer.is_compatible()), number((false, true), (true, false)));
}

#[test]
fn the_order_of_operands_matches_no_variables() {
    // In the new version, an additional field renumbers the variables. In the constant, they are the same
    // ones.
    let generic = |pool: &mut Pool, operation: Tag, first: Option<u32>| {
        let numbers: Vec<u32> = match first {
            None => (0..5).collect(),
            Some(first) => {
                (0..5).map(|at| if at == first { 0 } else { at + u32::from(at < first) }).collect()
            }
        };
        let vars: Vec<Idx> =
            numbers.iter().map(|&number| pool.bound(0, number, Sort::Const).unwrap()).collect();
        let constant = match operation {
            Tag::DimProduct => pool.dim_mul(&vars),
            Tag::DimMin => pool.dim_min(&vars),
            Tag::DimMax => pool.dim_max(&vars),
            _ => pool.dim_add(&vars),
        };
        let f32 = pool.primitive(Tag::F32).unwrap();
        let constant = constant.unwrap();
        let (one, all) = (pool.tensor(f32, &[constant]).unwrap(), pool.tensor(f32, &vars).unwrap());
        let mut fields = vec![("constant", one), ("vars", all)];
        if let Some(first) = first {
            let added = pool.tensor(f32, &[vars[first as usize]]).unwrap();
            fields.insert(0, ("added", added));
        }
        let body = structure(pool, &fields);
        pool.scheme(&[Sort::Const; 5], body).unwrap()
    };
    let mut pool = Pool::new();
    for operation in [Tag::DimProduct, Tag::DimMin, Tag::DimMax, Tag::DimSum] {
        let old = generic(&mut pool, operation, None);
        let new = generic(&mut pool, operation, Some(4));
        assert_eq!(verdict(&pool, old, new), FORWARD, "{operation}");
        assert_eq!(verdict(&pool, new, old), BACKWARD, "{operation}");
    }
}

#[test]
fn differences_inside_binders_name_the_variables_as_the_signatures_do() {
    let mut pool = Pool::new();
    let (int, text) = (pool.primitive(Tag::Int).unwrap(), pool.primitive(Tag::Str).unwrap());
    let [t, u] = [0, 1].map(|index| pool.bound(0, index, Sort::Type).unwrap());
    let returning = |pool: &mut Pool, params: &[Idx], returns| {
        let function = pool.function(params, returns).unwrap();
        pool.scheme(&[Sort::Type; 2], function).unwrap()
    };
    let list = pool.list(u).unwrap();
    let (old, new) = (returning(&mut pool, &[t, list], t), returning(&mut pool, &[t, list], int));
    assert_eq!(pool.signature(old), "forall T, U. (T, list<U>) -> T");
    assert_eq!(pool.diff(old, new), "body.returns: `T` -> `int` (incompatible)\n");

    // An added field renumbers the variables of the new type; in the report, they keep the names of the old
    // one.
    let fields = |pool: &mut Pool, fields: &[(&str, Idx)]| {
        let body = structure(pool, fields);
        pool.scheme(&[Sort::Type; 2], body).unwrap()
    };
    let old = fields(&mut pool, &[("a", t), ("b", u)]);
    let new = fields(&mut pool, &[("added", u), ("a", t), ("b", int)]);
    let lines = pool.diff(old, new);
    assert!(lines.contains("body.b: `U` -> `int` (incompatible)"), "{lines}");

    // Inner binders, names that a generated one has to avoid, and other sorts.
    let (outer, inner) = (pool.bound(1, 0, Sort::Type).unwrap(), pool.bound(0, 0, Sort::Type).unwrap());
    let [own, free] = ["T", "x"].map(|name| pool.name(name).unwrap());
    let (opaque, lifetime) = (pool.opaque(own).unwrap(), pool.lifetime("x").unwrap());
    let nested = |pool: &mut Pool, last: Idx| {
        let function = pool.function(&[inner, outer, opaque], last).unwrap();
        let body = pool.scheme(&[Sort::Type], function).unwrap();
        let other = pool.scheme(&[Sort::Type], inner).unwrap();
        let body = pool.tuple(&[body, inner, other]).unwrap();
        pool.scheme(&[Sort::Type], body).unwrap()
    };
    let (old, new) = (nested(&mut pool, outer), nested(&mut pool, text));
    assert_eq!(pool.signature(old), "forall U. (forall V. (V, U, T) -> U, U, forall V. V)");
    assert_eq!(pool.diff(old, new), "body[0].body.returns: `U` -> `str` (incompatible)\n");
    let region = pool.bound(0, 0, Sort::Region).unwrap();
    let borrowed = |pool: &mut Pool, lifetime| {
        let fixed = pool.lifetime("x").unwrap();
        let (a, b) = (pool.borrowed(int, region).unwrap(), pool.borrowed(int, lifetime).unwrap());
        let c = pool.borrowed(text, fixed).unwrap();
        let body = pool.function(&[a, c], b).unwrap();
        pool.scheme(&[Sort::Region], body).unwrap()
    };
    let (old, new) = (borrowed(&mut pool, region), borrowed(&mut pool, lifetime));
    assert_eq!(pool.signature(old), "forall 'y. (&'y int, &'x str) -> &'y int");
    assert_eq!(pool.diff(old, new), "body.returns.lifetime: `'y` -> `'x` (incompatible)\n");

    let param = pool.bound(0, 0, Sort::Const).unwrap();
    let tensor = pool.tensor(int, &[param]).unwrap();
    let declared = pool.declared(free, &[Sort::Const], tensor).unwrap();
    assert_eq!(pool.tree(declared), "declared x const A\n  tensor\n    int\n    A\n");
}
