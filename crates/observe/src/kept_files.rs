//! Reader of files of the kernel that are read again and again during a trial.
//!
//! Each file stays open. To close a file of `/proc`, or to give its memory back, leaves work to RCU, and for as long as a
//! core has such work the kernel keeps its tick running while it is idle (`rcu_needs_cpu`, kernel/time/tick-sched.c).
//! Without the tick, every idle period costs two settings of the timer, on a virtual machine an exit each: for some
//! 20 ms after such a reading, round trips would be faster, and bulk slower, than the traffic itself is.

use crate::files::MachineFiles;
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

/// Files of a machine that stay open once they are read. Clones share them.
#[derive(Clone, Debug)]
pub(crate) struct KeptFiles(Arc<Mutex<OpenFiles>>);

#[derive(Debug)]
struct OpenFiles {
    files: MachineFiles,
    open: BTreeMap<PathBuf, File>,
    /// Memory for the text of one file.
    text: Vec<u8>,
}

impl KeptFiles {
    /// Returns the files of this machine, which all observers of this process share: a file for each core, many times,
    /// would be more than a process may have open.
    pub(crate) fn machine() -> Self {
        static MACHINE: LazyLock<KeptFiles> =
            LazyLock::new(|| KeptFiles::new(MachineFiles::machine()));
        MACHINE.clone()
    }

    /// Returns these files, none of which is open.
    pub(crate) fn new(files: MachineFiles) -> Self {
        Self(Arc::new(Mutex::new(OpenFiles { files, open: BTreeMap::new(), text: vec![0; 4096] })))
    }

    /// Reads a file from its beginning, and parses its text. Returns `None` if it cannot be read or parsed.
    pub(crate) fn parse<T>(
        &self,
        path: impl Into<PathBuf>,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Option<T> {
        let mut files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        parse(files.text(path.into())?)
    }
}

impl OpenFiles {
    fn text(&mut self, path: PathBuf) -> Option<&str> {
        let Self { files, open, text } = self;
        if !open.contains_key(&path) {
            let file = File::open(files.path(&path)).ok()?;
            open.insert(path.clone(), file);
        }
        let length = read_whole(&open[&path], text).ok()?;
        std::str::from_utf8(&text[..length]).ok()
    }
}

/// Reads a file from its beginning into memory that grows as needed. Returns the number of bytes.
fn read_whole(file: &File, text: &mut Vec<u8>) -> io::Result<usize> {
    let mut length = 0;
    loop {
        if length == text.len() {
            text.resize(2 * length, 0);
        }
        match file.read_at(&mut text[length..], length as u64) {
            Ok(0) => return Ok(length),
            Ok(bytes) => length += bytes,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::write_test_files;

    #[test]
    fn a_kept_file_is_read_anew_and_whole() {
        let root = tempfile::tempdir().unwrap();
        let long = "x".repeat(10_000);
        let files = KeptFiles::new(write_test_files(root.path(), &[("a", "1\n"), ("b", &long)]));
        let text = |path: &str| files.parse(path, |text| Some(text.to_owned()));
        assert_eq!(text("a").as_deref(), Some("1\n"));
        assert_eq!(text("b"), Some(long));
        write_test_files(root.path(), &[("a", "23\n")]);
        assert_eq!(text("a").as_deref(), Some("23\n"));
        assert_eq!(text("c"), None);
        write_test_files(root.path(), &[("c", "now")]);
        assert_eq!(text("c").as_deref(), Some("now"));
        assert_eq!(files.parse("a", |_| None::<u32>), None);
    }

    #[test]
    fn a_kept_file_stays_open() {
        let root = tempfile::tempdir().unwrap();
        let files = KeptFiles::new(write_test_files(root.path(), &[("a", "7")]));
        let value = || files.parse("a", |text| text.parse::<u32>().ok());
        assert_eq!(value(), Some(7));
        std::fs::remove_file(root.path().join("a")).unwrap();
        assert_eq!(value(), Some(7), "its name is gone, and it is not opened anew");
        let first =
            KeptFiles::machine().parse("proc/stat", |text| text.starts_with("cpu ").then_some(()));
        assert!(first.is_some());
    }
}
