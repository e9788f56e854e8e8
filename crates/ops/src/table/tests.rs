use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use typeloom_solver::elem::{Elem, ElemSet};
use typeloom_solver::signature::{
    AllowedTypes, Arity, AttributeDefault, AttributeKind, Formal, FormalType, FunctionBody,
};

use super::*;

/// A small text that uses every feature of the format.
const SMALL: &str = r#"typeloom-operator-table 1
source onnx 0.0.0
count 2 domains 3 operators 4 schemas
group floats float float16 double
group ints int8 int16 int32 int64
domain ai.onnx 1 7
op Cat 1 deprecated function
  type T tensor(floats+ints+bool) seq(tensor(floats)) optional(tensor(int8)) optional(seq(tensor(floats+string)))
  type M map(int64:float+string:float) seq(map(int64:string))
  in first T
  in rest T variadic 0 mixed
  out joined T optional
  out more M variadic 2
  attr a floats = 1e-5 -0.0 0.1 3.4028235e38
  attr b strings = "a \"quoted\" \\ word" ""
  attr c ints =
  attr d float = 0.5
  attr e string = "x"
  attr f tensor required
  attr g type_proto
op Cat 5 function-from-node
op Dog 2
  in x tensor(int64)
  attr axis int = -1
domain b.custom 1 1
op Cat 3
"#;

/// Checks a property on deterministic cases.
fn check<S: Strategy>(strategy: S, property: impl Fn(S::Value) -> Result<(), TestCaseError>) {
    let config = Config { cases: 256, failure_persistence: None, ..Config::default() };
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    TestRunner::new_with_rng(config, rng).run(&strategy, property).unwrap();
}

fn schema(domain: &str, name: &str, since: u32) -> &'static Schema {
    Table::get().versions(domain, name).find(|schema| schema.since_version == since).unwrap()
}

fn since_versions(name: &str) -> Vec<u32> {
    Table::get().versions("", name).map(|schema| schema.since_version).collect()
}

