//! The normal form of schemes: one type for all numberings of variables and all descriptions of a recursion.

use crate::support::map_children;
use typeloom_pool::{
    Bounded, ConstDescriptor, Descriptor, GraphRef, Idx, ImportError, ImportErrorKind, ImportLimits, Pool,
    PoolError, Sort, Tag, Variable,
};
use typeloom_testing::{Random, number};

type Node = Descriptor<GraphRef<Idx>>;

const ORDERS: [[u32; 3]; 6] = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];

fn travels(pool: &mut Pool, ty: Idx) {
    let bundle = pool.export(&[("t", ty)]).unwrap();
    for first in 0..3 {
        let mut other = Pool::new();
        // Ids are assigned in another order here. The result must not depend on it.
        other.bound(0, first, Sort::Const).unwrap();
        other.bound(0, 0, Sort::Const).unwrap();
        let imported = other.import(bundle.as_bytes());
        let root = imported.unwrap_or_else(|error| panic!("{error}: {}", pool.signature(ty)))[0].clone();
        assert_eq!(root.digest, pool.digest(ty).unwrap());
        assert_eq!(other.export(&[("t", root.ty)]).unwrap(), bundle);
    }
}

/// The scheme over three constants whose body is a tensor with the dims that `dims` returns.
fn over_extents(pool: &mut Pool, order: [u32; 3], dims: &dyn Fn(&mut Pool, [Idx; 3]) -> Vec<Idx>) -> Idx {
    let vars = order.map(|place| pool.bound(0, place, Sort::Const).unwrap());
    let dims = dims(pool, vars);
    let f32 = pool.primitive(Tag::F32).unwrap();
    let tensor = pool.tensor(f32, &dims).unwrap();
    pool.scheme(&[Sort::Const; 3], tensor).unwrap()
}

fn is_one_type(dims: &dyn Fn(&mut Pool, [Idx; 3]) -> Vec<Idx>) -> Idx {
    let mut pool = Pool::new();
    let all = ORDERS.map(|order| over_extents(&mut pool, order, dims));
    assert!(all.iter().all(|&ty| ty == all[0]), "{:?}", all.map(|ty| pool.signature(ty)));
    let digest = pool.digest(all[0]).unwrap();
    for order in ORDERS {
        let mut alone = Pool::new();
        let ty = over_extents(&mut alone, order, dims);
        assert_eq!(alone.digest(ty).unwrap(), digest);
        travels(&mut alone, ty);
    }
    all[0]
}

#[test]
fn interchangeable_variables_of_a_product_are_exported() {
    is_one_type(&|pool, [n, m, k]| vec![pool.dim_mul(&[n, m, k]).unwrap()]);
    is_one_type(&|pool, [n, m, k]| vec![pool.dim_add(&[n, m, k]).unwrap()]);
    is_one_type(&|pool, [n, m, k]| vec![pool.dim_min(&[n, m]).unwrap(), pool.dim_max(&[m, k, n]).unwrap()]);
    is_one_type(&|pool, [n, m, k]| {
        let product = pool.dim_mul(&[n, m]).unwrap();
        vec![pool.dim_mod(product, k).unwrap(), pool.dim_add(&[n, product, m]).unwrap()]
    });
}

#[test]
fn symbols_with_quotes_and_signs_order_variables_the_same_everywhere() {
    for symbol in ["\"", "#", "\\", "a\"),symbol(\"b", "\u{200b}", "e\u{301}"] {
        is_one_type(&|pool, [n, m, _]| {
            let [one, two] = [symbol, "$"].map(|name| pool.dim_symbol(name).unwrap());
            let [n, m] = [pool.dim_floor_div(n, one).unwrap(), pool.dim_floor_div(m, two).unwrap()];
            vec![pool.dim_add(&[n, m]).unwrap()]
        });
    }
}

