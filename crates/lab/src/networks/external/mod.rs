//! Networks that programs of others set up: CNI plugins, and programs of the user.

pub(crate) mod cni;
pub(crate) mod cni_published;
pub(crate) mod exec;
#[cfg(fuzzing)]
pub(crate) mod fuzzing;
pub(crate) mod namespaces;
