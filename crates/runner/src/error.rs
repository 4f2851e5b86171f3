//! What ends a run: a journal that cannot be written, and nothing else. A network that breaks is a result.

/// Why a run could not go on.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The journal cannot be read or written.
    #[error(transparent)]
    Journal(#[from] tare_record::journal::Error),
    /// What the pilot measured cannot be estimated from.
    #[error(transparent)]
    Analysis(#[from] tare_analysis::Error),
}
