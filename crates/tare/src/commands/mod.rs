//! One file per subcommand.

pub(crate) mod bundle;
pub(crate) mod compare;
pub(crate) mod doctor;
pub(crate) mod hidden;
pub(crate) mod list;
pub(crate) mod listen;
pub(crate) mod manual;
pub(crate) mod probe;
pub(crate) mod report;
pub(crate) mod resume;
pub(crate) mod run;
pub(crate) mod schema;
pub(crate) mod show;
pub(crate) mod up;

mod measure;
mod page;
