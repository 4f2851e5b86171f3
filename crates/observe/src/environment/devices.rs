//! The host's network devices: seen by sysfs and ethtool, never touched.

use super::ethtool;
use crate::files::Files;
use tare_record::Device;

/// All devices of this network namespace, by name.
pub(super) fn devices(files: &Files) -> Vec<Device> {
    files
        .names("sys/class/net")
        .into_iter()
        // Files such as `bonding_masters` lie beside the devices.
        .filter(|name| files.exists(format!("sys/class/net/{name}/mtu")))
        .map(|name| device(files, name))
        .collect()
}

fn device(files: &Files, name: String) -> Device {
    let directory = format!("sys/class/net/{name}");
    Device {
        driver: driver(files, &directory),
        mtu: files.value(format!("{directory}/mtu")),
        // A device without a link or without a speed of its own says -1, or refuses.
        speed: files.value(format!("{directory}/speed")),
        offloads: ethtool::offloads(&name),
        name,
    }
}

/// The driver that is bound to it, or for a device of the kernel's own its type: `bridge`, `vlan`, `vxlan`.
fn driver(files: &Files, directory: &str) -> Option<String> {
    files.link_name(format!("{directory}/device/driver")).or_else(|| {
        let uevent = files.text(format!("{directory}/uevent"))?;
        let kind = uevent.lines().find_map(|line| line.strip_prefix("DEVTYPE="))?;
        Some(kind.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::lay_out;
    use std::os::unix::fs::symlink;

    #[test]
    fn devices_with_and_without_a_driver() {
        let root = tempfile::tempdir().unwrap();
        let files = lay_out(
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
        let device = |name: &str, driver: &str, mtu, speed| Device {
            name: name.to_owned(),
            driver: Some(driver.to_owned()),
            mtu: Some(mtu),
            speed,
            ..Device::default()
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
