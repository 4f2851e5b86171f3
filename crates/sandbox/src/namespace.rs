//! Network namespace, held only by a descriptor.
//!
//! A short-lived thread makes each namespace: it enters the namespace, sets it up, and opens what must be opened from
//! inside. The netlink socket stays in its namespace for life, so that the namespace need not be entered again.

use crate::netlink::{DeviceRef, DeviceState, NetlinkRequest, NetlinkSocket};
use crate::sysctl::{Sysctl, SysctlWriter};
use crate::{parallel, sys};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::fs;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixDatagram;
use std::sync::{Mutex, PoisonError};
use tare_network::Error;

/// Network namespace of the sandbox. It ends with its last descriptor and its last program.
pub struct Namespace {
    name: String,
    descriptor: OwnedFd,
    socket: Mutex<NetlinkSocket>,
}

impl AsFd for Namespace {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

impl Namespace {
    /// Makes one namespace for each name, with its settings. Returns them in order.
    ///
    /// # Errors
    /// The kernel refuses a namespace, or a setting is missing or not writable.
    pub fn make_all(plans: &[(&str, &[Sysctl])]) -> Result<Vec<Self>, Error> {
        if plans.len() <= FEW {
            let settings = SysctlWriter::with_shared_procfs();
            return parallel::try_map(plans, |plan| Self::make(plan, &settings));
        }
        let batches: Vec<&[_]> = plans.chunks(FEW).collect();
        let made = parallel::try_map(&batches, |batch| {
            let settings = SysctlWriter::with_own_procfs();
            batch.iter().map(|plan| Self::make(plan, &settings)).collect::<Result<Vec<_>, _>>()
        })?;
        Ok(made.into_iter().flatten().collect())
    }

    /// Makes a namespace, and leaves the calling thread in it.
    fn make(&(name, sysctls): &(&str, &[Sysctl]), settings: &SysctlWriter) -> Result<Self, Error> {
        let what = || format!("create the network namespace {name}");
        sys::unshare_network().map_err(|errno| Error::new(what(), errno))?;
        let descriptor = fs::File::open("/proc/thread-self/ns/net")
            .map_err(|error| Error::new(what(), error))?
            .into();
        let mut socket = NetlinkSocket::open()?;
        socket.execute(&[NetlinkRequest::bring_up(name, DeviceRef::LOOPBACK)])?;
        for sysctl in sysctls {
            settings.write(name, sysctl)?;
        }
        Ok(Self { name: name.to_owned(), descriptor, socket: Mutex::new(socket) })
    }

    /// Takes over a namespace that another process has made, and writes its settings.
    ///
    /// # Errors
    /// The namespace cannot be entered (setns(2)), or a setting is missing or not writable.
    pub fn adopt(name: &str, descriptor: OwnedFd, sysctls: &[Sysctl]) -> Result<Self, Error> {
        let open = || {
            move_into_link_name_space(descriptor.as_fd(), Some(LinkNameSpaceType::Network))
                .map_err(|errno| {
                    Error::new(format!("enter the network namespace {name}"), errno)
                })?;
            let socket = NetlinkSocket::open()?;
            let settings = SysctlWriter::with_shared_procfs();
            sysctls.iter().try_for_each(|sysctl| settings.write(name, sysctl))?;
            Ok(socket)
        };
        let what = || format!("take over the network namespace {name}");
        let socket = std::thread::scope(|scope| scope.spawn(open).join())
            .unwrap_or_else(|_| Err(Error::new(what(), PANICKED)))?;
        Ok(Self { name: name.to_owned(), descriptor, socket: Mutex::new(socket) })
    }

    /// Returns the name of the namespace.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Carries out requests in the namespace.
    ///
    /// # Errors
    /// The purpose of the first request that the kernel refused, with its reason.
    pub fn execute(&self, requests: &[NetlinkRequest]) -> Result<(), Error> {
        self.socket.lock().unwrap_or_else(PoisonError::into_inner).execute(requests)
    }

