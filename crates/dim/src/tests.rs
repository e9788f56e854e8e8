//! Examples: the forms that dims take, the limits, and names.

use crate::arena::MAX_TERMS;
use crate::{Bind, Decision, DimId, DimParseError, Dims, Solved};

/// Reads expressions that are known to be well-formed.
fn read(dims: &mut Dims, text: &str) -> DimId {
    dims.parse(text).expect(text)
}

fn shown(text: &str) -> String {
    let mut dims = Dims::new();
    let dim = read(&mut dims, text);
    dims.display(dim).to_string()
}

/// Both texts are read as one dim.
fn same(a: &str, b: &str) -> bool {
    let mut dims = Dims::new();
    read(&mut dims, a) == read(&mut dims, b)
}

fn compared(a: &str, b: &str) -> Decision {
    let mut dims = Dims::new();
    let (a, b) = (read(&mut dims, a), read(&mut dims, b));
    dims.compare(a, b)
}

fn bounds(text: &str) -> (Option<i64>, Option<i64>) {
    let mut dims = Dims::new();
    let dim = read(&mut dims, text);
    dims.bounds(dim)
}

/// The solution of an equation, as text.
fn solved(a: &str, b: &str) -> String {
    let mut dims = Dims::new();
    let (a, b) = (read(&mut dims, a), read(&mut dims, b));
    match dims.solve_for(a, b) {
        Solved::Symbol { symbol, value } => format!("{} = {}", dims.display(symbol), dims.display(value)),
        other => format!("{other:?}"),
    }
}

#[test]
fn ids_are_small_and_have_a_niche() {
    assert_eq!(size_of::<Option<DimId>>(), 4);
}

#[test]
fn constants_of_every_size_are_kept() {
    let mut dims = Dims::new();
    for value in [0, 1, -1, 224, (1 << 30) - 1, 1 << 30, -(1 << 30), -(1 << 30) - 1, i64::MAX, i64::MIN] {
        let dim = dims.constant(value);
        assert_eq!(dims.as_constant(dim), Some(value));
        assert_eq!(dims.constant(value), dim);
        assert_eq!(dims.display(dim).to_string(), value.to_string());
        assert_eq!(dims.parse(&value.to_string()), Ok(dim));
    }
}

#[test]
fn a_symbol_is_its_name_and_a_variable_is_itself() {
    let mut dims = Dims::new();
    let (n, m, x, y) = (dims.symbol("n"), dims.symbol("m"), dims.fresh(), dims.fresh());
    assert_eq!(dims.symbol("n"), n);
    assert_ne!(n, m);
    assert_ne!(x, y);
    assert_eq!(dims.as_symbol(n), Some("n"));
    assert_eq!(dims.as_symbol(x), None);
    assert!(dims.is_anonymous(x) && dims.is_variable(x) && !dims.is_anonymous(n));
    let sum = dims.add(n, x);
    assert!(dims.is_anonymous(sum) && !dims.is_variable(sum));
    assert_eq!(dims.display(sum).to_string(), "n + ?");
}

#[test]
fn expressions_are_printed_as_they_are_read() {
    for text in [
        "batch*seq",
        "seq + past",
        "1001*N",
        "2*(h//2)",
        "(a - 1)//2 + 1",
        "seq + 1",
        "4*batch",
        "n//2",
        "a % 2",
        "a % b",
        "max(a, b)",
        "max(a, b, c)",
        "max(0, n - 1)",
        "min(n, 5)",
        "b*max(0, n - 1)",
        "batch*(seq + past)",
        "2*N*(M + 1)",
        "1 - a",
        "a - b",
        "n - n//2",
        "(h + 2*p - k)//s + 1",
        "-(a//2) - 1",
    ] {
        assert_eq!(shown(text), text);
    }
}

