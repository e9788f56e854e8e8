use object_store::PutPayload;
use object_store::memory::InMemory;

use super::*;

fn client(options: &[(&str, &str)]) -> Result<Client, FetchError> {
    let options = options.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    Client::new(options, Limits::default())
}

#[test]
fn urls_and_paths_are_distinguished() {
    assert!(
        ["s3://b/k", "gs://b/k", "az://c/k", "abfss://c@a.dfs.core.windows.net/k"].into_iter().all(is_remote)
    );
    assert!(!["model.onnx", "/tmp/s3/model.onnx", "C:\\m.onnx", "file:///m"].into_iter().any(is_remote));
}

#[test]
fn unknown_options_are_refused() {
    assert!(client(&[("AWS_ENDPOINT", "http://localhost:1"), ("max_retries", "3")]).is_ok());
    assert!(matches!(client(&[("aws_endpiont", "")]), Err(FetchError::Usage(_))));
    assert!(matches!(client(&[("max_retries", "many")]), Err(FetchError::Usage(_))));
}

#[test]
fn files_outside_of_the_models_folder_are_refused() -> Result<(), FetchError> {
    let client = client(&[])?;
    for location in ["../w.bin", "/w.bin", "", "."] {
        let size = client.size("s3://bucket/models/m.onnx", location);
        assert!(size.is_err_and(|reason| reason.contains("not a path inside")), "{location}");
    }
    Ok(())
}

#[test]
fn a_replaced_object_is_an_error() -> Result<(), FetchError> {
    let client = client(&[])?;
    let (store, key) = (InMemory::new(), Key::from("m"));
    let put = |bytes: Vec<u8>| {
        let put = client.handle.block_on(store.put(&key, PutPayload::from(bytes)));
        put.map_err(|error| FetchError::of("m", error))
    };
    put(vec![0; 1000])?;
    let mut object = Object { runtime: &client.handle, store: &store, key: &key, url: "m", meta: None };
    object.meta = Some(object.get(0..10)?.0);
    assert_eq!(object.read(10, 20)?.len(), 10);
    put(vec![1; 1000])?;
    assert!(matches!(object.read(20, 30), Err(FetchError::Changed(_))));
    Ok(())
}

#[test]
fn a_missing_and_an_empty_object() -> Result<(), FetchError> {
    let client = client(&[])?;
    let store = InMemory::new();
    let put = client.handle.block_on(store.put(&Key::from("empty"), PutPayload::new()));
    put.map_err(|error| FetchError::of("empty", error))?;
    let fetch = |key: &str| fetch(&client.handle, &store, &Key::from(key), key, Limits::default());
    assert!(matches!(fetch("missing"), Err(FetchError::NotFound(_))));
    assert_eq!(fetch("empty")?.size, 0);
    Ok(())
}
