//! What is to be measured: from a study as somebody wrote it, to a plan that can be run.
//!
//! A [`Study`] is what was written, in a TOML file or by flags; each key may be missing. Layers of it are laid over
//! one another ([`Study::overlaid`]): the built-in study, `--quick` or [`scaled`](scaled()), then the flags. [`Study::plan`] validates and
//! expands the result against what this build knows ([`Catalogue`]) into a [`tare_record::Plan`]. From the plan follow
//! the order of every block ([`order::block`]) and, after a pilot, how many blocks there are ([`sizing::decide`]).
#![forbid(unsafe_code)]

mod ablate;
mod builtin;
mod catalogue;
mod choose;
mod error;
mod expand;
mod layer;
mod nodes;
pub mod order;
mod published;
mod runs;
mod scaled;
mod shapes;
pub mod sizing;
mod units;
mod workloads;

pub use builtin::{BUILTIN, Builtin, builtin, quick};
pub use catalogue::Catalogue;
pub use error::Error;
pub use layer::{
    Method, Origin, ScaledWorkload, ShapeLists, StandIn, Stopping, Study, WorkloadStudy,
};
pub use published::{FigureStudy, PublishedTable};
pub use runs::RunStudy;
pub use scaled::scaled;
pub use units::{Percent, Span, WarmUpSpan};
