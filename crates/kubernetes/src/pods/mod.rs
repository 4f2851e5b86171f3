//! Pods by the API: listed and watched, started, deleted, and what their status and the cluster's warnings tell of them.

mod listing;
mod start;
pub(crate) mod state;
mod warnings;

pub(crate) use listing::{PARALLEL_REQUESTS, delete_pods};
pub(crate) use start::start_pods;