/// `forall m0, m1. forall n0, n1. tensor<f32, [m0*n0 + 2*m1*n1, ..]>`, with variables as given.
fn nested(
    pool: &mut Pool,
    outer: [u32; 2],
    inner: [u32; 2],
    extra: &dyn Fn(&mut Pool, [Idx; 4]) -> Vec<Idx>,
) -> Result<Idx, PoolError> {
    let m = outer.map(|place| pool.bound(1, place, Sort::Const).unwrap());
    let n = inner.map(|place| pool.bound(0, place, Sort::Const).unwrap());
    let dims = extra(pool, [m[0], m[1], n[0], n[1]]);
    let f32 = pool.primitive(Tag::F32)?;
    let tensor = pool.tensor(f32, &dims)?;
    let inside = pool.scheme(&[Sort::Const; 2], tensor)?;
    pool.scheme(&[Sort::Const; 2], inside)
}

#[test]
fn variables_of_nested_schemes_in_one_sum_have_one_order_or_are_refused() {
    let all = |extra: &dyn Fn(&mut Pool, [Idx; 4]) -> Vec<Idx>| {
        let mut pool = Pool::new();
        let mut found = Vec::new();
        for outer in [[0, 1], [1, 0]] {
            for inner in [[0, 1], [1, 0]] {
                found.push(nested(&mut pool, outer, inner, extra));
            }
        }
        assert!(found.iter().all(|ty| *ty == found[0]), "{found:?}");
        if let Ok(ty) = found[0] {
            travels(&mut pool, ty);
        }
        found.remove(0)
    };
    let weighted = |pool: &mut Pool, [m0, m1, n0, n1]: [Idx; 4]| {
        let first = pool.dim_mul(&[m0, n0]).unwrap();
        let second = pool.dim_mul(&[m1, n1]).unwrap();
        vec![pool.dim_add(&[first, second, second]).unwrap()]
    };
    assert!(all(&weighted).is_ok());
    // m0 and m1 differ only by the order of n0 and n1, which in turn depends on the order of m0 and m1.
    let entangled = |pool: &mut Pool, [m0, m1, n0, n1]: [Idx; 4]| {
        let first = pool.dim_mul(&[m0, n0]).unwrap();
        let second = pool.dim_mul(&[m1, n1]).unwrap();
        let more = pool.dim_add(&[n1, n1]).unwrap();
        vec![pool.dim_add(&[first, second]).unwrap(), pool.dim_max(&[n0, more]).unwrap()]
    };
    assert_eq!(all(&entangled), Err(PoolError::EntangledVariables { count: 2 }));
}

#[test]
fn a_declaration_may_use_any_number_of_parameters_in_a_product() {
    let mut pool = Pool::new();
    let params: Vec<Idx> = (0..9).map(|place| pool.bound(0, place, Sort::Const).unwrap()).collect();
    let product = pool.dim_mul(&params).unwrap();
    let f32 = pool.primitive(Tag::F32).unwrap();
    let tensor = pool.tensor(f32, &[product]).unwrap();
    let name = pool.name("Block").unwrap();
    let declared = pool.declared(name, &[Sort::Const; 9], tensor).unwrap();
    travels(&mut pool, declared);
    assert_eq!(
        pool.scheme(&[Sort::Const; 9], tensor),
        Err(PoolError::AmbiguousVariables { count: 9, max: 5 })
    );
}

#[test]
fn the_order_of_variables_does_not_depend_on_the_first_member_of_a_recursion() {
    // a = (c, K) and c = (a, V), with `a` written once or twice.
    let tuple = |elements: [u32; 2]| Node::Tuple { elements: elements.map(GraphRef::Member).to_vec() };
    let var = |index: u32| Node::Variable(Variable::Bound { depth: 0, index, sort: Sort::Type });
    let scheme = || Node::Scheme { vars: vec![Sort::Type; 2], body: GraphRef::Member(1) };
    let mut pool = Pool::new();
    let mut built = Vec::new();
    for [k, v] in [[0, 1], [1, 0]] {
        let short = [scheme(), tuple([2, 3]), tuple([1, 4]), var(k), var(v)];
        built.push(pool.intern_graph(&short).unwrap()[0]);
        let long = [scheme(), tuple([2, 3]), tuple([5, 4]), var(k), var(v), tuple([2, 3])];
        built.push(pool.intern_graph(&long).unwrap()[0]);
        // The body first, the scheme over it afterwards.
        let mut other = Pool::new();
        let body =
            other.intern_graph(&[tuple([0, 0]), tuple([2, 3]), tuple([5, 4]), var(k), var(v), tuple([2, 3])]);
        let body = body.unwrap()[1];
        let ty = other.scheme(&[Sort::Type; 2], body).unwrap();
        travels(&mut other, ty);
        assert_eq!(other.digest(ty).unwrap(), pool.digest(built[0]).unwrap());
    }
    assert!(
        built.iter().all(|&ty| ty == built[0]),
        "{:?}",
        built.iter().map(|&ty| pool.signature(ty)).collect::<Vec<_>>()
    );
    travels(&mut pool, built[0]);
}

