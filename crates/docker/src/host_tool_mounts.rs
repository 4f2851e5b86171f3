//! Programs of the host in containers of tare's own image, which has none: mounted read-only, with the libraries that
//! they are linked to. Used if a workload runs external programs and the user names no image that has them.
//!
//! Nothing is written to the host: data of servers is in a volume of the container's own, which is removed with it.

use bollard::models::{Mount, MountBindOptions, MountType};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Paths of programs and their libraries on a machine, of the means by which they are found (links of alternatives, the
/// loader's cache), and of the users as whom they may run.
const SYSTEM_PATHS: [&str; 9] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib64",
    "/etc/alternatives",
    "/etc/ld.so.cache",
    "/etc/passwd",
    "/etc/group",
];

/// Directories of administrators' programs; an ordinary user's PATH lacks them.
const ADMIN_PATH: &str = "/usr/local/sbin:/usr/sbin:/sbin";

/// Directory for data that servers write, and directory for temporary files.
const DATA_DIRECTORY: &str = "/var/lib/tare";
const TEMP_DIRECTORY: &str = "/tmp";

/// Mounts of the host's programs, and the variables that go with them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct HostToolMounts {
    /// Paths of the host that are mounted at the same path.
    paths: BTreeSet<PathBuf>,
    /// PATH of the containers.
    path: String,
}

impl HostToolMounts {
    /// Finds the mounts that programs of these names need, by this process's own PATH.
    pub(crate) fn for_programs(names: &[&str]) -> Self {
        let path = std::env::var("PATH").unwrap_or_default();
        Self::on_path(&format!("{path}:{ADMIN_PATH}"), names)
    }

    fn on_path(path: &str, names: &[&str]) -> Self {
        let directories = || path.split(':').map(Path::new).filter(|one| one.is_absolute());
        let system: BTreeSet<PathBuf> =
            SYSTEM_PATHS.iter().map(PathBuf::from).filter(|one| one.exists()).collect();
        let is_of_system = |one: &Path| system.iter().any(|above| one.starts_with(above));
        let has_one = |one: &Path| names.iter().any(|name| one.join(name).is_file());
        let further = directories().filter(|one| !is_of_system(one) && has_one(one));
        let further: Vec<PathBuf> = further.map(Path::to_owned).collect();
        let path: Vec<&str> = directories().filter_map(Path::to_str).collect();
        Self { paths: system.into_iter().chain(further).collect(), path: path.join(":") }
    }

    /// Returns the mounts of a container.
    pub(crate) fn mounts(&self) -> Vec<Mount> {
        let own = self.paths.iter().map(|path| Mount {
            typ: Some(MountType::BIND),
            source: Some(path.display().to_string()),
            target: Some(path.display().to_string()),
            read_only: Some(true),
            // A mount below this path may be writable, so mounts below it are left out.
            bind_options: Some(MountBindOptions {
                non_recursive: Some(true),
                ..MountBindOptions::default()
            }),
            ..Mount::default()
        });
        let fresh = |typ, target: &str| Mount {
            typ: Some(typ),
            target: Some(target.to_owned()),
            ..Mount::default()
        };
        own.chain([
            fresh(MountType::VOLUME, DATA_DIRECTORY),
            fresh(MountType::TMPFS, TEMP_DIRECTORY),
        ])
        .collect()
    }

    /// Returns the environment variables of a container.
    pub(crate) fn variables(&self) -> Vec<String> {
        vec![format!("PATH={}", self.path), format!("XDG_CACHE_HOME={DATA_DIRECTORY}")]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_the_hosts_is_read_only_and_what_is_written_is_not() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("of-mine"), "").unwrap();
        let path = format!("relative:/usr/bin:{}:/nowhere", directory.path().display());
        let lent = HostToolMounts::on_path(&path, &["of-mine"]);
        let mounts = lent.mounts();
        let source = |path: &Path| mounts.iter().find(|one| one.source.as_deref() == path.to_str());
        for path in [Path::new("/usr"), directory.path()] {
            let mount = source(path).unwrap();
            assert_eq!((mount.typ, mount.read_only), (Some(MountType::BIND), Some(true)));
            assert_eq!(mount.source, mount.target);
        }
        assert_eq!(source(Path::new("/nowhere")), None, "the engine would refuse it");
        let own: Vec<_> = mounts.iter().filter(|one| one.source.is_none()).collect();
        assert_eq!(own.len(), 2, "{own:?}");
        let variables = lent.variables();
        assert!(variables[0].starts_with("PATH=/usr/bin:"), "{variables:?}");
        assert!(!variables[0].contains("relative"), "{variables:?}");
    }

    #[test]
    fn a_directory_without_the_programs_is_not_lent() {
        let directory = tempfile::tempdir().unwrap();
        let lent = HostToolMounts::on_path(&directory.path().display().to_string(), &["of-mine"]);
        assert!(!lent.paths.contains(directory.path()));
    }
}
