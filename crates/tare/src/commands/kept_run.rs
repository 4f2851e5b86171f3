//! A run that was kept: in its directory, or in an archive of `tare bundle`.

use crate::exit::usage_error;
use anyhow::Context as _;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use tare_record::journal::Journal;

/// Reads the journal of a run from its directory, or from an archive, all of whose files are checked against their sums.
pub(crate) fn read_kept_run(path: &Path) -> anyhow::Result<Journal> {
    if !path.is_file() {
        return Journal::read(path).map_err(usage_error);
    }
    let shown = path.display();
    let archive =
        File::open(path).with_context(|| format!("cannot open {shown}")).map_err(usage_error)?;
    let journal = tare_report::open_bundle(BufReader::new(archive))
        .with_context(|| format!("cannot open {shown}"))
        .map_err(usage_error)?;
    Journal::parse(&*journal, path).map_err(usage_error)
}
