//! Shapes, expressions and conditions: what they are, and how they are read.
//!
//! ```text
//! clause    := 'shape' ['in' | 'out'] PORT shape | 'let' NAME '=' expr | 'require' expr ('=' | '<=') expr
//!            | 'like' OPERATOR [VERSION] | 'when' condition ':' clause
//! shape     := '[' (item (',' item)*)? ']'
//! item      := '_' | NAME '...' | 'broadcast' '(' NAME (',' NAME)* ')' '...'
//!            | ('any' | 'ones') '(' NAME ')' '...' | expr
//! expr      := term (('+' | '-') term)*
//! term      := factor (('*' | '//' | '%') factor)*
//! factor    := '-' factor | INTEGER | NAME | ATTRIBUTE '[' INTEGER ']' | '(' expr ')' | ('min' | 'max') '(' expr ',' expr ')'
//!            | 'if' '(' condition ',' expr ',' expr ')' | 'value' '(' PORT [',' INTEGER] ')'
//!            | 'axis' '(' PORT ',' INTEGER ')' | 'rank' '(' PORT ')' | 'size' '(' NAME ')'
//! condition := test ('and' test)*
//! test      := 'not' test | 'has' '(' PORT_OR_ATTRIBUTE ')' | expr ('=' | '!=' | '<' | '<=' | '>' | '>=') expr
//!            | ATTRIBUTE ('=' | '!=') STRING
//! ```

use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use typeloom_solver::rule::Port;

use super::error::DescribeErrorKind as Fault;

/// How deep expressions nest at most.
const MAX_DEPTH: usize = 24;

/// How long a line is at most.
const MAX_LINE: usize = 4096;

/// A name that stands for an extent.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct NameNo(pub(super) usize);

/// A name that stands for a list of axes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct RunNo(pub(super) usize);

/// An operation on two extents.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Operation {
    Add,
    Sub,
    Mul,
    FloorDiv,
    Modulo,
    Min,
    Max,
}

/// An extent, or another integer.
#[derive(Clone, Debug)]
pub(super) enum Expr {
    Integer(i64),
    Name(NameNo),
    Attribute(Box<str>),
    /// An item of an attribute that is a list.
    AttributeItem(Box<str>, usize),
    /// An element of an input that holds integers.
    Value(Port, usize),
    /// An extent of a port, counted from the end where negative.
    Axis(Port, i64),
    Rank(Port),
    /// The product of a list of axes.
    Size(RunNo),
    Binary(Operation, Box<Expr>, Box<Expr>),
    If(Box<Condition>, Box<Expr>, Box<Expr>),
}

/// How two integers are compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ComparisonOp {
    Equal,
    Different,
    Less,
    AtMost,
}

/// What a clause depends on.
#[derive(Clone, Debug)]
pub(super) enum Condition {
    Has(Port),
    HasAttribute(Box<str>),
    Not(Box<Condition>),
    All(Vec<Condition>),
    Compare(ComparisonOp, Expr, Expr),
    Text { attribute: Box<str>, text: Box<str> },
}

/// A part of a shape.
#[derive(Clone, Debug)]
pub(super) enum Item {
    /// Any extent.
    Any,
    Extent(Expr),
    Run(RunNo),
    /// What several lists of axes broadcast to.
    Broadcast(Vec<RunNo>),
    /// As many axes of any extents.
    AnyOf(RunNo),
    /// As many axes of extent 1.
    OnesOf(RunNo),
}

/// One line about shapes.
#[derive(Clone, Debug)]
pub(super) enum Clause {
    Shape(Port, Vec<Item>),
    Let(NameNo, Expr),
    Require(Expr, Expr),
    RequireAtMost(Expr, Expr),
    /// The rules of an operator of ONNX, as of a version.
    Like(Box<str>, i64),
    When(Condition, Box<Clause>),
}