#[test]
fn quotients_have_one_form() {
    for (a, b) in [
        ("(2*a)//2", "a"),
        ("(2*a + 1)//2", "a"),
        ("(a*b + r)//b", "a + r//b"),
        ("(a + 7)//2", "(a - 1)//2 + 4"),
        ("(a//2)//3", "a//6"),
        ("(a//b)//c", "a//(b*c)"),
        ("((a - 1)//2 + 1 - 1)//2 + 1", "(a - 1)//4 + 1"),
        ("ceil(a/2)", "(a + 1)//2"),
        ("ceil(a/b)", "-((-a)//b)"),
        ("floor((a - 1)/2 + 1)", "(a - 1)//2 + 1"),
        ("(4*a + 6)//8", "(2*a + 3)//4"),
        ("(a*n)//(b*n)", "a//b"),
        ("a//-2", "-a//2"),
        ("(1001*N*C)//(N*C)", "1001"),
        ("(N*C*4)//(2*C)", "2*N"),
        ("a - 2*(a//2)", "a % 2"),
        ("Mod(a, 3)", "a % 3"),
        ("(n + 3)//(n + 3)", "1"),
        ("n//(n + 1)", "0"),
        ("(n % 4)//4", "0"),
        ("a/2 * 2", "a"),
    ] {
        assert!(same(a, b), "{a} is not {b}");
    }
    assert!(!same("2*(a//2)", "a"), "an odd number loses one");
    assert!(!same("a//2*2", "(a*2)//2"));
}

#[test]
fn a_divisor_of_unknown_sign_is_not_rounded() {
    let mut dims = Dims::new();
    let quotient = read(&mut dims, "(2*a + 1)//(2*b - 2*c)");
    let [a, b, c] = ["a", "b", "c"].map(|name| dims.symbol(name));
    let number = dims.substitute(quotient, &[(a, DimId::ONE), (b, DimId::ZERO), (c, DimId::ONE)]);
    assert_eq!(dims.as_constant(number), Some(-2), "3 // -2");
}

#[test]
fn extremes_have_one_form() {
    for (a, b) in [
        ("min(a, b)", "min(b, a)"),
        ("min(a, min(b, c))", "min(a, b, c)"),
        ("max(max(a, b), c)", "max(c, b, a)"),
        ("min(a + 3, b + 3)", "min(a, b) + 3"),
        ("min(2*a, 2*b)", "2*min(a, b)"),
        ("-min(-a, -b)", "max(a, b)"),
        ("min(a, b) + max(a, b)", "a + b"),
        ("min(n, n + 1)", "n"),
        ("max(n, 0)", "n"),
        ("max(n//2, n)", "n"),
        ("min(a*b, a*b + c)", "a*b"),
        ("max(0, min(a, b))", "min(a, b)"),
        ("max(max(0, a - 1) - 3, 0)", "max(0, a - 4)"),
    ] {
        assert!(same(a, b), "{a} is not {b}");
    }
}

#[test]
fn comparisons_are_decided_by_proofs() {
    use Decision::{Different, Equal, Undecided};
    for (a, b, expected) in [
        ("n", "n", Equal),
        ("n", "m", Undecided),
        ("n", "2*n", Undecided),
        ("n + 1", "n", Different),
        ("n + 1", "0", Different),
        ("n", "7", Undecided),
        ("2*n", "7", Different),
        ("2*n", "2*m + 1", Different),
        ("n*n", "2", Different),
        ("n*n", "4", Undecided),
        ("n//2", "n + 1", Different),
        ("a % 4", "4", Different),
        ("a % 4", "3", Undecided),
        ("(a + 1)//2 + a//2", "a", Equal),
        ("min(a, b)", "a + b + 1", Different),
        ("batch*(a//2)*2", "batch*a + 1", Different),
    ] {
        assert_eq!(compared(a, b), expected, "{a} and {b}");
    }
}

