//! Descriptors of types as Python dictionaries, with the field names of the JSON view of bundles.
//!
//! `kind` is the name of a [`Tag`]; `docs/bundle-format.md` lists the other fields. A reference to another
//! type is what the caller's conversion makes of it: a handle of a pool, a digest, or the number of a member
//! of a recursive group.
//!
//! **Invariant:** writing a descriptor and reading the result is the identity.
//! **Limit:** a group inside of a group is refused, so that no input nests without bound.

use std::sync::Arc;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use typeloom::pool::{Descriptor, Digest, GraphRef, Sort, Tag, TypeDescriptor, VariantDescriptor};
use typeloom_project::parts::pool::{ConstDescriptor, GroupDescriptor, TagClass, Variable};

/// The kind of a member of a recursive group. It has no tag: in a pool, members refer to each other.
const RECURSIVE: &str = "recursive";

/// A digest from 64 hexadecimal digits.
pub(crate) fn digest(text: &str) -> PyResult<Digest> {
    text.parse().map_err(|error| PyValueError::new_err(format!("`{text}` is no digest: {error}")))
}

/// A descriptor whose references are digests.
pub(crate) fn write_portable<'py>(py: Python<'py>, ty: &TypeDescriptor) -> PyResult<Bound<'py, PyDict>> {
    write(py, ty, &|digest| Ok(digest.to_string().into_pyobject(py)?.into_any()))
}

/// Reads a descriptor whose references are digests.
pub(crate) fn read_portable(ty: &Bound<'_, PyAny>) -> PyResult<TypeDescriptor> {
    read(ty, &|value| digest(value.extract()?))
}

/// A reference to a type outside of a graph or, as `{"member": n}`, to a node of it.
pub(crate) fn read_graph_ref<'py, R>(
    value: &Bound<'py, PyAny>,
    outer: impl Fn(&Bound<'py, PyAny>) -> PyResult<R>,
) -> PyResult<GraphRef<R>> {
    match value.cast::<PyDict>() {
        Ok(object) => match object.get_item("member")? {
            Some(member) if object.len() == 1 => Ok(GraphRef::Member(member.extract()?)),
            _ => Err(PyValueError::new_err("a reference inside of a graph is {\"member\": n}")),
        },
        Err(_) => outer(value).map(GraphRef::Outer),
    }
}

/// Writes a reference.
type WriteRef<'a, 'py, R> = &'a dyn Fn(&R) -> PyResult<Bound<'py, PyAny>>;

/// Reads a reference.
type ReadRef<'a, 'py, R> = &'a dyn Fn(&Bound<'py, PyAny>) -> PyResult<R>;

