//! Items and predicates in Rust syntax, with extensions where Rust has none.

use typeloom_term::print::{Printer, VariableNames};
use typeloom_term::subst::{Instantiation, instantiate, instantiate_args};
use typeloom_term::{Arity, Boxed, Const, FnTy, GenericArg, Name, Region, Symbols, Ty, TyData, VarKind};

use crate::item::{Arg, Attribute, Item, Kind, Param, ParamKind, PartLabel, Role, Type};
use crate::predicate::{self, Predicate};

/// Formats a type.
#[must_use]
pub fn ty(ty: &Type, symbols: &Symbols) -> String {
    elide_lifetimes(&Printer::new(symbols).ty(ty))
}

/// Formats an argument.
#[must_use]
pub fn arg(arg: &Arg, symbols: &Symbols) -> String {
    elide_lifetimes(&Printer::new(symbols).arg(arg))
}

/// Replaces the internal names of elided lifetimes in a text: `&'_0#1 u8` becomes `&u8`, `Ref<'_0, u8>`
/// becomes `Ref<'_, u8>`.
#[must_use]
pub fn elide_lifetimes(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("'_0") {
        let (before, after) = rest.split_at(at);
        out.push_str(before);
        let tail = after[3..].trim_start_matches(|c: char| c == '#' || c.is_ascii_digit());
        if before.ends_with('&') {
            rest = tail.strip_prefix(' ').unwrap_or(tail);
        } else {
            out.push_str("'_");
            rest = tail;
        }
    }
    out.push_str(rest);
    out
}

/// Formats a predicate: `T: Clone`, `<T as Iterator>::Item == u8`, `'a: 'b`.
#[must_use]
pub fn predicate(predicate: &Type, symbols: &mut Symbols) -> String {
    let Some((arity, _)) = predicate::view(symbols, predicate) else { return ty(predicate, symbols) };
    let mut generator = VariableNames::of(&[predicate.clone().into()], symbols);
    let names: Vec<String> = (0..arity.regions).map(|_| generator.generate(VarKind::Region)).collect();
    let regions = names.iter().map(|name| Region::param(Name::Param(symbols.intern(name)))).collect();
    let with = Instantiation { regions, ..Instantiation::default() };
    let symbols = &*symbols;
    let binder = if arity == Arity::NONE { String::new() } else { format!("for<{}> ", names.join(", ")) };
    let open = |args: &[Arg]| {
        if arity.is_empty() {
            return args.to_vec();
        }
        instantiate_args(&Boxed::new(), args, &with).unwrap_or_else(|_| args.to_vec())
    };
    let list = |args: &[Arg]| -> String {
        let args: Vec<String> = args.iter().map(|one| arg(one, symbols)).collect();
        if args.is_empty() { String::new() } else { format!("<{}>", args.join(", ")) }
    };
    let first = |args: &[Arg]| args.first().map_or_else(String::new, |one| arg(one, symbols));
    match predicate::view(symbols, predicate) {
        Some((_, Predicate::Trait(of, args))) => {
            let args = open(args);
            let rest = list(args.get(1..).unwrap_or_default());
            format!("{binder}{}: {}{rest}", first(&args), symbols.resolve(of))
        }
        Some((_, Predicate::Projection(item, args, value))) => {
            let (args, value) = (open(args), open(std::slice::from_ref(value)));
            let path = symbols.resolve(item);
            let (of, item) = path.rsplit_once("::").unwrap_or((path, ""));
            let rest = list(args.get(1..).unwrap_or_default());
            format!("{binder}<{} as {of}{rest}>::{item} == {}", first(&args), first(&value))
        }
        Some((_, Predicate::Outlives(longer, shorter))) => {
            format!("{}: {}", arg(longer, symbols), arg(&shorter.into(), symbols))
        }
        None => ty(predicate, symbols),
    }
}

fn param(param: &Param, symbols: &Symbols) -> Option<String> {
    let name = symbols.resolve(param.symbol);
    if param.role == Role::Existential
        || name.starts_with("'_")
        || name.starts_with("impl ")
        || name == "Self"
    {
        return None;
    }
    let default =
        param.default.as_ref().map_or_else(String::new, |default| format!(" = {}", arg(default, symbols)));
    Some(match &param.kind {
        ParamKind::Region | ParamKind::Type => format!("{name}{default}"),
        ParamKind::Const(of) => format!("const {name}: {}{default}", ty(of, symbols)),
    })
}

/// Formats the captures of each `impl Trait` in the result of a function, as `use<'a>`.
pub(crate) fn captures(item: &Item, symbols: &Symbols) -> String {
    let outlives: Vec<_> = item.predicates.iter().filter_map(|one| predicate::view(symbols, one)).collect();
    let of = |param: &Param| {
        let choice = Region::param(Name::Param(param.symbol));
        let of_choice = |(_, one): &(_, Predicate<'_>)| match one {
            Predicate::Outlives(longer @ GenericArg::Region(_), shorter) if *shorter == choice => {
                Some(arg(longer, symbols))
            }
            Predicate::Outlives(..) | Predicate::Trait(..) | Predicate::Projection(..) => None,
        };
        let names: Vec<String> = outlives.iter().filter_map(of_choice).collect();
        format!("use<{}>", names.join(", "))
    };
    let choices = item.params.iter().filter(|param| predicate::is_capture_param(symbols, param.symbol));
    choices.map(of).collect::<Vec<_>>().join(" ")
}

