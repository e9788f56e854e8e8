//! Pairs of types with expected results, derived from the uses of their values.

use crate::support::chain;
use typeloom_pool::compat::Direction;
use typeloom_pool::{Descriptor, GraphRef, Idx, Pool, Sort, Tag, VariantDescriptor};

/// Short names for building types.
struct Types(Pool);

impl Types {
    fn p(&mut self, tag: Tag) -> Idx {
        self.0.primitive(tag).unwrap()
    }

    fn int(&mut self) -> Idx {
        self.p(Tag::Int)
    }

    fn str(&mut self) -> Idx {
        self.p(Tag::Str)
    }

    fn any(&mut self) -> Idx {
        self.p(Tag::Any)
    }

    fn never(&mut self) -> Idx {
        self.p(Tag::Never)
    }

    fn con(&mut self, tag: Tag, child: Idx) -> Idx {
        self.0.container(tag, child).unwrap()
    }

    fn list(&mut self, child: Idx) -> Idx {
        self.con(Tag::List, child)
    }

    fn option(&mut self, child: Idx) -> Idx {
        self.con(Tag::Option, child)
    }

    fn f(&mut self, params: &[Idx], returns: Idx) -> Idx {
        self.0.function(params, returns).unwrap()
    }

    fn tuple(&mut self, elements: &[Idx]) -> Idx {
        self.0.tuple(elements).unwrap()
    }

    fn named(&mut self, name: &str, fields: &[(&str, Idx)]) -> Idx {
        let name = self.0.name(name).unwrap();
        let fields: Vec<_> = fields.iter().map(|&(field, ty)| (self.0.name(field).unwrap(), ty)).collect();
        self.0.structure(name, &fields).unwrap()
    }

    fn s(&mut self, fields: &[(&str, Idx)]) -> Idx {
        self.named("S", fields)
    }

    fn positional(&mut self, fields: &[Idx]) -> Idx {
        let (name, field_types) = ("S".into(), fields.to_vec());
        self.0.intern(&Descriptor::Struct { name, field_names: vec![], field_types }).unwrap()
    }

    fn e(&mut self, variants: &[(&str, &[(&str, Idx)])]) -> Idx {
        let variants = variants
            .iter()
            .map(|(name, fields)| VariantDescriptor {
                name: (*name).into(),
                field_names: fields
                    .iter()
                    .filter(|(name, _)| !name.is_empty())
                    .map(|(name, _)| (*name).into())
                    .collect(),
                field_types: fields.iter().map(|&(_, ty)| ty).collect(),
            })
            .collect();
        self.0.intern(&Descriptor::Enum { name: "E".into(), variants }).unwrap()
    }

    fn region(&mut self, name: &str) -> Idx {
        self.0.lifetime(name).unwrap()
    }

    fn var(&mut self, index: u32, sort: Sort) -> Idx {
        self.0.bound(0, index, sort).unwrap()
    }

    fn borrowed(&mut self, inner: Idx, region: Idx) -> Idx {
        self.0.borrowed(inner, region).unwrap()
    }

    fn forall(&mut self, sorts: &[Sort], body: Idx) -> Idx {
        self.0.scheme(sorts, body).unwrap()
    }

    fn t(&mut self, dims: &[&str]) -> Idx {
        let dims: Vec<Idx> = dims
            .iter()
            .map(|dim| match dim.parse::<i64>() {
                Ok(value) => self.0.dim_const(value).unwrap(),
                Err(_) if *dim == "?" => self.0.dim_unknown().unwrap(),
                Err(_) => self.0.dim_symbol(dim).unwrap(),
            })
            .collect();
        let f32 = self.p(Tag::F32);
        self.0.tensor(f32, &dims).unwrap()
    }

    fn applied(&mut self, name: &str, args: &[Idx]) -> Idx {
        let name = self.0.name(name).unwrap();
        self.0.applied(name, args).unwrap()
    }

    fn declared(&mut self, name: &str, params: &[Sort], body: Idx) -> Idx {
        let name = self.0.name(name).unwrap();
        self.0.declared(name, params, body).unwrap()
    }

    fn chain(&mut self, value: Idx) -> Idx {
        chain(&mut self.0, value)
    }
}

/// `Fits`: `old` is a subtype of `new` only; `Back`: `new` is a subtype of `old` only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Both,
    Fits,
    Back,
    Neither,
}

use Answer::{Back, Both, Fits, Neither};

