//! Processors: model, cores that may be used, mitigations, frequency scaling, clock.

use crate::files::MachineFiles;
use std::collections::BTreeMap;

/// Highest core number accepted; Linux is built for at most 8192 cores.
const LAST_CORE: u32 = 8191;

/// Returns the name of the processor model, by the first of the fields that architectures use.
pub(super) fn model(files: &MachineFiles) -> Option<String> {
    let text = files.text("proc/cpuinfo")?;
    ["model name", "Model", "Hardware", "cpu model", "uarch", "cpu"]
        .iter()
        .find_map(|name| field(&text, name))
        .map(str::to_owned)
}

/// Returns `true` if the processor reports that it belongs to a virtual machine (x86 only).
pub(super) fn has_hypervisor_flag(files: &MachineFiles) -> bool {
    files
        .text("proc/cpuinfo")
        .and_then(|text| {
            field(&text, "flags").map(|flags| flags.split(' ').any(|flag| flag == "hypervisor"))
        })
        .unwrap_or(false)
}

/// Returns `true` if the processor is one of QEMU's own models, emulated in software. QEMU uses some of these models
/// even if the host's processor runs the guest; KVM then offers its clock.
pub(super) fn is_emulated(files: &MachineFiles) -> bool {
    let model = model(files).unwrap_or_default();
    let clocks = files.text("sys/devices/system/clocksource/clocksource0/available_clocksource");
    let kvm = clocks.is_some_and(|clocks| clocks.contains("kvm-clock"));
    model.starts_with("QEMU TCG CPU") || (model.starts_with("QEMU Virtual CPU") && !kvm)
}

/// Returns the cores that this process may use: its affinity mask, as the kernel lists it.
pub(super) fn cores(files: &MachineFiles) -> Vec<u32> {
    files
        .text("proc/self/status")
        .and_then(|text| core_list(field(&text, "Cpus_allowed_list")?))
        .unwrap_or_default()
}

/// Returns the mitigations of processor vulnerabilities, in the kernel's words.
pub(super) fn mitigations(files: &MachineFiles) -> BTreeMap<String, String> {
    let directory = "sys/devices/system/cpu/vulnerabilities";
    files
        .names(directory)
        .into_iter()
        .filter_map(|name| {
            let state = files.text(format!("{directory}/{name}"))?;
            Some((name, state))
        })
        .collect()
}

/// Returns the frequency governor of the first core that this process may use.
pub(super) fn governor(files: &MachineFiles) -> Option<String> {
    let core = cores(files).first().copied().unwrap_or(0);
    files.text(format!("sys/devices/system/cpu/cpu{core}/cpufreq/scaling_governor"))
}

/// Returns `true` if turbo or boost is on. Returns `None` if no driver reports it.
pub(super) fn boost(files: &MachineFiles) -> Option<bool> {
    let flag = |path: &str| files.value::<u8>(path).map(|value| value != 0);
    flag("sys/devices/system/cpu/cpufreq/boost")
        .or_else(|| flag("sys/devices/system/cpu/intel_pstate/no_turbo").map(|off| !off))
}

/// Returns the clock source in use.
pub(super) fn clock(files: &MachineFiles) -> Option<String> {
    files.text("sys/devices/system/clocksource/clocksource0/current_clocksource")
}

/// Returns `true` if some of these cores are threads of one core (SMT): two agents on them share its units.
pub(crate) fn sibling_threads(files: &MachineFiles, cores: &[u32]) -> bool {
    cores.iter().any(|core| {
        files
            .text(format!("sys/devices/system/cpu/cpu{core}/topology/thread_siblings_list"))
            .and_then(|text| core_list(&text))
            .is_some_and(|siblings| {
                siblings.iter().any(|other| other != core && cores.contains(other))
            })
    })
}

/// Returns the value of the first `name : value` line.
pub(crate) fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        let value = value.trim();
        (key.trim() == name && !value.is_empty()).then_some(value)
    })
}

