//! Directories to write to, entered component by component: a symbolic link that another user left on the way leads
//! nowhere.

use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, RawDir, fchmod, fstat, mkdirat, openat, statat,
};
use rustix::io::Errno;
use rustix::process::geteuid;
use std::ffi::OsStr;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

/// Error of a directory to write to.
#[derive(Debug, thiserror::Error)]
pub enum DirectoryError {
    /// The kernel refuses the directory.
    #[error("{0}")]
    System(#[from] io::Error),
    /// A component of the path is a symbolic link.
    #[error("{link} is a symbolic link, which tare does not write through", link = .0.display())]
    SymbolicLink(PathBuf),
    /// Another user owns the directory.
    #[error("it belongs to user {0}")]
    Foreign(u32),
    /// The directory has files.
    #[error("it has files of others")]
    NotEmpty,
}

impl From<Errno> for DirectoryError {
    fn from(errno: Errno) -> Self {
        Self::System(errno.into())
    }
}

/// Opens a directory of this user.
///
/// # Errors
/// Fails if the path leads through a symbolic link, if the directory is another user's, and as open(2) does.
pub fn open_own_directory(path: &Path) -> Result<OwnedFd, DirectoryError> {
    let directory = walk(path, |_, _| Err(Errno::NOENT))?;
    check_owner(&directory)?;
    Ok(directory)
}

/// Opens a directory of this user, and creates what is missing of its path with mode 0700.
///
/// # Errors
/// Fails as [`open_own_directory`] and mkdir(2) do.
pub fn make_own_directory(path: &Path) -> Result<OwnedFd, DirectoryError> {
    let directory = walk(path, |parent, name| mkdirat(parent, name, Mode::RWXU))?;
    check_owner(&directory)?;
    Ok(directory)
}

/// Opens a directory that this user alone can enter and that is empty. It is created if it is missing.
///
/// # Errors
/// Fails if it has files, and as [`make_own_directory`] does.
pub(crate) fn make_private_directory(path: &Path) -> Result<OwnedFd, DirectoryError> {
    let directory = make_own_directory(path)?;
    if !is_empty(&directory)? {
        return Err(DirectoryError::NotEmpty);
    }
    fchmod(&directory, Mode::RWXU)?;
    Ok(directory)
}

/// Opens the directory of a path, whose last component `missing` may create in its parent, and so each before it.
fn walk(
    path: &Path,
    missing: impl Fn(&OwnedFd, &OsStr) -> Result<(), Errno>,
) -> Result<OwnedFd, DirectoryError> {
    let begin = if path.is_absolute() { "/" } else { "." };
    // Directories on the way need no permission to be read.
    let on_the_way = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut at = openat(CWD, begin, on_the_way, Mode::empty())?;
    let mut so_far = PathBuf::new();
    for component in path.components() {
        so_far.push(component);
        let name = match component {
            Component::RootDir | Component::CurDir | Component::Prefix(_) => continue,
            Component::ParentDir => OsStr::new(".."),
            Component::Normal(name) => name,
        };
        let enter = || openat(&at, name, on_the_way, Mode::empty());
        let entered = match enter() {
            Err(Errno::NOENT) => match missing(&at, name) {
                // Another process was faster.
                Ok(()) | Err(Errno::EXIST) => enter(),
                Err(errno) => Err(errno),
            },
            entered => entered,
        };
        at = match entered {
            Err(Errno::NOTDIR | Errno::LOOP) if is_link(&at, name) => {
                return Err(DirectoryError::SymbolicLink(so_far));
            }
            entered => entered?,
        };
    }
    let directory = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(openat(&at, ".", directory, Mode::empty())?)
}

fn is_link(at: impl AsFd, name: &OsStr) -> bool {
    statat(at, name, AtFlags::SYMLINK_NOFOLLOW)
        .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Symlink)
}

fn check_owner(directory: &OwnedFd) -> Result<(), DirectoryError> {
    let owner = fstat(directory)?.st_uid;
    if owner == geteuid().as_raw() { Ok(()) } else { Err(DirectoryError::Foreign(owner)) }
}

fn is_empty(directory: &OwnedFd) -> Result<bool, Errno> {
    let mut buffer = [MaybeUninit::uninit(); 2048];
    let mut entries = RawDir::new(directory, &mut buffer);
    while let Some(entry) = entries.next() {
        if !matches!(entry?.file_name().to_bytes(), b"." | b"..") {
            return Ok(false);
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{MetadataExt as _, symlink};

    #[test]
    fn what_is_made_is_private() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("a/./b/../c");
        make_private_directory(&path).unwrap();
        for made in ["a", "a/b", "a/c"] {
            assert_eq!(fs::metadata(scratch.path().join(made)).unwrap().mode() & 0o7777, 0o700);
        }
        let open = scratch.path().join("open");
        fs::create_dir(&open).unwrap();
        fs::set_permissions(&open, std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
        make_private_directory(&open).unwrap();
        assert_eq!(fs::metadata(&open).unwrap().mode() & 0o7777, 0o700);
    }

    #[test]
    fn links_lead_nowhere() {
        let scratch = tempfile::tempdir().unwrap();
        fs::create_dir(scratch.path().join("real")).unwrap();
        symlink("real", scratch.path().join("link")).unwrap();
        symlink("nosuch", scratch.path().join("dangling")).unwrap();
        for through in ["link", "link/", "link/below", "real/../link", "dangling"] {
            let path = scratch.path().join(through);
            for refused in [make_private_directory(&path), open_own_directory(&path)] {
                assert!(matches!(refused, Err(DirectoryError::SymbolicLink(_))), "{through}");
            }
        }
        assert_eq!(fs::read_dir(scratch.path().join("real")).unwrap().count(), 0);
        assert!(open_own_directory(&scratch.path().join("real")).is_ok());
    }

    #[test]
    fn a_directory_with_files_and_a_file_are_refused() {
        let scratch = tempfile::tempdir().unwrap();
        fs::write(scratch.path().join("file"), "").unwrap();
        let full = make_private_directory(scratch.path());
        assert!(matches!(full, Err(DirectoryError::NotEmpty)), "{full:?}");
        let file = make_private_directory(&scratch.path().join("file"));
        assert!(matches!(file, Err(DirectoryError::System(_))), "{file:?}");
    }
}
