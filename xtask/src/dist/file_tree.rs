//! Files of a package, written below a directory with the permissions that they have in the package.

use anyhow::{Context, Result};
use flate2::{Compression, GzBuilder};
use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// File of a package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PackageFile {
    /// Path below the root of the package, without a leading slash.
    pub(crate) path: String,
    pub(crate) content: Vec<u8>,
    pub(crate) mode: u32,
}

impl PackageFile {
    /// File that all may read.
    pub(crate) fn new(path: impl Into<String>, content: impl Into<Vec<u8>>) -> Self {
        Self { path: path.into(), content: content.into(), mode: 0o644 }
    }

    /// File that all may read and run.
    pub(crate) fn program(path: impl Into<String>, content: impl Into<Vec<u8>>) -> Self {
        Self { mode: 0o755, ..Self::new(path, content) }
    }

    /// File that is compressed, with `.gz` after its name.
    pub(super) fn compressed(path: &str, content: &[u8]) -> Result<Self> {
        // Without a time and the name of the file: the same content gives the same bytes.
        let mut encoder = GzBuilder::new().write(Vec::new(), Compression::best());
        encoder.write_all(content)?;
        Ok(Self::new(format!("{path}.gz"), encoder.finish()?))
    }
}

/// Writes files below a directory.
pub(super) fn write(root: &Path, files: &[PackageFile]) -> Result<()> {
    for file in files {
        let path = root.join(&file.path);
        create_directories(root, &file.path)?;
        fs::write(&path, &file.content)
            .and_then(|()| fs::set_permissions(&path, Permissions::from_mode(file.mode)))
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

/// Makes a directory with its parents.
pub(super) fn create_directory(path: &Path) -> Result<()> {
    fs::create_dir_all(path).with_context(|| format!("cannot make {}", path.display()))
}

/// Makes the directories of a file below the root. Their permissions do not depend on this process's umask.
fn create_directories(root: &Path, file: &str) -> Result<()> {
    let open = |path: &Path| {
        fs::set_permissions(path, Permissions::from_mode(0o755))
            .with_context(|| format!("cannot set the permissions of {}", path.display()))
    };
    create_directory(root)?;
    open(root)?;
    let mut directory = root.to_owned();
    for part in Path::new(file).parent().into_iter().flat_map(Path::components) {
        directory.push(part);
        create_directory(&directory)?;
        open(&directory)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_have_the_permissions_of_the_package() {
        let scratch = tempfile::tempdir().unwrap();
        let root = scratch.path().join("root");
        let files = [PackageFile::new("a/b/text", "x"), PackageFile::program("a/run", "y")];
        write(&root, &files).unwrap();
        let mode =
            |path: &str| fs::metadata(root.join(path)).unwrap().permissions().mode() & 0o7777;
        let modes = ["", "a", "a/b", "a/b/text", "a/run"].map(mode);
        assert_eq!(modes, [0o755, 0o755, 0o755, 0o644, 0o755]);
    }

    #[test]
    fn a_compressed_file_tells_neither_time_nor_name() {
        let file = PackageFile::compressed("man1/tare.1", b"text").unwrap();
        assert_eq!(file.path, "man1/tare.1.gz");
        // RFC 1952: flags, then four bytes of time.
        assert_eq!(file.content[3..8], [0; 5]);
    }
}
