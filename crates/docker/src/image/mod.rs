//! The image that containers run: tare's own static binary and nothing else, made on the spot.

mod archive;
mod elf;
mod tar;

pub(crate) use archive::{PROGRAM, architecture};

use crate::address::Address;
use crate::engine::Engine;
use crate::label::{RUN, RunId};
use archive::Recipe;
use bollard::body_full;
use bollard::query_parameters::{ImportImageOptionsBuilder, UploadToContainerOptionsBuilder};
use elf::Linkage;
use futures_util::TryStreamExt as _;
use std::collections::BTreeMap;
use tare_network::Error;

/// The file that this process was started from, even when it was replaced meanwhile.
const SELF: &str = "/proc/self/exe";

/// The program that this process runs, checked to run by itself in any container.
pub(crate) fn own_program() -> Result<Vec<u8>, Error> {
    const WHAT: &str = "make an image of this tare";
    let program = std::fs::read(SELF).map_err(|error| Error::new(WHAT, error))?;
    let why = match elf::linkage(&program) {
        Some(Linkage::Static) => return Ok(program),
        Some(Linkage::Dynamic(loader)) => {
            format!("it is linked to {loader}, which an empty image does not have")
        }
        None => "it is no 64-bit ELF file".to_owned(),
    };
    Err(Error::new(WHAT, why).with_remedy("use the static binary, as `make build` makes it"))
}

/// An archive of an image for `docker load`, under this tag.
///
/// # Errors
/// When this program is not static.
pub fn archive(tag: &str) -> Result<Vec<u8>, Error> {
    Ok(archived(&own_program()?, tag, &BTreeMap::new()))
}

fn archived(program: &[u8], tag: &str, labels: &BTreeMap<String, String>) -> Vec<u8> {
    archive::archive(&Recipe { program, tag, architecture: architecture(), labels })
}

/// The tag of a run's own image.
pub(crate) fn tag_of(run: &RunId) -> String {
    format!("tare:run-{run}")
}

/// Loads a run's own image into an engine.
pub(crate) fn load_for(engine: &Engine, run: &RunId) -> Result<(), Error> {
    let labels = BTreeMap::from([(RUN.to_owned(), run.to_string())]);
    load(engine, archived(&own_program()?, &tag_of(run), &labels))
}

/// Loads an archive of an image into the engine at this address.
///
/// # Errors
/// When the engine cannot be reached, or does not take it.
pub fn load_into(address: &Address, archive: Vec<u8>) -> Result<(), Error> {
    load(&Engine::connect(address)?, archive)
}

/// Loads an archive into an engine.
pub(crate) fn load(engine: &Engine, archive: Vec<u8>) -> Result<(), Error> {
    let options = ImportImageOptionsBuilder::default().quiet(true).build();
    let loading = engine.docker().import_image(options, body_full(archive.into()), None);
    engine
        .get("load tare's image into the Docker Engine", loading.try_collect::<Vec<_>>())
        .map(drop)
}

/// Puts the program into a container that was created from another image.
pub(crate) async fn upload(
    docker: &bollard::Docker,
    container: &str,
    program: &[u8],
) -> Result<(), bollard::errors::Error> {
    let options = UploadToContainerOptionsBuilder::default().path("/").build();
    let archive = archive::program(program);
    docker.upload_to_container(container, Some(options), body_full(archive.into())).await
}
