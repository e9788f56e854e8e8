//! File journals keep their entries, their size, and the content of files that are no journals.

use std::path::{Path, PathBuf};

use typeloom::run::host::{Durability, FileJournal, OpenJournalError};
use typeloom::run::wire::{Change, Journal};
use typeloom_testing::number;

/// A temporary folder, removed on drop.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("typeloom-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder can be made");
        Self(path)
    }

    fn file(&self) -> PathBuf {
        self.0.join("journal")
    }

    fn size(&self) -> u64 {
        self.file().metadata().expect("the file is there").len()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn open(path: &Path) -> Result<FileJournal, OpenJournalError> {
    FileJournal::open(path, Durability::Process)
}

fn put(key: &[u8], value: Vec<u8>) -> Change {
    Change { key: key.to_vec(), value: Some(value.into()) }
}

fn remove(key: &[u8]) -> Change {
    Change { key: key.to_vec(), value: None }
}

fn entries(journal: &dyn Journal) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut entries: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
    loop {
        let last = entries.last().map_or(&[][..], |(key, _)| key.as_slice());
        let Some((key, value)) = journal.next(last).expect("the file is readable") else { return entries };
        assert_eq!(journal.read(&key), Ok(Some(value.clone())));
        entries.push((key, value.to_vec()));
    }
}

#[test]
fn entries_are_there_after_reopening() {
    for durability in [Durability::Process, Durability::Machine] {
        let folder = Folder::new(&format!("kept-{durability:?}"));
        let mut expected = Vec::new();
        for round in 0..3_u8 {
            let mut journal = FileJournal::open(&folder.file(), durability).expect("a journal");
            assert_eq!(entries(&journal), expected);
            // The last change of a key counts.
            let changes = [put(b"b", vec![9]), remove(b"b"), put(&[b'a', round], vec![round; 9000])];
            journal.write(&changes).expect("there is space");
            assert_eq!(journal.read(b"b"), Ok(None));
            expected.push((vec![b'a', round], vec![round; 9000]));
        }
    }
}

#[test]
fn a_file_does_not_grow_with_its_history() {
    let folder = Folder::new("history");
    let mut journal = open(&folder.file()).expect("a new journal");
    // An entry that remains, and 10 or 32 megabytes of entries of which at most four are present.
    journal.write(&[put(b"state", vec![1; 1000])]).expect("there is space");
    for at in 0..number(600, 2000_u32) {
        let key = u32::to_be_bytes;
        let mut changes = vec![put(&key(at), vec![7; 16 << 10])];
        changes.extend(at.checked_sub(4).map(|old| remove(&key(old))));
        journal.write(&changes).expect("there is space");
    }
    assert_eq!(entries(&journal).len(), 5);
    assert!(folder.size() <= 5 << 20, "{} bytes", folder.size());
    drop(journal);
    let journal = open(&folder.file()).expect("a journal");
    assert_eq!(entries(&journal).len(), 5);
    assert!(folder.size() <= 5 << 20, "{} bytes", folder.size());
}

#[test]
fn a_file_shrinks_after_its_entries_are_removed() {
    let folder = Folder::new("burst");
    let mut journal = open(&folder.file()).expect("a new journal");
    let size = number(1 << 15, 1 << 17);
    for number in 0..=255_u8 {
        journal.write(&[put(&[number], vec![number; size])]).expect("there is space");
    }
    assert!(folder.size() >= 256 * size as u64, "{} bytes", folder.size());
    for number in 0..255_u8 {
        journal.write(&[remove(&[number])]).expect("there is space");
    }
    assert_eq!(entries(&journal), [(vec![255], vec![255; size])]);
    assert!(folder.size() <= 5 << 20, "{} bytes", folder.size());
}

#[test]
fn other_files_are_refused_and_not_changed() {
    let folder = Folder::new("other");
    let old = [b"TLWJ\x01\0\0\0".as_slice(), &[1; 100]].concat();
    for (bytes, is_old) in [(b"text".to_vec(), false), (vec![0; 5 << 20], false), (old, true)] {
        std::fs::write(folder.file(), &bytes).expect("the file can be written");
        let error = open(&folder.file()).expect_err("it is no journal");
        match error {
            OpenJournalError::OldFormat { .. } => assert!(is_old),
            OpenJournalError::NotAJournal { .. } => assert!(!is_old),
            error => panic!("{error}"),
        }
        assert!(std::fs::read(folder.file()).expect("the file is there") == bytes);
    }
    assert!(matches!(open(&folder.0), Err(OpenJournalError::Io { .. })), "a folder");
}

#[test]
fn a_store_with_another_table_is_refused() {
    let folder = Folder::new("table");
    let database = redb::Database::create(folder.file()).expect("a new store");
    let table = redb::TableDefinition::<u32, u32>::new("other");
    let transaction = database.begin_write().expect("no other transaction");
    transaction.open_table(table).expect("a new table").insert(1, 2).expect("there is space");
    transaction.commit().expect("there is space");
    drop(database);
    let bytes = std::fs::read(folder.file()).expect("the file is there");
    assert!(matches!(open(&folder.file()), Err(OpenJournalError::NotAJournal { .. })));
    assert!(std::fs::read(folder.file()).expect("the file is there") == bytes, "it was changed");
}

#[test]
fn an_interrupted_creation_is_repeated() {
    let folder = Folder::new("unfinished");
    drop(open(&folder.file()).expect("a new journal"));
    let new = std::fs::read(folder.file()).expect("the file is there");
    for (magic, rest) in [(0..9, 4096..new.len()), (0..0, 0..new.len())] {
        let mut unfinished = new.clone();
        unfinished[magic].fill(0);
        unfinished[rest].fill(0);
        std::fs::write(folder.file(), &unfinished).expect("the file can be written");
        let mut journal = open(&folder.file()).expect("a new journal");
        assert_eq!(entries(&journal), []);
        journal.write(&[put(b"key", vec![1])]).expect("there is space");
        drop(journal);
        assert_eq!(entries(&open(&folder.file()).expect("a journal")).len(), 1);
    }
}

#[test]
fn a_journal_is_opened_once() {
    let folder = Folder::new("used");
    let journal = open(&folder.file()).expect("a new journal");
    let again = open(&folder.file()).expect_err("it is in use");
    assert!(again.to_string().ends_with("the journal is in use"), "{again}");
    drop(journal);
    assert!(open(&folder.file()).is_ok());
}