type Case = (&'static str, Answer, fn(&mut Types) -> (Idx, Idx));

fn cases() -> Vec<Case> {
    let mut all: Vec<Case> = Vec::new();
    let mut case = |name: &'static str, answer: Answer, build: fn(&mut Types) -> (Idx, Idx)| {
        all.push((name, answer, build));
    };

    // Primitives.
    case("the same", Both, |t| (t.int(), t.int()));
    case("another primitive", Neither, |t| (t.int(), t.str()));
    case("a wider number is no supertype", Neither, |t| (t.p(Tag::I32), t.p(Tag::I64)));
    case("anything is any", Fits, |t| (t.int(), t.any()));
    case("never is anything", Fits, |t| (t.never(), t.str()));
    case("never is any", Fits, |t| (t.never(), t.any()));
    case("bytes are no list of bytes", Neither, |t| {
        let byte = t.p(Tag::Byte);
        (t.p(Tag::Bytes), t.list(byte))
    });

    // Functions.
    case("a parameter widened", Fits, |t| {
        let (int, any) = (t.int(), t.any());
        (t.f(&[any], int), t.f(&[int], int))
    });
    case("a parameter narrowed", Back, |t| {
        let (int, any) = (t.int(), t.any());
        (t.f(&[int], int), t.f(&[any], int))
    });
    case("a result widened", Fits, |t| {
        let (int, any) = (t.int(), t.any());
        (t.f(&[int], int), t.f(&[int], any))
    });
    case("parameter and result widened", Neither, |t| {
        let (int, any) = (t.int(), t.any());
        (t.f(&[int], int), t.f(&[any], any))
    });
    case("a parameter added", Neither, |t| {
        let int = t.int();
        (t.f(&[int], int), t.f(&[int, int], int))
    });
    case("a parameter removed", Neither, |t| {
        let int = t.int();
        (t.f(&[int], int), t.f(&[], int))
    });
    case("parameters swapped", Neither, |t| {
        let (int, str) = (t.int(), t.str());
        (t.f(&[int, str], int), t.f(&[str, int], int))
    });
    case("a callback's parameter widened", Fits, |t| {
        // The function must now accept more variants than its callers pass.
        let (int, any) = (t.int(), t.any());
        let (old, new) = (t.f(&[int], int), t.f(&[any], int));
        (t.f(&[old], int), t.f(&[new], int))
    });
    case("a callback's result widened", Back, |t| {
        let (int, any) = (t.int(), t.any());
        let (old, new) = (t.f(&[int], int), t.f(&[int], any));
        (t.f(&[old], int), t.f(&[new], int))
    });
    case("a function that returns one with a wider parameter", Back, |t| {
        let (int, any) = (t.int(), t.any());
        let (old, new) = (t.f(&[int], int), t.f(&[any], int));
        (t.f(&[], old), t.f(&[], new))
    });

    // Structs.
    case("a field added to a result", Back, |t| {
        let (int, str) = (t.int(), t.str());
        let (old, new) = (t.s(&[("a", int)]), t.s(&[("a", int), ("b", str)]));
        (t.f(&[], old), t.f(&[], new))
    });
    case("a field added to a parameter", Fits, |t| {
        let (int, str) = (t.int(), t.str());
        let (old, new) = (t.s(&[("a", int)]), t.s(&[("a", int), ("b", str)]));
        (t.f(&[old], int), t.f(&[new], int))
    });
    case("a field removed", Fits, |t| {
        let (int, str) = (t.int(), t.str());
        (t.s(&[("a", int), ("b", str)]), t.s(&[("a", int)]))
    });
    case("fields reordered", Both, |t| {
        let (int, str) = (t.int(), t.str());
        (t.s(&[("a", int), ("b", str)]), t.s(&[("b", str), ("a", int)]))
    });
    case("a field renamed", Neither, |t| {
        let int = t.int();
        (t.s(&[("a", int)]), t.s(&[("b", int)]))
    });
    case("a field widened", Fits, |t| {
        let (int, any) = (t.int(), t.any());
        (t.s(&[("a", int)]), t.s(&[("a", any)]))
    });
    case("one field added and another removed", Neither, |t| {
        let int = t.int();
        (t.s(&[("a", int), ("b", int)]), t.s(&[("a", int), ("c", int)]))
    });
    case("the first field", Back, |t| {
        let int = t.int();
        (t.s(&[]), t.s(&[("a", int)]))
    });
    case("another name of a struct", Neither, |t| {
        let int = t.int();
        (t.named("A", &[("a", int)]), t.named("B", &[("a", int)]))
    });
    case("a positional field added", Neither, |t| {
        let int = t.int();
        (t.positional(&[int]), t.positional(&[int, int]))
    });
    case("the first positional field", Neither, |t| {
        let int = t.int();
        (t.positional(&[]), t.positional(&[int]))
    });
    case("a positional field widened", Fits, |t| {
        let (int, any) = (t.int(), t.any());
        (t.positional(&[int]), t.positional(&[any]))
    });
    case("fields that were positional and are named", Neither, |t| {
        let int = t.int();
        (t.positional(&[int]), t.s(&[("a", int)]))
    });
    case("a struct and a tuple of the same parts", Neither, |t| {
        let int = t.int();
        (t.positional(&[int]), t.tuple(&[int]))
    });

    // Enums.
    case("a variant added to a result", Fits, |t| {
        let (old, new) = (t.e(&[("A", &[])]), t.e(&[("A", &[]), ("B", &[])]));
        (t.f(&[], old), t.f(&[], new))
    });
    case("a variant added to a parameter", Back, |t| {
        let int = t.int();
        let (old, new) = (t.e(&[("A", &[])]), t.e(&[("A", &[]), ("B", &[])]));
        (t.f(&[old], int), t.f(&[new], int))
    });
    case("a variant removed", Back, |t| (t.e(&[("A", &[]), ("B", &[])]), t.e(&[("A", &[])])));
    case("the last variant removed", Back, |t| (t.e(&[("A", &[])]), t.e(&[])));
    case("variants reordered", Both, |t| (t.e(&[("A", &[]), ("B", &[])]), t.e(&[("B", &[]), ("A", &[])])));
    case("a variant renamed", Neither, |t| (t.e(&[("A", &[])]), t.e(&[("B", &[])])));
    case("a variant's field widened", Fits, |t| {
        let (int, any) = (t.int(), t.any());
        (t.e(&[("A", &[("", int)])]), t.e(&[("A", &[("", any)])]))
    });
    case("a variant gained a field", Neither, |t| {
        let int = t.int();
        (t.e(&[("A", &[("x", int)])]), t.e(&[("A", &[("x", int), ("y", int)])]))
    });
    case("a variant gained its first field", Neither, |t| {
        let int = t.int();
        (t.e(&[("A", &[])]), t.e(&[("A", &[("x", int)])]))
    });
    case("a variant's fields reordered", Both, |t| {
        let (int, str) = (t.int(), t.str());
        (t.e(&[("A", &[("x", int), ("y", str)])]), t.e(&[("A", &[("y", str), ("x", int)])]))
    });

    // Containers.
    case("optional now", Neither, |t| {
        let int = t.int();
        (int, t.option(int))
    });
    case("an optional field's type widened", Fits, |t| {
        let (int, any) = (t.int(), t.any());
        let (old, new) = (t.option(int), t.option(any));
        (t.s(&[("a", old)]), t.s(&[("a", new)]))
    });
    case("twice optional", Neither, |t| {
        let int = t.int();
        let once = t.option(int);
        (once, t.option(once))
    });
    case("a list is no set", Neither, |t| {
        let int = t.int();
        (t.list(int), t.con(Tag::Set, int))
    });
    case("lists of a wider type", Fits, |t| {
        let (int, any) = (t.int(), t.any());
        (t.list(int), t.list(any))
    });
    case("the element of a channel", Neither, |t| {
        let (int, any) = (t.int(), t.any());
        (t.con(Tag::Channel, int), t.con(Tag::Channel, any))
    });
    case("a struct with more fields in a channel", Neither, |t| {
        let int = t.int();
        let (one, two) = (t.s(&[("a", int)]), t.s(&[("a", int), ("b", int)]));
        (t.con(Tag::Channel, one), t.con(Tag::Channel, two))
    });
    case("fields reordered in a channel", Both, |t| {
        let (int, str) = (t.int(), t.str());
        let (one, two) = (t.s(&[("a", int), ("b", str)]), t.s(&[("b", str), ("a", int)]));
        (t.con(Tag::Channel, one), t.con(Tag::Channel, two))
    });
    case("an iterator that can be reversed", Fits, |t| {
        let (int, any) = (t.int(), t.any());
        (t.con(Tag::DoubleEndedIterator, int), t.con(Tag::Iterator, any))
    });
    case("errors widened", Fits, |t| {
        let (int, str, any) = (t.int(), t.str(), t.any());
        (t.0.result(int, str).unwrap(), t.0.result(int, any).unwrap())
    });
    case("a map's key and value against each other", Neither, |t| {
        let (int, any) = (t.int(), t.any());
        (t.0.map(int, any).unwrap(), t.0.map(any, int).unwrap())
    });
    case("a longer tuple", Neither, |t| {
        let int = t.int();
        (t.tuple(&[int]), t.tuple(&[int, int]))
    });
    case("unit is no empty tuple", Neither, |t| (t.p(Tag::Unit), t.tuple(&[])));

    // Lifetimes.
    case("a static borrow", Fits, |t| {
        let (int, long, short) = (t.int(), t.region("static"), t.region("a"));
        (t.borrowed(int, long), t.borrowed(int, short))
    });
    case("a borrow with another name", Neither, |t| {
        let (int, a, b) = (t.int(), t.region("a"), t.region("b"));
        (t.borrowed(int, a), t.borrowed(int, b))
    });
    case("a parameter that must be static", Fits, |t| {
        let (int, long, short) = (t.int(), t.region("static"), t.region("a"));
        let (old, new) = (t.borrowed(int, short), t.borrowed(int, long));
        (t.f(&[old], int), t.f(&[new], int))
    });
    case("static where a generic borrow was returned", Back, |t| {
        let (int, long, var) = (t.int(), t.region("static"), t.var(0, Sort::Region));
        let (param, old, new) = (t.borrowed(int, var), t.borrowed(int, var), t.borrowed(int, long));
        let (old, new) = (t.f(&[param], old), t.f(&[param], new));
        (t.forall(&[Sort::Region], old), t.forall(&[Sort::Region], new))
    });
    case("owned and borrowed", Neither, |t| {
        let (int, a) = (t.int(), t.region("a"));
        (int, t.borrowed(int, a))
    });

    // Tensors.
    case("an extent forgotten", Fits, |t| (t.t(&["N", "3"]), t.t(&["N", "?"])));
    case("a symbol forgotten", Fits, |t| (t.t(&["N", "3"]), t.t(&["?", "3"])));
    case("an extent fixed in a parameter", Fits, |t| {
        let (old, new) = (t.t(&["?", "3"]), t.t(&["8", "3"]));
        (t.f(&[old], old), t.f(&[new], old))
    });
    case("another extent", Neither, |t| (t.t(&["3"]), t.t(&["4"])));
    case("another symbol", Neither, |t| (t.t(&["N"]), t.t(&["M"])));
    case("a symbol and a number", Neither, |t| (t.t(&["N"]), t.t(&["3"])));
    case("another rank", Neither, |t| (t.t(&["3"]), t.t(&["3", "1"])));
    case("a rank forgotten", Fits, |t| {
        let f32 = t.p(Tag::F32);
        (t.t(&["3"]), t.0.tensor_unranked(f32).unwrap())
    });
    case("another element type", Neither, |t| {
        let f64 = t.p(Tag::F64);
        (t.t(&[]), t.0.tensor(f64, &[]).unwrap())
    });
    case("some extents forgotten, others learnt", Neither, |t| (t.t(&["N", "?"]), t.t(&["?", "3"])));
    case("a scalar and a tensor without extents", Neither, |t| (t.p(Tag::F32), t.t(&[])));
    case("equal expressions", Both, |t| {
        let (n, two) = (t.0.dim_symbol("N").unwrap(), t.0.dim_const(2).unwrap());
        let f32 = t.p(Tag::F32);
        let (sum, product) = (t.0.dim_add(&[n, n]).unwrap(), t.0.dim_mul(&[two, n]).unwrap());
        (t.0.tensor(f32, &[sum]).unwrap(), t.0.tensor(f32, &[product]).unwrap())
    });

    // Names.
    case("arguments of a name that is not known", Neither, |t| {
        let (int, any) = (t.int(), t.any());
        (t.applied("Box", &[int]), t.applied("Box", &[any]))
    });
    case("another name", Neither, |t| {
        let int = t.int();
        (t.applied("Box", &[int]), t.applied("Rc", &[int]))
    });
    case("more arguments", Neither, |t| {
        let int = t.int();
        (t.applied("Box", &[int]), t.applied("Box", &[int, int]))
    });
    case("a name and its structure", Neither, |t| {
        let int = t.int();
        let body = t.s(&[("a", int)]);
        (t.declared("S", &[], body), body)
    });
    case("a definition hidden", Neither, |t| {
        let int = t.int();
        let name = t.0.name("S").unwrap();
        (t.declared("S", &[], int), t.0.opaque(name).unwrap())
    });
    case("hidden and unresolved", Neither, |t| {
        let name = t.0.name("S").unwrap();
        (t.0.opaque(name).unwrap(), t.0.named(name).unwrap())
    });
    case("a declaration whose definition widened", Fits, |t| {
        let (int, any) = (t.int(), t.any());
        (t.declared("D", &[], int), t.declared("D", &[], any))
    });
    case("a declaration with another parameter", Neither, |t| {
        let int = t.int();
        (t.declared("D", &[Sort::Type], int), t.declared("D", &[Sort::Type, Sort::Type], int))
    });
    case("an instance of a declaration whose definition widened", Fits, |t| {
        let (int, any, var) = (t.int(), t.any(), t.var(0, Sort::Type));
        let (old, new) = (t.tuple(&[var, int]), t.tuple(&[var, any]));
        let (old, new) = (t.declared("D", &[Sort::Type], old), t.declared("D", &[Sort::Type], new));
        (t.0.instance(old, &[int]).unwrap(), t.0.instance(new, &[int]).unwrap())
    });

    // Recursive types.
    case("a recursive type whose content widened", Fits, |t| {
        let (int, any) = (t.int(), t.any());
        (t.chain(int), t.chain(any))
    });
    case("a recursive type in a parameter whose content widened", Back, |t| {
        let (int, any) = (t.int(), t.any());
        let (old, new) = (t.chain(int), t.chain(any));
        (t.f(&[old], int), t.f(&[new], int))
    });
    case("a recursive type that differs deep inside", Neither, |t| {
        let (int, str) = (t.int(), t.str());
        let deep = |t: &mut Types, leaf: Idx| {
            let mut ty = t.chain(leaf);
            for _ in 0..6 {
                ty = t.list(ty);
                ty = t.chain(ty);
            }
            ty
        };
        (deep(t, int), deep(t, str))
    });
    case("a recursive type and its unfolding", Both, |t| {
        let int = t.int();
        let chain = t.chain(int);
        let next = t.option(chain);
        (chain, t.named("Node", &[("value", int), ("next", next)]))
    });
    case("a recursion that is contravariant", Neither, |t| {
        // mu f. (f) -> int and mu f. (f) -> any: the parameter f is contravariant.
        let build = |t: &mut Types, returns: Idx| {
            let graph = [Descriptor::Function {
                params: vec![GraphRef::Member(0)],
                returns: GraphRef::Outer(returns),
            }];
            t.0.intern_graph(&graph).unwrap()[0]
        };
        let (int, any) = (t.int(), t.any());
        (build(t, int), build(t, any))
    });
    case("rings of different length with an additional field at some positions", Back, |t| {
        let int = t.int();
        let ring = |t: &mut Types, len: u32| {
            let graph: Vec<_> = (0..len)
                .map(|at| {
                    let mut field_names = vec!["next".to_owned()];
                    let mut field_types = vec![GraphRef::Member((at + 1) % len)];
                    if at == 0 {
                        field_names.push("mark".into());
                        field_types.push(GraphRef::Outer(int));
                    }
                    Descriptor::Struct { name: "R".into(), field_names, field_types }
                })
                .collect();
            t.0.intern_graph(&graph).unwrap()[1]
        };
        // The new ring has the mark at every position of the old one.
        (ring(t, 6), ring(t, 3))
    });

    // Generic types.
    case("a variable renamed", Both, |t| {
        let (a, b) = (t.var(0, Sort::Type), t.var(1, Sort::Type));
        let (old, new) = (t.f(&[a, b], a), t.f(&[b, a], b));
        (t.forall(&[Sort::Type; 2], old), t.forall(&[Sort::Type; 2], new))
    });
    case("variables that were two are one", Neither, |t| {
        let (a, b) = (t.var(0, Sort::Type), t.var(1, Sort::Type));
        let (old, new) = (t.f(&[a, b], a), t.f(&[a, a], a));
        (t.forall(&[Sort::Type; 2], old), t.forall(&[Sort::Type], new))
    });
    case("a generic result widened", Fits, |t| {
        let (a, any) = (t.var(0, Sort::Type), t.any());
        let (old, new) = (t.f(&[a], a), t.f(&[a], any));
        (t.forall(&[Sort::Type], old), t.forall(&[Sort::Type], new))
    });
    case("generic fields reordered", Both, |t| {
        let (a, b) = (t.var(0, Sort::Type), t.var(1, Sort::Type));
        let (old, new) = (t.s(&[("x", a), ("y", b)]), t.s(&[("y", b), ("x", a)]));
        let (old, new) = (t.f(&[old], a), t.f(&[new], a));
        (t.forall(&[Sort::Type; 2], old), t.forall(&[Sort::Type; 2], new))
    });
    case("a generic field added in a result", Back, |t| {
        let (a, b) = (t.var(0, Sort::Type), t.var(1, Sort::Type));
        let (old, new) = (t.s(&[("x", a)]), t.s(&[("y", b), ("x", a)]));
        (t.forall(&[Sort::Type; 2], old), t.forall(&[Sort::Type; 2], new))
    });
    case("generic extents reordered with their fields", Both, |t| {
        let (n, m) = (t.var(0, Sort::Const), t.var(1, Sort::Const));
        let f32 = t.p(Tag::F32);
        let sum = t.0.dim_add(&[n, m, m]).unwrap();
        let (x, y, z) = (
            t.0.tensor(f32, &[n]).unwrap(),
            t.0.tensor(f32, &[m]).unwrap(),
            t.0.tensor(f32, &[sum]).unwrap(),
        );
        let (old, new) = (t.s(&[("x", x), ("y", y), ("z", z)]), t.s(&[("y", y), ("z", z), ("x", x)]));
        (t.forall(&[Sort::Const; 2], old), t.forall(&[Sort::Const; 2], new))
    });
    case("generic extents swapped", Neither, |t| {
        let (n, m) = (t.var(0, Sort::Const), t.var(1, Sort::Const));
        let f32 = t.p(Tag::F32);
        let sum = |t: &mut Types, a: Idx, b: Idx| {
            let sum = t.0.dim_add(&[a, b, b]).unwrap();
            t.0.tensor(f32, &[n, m, sum]).unwrap()
        };
        let (old, new) = (sum(t, n, m), sum(t, m, n));
        (t.forall(&[Sort::Const; 2], old), t.forall(&[Sort::Const; 2], new))
    });
    all
}

