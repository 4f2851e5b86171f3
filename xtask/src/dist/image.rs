//! Image for Docker, Podman and containerd: the archive that the program writes of itself.

use super::Workspace;
use super::target::DistTarget;
use crate::process;
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::Path;

/// Largest size of the archive, bytes: that of the binary, and its frame.
const MOST_BYTES: u64 = 24_000_000;

/// Writes the archive of the image.
pub(super) fn write(workspace: &Workspace<'_>, target: &DistTarget, program: &Path) -> Result<()> {
    let path = workspace.named_output(target, "image.tar");
    let mut image = target.command(workspace.repository, program);
    process::output(image.args(["image", "--output"]).arg(&path))?;
    let size = fs::metadata(&path).context("tare image wrote no archive")?.len();
    if size > MOST_BYTES {
        bail!("the image of {} has {size} bytes, more than {MOST_BYTES}", target.triple);
    }
    Ok(())
}
