//! Verdicts on the conditions that operators place on real models.

use crate::{Condition, DimId, Dims, Domain, Relation, Verdict};

/// Reads `left REL right`, where `REL` is one of `==`, `<=`, `1|`, `><`, `|`.
fn condition(dims: &mut Dims, text: &str) -> Condition {
    let relations = [
        (" == ", Relation::Equal),
        (" <= ", Relation::AtMost),
        (" 1| ", Relation::OneOrEqual),
        (" >< ", Relation::Broadcast),
        (" | ", Relation::Divides),
    ];
    let (left, relation, right) = relations
        .iter()
        .find_map(|(sign, relation)| text.split_once(sign).map(|(left, right)| (left, *relation, right)))
        .expect("a relation");
    let mut read = |text| dims.parse(text).expect("a dim");
    let (left, right) = (read(left), read(right));
    Condition::new(relation, left, right)
}

fn shown(dims: &Dims, verdict: &Verdict) -> String {
    match verdict {
        Verdict::Always => "always".to_owned(),
        Verdict::Never => "never".to_owned(),
        Verdict::Only { symbol, values } => format!("{} in {values:?}", dims.display(*symbol)),
        Verdict::Equals { symbol, value } => format!("{} := {}", dims.display(*symbol), dims.display(*value)),
        Verdict::Restricted { conditions } => conditions
            .iter()
            .map(|condition| dims.display_condition(*condition).to_string())
            .collect::<Vec<_>>()
            .join("; "),
        Verdict::Undecided => "undecided".to_owned(),
    }
}

fn binding(dims: &Dims, binding: Option<Vec<(DimId, i64)>>) -> String {
    let Some(binding) = binding else { return "none".to_owned() };
    let shown = binding.iter().map(|(symbol, value)| format!("{}={value}", dims.display(*symbol)));
    shown.collect::<Vec<_>>().join(" ")
}

