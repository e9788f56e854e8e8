//! The table of what the standard library implements.
//!
//! A line of `std.txt` is one of
//!
//! ```text
//! use path::to::Name
//! Trait<Args> for Type where T: Condition, U: Condition
//! <Type as Trait<Arg>>::Item = Type where T: Condition
//! ```

use std::collections::HashMap;

const STD: &str = include_str!("std.txt");

/// Impls and associated types, as texts with full paths.
#[derive(Debug, Default)]
pub(crate) struct Table {
    pub(crate) impls: Vec<Impl>,
    pub(crate) projections: Vec<Projection>,
}

/// An impl.
#[derive(Debug)]
pub(crate) struct Impl {
    pub(crate) of: String,
    pub(crate) this: String,
    /// Types and the traits that they have to implement.
    pub(crate) conditions: Vec<(String, String)>,
}

/// The value of an associated type.
#[derive(Debug)]
pub(crate) struct Projection {
    /// The path of the trait and the name of the type.
    pub(crate) item: String,
    pub(crate) this: String,
    /// The argument of the trait.
    pub(crate) arg: Option<String>,
    pub(crate) value: String,
    /// What has to hold for there to be such a type at all. Where one is written it does, so only the test that asks the
    /// compiler reads this.
    #[cfg(test)]
    pub(crate) conditions: Vec<(String, String)>,
}

impl Table {
    /// The table of the standard library. A test reads every line of it.
    pub(crate) fn of_std() -> Self {
        let mut table = Self::default();
        let mut names = HashMap::new();
        for line in STD.lines() {
            table.line(line, &mut names);
        }
        table
    }

    fn line(&mut self, line: &'static str, names: &mut HashMap<&'static str, &'static str>) -> Option<()> {
        if line.is_empty() || line.starts_with('#') {
            return None;
        }
        if let Some(path) = line.strip_prefix("use ") {
            names.insert(path.rsplit("::").next()?, path);
            return None;
        }
        let full = |text: &str| expand(text, names);
        let (header, clause) = line.split_once(" where ").unwrap_or((line, ""));
        let conditions = clause.split(", ").filter_map(|one| one.split_once(": "));
        let conditions = conditions.map(|(this, of)| (full(this), full(of))).collect();
        if let Some(projection) = header.strip_prefix('<') {
            let (place, value) = projection.split_once(" = ")?;
            let (header, name) = place.rsplit_once(">::")?;
            let (this, of) = header.rsplit_once(" as ")?;
            let (of, arg) = match of.strip_suffix('>').and_then(|of| of.split_once('<')) {
                Some((of, arg)) => (of, Some(full(arg))),
                None => (of, None),
            };
            self.projections.push(Projection {
                item: format!("{}::{name}", full(of)),
                this: full(this),
                arg,
                value: full(value),
                #[cfg(test)]
                conditions,
            });
            return Some(());
        }
        let (of, this) = header.split_once(" for ")?;
        self.impls.push(Impl { of: full(of), this: full(this), conditions });
        Some(())
    }
}

/// A type with every single name in place of what it is short for.
fn expand(text: &str, names: &HashMap<&str, &str>) -> String {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let len = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
        if len == 0 {
            out.push(first);
            rest = &rest[first.len_utf8()..];
            continue;
        }
        let (name, after) = rest.split_at(len);
        let alone = !out.ends_with("::") && !out.ends_with('\'') && !after.starts_with("::");
        out.push_str(names.get(name).filter(|_| alone).unwrap_or(&name));
        rest = after;
    }
    out
}

#[cfg(test)]
mod tests {
    use typeloom_term::parse::{Scope, parse_ty};
    use typeloom_term::{Boxed, Symbols};

    use super::{STD, Table};

    #[test]
    fn every_line_of_the_table_is_read() {
        let table = Table::of_std();
        let lines = STD.lines().filter(|line| !line.is_empty() && !line.starts_with(['#']));
        let facts = lines.filter(|line| !line.starts_with("use ")).count();
        assert_eq!(table.impls.len() + table.projections.len(), facts);
        let scope = Scope::new().types(["T", "U"]).consts(["N"]);
        let mut symbols = Symbols::new();
        let mut parse = |text: &str| {
            let ty = parse_ty(&Boxed::new(), &mut symbols, &scope, text);
            assert!(ty.is_ok(), "{text}: {ty:?}");
        };
        for one in &table.impls {
            parse(&one.of);
            parse(&one.this);
            for (this, of) in &one.conditions {
                parse(this);
                parse(of);
            }
        }
        for one in &table.projections {
            parse(&one.this);
            parse(&one.value);
            assert!(one.item.starts_with("core::") || one.item.starts_with("alloc::"), "{}", one.item);
        }
    }
}