/// The dictionary of a descriptor.
pub(crate) fn write<'py, R>(
    py: Python<'py>,
    ty: &Descriptor<R>,
    child: WriteRef<'_, 'py, R>,
) -> PyResult<Bound<'py, PyDict>> {
    let out = Writer { object: PyDict::new(py), child };
    match ty {
        Descriptor::Primitive(tag) => out.kind(*tag)?,
        Descriptor::Container { tag, child } => out.kind(*tag)?.one("of", child)?,
        Descriptor::TwoChild { tag, child1, child2 } => out.kind(*tag)?.many("of", [child1, child2])?,
        Descriptor::Borrowed { inner, lifetime } => {
            out.kind(Tag::Borrowed)?.one("inner", inner)?.one("lifetime", lifetime)?
        }
        Descriptor::Function { params, returns } => {
            out.kind(Tag::Function)?.many("params", params)?.one("returns", returns)?
        }
        Descriptor::Tuple { elements } => out.kind(Tag::Tuple)?.many("elements", elements)?,
        Descriptor::Struct { name, field_names, field_types } => {
            let fields = out.fields(field_names, field_types)?;
            out.kind(Tag::Struct)?.set("name", name)?.set("fields", fields)?
        }
        Descriptor::Enum { name, variants } => {
            let list = PyList::empty(py);
            for VariantDescriptor { name, field_names, field_types } in variants {
                let variant = PyDict::new(py);
                variant.set_item("name", name)?;
                variant.set_item("fields", out.fields(field_names, field_types)?)?;
                list.append(variant)?;
            }
            out.kind(Tag::Enum)?.set("name", name)?.set("variants", list)?
        }
        Descriptor::Applied { name, args } => {
            out.kind(Tag::Applied)?.set("name", name)?.many("args", args)?
        }
        Descriptor::Opaque { name } => out.kind(Tag::Opaque)?.set("name", name)?,
        Descriptor::Declared { name, params, body } => {
            out.kind(Tag::Declared)?.set("name", name)?.sorts("params", params)?.one("body", body)?
        }
        Descriptor::Instance { declaration, args } => {
            out.kind(Tag::Instance)?.one("declaration", declaration)?.many("args", args)?
        }
        Descriptor::Named { name } => out.kind(Tag::Named)?.set("name", name)?,
        Descriptor::Rigid { name } => out.kind(Tag::Rigid)?.set("name", name)?,
        Descriptor::Scheme { vars, body } => out.kind(Tag::Scheme)?.sorts("vars", vars)?.one("body", body)?,
        Descriptor::Variable(Variable::Bound { depth, index, sort }) => {
            out.kind(Tag::Bound)?.set("depth", depth)?.set("index", index)?.set("sort", sort.name())?
        }
        Descriptor::Variable(Variable::Infer { number, sort }) => {
            out.kind(Tag::Infer)?.set("number", number)?.set("sort", sort.name())?
        }
        Descriptor::Lifetime { name } => out.kind(Tag::Lifetime)?.set("name", name)?,
        Descriptor::Tensor { element, dims: Some(dims) } => {
            out.kind(Tag::Tensor)?.one("element", element)?.many("dims", dims)?
        }
        Descriptor::Tensor { element, dims: None } => {
            out.kind(Tag::TensorUnranked)?.one("element", element)?
        }
        Descriptor::Const(constant) => write_constant(py, constant, out)?,
        Descriptor::Recursive { group, member } => {
            let members = PyList::empty(py);
            for one in &group.members {
                members.append(write(py, one, &|reference| match reference {
                    GraphRef::Outer(digest) => Ok(digest.to_string().into_pyobject(py)?.into_any()),
                    GraphRef::Member(member) => {
                        let object = PyDict::new(py);
                        object.set_item("member", member)?;
                        Ok(object.into_any())
                    }
                })?)?;
            }
            out.set("kind", RECURSIVE)?.set("group", members)?.set("member", member)?
        }
    }
    .finish()
}

fn write_constant<'a, 'py, R>(
    py: Python<'py>,
    constant: &ConstDescriptor<R>,
    out: Writer<'a, 'py, R>,
) -> PyResult<Writer<'a, 'py, R>> {
    match constant {
        ConstDescriptor::Int(value) => out.kind(Tag::DimConst)?.set("value", value),
        ConstDescriptor::Symbol(name) => out.kind(Tag::DimSymbol)?.set("name", name),
        ConstDescriptor::Sum { constant, terms } => {
            let list = PyList::empty(py);
            for (coefficient, monomial) in terms {
                list.append((coefficient, (out.child)(monomial)?))?;
            }
            out.kind(Tag::DimSum)?.set("constant", constant)?.set("terms", list)
        }
        ConstDescriptor::Product(of) => out.kind(Tag::DimProduct)?.many("of", of),
        ConstDescriptor::Min(of) => out.kind(Tag::DimMin)?.many("of", of),
        ConstDescriptor::Max(of) => out.kind(Tag::DimMax)?.many("of", of),
        ConstDescriptor::FloorDiv(a, b) => out.kind(Tag::DimFloorDiv)?.many("of", [a, b]),
        ConstDescriptor::Mod(a, b) => out.kind(Tag::DimMod)?.many("of", [a, b]),
        ConstDescriptor::Unknown => out.kind(Tag::DimUnknown),
    }
}

