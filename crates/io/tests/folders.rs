//! Folders of local stores.

use std::sync::{Arc, Barrier};

use bytes::Bytes;
use typeloom_io::stores::{Created, Missing, StoreError, Stores};

fn stores() -> Stores {
    Stores::new(Vec::new()).expect("threads start")
}

#[test]
fn a_missing_folder_is_refused_or_created() {
    let (stores, temporary) = (stores(), tempfile::tempdir().expect("a folder"));
    let path = temporary.path().join("a/b");
    let url = path.to_str().expect("a path");
    assert!(matches!(stores.folder(url, Missing::Refuse), Err(StoreError::NotFound(_))));
    assert!(stores.folder(url, Missing::Create).is_ok());
    let file_url = format!("file://{url}");
    assert!(stores.folder(&file_url, Missing::Refuse).is_ok());
}

#[test]
fn one_of_many_writers_creates_an_object() {
    let (stores, temporary) = (stores(), tempfile::tempdir().expect("a folder"));
    let folder =
        stores.folder(temporary.path().to_str().expect("a path"), Missing::Refuse).expect("it exists");
    let barrier = Arc::new(Barrier::new(8));
    let writers: Vec<_> = (0..8_u8)
        .map(|number| {
            let (folder, barrier) = (folder.clone(), Arc::clone(&barrier));
            std::thread::spawn(move || {
                barrier.wait();
                (number, folder.create("x/1", Bytes::from(vec![number])).expect("an answer"))
            })
        })
        .collect();
    let results: Vec<_> = writers.into_iter().map(|writer| writer.join().expect("no panic")).collect();
    let winners: Vec<u8> = results
        .iter()
        .filter(|(_, created)| *created == Created::Written)
        .map(|(number, _)| *number)
        .collect();
    assert_eq!(winners.len(), 1);
    assert_eq!(folder.read("x/1", 1).expect("readable").as_deref(), Some(winners.as_slice()));
}

#[test]
fn objects_larger_than_the_limit_are_not_read() {
    let (stores, temporary) = (stores(), tempfile::tempdir().expect("a folder"));
    let folder =
        stores.folder(temporary.path().to_str().expect("a path"), Missing::Refuse).expect("it exists");
    folder.replace("x", Bytes::from_static(b"1234")).expect("written");
    assert!(matches!(folder.read("x", 3), Err(StoreError::TooLarge(_, 4, 3))));
    assert_eq!(folder.read("y", 3).expect("an answer"), None);
}

#[test]
fn listings_are_sorted_and_bounded() {
    let (stores, temporary) = (stores(), tempfile::tempdir().expect("a folder"));
    let folder =
        stores.folder(temporary.path().to_str().expect("a path"), Missing::Refuse).expect("it exists");
    for name in ["a/3", "a/1", "a/2", "a/b/1", "c"] {
        folder.replace(name, Bytes::new()).expect("written");
    }
    let names =
        |listed: Vec<typeloom_io::stores::Listed>| listed.into_iter().map(|it| it.name).collect::<Vec<_>>();
    assert_eq!(names(folder.list("a", None, 9).expect("listed")), ["a/1", "a/2", "a/3", "a/b/1"]);
    assert_eq!(names(folder.list("a", Some("a/2"), 9).expect("listed")), ["a/3", "a/b/1"]);
    assert!(matches!(folder.list("a", None, 3), Err(StoreError::TooMany(_, 3))));
    let (folders, objects) = folder.entries("a").expect("listed");
    assert_eq!(
        (folders, names(objects)),
        (vec!["a/b".to_owned()], vec!["a/1".into(), "a/2".into(), "a/3".into()])
    );
    assert_eq!(folder.entries("missing").expect("listed"), (Vec::new(), Vec::new()));
    assert_eq!(folder.list("missing", None, 9).expect("listed"), Vec::new());
}

#[test]
fn leftovers_of_interrupted_writes_are_removed_after_a_time() {
    let (stores, temporary) = (stores(), tempfile::tempdir().expect("a folder"));
    let folder =
        stores.folder(temporary.path().to_str().expect("a path"), Missing::Refuse).expect("it exists");
    folder.replace("a/x", Bytes::new()).expect("written");
    std::fs::write(temporary.path().join("a/x#1"), b"half").expect("written");
    assert_eq!(folder.list("a", None, 9).expect("listed").len(), 1);
    std::fs::write(temporary.path().join("a/notes#1"), b"of a user").expect("written");
    assert_eq!(folder.interrupted("a", 0, |_| true).expect("listed"), Vec::<String>::new());
    let left = folder.interrupted("a", i64::from(u32::MAX), |name| name == "x").expect("listed");
    assert_eq!(left, ["x#1"]);
    folder.remove_interrupted("a", &left).expect("removed");
    assert!(!temporary.path().join("a/x#1").exists());
    assert!(temporary.path().join("a/notes#1").exists());
    assert!(temporary.path().join("a/x").exists());
}

#[test]
fn unknown_options_are_refused() {
    let new = |key: &str, value: &str| Stores::new(vec![(key.to_owned(), value.to_owned())]);
    assert!(new("max_retries", "3").is_ok());
    assert!(matches!(new("aws_endpiont", ""), Err(StoreError::Usage(_))));
    assert!(matches!(new("max_retries", "many"), Err(StoreError::Usage(_))));
}
