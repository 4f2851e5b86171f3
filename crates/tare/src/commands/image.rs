//! `tare image`: an image of this very program, for Docker and whatever reads OCI archives.

use crate::cli::ImageArguments;
use crate::commands::measure::with_remedy;
use crate::exit::{Exit, usage};
use crate::out;
use anyhow::Context as _;
use std::io::{IsTerminal as _, Write as _, stdout};
use std::path::Path;

/// Writes the image to a file, or loads it.
pub(crate) fn run(arguments: &ImageArguments) -> anyhow::Result<Exit> {
    let tag = &arguments.tag;
    let archive = tare_docker::archive(tag).map_err(with_remedy)?;
    if arguments.load {
        let address = tare_docker::Address::from_environment()
            .map_err(|error| anyhow::anyhow!("{}: {}", error.reason, error.remedy))?;
        tare_docker::load(&address, archive).map_err(with_remedy)?;
        out::say(&format!("tare: loaded {tag} into {address}"));
    } else if arguments.output == Path::new("-") {
        if stdout().is_terminal() {
            return Err(usage(anyhow::anyhow!(
                "an image is nothing for a terminal: pipe it to `docker load`, or use --output or --load"
            )));
        }
        stdout().write_all(&archive).context("write the image")?;
    } else {
        let path = &arguments.output;
        std::fs::write(path, &archive)
            .inspect_err(|_| drop(std::fs::remove_file(path)))
            .with_context(|| format!("write {}", path.display()))?;
    }
    Ok(Exit::Done)
}