/// Parses a list of cores in the kernel's format: `0-3,8,10-11`.
pub(crate) fn core_list(text: &str) -> Option<Vec<u32>> {
    let mut cores = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let first: u32 = first.trim().parse().ok()?;
        let last: u32 = last.trim().parse().ok()?;
        cores.extend(first..=last.min(LAST_CORE));
    }
    Some(cores)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::write_test_files;
    use proptest::prelude::*;

    const X86: &str = "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: Intel(R) Xeon(R) Processor\n\
        flags\t\t: fpu vme hypervisor lahf_lm\n";
    const ARM: &str = "processor\t: 0\nBogoMIPS\t: 50.00\nFeatures\t: fp asimd\nCPU implementer\t: 0x41\n\n\
        Model\t\t: Raspberry Pi 4 Model B\n";

    #[test]
    fn models_of_two_architectures() {
        let root = tempfile::tempdir().unwrap();
        let files = write_test_files(root.path(), &[("proc/cpuinfo", X86)]);
        assert_eq!(model(&files).as_deref(), Some("Intel(R) Xeon(R) Processor"));
        assert!(has_hypervisor_flag(&files));
        let files = write_test_files(root.path(), &[("proc/cpuinfo", ARM)]);
        assert_eq!(model(&files).as_deref(), Some("Raspberry Pi 4 Model B"));
        assert!(!has_hypervisor_flag(&files));
    }

    #[test]
    fn an_emulated_processor_is_told_by_its_name_and_the_clocks_beside_it() {
        let root = tempfile::tempdir().unwrap();
        let clocks = "sys/devices/system/clocksource/clocksource0/available_clocksource";
        for (model, available, expected) in [
            ("QEMU TCG CPU version 2.5+", "tsc hpet acpi_pm", true),
            ("QEMU Virtual CPU version 2.5+", "hpet acpi_pm", true),
            ("QEMU Virtual CPU version 2.5+", "kvm-clock hpet acpi_pm", false),
            ("Intel(R) Xeon(R) Processor", "tsc kvm-clock", false),
        ] {
            let text = format!("processor\t: 0\nmodel name\t: {model}\n");
            let files =
                write_test_files(root.path(), &[("proc/cpuinfo", &text), (clocks, available)]);
            assert_eq!(is_emulated(&files), expected, "{model}, {available}");
        }
    }

    #[test]
    fn boost_is_read_either_way_round() {
        let root = tempfile::tempdir().unwrap();
        let files = write_test_files(
            root.path(),
            &[("sys/devices/system/cpu/intel_pstate/no_turbo", "1\n")],
        );
        assert_eq!(boost(&files), Some(false));
        let files =
            write_test_files(root.path(), &[("sys/devices/system/cpu/cpufreq/boost", "1\n")]);
        assert_eq!(boost(&files), Some(true));
    }

    #[test]
    fn the_governor_is_that_of_a_core_that_may_be_used() {
        let root = tempfile::tempdir().unwrap();
        let files = write_test_files(
            root.path(),
            &[
                ("proc/self/status", "Name:\ttare\nCpus_allowed_list:\t2-3\n"),
                ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n"),
                ("sys/devices/system/cpu/cpu2/cpufreq/scaling_governor", "powersave\n"),
            ],
        );
        assert_eq!(governor(&files).as_deref(), Some("powersave"));
    }

    #[test]
    fn siblings_count_only_where_both_may_be_used() {
        let root = tempfile::tempdir().unwrap();
        let files = write_test_files(
            root.path(),
            &[
                ("sys/devices/system/cpu/cpu0/topology/thread_siblings_list", "0,2\n"),
                ("sys/devices/system/cpu/cpu1/topology/thread_siblings_list", "1,3\n"),
            ],
        );
        assert!(!sibling_threads(&files, &[0, 1]));
        assert!(sibling_threads(&files, &[0, 1, 2]));
    }

    #[test]
    fn core_lists_as_the_kernel_writes_them() {
        assert_eq!(core_list("0-3,8,10-11"), Some(vec![0, 1, 2, 3, 8, 10, 11]));
        assert_eq!(core_list("5"), Some(vec![5]));
        assert_eq!(core_list(""), None);
        assert_eq!(core_list("a-b"), None);
    }

    proptest! {
        #[test]
        fn no_text_breaks_the_core_list(text in "[0-9,\\-a ]{0,30}") {
            if let Some(cores) = core_list(&text) {
                prop_assert!(cores.iter().all(|&core| core <= LAST_CORE));
            }
        }

        #[test]
        fn a_list_of_single_cores_reads_back(cores in prop::collection::vec(0..LAST_CORE, 1..20)) {
            let text: Vec<String> = cores.iter().map(u32::to_string).collect();
            prop_assert_eq!(core_list(&text.join(",")), Some(cores));
        }

        #[test]
        fn no_text_breaks_the_field_reader(text in ".{0,60}") {
            if let Some(value) = field(&text, "model name") {
                prop_assert!(text.contains(value));
            }
        }
    }
}
