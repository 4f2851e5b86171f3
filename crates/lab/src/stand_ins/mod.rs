//! Stand-ins: code of this project in place of systems that may be missing.

pub(crate) mod process_name;
pub(crate) mod userland_proxy;
pub(crate) mod weave_sleeve;
