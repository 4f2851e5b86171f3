//! System around the processors: distribution, memory, load, virtualisation, user namespace.

use crate::files::MachineFiles;

/// Returns the distribution's name and version, as in os-release(5).
pub(super) fn distribution(files: &MachineFiles) -> Option<String> {
    ["etc/os-release", "usr/lib/os-release"].iter().find_map(|path| pretty_name(&files.text(path)?))
}

pub(crate) fn pretty_name(text: &str) -> Option<String> {
    ["PRETTY_NAME", "NAME"].iter().find_map(|wanted| {
        text.lines().find_map(|line| {
            let (key, value) = line.split_once('=')?;
            let value = value.trim().trim_matches(['"', '\'']);
            (key.trim() == *wanted && !value.is_empty()).then(|| value.to_owned())
        })
    })
}

/// Parses the load averages of `/proc/loadavg`.
pub(crate) fn load(text: &str) -> Option<[f64; 3]> {
    let mut words = text.split_whitespace().map(|word| word.parse::<f64>().ok());
    Some([words.next()??, words.next()??, words.next()??])
}

/// Returns `true` if this user namespace maps every user to itself, as the first one does.
pub(super) fn has_whole_uid_map(files: &MachineFiles) -> bool {
    files
        .text("proc/self/uid_map")
        .is_none_or(|map| map.split_whitespace().eq(["0", "0", "4294967295"]))
}

/// Returns the container technology and the hypervisor: `docker in KVM`. Returns `None` if neither shows.
pub(super) fn virtualisation(files: &MachineFiles) -> Option<String> {
    match (container(files), hypervisor(files)) {
        (Some(container), Some(hypervisor)) => Some(format!("{container} in {hypervisor}")),
        (container, hypervisor) => container.or(hypervisor),
    }
}

/// Detects the container technology by the marks of systemd's container interface, Docker and Podman.
fn container(files: &MachineFiles) -> Option<String> {
    let mark = |path: &str, name: &str| files.exists(path).then(|| name.to_owned());
    files
        .text("run/systemd/container")
        .or_else(|| mark(".dockerenv", "docker"))
        .or_else(|| mark("run/.containerenv", "podman"))
}

/// Detects a hypervisor by the processor's flag; the firmware's tables or Xen's files name it where they can.
fn hypervisor(files: &MachineFiles) -> Option<String> {
    let kernel = files.text("proc/sys/kernel/osrelease").unwrap_or_default();
    if kernel.contains("microsoft") || kernel.contains("Microsoft") {
        return Some("WSL".to_owned());
    }
    files
        .text("sys/hypervisor/type")
        .or_else(|| files.text("proc/device-tree/hypervisor/compatible"))
        .map(|name| name.trim_end_matches('\0').to_owned())
        .or_else(|| firmware(files))
        .or_else(|| {
            super::cpu::has_hypervisor_flag(files).then(|| "an unnamed hypervisor".to_owned())
        })
}

/// Returns the maker and product of the machine's firmware tables, if they are a hypervisor's.
fn firmware(files: &MachineFiles) -> Option<String> {
    const HYPERVISORS: &[&str] = &[
        "QEMU",
        "KVM",
        "VMware",
        "VirtualBox",
        "Xen",
        "Virtual Machine",
        "BHYVE",
        "Firecracker",
        "Parallels",
    ];
    let vendor = files.text("sys/class/dmi/id/sys_vendor").unwrap_or_default();
    let product = files.text("sys/class/dmi/id/product_name").unwrap_or_default();
    let name = format!("{vendor} {product}").trim().to_owned();
    let known = HYPERVISORS.iter().any(|hypervisor| name.contains(hypervisor));
    // Clouds rent out bare machines under the same maker's name: there the processor's flag decides.
    (known || (!name.is_empty() && super::cpu::has_hypervisor_flag(files))).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::write_test_files;
    use proptest::prelude::*;

    #[test]
    fn distributions_are_named_as_they_name_themselves() {
        let debian = "PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nNAME=\"Debian GNU/Linux\"\n";
        assert_eq!(pretty_name(debian).as_deref(), Some("Debian GNU/Linux 12 (bookworm)"));
        assert_eq!(pretty_name("ID=x\nNAME=Alpine\n").as_deref(), Some("Alpine"));
        assert_eq!(pretty_name("ID=x\n"), None);
    }

    #[test]
    fn load_averages() {
        assert_eq!(load("0.54 0.42 0.26 1/89 10024\n"), Some([0.54, 0.42, 0.26]));
        assert_eq!(load("0.54"), None);
    }

    #[test]
    fn a_container_in_a_virtual_machine_shows_as_both() {
        let root = tempfile::tempdir().unwrap();
        let files = write_test_files(
            root.path(),
            &[
                (".dockerenv", ""),
                ("sys/class/dmi/id/sys_vendor", "QEMU\n"),
                ("sys/class/dmi/id/product_name", "Standard PC\n"),
            ],
        );
        assert_eq!(virtualisation(&files).as_deref(), Some("docker in QEMU Standard PC"));
    }

    #[test]
    fn a_rented_bare_machine_is_not_virtual() {
        let root = tempfile::tempdir().unwrap();
        let machine = [
            ("sys/class/dmi/id/sys_vendor", "Amazon EC2\n"),
            ("sys/class/dmi/id/product_name", "m5.metal\n"),
            ("proc/cpuinfo", "flags : fpu vme\n"),
        ];
        let files = write_test_files(root.path(), &machine);
        assert_eq!(virtualisation(&files), None);
        let files = write_test_files(root.path(), &[("proc/cpuinfo", "flags : fpu hypervisor\n")]);
        assert_eq!(virtualisation(&files).as_deref(), Some("Amazon EC2 m5.metal"));
    }

    #[test]
    fn root_of_a_user_namespace_is_not_the_hosts() {
        let root = tempfile::tempdir().unwrap();
        let map = |text| write_test_files(root.path(), &[("proc/self/uid_map", text)]);
        assert!(has_whole_uid_map(&map("         0          0 4294967295\n")));
        assert!(!has_whole_uid_map(&map("         0       1000          1\n")));
    }

    proptest! {
        #[test]
        fn no_text_breaks_the_readers(text in "(Mem(Total|Available)|[a-z=:\" \n0-9.kB/]){0,40}") {
            let _ = pretty_name(&text);
            let _ = load(&text);
        }
    }
}