#[test]
fn bounds_see_through_quotients_and_extremes() {
    assert_eq!(bounds("n"), (Some(0), None));
    assert_eq!(bounds("n - 3"), (Some(-3), None));
    assert_eq!(bounds("5 - 2*n"), (None, Some(5)));
    assert_eq!(bounds("n % 5"), (Some(0), Some(4)));
    assert_eq!(bounds("n - n//2"), (Some(0), None));
    assert_eq!(bounds("max(0, n - 1)"), (Some(0), None));
    assert_eq!(bounds("min(n, 8)"), (Some(0), Some(8)));
    assert_eq!(bounds("b*max(0, n - 1) + 1"), (Some(1), None));
    let mut dims = Dims::new();
    let integer = dims.fresh_integer();
    assert_eq!(dims.bounds(integer), (None, None));
    let square = dims.mul(integer, integer);
    assert_eq!(dims.bounds(square), (Some(0), None));
}

#[test]
fn predicates_hold_for_all_extents() {
    let mut dims = Dims::new();
    let (n, odd, next) = (read(&mut dims, "n"), read(&mut dims, "2*n - 1"), read(&mut dims, "n + 1"));
    let zero = [n, odd, next].map(|dim| dims.compare(dim, DimId::ZERO));
    assert_eq!(zero, [Decision::Undecided, Decision::Different, Decision::Different]);
    assert!(!dims.is_positive(n) && !dims.is_positive(odd) && dims.is_positive(next));
    assert!(dims.is_non_negative(n) && !dims.is_non_negative(odd));
    let two = read(&mut dims, "n + 2");
    assert!(dims.is_one_possible(n) && dims.is_one_possible(next) && !dims.is_one_possible(two));
}

#[test]
fn equations_determine_symbols() {
    for (a, b, expected) in [
        ("2*N + 1", "9", "N = 4"),
        ("2*N", "9", "Contradiction"),
        ("N + 5", "3", "Contradiction"),
        ("N", "M", "M = N"),
        ("3*N", "3*M + 6", "M = N - 2"),
        ("N*N", "16", "N = 4"),
        ("N*N", "15", "Contradiction"),
        // A square modulo all the small numbers that are tried.
        ("N*N", "364", "Contradiction"),
        ("N*N + N", "6", "N = 2"),
        ("N*N*N", "0", "N = 0"),
        ("N + M*K", "0", "N = 0"),
        ("N//2", "3", "Undecided"),
        ("N*M", "2*N", "Undecided"),
        ("2*N", "3*M", "Undecided"),
        ("N + N//2", "5", "Undecided"),
        ("N + 1", "1 + N", "Always"),
    ] {
        assert_eq!(solved(a, b), expected, "{a} = {b}");
    }
}

#[test]
fn equations_give_values_to_variables() {
    let mut dims = Dims::new();
    let (variable, n) = (dims.fresh(), dims.symbol("N"));
    let (left, right) = (read(&mut dims, "4"), read(&mut dims, "8*N"));
    let (left, half) = (dims.mul(left, variable), read(&mut dims, "2*N"));
    assert_eq!(dims.solve_for(left, right), Solved::Variable { variable, value: half });
    let longer = dims.add(variable, n);
    assert_eq!(dims.solve_for(variable, longer), Solved::Symbol { symbol: n, value: DimId::ZERO });
}

#[test]
fn a_bound_variable_is_its_value_everywhere() {
    let mut dims = Dims::new();
    let (x, y, n) = (dims.fresh(), dims.fresh(), dims.symbol("n"));
    let sum = dims.add(x, y);
    let half = dims.floor_div(sum, y);
    assert_eq!(dims.bind(y, x), Bind::Bound);
    let two = dims.constant(2);
    assert_eq!(dims.resolve(half), two);
    assert_eq!(dims.bind(x, y), Bind::Same);
    assert_eq!(dims.bind(x, sum), Bind::Occurs);
    assert_eq!(dims.bind(x, n), Bind::Bound);
    let double = read(&mut dims, "2*n");
    assert_eq!(dims.resolve(sum), double);
    assert_eq!(dims.bind(x, double), Bind::Rigid);
    assert_eq!(dims.as_symbol(y), Some("n"));
    assert!(!dims.is_anonymous(sum));
    let (extent, negative) = (dims.fresh(), dims.constant(-1));
    assert_eq!(dims.bind(extent, negative), Bind::Negative);
}

