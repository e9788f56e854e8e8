//! Types to intern, in the proportions of an interface.

use std::ops::Range;

use typeloom_pool::{Idx, NameId, Pool, Tag};

/// One type to build; children are numbers of earlier steps.
pub enum Step {
    Primitive(Tag),
    Container(Tag, u32),
    Map(u32, u32),
    Function(Vec<u32>, u32),
    Tuple(Vec<u32>),
    Struct(u32, Vec<(u32, u32)>),
}

struct Rng(u64);

impl Rng {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % bound as u64) as usize
    }
}

/// The steps to build types.
pub struct Plan {
    /// The names.
    pub names: Vec<String>,
    /// The steps, one for each type.
    pub steps: Vec<Step>,
}

/// Plans `count` distinct types in the proportions of an interface: containers 40 %, functions 25 %, maps 15
/// %, tuples 10 %, structs 10 %. Field names come from a vocabulary, struct names are unique. Children are
/// mostly recent or primitive, and at most twelve levels deep.
#[must_use]
pub fn plan(count: usize) -> Plan {
    let mut rng = Rng(count as u64);
    let words = [
        "id", "name", "value", "items", "next", "key", "count", "parent", "kind", "payload", "index", "left",
    ];
    let mut names: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
    names.extend((0..48).map(|at| format!("{}_{}", words[at % 12], words[(at * 5 + 3) % 12])));
    let primitives = [Tag::Int, Tag::Str, Tag::Bool, Tag::F32, Tag::F64, Tag::U8, Tag::I64, Tag::Unit];
    let mut steps: Vec<Step> = primitives.into_iter().map(Step::Primitive).collect();
    let mut seen = std::collections::HashSet::new();
    let mut depths = vec![1u32; 8];
    while steps.len() < count {
        let known = steps.len();
        let mut depth = 0;
        let mut child = |rng: &mut Rng| {
            let child = match rng.below(10) {
                0..3 => rng.below(8),
                3..8 => known - 1 - rng.below(known.min(64)),
                _ => rng.below(known),
            };
            let child = if depths[child] < 12 { child } else { rng.below(8) };
            depth = depth.max(depths[child]);
            child as u32
        };
        let step = match rng.below(20) {
            0..8 => {
                let tags = [Tag::List, Tag::Option, Tag::Set, Tag::Iterator, Tag::Channel];
                Step::Container(tags[rng.below(5)], child(&mut rng))
            }
            8..13 => {
                let params = (0..1 + rng.below(4)).map(|_| child(&mut rng)).collect();
                Step::Function(params, child(&mut rng))
            }
            13..16 => Step::Map(child(&mut rng), child(&mut rng)),
            16..18 => Step::Tuple((0..2 + rng.below(2)).map(|_| child(&mut rng)).collect()),
            _ => {
                names.push(format!("Type{}", names.len()));
                let start = rng.below(60);
                let fields =
                    (0..1 + rng.below(5)).map(|at| (((start + at) % 60) as u32, child(&mut rng))).collect();
                Step::Struct(names.len() as u32 - 1, fields)
            }
        };
        let key = match &step {
            Step::Primitive(tag) => vec![*tag as u32],
            Step::Container(tag, child) => vec![*tag as u32, *child],
            Step::Map(a, b) => vec![72, *a, *b],
            Step::Function(params, returns) => [&[81, *returns], &params[..]].concat(),
            Step::Tuple(elements) => [&[82], &elements[..]].concat(),
            Step::Struct(name, _) => vec![83, *name],
        };
        if seen.insert(key) {
            steps.push(step);
            depths.push(depth + 1);
        }
    }
    Plan { names, steps }
}

/// Interface of the measured designs, with one method for each kind of type.
pub trait Interner {
    type Id: Copy;
    type Name: Copy;
    fn primitive(&mut self, tag: Tag) -> Self::Id;
    fn container(&mut self, tag: Tag, child: Self::Id) -> Self::Id;
    fn map(&mut self, key: Self::Id, value: Self::Id) -> Self::Id;
    fn function(&mut self, params: &[Self::Id], returns: Self::Id) -> Self::Id;
    fn tuple(&mut self, elements: &[Self::Id]) -> Self::Id;
    fn structure(&mut self, name: Self::Name, fields: &[(Self::Name, Self::Id)]) -> Self::Id;
}

const WELL_FORMED: &str = "the plan is well formed";

impl Interner for Pool {
    type Id = Idx;
    type Name = NameId;

    fn primitive(&mut self, tag: Tag) -> Idx {
        self.primitive(tag).expect(WELL_FORMED)
    }

    fn container(&mut self, tag: Tag, child: Idx) -> Idx {
        self.container(tag, child).expect(WELL_FORMED)
    }

    fn map(&mut self, key: Idx, value: Idx) -> Idx {
        self.map(key, value).expect(WELL_FORMED)
    }

    fn function(&mut self, params: &[Idx], returns: Idx) -> Idx {
        self.function(params, returns).expect(WELL_FORMED)
    }

