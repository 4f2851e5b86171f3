//! A directory for a test's files, removed when the test ends in whatever way.

use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// What the guardian does. A program that the test has ended, a browser say, may have children that still write: then the
/// directory is not empty when its turn comes, and it is removed again.
const REMOVAL: &str = "read -r _
for attempt in 1 2 3 4 5 6 7 8 9 10; do
    rm -rf -- \"$1\" 2>/dev/null && exit
    sleep 1
done
rm -rf -- \"$1\"";

/// A directory that anybody may look into, and its guardian: a shell that removes it when the pipe to it ends, which
/// it does also when this process is killed.
pub struct Scratch {
    path: PathBuf,
    guardian: Child,
}

impl Scratch {
    /// A fresh, empty directory.
    pub fn new() -> Self {
        let path = tempfile::Builder::new()
            .prefix("tare-test-")
            .tempdir()
            .expect("a temporary directory")
            .keep()
            .canonicalize()
            .expect("it is there");
        // A group of its own, so that an interrupt from the terminal does not end the guardian before its work.
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

    /// A path in it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// The directory.
    pub fn root(&self) -> &Path {
        &self.path
    }

    /// A program in it.
    pub fn program(&self, name: &str, text: &str) -> PathBuf {
        let path = self.write(name, text);
        let everybody = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&path, everybody).expect("it is ours");
        path
    }

    /// A file in it.
    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        let mut file = std::fs::File::create(&path).expect("a file in the directory");
        file.write_all(text.as_bytes()).expect("room for a small file");
        path
    }

    /// A directory in it that belongs to a user.
    pub fn directory_of(&self, name: &str, user: Option<u32>) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir(&path).expect("a directory in the directory");
        if user.is_some() {
            chown(&path, user, user).expect("root may give files away");
        }
        path
    }

    /// The names of what is in it.
    pub fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.path).expect("the directory is there");
        let mut names: Vec<String> = entries
            .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }
}

impl Default for Scratch {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        drop(self.guardian.stdin.take());
        let _ = self.guardian.wait();
    }
}
