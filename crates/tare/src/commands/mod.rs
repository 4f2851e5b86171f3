//! Subcommands, one file each.

pub(crate) mod ask;
pub(crate) mod bundle;
#[cfg(feature = "docker")]
pub(crate) mod clean;
pub(crate) mod compare;
pub(crate) mod doctor;
pub(crate) mod explain;
#[cfg(feature = "docker")]
pub(crate) mod image;
pub(crate) mod internal;
#[cfg(feature = "kubernetes")]
pub(crate) mod kubernetes;
pub(crate) mod list;
pub(crate) mod listen;
pub(crate) mod manual;
pub(crate) mod probe;
pub(crate) mod report;
pub(crate) mod resume;
pub(crate) mod run;
#[cfg(feature = "generators")]
pub(crate) mod schema;
pub(crate) mod show;
#[cfg(feature = "generators")]
pub(crate) mod study_page;
pub(crate) mod up;

#[cfg(test)]
mod altered_journals;
mod kept_run;
pub(crate) mod measure;
mod page;
mod resource_demand;
