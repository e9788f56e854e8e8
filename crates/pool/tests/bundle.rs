//! Round trips of bundles: through other pools, another process, JSON and thin bundles.

use std::collections::BTreeSet;
use std::process::Command;

use crate::support::{self, chain, random_types};
use typeloom_pool::{
    Bundle, ExportError, Idx, ImportError, ImportLimits, MAX_VARIABLE_NAME, Pool, Sort, Tag,
};
use typeloom_testing::{Random, number};

/// A pool of random types and some labelled roots.
pub(crate) fn random_bundle(seed: u64, types: usize) -> (Pool, Bundle) {
    let mut rng = Random(seed);
    let mut pool = Pool::new();
    let all = random_types(&mut rng, &mut pool, types);
    let labels: Vec<String> = (0..6).map(|at| format!("root {at}")).collect();
    let roots: Vec<(&str, Idx)> =
        labels.iter().map(|label| (label.as_str(), all[all.len() - 1 - rng.below(types / 2)])).collect();
    let bundle = pool.export(&roots).unwrap();
    (pool, bundle)
}

/// Imports a bundle into a pool and exports its roots again.
pub(crate) fn export_again(pool: &mut Pool, bytes: &[u8]) -> Result<Vec<u8>, ImportError> {
    let roots = pool.import(bytes)?;
    let labelled: Vec<(&str, Idx, &[String])> =
        roots.iter().map(|root| (root.label.as_str(), root.ty, root.names.as_slice())).collect();
    Ok(pool.export_named(&labelled).unwrap().into_bytes())
}

#[test]
fn bundles_of_random_types_come_back_equal_from_pools_filled_otherwise() {
    for seed in 0..number(12, 60) {
        let (mut pool, bundle) = random_bundle(seed, 60);
        let mut other = Pool::new();
        random_types(&mut Random(seed + 1000), &mut other, 40);
        let roots = other.import(bundle.as_bytes()).unwrap();
        let own = pool.import(bundle.as_bytes()).unwrap();
        assert_eq!(roots.len(), own.len());
        for (theirs, ours) in roots.iter().zip(&own) {
            assert_eq!((&theirs.label, theirs.digest), (&ours.label, ours.digest));
            assert_eq!(other.digest(theirs.ty).unwrap(), pool.digest(ours.ty).unwrap());
            assert_eq!(other.shape_digest(theirs.ty), pool.shape_digest(ours.ty));
            assert_eq!(other.signature(theirs.ty), pool.signature(ours.ty));
        }
        let types = other.len();
        assert_eq!(export_again(&mut other, bundle.as_bytes()).unwrap(), bundle.as_bytes());
        assert_eq!(other.len(), types, "importing again adds nothing");
    }
}

#[test]
fn types_copied_in_another_order_export_to_the_same_bytes() {
    let mut rng = Random(3);
    for seed in 0..number(10, 40) {
        let mut pool = Pool::new();
        let types = random_types(&mut Random(seed), &mut pool, 40);
        let ty = *rng.pick(&types);
        if pool.is_open(ty) {
            continue;
        }
        let mut other = Pool::new();
        random_types(&mut Random(seed + 99), &mut other, 30);
        let copy = support::copy_shuffled(&mut rng, &pool, ty, &mut other);
        assert_eq!(pool.export(&[("t", ty)]), other.export(&[("t", copy)]), "{}", pool.signature(ty));
    }
}

/// `forall A, B. (Tensor<f32, [A, B]>) -> Tensor<f32, [A, N]>` with these names.
fn named(names: &[&str]) -> Result<Bundle, ExportError> {
    let mut pool = Pool::new();
    let float = pool.primitive(Tag::F32).unwrap();
    let [a, b] = [0, 1].map(|index| pool.bound(0, index, Sort::Const).unwrap());
    let symbol = pool.dim_symbol("N").unwrap();
    let [given, made] = [[a, b], [a, symbol]].map(|dims| pool.tensor(float, &dims).unwrap());
    let function = pool.function(&[given], made).unwrap();
    let scheme = pool.scheme(&[Sort::Const; 2], function).unwrap();
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    pool.export_named(&[("f", scheme, &names)])
}

#[test]
fn names_of_variables_come_back_and_are_in_no_digest() {
    let plain = named(&[]).unwrap();
    let mut pool = Pool::new();
    let root = pool.import(plain.as_bytes()).unwrap().remove(0);
    for names in [["batch", "past"], ["batch", ""], ["", "past"]] {
        let bundle = named(&names).unwrap();
        let back = pool.import(bundle.as_bytes()).unwrap().remove(0);
        assert_eq!((back.digest, back.ty), (root.digest, root.ty));
        assert_eq!(back.names, names);
        assert_eq!(export_again(&mut Pool::new(), bundle.as_bytes()).unwrap(), bundle.as_bytes());
        let json = bundle.to_json().unwrap();
        assert_eq!(Bundle::from_json(&json, &ImportLimits::default()).unwrap(), bundle);
    }
    assert_eq!(root.names, [""; 0]);
    assert_eq!(named(&["", ""]).unwrap(), plain, "without any name, there is no list");
}