impl Clause {
    /// Tells of every extent and list of axes that the clause mentions.
    pub(super) fn mentions(&self, tell: &mut dyn FnMut(Mention)) {
        let mut clause = self;
        while let Self::When(condition, inner) = clause {
            condition.mentions(tell);
            clause = inner;
        }
        match clause {
            Self::Shape(_, items) => items.iter().for_each(|item| item.mentions(tell)),
            Self::Let(name, value) => {
                tell(Mention::Extent(*name));
                value.mentions(tell);
            }
            Self::Require(left, right) | Self::RequireAtMost(left, right) => {
                left.mentions(tell);
                right.mentions(tell);
            }
            Self::Like(..) | Self::When(..) => {}
        }
    }
}

/// A name in a clause.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Mention {
    Extent(NameNo),
    Run(RunNo),
}

impl Item {
    fn mentions(&self, tell: &mut dyn FnMut(Mention)) {
        match self {
            Self::Any => {}
            Self::Extent(value) => value.mentions(tell),
            Self::Run(run) | Self::AnyOf(run) | Self::OnesOf(run) => tell(Mention::Run(*run)),
            Self::Broadcast(runs) => runs.iter().for_each(|run| tell(Mention::Run(*run))),
        }
    }
}

impl Condition {
    fn mentions(&self, tell: &mut dyn FnMut(Mention)) {
        match self {
            Self::Not(inner) => inner.mentions(tell),
            Self::All(all) => all.iter().for_each(|one| one.mentions(tell)),
            Self::Compare(_, left, right) => {
                left.mentions(tell);
                right.mentions(tell);
            }
            Self::Has(_) | Self::HasAttribute(_) | Self::Text { .. } => {}
        }
    }
}

impl Expr {
    /// Recursion is bounded by the length of a line.
    fn mentions(&self, tell: &mut dyn FnMut(Mention)) {
        match self {
            Self::Name(name) => tell(Mention::Extent(*name)),
            Self::Size(run) => tell(Mention::Run(*run)),
            Self::Binary(_, left, right) => {
                left.mentions(tell);
                right.mentions(tell);
            }
            Self::If(condition, then, other) => {
                condition.mentions(tell);
                then.mentions(tell);
                other.mentions(tell);
            }
            Self::Integer(_)
            | Self::Attribute(_)
            | Self::AttributeItem(..)
            | Self::Value(..)
            | Self::Axis(..)
            | Self::Rank(_) => {}
        }
    }
}

/// The names of one operator.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    pub(super) inputs: Numbered,
    pub(super) outputs: Numbered,
    pub(super) attributes: Numbered,
    pub(super) extents: Numbered,
    pub(super) runs: Numbered,
    /// The extents that something gives a value.
    pub(super) bound: BTreeSet<NameNo>,
    pub(super) bound_runs: BTreeSet<RunNo>,
}

/// Names, numbered in the order in which they were added.
#[derive(Clone, Debug, Default)]
pub(super) struct Numbered {
    names: Vec<Rc<str>>,
    positions: HashMap<Rc<str>, usize>,
}

