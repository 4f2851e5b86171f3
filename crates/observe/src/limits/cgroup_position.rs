//! Position of this process in the hierarchy of control groups.

use crate::files::MachineFiles;

/// Hierarchy of version 2, with the position of this process in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CgroupPosition {
    /// Mount point of the hierarchy, without a leading slash.
    mount: String,
    /// This process's group below the mount point, without a leading slash.
    own: String,
}

impl CgroupPosition {
    /// Reads the position. Returns `None` if version 2 is not mounted, or if this process is outside the mounted part.
    pub(crate) fn read(files: &MachineFiles) -> Option<Self> {
        let mount = mount_point(&files.text("proc/self/mounts")?)?;
        let own = own_group(&files.text("proc/self/cgroup")?)?;
        Some(Self { mount, own })
    }

    /// Returns this process's group and all groups above it, nearest first.
    pub(crate) fn ancestors(&self) -> Vec<String> {
        let mut group = self.own.as_str();
        let mut ancestors = Vec::new();
        while !group.is_empty() {
            ancestors.push(format!("{}/{group}", self.mount));
            group = group.rsplit_once('/').map_or("", |(parent, _)| parent);
        }
        ancestors.push(self.mount.clone());
        ancestors
    }
}

/// Returns the mount point of the first cgroup2 file system in `/proc/self/mounts` (fstab(5)).
pub(crate) fn mount_point(mounts: &str) -> Option<String> {
    mounts.lines().find_map(|line| {
        let mut fields = line.split_whitespace();
        let (_, point, kind) = (fields.next()?, fields.next()?, fields.next()?);
        (kind == "cgroup2").then(|| point.trim_matches('/').to_owned())
    })
}

/// Returns the group of the line `0::/…`. A path with `..` leads out of the part that this process can see.
pub(crate) fn own_group(text: &str) -> Option<String> {
    let path = text.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let path = path.trim_matches('/');
    (!path.split('/').any(|part| part == "..")).then(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_place_and_all_above_it() {
        let hierarchy =
            CgroupPosition { mount: "sys/fs/cgroup".into(), own: "user.slice/x.scope".into() };
        assert_eq!(
            hierarchy.ancestors(),
            ["sys/fs/cgroup/user.slice/x.scope", "sys/fs/cgroup/user.slice", "sys/fs/cgroup"]
        );
        let root = CgroupPosition { mount: "sys/fs/cgroup".into(), own: String::new() };
        assert_eq!(root.ancestors(), ["sys/fs/cgroup"]);
    }

    #[test]
    fn the_mount_beside_those_of_version_1() {
        let mounts = "proc /proc proc rw 0 0\ncgroup /sys/fs/cgroup/pids cgroup rw,pids 0 0\n\
            cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n";
        assert_eq!(mount_point(mounts).as_deref(), Some("sys/fs/cgroup/unified"));
        assert_eq!(mount_point("cgroup /sys/fs/cgroup/pids cgroup rw 0 0\n"), None);
    }

    #[test]
    fn the_group_of_version_2() {
        assert_eq!(own_group("8:pids:/a\n0::/b/c\n").as_deref(), Some("b/c"));
        assert_eq!(own_group("0::/\n").as_deref(), Some(""));
        assert_eq!(own_group("0::/../x\n"), None);
        assert_eq!(own_group("8:pids:/a\n"), None);
    }

    proptest! {
        #[test]
        fn no_text_breaks_the_readers(text in "(0::|cgroup2|[a-z/. \n]){0,30}") {
            if let (Some(mount), Some(own)) = (mount_point(&text), own_group(&text)) {
                let ancestors = CgroupPosition { mount: mount.clone(), own }.ancestors();
                prop_assert!(ancestors.iter().all(|group| group.starts_with(&mount)));
            }
        }
    }
}
