use object_store::PutPayload;
use object_store::memory::InMemory;

use super::*;

fn client(options: &[(&str, &str)]) -> Result<Client, FetchError> {
    let options = options.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    Client::new(options, Limits::default())
}

#[test]
fn unknown_options_are_refused() {
    assert!(client(&[("max_retries", "3")]).is_ok());
    assert_eq!(client(&[("AWS_ENDPOINT", "http://localhost:1")]).is_ok(), cfg!(feature = "cloud"));
    assert!(matches!(client(&[("aws_endpiont", "")]), Err(FetchError::Access(StoreError::Usage(_)))));
    assert!(matches!(client(&[("max_retries", "many")]), Err(FetchError::Access(StoreError::Usage(_)))));
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
        let put = client.stores.wait(store.put(&key, PutPayload::from(bytes)));
        put.map(drop).map_err(|error| StoreError::of("m", error))
    };
    put(vec![0; 1000])?;
    let mut object = Object { stores: &client.stores, store: &store, key: &key, url: "m", meta: None };
    object.meta = Some(object.get(0..10)?.0);
    assert_eq!(object.read(10, 20)?.len(), 10);
    put(vec![1; 1000])?;
    assert!(matches!(object.read(20, 30), Err(FetchError::Access(StoreError::Changed(_)))));
    Ok(())
}

#[test]
fn a_missing_and_an_empty_object() -> Result<(), FetchError> {
    let client = client(&[])?;
    let store = InMemory::new();
    let put = client.stores.wait(store.put(&Key::from("empty"), PutPayload::new()));
    put.map_err(|error| StoreError::of("empty", error))?;
    let fetch = |key: &str| fetch(&client.stores, &store, &Key::from(key), key, Limits::default());
    assert!(matches!(fetch("missing"), Err(FetchError::Access(StoreError::NotFound(_)))));
    assert_eq!(fetch("empty")?.size, 0);
    Ok(())
}

#[test]
fn the_bucket_of_a_url() {
    assert_eq!(["s3://b/k/l", "az://c", "gs://b/"].map(root), ["s3://b", "az://c", "gs://b"]);
}
