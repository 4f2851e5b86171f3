//! Datasets of databases: made once, cached, and copied for every trial.

mod cached_dataset;
pub(crate) mod dataset;
pub(crate) mod dataset_directory;
mod dataset_lock;

pub use cached_dataset::CachedDataset;
