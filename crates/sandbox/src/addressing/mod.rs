//! Addresses, routes, neighbours and forwarding entries, each kind in one file that holds both back ends: the request
//! to the kernel (rtnetlink(7)) and the command that does the same (ip(8), bridge(8)).
//!
//! A `place` is the name of the network namespace in which a request is carried out or a command is run.

mod address;
mod fdb_entry;
mod neighbour;
mod route;
mod vxlan_fdb_entry;

pub use address::NewAddress;
pub use fdb_entry::NewFdbEntry;
pub use neighbour::NewNeighbour;
pub use route::{NewRoute, RouteDestination, RouteKind};
pub use vxlan_fdb_entry::NewVxlanFdbEntry;
