//! Law of fixes: the fix of a diagnostic removes this diagnostic and introduces no other.

use std::collections::BTreeMap;
use std::path::PathBuf;

use typeloom_ops::described::Operators;
use typeloom_rewrite::advise::applied;
use typeloom_solver::diagnostic::{Code, Diagnostic, Fix, Safety};
use typeloom_solver::model::Options;
use typeloom_solver::universe::Universe;
use typeloom_testing::number;

fn diagnose(bytes: &[u8]) -> Vec<Diagnostic> {
    let (options, operators) = (Options::default(), Operators::standard());
    let mut checked = typeloom_ops::check::check(bytes, &options).expect("the model can be read");
    typeloom_rewrite::advise::advised(bytes, &mut checked, &operators, Universe::standard(), &options)
}

fn of_text(graph: &str) -> Vec<u8> {
    parsed(graph).unwrap_or_else(|error| panic!("{error}: {graph}"))
}

/// A model in the textual syntax; a graph alone gets a header.
fn parsed(text: &str) -> Result<Vec<u8>, typeloom_onnx::text::ParseError> {
    let header = match text.trim_start().starts_with('<') {
        true => "",
        false => "<ir_version: 10, opset_import: [\"\" : 21, \"local\" : 1]>\n",
    };
    typeloom_onnx::text::model_bytes(&format!("{header}{text}"))
}

/// Number of diagnostics by code.
fn counts(diagnostics: &[Diagnostic]) -> BTreeMap<Code, usize> {
    let mut counts = BTreeMap::new();
    for diagnostic in diagnostics {
        *counts.entry(diagnostic.code).or_insert(0) += 1;
    }
    counts
}

/// Applies each fix of a model separately and returns the number of fixes.
fn fixes_hold(name: &str, bytes: &[u8]) -> usize {
    let (options, operators) = (Options::default(), Operators::standard());
    let found = diagnose(bytes);
    let before = counts(&found);
    let mut made = 0;
    for diagnostic in &found {
        let Some(fix) = &diagnostic.fix else { continue };
        let fixed = applied(bytes, diagnostic, fix, (&operators, Universe::standard(), &options))
            .unwrap_or_else(|| panic!("{name}: {fix:?} cannot be made"));
        let after = counts(&diagnose(&fixed));
        let of = |counts: &BTreeMap<Code, usize>, code: &Code| counts.get(code).copied().unwrap_or(0);
        assert!(
            of(&after, &diagnostic.code) < of(&before, &diagnostic.code),
            "{name}: {fix:?} leaves {}",
            diagnostic.message
        );
        for (code, count) in &after {
            assert!(*count <= of(&before, code), "{name}: {fix:?} brings {code}");
        }
        made += 1;
    }
    made
}

