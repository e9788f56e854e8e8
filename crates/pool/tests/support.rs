//! Random types and a small deterministic generator, shared by the tests.

use typeloom_pool::{
    ConstDescriptor, Descriptor, GraphRef, Idx, Pool, Sort, Tag, Variable, VariantDescriptor,
};
use typeloom_testing::Random;

/// `struct Node { value, next: option<Node> }`.
pub(crate) fn chain(pool: &mut Pool, value: Idx) -> Idx {
    let graph = [
        Descriptor::Struct {
            name: "Node".into(),
            field_names: vec!["value".into(), "next".into()],
            field_types: vec![GraphRef::Outer(value), GraphRef::Member(1)],
        },
        Descriptor::Container { tag: Tag::Option, child: GraphRef::Member(0) },
    ];
    pool.intern_graph(&graph).unwrap()[0]
}

/// A graph node over a few constructors, for recursive types.
pub(crate) fn random_node(rng: &mut Random, outer: &[Idx], nodes: u32) -> Descriptor<GraphRef<Idx>> {
    let child = |rng: &mut Random| {
        if !outer.is_empty() && rng.below(3) == 0 {
            GraphRef::Outer(*rng.pick(outer))
        } else {
            GraphRef::Member(rng.below(nodes as usize) as u32)
        }
    };
    match rng.below(7) {
        0 => Descriptor::Container { tag: Tag::List, child: child(rng) },
        1 => Descriptor::Container { tag: Tag::Option, child: child(rng) },
        2 | 3 => Descriptor::Tuple { elements: vec![child(rng), child(rng)] },
        4 => Descriptor::TwoChild { tag: Tag::Map, child1: child(rng), child2: child(rng) },
        5 => Descriptor::Struct {
            name: ["A", "B"][rng.below(2)].into(),
            field_names: vec!["next".into()],
            field_types: vec![child(rng)],
        },
        _ => Descriptor::Function { params: vec![child(rng)], returns: child(rng) },
    }
}

