//! A network namespace, held by a descriptor and by nothing else.
//!
//! Each is made by a passing thread that enters it, sets it up, and opens what must be opened from within. The netlink
//! socket keeps its namespace for life, so nobody has to enter it again.

use crate::netlink::{Counted, Device, Queue, Request, Socket};
use crate::parallel;
use crate::settings::Settings;
use crate::sys;
use crate::wiring::{Setting, Sysctl};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixDatagram;
use std::sync::{Mutex, PoisonError};
use tare_network::Error;

/// A network namespace of the lab. It ends with its last descriptor and its last program.
pub(crate) struct Namespace {
    name: String,
    descriptor: OwnedFd,
    socket: Mutex<Socket>,
}

impl AsFd for Namespace {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

impl Namespace {
    /// Makes one namespace for each name, with its settings; in order.
    pub(crate) fn make_all(plans: &[(&str, &[Sysctl])]) -> Result<Vec<Self>, Error> {
        if plans.len() <= FEW {
            let settings = Settings::shared();
            return parallel::each(plans, |plan| Self::make(plan, &settings));
        }
        let batches: Vec<&[_]> = plans.chunks(FEW).collect();
        let made = parallel::each(&batches, |batch| {
            let settings = Settings::own();
            batch.iter().map(|plan| Self::make(plan, &settings)).collect::<Result<Vec<_>, _>>()
        })?;
        Ok(made.into_iter().flatten().collect())
    }

    /// Makes a namespace, and leaves the calling thread in it.
    fn make(&(name, sysctls): &(&str, &[Sysctl]), settings: &Settings) -> Result<Self, Error> {
        let what = || format!("make the network namespace {name}");
        sys::unshare_network().map_err(|errno| Error::new(what(), errno))?;
        let descriptor = fs::File::open("/proc/thread-self/ns/net")
            .map_err(|error| Error::new(what(), error))?
            .into();
        let mut socket = Socket::open()?;
        socket.execute(&[Request::up(name, "lo", LOOPBACK_INDEX)])?;
        for Sysctl { key, value, presence } in sysctls {
            settings.write(name, key, value, *presence)?;
        }
        Ok(Self { name: name.to_owned(), descriptor, socket: Mutex::new(socket) })
    }

    /// Its name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Carries out requests in it.
    pub(crate) fn execute(&self, requests: &[Request]) -> Result<(), Error> {
        self.socket.lock().unwrap_or_else(PoisonError::into_inner).execute(requests)
    }

    /// A device in it; nothing where there is none of this name.
    pub(crate) fn device(&self, name: &str) -> Result<Option<Device>, Error> {
        self.socket.lock().unwrap_or_else(PoisonError::into_inner).device(name)
    }

    /// The counters of all devices in it, and of the queues in front of them.
    pub(crate) fn counted(&self) -> Result<(Vec<Counted>, Vec<Queue>), Error> {
        let mut socket = self.socket.lock().unwrap_or_else(PoisonError::into_inner);
        Ok((socket.devices()?, socket.queues()?))
    }

    /// Has the kernel take note of the links of these devices now.
    pub(crate) fn note_links(&self, devices: &[&str]) -> Result<(), Error> {
        self.within(|| {
            let socket = UnixDatagram::unbound()
                .map_err(|error| Error::new("open a socket to look at links by", error))?;
            for device in devices {
                // A kind of device that does not say is taken note of in the kernel's own time.
                let _ = sys::ethtool::note_link(&socket, device);
            }
            Ok(())
        })
    }

    /// Makes settings of devices that are in it by now.
    pub(crate) fn set(&self, settings: &[Setting]) -> Result<(), Error> {
        self.within(|| {
            settings.iter().try_for_each(|Setting { key, value, presence, .. }| {
                Settings::shared().write(&self.name, key, value, *presence)
            })
        })
    }

    /// Does something in it, by a thread that enters it and ends.
    pub(crate) fn within<T: Send>(
        &self,
        work: impl FnOnce() -> Result<T, Error> + Send,
    ) -> Result<T, Error> {
        let enter_and_work = || {
            self.enter()?;
            work()
        };
        std::thread::scope(|scope| scope.spawn(enter_and_work).join()).unwrap_or_else(|_| {
            Err(Error::new(format!("work in the network namespace {}", self.name), PANICKED))
        })
    }

    /// Moves the calling thread into it, for the rest of that thread's life.
    pub(crate) fn enter(&self) -> Result<(), Error> {
        move_into_link_name_space(self.as_fd(), Some(LinkNameSpaceType::Network)).map_err(|errno| {
            Error::new(format!("enter the network namespace {}", self.name), errno)
        })
    }
}

/// So many namespaces do not stand in each other's way, and are worth a mount of procfs.
const FEW: usize = 32;

/// The loopback device is the first of every network namespace.
const LOOPBACK_INDEX: u32 = 1;

const PANICKED: &str = "its thread panicked";

/// Opens a listener that does not wait, in a namespace (in the caller's own where there is none), from a thread that enters it and ends.
pub(crate) fn listen_in(
    namespace: Option<&Namespace>,
    address: SocketAddr,
) -> Result<TcpListener, Error> {
    let listen = || {
        namespace.map_or(Ok(()), Namespace::enter)?;
        TcpListener::bind(address)
            .and_then(|listener| listener.set_nonblocking(true).map(|()| listener))
            .map_err(|error| Error::new(format!("listen on {address}"), error))
    };
    std::thread::scope(|scope| scope.spawn(listen).join())
        .unwrap_or_else(|_| Err(Error::new("listen", "the thread panicked")))
}
