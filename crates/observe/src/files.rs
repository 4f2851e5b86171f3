//! Reader of the kernel's text files.
//!
//! This crate gets nearly everything from files under `/proc`, `/sys`, `/etc` and `/run`. They are read whole or not at
//! all, below a root directory, so that a test can lay out a machine of its own in a temporary directory. A file that
//! is absent, unreadable or malformed is `None`: fresh machines, containers and old kernels all lack some files.

use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Files of a machine, below a root directory.
#[derive(Clone, Debug)]
pub(crate) struct MachineFiles {
    root: PathBuf,
}

impl MachineFiles {
    /// Returns the files of this machine.
    pub(crate) fn machine() -> Self {
        Self { root: PathBuf::from("/") }
    }

    /// Returns the files of a machine laid out in a directory.
    #[cfg(test)]
    pub(crate) fn under(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// Returns the path in the file system; `path` is relative to the root, without a leading slash.
    pub(crate) fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        self.root.join(path)
    }

    /// Returns a file's text without white space at its ends. Returns `None` if the file is empty or cannot be read.
    pub(crate) fn text(&self, path: impl AsRef<Path>) -> Option<String> {
        let bytes = fs::read(self.path(path)).ok()?;
        let text = String::from_utf8_lossy(&bytes);
        let text = text.trim();
        (!text.is_empty()).then(|| text.to_owned())
    }

    /// Reads a file that holds one value.
    pub(crate) fn value<T: FromStr>(&self, path: impl AsRef<Path>) -> Option<T> {
        self.text(path)?.parse().ok()
    }

    /// Returns `true` if the file or directory exists.
    pub(crate) fn exists(&self, path: impl AsRef<Path>) -> bool {
        self.path(path).exists()
    }

    /// Returns the names in a directory, sorted. The list is empty if the directory cannot be read.
    pub(crate) fn names(&self, directory: impl AsRef<Path>) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.path(directory)) else {
            return Vec::new();
        };
        let mut names: Vec<String> =
            entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
        names.sort();
        names
    }

    /// Returns the last component of a symbolic link's target.
    pub(crate) fn link_name(&self, link: impl AsRef<Path>) -> Option<String> {
        let target = fs::read_link(self.path(link)).ok()?;
        Some(target.file_name()?.to_str()?.to_owned())
    }
}

/// Writes a machine's files, pairs of `(path, text)`, into a directory.
#[cfg(test)]
pub(crate) fn write_test_files(root: &Path, files: &[(&str, &str)]) -> MachineFiles {
    for (path, text) in files {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    MachineFiles::under(root)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_is_none() {
        let root = tempfile::tempdir().unwrap();
        let files = write_test_files(root.path(), &[("a", " 12\n"), ("b", "\n"), ("c", "x")]);
        assert_eq!(files.value::<u32>("a"), Some(12));
        assert_eq!(files.text("b"), None);
        assert_eq!(files.value::<u32>("c"), None);
        assert_eq!(files.text("d"), None);
        assert_eq!(files.names("d"), Vec::<String>::new());
        assert_eq!(files.names(""), ["a", "b", "c"]);
        assert_eq!(files.link_name("a"), None);
    }
}
