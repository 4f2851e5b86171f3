//! Role `internal ebpf-redirect`, by which a reader attaches the programs as `tare show` says.

use super::errors::error;
use super::packet_redirect::{NewEbpfRedirect, NewXdpReceiver};
use super::pair_program::PairProgram;
use super::redirect_target::RedirectTarget;
use super::socket_redirect::{NewSocketRedirect, READY};
use crate::netlink::{DeviceRef, MacAddress, NetlinkSocket};
use std::ffi::OsString;
use std::io::Write;
use tare_network::{Error, RedirectProgram};

/// Device of an argument, and the link-layer address at the far end of its pair, if it has one.
type DeviceArgument = (String, Option<MacAddress>);

/// Attaches a program in the network namespace of this process, by its name and arguments: `DEVICE=ADDRESS` for the
/// node's end of a veth pair, with the link-layer address at its far end; `DEVICE` for a device that is to receive
/// packets from XDP programs. The program of sockets is attached as long as the process runs, which reports when it is.
///
/// # Errors
/// There is no such program, an argument is not of this form, a device does not exist, or the program cannot be loaded
/// or attached.
pub fn attach_redirect(mut arguments: impl Iterator<Item = OsString>) -> Result<(), Error> {
    let name = arguments.next().unwrap_or_default().to_string_lossy().into_owned();
    match RedirectProgram::from_name(&name) {
        Some(RedirectProgram::Peer) => attach_to_devices(PairProgram::Peer, arguments),
        Some(RedirectProgram::Xdp) => attach_to_devices(PairProgram::Xdp, arguments),
        Some(RedirectProgram::Sockmap) => hold_sockets(),
        None => {
            let names = RedirectProgram::ALL.map(RedirectProgram::name).join(", ");
            Err(error(format!("`{name}` is none of {names}")))
        }
    }
}

/// Redirects among the sockets of this network namespace until the process is killed.
fn hold_sockets() -> Result<(), Error> {
    let _redirect = NewSocketRedirect.attach_here()?;
    let mut output = std::io::stdout().lock();
    let told = writeln!(output, "{READY}").and_then(|()| output.flush());
    told.map_err(|problem| error(format!("the output cannot be written: {problem}")))?;
    loop {
        std::thread::park();
    }
}

fn attach_to_devices(
    program: PairProgram,
    arguments: impl Iterator<Item = OsString>,
) -> Result<(), Error> {
    let named: Vec<DeviceArgument> = arguments.map(parse_device).collect::<Result<_, _>>()?;
    let mut socket = NetlinkSocket::open()?;
    let mut targets = Vec::new();
    for (name, mac) in &named {
        let found = socket.device(name)?.map(|device| device.index);
        let index = found.ok_or_else(|| error(format!("there is no device {name}")))?;
        let device = DeviceRef { name, index };
        match mac {
            Some(mac) => targets.push(RedirectTarget { device, mac: *mac }),
            None => NewXdpReceiver { device }.attach_here()?,
        }
    }
    NewEbpfRedirect { program, targets }.attach_here().map(drop)
}

fn parse_device(argument: OsString) -> Result<DeviceArgument, Error> {
    let text = argument.to_string_lossy();
    let Some((name, mac)) = text.split_once('=') else { return Ok((text.into_owned(), None)) };
    let mac = mac.parse().map_err(|_| {
        error(format!("`{text}` is not DEVICE=ADDRESS, such as veth-s0=02:00:00:00:00:02"))
    })?;
    Ok((name.to_owned(), Some(mac)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_name_a_device_and_an_address() {
        let mac = MacAddress::new([2, 0, 10, 100, 0, 2]);
        let parsed = |text: &str| parse_device(text.into());
        assert_eq!(parsed("veth-s0=02:00:0a:64:00:02"), Ok(("veth-s0".to_owned(), Some(mac))));
        assert_eq!(parsed("eth0"), Ok(("eth0".to_owned(), None)));
        for wrong in ["veth-s0=", "veth-s0=02:00:0a:64:00", "veth-s0=02:00:0a:64:00:1g"] {
            let error = parsed(wrong).unwrap_err();
            assert!(error.to_string().contains(wrong), "{error}");
        }
    }

    #[test]
    fn the_first_argument_names_a_program() {
        for wrong in [vec![], vec!["veth-s0=02:00:0a:64:00:02"]] {
            let error = attach_redirect(wrong.into_iter().map(Into::into)).unwrap_err();
            assert!(
                error.to_string().contains("is none of redirect-peer, xdp, sockmap"),
                "{error}"
            );
        }
    }
}