/// Fills a pool with random closed types of every kind and returns them.
pub(crate) fn random_types(rng: &mut Random, pool: &mut Pool, count: usize) -> Vec<Idx> {
    let names = ["a", "b", "point", "Größe", "core::option::Option", "x"];
    let mut types: Vec<Idx> = Vec::new();
    let mut dims: Vec<Idx> = Vec::new();
    for tag in [Tag::Int, Tag::Str, Tag::Bool, Tag::F32, Tag::Unit] {
        types.push(pool.primitive(tag).unwrap());
    }
    for value in [1, 2, 3, -7, i64::MAX] {
        dims.push(pool.dim_const(value).unwrap());
    }
    for name in ["N", "batch", "seq"] {
        dims.push(pool.dim_symbol(name).unwrap());
    }
    dims.push(pool.dim_unknown().unwrap());
    let statics = pool.lifetime("static").unwrap();
    let mut declarations: Vec<Idx> = Vec::new();
    while types.len() < count {
        let t = |rng: &mut Random| *rng.pick(&types);
        let some = |rng: &mut Random| -> Vec<Idx> { (0..rng.below(5)).map(|_| *rng.pick(&types)).collect() };
        let name = (*rng.pick(&names)).to_owned();
        let ty = match rng.below(19) {
            0 => {
                let tags = [Tag::List, Tag::Option, Tag::Set, Tag::Channel, Tag::Range, Tag::Iterator];
                pool.container(*rng.pick(&tags), t(rng))
            }
            1 => pool.map(t(rng), t(rng)),
            2 => pool.result(t(rng), t(rng)),
            3 => pool.borrowed(t(rng), statics),
            4 | 5 => pool.function(&some(rng), t(rng)),
            6 => pool.tuple(&some(rng)),
            7 | 8 => {
                let field_types = some(rng);
                let field_names = match rng.below(2) {
                    0 => Vec::new(),
                    _ => (0..field_types.len()).map(|at| format!("f{at}")).collect(),
                };
                pool.intern(&Descriptor::Struct { name, field_names, field_types })
            }
            9 => {
                let variants = (0..rng.below(4))
                    .map(|at| VariantDescriptor {
                        name: format!("V{at}"),
                        field_names: Vec::new(),
                        field_types: some(rng),
                    })
                    .collect();
                pool.intern(&Descriptor::Enum { name, variants })
            }
            10 => pool.intern(&Descriptor::Applied { name, args: some(rng) }),
            11 => pool.intern(&Descriptor::Opaque { name }),
            12 if rng.below(2) == 0 => pool.intern(&Descriptor::Rigid { name }),
            12 => pool.intern(&Descriptor::Named { name }),
            13 => {
                let param = pool.bound(0, 0, Sort::Type).unwrap();
                let body = pool.map(param, t(rng)).unwrap();
                let declared = pool.intern(&Descriptor::Declared { name, params: vec![Sort::Type], body });
                declarations.extend(declared.clone());
                declared
            }
            14 if !declarations.is_empty() => pool.instance(*rng.pick(&declarations), &[t(rng)]),
            15 => {
                let a = pool.bound(0, 0, Sort::Type).unwrap();
                let b = pool.bound(0, 1, Sort::Type).unwrap();
                let n = pool.bound(0, 2, Sort::Const).unwrap();
                let plus = pool.dim_add(&[n, *rng.pick(&dims)]).unwrap();
                let tensor = pool.tensor(a, &[plus, n]).unwrap();
                let body = pool.function(&[b, tensor], t(rng)).unwrap();
                pool.scheme(&[Sort::Type, Sort::Type, Sort::Const], body)
            }
            16 => {
                let (x, y) = (*rng.pick(&dims), *rng.pick(&dims));
                let dim = match rng.below(6) {
                    0 => pool.dim_add(&[x, y]),
                    1 => pool.dim_mul(&[x, y]),
                    2 => pool.dim_floor_div(x, y),
                    3 => pool.dim_mod(x, y),
                    4 => pool.dim_min(&[x, y]),
                    _ => pool.dim_max(&[x, y]),
                };
                dims.extend(dim);
                let shape: Vec<Idx> = (0..rng.below(4)).map(|_| *rng.pick(&dims)).collect();
                pool.tensor(t(rng), &shape)
            }
            17 => pool.tensor_unranked(t(rng)),
            _ => {
                let nodes = 1 + rng.below(5) as u32;
                let graph: Vec<_> = (0..nodes).map(|_| random_node(rng, &types, nodes)).collect();
                types.extend(pool.intern_graph(&graph).unwrap());
                continue;
            }
        };
        types.push(ty.unwrap());
    }
    types
}

/// Copies a closed type into another pool node by node, in the order of a random walk.
pub(crate) fn copy_shuffled(rng: &mut Random, from: &Pool, ty: Idx, to: &mut Pool) -> Idx {
    let mut order = vec![ty];
    let mut at = 0;
    while at < order.len() {
        for child in from.children(order[at]) {
            if !order.contains(&child) {
                order.push(child);
            }
        }
        at += 1;
    }
    // Shuffle and repeat some nodes. The result must not depend on it.
    for at in (1..order.len()).rev() {
        order.swap(at, rng.below(at + 1));
    }
    let extra: Vec<Idx> = order.iter().copied().filter(|_| rng.below(4) == 0).collect();
    order.extend(extra);
    let mut places: std::collections::HashMap<Idx, Vec<u32>> = std::collections::HashMap::new();
    for (place, &idx) in order.iter().enumerate() {
        places.entry(idx).or_default().push(place as u32);
    }
    let mut graph = Vec::new();
    for &idx in &order {
        graph.push(map_children(from.get(idx), &mut |child| GraphRef::Member(*rng.pick(&places[&child]))));
    }
    to.intern_graph(&graph).unwrap()[places[&ty][0] as usize]
}

