//! Network devices of the host, read by sysfs and ethtool, never changed.

use super::ethtool;
use crate::files::MachineFiles;
use tare_record::HostDevice;

/// Returns all devices of this network namespace, by name.
pub(super) fn devices(files: &MachineFiles) -> Vec<HostDevice> {
    files
        .names("sys/class/net")
        .into_iter()
        // Skips files such as `bonding_masters`, which lie beside the devices.
        .filter(|name| files.exists(format!("sys/class/net/{name}/mtu")))
        .map(|name| device(files, name))
        .collect()
}

fn device(files: &MachineFiles, name: String) -> HostDevice {
    let directory = format!("sys/class/net/{name}");
    HostDevice {
        driver: driver(files, &directory),
        mtu: files.value(format!("{directory}/mtu")),
        // A device without a link or without a speed of its own reports -1, or refuses to be read.
        speed: files.value(format!("{directory}/speed")),
        offloads: ethtool::offloads(&name),
        name,
    }
}

/// Returns the driver that is bound to the device, or the type of a virtual device: `bridge`, `vlan`, `vxlan`.
fn driver(files: &MachineFiles, directory: &str) -> Option<String> {
    files.link_name(format!("{directory}/device/driver")).or_else(|| {
        let uevent = files.text(format!("{directory}/uevent"))?;
        let kind = uevent.lines().find_map(|line| line.strip_prefix("DEVTYPE="))?;
        Some(kind.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::write_test_files;
    use std::os::unix::fs::symlink;

    #[test]
    fn devices_with_and_without_a_driver() {
        let root = tempfile::tempdir().unwrap();
        let files = write_test_files(
            root.path(),
            &[
                ("sys/class/net/bonding_masters", "\n"),
                ("sys/class/net/tare-test-br0/mtu", "1500\n"),
                ("sys/class/net/tare-test-br0/speed", "-1\n"),
                ("sys/class/net/tare-test-br0/uevent", "DEVTYPE=bridge\nINTERFACE=tare-test-br0\n"),
                ("sys/class/net/tare-test-up0/mtu", "9000\n"),
                ("sys/class/net/tare-test-up0/speed", "25000\n"),
                ("sys/class/net/tare-test-up0/device/vendor", "0x15b3\n"),
            ],
        );
        let link = root.path().join("sys/class/net/tare-test-up0/device/driver");
        symlink("../../../../bus/pci/drivers/mlx5_core", link).unwrap();
        let device = |name: &str, driver: &str, mtu, speed| HostDevice {
            name: name.to_owned(),
            driver: Some(driver.to_owned()),
            mtu: Some(mtu),
            speed,
            ..HostDevice::default()
        };
        assert_eq!(
            devices(&files),
            [
                device("tare-test-br0", "bridge", 1500, None),
                device("tare-test-up0", "mlx5_core", 9000, Some(25_000)),
            ]
        );
    }
}