#[test]
fn an_extent_stays_an_extent_when_it_meets_an_integer() {
    let mut dims = Dims::new();
    let (integer, extent) = (dims.fresh_integer(), dims.fresh());
    assert_eq!(dims.bind(extent, integer), Bind::Bound);
    assert_eq!(dims.bounds(integer), (Some(0), None));
}

#[test]
fn a_long_chain_of_bindings_resolves() {
    let mut dims = Dims::new();
    let variables: Vec<DimId> = (0..50_000).map(|_| dims.fresh()).collect();
    for pair in variables.windows(2).rev() {
        let next = dims.add(pair[0], DimId::ONE);
        assert_eq!(dims.bind(pair[1], next), Bind::Bound);
    }
    assert_eq!(dims.bind(variables[0], DimId::ONE), Bind::Bound);
    let last = variables[variables.len() - 1];
    let resolved = dims.resolve(last);
    assert_eq!(dims.as_constant(resolved), Some(50_000));
}

#[test]
fn symbols_are_listed_once_in_order_of_appearance() {
    let mut dims = Dims::new();
    let (n, m) = (dims.symbol("n"), dims.symbol("m"));
    let dim = read(&mut dims, "(m + 1)//2 + n*n + min(n, k)");
    let names: Vec<&str> = dims.symbols_of(dim).iter().filter_map(|&symbol| dims.as_symbol(symbol)).collect();
    assert_eq!(names, ["n", "m", "k"]);
    let swapped = dims.substitute(dim, &[(n, m), (m, n)]);
    assert_eq!(swapped, read(&mut dims, "(n + 1)//2 + m*m + min(m, k)"), "all at once");
}

#[test]
fn names_that_are_no_expressions_are_one_symbol() {
    let deep = format!("{}a{}", "(".repeat(2000), ")".repeat(2000));
    for name in [
        "unk__0",
        "batch size",
        "input.1_dim_0",
        "p2.n",
        "batch-size",
        "x_dim:0",
        "f(x)",
        "1.5*n",
        "2e3",
        "a +",
        "(a",
        "*",
        "a b + 1",
        "min(a,)",
        "Mod(a)",
        "floor(a, b)",
        " n",
        "größe",
        "a**9",
        "\"quoted\"",
        "\"\"",
        &deep,
    ] {
        let mut dims = Dims::new();
        let dim = read(&mut dims, name);
        assert_eq!(dims.as_symbol(dim), Some(name));
        assert_eq!(dims.display(dim).to_string(), name);
        let names = dims.symbols_of(dim).len();
        assert_eq!(names, 1);
    }
    assert_eq!(shown("n-1"), "n - 1");
    assert_eq!(shown("(batch)"), "batch");
}

#[test]
fn odd_names_are_quoted_inside_expressions() {
    let mut dims = Dims::new();
    for (name, text) in [
        ("batch size", "2*\"batch size\""),
        ("batch-size", "2*\"batch-size\""),
        ("say \"n\"", "2*\"say \"\"n\"\"\""),
    ] {
        let symbol = dims.symbol(name);
        let two = dims.constant(2);
        let double = dims.mul(two, symbol);
        assert_eq!(dims.display(double).to_string(), text);
        assert_eq!(dims.parse(text), Ok(double));
    }
}

#[test]
fn well_formed_expressions_without_a_dim_are_errors() {
    let mut dims = Dims::new();
    assert_eq!(dims.parse(""), Err(DimParseError::Empty));
    assert_eq!(dims.parse("a//0"), Err(DimParseError::DivisionByZero));
    assert_eq!(dims.parse("a % (b - b)"), Err(DimParseError::DivisionByZero));
    assert_eq!(dims.parse("9223372036854775808"), Err(DimParseError::TooLarge));
    assert_eq!(dims.parse("a**8 * a**8"), Err(DimParseError::TooLarge));
    let long = "a + ".repeat(2000);
    assert_eq!(dims.parse(&long), Err(DimParseError::TooLong { len: 8000, limit: 4096 }));
}