/// A dictionary that is being written.
struct Writer<'a, 'py, R> {
    object: Bound<'py, PyDict>,
    child: WriteRef<'a, 'py, R>,
}

impl<'a, 'py, R: 'a> Writer<'a, 'py, R> {
    fn set(self, field: &str, value: impl IntoPyObject<'py>) -> PyResult<Self> {
        self.object.set_item(field, value)?;
        Ok(self)
    }

    fn kind(self, tag: Tag) -> PyResult<Self> {
        self.set("kind", tag.name())
    }

    fn one(self, field: &str, reference: &R) -> PyResult<Self> {
        let value = (self.child)(reference)?;
        self.set(field, value)
    }

    fn many<'r>(self, field: &str, references: impl IntoIterator<Item = &'r R>) -> PyResult<Self>
    where
        R: 'r,
    {
        let values: PyResult<Vec<_>> = references.into_iter().map(self.child).collect();
        self.set(field, values?)
    }

    fn sorts(self, field: &str, sorts: &[Sort]) -> PyResult<Self> {
        let names: Vec<&str> = sorts.iter().map(|sort| sort.name()).collect();
        self.set(field, names)
    }

    /// The fields of a struct or variant: `{"name": .., "type": ..}`, without names if they are positional.
    fn fields(&self, names: &[String], types: &[R]) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(self.object.py());
        for (at, ty) in types.iter().enumerate() {
            let field = PyDict::new(self.object.py());
            if let Some(name) = names.get(at) {
                field.set_item("name", name)?;
            }
            field.set_item("type", (self.child)(ty)?)?;
            list.append(field)?;
        }
        Ok(list)
    }

    fn finish(self) -> PyResult<Bound<'py, PyDict>> {
        Ok(self.object)
    }
}

/// Reads a dictionary. Its fields must be exactly those of its kind.
pub(crate) fn read<'py, R>(ty: &Bound<'py, PyAny>, child: ReadRef<'_, 'py, R>) -> PyResult<Descriptor<R>> {
    let object = Reader::of(ty, "a type", child)?;
    if object.text("kind")? != RECURSIVE {
        return read_node(&object);
    }
    let group: PyResult<_> = (object.list("group")?.iter())
        .map(|member| {
            let child = |value: &Bound<'py, PyAny>| read_graph_ref(value, |value| digest(value.extract()?));
            read_node(&Reader::of(member, "a type", &child)?)
        })
        .collect();
    let member = object.get("member")?.extract()?;
    object.only(&["kind", "group", "member"])?;
    Ok(Descriptor::Recursive { group: Arc::new(GroupDescriptor { members: group? }), member })
}