/// The same type with mapped references.
pub(crate) fn map_children<A: Copy, B>(ty: Descriptor<A>, f: &mut dyn FnMut(A) -> B) -> Descriptor<B> {
    fn all<A, B>(children: Vec<A>, f: &mut dyn FnMut(A) -> B) -> Vec<B> {
        children.into_iter().map(f).collect()
    }
    match ty {
        Descriptor::Primitive(tag) => Descriptor::Primitive(tag),
        Descriptor::Container { tag, child } => Descriptor::Container { tag, child: f(child) },
        Descriptor::TwoChild { tag, child1, child2 } => {
            Descriptor::TwoChild { tag, child1: f(child1), child2: f(child2) }
        }
        Descriptor::Borrowed { inner, lifetime } => {
            Descriptor::Borrowed { inner: f(inner), lifetime: f(lifetime) }
        }
        Descriptor::Function { params, returns } => {
            Descriptor::Function { params: all(params, f), returns: f(returns) }
        }
        Descriptor::Tuple { elements } => Descriptor::Tuple { elements: all(elements, f) },
        Descriptor::Struct { name, field_names, field_types } => {
            Descriptor::Struct { name, field_names, field_types: all(field_types, f) }
        }
        Descriptor::Enum { name, variants } => Descriptor::Enum {
            name,
            variants: variants
                .into_iter()
                .map(|variant| VariantDescriptor {
                    name: variant.name,
                    field_names: variant.field_names,
                    field_types: all(variant.field_types, f),
                })
                .collect(),
        },
        Descriptor::Applied { name, args } => Descriptor::Applied { name, args: all(args, f) },
        Descriptor::Opaque { name } => Descriptor::Opaque { name },
        Descriptor::Declared { name, params, body } => Descriptor::Declared { name, params, body: f(body) },
        Descriptor::Instance { declaration, args } => {
            Descriptor::Instance { declaration: f(declaration), args: all(args, f) }
        }
        Descriptor::Named { name } => Descriptor::Named { name },
        Descriptor::Rigid { name } => Descriptor::Rigid { name },
        Descriptor::Scheme { vars, body } => Descriptor::Scheme { vars, body: f(body) },
        Descriptor::Variable(Variable::Bound { depth, index, sort }) => {
            Descriptor::Variable(Variable::Bound { depth, index, sort })
        }
        Descriptor::Variable(Variable::Infer { number, sort }) => {
            Descriptor::Variable(Variable::Infer { number, sort })
        }
        Descriptor::Lifetime { name } => Descriptor::Lifetime { name },
        Descriptor::Tensor { element, dims } => {
            Descriptor::Tensor { element: f(element), dims: dims.map(|dims| all(dims, f)) }
        }
        Descriptor::Const(constant) => Descriptor::Const(match constant {
            ConstDescriptor::Int(value) => ConstDescriptor::Int(value),
            ConstDescriptor::Symbol(name) => ConstDescriptor::Symbol(name),
            ConstDescriptor::Sum { constant, terms } => {
                ConstDescriptor::Sum { constant, terms: terms.into_iter().map(|(c, t)| (c, f(t))).collect() }
            }
            ConstDescriptor::Product(children) => ConstDescriptor::Product(all(children, f)),
            ConstDescriptor::FloorDiv(a, b) => ConstDescriptor::FloorDiv(f(a), f(b)),
            ConstDescriptor::Mod(a, b) => ConstDescriptor::Mod(f(a), f(b)),
            ConstDescriptor::Min(children) => ConstDescriptor::Min(all(children, f)),
            ConstDescriptor::Max(children) => ConstDescriptor::Max(all(children, f)),
            ConstDescriptor::Unknown => ConstDescriptor::Unknown,
        }),
        Descriptor::Recursive { group, member } => Descriptor::Recursive { group, member },
    }
}