#[test]
fn a_question_mark_is_a_new_extent_each_time() {
    let mut dims = Dims::new();
    let (first, second) = (read(&mut dims, "?"), read(&mut dims, "?"));
    assert!(dims.is_variable(first) && dims.is_variable(second));
    assert_ne!(first, second);
    assert_eq!(shown("? + 1"), "? + 1");
}

#[test]
fn a_declared_spelling_is_kept() {
    let mut dims = Dims::new();
    let declared = dims.declare("(a + 1) // 2").expect("well-formed");
    assert_eq!(dims.declare("ceil(a/2)"), Ok(declared));
    assert_eq!(dims.display(declared).to_string(), "(a + 1) // 2");
    let next = dims.add(declared, DimId::ONE);
    assert_eq!(dims.display(next).to_string(), "(a - 1)//2 + 2");
}

#[test]
fn beyond_the_limits_the_answer_is_one_unknown_number() {
    let mut dims = Dims::new();
    let (n, large) = (dims.symbol("n"), dims.constant(i64::MAX));
    let product = dims.mul(n, large);
    let overflow = dims.add(product, n);
    assert!(dims.is_variable(overflow));
    assert_eq!(dims.add(n, product), overflow, "the same sum is the same unknown");
    assert_eq!(dims.bounds(overflow), (Some(0), None), "a sum of extents is an extent");
    let difference = dims.sub(DimId::ZERO, product);
    let underflow = dims.sub(difference, product);
    assert_eq!(dims.bounds(underflow), (None, None));
    assert_eq!(dims.mul(overflow, DimId::ZERO), DimId::ZERO);
    let undefined = dims.floor_div(n, DimId::ZERO);
    assert!(dims.is_variable(undefined));
    assert_eq!(dims.compare(undefined, n), Decision::Undecided);
}

#[test]
fn polynomials_do_not_blow_up() {
    let mut dims = Dims::new();
    let symbols: Vec<DimId> = (0..100).map(|number| dims.symbol(&format!("s{number}"))).collect();
    let mut known = 0;
    let mut sum = DimId::ZERO;
    for &symbol in &symbols {
        sum = dims.add(sum, symbol);
        if !dims.is_anonymous(sum) {
            known += 1;
        }
    }
    assert_eq!(known, MAX_TERMS);
    let nine = dims.product(&symbols[..9]);
    assert!(dims.is_variable(nine), "nine factors");
    let mut nested = symbols[0];
    for &symbol in &symbols[1..20] {
        let next = dims.add(nested, symbol);
        nested = dims.floor_div(next, symbol);
        assert!(dims.display(nested).to_string().len() < 10_000);
    }
    assert!(dims.is_anonymous(nested), "nineteen levels of quotients");
    let mut square = dims.add(symbols[0], symbols[1]);
    for _ in 0..200 {
        square = dims.mul(square, square);
    }
    assert!(dims.is_anonymous(square));
}

#[test]
fn many_extremes_stay_within_bounds() {
    let mut dims = Dims::new();
    let symbols: Vec<DimId> = (0..40).map(|number| dims.symbol(&format!("s{number}"))).collect();
    let mut extreme = symbols[0];
    for (at, &symbol) in symbols.iter().enumerate() {
        let shifted = dims.add(extreme, symbol);
        let half = dims.floor_div(shifted, symbols[at / 2]);
        extreme = if at % 2 == 0 { dims.min(half, symbol) } else { dims.max(half, symbol) };
        assert!(dims.display(extreme).to_string().len() < 20_000);
    }
    assert!(dims.is_anonymous(extreme));
}
