//! Studies and plans: from a study as written by a user to a plan that can be run.
//!
//! A [`Study`] is the content of a TOML file or of flags; each key may be missing. Layers of it are overlaid
//! ([`Study::overlaid`]): the built-in study, then `--quick` or [`scaled`](scaled()), then the flags. [`Study::plan`]
//! validates the result and expands it, with the networks and workloads of this build ([`Catalogue`]), into a
//! [`tare_record::Plan`]. From the plan follow the order of every block ([`block_order::order_block`]) and, after a
//! pilot, the number of blocks ([`sizing::decide`]).
#![forbid(unsafe_code)]

mod ablate;
mod answers;
pub mod block_order;
mod builtin;
mod builtin_study;
mod catalogue;
mod error;
mod expand;
mod label;
mod layer;
mod network_selection;
mod nodes;
mod published;
mod published_table;
mod scaled;
mod section_spec;
mod sections;
mod shapes;
pub mod sizing;
pub mod slice_choice;
mod spec;
#[cfg(test)]
mod test_data;
mod units;
mod weave;
mod workloads;

pub use answers::ANSWERS;
pub use builtin::{BUILTIN, builtin_study, quick};
pub use builtin_study::BuiltinStudy;
pub use catalogue::Catalogue;
pub use error::Error;
pub use label::network_name;
pub use layer::Study;
pub use published_table::{FigureSpec, PublishedTable};
pub use scaled::scaled;
pub use section_spec::StudySection;
pub use spec::{
    NameOrigin, ScaledStandIn, ScaledWorkload, ShapeLists, StandIn, StoppingRule, StudyMethod,
    WorkloadSpec, WovenMethod,
};
pub use units::{Percent, SliceLength, TimeSpan, WarmUpSpan};
pub use workloads::check_variants;
