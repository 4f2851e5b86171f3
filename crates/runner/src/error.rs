//! Errors that end a run: a journal that cannot be written, or a pilot that cannot be estimated from. A network that
//! breaks is a result, not an error.

/// Error that ends a run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The journal cannot be read or written.
    #[error(transparent)]
    Journal(#[from] tare_record::journal::Error),
    /// The trials of the pilot, or of the run so far, cannot be estimated from.
    #[error(transparent)]
    Analysis(#[from] tare_analysis::Error),
}
