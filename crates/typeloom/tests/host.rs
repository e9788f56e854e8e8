//! File journals keep complete records and drop incomplete ones.

use std::path::{Path, PathBuf};

use typeloom::run::host::{Durability, FileJournal, OpenJournalError};
use typeloom::run::wire::Journal;

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
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn open(path: &Path) -> Result<FileJournal, OpenJournalError> {
    FileJournal::open(path, Durability::Process)
}

fn records(path: &Path) -> Result<Vec<Vec<u8>>, OpenJournalError> {
    Ok(open(path)?.records().expect("it was read when it was opened"))
}

const RECORDS: [&[u8]; 3] = [b"one", b"", &[7; 300]];

fn written(path: &Path) -> Vec<u8> {
    let mut journal = open(path).expect("a new journal");
    for record in RECORDS {
        journal.append(record).expect("the disk has space");
    }
    std::fs::read(path).expect("the file is there")
}

#[test]
fn written_data_is_read_back() {
    for durability in [Durability::Process, Durability::Machine] {
        let folder = Folder::new(&format!("kept-{durability:?}"));
        for round in 0..3 {
            let mut journal = FileJournal::open(&folder.file(), durability).expect("a journal");
            assert_eq!(journal.records().map(|records| records.len()), Ok(round));
            journal.append(b"more").expect("the disk has space");
        }
    }
}

#[test]
fn a_record_that_was_being_written_is_dropped_and_the_rest_is_kept() {
    let folder = Folder::new("torn");
    let whole = written(&folder.file());
    let mut ends = vec![8];
    ends.extend(RECORDS.iter().scan(8, |at, record| {
        *at += 24 + record.len();
        Some(*at)
    }));
    for end in 0..=whole.len() {
        std::fs::write(folder.file(), &whole[..end]).expect("the file can be written");
        let kept = ends.iter().filter(|at| **at <= end).count().saturating_sub(1);
        assert_eq!(records(&folder.file()).expect("a journal"), RECORDS[..kept], "cut at {end}");
        // Records appended after the dropped one are kept.
        open(&folder.file()).expect("a journal").append(b"behind").expect("the disk has space");
        assert_eq!(records(&folder.file()).expect("a journal").len(), kept + 1, "cut at {end}");
    }
    let mut zeros = whole.clone();
    zeros.extend([0; 100]);
    std::fs::write(folder.file(), zeros).expect("the file can be written");
    assert_eq!(records(&folder.file()).expect("a journal"), RECORDS);
}

#[test]
fn damage_in_front_of_the_last_record_is_an_error() {
    let folder = Folder::new("damaged");
    let whole = written(&folder.file());
    let last = whole.len() - 300 - 24;
    for at in 0..last {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x40;
        std::fs::write(folder.file(), damaged).expect("the file can be written");
        let found = records(&folder.file());
        assert!(
            matches!(found, Err(OpenJournalError::Damaged { .. } | OpenJournalError::NotAJournal { .. })),
            "byte {at}: {found:?}"
        );
    }
}

#[test]
fn a_replacement_takes_the_place_of_everything() {
    let folder = Folder::new("replaced");
    written(&folder.file());
    // The file of a process that ended during a replacement.
    std::fs::write(folder.0.join("journal.new"), b"half").expect("the file can be written");
    let mut journal = open(&folder.file()).expect("a journal");
    journal.replace(&[b"all".to_vec()]).expect("the disk has space");
    journal.append(b"more").expect("the disk has space");
    assert!(matches!(open(&folder.file()), Err(OpenJournalError::InUse { .. })));
    drop(journal);
    assert_eq!(records(&folder.file()).expect("a journal"), [b"all".as_slice(), b"more"]);
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
