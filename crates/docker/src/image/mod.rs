//! Image of the containers: tare's own static binary and nothing else, built on the spot.

mod archive;
pub(crate) mod elf;
mod tar;

pub use archive::PROGRAM;
pub(crate) use archive::architecture;

use crate::address::EngineAddress;
use crate::engine::Engine;
use crate::label::RunId;
use archive::ImageContents;
use bollard::body_full;
use bollard::query_parameters::{ImportImageOptionsBuilder, UploadToContainerOptionsBuilder};
use elf::ElfLinkage;
use futures_util::TryStreamExt as _;
use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::Read as _;
use std::sync::OnceLock;
use tare_network::Error;

/// The file from which this process was started, even if it has been replaced since.
const OWN_EXECUTABLE: &str = "/proc/self/exe";

/// Bytes at the beginning of a program that hold its headers and the name of its loader.
const HEADERS: u64 = 64 << 10;

/// Checks that the program of this process is static, so that it runs in any container. Its headers are read once.
///
/// # Errors
/// It is not.
pub(crate) fn check_own_program() -> Result<(), Error> {
    static CHECKED: OnceLock<Result<(), Error>> = OnceLock::new();
    CHECKED.get_or_init(check_linkage).clone()
}

fn check_linkage() -> Result<(), Error> {
    const WHAT: &str = "build an image of this tare binary";
    let mut headers = Vec::new();
    let program = File::open(OWN_EXECUTABLE);
    program
        .and_then(|file| file.take(HEADERS).read_to_end(&mut headers))
        .map_err(|error| Error::new(WHAT, error))?;
    let why = match elf::linkage(&headers) {
        Some(ElfLinkage::Static) => return Ok(()),
        Some(ElfLinkage::Dynamic(loader)) => {
            format!("the binary is linked to {loader}, which an empty image does not contain")
        }
        None => "the binary is not a 64-bit ELF file".to_owned(),
    };
    Err(Error::new(WHAT, why).with_remedy("use the static binary that `make build` builds"))
}

/// Reads the program of this process, which must be static.
///
/// # Errors
/// It is not, or cannot be read.
pub(crate) fn own_program() -> Result<Vec<u8>, Error> {
    check_own_program()?;
    std::fs::read(OWN_EXECUTABLE).map_err(|error| Error::new("read this tare binary", error))
}

/// Builds an archive of an image for `docker load`, with this tag.
///
/// # Errors
/// Fails if this program is not static.
pub fn build_archive(tag: &str) -> Result<Vec<u8>, Error> {
    Ok(image_archive(&own_program()?, tag, &BTreeMap::new()))
}

fn image_archive(program: &[u8], tag: &str, labels: &BTreeMap<String, String>) -> Vec<u8> {
    archive::image_archive(&ImageContents { program, tag, architecture: architecture(), labels })
}

/// Returns the tag of a run's own image.
pub(crate) fn run_image_tag(run: impl fmt::Display) -> String {
    format!("tare:run-{run}")
}

/// Loads a run's own image into an engine.
///
/// # Errors
/// The engine refuses the image.
pub fn load_run_image(engine: &Engine, run: &RunId) -> Result<(), Error> {
    let labels = run.labels().into_iter().collect();
    load_archive(engine, image_archive(&own_program()?, &run_image_tag(run), &labels))
}

/// Loads an archive of an image into the engine at this address.
///
/// # Errors
/// Fails if the engine cannot be reached, or refuses the archive.
pub fn load_into(address: &EngineAddress, archive: Vec<u8>) -> Result<(), Error> {
    load_archive(&Engine::connect(address)?, archive)
}

/// Loads an archive of an image into an engine.
pub(crate) fn load_archive(engine: &Engine, archive: Vec<u8>) -> Result<(), Error> {
    let options = ImportImageOptionsBuilder::default().quiet(true).build();
    let loading = engine.docker().import_image(options, body_full(archive.into()), None);
    engine
        .request("load tare's image into the Docker Engine", loading.try_collect::<Vec<_>>())
        .map(drop)
}

/// Puts the program into a container that was created from another image.
pub(crate) async fn upload_program(
    docker: &bollard::Docker,
    container: &str,
    program: &[u8],
) -> Result<(), bollard::errors::Error> {
    let options = UploadToContainerOptionsBuilder::default().path("/").build();
    let archive = archive::program_archive(program);
    docker.upload_to_container(container, Some(options), body_full(archive.into())).await
}
