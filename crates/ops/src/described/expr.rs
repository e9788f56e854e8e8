//! Shapes, expressions and conditions of descriptions, and their parser.
//!
//! ```text
//! clause    := 'shape' ['in' | 'out'] PORT shape ('or' shape)* | 'let' NAME '=' expr | 'require' expr ('=' | '<=') expr
//!            | 'like' OPERATOR [VERSION] | 'when' condition ':' clause
//! shape     := '[' (item (',' item)*)? ']'
//! item      := '_' | NAME '...' | 'broadcast' '(' NAME (',' NAME)* ')' '...'
//!            | ('any' | 'ones') '(' NAME ')' '...' | expr ('or' expr)*
//! expr      := term (('+' | '-') term)*
//! term      := factor (('*' | '//' | '%') factor)*
//! factor    := '-' factor | INTEGER | NAME | ATTRIBUTE '[' INTEGER ']' | '(' expr ')' | ('min' | 'max') '(' expr ',' expr ')'
//!            | 'if' '(' condition ',' expr ',' expr ')' | 'value' '(' PORT [',' INTEGER] ')'
//!            | 'axis' '(' PORT ',' INTEGER ')' | 'rank' '(' PORT ')' | 'size' '(' NAME ')'
//! condition := test ('and' test)*
//! test      := 'not' test | 'has' '(' PORT_OR_ATTRIBUTE ')' | expr ('=' | '!=' | '<' | '<=' | '>' | '>=') expr
//!            | 'elem' '(' PORT ')' ('=' | '!=') ELEM | ATTRIBUTE ('=' | '!=') STRING
//! ```

use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use typeloom_solver::elem::Elem;
use typeloom_solver::rule::{ComparisonOp, Port};

use super::error::DescribeErrorKind;

/// Maximum depth of expressions.
const MAX_DEPTH: usize = 24;

/// Maximum length of a line.
const MAX_LINE: usize = 4096;

/// The result of parsing a part of a line.
type Parsed<T> = Result<T, DescribeErrorKind>;

/// The number of a name of an extent.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct NameNo(pub(super) usize);

/// The number of a name of a list of axes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct AxesNo(pub(super) usize);

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
#[derive(Clone, PartialEq, Debug)]
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
    Size(AxesNo),
    Binary(Operation, Box<Expr>, Box<Expr>),
    If(Box<Condition>, Box<Expr>, Box<Expr>),
}

/// A condition of a clause or expression.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Condition {
    Has(Port),
    HasAttribute(Box<str>),
    /// The element type of a port.
    Elem(Port, Elem),
    Not(Box<Condition>),
    All(Vec<Condition>),
    Compare(ComparisonOp, Expr, Expr),
    Text {
        attribute: Box<str>,
        text: Box<str>,
    },
}

/// An item of a shape.
#[derive(Clone, Debug)]
pub(super) enum Item {
    /// Any extent.
    Any,
    Extent(Expr),
    /// One of several extents.
    OneOf(Vec<Expr>),
    Axes(AxesNo),
    /// The broadcast of several lists of axes.
    Broadcast(Vec<AxesNo>),
    /// As many axes as the list has, with arbitrary extents.
    AnyOf(AxesNo),
    /// As many axes as the list has, with extent 1.
    OnesOf(AxesNo),
}

impl Item {
    /// Whether the item is for exactly one axis.
    pub(super) fn is_one_axis(&self) -> bool {
        match self {
            Self::Any | Self::Extent(_) | Self::OneOf(_) => true,
            Self::Axes(_) | Self::Broadcast(_) | Self::AnyOf(_) | Self::OnesOf(_) => false,
        }
    }
}

/// A clause: one line about shapes.
#[derive(Clone, Debug)]
pub(super) struct Clause {
    /// The conditions of `when`, all of which must hold.
    pub(super) conditions: Vec<Condition>,
    pub(super) action: Action,
    /// Every extent and every list of axes in the clause, in order.
    pub(super) mentions: Vec<Mention>,
}

/// The effect of a clause.
#[derive(Clone, Debug)]
pub(super) enum Action {
    /// The shape of an input, by its number of axes, or the only shape of an output.
    Shape(Port, Vec<Vec<Item>>),
    Let(NameNo, Expr),
    Require(Expr, Expr),
    RequireAtMost(Expr, Expr),
    /// Applies the rules of a version of an ONNX operator.
    Like(Box<str>, i64),
}