#[test]
fn pairs_have_the_answer_that_was_decided_beforehand() {
    let cases = cases();
    assert!(cases.len() >= 80);
    let mut wrong = Vec::new();
    for (name, answer, build) in &cases {
        let mut types = Types(Pool::new());
        let (old, new) = build(&mut types);
        let fits = |old: Idx, new: Idx, direction| types.0.compat(old, new, direction).is_compatible();
        let found = match (fits(old, new, Direction::Backward), fits(old, new, Direction::Forward)) {
            (true, true) => Both,
            (true, false) => Fits,
            (false, true) => Back,
            (false, false) => Neither,
        };
        if found != *answer {
            wrong.push(format!("{name}: {found:?}, not {answer:?}\n{}", types.0.diff(old, new)));
        }
        // Full is both directions; exchanged types and parameters reverse them.
        assert_eq!(fits(old, new, Direction::Full), found == Both, "{name}");
        assert_eq!(fits(new, old, Direction::Forward), matches!(found, Both | Fits), "{name}");
        assert_eq!(fits(new, old, Direction::Backward), matches!(found, Both | Back), "{name}");
        let (takes_old, takes_new) = (types.f(&[old], old), types.f(&[new], old));
        let fits = |old: Idx, new: Idx, direction| types.0.compat(old, new, direction).is_compatible();
        assert_eq!(fits(takes_old, takes_new, Direction::Forward), matches!(found, Both | Fits), "{name}");
        assert_eq!(fits(takes_old, takes_new, Direction::Backward), matches!(found, Both | Back), "{name}");
        // Every break is reported with a path from the type itself.
        let answer = types.0.compat(takes_old, takes_new, Direction::Full);
        assert_eq!(answer.breaking.is_empty(), found == Both, "{name}");
        assert!(answer.breaking.iter().all(|it| it.path.to_string().starts_with("param[0]")), "{name}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
