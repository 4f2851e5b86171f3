//! Observation of the machine: its state before a run, and its activity during a run.
//!
//! A figure is worth as much as the knowledge of the machine that gave it. Before a run, [`environment`] reads
//! everything about the machine that may move a figure, [`doctor`] reports problems of the machine, and [`headroom`]
//! checks that a run fits. During a run, [`host_activity`] records the activity of the CPUs and the share of it that
//! was not tare's, [`presence`] detects other tare runs on the machine, and [`limits`] keeps a run that goes wrong from
//! taking the machine with it.
//!
//! Everything here reads; only [`limits`] creates something (a control group), and only [`presence`] holds something (a
//! socket's name). A value that cannot be read on a machine is left out, never guessed.

mod core_counters;
mod cpu_quota;
pub mod doctor;
pub mod environment;
mod files;
mod frequency;
#[cfg(fuzzing)]
pub mod fuzzing;
pub mod headroom;
pub mod host_activity;
mod kept_files;
pub mod limits;
mod meminfo;
mod memory;
pub mod perf_counters;
pub mod presence;
mod proc_stat;
mod process_times;
mod sampler;
pub mod sliced_activity;
mod sys;
mod thermal_throttling;
mod whole_trial;