/// A name in a clause.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Mention {
    Extent(NameNo),
    Axes(AxesNo),
}

/// The names of one operator.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    pub(super) inputs: Numbered,
    pub(super) outputs: Numbered,
    pub(super) attributes: Numbered,
    pub(super) extents: Numbered,
    pub(super) axis_lists: Numbered,
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
pub(super) fn clause(line: &str, names: &mut Names) -> Parsed<Clause> {
    if line.len() > MAX_LINE {
        return Err(DescribeErrorKind::TooLong);
    }
    let tokens = tokens(line)?;
    let mut reader = Reader { tokens, at: 0, depth: 0, names, mentions: Vec::new() };
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
    mentions: Vec<Mention>,
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

    fn need(&mut self, mark: &'static str, what: &'static str) -> Parsed<()> {
        if self.take(mark) { Ok(()) } else { Err(expected(what, self.peek())) }
    }

    fn word(&mut self, what: &'static str) -> Parsed<&'t str> {
        match self.next() {
            Some(Token::Word(word)) => Ok(word),
            other => Err(expected(what, other.as_ref())),
        }
    }

    fn clause(&mut self) -> Parsed<Clause> {
        self.descend()?;
        let mut conditions = Vec::new();
        while self.take_word("when") {
            conditions.push(self.condition()?);
            self.need(":", "`:`")?;
            self.descend()?;
        }
        let action = self.action()?;
        Ok(Clause { conditions, action, mentions: std::mem::take(&mut self.mentions) })
    }

    fn action(&mut self) -> Parsed<Action> {
        const KEYWORDS: &str = "`shape`, `let`, `require`, `like` or `when`";
        match self.word(KEYWORDS)? {
            "shape" => {
                let port = self.declared_port()?;
                let binds = matches!(port, Port::In(_));
                let mut shapes = vec![self.shape(binds)?];
                while self.take_word("or") {
                    shapes.push(self.shape(binds)?);
                }
                if shapes.len() > 1 && !(binds && differ_in_rank(&shapes)) {
                    return Err(DescribeErrorKind::SameRank);
                }
                Ok(Action::Shape(port, shapes))
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

    fn descend(&mut self) -> Parsed<()> {
        self.depth += 1;
        if self.depth > MAX_DEPTH { Err(DescribeErrorKind::TooLong) } else { Ok(()) }
    }

    fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        self.descend()?;
        let read = read(self);
        self.depth -= 1;
        read
    }

    fn declared_port(&mut self) -> Parsed<Port> {
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
        let name = NameNo(self.names.extents.position_or_add(name));
        self.mentions.push(Mention::Extent(name));
        name
    }

    fn axes(&mut self, name: &str) -> AxesNo {
        let list = AxesNo(self.names.axis_lists.position_or_add(name));
        self.mentions.push(Mention::Axes(list));
        list
    }

    fn shape(&mut self, binds: bool) -> Parsed<Vec<Item>> {
        self.need("[", "`[`")?;
        let mut items = Vec::new();
        let mut axis_lists = 0;
        if self.take("]") {
            return Ok(items);
        }
        loop {
            let item = self.item(binds)?;
            let is_pattern = matches!(item, Item::Any | Item::Extent(_) | Item::OneOf(_) | Item::Axes(_));
            axis_lists += usize::from(!item.is_one_axis());
            if binds && (axis_lists > 1 || !is_pattern) {
                return Err(DescribeErrorKind::TwoRuns);
            }
            items.push(item);
            if self.take("]") {
                return Ok(items);
            }
            self.need(",", "`,` or `]`")?;
        }
    }

    fn item(&mut self, binds: bool) -> Parsed<Item> {
        if self.take_word("_") {
            return Ok(Item::Any);
        }
        if let (Some(Token::Word(name)), Some(Token::Mark("..."))) =
            (self.peek().cloned(), self.tokens.get(self.at + 1))
        {
            self.at += 2;
            let list = self.axes(name);
            if binds {
                self.names.bound.insert(Mention::Axes(list));
            }
            return Ok(Item::Axes(list));
        }
        for (word, item) in [("any", Item::AnyOf as fn(AxesNo) -> Item), ("ones", Item::OnesOf)] {
            if self.take_call(word) {
                let name = self.word("a list of axes")?;
                self.need(")", "`)`")?;
                self.need("...", "`...`")?;
                let list = self.axes(name);
                return Ok(item(list));
            }
        }
        if self.take_word("broadcast") {
            self.need("(", "`(`")?;
            let mut axis_lists = Vec::new();
            loop {
                let name = self.word("a list of axes")?;
                axis_lists.push(self.axes(name));
                if self.take(")") {
                    break;
                }
                self.need(",", "`,` or `)`")?;
            }
            self.need("...", "`...`")?;
            return Ok(Item::Broadcast(axis_lists));
        }
        let value = self.expr()?;
        if binds && self.peek() == Some(&Token::Word("or")) {
            let mut values = vec![value];
            while self.take_word("or") {
                values.push(self.expr()?);
            }
            return Ok(Item::OneOf(values));
        }
        if binds {
            bind(&value, &mut self.names.bound);
        }
        Ok(Item::Extent(value))
    }

    fn expr(&mut self) -> Parsed<Expr> {
        const SUMS: [(&str, Operation); 2] = [("+", Operation::Add), ("-", Operation::Sub)];
        self.deeper(|reader| reader.operations(&SUMS, Self::term))
    }

    fn term(&mut self) -> Parsed<Expr> {
        const PRODUCTS: [(&str, Operation); 3] =
            [("*", Operation::Mul), ("//", Operation::FloorDiv), ("%", Operation::Modulo)];
        self.operations(&PRODUCTS, Self::factor)
    }

    /// Operands with operations of one precedence between them.
    fn operations(
        &mut self,
        operations: &[(&'static str, Operation)],
        operand: fn(&mut Self) -> Parsed<Expr>,
    ) -> Parsed<Expr> {
        let mut left = operand(self)?;
        while let Some((_, operation)) = operations.iter().find(|(mark, _)| self.take(mark)) {
            left = Expr::Binary(*operation, Box::new(left), Box::new(operand(self)?));
        }
        Ok(left)
    }

    fn factor(&mut self) -> Parsed<Expr> {
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
                let list = self.word("a list of axes")?;
                Expr::Size(self.axes(list))
            }
            other => {
                let what = "`min`, `max`, `if`, `value`, `axis`, `rank` or `size`";
                return Err(expected(what, Some(&Token::Word(other))));
            }
        };
        self.need(")", "`)`")?;
        Ok(read)
    }

    fn integer(&mut self) -> Parsed<i64> {
        let negative = self.take("-");
        match self.next() {
            Some(Token::Integer(number)) => Ok(if negative { -number } else { number }),
            other => Err(expected("a whole number", other.as_ref())),
        }
    }

    fn condition(&mut self) -> Parsed<Condition> {
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

    fn test(&mut self) -> Parsed<Condition> {
        self.deeper(Self::one_test)
    }

    fn one_test(&mut self) -> Parsed<Condition> {
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
        if self.take_call("elem") {
            let port = self.declared_port()?;
            self.need(")", "`)`")?;
            let is_equal = match self.next() {
                Some(Token::Mark("=" | "==")) => true,
                Some(Token::Mark("!=")) => false,
                other => return Err(expected("`=` or `!=`", other.as_ref())),
            };
            let name = self.word("an element type")?;
            let elem = Elem::from_onnx_name(name);
            let elem = elem.ok_or_else(|| expected("an element type", Some(&Token::Word(name))))?;
            let same = Condition::Elem(port, elem);
            return Ok(if is_equal { same } else { Condition::Not(Box::new(same)) });
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
        let comparison = match mark {
            Some(Token::Mark("=" | "==")) => ComparisonOp::Equal,
            Some(Token::Mark("!=")) => ComparisonOp::Different,
            Some(Token::Mark("<")) => ComparisonOp::Less,
            Some(Token::Mark("<=")) => ComparisonOp::LessOrEqual,
            Some(Token::Mark(">")) => ComparisonOp::Greater,
            Some(Token::Mark(">=")) => ComparisonOp::GreaterOrEqual,
            other => return Err(expected("a comparison", other.as_ref())),
        };
        Ok(Condition::Compare(comparison, left, right))
    }
}

/// Whether several shapes are for different numbers of axes, none of them for any number.
fn differ_in_rank(shapes: &[Vec<Item>]) -> bool {
    let ranks: BTreeSet<usize> = shapes.iter().map(Vec::len).collect();
    ranks.len() == shapes.len() && shapes.iter().flatten().all(Item::is_one_axis)
}

/// Collects the names that an input extent binds: those in sums and products, which can be solved for a name.
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
