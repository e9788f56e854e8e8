//! Golden vectors of the bundle format, and the independent verifier run on each.
//!
//! `TYPELOOM_BLESS=1 cargo test -p typeloom-pool golden` rewrites the vectors; a change of their bytes is a
//! change of the format.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::bundle::{export_again, random_bundle};
use typeloom_pool::{Bundle, Descriptor, GraphRef, Idx, ImportLimits, Pool, Sort, Tag};

fn golden_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

/// Every tag that can be exported, in at least one bundle.
fn vectors() -> Vec<(&'static str, Bundle)> {
    let mut vectors = Vec::new();
    let mut pool = Pool::new();
    let primitives: Vec<Idx> = Tag::ALL.iter().filter_map(|&tag| pool.primitive(tag).ok()).collect();
    let all = pool.tuple(&primitives).unwrap();
    vectors.push(("primitives", pool.export(&[("all", all)]).unwrap()));

    let [unit, int, str, f32] =
        [Tag::Unit, Tag::Int, Tag::Str, Tag::F32].map(|tag| pool.primitive(tag).unwrap());
    let mut constructed = Vec::new();
    for &tag in Tag::ALL {
        constructed.extend(pool.container(tag, int));
    }
    let map = pool.map(str, int).unwrap();
    constructed.push(pool.list(map).unwrap());
    constructed.push(pool.result(int, str).unwrap());
    let lifetime = pool.lifetime("static").unwrap();
    constructed.push(pool.borrowed(str, lifetime).unwrap());
    constructed.push(pool.function(&[int, str], unit).unwrap());
    constructed.push(pool.tuple(&[]).unwrap());
    let constructors = pool.tuple(&constructed).unwrap();
    vectors.push(("constructors", pool.export(&[("all", constructors)]).unwrap()));

    let [point, x, y, shape, circle, empty] =
        ["Point", "x", "y", "Größe", "Circle", "Empty"].map(|name| pool.name(name).unwrap());
    let structure = pool.structure(point, &[(x, f32), (y, f32)]).unwrap();
    let enumeration = pool.enumeration(shape, &[(circle, &[structure, f32]), (empty, &[])]).unwrap();
    let opaque = pool.opaque(shape).unwrap();
    let named = pool.named(point).unwrap();
    let applied = pool.applied(shape, &[int, lifetime]).unwrap();
    let param = pool.bound(0, 0, Sort::Type).unwrap();
    let body = pool.structure(point, &[(x, param), (y, param)]).unwrap();
    let declared = pool.declared(point, &[Sort::Type], body).unwrap();
    let instance = pool.instance(declared, &[int]).unwrap();
    let nominal = [
        ("applied", applied),
        ("enum", enumeration),
        ("instance", instance),
        ("named", named),
        ("opaque", opaque),
        ("rigid", pool.rigid(point).unwrap()),
    ];
    vectors.push(("nominal", pool.export(&nominal).unwrap()));

    let [n, m] = ["N", "M"].map(|name| pool.dim_symbol(name).unwrap());
    let [two, seven] = [2, -7].map(|value| pool.dim_const(value).unwrap());
    let dims = [
        pool.dim_add(&[n, m, seven]).unwrap(),
        pool.dim_mul(&[n, m, n]).unwrap(),
        pool.dim_floor_div(n, two).unwrap(),
        pool.dim_mod(n, m).unwrap(),
        pool.dim_min(&[n, m, two]).unwrap(),
        pool.dim_max(&[n, m]).unwrap(),
        pool.dim_unknown().unwrap(),
        two,
    ];
    let tensor = pool.tensor(f32, &dims).unwrap();
    let unranked = pool.tensor_unranked(f32).unwrap();
    vectors.push(("tensors", pool.export(&[("ranked", tensor), ("unranked", unranked)]).unwrap()));

    let a = pool.bound(0, 0, Sort::Type).unwrap();
    let b = pool.bound(0, 1, Sort::Type).unwrap();
    let region = pool.bound(0, 2, Sort::Region).unwrap();
    let size = pool.bound(0, 3, Sort::Const).unwrap();
    let grown = pool.dim_add(&[size, n]).unwrap();
    let borrowed = pool.borrowed(b, region).unwrap();
    let sized = pool.tensor(a, &[size, grown]).unwrap();
    let body = pool.function(&[borrowed, sized], a).unwrap();
    let scheme = pool.scheme(&[Sort::Type, Sort::Type, Sort::Region, Sort::Const], body).unwrap();
    vectors.push(("scheme", pool.export(&[("generic", scheme)]).unwrap()));
    let names = ["Item", "", "a", "batch"].map(str::to_owned);
    let with_names = [("closed", structure, &[][..]), ("generic", scheme, &names[..])];
    vectors.push(("names", pool.export_named(&with_names).unwrap()));

    vectors.push(("variables", variables().1));
    vectors.extend(module_versions());

    let list = |child| Descriptor::Container { tag: Tag::List, child };
    let graph = [
        Descriptor::Struct {
            name: "Tree".into(),
            field_names: vec!["value".into(), "forest".into()],
            field_types: vec![GraphRef::Outer(int), GraphRef::Member(1)],
        },
        list(GraphRef::Member(2)),
        Descriptor::Container { tag: Tag::Option, child: GraphRef::Member(0) },
        list(GraphRef::Member(3)),
    ];
    let ids = pool.intern_graph(&graph).unwrap();
    let recursive = [("forever", ids[3]), ("forest", ids[1]), ("tree", ids[0])];
    vectors.push(("recursive", pool.export(&recursive).unwrap()));

    let has = [pool.digest(structure).unwrap(), pool.digest(ids[2]).unwrap()].into();
    let pair = pool.tuple(&[structure, ids[0], int]).unwrap();
    vectors.push(("thin", pool.export_thin(&[("pair", pair)], &has).unwrap()));
    let has = [pool.digest(borrowed).unwrap()].into();
    vectors.push(("thin-open", pool.export_thin(&[("generic", scheme)], &has).unwrap()));
    vectors.push(("empty", pool.export(&[]).unwrap()));
    vectors.push(("random", random_bundle(2026, 120).1));
    vectors
}