/// Schemes over four types and three constants with random, mostly recursive bodies. The first node is a
/// scheme.
fn random_graph(rng: &mut Random, outer: &[Idx]) -> Vec<Node> {
    const VARS: u32 = 7;
    let bodies = 2 + rng.below(6) as u32;
    let mut graph: Vec<Node> = Vec::new();
    let sort = |index: u32| if index < 4 { Sort::Type } else { Sort::Const };
    let first_var = 1 + bodies;
    graph.push(Node::Scheme { vars: (0..VARS).map(sort).collect(), body: GraphRef::Member(1) });
    let dims = first_var + VARS;
    for _ in 0..bodies {
        let ty = |rng: &mut Random| match rng.below(6) {
            0 => GraphRef::Member(first_var + rng.below(4) as u32),
            1 => GraphRef::Outer(outer[rng.below(outer.len())]),
            _ => GraphRef::Member(1 + rng.below(bodies as usize) as u32),
        };
        graph.push(match rng.below(6) {
            0 => Node::Container { tag: Tag::List, child: ty(rng) },
            1 | 2 => Node::Tuple { elements: vec![ty(rng), ty(rng)] },
            3 => Node::Function { params: vec![ty(rng), ty(rng)], returns: ty(rng) },
            4 => Node::Scheme { vars: (0..VARS).map(sort).collect(), body: ty(rng) },
            _ => Node::Tensor {
                element: ty(rng),
                dims: Some((0..rng.below(3)).map(|_| GraphRef::Member(dims + rng.below(4) as u32)).collect()),
            },
        });
    }
    for index in 0..VARS {
        graph.push(Node::Variable(Variable::Bound { depth: 0, index, sort: sort(index) }));
    }
    let extent = |rng: &mut Random| GraphRef::Member(first_var + 4 + rng.below(3) as u32);
    graph.push(Node::Const(ConstDescriptor::Product(vec![extent(rng), extent(rng)])));
    graph.push(Node::Const(ConstDescriptor::Max(vec![extent(rng), extent(rng)])));
    graph.push(Node::Const(ConstDescriptor::FloorDiv(extent(rng), extent(rng))));
    graph.push(Node::Const(ConstDescriptor::Sum {
        constant: 1,
        terms: vec![(1, GraphRef::Member(dims)), (2, extent(rng))],
    }));
    graph
}

/// The same types: variables of all schemes renumbered, nodes repeated and shuffled.
fn rewritten(rng: &mut Random, graph: &[Node]) -> Vec<Node> {
    let mut places: Vec<u32> = (0..9).collect();
    for at in (1..places.len()).rev() {
        places.swap(at, rng.below(at + 1));
    }
    let mut order: Vec<usize> = (1..graph.len()).collect();
    let again: Vec<usize> = order.iter().copied().filter(|_| rng.below(3) == 0).collect();
    order.extend(again);
    for at in (1..order.len()).rev() {
        order.swap(at, rng.below(at + 1));
    }
    order.insert(0, 0);
    let copies = |node: u32| -> Vec<u32> {
        (0..order.len() as u32).filter(|&at| order[at as usize] == node as usize).collect()
    };
    order
        .iter()
        .map(|&node| match &graph[node] {
            Descriptor::Variable(Variable::Bound { depth, index, sort }) => {
                Node::Variable(Variable::Bound { depth: *depth, index: places[*index as usize], sort: *sort })
            }
            other => {
                let mut node = map_children(other.clone(), &mut |child| match child {
                    GraphRef::Member(node) => {
                        let copies = copies(node);
                        GraphRef::Member(copies[rng.below(copies.len())])
                    }
                    GraphRef::Outer(ty) => GraphRef::Outer(ty),
                });
                if let Descriptor::Scheme { vars, .. } = &mut node {
                    let mut sorts = vec![Sort::Region; places.len()];
                    for (index, &sort) in vars.iter().enumerate() {
                        sorts[places[index] as usize] = sort;
                    }
                    *vars = sorts;
                }
                node
            }
        })
        .collect()
}

