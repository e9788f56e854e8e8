//! The scopes of a node: the modules of the author's program that contain it, from the outside in.
//!
//! | source | form |
//! |---|---|
//! | `pkg.torch.onnx.name_scopes`, `pkg.torch.onnx.class_hierarchy` | lists as Python prints them: full names of modules, then the name of the node; their classes, then the operator |
//! | `namespace` | `name: class` of each module and of the node, separated by `/` (PyTorch 2.5 and later, Model Explorer) |
//! | the name of the node | scopes separated by `/`, then the name |
//!
//! The first source that a node has is used. Full names are made relative to the scope around them.

use typeloom_onnx::view::NodeView;

use super::MAX_SCOPES;

/// Key of the names of the modules around a node, in PyTorch's exporter.
const NAMES: &str = "pkg.torch.onnx.name_scopes";

/// Key of the classes of these modules.
const CLASSES: &str = "pkg.torch.onnx.class_hierarchy";

/// Key of names and classes in one text.
const NAMESPACE: &str = "namespace";

/// Name that PyTorch's exporter writes for nodes outside of all modules.
const NO_MODULE: &str = "_empty_nn_module_stack_from_metadata_hook";

/// The maximum size of metadata that is read, in bytes.
const MAX_BYTES: usize = 1 << 16;

/// A scope.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Scope<'a> {
    /// The name, relative to the scope around it.
    pub(super) name: &'a str,
    /// The class of the module; empty if unknown.
    pub(super) class: &'a str,
}

/// The scopes of a node.
pub(super) fn of_node<'a>(node: NodeView<'a>, name: &'a str) -> Vec<Scope<'a>> {
    let (mut names, mut classes, mut namespace) = (None, None, None);
    for entry in node.metadata_props().filter_map(Result::ok) {
        let target = match entry.key() {
            Ok(NAMES) => &mut names,
            Ok(CLASSES) => &mut classes,
            Ok(NAMESPACE) => &mut namespace,
            Ok(_) | Err(_) => continue,
        };
        *target = entry.value().ok().filter(|text| text.len() <= MAX_BYTES);
    }
    let listed = names.and_then(python_list).map(|names| {
        let classes = classes.and_then(python_list).unwrap_or_default();
        let class = |at: usize| classes.get(at).copied().unwrap_or_default();
        names.iter().enumerate().map(|(at, name)| (*name, class(at))).collect()
    });
    let found: Option<Vec<(&str, &str)>> = listed.or_else(|| namespace.map(pairs));
    match found {
        Some(found) => relative(&found),
        None => of_name(name),
    }
}

/// The scopes in the name of a node.
fn of_name(name: &str) -> Vec<Scope<'_>> {
    let Some((scopes, _)) = name.rsplit_once('/') else { return Vec::new() };
    let scopes = scopes.split('/').filter(|scope| !scope.is_empty()).take(MAX_SCOPES);
    scopes.map(|name| Scope { name, class: "" }).collect()
}

/// Makes full names relative. The last one is that of the node.
fn relative<'a>(found: &[(&'a str, &'a str)]) -> Vec<Scope<'a>> {
    let mut scopes = Vec::new();
    let mut outer = "";
    for (full, class) in found.iter().take(found.len().saturating_sub(1)) {
        if full.is_empty() || *full == NO_MODULE {
            continue;
        }
        let inner = full.strip_prefix(outer).and_then(|rest| rest.strip_prefix('.'));
        let name = if outer.is_empty() { full } else { inner.unwrap_or(full) };
        scopes.push(Scope { name, class: class.rsplit('.').next().unwrap_or_default() });
        outer = full;
    }
    scopes.truncate(MAX_SCOPES);
    scopes
}

/// `name: class/name: class` as pairs.
fn pairs(text: &str) -> Vec<(&str, &str)> {
    text.split('/').map(|part| part.split_once(": ").unwrap_or((part, ""))).collect()
}

/// The strings of a list in Python's notation; `None` if it is none. Escapes in strings are kept.
fn python_list(text: &str) -> Option<Vec<&str>> {
    let mut rest = text.trim().strip_prefix('[')?.trim_start();
    let mut items = Vec::new();
    while !rest.starts_with(']') {
        let quote = rest.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
        let body = &rest[1..];
        let mut is_escaped = false;
        let end = body.find(|c: char| {
            let ends = c == quote && !is_escaped;
            is_escaped = c == '\\' && !is_escaped;
            ends
        })?;
        items.push(&body[..end]);
        rest = body[end + 1..].trim_start();
        match rest.strip_prefix(',') {
            Some(next) => rest = next.trim_start(),
            None if rest.starts_with(']') => {}
            None => return None,
        }
    }
    (rest == "]").then_some(items)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names<'a>(scopes: &[Scope<'a>]) -> Vec<&'a str> {
        scopes.iter().map(|scope| scope.name).collect()
    }

    #[test]
    fn full_names_of_modules_become_relative() {
        let names_of = |text| {
            let list = python_list(text).unwrap();
            names(&relative(&list.iter().map(|name| (*name, "")).collect::<Vec<_>>()))
        };
        assert_eq!(names_of("['', 'layers.0', 'layers.0.attn', 'matmul']"), ["layers.0", "attn"]);
        assert_eq!(names_of("['', 'stem', 'conv2d']"), ["stem"]);
        assert_eq!(names_of("['', 'a', 'ab', 'x']"), ["a", "ab"]);
        assert!(names_of("['_empty_nn_module_stack_from_metadata_hook', 'sym_size_int_1']").is_empty());
    }

    #[test]
    fn namespaces_have_names_and_classes() {
        let scopes = relative(&pairs(": m.Net/conv: torch.nn.Conv2d/conv2d: aten.conv2d.default"));
        assert_eq!(scopes, [Scope { name: "conv", class: "Conv2d" }]);
    }

    #[test]
    fn names_are_split_at_slashes() {
        assert_eq!(names(&of_name("/layers.0/attn/MatMul")), ["layers.0", "attn"]);
        assert!(of_name("MatMul_3").is_empty() && of_name("/MatMul").is_empty());
        assert_eq!(of_name(&"a/".repeat(100_000)).len(), MAX_SCOPES);
    }

    #[test]
    fn lists_are_read_as_python_prints_them() {
        assert_eq!(python_list(r#"['a', "b'c", 'd\'e', ]"#).unwrap(), ["a", "b'c", r"d\'e"]);
        assert_eq!(python_list("[]").unwrap(), [""; 0]);
        for text in ["", "[", "['a'", "['a' 'b']", "['a'] x", "[a]", "['a\\']"] {
            assert_eq!(python_list(text), None, "{text}");
        }
    }
}