/// Models with errors that have a fix.
const FIXABLE: &[&str] = &[
    // A wrong weight, a wrong input, an index of a floating-point type.
    "g (float[N, 2] x) => (float[N, 2] y) <double[2, 2] w = {1, 2, 3, 4}> { y = MatMul(x, w) }",
    "g (double[N] x) => (float[N] y) <float[1] a = {1}, float[1] b = {2}> { h = Add(x, a) y = Add(h, b) }",
    "g (float[n, 4] x, float[m] at) => (float[m, 4] y) { y = Gather(x, at) }",
    // A wrong weight in several nodes, and in a branch.
    "g (float[2] x) => (float[2] y) <double[2] w = {1, 2}> { a = Add(x, w) b = Mul(a, w) y = Sub(b, w) }",
    "g (bool c, float[2] x) => (float[2] y) <double[2] w = {1, 2}> {
        y = If (c) <then_branch = t () => (float[2] p) { p = Add(x, w) }, else_branch = e () => (float[2] q) { q = Abs(x) }>
    }",
    // Names of values, operators and attributes.
    "g (float[2] hidden) => (float[2] y) { y = Relu(hiden) }",
    "g (float[2] x) => (float[2] y) { y = Reluu(x) }",
    "g (float[2, 3] x) => (float[2, 3] y) { y = Softmax <axes = 1> (x) }",
    "g (float[2] x) => (float[2] out) { oot = Relu(x) }",
    // Order and shapes.
    "g (float[2] x) => (float[2] y) { y = Relu(a) a = Abs(b) b = Neg(x) }",
    "g (float[N, 2] x) => (float y) { y = Relu(x) }",
    "g (float[-1, 2] x) => (float[-1, 2] y) { y = Relu(x) }",
    "g (float[\"?\", 2] x) => (float[\"?\", 2] y) { y = Relu(x) }",
    // Attributes that became inputs: lists, a number that is a list of one, numbers of the type of the data.
    "g (float[2, 3] x) => (float[2, 1] y) { y = ReduceSum <axes = [1]> (x) }",
    "g (float[2, 4] x) => (float[2, 2] y) { y = Slice <starts = [0], ends = [2], axes = [1]> (x) }",
    "g (float[2, 4] x) => (y, z) { y, z = TopK <k = 2> (x) }",
    "g (float16[2] x) => (y) { y = Clip <min = 0.0, max = 6.0> (x) }",
    "g (double[2, 3] x) => (y) { y = Pad <pads = [0, 1, 0, 1], value = 0.5> (x) }",
    // The reverse.
    "<ir_version: 6, opset_import: [\"\" : 11]> g (float[2, 1] x) => (float[2] y) <int64[1] a = {1}> { y = Squeeze(x, a) }",
    "<ir_version: 6, opset_import: [\"\" : 6]> g (float[2] x) => (y) <float a = {0}, float b = {6}> { y = Clip(x, a, b) }",
    // Attributes and operators of other versions.
    "<ir_version: 6, opset_import: [\"\" : 9]> g (float[2, 1] x) => (y) <float[1] a = {1}> { y = BatchNormalization <spatial = 1> (x, a, a, a, a) }",
    "<ir_version: 6, opset_import: [\"\" : 12]> g (float[2] x, int64[1] at, float[1] u) => (y) { y = Scatter(x, at, u) }",
    "<ir_version: 6, opset_import: [\"\" : 10]> g (float[1, 1, 2] x) => (y) <float[0] r = {}, float[3] s = {1, 1, 2}> { y = Resize(x, r, s) }",
    // Scalars, and an axis that fits.
    "g (float[n, 2, 3] x, int64 n) => (y) <int64[1] m = {-1}> { s = Concat <axis = 0> (n, m) y = Reshape(x, s) }",
    "g (float[n, 2, 3] x, int64 n) => (y) { y = Concat <axis = 0> (n, n) }",
    "g (int8[4, 3] x) => (y) <float[4] s = {1, 1, 1, 1}> { y = DequantizeLinear(x, s) }",
    // Imports and declarations.
    "g (float[2] x) => (y) { y = com.microsoft.Gelu(x) }",
    "g (float[N, 2] x) => (float[N, 3] y) { y = Relu(x) }",
    "g (float[N, 2] x) => (y) <float[N, 3] a> { a = Relu(x) y = Neg(a) }",
    "g (float[3] x) => (y) <float[2] x = {1, 2}> { y = Identity(x) }",
];

#[test]
fn a_fix_removes_its_diagnostic_and_brings_no_other() {
    for graph in FIXABLE {
        assert!(fixes_hold(graph, &of_text(graph)) > 0, "there is a fix for {graph}");
    }
}

/// The texts of the models in a document.
fn models_of(document: &str) -> Vec<String> {
    let mut models = Vec::new();
    let mut open: Option<String> = None;
    for line in document.lines() {
        match &mut open {
            Some(text) if line.starts_with("```") => {
                models.push(std::mem::take(text));
                open = None;
            }
            Some(text) => text.push_str(&format!("{line}\n")),
            None if line.starts_with("```") => open = Some(String::new()),
            None => {}
        }
    }
    models
}

#[test]
fn the_fixes_of_documented_models_hold() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut made = 0;
    for folder in ["crates/solver/pages", "spec", "spec/operators"] {
        let entries = std::fs::read_dir(root.join(folder)).expect("the repository has the folder");
        let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
        files.retain(|file| file.extension().is_some_and(|extension| extension == "md"));
        files.sort();
        for file in files {
            let document = std::fs::read_to_string(&file).expect("the file was listed");
            for (at, text) in models_of(&document).iter().enumerate() {
                // Snapshots and parts of models are no models.
                let Ok(bytes) = parsed(text) else { continue };
                if typeloom_ops::check::check(&bytes, &Options::default()).is_ok() {
                    made += fixes_hold(&format!("{}, fence {at}", file.display()), &bytes);
                }
            }
        }
    }
    assert!(made > 20, "{made} fixes");
}

/// The models of a folder next to the repository.
fn recorded(folder: &str) -> Vec<PathBuf> {
    let beside = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared").join(folder);
    let mut open = vec![beside];
    let mut files = Vec::new();
    while let Some(folder) = open.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
            match path.is_dir() {
                true => open.push(path),
                false if path.extension().is_some_and(|extension| extension == "onnx") => files.push(path),
                false => {}
            }
        }
    }
    files.sort();
    files
}

#[test]
fn the_fixes_of_cases_hold() {
    let files = recorded("cases");
    assert!(
        !files.is_empty() || std::env::var("CI").as_deref() != Ok("true"),
        "no cases next to the repository"
    );
    for file in files {
        let is_slow = file.to_string_lossy().contains("slow") || file.to_string_lossy().contains("hostile");
        let bytes = std::fs::read(&file).expect("the file was listed");
        if !is_slow && typeloom_ops::check::check(&bytes, &Options::default()).is_ok() {
            fixes_hold(&file.display().to_string(), &bytes);
        }
    }
}