#[test]
fn names_that_are_not_usable_are_refused() {
    let long = "n".repeat(MAX_VARIABLE_NAME + 1);
    assert!(named(&[&long[1..], ""]).is_ok());
    let cases: [(&[&str], &str); 5] = [
        (&["batch"], "there are 1 names for 2 variables"),
        (&["a", "a"], "two variables have the name `a`"),
        (&["N", "a"], "`N` is the name of a symbol too"),
        (&["a\n", "b"], "a name cannot contain the control character U+000A"),
        (&[&long, "b"], "a name of 257 bytes is longer than 256"),
    ];
    for (names, reason) in cases {
        let error = named(names).unwrap_err().to_string();
        assert_eq!(error, format!("the names of the variables of root `f`: {reason}"));
    }
}

#[test]
fn readers_refuse_names_that_writers_cannot_write() {
    let view = named(&["batch", "past"]).unwrap().to_json().unwrap();
    let read = |view: &str| {
        let bundle = Bundle::from_json(view, &ImportLimits::default()).map_err(|error| error.to_string())?;
        Pool::new().import(bundle.as_bytes()).map(drop).map_err(|error| error.to_string())
    };
    assert_eq!(read(&view), Ok(()));
    let cases = [
        ("\"past\"", "\"batch\"", "two variables have the name `batch`"),
        ("\"past\"", "\"N\"", "`N` is the name of a symbol too"),
        ("\"past\"", "\"past\", \"c\"", "there are 3 names for 2 variables"),
        ("\"past\"", "\"a\\u0007\"", "a name cannot contain the control character U+0007"),
        ("\"version\": 3", "\"version\": 2", "version: expected version 3 with `names` of a root"),
        ("\"version\": 3", "\"version\": 4", "version: expected version 2 or 3"),
    ];
    for (from, to, reason) in cases {
        let changed = view.replacen(from, to, 1);
        assert_ne!(changed, view);
        let error = read(&changed).unwrap_err();
        assert!(error.contains(reason), "{error}");
    }
}

#[test]
fn bundles_come_back_from_json() {
    for seed in 0..30 {
        let (_, bundle) = random_bundle(seed, 50);
        let json = bundle.to_json().unwrap();
        let back = Bundle::from_json(&json, &ImportLimits::default()).unwrap();
        assert_eq!(back, bundle);
        assert_eq!(back.to_json().unwrap(), json);
        assert_eq!(export_again(&mut Pool::new(), back.as_bytes()).unwrap(), bundle.as_bytes());
    }
}

/// Child process of the next test: imports a bundle and writes it back.
#[test]
fn a_process_of_its_own_returns_the_bundle_it_is_given() {
    let Ok(path) = std::env::var("TYPELOOM_POOL_ECHO") else { return };
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(format!("{path}.back"), export_again(&mut Pool::new(), &bytes).unwrap()).unwrap();
}

#[test]
fn another_process_rebuilds_a_bundle_to_the_same_bytes() {
    let (_, bundle) = random_bundle(7, 80);
    let path = std::env::temp_dir().join(format!("typeloom-pool-{}.bundle", std::process::id()));
    std::fs::write(&path, bundle.as_bytes()).unwrap();
    let status = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "bundle::a_process_of_its_own_returns_the_bundle_it_is_given"])
        .env("TYPELOOM_POOL_ECHO", &path)
        .stdout(std::process::Stdio::null())
        .status()
        .unwrap();
    let back_path = format!("{}.back", path.display());
    let back = std::fs::read(&back_path).unwrap();
    std::fs::remove_file(&path).unwrap();
    std::fs::remove_file(&back_path).unwrap();
    assert!(status.success());
    assert_eq!(back, bundle.as_bytes());
}