/// Exports of two versions of a module; `spec/interfaces.md` compares them.
fn module_versions() -> [(&'static str, Bundle); 2] {
    [("module-1", false), ("module-2", true)].map(|(name, later)| {
        let mut pool = Pool::new();
        let [int, str, bool] = [Tag::Int, Tag::Str, Tag::Bool].map(|tag| pool.primitive(tag).unwrap());
        let key = pool.bound(0, 0, Sort::Type).unwrap();
        let structure = |pool: &mut Pool, name: &str, fields: &[(&str, Idx)]| {
            let name = pool.name(name).unwrap();
            let fields: Vec<_> = fields.iter().map(|&(field, ty)| (pool.name(field).unwrap(), ty)).collect();
            pool.structure(name, &fields).unwrap()
        };
        let item = match later {
            false => structure(&mut pool, "Item", &[("id", int), ("title", str)]),
            true => structure(&mut pool, "Item", &[("title", str), ("id", int), ("hidden", bool)]),
        };
        let maybe = pool.option(item).unwrap();
        let find = pool.function(&[key], maybe).unwrap();
        let find = pool.scheme(&[Sort::Type], find).unwrap();
        let limit = if later { str } else { int };
        let items = pool.list(item).unwrap();
        let list = pool.function(&[limit], items).unwrap();
        let exports = match later {
            false => vec![("find", find), ("list", list)],
            true => vec![("count", int), ("find", find), ("list", list)],
        };
        (name, pool.export(&exports).unwrap())
    })
}

/// Schemes whose variables are ordered by text, are interchangeable, or occur in a recursive body.
fn variables() -> (Pool, Bundle) {
    let mut pool = Pool::new();
    let f32 = pool.primitive(Tag::F32).unwrap();
    let [n, m] = [0, 1].map(|place| pool.bound(0, place, Sort::Const).unwrap());
    let consts = [Sort::Const; 2];
    let product = pool.dim_mul(&[n, m]).unwrap();
    let weighted = pool.dim_add(&[n, n, m]).unwrap();
    let [alike, by_text, behind] = [vec![product], vec![weighted, product], vec![product, m]].map(|dims| {
        let tensor = pool.tensor(f32, &dims).unwrap();
        pool.scheme(&consts, tensor).unwrap()
    });
    let [outer, other] = [0, 1].map(|place| pool.bound(1, place, Sort::Const).unwrap());
    let [first, second] = [[outer, n], [other, m]].map(|factors| pool.dim_mul(&factors).unwrap());
    let sum = pool.dim_add(&[first, second, second]).unwrap();
    let tensor = pool.tensor(f32, &[sum]).unwrap();
    let inside = pool.scheme(&consts, tensor).unwrap();
    let nested = pool.scheme(&consts, inside).unwrap();
    let [key, value] = [0, 1].map(|place| pool.bound(0, place, Sort::Type).unwrap());
    let pair =
        |left, right| Descriptor::Tuple { elements: vec![GraphRef::Member(left), GraphRef::Outer(right)] };
    let bodies = pool.intern_graph(&[pair(1, key), pair(0, value)]).unwrap();
    let recursive = pool.scheme(&[Sort::Type; 2], bodies[0]).unwrap();
    let all = [
        ("alike", alike),
        ("behind", behind),
        ("by text", by_text),
        ("nested", nested),
        ("recursive", recursive),
    ];
    let bundle = pool.export(&all).unwrap();
    (pool, bundle)
}

#[test]
fn golden_vectors_have_not_changed() {
    let bless = std::env::var_os("TYPELOOM_BLESS").is_some();
    for (name, bundle) in vectors() {
        let path = golden_dir().join(format!("{name}.bundle"));
        let json_path = golden_dir().join(format!("{name}.json"));
        if bless {
            std::fs::write(&path, bundle.as_bytes()).unwrap();
            std::fs::write(&json_path, bundle.to_json().unwrap() + "\n").unwrap();
        }
        assert_eq!(std::fs::read(&path).unwrap(), bundle.as_bytes(), "{name}");
        assert_eq!(
            std::fs::read_to_string(&json_path).unwrap().trim_end(),
            bundle.to_json().unwrap(),
            "{name}"
        );
        let json = std::fs::read_to_string(&json_path).unwrap();
        assert_eq!(Bundle::from_json(&json, &ImportLimits::default()).unwrap(), bundle, "{name}");
        if !name.starts_with("thin") {
            assert_eq!(
                export_again(&mut Pool::new(), bundle.as_bytes()).unwrap(),
                bundle.as_bytes(),
                "{name}"
            );
        }
    }
}

/// Path of a Python interpreter with the `blake3` package. Required under `CI=true`.
fn python() -> Option<PathBuf> {
    let python = std::env::var_os("TYPELOOM_PYTHON").map_or_else(|| PathBuf::from("python3"), PathBuf::from);
    let probe = Command::new(&python)
        .args(["-c", "import blake3"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    if probe.is_ok_and(|status| status.success()) {
        return Some(python);
    }
    assert!(
        std::env::var("CI").as_deref() != Ok("true"),
        "under CI the verifier must run: `{}` cannot import blake3",
        python.display()
    );
    report_skipped(&python);
    None
}

#[expect(clippy::print_stdout, reason = "a test that did not run reports it")]
fn report_skipped(python: &Path) {
    println!("skipped: `{}` cannot import blake3", python.display());
}

fn verifier() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools/verify_bundle.py")
}

#[test]
fn the_independent_verifier_accepts_every_golden_vector() {
    let Some(python) = python() else { return };
    let mut files: Vec<PathBuf> = std::fs::read_dir(golden_dir())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "bundle"))
        .collect();
    files.sort();
    assert!(files.len() >= 9);
    let output = Command::new(&python).arg(verifier()).arg("--quiet").args(&files).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(text.lines().filter(|line| line.contains(": valid: ")).count(), files.len(), "{text}");
}