/// Formats an associated type of an impl, with its parameters.
fn value(name: &str, of: &Type, symbols: &mut Symbols) -> String {
    let TyData::Fn(FnTy { name: Name::Forall, arity, signature: [_, GenericArg::Ty(body)] }) = of.data()
    else {
        return format!("type {name} = {}", ty(of, symbols));
    };
    let cx = Boxed::new();
    let mut generator = VariableNames::of(&[of.clone().into()], symbols);
    let mut names = Vec::new();
    let mut list = |count: u16, kind, symbols: &mut Symbols| -> Vec<Name> {
        let texts: Vec<String> = (0..count).map(|_| generator.generate(kind)).collect();
        let symbols = texts.iter().map(|text| Name::Param(symbols.intern(text))).collect();
        names.extend(texts);
        symbols
    };
    let regions = list(arity.regions, VarKind::Region, symbols).into_iter().map(Region::param).collect();
    let types =
        list(arity.types, VarKind::Ty, symbols).into_iter().filter_map(|name| Ty::param(&cx, name).ok());
    let with = Instantiation { regions, types: types.collect(), ..Instantiation::default() };
    let consts = list(arity.consts, VarKind::Const, symbols)
        .into_iter()
        .filter_map(|name| Const::param(&cx, name).ok());
    let with = Instantiation { consts: consts.collect(), ..with };
    let text = instantiate(&cx, body, &with).map_or_else(|_| ty(of, symbols), |body| ty(&body, symbols));
    format!("type {name}<{}> = {text}", names.join(", "))
}

/// Formats an item as one line.
#[must_use]
pub fn item(item: &Item, symbols: &mut Symbols) -> String {
    let mut values: Vec<String> = Vec::new();
    for part in &item.parts {
        if let PartLabel::Assoc(name) = &part.label {
            values.push(value(name, &part.ty, symbols));
        }
    }
    let mut conditions: Vec<String> = Vec::new();
    for one in item.predicates.iter().chain(&item.promises) {
        if !predicate::is_sized(one, symbols) && !predicate::is_capture(symbols, one) {
            conditions.push(predicate(one, symbols));
        }
    }
    let symbols = &*symbols;
    let params: Vec<String> = item.params.iter().filter_map(|one| param(one, symbols)).collect();
    let generics = if params.is_empty() { String::new() } else { format!("<{}>", params.join(", ")) };
    let clause =
        if conditions.is_empty() { String::new() } else { format!(" where {}", conditions.join(", ")) };
    let of_type = || item.part(&PartLabel::Type).map_or_else(String::new, |part| ty(&part.ty, symbols));
    let path = &item.path;
    match item.kind {
        Kind::Function | Kind::Method | Kind::TraitMethod => {
            let mut text = String::new();
            if item.has(&Attribute::Const(true)) {
                text.push_str("const ");
            }
            if item.has(&Attribute::Safe(false)) {
                text.push_str("unsafe ");
            }
            if let Some(abi) = item.abi() {
                text.push_str(&format!("extern \"{abi}\" "));
            }
            let inputs = item.parts.iter().filter_map(|part| match &part.label {
                PartLabel::Input(_, name) => Some(format!("{name}: {}", ty(&part.ty, symbols))),
                _ => None,
            });
            let inputs: Vec<String> = inputs.collect();
            let output =
                item.part(&PartLabel::Output).map(|part| ty(&part.ty, symbols)).filter(|text| text != "()");
            let output = output.map_or_else(String::new, |output| format!(" -> {output}"));
            format!("{text}fn {path}{generics}({}){output}{clause}", inputs.join(", "))
        }
        Kind::Const | Kind::AssocConst | Kind::TraitConst => format!("const {path}: {}", of_type()),
        Kind::Static => {
            let mutability = if item.has(&Attribute::Mutable(true)) { "mut " } else { "" };
            format!("static {mutability}{path}: {}", of_type())
        }
        Kind::Field => format!("{path}: {}", of_type()),
        Kind::TypeAlias => format!("type {path}{generics} = {}{clause}", of_type()),
        Kind::TraitType => format!("type {path}{clause}"),
        Kind::Impl => {
            let body =
                if values.is_empty() { String::new() } else { format!(" {{ {} }}", values.join("; ")) };
            let path = elide_lifetimes(path.strip_prefix("impl ").unwrap_or(path));
            format!("impl{generics} {path}{clause}{body}")
        }
        Kind::ReExport => {
            let target = item.attributes.iter().find_map(|attribute| match attribute {
                Attribute::Target(target) => Some(target.as_str()),
                _ => None,
            });
            format!("use {} as {path}", target.unwrap_or_default())
        }
        Kind::Struct | Kind::Enum | Kind::Union | Kind::Trait | Kind::TraitAlias | Kind::Variant => {
            let generics = if item.kind == Kind::Variant { String::new() } else { generics };
            format!("{} {path}{generics}{clause}", item.kind.word())
        }
        Kind::ExternType | Kind::Macro => format!("{} {path}", item.kind.word()),
    }
}