impl Numbered {
    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.names.len()
    }

    /// The name of a number.
    pub(super) fn name(&self, number: usize) -> &str {
        &self.names[number]
    }

    /// The number of a name; the first one where a name was added twice.
    fn position(&self, name: &str) -> Option<usize> {
        self.positions.get(name).copied()
    }

    /// Adds a name, also where it is known already.
    pub(super) fn add(&mut self, name: &str) {
        let name: Rc<str> = name.into();
        self.positions.entry(Rc::clone(&name)).or_insert(self.names.len());
        self.names.push(name);
    }

    fn position_or_add(&mut self, name: &str) -> usize {
        self.position(name).unwrap_or_else(|| {
            self.add(name);
            self.names.len() - 1
        })
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Token<'t> {
    Word(&'t str),
    Integer(i64),
    Text(&'t str),
    Mark(&'t str),
}

/// Reads one line about shapes.
pub(super) fn clause(line: &str, names: &mut Names) -> Result<Clause, Fault> {
    if line.len() > MAX_LINE {
        return Err(Fault::TooLong);
    }
    let tokens = tokens(line)?;
    let mut reader = Reader { tokens, at: 0, depth: 0, names };
    let clause = reader.clause()?;
    match reader.next() {
        None => Ok(clause),
        Some(token) => Err(expected("the end of the line", Some(&token))),
    }
}

const MARKS: [&str; 20] = [
    "...", "//", "!=", "<=", ">=", "==", "[", "]", "(", ")", ",", "+", "-", "*", "%", "=", "<", ">", ":", "/",
];

fn tokens(line: &str) -> Result<Vec<Token<'_>>, Fault> {
    let mut tokens = Vec::new();
    let mut rest = line.trim_start();
    while let Some(first) = rest.chars().next() {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let end = if first.is_ascii_digit() {
            let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
            let number = rest[..end].parse().map_err(|_| Fault::TooLong)?;
            tokens.push(Token::Integer(number));
            end
        } else if is_word(first) {
            let end = rest.find(|c: char| !is_word(c)).unwrap_or(rest.len());
            tokens.push(Token::Word(&rest[..end]));
            end
        } else if first == '"' {
            let Some(length) = rest[1..].find('"') else {
                return Err(Fault::Expected { expected: "a closing quote", found: rest.into() });
            };
            tokens.push(Token::Text(&rest[1..=length]));
            length + 2
        } else {
            let Some(mark) = MARKS.iter().find(|mark| rest.starts_with(**mark)) else {
                let found = first.to_string().into();
                return Err(Fault::Expected { expected: "a name, a number or an operator", found });
            };
            tokens.push(Token::Mark(mark));
            mark.len()
        };
        rest = rest[end..].trim_start();
    }
    Ok(tokens)
}

fn expected(expected: &'static str, found: Option<&Token<'_>>) -> Fault {
    let found = match found {
        None => "the end of the line".to_owned(),
        Some(Token::Word(text) | Token::Mark(text)) => format!("`{text}`"),
        Some(Token::Integer(number)) => format!("`{number}`"),
        Some(Token::Text(text)) => format!("\"{text}\""),
    };
    Fault::Expected { expected, found: found.into() }
}

struct Reader<'t, 'n> {
    tokens: Vec<Token<'t>>,
    at: usize,
    depth: usize,
    names: &'n mut Names,
}

impl<'t> Reader<'t, '_> {
    fn peek(&self) -> Option<&Token<'t>> {
        self.tokens.get(self.at)
    }

    fn next(&mut self) -> Option<Token<'t>> {
        let token = self.tokens.get(self.at).cloned();
        self.at += usize::from(token.is_some());
        token
    }

    fn take(&mut self, mark: &'static str) -> bool {
        let found = self.peek() == Some(&Token::Mark(mark));
        self.at += usize::from(found);
        found
    }

    fn take_word(&mut self, word: &'static str) -> bool {
        let found = self.peek() == Some(&Token::Word(word));
        self.at += usize::from(found);
        found
    }

    fn need(&mut self, mark: &'static str, what: &'static str) -> Result<(), Fault> {
        if self.take(mark) { Ok(()) } else { Err(expected(what, self.peek())) }
    }

    fn word(&mut self, what: &'static str) -> Result<&'t str, Fault> {
        match self.next() {
            Some(Token::Word(word)) => Ok(word),
            other => Err(expected(what, other.as_ref())),
        }
    }

    fn clause(&mut self) -> Result<Clause, Fault> {
        self.deeper(|reader| match reader.word("`shape`, `let`, `require`, `like` or `when`")? {
            "shape" => {
                let port = reader.declared_port()?;
                let items = reader.shape(matches!(port, Port::In(_)))?;
                Ok(Clause::Shape(port, items))
            }
            "let" => {
                let name = reader.word("a name")?;
                reader.need("=", "`=`")?;
                let value = reader.expr()?;
                let name = reader.extent(name);
                reader.names.bound.insert(name);
                Ok(Clause::Let(name, value))
            }
            "require" => {
                let left = reader.expr()?;
                if reader.take("<=") {
                    return Ok(Clause::RequireAtMost(left, reader.expr()?));
                }
                reader.need("=", "`=`")?;
                Ok(Clause::Require(left, reader.expr()?))
            }
            "like" => {
                let operator = reader.word("an operator of ONNX")?;
                let version = if reader.peek().is_some() { reader.integer()? } else { i64::MAX };
                Ok(Clause::Like(operator.into(), version))
            }
            "when" => {
                let condition = reader.condition()?;
                reader.need(":", "`:`")?;
                Ok(Clause::When(condition, Box::new(reader.clause()?)))
            }
            other => {
                let expects = "`shape`, `let`, `require`, `like` or `when`";
                Err(expected(expects, Some(&Token::Word(other))))
            }
        })
    }

    fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T, Fault>) -> Result<T, Fault> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(Fault::TooLong);
        }
        let read = read(self);
        self.depth -= 1;
        read
    }

    fn declared_port(&mut self) -> Result<Port, Fault> {
        // `in` and `out` can be names of ports themselves.
        let named = |reader: &Self, side: &str| {
            reader.peek() == Some(&Token::Word(side))
                && matches!(reader.tokens.get(reader.at + 1), Some(Token::Word(_)))
        };
        if named(self, "in") {
            self.at += 1;
            let name = self.word("an input")?;
            let at = self.names.inputs.position(name);
            return at.map(Port::In).ok_or_else(|| Fault::UnknownPort(name.into()));
        }
        if named(self, "out") {
            self.at += 1;
            let name = self.word("an output")?;
            let at = self.names.outputs.position(name);
            return at.map(Port::Out).ok_or_else(|| Fault::UnknownPort(name.into()));
        }
        let name = self.word("a port")?;
        self.port(name).ok_or_else(|| Fault::UnknownPort(name.into()))
    }

    fn port(&self, name: &str) -> Option<Port> {
        let input = self.names.inputs.position(name).map(Port::In);
        input.or_else(|| self.names.outputs.position(name).map(Port::Out))
    }

    fn extent(&mut self, name: &str) -> NameNo {
        NameNo(self.names.extents.position_or_add(name))
    }

    fn run(&mut self, name: &str) -> RunNo {
        RunNo(self.names.runs.position_or_add(name))
    }

    fn shape(&mut self, binds: bool) -> Result<Vec<Item>, Fault> {
        self.need("[", "`[`")?;
        let mut items = Vec::new();
        let mut runs = 0;
        if self.take("]") {
            return Ok(items);
        }
        loop {
            let item = self.item(binds)?;
            let is_pattern = matches!(item, Item::Any | Item::Extent(_) | Item::Run(_));
            runs += usize::from(!matches!(item, Item::Any | Item::Extent(_)));
            if binds && (runs > 1 || !is_pattern) {
                return Err(Fault::TwoRuns);
            }
            items.push(item);
            if self.take("]") {
                return Ok(items);
            }
            self.need(",", "`,` or `]`")?;
        }
    }

    fn item(&mut self, binds: bool) -> Result<Item, Fault> {
        if self.take_word("_") {
            return Ok(Item::Any);
        }
        if let (Some(Token::Word(name)), Some(Token::Mark("..."))) =
            (self.peek().cloned(), self.tokens.get(self.at + 1))
        {
            self.at += 2;
            let run = self.run(name);
            if binds {
                self.names.bound_runs.insert(run);
            }
            return Ok(Item::Run(run));
        }
        for (word, item) in [("any", Item::AnyOf as fn(RunNo) -> Item), ("ones", Item::OnesOf)] {
            let called = self.tokens.get(self.at + 1) == Some(&Token::Mark("("));
            if self.peek() == Some(&Token::Word(word)) && called {
                self.at += 2;
                let name = self.word("a list of axes")?;
                self.need(")", "`)`")?;
                self.need("...", "`...`")?;
                let run = self.run(name);
                return Ok(item(run));
            }
        }
        if self.peek() == Some(&Token::Word("broadcast")) {
            self.at += 1;
            self.need("(", "`(`")?;
            let mut runs = Vec::new();
            loop {
                let name = self.word("a list of axes")?;
                runs.push(self.run(name));
                if self.take(")") {
                    break;
                }
                self.need(",", "`,` or `)`")?;
            }
            self.need("...", "`...`")?;
            return Ok(Item::Broadcast(runs));
        }
        let value = self.expr()?;
        if binds {
            bind(&value, &mut self.names.bound);
        }
        Ok(Item::Extent(value))
    }

    fn expr(&mut self) -> Result<Expr, Fault> {
        self.deeper(|reader| {
            let mut left = reader.term()?;
            loop {
                let operation = if reader.take("+") {
                    Operation::Add
                } else if reader.take("-") {
                    Operation::Sub
                } else {
                    return Ok(left);
                };
                left = Expr::Binary(operation, Box::new(left), Box::new(reader.term()?));
            }
        })
    }

    fn term(&mut self) -> Result<Expr, Fault> {
        let mut left = self.factor()?;
        loop {
            let operation = if self.take("*") {
                Operation::Mul
            } else if self.take("//") {
                Operation::FloorDiv
            } else if self.take("%") {
                Operation::Modulo
            } else {
                return Ok(left);
            };
            left = Expr::Binary(operation, Box::new(left), Box::new(self.factor()?));
        }
    }

    fn factor(&mut self) -> Result<Expr, Fault> {
        if self.take("(") {
            let inner = self.expr()?;
            self.need(")", "`)`")?;
            return Ok(inner);
        }
        if self.take("-") {
            let inner = self.deeper(Self::factor)?;
            return Ok(match inner {
                Expr::Integer(number) => Expr::Integer(-number),
                other => Expr::Binary(Operation::Sub, Box::new(Expr::Integer(0)), Box::new(other)),
            });
        }
        if let Some(Token::Integer(number)) = self.peek() {
            let number = *number;
            self.at += 1;
            return Ok(Expr::Integer(number));
        }
        let name = self.word("an extent")?;
        if !self.take("(") {
            if self.names.attributes.position(name).is_some() {
                if !self.take("[") {
                    return Ok(Expr::Attribute(name.into()));
                }
                let at = usize::try_from(self.integer()?).map_err(|_| Fault::TooLong)?;
                self.need("]", "`]`")?;
                return Ok(Expr::AttributeItem(name.into(), at));
            }
            return Ok(Expr::Name(self.extent(name)));
        }
        let read = match name {
            "min" | "max" => {
                let operation = if name == "min" { Operation::Min } else { Operation::Max };
                let left = self.expr()?;
                self.need(",", "`,`")?;
                Expr::Binary(operation, Box::new(left), Box::new(self.expr()?))
            }
            "if" => {
                let condition = self.condition()?;
                self.need(",", "`,`")?;
                let then = self.expr()?;
                self.need(",", "`,`")?;
                Expr::If(Box::new(condition), Box::new(then), Box::new(self.expr()?))
            }
            "value" => {
                let port = self.declared_port()?;
                let at = if self.take(",") { self.integer()? } else { 0 };
                Expr::Value(port, usize::try_from(at).map_err(|_| Fault::TooLong)?)
            }
            "axis" => {
                let port = self.declared_port()?;
                self.need(",", "`,`")?;
                Expr::Axis(port, self.integer()?)
            }
            "rank" => Expr::Rank(self.declared_port()?),
            "size" => {
                let run = self.word("a list of axes")?;
                Expr::Size(self.run(run))
            }
            other => {
                let what = "`min`, `max`, `if`, `value`, `axis`, `rank` or `size`";
                return Err(expected(what, Some(&Token::Word(other))));
            }
        };
        self.need(")", "`)`")?;
        Ok(read)
    }

    fn integer(&mut self) -> Result<i64, Fault> {
        let negative = self.take("-");
        match self.next() {
            Some(Token::Integer(number)) => Ok(if negative { -number } else { number }),
            other => Err(expected("a whole number", other.as_ref())),
        }
    }

    fn condition(&mut self) -> Result<Condition, Fault> {
        self.deeper(|reader| {
            let first = reader.test()?;
            if reader.peek() != Some(&Token::Word("and")) {
                return Ok(first);
            }
            let mut all = vec![first];
            while reader.take_word("and") {
                all.push(reader.test()?);
            }
            Ok(Condition::All(all))
        })
    }

    fn test(&mut self) -> Result<Condition, Fault> {
        self.deeper(Self::one_test)
    }

    fn one_test(&mut self) -> Result<Condition, Fault> {
        if self.take_word("not") {
            return Ok(Condition::Not(Box::new(self.test()?)));
        }
        if self.peek() == Some(&Token::Word("has")) && self.tokens.get(self.at + 1) == Some(&Token::Mark("("))
        {
            self.at += 2;
            let name = self.word("a port or an attribute")?;
            self.need(")", "`)`")?;
            if let Some(port) = self.port(name) {
                return Ok(Condition::Has(port));
            }
            let known = self.names.attributes.position(name).is_some();
            return if known {
                Ok(Condition::HasAttribute(name.into()))
            } else {
                Err(Fault::UnknownPort(name.into()))
            };
        }
        if let (Some(Token::Word(name)), Some(Token::Mark(mark)), Some(Token::Text(text))) =
            (self.tokens.get(self.at), self.tokens.get(self.at + 1), self.tokens.get(self.at + 2))
        {
            if self.names.attributes.position(name).is_none() {
                return Err(Fault::UnknownAttribute((*name).into()));
            }
            let same = Condition::Text { attribute: (*name).into(), text: (*text).into() };
            let condition = match *mark {
                "=" | "==" => same,
                "!=" => Condition::Not(Box::new(same)),
                _ => return Err(expected("`=` or `!=`", self.tokens.get(self.at + 1))),
            };
            self.at += 3;
            return Ok(condition);
        }
        let left = self.expr()?;
        let mark = self.next();
        let right = self.expr()?;
        Ok(match mark {
            Some(Token::Mark("=" | "==")) => Condition::Compare(ComparisonOp::Equal, left, right),
            Some(Token::Mark("!=")) => Condition::Compare(ComparisonOp::Different, left, right),
            Some(Token::Mark("<")) => Condition::Compare(ComparisonOp::Less, left, right),
            Some(Token::Mark("<=")) => Condition::Compare(ComparisonOp::AtMost, left, right),
            Some(Token::Mark(">")) => Condition::Compare(ComparisonOp::Less, right, left),
            Some(Token::Mark(">=")) => Condition::Compare(ComparisonOp::AtMost, right, left),
            other => return Err(expected("a comparison", other.as_ref())),
        })
    }
}

/// The names that an extent of an input gives a value: every name in a sum or product that can be solved for.
fn bind(expr: &Expr, bound: &mut BTreeSet<NameNo>) {
    match expr {
        Expr::Name(name) => {
            bound.insert(*name);
        }
        Expr::Binary(Operation::Add | Operation::Sub | Operation::Mul, left, right) => {
            bind(left, bound);
            bind(right, bound);
        }
        Expr::If(_, then, other) => {
            bind(then, bound);
            bind(other, bound);
        }
        Expr::Binary(Operation::FloorDiv | Operation::Modulo | Operation::Min | Operation::Max, ..)
        | Expr::Integer(_)
        | Expr::Attribute(_)
        | Expr::AttributeItem(..)
        | Expr::Value(..)
        | Expr::Axis(..)
        | Expr::Rank(_)
        | Expr::Size(_) => {}
    }
}
