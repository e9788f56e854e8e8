//! Shapes, expressions and conditions of descriptions, and their parser.
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

use super::error::DescribeErrorKind;

/// Maximum depth of expressions.
const MAX_DEPTH: usize = 24;

/// Maximum length of a line.
const MAX_LINE: usize = 4096;

/// The number of an extent's name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct NameNo(pub(super) usize);

/// The number of the name of a list of axes.
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

/// An extent or another integer.
#[derive(Clone, Debug)]
pub(super) enum Expr {
    Integer(i64),
    Name(NameNo),
    Attribute(Box<str>),
    /// An item of a list attribute.
    AttributeItem(Box<str>, usize),
    /// An element of an integer input.
    Value(Port, usize),
    /// An extent of a port; a negative axis counts from the end.
    Axis(Port, i64),
    Rank(Port),
    /// The product of a list of axes.
    Size(RunNo),
    Binary(Operation, Box<Expr>, Box<Expr>),
    If(Box<Condition>, Box<Expr>, Box<Expr>),
}

/// Comparison of two integers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ComparisonOp {
    Equal,
    Different,
    Less,
    AtMost,
}

/// A condition of a clause or expression.
#[derive(Clone, Debug)]
pub(super) enum Condition {
    Has(Port),
    HasAttribute(Box<str>),
    Not(Box<Condition>),
    All(Vec<Condition>),
    Compare(ComparisonOp, Expr, Expr),
    Text { attribute: Box<str>, text: Box<str> },
}

/// An item of a shape.
#[derive(Clone, Debug)]
pub(super) enum Item {
    /// Any extent.
    Any,
    Extent(Expr),
    Run(RunNo),
    /// The broadcast of several lists of axes.
    Broadcast(Vec<RunNo>),
    /// As many axes of arbitrary extents.
    AnyOf(RunNo),
    /// As many axes of extent 1.
    OnesOf(RunNo),
}

/// A clause: one line about shapes.
#[derive(Clone, Debug)]
pub(super) struct Clause {
    /// The conditions of `when`, all of which must hold.
    pub(super) conditions: Vec<Condition>,
    pub(super) action: Action,
}

/// The effect of a clause.
#[derive(Clone, Debug)]
pub(super) enum Action {
    Shape(Port, Vec<Item>),
    Let(NameNo, Expr),
    Require(Expr, Expr),
    RequireAtMost(Expr, Expr),
    /// Applies the rules of a version of an ONNX operator.
    Like(Box<str>, i64),
}

