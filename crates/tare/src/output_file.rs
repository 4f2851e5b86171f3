//! Files that tare writes for its user, whole or not at all.

use std::fs::Permissions;
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// Mode of a new file, before the user's umask.
const MODE: u32 = 0o666;

/// Writes a whole file in the place of the one that is there, or leaves that as it is. A symbolic link is replaced, not
/// followed. A device or a pipe, such as /dev/stdout, is written to.
///
/// # Errors
/// As the system's calls do.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    match path.metadata() {
        Ok(there) if !there.is_file() && !there.is_dir() => {
            return std::fs::OpenOptions::new().write(true).open(path)?.write_all(bytes);
        }
        _ => {}
    }
    let beside = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let mut file = tempfile::Builder::new()
        .prefix(".tare-")
        .permissions(Permissions::from_mode(MODE))
        .tempfile_in(beside.unwrap_or(Path::new(".")))?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_link_is_replaced_and_its_target_stays() {
        let scratch = tempfile::tempdir().unwrap();
        let (target, link) = (scratch.path().join("target"), scratch.path().join("link"));
        fs::write(&target, "precious").unwrap();
        symlink(&target, &link).unwrap();
        write_whole(&link, b"result").unwrap();
        assert_eq!(fs::read_to_string(&target).unwrap(), "precious");
        assert_eq!(fs::read_to_string(&link).unwrap(), "result");
        assert!(!link.symlink_metadata().unwrap().is_symlink());
    }

    #[test]
    fn what_cannot_be_written_leaves_nothing() {
        let scratch = tempfile::tempdir().unwrap();
        let directory = scratch.path().join("directory");
        fs::create_dir(&directory).unwrap();
        assert!(write_whole(&directory, b"x").is_err());
        assert!(write_whole(&scratch.path().join("missing/file"), b"x").is_err());
        assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_device_is_written_to() {
        write_whole(Path::new("/dev/null"), b"x").unwrap();
        assert!(!Path::new("/dev/null").metadata().unwrap().is_file());
    }
}