#[test]
fn random_recursive_schemes_are_one_type_however_they_are_written() {
    let mut interned = 0;
    for seed in 0..number(500, 3000) {
        let mut rng = Random(seed);
        let mut pool = Pool::new();
        let outer = [pool.primitive(Tag::Int).unwrap(), pool.primitive(Tag::Str).unwrap()];
        let graph = random_graph(&mut rng, &outer);
        let first = pool.intern_graph(&graph).map(|ids| ids[0]);
        if first.is_ok() {
            interned += 1;
        }
        for _ in 0..4 {
            let again = pool.intern_graph(&rewritten(&mut rng, &graph)).map(|ids| ids[0]);
            assert_eq!(again.is_ok(), first.is_ok(), "{seed}: {first:?} {again:?}");
            if let (Ok(first), Ok(again)) = (&first, &again) {
                assert_eq!(first, again, "{seed}: {} {}", pool.signature(*first), pool.signature(*again));
            }
        }
        if let Ok(ty) = first
            && !pool.is_open(ty)
        {
            let digest = pool.digest(ty).unwrap();
            travels(&mut pool, ty);
            let mut alone = Pool::new();
            let outer = [alone.primitive(Tag::Int).unwrap(), alone.primitive(Tag::Str).unwrap()];
            let graph = random_graph(&mut Random(seed), &outer);
            let ty = alone.intern_graph(&rewritten(&mut rng, &graph)).unwrap()[0];
            assert_eq!(alone.digest(ty).unwrap(), digest, "{seed}");
        }
    }
    assert!(interned > number(400, 2500), "{interned}");
}

#[test]
fn numbering_the_variables_of_a_whole_bundle_is_bounded() {
    let mut pool = Pool::new();
    let var = pool.bound(0, 0, Sort::Type).unwrap();
    let body: Vec<Idx> = (0..200)
        .map(|at| {
            let mut fields = vec![pool.primitive(Tag::Int).unwrap(); at];
            fields.push(var);
            pool.tuple(&fields).unwrap()
        })
        .collect();
    let mut body = pool.tuple(&body).unwrap();
    let mut schemes = Vec::new();
    for _ in 0..200 {
        body = pool.list(body).unwrap();
        schemes.push(pool.scheme(&[Sort::Type], body).unwrap());
    }
    let all = pool.tuple(&schemes).unwrap();
    let bundle = pool.export(&[("all", all)]).unwrap();
    let limits = ImportLimits { work: 1_000_000, ..ImportLimits::default() };
    let mut other = Pool::new();
    match other.import_within(bundle.as_bytes(), &limits) {
        Err(ImportError::Invalid { kind, .. }) => {
            assert_eq!(kind, ImportErrorKind::Limit { what: Bounded::Work, limit: 1_000_000 });
        }
        other => panic!("{other:?}"),
    }
    assert!(other.is_empty() && other.import(bundle.as_bytes()).is_ok());
}

#[test]
fn a_scheme_over_nothing_is_its_body() {
    let mut pool = Pool::new();
    let int = pool.primitive(Tag::Int).unwrap();
    assert_eq!(pool.scheme(&[], int), Ok(int));
    assert_eq!(pool.scheme(&[Sort::Type, Sort::Region], int), Ok(int));
    let own = pool.bound(0, 0, Sort::Type).unwrap();
    let own_list = pool.list(own).unwrap();
    assert_eq!(pool.scheme(&[], own_list), Err(PoolError::VariableOutOfScope { index: 0, count: 0 }));
    let outer = pool.bound(1, 0, Sort::Type).unwrap();
    let outer_list = pool.list(outer).unwrap();
    assert_eq!(pool.scheme(&[], outer_list), Ok(own_list));
    let lifetime = pool.lifetime("a").unwrap();
    assert!(pool.scheme(&[], lifetime).is_err());
}