impl Clause {
    /// Visits every extent and every list of axes in the clause.
    pub(super) fn mentions(&self, visit: &mut dyn FnMut(Mention)) {
        self.conditions.iter().for_each(|condition| condition.mentions(visit));
        match &self.action {
            Action::Shape(_, items) => items.iter().for_each(|item| item.mentions(visit)),
            Action::Let(name, value) => {
                visit(Mention::Extent(*name));
                value.mentions(visit);
            }
            Action::Require(left, right) | Action::RequireAtMost(left, right) => {
                left.mentions(visit);
                right.mentions(visit);
            }
            Action::Like(..) => {}
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
    fn mentions(&self, visit: &mut dyn FnMut(Mention)) {
        match self {
            Self::Any => {}
            Self::Extent(value) => value.mentions(visit),
            Self::Run(run) | Self::AnyOf(run) | Self::OnesOf(run) => visit(Mention::Run(*run)),
            Self::Broadcast(runs) => runs.iter().for_each(|run| visit(Mention::Run(*run))),
        }
    }
}

impl Condition {
    fn mentions(&self, visit: &mut dyn FnMut(Mention)) {
        match self {
            Self::Not(inner) => inner.mentions(visit),
            Self::All(all) => all.iter().for_each(|one| one.mentions(visit)),
            Self::Compare(_, left, right) => {
                left.mentions(visit);
                right.mentions(visit);
            }
            Self::Has(_) | Self::HasAttribute(_) | Self::Text { .. } => {}
        }
    }
}

impl Expr {
    /// Recursion is bounded by the length of a line.
    fn mentions(&self, visit: &mut dyn FnMut(Mention)) {
        match self {
            Self::Name(name) => visit(Mention::Extent(*name)),
            Self::Size(run) => visit(Mention::Run(*run)),
            Self::Binary(_, left, right) => {
                left.mentions(visit);
                right.mentions(visit);
            }
            Self::If(condition, then, other) => {
                condition.mentions(visit);
                then.mentions(visit);
                other.mentions(visit);
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
    /// The extents and lists of axes with a value.
    pub(super) bound: BTreeSet<Mention>,
}

/// Names, numbered in order of insertion.
#[derive(Clone, Debug, Default)]
pub(super) struct Numbered {
    names: Vec<Rc<str>>,
    positions: HashMap<Rc<str>, usize>,
}

impl Numbered {
    /// Number of names.
    pub(super) fn len(&self) -> usize {
        self.names.len()
    }

    /// The name with this number.
    pub(super) fn name(&self, number: usize) -> &str {
        &self.names[number]
    }

    /// The number of a name; the first one of duplicates.
    fn position(&self, name: &str) -> Option<usize> {
        self.positions.get(name).copied()
    }

    /// Adds a name; duplicates get a number too.
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

/// Parses one line about shapes.
pub(super) fn clause(line: &str, names: &mut Names) -> Result<Clause, DescribeErrorKind> {
    if line.len() > MAX_LINE {
        return Err(DescribeErrorKind::TooLong);
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

fn tokens(line: &str) -> Result<Vec<Token<'_>>, DescribeErrorKind> {
    let mut tokens = Vec::new();
    let mut rest = line.trim_start();
    while let Some(first) = rest.chars().next() {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let end = if first.is_ascii_digit() {
            let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
            let number = rest[..end].parse().map_err(|_| DescribeErrorKind::TooLong)?;
            tokens.push(Token::Integer(number));
            end
        } else if is_word(first) {
            let end = rest.find(|c: char| !is_word(c)).unwrap_or(rest.len());
            tokens.push(Token::Word(&rest[..end]));
            end
        } else if first == '"' {
            let Some(length) = rest[1..].find('"') else {
                return Err(DescribeErrorKind::Expected { expected: "a closing quote", found: rest.into() });
            };
            tokens.push(Token::Text(&rest[1..=length]));
            length + 2
        } else {
            let Some(mark) = MARKS.iter().find(|mark| rest.starts_with(**mark)) else {
                let found = first.to_string().into();
                return Err(DescribeErrorKind::Expected {
                    expected: "a name, a number or an operator",
                    found,
                });
            };
            tokens.push(Token::Mark(mark));
            mark.len()
        };
        rest = rest[end..].trim_start();
    }
    Ok(tokens)
}

fn expected(expected: &'static str, found: Option<&Token<'_>>) -> DescribeErrorKind {
    let found = match found {
        None => "the end of the line".to_owned(),
        Some(Token::Word(text) | Token::Mark(text)) => format!("`{text}`"),
        Some(Token::Integer(number)) => format!("`{number}`"),
        Some(Token::Text(text)) => format!("\"{text}\""),
    };
    DescribeErrorKind::Expected { expected, found: found.into() }
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

    /// Takes `word` and the opening parenthesis after it.
    fn take_call(&mut self, word: &'static str) -> bool {
        let found = self.peek() == Some(&Token::Word(word))
            && self.tokens.get(self.at + 1) == Some(&Token::Mark("("));
        self.at += 2 * usize::from(found);
        found
    }

    fn need(&mut self, mark: &'static str, what: &'static str) -> Result<(), DescribeErrorKind> {
        if self.take(mark) { Ok(()) } else { Err(expected(what, self.peek())) }
    }

    fn word(&mut self, what: &'static str) -> Result<&'t str, DescribeErrorKind> {
        match self.next() {
            Some(Token::Word(word)) => Ok(word),
            other => Err(expected(what, other.as_ref())),
        }
    }

    fn clause(&mut self) -> Result<Clause, DescribeErrorKind> {
        self.descend()?;
        let mut conditions = Vec::new();
        while self.take_word("when") {
            conditions.push(self.condition()?);
            self.need(":", "`:`")?;
            self.descend()?;
        }
        Ok(Clause { conditions, action: self.action()? })
    }

    fn action(&mut self) -> Result<Action, DescribeErrorKind> {
        const KEYWORDS: &str = "`shape`, `let`, `require`, `like` or `when`";
        match self.word(KEYWORDS)? {
            "shape" => {
                let port = self.declared_port()?;
                let items = self.shape(matches!(port, Port::In(_)))?;
                Ok(Action::Shape(port, items))
            }
            "let" => {
                let name = self.word("a name")?;
                self.need("=", "`=`")?;
                let value = self.expr()?;
                let name = self.extent(name);
                self.names.bound.insert(Mention::Extent(name));
                Ok(Action::Let(name, value))
            }
            "require" => {
                let left = self.expr()?;
                if self.take("<=") {
                    return Ok(Action::RequireAtMost(left, self.expr()?));
                }
                self.need("=", "`=`")?;
                Ok(Action::Require(left, self.expr()?))
            }
            "like" => {
                let operator = self.word("an operator of ONNX")?;
                let version = if self.peek().is_some() { self.integer()? } else { i64::MAX };
                Ok(Action::Like(operator.into(), version))
            }
            other => Err(expected(KEYWORDS, Some(&Token::Word(other)))),
        }
    }

    fn descend(&mut self) -> Result<(), DescribeErrorKind> {
        self.depth += 1;
        if self.depth > MAX_DEPTH { Err(DescribeErrorKind::TooLong) } else { Ok(()) }
    }

    fn deeper<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, DescribeErrorKind>,
    ) -> Result<T, DescribeErrorKind> {
        self.descend()?;
        let read = read(self);
        self.depth -= 1;
        read
    }

    fn declared_port(&mut self) -> Result<Port, DescribeErrorKind> {
        // `in` and `out` may also be names of ports.
        let is_qualified = matches!(self.tokens.get(self.at + 1), Some(Token::Word(_)));
        let (name, port) = if is_qualified && self.take_word("in") {
            let name = self.word("an input")?;
            (name, self.names.inputs.position(name).map(Port::In))
        } else if is_qualified && self.take_word("out") {
            let name = self.word("an output")?;
            (name, self.names.outputs.position(name).map(Port::Out))
        } else {
            let name = self.word("a port")?;
            (name, self.port(name))
        };
        port.ok_or_else(|| DescribeErrorKind::UnknownPort(name.into()))
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

    fn shape(&mut self, binds: bool) -> Result<Vec<Item>, DescribeErrorKind> {
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
                return Err(DescribeErrorKind::TwoRuns);
            }
            items.push(item);
            if self.take("]") {
                return Ok(items);
            }
            self.need(",", "`,` or `]`")?;
        }
    }

    fn item(&mut self, binds: bool) -> Result<Item, DescribeErrorKind> {
        if self.take_word("_") {
            return Ok(Item::Any);
        }
        if let (Some(Token::Word(name)), Some(Token::Mark("..."))) =
            (self.peek().cloned(), self.tokens.get(self.at + 1))
        {
            self.at += 2;
            let run = self.run(name);
            if binds {
                self.names.bound.insert(Mention::Run(run));
            }
            return Ok(Item::Run(run));
        }
        for (word, item) in [("any", Item::AnyOf as fn(RunNo) -> Item), ("ones", Item::OnesOf)] {
            if self.take_call(word) {
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

    fn expr(&mut self) -> Result<Expr, DescribeErrorKind> {
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

    fn term(&mut self) -> Result<Expr, DescribeErrorKind> {
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

    fn factor(&mut self) -> Result<Expr, DescribeErrorKind> {
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
                let at = usize::try_from(self.integer()?).map_err(|_| DescribeErrorKind::TooLong)?;
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
                Expr::Value(port, usize::try_from(at).map_err(|_| DescribeErrorKind::TooLong)?)
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

    fn integer(&mut self) -> Result<i64, DescribeErrorKind> {
        let negative = self.take("-");
        match self.next() {
            Some(Token::Integer(number)) => Ok(if negative { -number } else { number }),
            other => Err(expected("a whole number", other.as_ref())),
        }
    }

    fn condition(&mut self) -> Result<Condition, DescribeErrorKind> {
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

    fn test(&mut self) -> Result<Condition, DescribeErrorKind> {
        self.deeper(Self::one_test)
    }

    fn one_test(&mut self) -> Result<Condition, DescribeErrorKind> {
        if self.take_word("not") {
            return Ok(Condition::Not(Box::new(self.test()?)));
        }
        if self.take_call("has") {
            let name = self.word("a port or an attribute")?;
            self.need(")", "`)`")?;
            if let Some(port) = self.port(name) {
                return Ok(Condition::Has(port));
            }
            let known = self.names.attributes.position(name).is_some();
            return if known {
                Ok(Condition::HasAttribute(name.into()))
            } else {
                Err(DescribeErrorKind::UnknownPort(name.into()))
            };
        }
        if let (Some(Token::Word(name)), Some(Token::Mark(mark)), Some(Token::Text(text))) =
            (self.tokens.get(self.at), self.tokens.get(self.at + 1), self.tokens.get(self.at + 2))
        {
            if self.names.attributes.position(name).is_none() {
                return Err(DescribeErrorKind::UnknownAttribute((*name).into()));
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

/// Collects the names that matching an input extent binds: those in a sum or product that can be solved for a
/// name.
fn bind(expr: &Expr, bound: &mut BTreeSet<Mention>) {
    match expr {
        Expr::Name(name) => {
            bound.insert(Mention::Extent(*name));
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
