//! Directory for a test's files, removed however the test ends.

use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Shell script of the guardian. A program that the test has ended, for example a browser, may have children that still
/// write: then the directory is not empty at the first attempt, and the script removes it again.
const REMOVAL: &str = "read -r _
for attempt in 1 2 3 4 5 6 7 8 9 10; do
    rm -rf -- \"$1\" 2>/dev/null && exit
    sleep 1
done
rm -rf -- \"$1\"";

/// World-readable directory, and its guardian: a shell that removes the directory when the pipe to it closes, which
/// also happens if this process is killed.
pub struct ScratchDirectory {
    path: PathBuf,
    guardian: Child,
}

impl ScratchDirectory {
    /// Makes a fresh, empty directory.
    pub fn new() -> Self {
        let path = tempfile::Builder::new()
            .prefix("tare-test-")
            .tempdir()
            .expect("a temporary directory")
            .keep()
            .canonicalize()
            .expect("it is there");
        // The guardian has a process group of its own, so that an interrupt from the terminal does not end it before
        // its work.
        let guardian = Command::new("/bin/sh")
            .args(["-c", REMOVAL, "guardian"])
            .arg(&path)
            .stdin(Stdio::piped())
            .process_group(0)
            .spawn()
            .expect("a shell");
        let everybody = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&path, everybody).expect("the directory is ours");
        Self { path, guardian }
    }

    /// Returns the path of a file in the directory.
    pub fn path(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Returns the path of the directory.
    pub fn root(&self) -> &Path {
        &self.path
    }

    /// Writes an executable program into the directory. Returns its path.
    pub fn write_program(&self, name: &str, text: &str) -> PathBuf {
        let path = self.write_file(name, text);
        let everybody = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&path, everybody).expect("it is ours");
        path
    }

    /// Writes a file into the directory. Returns its path.
    pub fn write_file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        let mut file = std::fs::File::create(&path).expect("a file in the directory");
        file.write_all(text.as_bytes()).expect("room for a small file");
        path
    }

    /// Creates a directory inside that belongs to a user. Returns its path.
    pub fn create_directory(&self, name: &str, user: Option<u32>) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir(&path).expect("a directory in the directory");
        if user.is_some() {
            chown(&path, user, user).expect("root may give files away");
        }
        path
    }

    /// Returns the sorted names of all entries.
    pub fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.path).expect("the directory is there");
        let mut names: Vec<String> = entries
            .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }
}

impl Default for ScratchDirectory {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for ScratchDirectory {
    fn drop(&mut self) {
        drop(self.guardian.stdin.take());
        let _ = self.guardian.wait();
    }
}
