//! Documents for other programs: JSON, CSV, OpenMetrics, and samples as CSV.

pub(crate) mod csv;
pub(crate) mod json;
pub(crate) mod openmetrics;
pub(crate) mod samples;