/// Checks `(condition, verdict, counterexample)`; an empty counterexample is not compared.
fn check(domain: impl Fn(&mut Dims) -> Domain, cases: &[(&str, &str, &str)]) {
    let mut wrong = Vec::new();
    for (text, expected, witness) in cases {
        let mut dims = Dims::new();
        let domain = domain(&mut dims);
        let condition = condition(&mut dims, text);
        let verdict = dims.examine(condition, &domain);
        let found = shown(&dims, &verdict);
        if found != *expected {
            wrong.push(format!("{text}: {found}, expected {expected}"));
        }
        let counterexample = dims.counterexample(condition, &domain);
        let counterexample = binding(&dims, counterexample);
        if !witness.is_empty() && counterexample != *witness {
            wrong.push(format!("{text} fails at {counterexample}, expected {witness}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn nonempty(_: &mut Dims) -> Domain {
    Domain::nonempty()
}

#[test]
fn conditions_in_one_symbol_are_solved_exactly() {
    check(
        nonempty,
        &[
            ("seq == seq", "always", "none"),
            ("seq == 0", "never", "seq=1"),
            ("seq == 7", "seq in [7]", "seq=1"),
            ("seq >< 7", "seq in [1, 7]", "seq=2"),
            ("seq 1| 7", "seq in [1, 7]", "seq=2"),
            ("min(seq, 64) == seq", "seq <= 64", "seq=65"),
            ("min(seq, 64) 1| seq", "seq <= 64", "seq=65"),
            ("min(seq, 64) >< seq", "seq <= 64", "seq=65"),
            ("min(seq, 2) == seq", "seq in [1, 2]", "seq=3"),
            ("min(seq, 64) == 1", "seq in [1]", "seq=2"),
            ("seq + min(seq, 1) == seq", "never", "seq=1"),
            ("seq + max(seq - 1, 0) == seq", "seq in [1]", "seq=2"),
            ("5 <= anchors", "anchors >= 5", "anchors=1"),
            ("2*seq <= 129", "seq <= 64", "seq=65"),
            ("seq <= 9000000000", "seq <= 9000000000", "seq=9000000001"),
            ("7*(seq//7) == seq", "seq is divisible by 7", "seq=1"),
            ("seq % 7 == 0", "seq is divisible by 7", "seq=1"),
            ("7 | seq", "seq is divisible by 7", "seq=1"),
            ("seq % 2 == 1", "seq + 1 is divisible by 2", "seq=2"),
            ("2*seq == 7", "never", "seq=1"),
            ("seq*seq == 49", "seq in [7]", "seq=1"),
            ("seq*seq == 50", "never", "seq=1"),
            ("seq*seq + 6 == 5*seq", "seq in [2, 3]", "seq=1"),
            ("n*(n - 1) == 0", "n in [1]", "n=2"),
            ("(n - 1)//2 + 1 == (n + 1)//2", "always", "none"),
            ("(((n - 1)//2 + 1) - 1)//2 + 1 == (n - 1)//4 + 1", "always", "none"),
            ("(a + 3)//2 - (a + 1)//2 == 1", "always", "none"),
            ("(n + 2 - 3)//2 + 1 == 112", "n in [223, 224]", "n=1"),
            ("n//2 + n//2 == n", "n is divisible by 2", "n=1"),
            ("n*(n + 1)//2*2 == n*n + n", "always", "none"),
            ("max(n - 3, 0) + 3 == n", "n >= 3", "n=1"),
            ("n <= min(n, 8) + 4", "n in [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]", "n=13"),
        ],
    );
}

#[test]
fn products_of_quotients_imply_divisibility() {
    check(
        nonempty,
        &[
            ("h*w == 49*(h//7)*(w//7)", "h is divisible by 7; w is divisible by 7", "h=1 w=1"),
            ("3*h*w == 12*(h//2)*(w//2)", "h is divisible by 2; w is divisible by 2", "h=1 w=1"),
            ("h*w == 6*(h//2)*(w//3)", "h is divisible by 2; w is divisible by 3", "h=1 w=1"),
        ],
    );
}

#[test]
fn conditions_on_multiples_of_multiples_are_those_on_their_symbol() {
    let chain = |dims: &mut Dims| {
        let mut domain = Domain::nonempty();
        let (two, h) = (dims.constant(2), dims.symbol("h"));
        for part in ["h", "h//2", "h//4"] {
            let part = dims.parse(part).expect("a dim");
            domain.assume(dims, Condition::new(Relation::Divides, two, part));
        }
        assert_eq!(dims.least_of(h, &domain), 1);
        domain
    };
    check(
        chain,
        &[
            ("8*(h//8) == h", "always", "none"),
            ("h//8 == 2*(h//16)", "h is divisible by 16", "h=8"),
            ("h*w == 256*(h//16)*(w//16)", "h is divisible by 16; w is divisible by 16", ""),
        ],
    );
}

#[test]
fn conditions_on_multiples_are_those_on_their_symbol() {
    let even = |dims: &mut Dims| {
        let mut domain = Domain::nonempty();
        let (two, h) = (dims.constant(2), dims.symbol("h"));
        domain.assume(dims, Condition::new(Relation::Divides, two, h));
        domain
    };
    check(
        even,
        &[
            ("2*(h//2) == h", "always", "none"),
            ("h//2 == 2*(h//4)", "h is divisible by 4", ""),
            ("h <= 9", "h in [2, 4, 6, 8]", ""),
        ],
    );
}

#[test]
fn conditions_in_a_product_of_symbols_are_solved_exactly() {
    check(
        nonempty,
        &[
            ("7 | batch*seq", "batch*seq is divisible by 7", "batch=1 seq=1"),
            ("batch*seq//7*7 == batch*seq", "batch*seq is divisible by 7", "batch=1 seq=1"),
            ("14*(batch*seq//7) == 2*batch*seq", "batch*seq is divisible by 7", "batch=1 seq=1"),
            ("min(batch*seq, 64) == batch*seq", "batch*seq <= 64", "batch=6 seq=11"),
            ("batch*seq == 0", "never", "batch=1 seq=1"),
        ],
    );
}

#[test]
fn positive_factors_are_divided_out() {
    check(
        nonempty,
        &[
            ("768*b*s == 780*b*s", "never", "b=1 s=1"),
            ("b*s == 7*b", "s in [7]", "b=1 s=1"),
            ("b*s == b*n", "n := s", "b=1 s=1 n=2"),
            ("b*s + s == b*n + n", "n := s", "b=1 s=1 n=2"),
            ("b*s <= 7*b", "s in [1, 2, 3, 4, 5, 6, 7]", "b=1 s=8"),
            ("2*b + 2*s == 2*n + 1", "never", "b=1 s=1 n=1"),
            ("seq == 2*h", "seq := 2*h", "seq=1 h=1"),
        ],
    );
}

#[test]
fn conditions_in_several_symbols_are_proved_or_restricted() {
    check(
        nonempty,
        &[
            ("min(seq, seq + past) == seq", "always", "none"),
            ("seq <= seq + past", "always", "none"),
            ("seq + past <= seq", "never", "seq=1 past=1"),
            ("seq + past <= seq*past + 1", "always", "none"),
            ("min(a, b) + max(a, b) == a + b", "always", "none"),
            ("min(a, b)*max(a, b) == a*b", "always", "none"),
            ("(a + b)//2 + (a + b + 1)//2 == a + b", "always", "none"),
            ("seq + past <= 2048", "seq + past <= 2048", "seq=1 past=2048"),
        ],
    );
}

#[test]
fn finitely_many_values_of_a_symbol_are_listed() {
    check(
        nonempty,
        &[
            ("b*s == 7", "b*s = 7", "b=1 s=1"),
            ("b*s >< 7", "b*s is 1 or equal to 7", "b=1 s=2"),
            ("b*s == 2048", "b*s = 2048", "b=1 s=1"),
            ("a*b == a + b", "b in [2]", "a=1 b=1"),
            ("a*b == a + b + 1", "a + b + 1 = a*b", "a=1 b=1"),
            ("b*s + b == 7*s + 7", "b in [7]", "b=1 s=1"),
            ("seq >< min(seq + past, 64)", "seq in [1, 64]", "seq=2 past=1"),
            ("seq >< min(seq + past, 2048)", "seq in [1, 2048]", "seq=2 past=1"),
            ("min(seq, past) == 1", "min(seq, past) = 1", "seq=2 past=2"),
            ("a + b == 3", "a + b = 3", "a=1 b=1"),
            ("a*a + b*b == 25", "a*a + b*b = 25", "a=1 b=1"),
            ("2*a*a + b*b*b == 25", "never", "a=1 b=1"),
            ("2*a*a + b*b*b == 26", "b in [2]", "a=1 b=1"),
        ],
    );
}

#[test]
fn minima_become_inequalities() {
    check(
        nonempty,
        &[
            ("min(a, b) == a", "a <= b", "a=2 b=1"),
            ("min(a, b) 1| a", "min(a, b) is 1 or equal to a", "a=3 b=2"),
            ("max(a, b) == a", "b <= a", "a=1 b=2"),
            ("a <= min(b, c)", "a <= b; a <= c", "a=2 b=1 c=1"),
            ("max(a, 2*b) <= c", "2*b <= c; a <= c", "a=1 b=1 c=1"),
            ("min(a, 64) <= b", "min(a, 64) <= b", "a=2 b=1"),
            ("min(a + b, 64) == a + b", "a + b <= 64", "a=1 b=64"),
            ("min(a + b, 64) >< a + b", "a + b <= 64", "a=1 b=64"),
            ("7 | a + b", "a + b is divisible by 7", "a=1 b=1"),
        ],
    );
}

#[test]
fn conditions_in_a_sum_of_symbols_are_solved_exactly() {
    let past_may_be_empty = |dims: &mut Dims| {
        let past = dims.symbol("past");
        Domain::nonempty().from(past, 0)
    };
    check(
        past_may_be_empty,
        &[
            ("min(past + seq, 64) 1| past + seq", "past + seq <= 64", "past=0 seq=65"),
            ("min(past + seq, 64) >< past + seq", "past + seq <= 64", "past=0 seq=65"),
            ("max(past + seq - 5, 0) + 5 == past + seq", "past + seq >= 5", "past=0 seq=1"),
            (
                "(past + seq)//2 + (past + seq)//2 == past + seq",
                "past + seq is divisible by 2",
                "past=0 seq=1",
            ),
            ("2*past + 2*seq <= 31", "past + seq <= 15", "past=0 seq=16"),
            ("((past + seq - 1)//2 + 1)//2 == (past + seq + 1)//4", "always", "none"),
            ("past + seq == seq", "past in [0]", "past=1 seq=1"),
        ],
    );
}

#[test]
fn divisors_of_a_constant_are_listed() {
    check(
        nonempty,
        &[
            ("h | 64", "h in [1, 2, 4, 8, 16, 32, 64]", "h=3"),
            ("h | 2048", "h in [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048]", "h=3"),
            ("h*(768//h) == 768", "768 is divisible by h", "h=5"),
            ("100//h == 7", "h in [13, 14]", "h=1"),
        ],
    );
}

#[test]
fn dims_are_simplified_under_facts() {
    let mut dims = Dims::new();
    let mut domain = Domain::nonempty();
    for fact in ["seq <= 64", "4 <= seq", "total == seq + past", "past <= n"] {
        let fact = condition(&mut dims, fact);
        domain.assume(&mut dims, fact);
    }
    for (dim, simple) in [
        ("min(seq, 64)", "seq"),
        ("min(seq, 64)*batch", "seq*batch"),
        ("max(seq - 3, 0)", "seq - 3"),
        ("min(total, seq)", "seq"),
        ("total - past", "seq"),
        ("min(past, n + 1)", "past"),
        ("(seq + 3)//128", "0"),
        ("min(seq, 63)", "min(seq, 63)"),
    ] {
        let read = dims.parse(dim).expect("a dim");
        let found = dims.simplify(read, &domain);
        assert_eq!(dims.display(found).to_string(), simple, "{dim}");
    }
    for (text, expected) in [
        ("total <= 64", "seq + past <= 64"),
        ("past <= n + 1", "always"),
        ("past <= n", "always"),
        ("n + 1 <= past", "never"),
        ("seq == 3", "never"),
        ("min(seq, 64) == past", "past := seq"),
    ] {
        let condition = condition(&mut dims, text);
        let verdict = dims.examine(condition, &domain);
        assert_eq!(shown(&dims, &verdict), expected, "{text}");
    }
    let fact = condition(&mut dims, "7 | batch*k");
    domain.assume(&mut dims, fact);
    let again = condition(&mut dims, "7*(batch*k//7) == batch*k");
    assert_eq!(dims.examine(again, &domain), Verdict::Always);
}

#[test]
fn facts_about_one_symbol_are_used_together() {
    let mut dims = Dims::new();
    let mut domain = Domain::nonempty();
    for fact in ["seq >< 7", "2 | n", "min(k, 64) 1| k", "a <= b", "b <= c", "c <= 3"] {
        let fact = condition(&mut dims, fact);
        domain.assume(&mut dims, fact);
    }
    for (text, expected) in [
        ("seq <= 7", "always"),
        ("seq == 3", "never"),
        ("2 <= seq", "seq in [7]"),
        ("seq*batch <= 7*batch", "always"),
        ("n == 3", "never"),
        ("n <= 5", "n in [2, 4]"),
        ("2*(n//2) == n", "always"),
        ("4 | n", "n is divisible by 4"),
        ("4*(n//4) == n - 2", "n + 2 is divisible by 4"),
        ("min(k, 64) == k", "always"),
        ("a <= c", "always"),
        ("a <= 3", "always"),
        ("c <= a", "c <= a"),
    ] {
        let condition = condition(&mut dims, text);
        let verdict = dims.examine(condition, &domain);
        assert_eq!(shown(&dims, &verdict), expected, "{text}");
    }
    let condition = condition(&mut dims, "2 <= a");
    let example = dims.example(condition, &domain);
    assert_eq!(binding(&dims, example), "a=2 b=2 c=2");
}

/// With one wide range and one narrow range, each sum has few distributions. The search tries thousands of
/// sums, so it must not go through those that leave something over.
#[test]
fn a_search_distributes_a_sum_only_to_symbols_that_can_take_it() {
    let mut dims = Dims::new();
    let [_, narrow] = ["a", "b"].map(|name| dims.symbol(name));
    let domain = Domain::nonempty().at_most(narrow, 2);
    for (text, expected) in [("0 <= a*b", "none"), ("a + b <= 700", "a=699 b=2"), ("a*b <= 700", "a=351 b=2")]
    {
        let condition = condition(&mut dims, text);
        let found = dims.counterexample(condition, &domain);
        assert_eq!(binding(&dims, found), expected, "{text}");
    }
}

#[test]
fn ranges_and_remainders_are_stated_together() {
    check(
        nonempty,
        &[
            ("7*((n - 1)//7) + 1 == n", "n + 6 is divisible by 7", "n=2"),
            ("max(n - 20, 2*((n - 1)//2)) == n - 1", "n + 1 is divisible by 2", "n=2"),
            ("3*(max(n - 9, 1)//3) == n - 9", "n >= 9; n is divisible by 3", "n=1"),
            ("2*(min(n, 100)//2) == n", "n <= 100; n is divisible by 2", "n=1"),
        ],
    );
}

#[test]
fn anonymous_variables_are_not_chosen() {
    let mut dims = Dims::new();
    let (seq, unknown) = (dims.symbol("seq"), dims.fresh());
    let condition = Condition::new(Relation::Equal, seq, unknown);
    assert_eq!(dims.examine(condition, &Domain::nonempty()), Verdict::Undecided);
    assert_eq!(dims.counterexample(condition, &Domain::nonempty()), None);
    let more = dims.add(unknown, DimId::ONE);
    let condition = Condition::new(Relation::Equal, unknown, more);
    assert_eq!(dims.examine(condition, &Domain::nonempty()), Verdict::Never);
}

#[test]
fn a_domain_bounds_symbols() {
    let at_least_four = |dims: &mut Dims| {
        let seq = dims.symbol("seq");
        Domain::nonempty().at_least(seq, 4)
    };
    check(
        at_least_four,
        &[
            ("seq == 3", "never", "seq=4"),
            ("seq <= 5", "seq in [4, 5]", "seq=6"),
            ("max(seq - 3, 0) + 3 == seq", "always", "none"),
            ("2*past <= seq*past", "always", "none"),
        ],
    );
    let up_to_64 = |dims: &mut Dims| {
        let seq = dims.symbol("seq");
        Domain::nonempty().at_most(seq, 64)
    };
    check(up_to_64, &[("min(seq, 64) == seq", "always", "none"), ("65 <= seq", "never", "seq=1")]);
    check(
        |_| Domain::extents(),
        &[("seq == 0", "seq in [0]", "seq=1"), ("b*s == 7*b", "b*s = 7*b", "b=1 s=0")],
    );
}

/// Conditions of a size near the limits of the arena.
fn large_conditions(dims: &mut Dims) -> Vec<Condition> {
    let symbols: Vec<DimId> = (0..40).map(|at| dims.symbol(&format!("s{at}"))).collect();
    let sum = dims.sum(&symbols);
    let product = dims.product(&symbols[..8]);
    let (mut floors, mut minima, mut products) = (DimId::ZERO, DimId::ZERO, DimId::ZERO);
    for (at, pair) in symbols.windows(2).enumerate() {
        let divisor = dims.constant(2 + i64::try_from(at % 7).unwrap());
        let total = dims.add(pair[0], pair[1]);
        let quotient = dims.floor_div(total, divisor);
        floors = dims.add(floors, quotient);
        let least = dims.min(pair[0], pair[1]);
        minima = dims.add(minima, least);
        let product = dims.mul(pair[0], pair[1]);
        products = dims.add(products, product);
    }
    let nested = symbols[..3].iter().fold(symbols[39], |nested, &symbol| {
        let (three, cap) = (dims.constant(3), dims.constant(50));
        let capped = dims.min(nested, cap);
        let sum = dims.add(capped, symbol);
        dims.floor_div(sum, three)
    });
    let dims = [sum, product, floors, minima, products, nested, symbols[0]];
    let pairs =
        dims.iter().enumerate().flat_map(|(at, left)| dims[at + 1..].iter().map(|right| (*left, *right)));
    let relations = [Relation::Equal, Relation::AtMost, Relation::Broadcast, Relation::Divides];
    let related = pairs.zip(relations.into_iter().cycle());
    related.map(|((left, right), relation)| Condition::new(relation, left, right)).collect()
}

#[test]
fn large_conditions_are_examined_within_the_limits() {
    let mut dims = Dims::new();
    let mut decided = 0;
    for condition in large_conditions(&mut dims) {
        let verdict = dims.examine(condition, &Domain::nonempty());
        decided += usize::from(verdict != Verdict::Undecided);
    }
    assert!(decided >= 12, "{decided} are decided");
}

#[test]
fn a_fact_about_nested_quotients_leaves_both_of_its_solutions() {
    let mut dims = Dims::new();
    let narrow = dims.parse("(max(0, seq - 1) - 1)//2 + 1").expect("an expression");
    let wide = dims.parse("(seq - 1)//2 + 1").expect("an expression");
    let mut domain = Domain::extents();
    domain.assume(&mut dims, Condition::new(Relation::Equal, narrow, DimId::ONE));
    // The fact leaves 2 and 3 for `seq`, for which the other side is 1 and 2.
    let verdict = dims.examine(Condition::new(Relation::Equal, wide, DimId::ONE), &domain);
    assert_ne!(verdict, Verdict::Always);
}