    /// Returns a device in the namespace. Returns `None` if there is no device of this name.
    ///
    /// # Errors
    /// The kernel does not answer, or not as rtnetlink(7) says.
    pub fn device(&self, name: &str) -> Result<Option<DeviceState>, Error> {
        self.socket.lock().unwrap_or_else(PoisonError::into_inner).device(name)
    }

    /// Returns `true` if a packet to the address has a route in the namespace. No packet is sent.
    ///
    /// # Errors
    /// The kernel does not answer, or not as rtnetlink(7) says.
    pub fn has_route(&self, to: IpAddr) -> Result<bool, Error> {
        self.socket.lock().unwrap_or_else(PoisonError::into_inner).has_route(to)
    }

    /// Adds ports to a bridge of the namespace until the kernel refuses one, or until there are `most`, and deletes them
    /// again. Returns the number of ports that the bridge had then.
    ///
    /// # Errors
    /// There is no such bridge, or the kernel refuses for another reason than the number of ports.
    pub fn fill_bridge(&self, bridge: &str, most: u32) -> Result<u32, Error> {
        self.socket.lock().unwrap_or_else(PoisonError::into_inner).fill_bridge(bridge, most)
    }

    /// Makes the kernel update the link state of these devices now.
    ///
    /// # Errors
    /// The namespace cannot be entered.
    pub fn refresh_links(&self, devices: &[&str]) -> Result<(), Error> {
        self.run_inside(|| {
            let socket = UnixDatagram::unbound()
                .map_err(|error| Error::new("open a socket for link queries", error))?;
            for device in devices {
                // A kind of device that does not support this is updated in the kernel's own time.
                let _ = sys::ethtool::refresh_link(&socket, device);
            }
            Ok(())
        })
    }

    /// Writes settings of devices that exist in the namespace by now.
    ///
    /// # Errors
    /// A setting is missing or not writable, or the namespace cannot be entered.
    pub fn write_settings(&self, settings: &[&Sysctl]) -> Result<(), Error> {
        self.run_inside(|| {
            let writer = SysctlWriter::with_shared_procfs();
            settings.iter().try_for_each(|sysctl| writer.write(&self.name, sysctl))
        })
    }

    /// Runs a function in the namespace, on a thread that enters it and ends.
    ///
    /// # Errors
    /// The error of the function, or the namespace cannot be entered.
    pub fn run_inside<T: Send>(
        &self,
        work: impl FnOnce() -> Result<T, Error> + Send,
    ) -> Result<T, Error> {
        let enter_and_work = || {
            self.enter()?;
            work()
        };
        std::thread::scope(|scope| scope.spawn(enter_and_work).join()).unwrap_or_else(|_| {
            Err(Error::new(
                format!("run a function in the network namespace {}", self.name),
                PANICKED,
            ))
        })
    }

    /// Moves the calling thread into the namespace, for the rest of the thread's life.
    ///
    /// # Errors
    /// The kernel refuses (setns(2)).
    pub fn enter(&self) -> Result<(), Error> {
        move_into_link_name_space(self.as_fd(), Some(LinkNameSpaceType::Network)).map_err(|errno| {
            Error::new(format!("enter the network namespace {}", self.name), errno)
        })
    }
}

/// Number of namespaces that do not slow each other down under one procfs, and that are worth a mount of procfs of
/// their own.
const FEW: usize = 32;

const PANICKED: &str = "the thread panicked";

/// Opens a non-blocking listener in a namespace (in that of tare itself if none is given), on a thread that enters it
/// and ends.
///
/// # Errors
/// The namespace cannot be entered, or the address not be bound.
pub fn listen_in(namespace: Option<&Namespace>, address: SocketAddr) -> Result<TcpListener, Error> {
    let listen = || {
        namespace.map_or(Ok(()), Namespace::enter)?;
        TcpListener::bind(address)
            .and_then(|listener| listener.set_nonblocking(true).map(|()| listener))
            .map_err(|error| Error::new(format!("listen on {address}"), error))
    };
    std::thread::scope(|scope| scope.spawn(listen).join())
        .unwrap_or_else(|_| Err(Error::new(format!("listen on {address}"), PANICKED)))
}