fn read_node<R>(object: &Reader<'_, '_, R>) -> PyResult<Descriptor<R>> {
    let kind = object.text("kind")?;
    let Some(&tag) = Tag::ALL.iter().find(|tag| tag.name() == kind) else {
        return Err(PyValueError::new_err(format!("there is no kind `{kind}`")));
    };
    let (ty, fields): (_, &[&str]) = match (tag.class(), tag) {
        (TagClass::Primitive, _) => (Descriptor::Primitive(tag), &[]),
        (TagClass::Container, _) => (Descriptor::Container { tag, child: object.one("of")? }, &["of"]),
        (TagClass::TwoChild, _) => {
            let [child1, child2] = object.pair("of")?;
            (Descriptor::TwoChild { tag, child1, child2 }, &["of"])
        }
        (_, Tag::Borrowed) => {
            let (inner, lifetime) = (object.one("inner")?, object.one("lifetime")?);
            (Descriptor::Borrowed { inner, lifetime }, &["inner", "lifetime"])
        }
        (_, Tag::Function) => {
            let (params, returns) = (object.many("params")?, object.one("returns")?);
            (Descriptor::Function { params, returns }, &["params", "returns"])
        }
        (_, Tag::Tuple) => (Descriptor::Tuple { elements: object.many("elements")? }, &["elements"]),
        (_, Tag::Struct) => {
            let (field_names, field_types) = object.fields()?;
            (Descriptor::Struct { name: object.text("name")?, field_names, field_types }, &["name", "fields"])
        }
        (_, Tag::Enum) => {
            let mut variants = Vec::new();
            for variant in object.list("variants")? {
                let variant = Reader::of(&variant, "a variant", object.child)?;
                let (field_names, field_types) = variant.fields()?;
                variant.only(&["name", "fields"])?;
                variants.push(VariantDescriptor { name: variant.text("name")?, field_names, field_types });
            }
            (Descriptor::Enum { name: object.text("name")?, variants }, &["name", "variants"])
        }
        (_, Tag::Applied) => {
            let args = object.many("args")?;
            (Descriptor::Applied { name: object.text("name")?, args }, &["name", "args"])
        }
        (_, Tag::Opaque) => (Descriptor::Opaque { name: object.text("name")? }, &["name"]),
        (_, Tag::Named) => (Descriptor::Named { name: object.text("name")? }, &["name"]),
        (_, Tag::Rigid) => (Descriptor::Rigid { name: object.text("name")? }, &["name"]),
        (_, Tag::Lifetime) => (Descriptor::Lifetime { name: object.text("name")? }, &["name"]),
        (_, Tag::Declared) => {
            let (params, body) = (object.sorts("params")?, object.one("body")?);
            (Descriptor::Declared { name: object.text("name")?, params, body }, &["name", "params", "body"])
        }
        (_, Tag::Instance) => {
            let (declaration, args) = (object.one("declaration")?, object.many("args")?);
            (Descriptor::Instance { declaration, args }, &["declaration", "args"])
        }
        (_, Tag::Scheme) => {
            (Descriptor::Scheme { vars: object.sorts("vars")?, body: object.one("body")? }, &["vars", "body"])
        }
        (_, Tag::Bound) => {
            let (depth, index) = (object.get("depth")?.extract()?, object.get("index")?.extract()?);
            let variable = Variable::Bound { depth, index, sort: sort(&object.get("sort")?)? };
            (Descriptor::Variable(variable), &["depth", "index", "sort"])
        }
        (_, Tag::Infer) => {
            let number = object.get("number")?.extract()?;
            let variable = Variable::Infer { number, sort: sort(&object.get("sort")?)? };
            (Descriptor::Variable(variable), &["number", "sort"])
        }
        (_, Tag::Tensor) => {
            let (element, dims) = (object.one("element")?, Some(object.many("dims")?));
            (Descriptor::Tensor { element, dims }, &["element", "dims"])
        }
        (_, Tag::TensorUnranked) => {
            (Descriptor::Tensor { element: object.one("element")?, dims: None }, &["element"])
        }
        _ => {
            let (constant, fields) = read_constant(tag, object)?;
            (Descriptor::Const(constant), fields)
        }
    };
    let names: Vec<&str> = fields.iter().copied().chain(["kind"]).collect();
    object.only(&names)?;
    Ok(ty)
}