    fn tuple(&mut self, elements: &[Idx]) -> Idx {
        self.tuple(elements).expect(WELL_FORMED)
    }

    fn structure(&mut self, name: NameId, fields: &[(NameId, Idx)]) -> Idx {
        self.structure(name, fields).expect(WELL_FORMED)
    }
}

/// A call of an interner; children and fields are ranges of [`Calls`].
enum Call<I: Interner> {
    Primitive(Tag),
    Container(Tag, I::Id),
    Map(I::Id, I::Id),
    Function(Range<u32>, I::Id),
    Tuple(Range<u32>),
    Struct(I::Name, Range<u32>),
}

/// The steps of a plan with prepared arguments, so that a run consists almost only of interning. Ids are
/// dense, so they are the same for every empty interner that gets these calls in this order.
pub struct Calls<I: Interner> {
    calls: Vec<Call<I>>,
    children: Vec<I::Id>,
    fields: Vec<(I::Name, I::Id)>,
}

fn range(range: &Range<u32>) -> Range<usize> {
    range.start as usize..range.end as usize
}

impl<I: Interner> Calls<I> {
    /// The calls of a plan on an empty interner.
    pub fn new(plan: &Plan, interner: &mut I, names: &[I::Name]) -> Self {
        let mut all =
            Calls { calls: Vec::with_capacity(plan.steps.len()), children: Vec::new(), fields: Vec::new() };
        let mut ids: Vec<I::Id> = Vec::with_capacity(plan.steps.len());
        for step in &plan.steps {
            let id = |child: &u32| ids[*child as usize];
            let mut children = |of: &[u32]| {
                let start = all.children.len() as u32;
                all.children.extend(of.iter().map(id));
                start..all.children.len() as u32
            };
            let call = match step {
                Step::Primitive(tag) => Call::Primitive(*tag),
                Step::Container(tag, child) => Call::Container(*tag, id(child)),
                Step::Map(key, value) => Call::Map(id(key), id(value)),
                Step::Function(params, returns) => Call::Function(children(params), id(returns)),
                Step::Tuple(elements) => Call::Tuple(children(elements)),
                Step::Struct(name, fields) => {
                    let start = all.fields.len() as u32;
                    all.fields.extend(fields.iter().map(|(name, ty)| (names[*name as usize], id(ty))));
                    Call::Struct(names[*name as usize], start..all.fields.len() as u32)
                }
            };
            ids.push(all.call(interner, &call));
            all.calls.push(call);
        }
        all
    }

    fn call(&self, interner: &mut I, call: &Call<I>) -> I::Id {
        match call {
            Call::Primitive(tag) => interner.primitive(*tag),
            Call::Container(tag, child) => interner.container(*tag, *child),
            Call::Map(key, value) => interner.map(*key, *value),
            Call::Function(params, returns) => interner.function(&self.children[range(params)], *returns),
            Call::Tuple(elements) => interner.tuple(&self.children[range(elements)]),
            Call::Struct(name, fields) => interner.structure(*name, &self.fields[range(fields)]),
        }
    }

    /// Makes all calls, and collects the results.
    pub fn run(&self, interner: &mut I, ids: &mut Vec<I::Id>) {
        ids.clear();
        for call in &self.calls {
            ids.push(self.call(interner, call));
        }
    }

    /// Repeats the calls in another order; all types are known.
    pub fn run_in(&self, order: &[u32], interner: &mut I, ids: &mut Vec<I::Id>) {
        ids.clear();
        for &at in order {
            ids.push(self.call(interner, &self.calls[at as usize]));
        }
    }
}

/// The calls of a plan on a pool.
#[must_use]
pub fn pool_calls(plan: &Plan) -> Calls<Pool> {
    let mut pool = Pool::new();
    let names = names_in(plan, &mut pool);
    Calls::new(plan, &mut pool, &names)
}

/// Numbers below `count` in an order that the processor cannot predict.
#[must_use]
pub fn shuffled(count: usize) -> Vec<u32> {
    let mut rng = Rng(7);
    let mut order: Vec<u32> = (0..count as u32).collect();
    for at in (1..count).rev() {
        order.swap(at, rng.below(at + 1));
    }
    order
}

/// Interns the names of a plan in a pool.
pub fn names_in(plan: &Plan, pool: &mut Pool) -> Vec<NameId> {
    plan.names.iter().map(|name| pool.name(name).expect("a name")).collect()
}

/// Returns labels and roots as in the export of a module: each root is a tuple of a hundred types that no
/// other type contains.
pub fn interface(pool: &mut Pool, ids: &[Idx]) -> (Vec<String>, Vec<Idx>) {
    let mut used = vec![false; ids.len() + 1];
    for &id in ids {
        pool.children(id).into_iter().for_each(|child| used[child.number() as usize] = true);
    }
    let tops: Vec<Idx> = ids.iter().copied().filter(|id| !used[id.number() as usize]).collect();
    let roots: Vec<Idx> = tops.chunks(100).map(|some| pool.tuple(some).expect("a tuple")).collect();
    ((0..roots.len()).map(|at| format!("item{at}")).collect(), roots)
}
