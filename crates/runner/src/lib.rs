//! Plan × network × traffic × observation, into the journal.
//!
//! [`run`] walks the plan's blocks in their order: it raises each network anew, runs all workloads over it, and keeps
//! every trial before the next one starts. It knows a [`Stage`], not places: [`live::Live`] is the one in which networks
//! are raised, [`probe::Remote`] the one whose other end is a listener, tests have their own. It decides how many blocks
//! there are once, after the pilot, and looks at no result after that.
#![forbid(unsafe_code)]

mod error;
pub mod live;
mod ports;
pub mod probe;
mod progress;
mod resume;
mod run;
mod stage;

pub use error::Error;
pub use progress::{Event, Progress, Quiet};
pub use resume::Start;
pub use run::run;
pub use stage::{Broken, Measured, Raised, Scene, Stage};
