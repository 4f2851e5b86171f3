//! Stand-ins: code of this project in place of systems that may be missing.

pub(crate) mod userland_proxy;
pub(crate) mod weave_sleeve;