fn read_constant<R>(
    tag: Tag,
    object: &Reader<'_, '_, R>,
) -> PyResult<(ConstDescriptor<R>, &'static [&'static str])> {
    Ok(match tag {
        Tag::DimConst => (ConstDescriptor::Int(object.get("value")?.extract()?), &["value"]),
        Tag::DimSymbol => (ConstDescriptor::Symbol(object.text("name")?), &["name"]),
        Tag::DimSum => {
            let mut terms = Vec::new();
            for term in object.list("terms")? {
                let (coefficient, monomial): (i64, Bound<'_, PyAny>) = term.extract()?;
                terms.push((coefficient, (object.child)(&monomial)?));
            }
            let constant = object.get("constant")?.extract()?;
            (ConstDescriptor::Sum { constant, terms }, &["constant", "terms"])
        }
        Tag::DimProduct => (ConstDescriptor::Product(object.many("of")?), &["of"]),
        Tag::DimMin => (ConstDescriptor::Min(object.many("of")?), &["of"]),
        Tag::DimMax => (ConstDescriptor::Max(object.many("of")?), &["of"]),
        Tag::DimFloorDiv => {
            let [a, b] = object.pair("of")?;
            (ConstDescriptor::FloorDiv(a, b), &["of"])
        }
        Tag::DimMod => {
            let [a, b] = object.pair("of")?;
            (ConstDescriptor::Mod(a, b), &["of"])
        }
        Tag::DimUnknown => (ConstDescriptor::Unknown, &[]),
        _ => return Err(PyValueError::new_err(format!("types of kind `{}` cannot be built", tag.name()))),
    })
}

/// The names of fields, if they have some, and their types.
type Fields<R> = (Vec<String>, Vec<R>);

/// A dictionary that is being read.
struct Reader<'a, 'py, R> {
    object: Bound<'py, PyDict>,
    child: ReadRef<'a, 'py, R>,
}

impl<'a, 'py, R> Reader<'a, 'py, R> {
    fn of(value: &Bound<'py, PyAny>, what: &str, child: ReadRef<'a, 'py, R>) -> PyResult<Self> {
        match value.cast::<PyDict>() {
            Ok(object) => Ok(Self { object: object.clone(), child }),
            Err(_) => {
                let kind = value.get_type().name()?;
                Err(PyTypeError::new_err(format!("{what} is described by a dict, and not by {kind}")))
            }
        }
    }

    /// Refuses fields with other names.
    fn only(&self, names: &[&str]) -> PyResult<()> {
        for key in self.object.keys() {
            let key: String = key.extract()?;
            if !names.contains(&key.as_str()) {
                return Err(PyValueError::new_err(format!("there is no field `{key}` in this kind of type")));
            }
        }
        Ok(())
    }

    fn get(&self, field: &str) -> PyResult<Bound<'py, PyAny>> {
        match self.object.get_item(field)? {
            Some(value) => Ok(value),
            None => Err(PyValueError::new_err(format!("the field `{field}` is missing"))),
        }
    }

    fn text(&self, field: &str) -> PyResult<String> {
        self.get(field)?.extract()
    }

    fn list(&self, field: &str) -> PyResult<Vec<Bound<'py, PyAny>>> {
        self.get(field)?.extract()
    }

    fn one(&self, field: &str) -> PyResult<R> {
        (self.child)(&self.get(field)?)
    }

    fn many(&self, field: &str) -> PyResult<Vec<R>> {
        self.list(field)?.iter().map(self.child).collect()
    }

    fn pair(&self, field: &str) -> PyResult<[R; 2]> {
        self.many(field)?
            .try_into()
            .map_err(|_| PyValueError::new_err(format!("`{field}` has two references")))
    }

    fn sorts(&self, field: &str) -> PyResult<Vec<Sort>> {
        self.list(field)?.iter().map(sort).collect()
    }

    fn fields(&self) -> PyResult<Fields<R>> {
        let (mut names, mut types) = (Vec::new(), Vec::new());
        for field in self.list("fields")? {
            let field = Reader::of(&field, "a field", self.child)?;
            if let Some(name) = field.object.get_item("name")? {
                names.push(name.extract()?);
            }
            types.push(field.one("type")?);
            field.only(&["name", "type"])?;
        }
        if names.is_empty() || names.len() == types.len() {
            return Ok((names, types));
        }
        Err(PyValueError::new_err("either all fields have a name, or none"))
    }
}

fn sort(value: &Bound<'_, PyAny>) -> PyResult<Sort> {
    let name: String = value.extract()?;
    let sort = [Sort::Type, Sort::Region, Sort::Const].into_iter().find(|sort| sort.name() == name);
    sort.ok_or_else(|| {
        PyValueError::new_err(format!("`{name}` is no sort; there are type, region and const"))
    })
}