#[test]
fn the_fixes_of_recorded_models_hold() {
    let beside = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/conformance");
    let folder = std::env::var_os("TYPELOOM_CONFORMANCE").map_or(beside, PathBuf::from).join("illtyped");
    let Ok(entries) = std::fs::read_dir(&folder) else {
        assert!(std::env::var("CI").as_deref() != Ok("true"), "no recorded cases at {}", folder.display());
        return;
    };
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "onnx"));
    files.sort();
    let mut made = 0;
    for file in files {
        let bytes = std::fs::read(&file).expect("the file was listed");
        if typeloom_ops::check::check(&bytes, &Options::default()).is_ok() {
            made += fixes_hold(&file.display().to_string(), &bytes);
        }
    }
    assert!(made > 7, "{made} fixes");
}

/// A chain of layers, some of whose weights have another type or extent.
fn chain(layers: usize, is_wrong: impl Fn(usize) -> bool, wrong: &str) -> String {
    let mut weights = Vec::new();
    let mut nodes = String::new();
    for layer in 0..layers {
        let ty = if is_wrong(layer) { wrong } else { "float[2, 2]" };
        let values = vec!["1"; if ty.contains('3') { 6 } else { 4 }].join(", ");
        weights.push(format!("{ty} w{layer} = {{{values}}}"));
        let from = if layer == 0 { "x".to_owned() } else { format!("h{}", layer - 1) };
        let to = if layer + 1 == layers { "y".to_owned() } else { format!("h{layer}") };
        nodes.push_str(&format!("{to} = MatMul({from}, w{layer})\n"));
    }
    format!("g (float[N, 2] x) => (float[N, 2] y) <{}> {{ {nodes} }}", weights.join(", "))
}

#[test]
fn independent_errors_are_as_many_diagnostics() {
    for (layers, every) in number([(8, 1), (12, 2), (15, 7)], [(20, 1), (40, 2), (30, 7)]) {
        let bytes = of_text(&chain(layers, |layer| layer % every == 0, "double[2, 2]"));
        let found = diagnose(&bytes);
        assert_eq!(found.len(), layers.div_ceil(every), "{layers} layers, every {every}");
        assert_eq!(fixes_hold("chain", &bytes), found.len());
    }
    let bytes = of_text(&chain(12, |layer| layer % 3 == 0, "float[3, 2]"));
    assert_eq!(diagnose(&bytes).len(), 4, "wrong extents");
}

#[test]
fn errors_with_one_cause_are_one_diagnostic() {
    let nodes: String = (0..200).map(|at| format!("y{at} = Add(x, w)\n")).collect();
    let found =
        diagnose(&of_text(&format!("g (float[N, 2] x) => (y0) <double[2] w = {{1, 2}}> {{ {nodes} }}")));
    let [only] = &found[..] else { panic!("{found:?}") };
    assert!(only.message.ends_with("(and 199 more nodes)"), "{}", only.message);
    assert_eq!(only.also.len(), 199);
    let Some(Fix::InsertCast { value, readers, .. }) = &only.fix else { panic!("{:?}", only.fix) };
    assert_eq!((value.as_str(), readers.len()), ("w", 199));
    // A wrong input is also one cause, independent of the number of weights that it meets.
    let found = diagnose(&of_text(&chain(20, |_| false, "").replace("(float[N, 2] x)", "(double[N, 2] x)")));
    assert_eq!(found.len(), 1, "{found:?}");
}

#[test]
fn a_cast_that_changes_stored_integers_is_not_advised() {
    let model = |number: i64| {
        let text =
            format!("g (uint8[2] x) => (uint8[2] y) <int64[2] w = {{{number}, 1}}> {{ y = Add(x, w) }}");
        diagnose(&of_text(&text)).remove(0)
    };
    let wraps = model(300);
    let expected = "correct the elements or the type of `w`: in Cast(w, to=uint8) 300 becomes 44";
    assert_eq!((wraps.help.as_deref(), wraps.safety), (Some(expected), Safety::Unsafe));
    let fits = model(30);
    assert_eq!(
        (fits.help.as_deref(), fits.safety),
        (Some("insert Cast(w, to=uint8) before this node"), Safety::Safe)
    );
}

#[test]
fn errors_of_different_kinds_are_found_in_one_run() {
    let found = diagnose(&of_text(
        "g (float[N, 4] x, double[4, 8] w1, float[7, 6] w2, float[5] b, float[6, 2] w3) => (float[N, 2] y) {
            a = MatMul(x, w1) c = Relu(a) d = MatMul(c, w2) e = Add(d, b) y = MatMul(e, w3)
        }",
    ));
    let codes: Vec<Code> = found.iter().map(|diagnostic| diagnostic.code).collect();
    assert_eq!(codes, [Code::ElementTypeMismatch, Code::DimMismatch, Code::DimMismatch], "{found:?}");
}
