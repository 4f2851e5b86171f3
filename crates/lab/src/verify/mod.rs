//! Verification: packets take the intended path, and are encrypted where they should be.

pub(crate) mod capture;
pub(crate) mod carriers;
pub(crate) mod connectivity;
pub(crate) mod path_proof;