fn allowed(schema: &'static Schema, var: &str) -> &'static AllowedTypes {
    &schema.type_vars.iter().find(|candidate| &*candidate.name == var).unwrap().allowed
}

const FLOATS: ElemSet = ElemSet::of_all(&[Elem::FLOAT16, Elem::FLOAT, Elem::DOUBLE]);
const WIDE: ElemSet = FLOATS.union(ElemSet::of_all(&[Elem::INT32, Elem::INT64, Elem::UINT32, Elem::UINT64]));
const NARROW_INTS: ElemSet = ElemSet::of_all(&[Elem::INT8, Elem::INT16, Elem::UINT8, Elem::UINT16]);
const BFLOAT16: ElemSet = ElemSet::of(Elem::BFLOAT16);
/// The fifteen element types of the first ONNX releases.
const CLASSIC: ElemSet = ElemSet::from_bits(0xfffe);

mod embedded {
    use super::*;

    #[test]
    fn has_every_schema_of_the_pinned_package() {
        let table = Table::get();
        assert_eq!(table.source(), ("onnx", "1.23.2"));
        assert_eq!(table.schema_count(), 659);
        let domains: Vec<_> =
            table.domains().map(|domain| (&*domain.name, domain.oldest, domain.newest)).collect();
        assert_eq!(
            domains,
            [
                ("", 1, 28),
                ("ai.onnx.ml", 1, 5),
                ("ai.onnx.preview", 1, 1),
                ("ai.onnx.preview.training", 1, 1),
                ("ai.onnx.training", 1, 1),
            ]
        );
        let of = |domain: &str| table.schemas().filter(|schema| &*schema.domain == domain).count();
        assert_eq!(table.domains().map(|domain| of(&domain.name)).collect::<Vec<_>>(), [629, 25, 1, 4, 0]);
    }

    /// Justifies the `expect`s of [`Table::get`] and of decoding on access.
    #[test]
    fn can_be_read_to_its_end() {
        assert_eq!(
            Table::parse(Table::TEXT).map(|table| table.schema_count()),
            Ok(Table::get().schema_count())
        );
    }

    /// The words of a line up to the set of a type variable, the kind of an attribute and the type of a port.
    fn outline(line: &str) -> String {
        let words: Vec<_> = line.split(' ').filter(|word| !word.is_empty()).collect();
        match words[0] {
            "type" => words[..2].join(" "),
            "attr" => {
                words[..2].iter().chain(&words[3..words.len().min(4)]).copied().collect::<Vec<_>>().join(" ")
            }
            "in" | "out" => [&words[..2], &words[3..]].concat().join(" "),
            _ => words.join(" "),
        }
    }

    fn port(keyword: &str, formal: &Formal) -> String {
        let arity = match formal.arity {
            Arity::Required => String::new(),
            Arity::Optional => " optional".into(),
            Arity::Variadic { min, homogeneous } => {
                format!(" variadic {min}{}", if homogeneous { "" } else { " mixed" })
            }
        };
        format!("{keyword} {}{arity}", formal.name)
    }

    /// The outlines of the lines of a schema.
    fn outlines(schema: &Schema) -> Vec<String> {
        let function = match schema.function {
            FunctionBody::None => "",
            FunctionBody::Fixed => " function",
            FunctionBody::FromNode => " function-from-node",
        };
        let deprecated = if schema.deprecated { " deprecated" } else { "" };
        let head = format!("op {} {}{deprecated}{function}", schema.name, schema.since_version);
        let vars = schema.type_vars.iter().map(|var| format!("type {}", var.name));
        let inputs = schema.inputs.iter().map(|formal| port("in", formal));
        let outputs = schema.outputs.iter().map(|formal| port("out", formal));
        let attributes = schema.attributes.iter().map(|decl| {
            let rest = if decl.required { " required" } else { decl.default.as_ref().map_or("", |_| " =") };
            format!("attr {}{rest}", decl.name)
        });
        std::iter::once(head).chain(vars).chain(inputs).chain(outputs).chain(attributes).collect()
    }

    #[test]
    fn is_decoded_without_a_missing_line() {
        let is_of_operator = |line: &&str| line.starts_with("op ") || line.starts_with(' ');
        let text = Table::TEXT.lines().filter(is_of_operator).map(outline);
        let decoded = Table::get().schemas().flat_map(outlines);
        assert!(text.eq(decoded));
    }

    #[test]
    fn is_ordered_and_every_attribute_is_found_by_name() {
        let table = Table::get();
        let keys: Vec<_> = table.schemas().map(|s| (&s.domain, &s.name, s.since_version)).collect();
        assert!(keys.is_sorted_by(|before, after| before < after));
        for schema in table.schemas() {
            for decl in &schema.attributes {
                assert_eq!(schema.attribute(&decl.name), Some(decl));
            }
        }
    }

    #[test]
    fn finds_every_schema_at_its_version() {
        let table = Table::get();
        for schema in table.schemas() {
            let found = table.at(&schema.domain, &schema.name, i64::from(schema.since_version));
            assert_eq!(found, Found::Schema(schema));
        }
    }

    #[test]
    fn every_type_variable_allows_types_and_every_port_has_a_declared_one() {
        for schema in Table::get().schemas() {
            for var in &schema.type_vars {
                assert_ne!(var.allowed, AllowedTypes::default(), "{schema:?}");
            }
            for formal in schema.inputs.iter().chain(&schema.outputs) {
                if let FormalType::Var(var) = formal.ty {
                    assert!(usize::from(var) < schema.type_vars.len(), "{schema:?}");
                }
            }
        }
    }
}

mod facts {
    use super::*;

    #[test]
    fn add_widens_its_element_types_over_five_versions() {
        assert_eq!(since_versions("Add"), [1, 6, 7, 13, 14]);
        let expected = [
            (1, FLOATS),
            (6, WIDE),
            (7, WIDE),
            (13, WIDE.union(BFLOAT16)),
            (14, WIDE.union(BFLOAT16).union(NARROW_INTS)),
        ];
        for (since, elems) in expected {
            let add = schema("", "Add", since);
            assert_eq!(allowed(add, "T").tensor, elems, "Add {since}");
            assert!(add.inputs.iter().chain(&add.outputs).all(|formal| formal.ty == FormalType::Var(0)));
            assert_eq!((add.inputs.len(), add.outputs.len(), add.type_vars.len()), (2, 1, 1));
        }
        let broadcast = schema("", "Add", 6).attribute("broadcast").unwrap();
        assert_eq!(
            (broadcast.kind, &broadcast.default),
            (AttributeKind::Int, &Some(AttributeDefault::Int(0)))
        );
        assert!(schema("", "Add", 7).attributes.is_empty());
    }

    #[test]
    fn split_has_an_attribute_then_an_input_then_a_count() {
        assert_eq!(since_versions("Split"), [1, 2, 11, 13, 18]);
        for since in [1, 2, 11, 13, 18] {
            let split = schema("", "Split", since);
            assert_eq!(split.outputs.len(), 1);
            assert_eq!(split.outputs[0].arity, Arity::Variadic { min: 1, homogeneous: true });
            assert_eq!(split.attribute("split").is_some(), since < 13);
            assert_eq!(split.attribute("num_outputs").is_some(), since == 18);
        }
        let split_input = &schema("", "Split", 1).inputs[1];
        assert_eq!((split_input.ty, split_input.arity), (FormalType::Var(0), Arity::Optional));
        assert_eq!(schema("", "Split", 2).inputs.len(), 1);
        let split_input = &schema("", "Split", 13).inputs[1];
        assert_eq!((split_input.ty, split_input.arity), (FormalType::Tensor(Elem::INT64), Arity::Optional));
    }

    #[test]
    fn if_has_two_required_graphs_and_outputs_of_differing_types() {
        let first = schema("", "If", 1);
        assert_eq!(first.outputs[0].arity, Arity::Variadic { min: 1, homogeneous: false });
        for branch in ["then_branch", "else_branch"] {
            let decl = first.attribute(branch).unwrap();
            assert_eq!((decl.kind, decl.required, &decl.default), (AttributeKind::Graph, true, &None));
        }
        assert_eq!(allowed(first, "B").tensor, ElemSet::of(Elem::BOOL));
        assert_eq!(allowed(first, "V").seq_tensor, ElemSet::EMPTY);
        assert_eq!(allowed(schema("", "If", 13), "V").seq_tensor, CLASSIC);
        let wide = allowed(schema("", "If", 16), "V");
        assert_eq!(
            [wide.tensor, wide.seq_tensor, wide.opt_tensor, wide.opt_seq_tensor],
            [CLASSIC.union(BFLOAT16); 4]
        );
    }

    #[test]
    fn loop_may_lack_trip_count_condition_and_state_variables() {
        let looping = schema("", "Loop", 13);
        let arities: Vec<_> = looping.inputs.iter().map(|formal| formal.arity).collect();
        let carried = Arity::Variadic { min: 0, homogeneous: false };
        assert_eq!(arities, [Arity::Optional, Arity::Optional, carried]);
        assert_eq!(looping.outputs[0].arity, Arity::Variadic { min: 1, homogeneous: false });
        assert_eq!(looping.input(7), Some(&looping.inputs[2]));
    }

    #[test]
    fn optional_operators_pass_between_a_type_and_its_optional() {
        let optional = schema("", "Optional", 15);
        assert_eq!(optional.attribute("type").unwrap().kind, AttributeKind::Type);
        assert_eq!(optional.inputs[0].arity, Arity::Optional);
        let (inside, outside) = (allowed(optional, "V"), allowed(optional, "O"));
        assert_eq!((inside.tensor, inside.seq_tensor, inside.opt_tensor), (CLASSIC, CLASSIC, ElemSet::EMPTY));
        assert_eq!(
            (outside.opt_tensor, outside.opt_seq_tensor, outside.tensor),
            (CLASSIC, CLASSIC, ElemSet::EMPTY)
        );
        let has_element = schema("", "OptionalHasElement", 18);
        assert_eq!(has_element.inputs[0].arity, Arity::Optional);
        assert_eq!(allowed(has_element, "O").tensor, CLASSIC);
        assert_eq!(allowed(has_element, "B").tensor, ElemSet::of(Elem::BOOL));
    }

    #[test]
    fn sequence_map_is_a_function_of_its_body() {
        let map = schema("", "SequenceMap", 17);
        assert_eq!(map.function, FunctionBody::FromNode);
        assert_eq!(map.attribute("body").unwrap().kind, AttributeKind::Graph);
        assert_eq!(map.inputs[1].arity, Arity::Variadic { min: 0, homogeneous: false });
        assert_eq!(allowed(map, "S").seq_tensor, CLASSIC);
        assert_eq!((allowed(map, "V").tensor, allowed(map, "V").seq_tensor), (CLASSIC, CLASSIC));
    }

    #[test]
    fn zip_map_returns_a_sequence_of_maps() {
        let zip = schema("ai.onnx.ml", "ZipMap", 1);
        assert_eq!(zip.inputs[0].ty, FormalType::Tensor(Elem::FLOAT));
        let maps = [(Elem::INT64, Elem::FLOAT), (Elem::STRING, Elem::FLOAT)];
        assert_eq!(*allowed(zip, "T").seq_map, maps);
        assert!(allowed(zip, "T").map.is_empty());
        assert_eq!(allowed(schema("ai.onnx.ml", "DictVectorizer", 1), "T1").map.len(), 6);
    }

    #[test]
    fn resize_gains_a_region_of_interest_and_loses_the_need_for_scales() {
        assert_eq!(since_versions("Resize"), [10, 11, 13, 18, 19]);
        assert_eq!(schema("", "Resize", 10).inputs.len(), 2);
        let names: Vec<_> = schema("", "Resize", 13).inputs.iter().map(|f| (&*f.name, f.arity)).collect();
        let optional = Arity::Optional;
        assert_eq!(
            names,
            [("X", Arity::Required), ("roi", optional), ("scales", optional), ("sizes", optional)]
        );
        let coefficient = schema("", "Resize", 19).attribute("cubic_coeff_a").unwrap();
        assert_eq!(coefficient.default, Some(AttributeDefault::Float(-0.75)));
        assert_eq!(schema("", "Resize", 18).attribute("axes").unwrap().default, None);
    }

    #[test]
    fn batch_normalization_has_five_outputs_until_training_mode_leaves_three() {
        assert_eq!(since_versions("BatchNormalization"), [1, 6, 7, 9, 14, 15]);
        assert_eq!(schema("", "BatchNormalization", 9).outputs.len(), 5);
        let last = schema("", "BatchNormalization", 15);
        assert_eq!((last.outputs.len(), last.type_vars.len()), (3, 3));
        assert_eq!(last.outputs[1].arity, Arity::Optional);
        assert_eq!(last.attribute("epsilon").unwrap().default, Some(AttributeDefault::Float(1e-5)));
        assert_eq!(last.attribute("momentum").unwrap().default, Some(AttributeDefault::Float(0.9)));
    }

    #[test]
    fn float_defaults_keep_their_bits() {
        let bits = |schema: &Schema, name: &str| match schema.attribute(name).unwrap().default {
            Some(AttributeDefault::Float(value)) => value.to_bits(),
            _ => panic!("{name} of {} has no float default", schema.name),
        };
        assert_eq!(bits(schema("", "Clip", 6), "max"), f32::MAX.to_bits());
        assert_eq!(bits(schema("", "Clip", 6), "min"), f32::MIN.to_bits());
        assert_eq!(bits(schema("ai.onnx.ml", "LabelEncoder", 4), "default_float"), (-0.0_f32).to_bits());
        assert_eq!(bits(schema("", "Selu", 6), "gamma"), 0x3f86_7d5f);
    }

    #[test]
    fn lists_and_strings_have_defaults() {
        let default =
            |schema: &'static Schema, name| schema.attribute(name).unwrap().default.clone().unwrap();
        let activations = AttributeDefault::Strings(Box::new(["Tanh".into(), "Tanh".into()]));
        assert_eq!(default(schema("", "RNN", 7), "activations"), activations);
        let axes = AttributeDefault::Ints(Box::new([0, 2, 3]));
        assert_eq!(default(schema("", "MeanVarianceNormalization", 13), "axes"), axes);
        assert_eq!(default(schema("", "Conv", 11), "auto_pad"), AttributeDefault::String("NOTSET".into()));
    }

    #[test]
    fn withdrawn_operators_are_marked() {
        let withdrawn: Vec<_> = Table::get()
            .schemas()
            .filter(|schema| schema.deprecated)
            .map(|schema| (&*schema.name, schema.since_version))
            .collect();
        let expected = [
            ("GroupNormalization", 18),
            ("Scatter", 11),
            ("Upsample", 10),
            ("TreeEnsembleClassifier", 5),
            ("TreeEnsembleRegressor", 5),
        ];
        assert_eq!(withdrawn, expected);
    }

    #[test]
    fn functions_are_marked_by_the_dependency_of_their_body() {
        assert_eq!(schema("", "Add", 14).function, FunctionBody::None);
        assert_eq!(schema("", "Relu", 14).function, FunctionBody::Fixed);
        assert_eq!(schema("", "Clip", 13).function, FunctionBody::FromNode);
    }

    #[test]
    fn constant_has_one_attribute_for_each_form_of_a_value() {
        let constant = schema("", "Constant", 13);
        let kinds: Vec<_> = constant.attributes.iter().map(|decl| (&*decl.name, decl.kind)).collect();
        let expected = [
            ("sparse_value", AttributeKind::SparseTensor),
            ("value", AttributeKind::Tensor),
            ("value_float", AttributeKind::Float),
            ("value_floats", AttributeKind::Floats),
            ("value_int", AttributeKind::Int),
            ("value_ints", AttributeKind::Ints),
            ("value_string", AttributeKind::String),
            ("value_strings", AttributeKind::Strings),
        ];
        assert_eq!(kinds, expected);
        assert!(constant.inputs.is_empty());
    }
}

mod lookup {
    use super::*;

    #[test]
    fn takes_the_greatest_version_that_is_not_newer_than_the_opset() {
        let table = Table::get();
        let positions = (0..table.schema_count(), prop_oneof![-2..40_i64, Just(i64::MIN), Just(i64::MAX)]);
        check(positions, |(position, opset)| {
            let named = table.schemas().nth(position).unwrap();
            let slow = table
                .schemas()
                .filter(|schema| schema.domain == named.domain && schema.name == named.name)
                .filter(|schema| i64::from(schema.since_version) <= opset)
                .max_by_key(|schema| schema.since_version);
            let first = table.versions(&named.domain, &named.name).next().unwrap().since_version;
            let slow = slow.map_or(Found::NewerThanOpset { since: first }, Found::Schema);
            prop_assert_eq!(table.at(&named.domain, &named.name, opset), slow);
            Ok(())
        });
    }

    #[test]
    fn distinguishes_unknown_domains_unknown_operators_and_later_operators() {
        let table = Table::get();
        assert_eq!(table.at("com.example", "Add", 14), Found::UnknownDomain);
        assert_eq!(table.at("", "Addd", 14), Found::UnknownOperator);
        assert_eq!(table.at("ai.onnx.ml", "Add", 14), Found::UnknownOperator);
        assert_eq!(table.at("ai.onnx.training", "Adam", 1), Found::UnknownOperator);
        assert_eq!(table.at("", "Gelu", 19), Found::NewerThanOpset { since: 20 });
        assert!(matches!(table.at("", "Gelu", 20), Found::Schema(schema) if schema.since_version == 20));
    }

    #[test]
    fn treats_the_two_names_of_the_default_domain_as_equal() {
        let table = Table::get();
        assert!(matches!(table.at("", "Add", 13), Found::Schema(..)));
        assert_eq!(table.at("", "Add", 13), table.at("ai.onnx", "Add", 13));
        assert_eq!(table.versions("ai.onnx", "Add").count(), 5);
        assert_eq!(table.names("ai.onnx").count(), table.names("").count());
    }

    #[test]
    fn lists_each_name_of_a_domain_once_and_in_order() {
        let table = Table::get();
        let names: Vec<_> = table.names("").collect();
        assert!(names.is_sorted_by(|before, after| before < after));
        assert!(names.contains(&"Add") && !names.contains(&"ZipMap"));
        assert_eq!(table.domains().map(|domain| table.names(&domain.name).count()).sum::<usize>(), 227);
        assert_eq!(table.names("com.example").count(), 0);
    }
}

mod text {
    use super::*;

    /// The error in `SMALL` after replacing a line (by any number of lines).
    fn error(line: usize, replacement: &str) -> TableError {
        let lines: Vec<_> = SMALL
            .lines()
            .enumerate()
            .map(|(at, old)| if at + 1 == line { replacement } else { old })
            .collect();
        Table::parse(&lines.join("\n")).unwrap_err()
    }

    fn unexpected(expected: &'static str, found: &str) -> TableErrorKind {
        TableErrorKind::Unexpected { expected, found: found.into() }
    }

    #[test]
    fn with_every_construct_is_decoded() {
        let table = Table::parse(SMALL).unwrap();
        assert_eq!(table.versions("", "Cat").count(), 2);
        assert_eq!(table.versions("b.custom", "Cat").count(), 1);
        let cat = table.versions("", "Cat").next().unwrap();
        let quoted = AttributeDefault::Strings(Box::new([r#"a "quoted" \ word"#.into(), "".into()]));
        assert_eq!(cat.attribute("b").unwrap().default, Some(quoted));
        assert_eq!(cat.attribute("c").unwrap().default, Some(AttributeDefault::Ints(Box::new([]))));
        let floats = AttributeDefault::Floats(Box::new([1e-5, -0.0, 0.1, f32::MAX]));
        assert_eq!(cat.attribute("a").unwrap().default, Some(floats));
        assert_eq!(cat.attribute("d").unwrap().default, Some(AttributeDefault::Float(0.5)));
        assert_eq!(cat.attribute("e").unwrap().default, Some(AttributeDefault::String("x".into())));
        assert_eq!(
            cat.attribute("f").map(|decl| (decl.kind, decl.required)),
            Some((AttributeKind::Tensor, true))
        );
        assert_eq!(
            cat.attribute("g").map(|decl| (decl.kind, decl.required)),
            Some((AttributeKind::Type, false))
        );
        let ints = ElemSet::of_all(&[Elem::INT8, Elem::INT16, Elem::INT32, Elem::INT64]);
        let tensors = AllowedTypes {
            tensor: FLOATS.union(ints).union(ElemSet::of(Elem::BOOL)),
            seq_tensor: FLOATS,
            opt_tensor: ElemSet::of(Elem::INT8),
            opt_seq_tensor: FLOATS.union(ElemSet::of(Elem::STRING)),
            ..AllowedTypes::default()
        };
        let maps = AllowedTypes {
            map: Box::new([(Elem::INT64, Elem::FLOAT), (Elem::STRING, Elem::FLOAT)]),
            seq_map: Box::new([(Elem::INT64, Elem::STRING)]),
            ..AllowedTypes::default()
        };
        assert_eq!(cat.type_vars.iter().map(|var| &var.allowed).collect::<Vec<_>>(), [&tensors, &maps]);
        let ports =
            cat.inputs.iter().chain(&cat.outputs).map(|formal| (&*formal.name, formal.ty, formal.arity));
        let variadic = |min, homogeneous| Arity::Variadic { min, homogeneous };
        let expected = [
            ("first", FormalType::Var(0), Arity::Required),
            ("rest", FormalType::Var(0), variadic(0, false)),
            ("joined", FormalType::Var(0), Arity::Optional),
            ("more", FormalType::Var(1), variadic(2, true)),
        ];
        assert!(ports.eq(expected));
    }

    #[test]
    fn that_is_malformed_gives_the_line_and_the_error() {
        use TableErrorKind as Kind;
        let keywords = "`type`, `in`, `out` or `attr`";
        let cases = [
            (1, "operators 1", unexpected("`typeloom-operator-table`", "operators")),
            (1, "typeloom-operator-table 2", unexpected("format version 1", "2")),
            (2, "", Kind::Missing { expected: "`source`" }),
            (2, "source onnx", Kind::Missing { expected: "a version" }),
            (3, "count two domains", unexpected("the number of domains", "two")),
            (4, "group floats float half", Kind::UnknownElem("half".into())),
            (4, "group float float16", Kind::Repeated("float".into())),
            (5, "group floats int8", Kind::Repeated("floats".into())),
            (6, "op Cat 1", unexpected("`group` or `domain`", "op")),
            (6, "domain ai.onnx 1", Kind::Missing { expected: "the domain's last version" }),
            (7, "  in x T", unexpected("`op` or `domain`", "in")),
            (8, "type T tensor(bool)", unexpected("`op` or `domain`", "type")),
            (8, "  ", Kind::Missing { expected: "a keyword" }),
            (7, "op Cat -1", unexpected("a version", "-1")),
            (
                7,
                "op Cat 1 experimental",
                unexpected("`deprecated`, `function` or `function-from-node`", "experimental"),
            ),
            (7, "op Cat 1 function deprecated", unexpected("the end of the line", "deprecated")),
            (8, "  type T tensor(floats+half)", Kind::UnknownElem("half".into())),
            (8, "  type T tensor()", Kind::UnknownElem("".into())),
            (8, "  type T sparse_tensor(float)", unexpected("a set of types", "sparse_tensor(float)")),
            (8, "  type T tensor(float) tensor(bool)", Kind::Repeated("tensor(bool)".into())),
            (8, "  type T", Kind::Missing { expected: "a set of types" }),
            (9, "  type T map(int64:float)", Kind::Repeated("T".into())),
            (9, "  type M map(int64)", unexpected("`KEY:VALUE`", "int64")),
            (10, "  in first U", Kind::UnknownType("U".into())),
            (10, "  in first seq(tensor(float))", Kind::UnknownType("seq(tensor(float))".into())),
            (10, "  in first", Kind::Missing { expected: "a port's type" }),
            (10, "  in first T maybe", unexpected("`optional` or `variadic`", "maybe")),
            (11, "  in rest T variadic many", unexpected("the least number of values", "many")),
            (11, "  in rest T variadic 1 same", unexpected("`mixed`", "same")),
            (12, "  in late T", Kind::VariadicNotLast),
            (14, "  attr a floats = 1.0 inf", unexpected("a number", "inf")),
            (14, "  attr a real", unexpected("a kind of attribute", "real")),
            (14, "  attr a float 1.0", unexpected("`required` or `=`", "1.0")),
            (15, "  attr a strings", Kind::OutOfOrder("a".into())),
            (15, "  attr b strings = word", unexpected("a string in double quotes", "word")),
            (15, r#"  attr b strings = "open"#, unexpected("a string in double quotes", "\"open")),
            (15, r#"  attr b strings = "\n""#, unexpected("a string in double quotes", r#""\n""#)),
            (16, "  attr c ints = 1.5", unexpected("a whole number", "1.5")),
            (17, "  attr d float = 0.5 0.5", unexpected("the end of the line", "0.5")),
            (19, "  attr f tensor = 0", Kind::NoDefault(AttributeKind::Tensor)),
            (20, "  attribute g int", unexpected(keywords, "attribute")),
            (20, "  group more float", unexpected(keywords, "group")),
            (22, "group more float", unexpected("`op` or `domain`", "group")),
            (21, "op Cat 1", Kind::OutOfOrder("Cat".into())),
            (22, "op Bird 1", Kind::OutOfOrder("Bird".into())),
            (25, "domain ai.onnx 8 9", Kind::OutOfOrder("".into())),
        ];
        for (line, replacement, kind) in cases {
            assert_eq!(error(line, replacement), TableError { line, kind }, "line {line} as `{replacement}`");
        }
    }

    #[test]
    fn that_ends_early_or_miscounts_gives_its_last_line() {
        let count = |what, declared, found| TableErrorKind::Count { what, declared, found };
        assert_eq!(error(3, "count 1 domains 3 operators 4 schemas").kind, count("domains", 1, 2));
        assert_eq!(error(3, "count 2 domains 4 operators 4 schemas").kind, count("operators", 4, 3));
        let miscounted = error(3, "count 2 domains 3 operators 5 schemas");
        assert_eq!(miscounted, TableError { line: 26, kind: count("schemas", 5, 4) });
        assert_eq!(miscounted.to_string(), "operator table, line 26: 5 schemas declared at the top, 4 found");
        let top = TableErrorKind::Missing { expected: "the three lines at the top" };
        assert_eq!(Table::parse("").unwrap_err(), TableError { line: 1, kind: top });
    }

    #[test]
    fn damaged_tables_are_parsed_or_rejected_at_one_of_their_lines() {
        let places = (0..SMALL.len(), 0..12_usize, "[ -~\n\u{e9}]{0,6}");
        check(places, |(at, length, inserted)| {
            let end = (at + length).min(SMALL.len());
            let text = format!("{}{inserted}{}", &SMALL[..at], &SMALL[end..]);
            match Table::parse(&text) {
                Ok(table) => prop_assert!(table.schema_count() <= text.lines().count()),
                Err(error) => prop_assert!((1..=text.lines().count() + 1).contains(&error.line)),
            }
            Ok(())
        });
    }
}
