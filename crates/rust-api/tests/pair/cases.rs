//! Files of cases: `=== NAME`, then the parts of the case, between which a line is `---`.

/// A case with `N` parts.
pub(crate) struct Case<'t, const N: usize> {
    pub(crate) name: &'t str,
    pub(crate) parts: [&'t str; N],
}

pub(crate) fn cases<const N: usize>(text: &str) -> Vec<Case<'_, N>> {
    let case = |chunk| {
        let (name, body): (&str, &str) = str::split_once(chunk, '\n').expect("a case has a name and a body");
        let parts: Vec<&str> = body.split("\n---\n").collect();
        let parts = parts.try_into().unwrap_or_else(|parts| panic!("{name} has other parts: {parts:?}"));
        Case { name: name.trim(), parts }
    };
    text.split("=== ").skip(1).map(case).collect()
}

/// A module for each case, with one of its parts.
pub(crate) fn modules<const N: usize>(cases: &[Case<'_, N>], part: usize) -> String {
    let module = |case: &Case<'_, N>| {
        let name = case.name.split(' ').next().unwrap_or_default();
        format!("pub mod {name} {{\n{}\n}}\n", case.parts[part])
    };
    cases.iter().map(module).collect()
}