#[test]
fn thin_bundles_omit_types_of_the_receiver_and_name_missing_ones() {
    for seed in 0..30 {
        let mut rng = Random(seed);
        let mut pool = Pool::new();
        let types = random_types(&mut rng, &mut pool, 60);
        let closed: Vec<Idx> = types.into_iter().filter(|&ty| !pool.is_open(ty)).collect();
        let root = closed[closed.len() - 1];
        let shared: Vec<Idx> = (0..5).map(|_| *rng.pick(&closed)).collect();
        let mut receiver = Pool::new();
        let labels: Vec<String> = (0..5).map(|at| at.to_string()).collect();
        let known: Vec<(&str, Idx)> = labels.iter().map(String::as_str).zip(shared.iter().copied()).collect();
        let base = pool.export(&known).unwrap();
        receiver.import(base.as_bytes()).unwrap();
        let has: BTreeSet<_> = shared.iter().map(|&ty| pool.digest(ty).unwrap()).collect();
        let thin = pool.export_thin(&[("root", root)], &has).unwrap();
        let full = pool.export(&[("root", root)]).unwrap();
        let roots = receiver.import(thin.as_bytes()).unwrap();
        assert_eq!(receiver.export(&[("root", roots[0].ty)]).unwrap(), full);
        // A thin bundle is unchanged when it is exported against the same types again.
        assert_eq!(receiver.export_thin(&[("root", roots[0].ty)], &has).unwrap(), thin);
        assert_eq!(Bundle::from_json(&thin.to_json().unwrap(), &ImportLimits::default()).unwrap(), thin);
        let mut empty = Pool::new();
        if thin != full {
            match empty.import(thin.as_bytes()) {
                Err(error @ ImportError::NotFound { .. }) => {
                    assert!(error.is_recoverable());
                    let ImportError::NotFound { missing } = error else { return };
                    // A thin bundle may refer to any member of a group that the receiver has.
                    let mut known = |digest| {
                        has.contains(digest)
                            || pool.find_digest(digest).is_some_and(|ty| pool.is_recursive(ty))
                    };
                    assert!(!missing.is_empty() && missing.iter().all(&mut known));
                }
                other => panic!("{other:?}"),
            }
            assert!(empty.is_empty());
            // The missing types arrive, and the import succeeds.
            empty.import(base.as_bytes()).unwrap();
            empty.import(thin.as_bytes()).unwrap();
        }
    }
}

#[test]
fn inference_variables_and_open_roots_cannot_be_exported() {
    let mut pool = Pool::new();
    let infer = pool.infer(3, Sort::Type).unwrap();
    let list = pool.list(infer).unwrap();
    assert!(matches!(pool.export(&[("x", list)]), Err(ExportError::NotPortable(_))));
    assert!(pool.digest(list).is_err() && pool.describe(list).is_err() && pool.shape_digest(list).is_err());
    let open = pool.bound(0, 0, Sort::Type).unwrap();
    let open = pool.list(open).unwrap();
    assert_eq!(pool.export(&[("x", open)]), Err(ExportError::OpenRoot { label: "x".into() }));
    let int = pool.primitive(Tag::Int).unwrap();
    assert_eq!(
        pool.export(&[("x", int), ("x", int)]),
        Err(ExportError::DuplicateLabel { label: "x".into() })
    );
    assert!(matches!(pool.export(&[("", int)]), Err(ExportError::Label(_))));
}

#[test]
fn a_type_that_doubles_sixty_four_times_travels_and_prints_in_bounds() {
    let mut pool = Pool::new();
    let mut ty = pool.primitive(Tag::Int).unwrap();
    for _ in 0..64 {
        ty = pool.tuple(&[ty, ty]).unwrap();
    }
    let bundle = pool.export(&[("t", ty)]).unwrap();
    assert!(bundle.as_bytes().len() < 400);
    let mut other = Pool::new();
    let root = other.import(bundle.as_bytes()).unwrap()[0].ty;
    let signature = other.signature(root);
    assert!(signature.len() < 5000 && signature.contains('…'));
    assert!(other.tree(root).lines().count() < 200);
    assert!(other.compat(root, root, typeloom_pool::compat::Direction::Full).equal);
    assert_eq!(other.describe_transitive(root).unwrap().len(), 65);
}

#[test]
fn a_long_chain_of_types_needs_no_stack() {
    let count = number(20_000, 100_000);
    let mut pool = Pool::new();
    let mut ty = pool.primitive(Tag::Int).unwrap();
    for _ in 0..count {
        ty = pool.list(ty).unwrap();
    }
    let bundle = pool.export(&[("t", ty)]).unwrap();
    assert!(matches!(Pool::new().import(bundle.as_bytes()), Err(ImportError::Invalid { .. })));
    let limits = ImportLimits { depth: 200_000, ..ImportLimits::default() };
    let root = Pool::new().import_within(bundle.as_bytes(), &limits).unwrap()[0].clone();
    assert_eq!(root.digest, pool.digest(ty).unwrap());
    assert_eq!(pool.describe_transitive(ty).unwrap().len(), count + 1);
    assert!(pool.signature(ty).len() < 5000 && pool.shape_digest(ty).is_ok());
}

#[test]
fn a_recursive_type_travels_as_a_group() {
    let mut pool = Pool::new();
    let int = pool.primitive(Tag::Int).unwrap();
    let node = chain(&mut pool, int);
    let bundle = pool.export(&[("node", node)]).unwrap();
    assert!(bundle.to_json().unwrap().contains("\"group\""));
    let mut other = Pool::new();
    let root = other.import(bundle.as_bytes()).unwrap()[0].ty;
    assert_eq!(other.signature(root), "rec0 = struct Node { value: int, next: option<rec0> }");
    assert_eq!(other.len(), 3);
}
