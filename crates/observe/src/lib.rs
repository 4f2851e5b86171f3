//! What the machine was, and what it did meanwhile.
//!
//! A figure is worth as much as what is known of the machine that gave it. Before a run, [`environment`] reads
//! everything about the machine that may move a figure, [`doctor`] says what is wrong with it and [`headroom`]
//! whether a run fits; during a run, [`meanwhile`] says what the CPUs did and how much of it was not ours,
//! [`presence`] whether another tare measures beside this one, and [`limits`] keeps a run that goes wrong from
//! taking the machine with it.
//!
//! Everything here reads; only [`limits`] makes something (a control group), and only [`presence`] holds something
//! (a socket's name). What cannot be read on a machine is left out, never guessed.

mod cores;
pub mod doctor;
pub mod environment;
mod files;
mod frequency;
pub mod hardware;
pub mod headroom;
pub mod limits;
pub mod meanwhile;
mod memory;
pub mod presence;
mod quota;
mod sampler;
mod sys;
mod throttle;
mod times;
