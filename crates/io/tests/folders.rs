//! Folders of local stores.

#[cfg(feature = "cloud")]
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
#[cfg(feature = "cloud")]
use std::net::TcpListener;
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
    let (folders, objects) = folder.entries("a", 4).expect("listed");
    assert_eq!(
        (folders, names(objects)),
        (vec!["a/b".to_owned()], vec!["a/1".into(), "a/2".into(), "a/3".into()])
    );
    assert!(matches!(folder.entries("a", 3), Err(StoreError::TooMany(_, 3))));
    assert_eq!(folder.entries("missing", 0).expect("listed"), (Vec::new(), Vec::new()));
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

#[cfg(unix)]
#[test]
fn leftovers_behind_a_link_are_not_removed() {
    let (stores, temporary) = (stores(), tempfile::tempdir().expect("a folder"));
    let root = temporary.path().join("root");
    let other = temporary.path().join("other");
    std::fs::create_dir_all(&root).expect("created");
    std::fs::create_dir_all(&other).expect("created");
    std::fs::write(other.join("x#1"), b"of others").expect("written");
    std::os::unix::fs::symlink(&other, root.join("a")).expect("linked");
    let folder = stores.folder(root.to_str().expect("a path"), Missing::Refuse).expect("it exists");
    let refused = folder.remove_interrupted("a", &["x#1".to_owned()]);
    assert!(matches!(refused, Err(StoreError::Irregular(_, "a link"))), "{refused:?}");
    assert!(other.join("x#1").exists());
}

/// Starts a server that answers each request with 404 and this body; returns its URL.
#[cfg(feature = "cloud")]
fn server(body: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("it is bound"));
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let stream = stream.expect("a connection");
            let mut reader = BufReader::new(&stream);
            let (mut line, mut body_length) = (String::new(), 0);
            while reader.read_line(&mut line).expect("a request") > 2 {
                if let Some(length) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                    body_length = length.trim().parse().expect("a number");
                }
                line.clear();
            }
            // A connection that is closed with unread bytes is reset, and the client tries again.
            std::io::copy(&mut reader.take(body_length), &mut std::io::sink()).expect("the body");
            let length = body.len();
            let head =
                format!("HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n");
            (&stream).write_all(format!("{head}{body}").as_bytes()).expect("the client waits");
        }
    });
    url
}

#[cfg(feature = "cloud")]
#[test]
fn a_missing_bucket_is_an_error_of_every_operation() {
    let body = "<?xml version=\"1.0\"?><Error><Code>NoSuchBucket</Code><Message>no</Message></Error>";
    let options = [
        ("aws_endpoint", server(body)),
        ("aws_region", "us-east-1".to_owned()),
        ("aws_allow_http", "true".to_owned()),
        ("aws_skip_signature", "true".to_owned()),
    ];
    let options = options.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    let stores = Stores::new(options).expect("the options are known");
    let folder = stores.folder("s3://models/registry", Missing::Refuse).expect("the URL is right");
    for result in [folder.read("a", 9).map(drop), folder.delete("a")] {
        assert!(matches!(result, Err(StoreError::NoBucket(_))), "{result:?}");
    }
    // The store does not classify errors of listings.
    for result in [folder.entries("a", 9).map(drop), folder.list("a", None, 9).map(drop)] {
        assert!(result.as_ref().is_err_and(|error| error.to_string().contains("NoSuchBucket")), "{result:?}");
    }
}
