//! `tare image`: writes an image of this program, for Docker and other readers of OCI archives.

use crate::cli::ImageArguments;
use crate::commands::measure::with_remedy;
use crate::exit::{CommandExit, usage_error};
use crate::output;
use crate::output_file::write_whole;
use anyhow::Context as _;
use std::io::{IsTerminal as _, Write as _, stdout};
use std::path::Path;

/// Writes the image to a file, or loads it into an engine.
pub(crate) fn run(arguments: &ImageArguments) -> anyhow::Result<CommandExit> {
    let tag = &arguments.tag;
    let archive = tare_docker::build_archive(tag).map_err(with_remedy)?;
    if arguments.load {
        let address = tare_docker::EngineAddress::from_environment()
            .map_err(|error| anyhow::anyhow!("{}: {}", error.reason, error.remedy))?;
        tare_docker::load(&address, archive).map_err(with_remedy)?;
        output::print_status(&format!("tare: loaded {tag} into {address}"));
    } else if arguments.output == Path::new("-") {
        if stdout().is_terminal() {
            return Err(usage_error(anyhow::anyhow!(
                "cannot write the image: standard output is a terminal: pipe it to `docker load`, or use --output or --load"
            )));
        }
        stdout().write_all(&archive).context("cannot write the image to standard output")?;
    } else {
        let path = &arguments.output;
        write_whole(path, &archive).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(CommandExit::Done)
}
