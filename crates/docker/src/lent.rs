//! The host's programs in containers of tare's own image, which has none: mounted read-only, with the libraries that they
//! are linked to, where a workload runs programs of others and the user names no image that has them.
//!
//! Nothing is written to the host: what servers keep is in a volume of the container's own, which goes with it.

use bollard::models::{Mount, MountBindOptions, MountType};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Where programs and their libraries are on a machine, how they are found (links of alternatives, the loader's cache),
/// and as whom they may run.
const SYSTEM: [&str; 9] = [
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

/// Where administrators' programs are; an ordinary user's PATH lacks them.
const ADMINISTRATORS: &str = "/usr/local/sbin:/usr/sbin:/sbin";

/// Where servers keep what they write, and where programs put what they need for a moment.
const DATA: &str = "/var/lib/tare";
const MOMENT: &str = "/tmp";

/// What containers are lent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lent {
    /// What of the host's is mounted, under its own name.
    own: BTreeSet<PathBuf>,
    /// Where programs are looked for.
    path: String,
}

impl Lent {
    /// What programs of these names need, as this process finds them.
    pub(crate) fn of(names: &[&str]) -> Self {
        let path = std::env::var("PATH").unwrap_or_default();
        Self::along(&format!("{path}:{ADMINISTRATORS}"), names)
    }

    fn along(path: &str, names: &[&str]) -> Self {
        let directories = || path.split(':').map(Path::new).filter(|one| one.is_absolute());
        let system: BTreeSet<PathBuf> =
            SYSTEM.iter().map(PathBuf::from).filter(|one| one.exists()).collect();
        let is_of_system = |one: &Path| system.iter().any(|above| one.starts_with(above));
        let has_one = |one: &Path| names.iter().any(|name| one.join(name).is_file());
        let further = directories().filter(|one| !is_of_system(one) && has_one(one));
        let further: Vec<PathBuf> = further.map(Path::to_owned).collect();
        let path: Vec<&str> = directories().filter_map(Path::to_str).collect();
        Self { own: system.into_iter().chain(further).collect(), path: path.join(":") }
    }

    /// The mounts of a container.
    pub(crate) fn mounts(&self) -> Vec<Mount> {
        let own = self.own.iter().map(|path| Mount {
            typ: Some(MountType::BIND),
            source: Some(path.display().to_string()),
            target: Some(path.display().to_string()),
            read_only: Some(true),
            // What is mounted below it may be written to by a mount that holds it as well.
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
        own.chain([fresh(MountType::VOLUME, DATA), fresh(MountType::TMPFS, MOMENT)]).collect()
    }

    /// The variables of a container.
    pub(crate) fn variables(&self) -> Vec<String> {
        vec![format!("PATH={}", self.path), format!("XDG_CACHE_HOME={DATA}")]
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
        let lent = Lent::along(&path, &["of-mine"]);
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
        let lent = Lent::along(&directory.path().display().to_string(), &["of-mine"]);
        assert!(!lent.own.contains(directory.path()));
    }
}