#[test]
fn the_independent_verifier_rejects_the_same_bundles_as_the_importer() {
    let Some(python) = python() else { return };
    let dir = std::env::temp_dir().join(format!("typeloom-verify-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let mut files = Vec::new();
    let mut valid = Vec::new();
    let mut rng = typeloom_testing::Random(4);
    for (name, bundle) in vectors() {
        if name.starts_with("thin") {
            continue;
        }
        let body = &bundle.as_bytes()[..bundle.as_bytes().len() - 32];
        for at in 0..60 {
            let mut changed = body.to_vec();
            let bit = rng.below(changed.len() * 8);
            changed[bit / 8] ^= 1 << (bit % 8);
            let checksum = blake3::hash(&changed);
            changed.extend(checksum.as_bytes());
            // A flip can turn bytes into imports, which makes the bundle valid for another receiver.
            match Pool::new().import(&changed) {
                Err(error) if error.is_recoverable() => continue,
                result => valid.push(result.is_ok()),
            }
            files.push(dir.join(format!("{name}-{at}.bundle")));
            std::fs::write(&files[files.len() - 1], changed).unwrap();
        }
    }
    let output = Command::new(&python).arg(verifier()).arg("--quiet").args(&files).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    std::fs::remove_dir_all(&dir).unwrap();
    let verdicts: Vec<bool> = text.lines().map(|line| line.contains(": valid: ")).collect();
    assert_eq!(verdicts, valid, "{text}");
}

#[test]
fn the_specification_lists_every_tag_with_its_number() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/bundle-format.md");
    let page = std::fs::read_to_string(page).unwrap();
    for &tag in Tag::ALL {
        let (number, name) = (tag.number(), tag.name());
        let cells = [format!("| {number} {name} |"), format!("| {number} | {name} |")];
        assert!(cells.iter().any(|cell| page.contains(cell)), "{cells:?}");
    }
}
