//! Archive of an image that is both an OCI image layout and the format that `docker load` has always taken.
//!
//! Sources: the OCI image specification (image-layout.md, manifest.md, config.md), and moby's image specification v1.2
//! for `manifest.json`.

use super::tar::TarArchive;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// Path of the program in the image.
pub const PROGRAM: &str = "/tare";

/// Contents of an image.
#[derive(Clone, Debug)]
pub(crate) struct ImageContents<'a> {
    /// Bytes of the static program.
    pub(crate) program: &'a [u8],
    /// Name and tag of the image.
    pub(crate) tag: &'a str,
    /// Machine of the image, as Docker names it: `amd64`, `arm64`.
    pub(crate) architecture: &'a str,
    /// Labels of the image.
    pub(crate) labels: &'a BTreeMap<String, String>,
}

/// Returns the machine for which this program was built, as Docker names it.
pub(crate) fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

/// File of the archive that is named after the digest of its content.
struct Blob {
    digest: String,
    content: Vec<u8>,
}

impl Blob {
    fn new(content: Vec<u8>) -> Self {
        let digest = Sha256::digest(&content).iter().map(|byte| format!("{byte:02x}")).collect();
        Self { digest, content }
    }

    fn json(value: &Value) -> Self {
        Self::new(value.to_string().into_bytes())
    }

    fn path(&self) -> String {
        format!("blobs/sha256/{}", self.digest)
    }

    fn descriptor(&self, kind: &str) -> Value {
        json!({
            "mediaType": format!("application/vnd.oci.image.{kind}"),
            "digest": format!("sha256:{}", self.digest),
            "size": self.content.len(),
        })
    }
}

/// Builds the archive of an image.
pub(crate) fn image_archive(recipe: &ImageContents<'_>) -> Vec<u8> {
    let layer = Blob::new(image_layer(recipe.program));
    let config = Blob::json(&json!({
        "architecture": recipe.architecture,
        "os": "linux",
        "created": "1970-01-01T00:00:00Z",
        "config": {
            "Entrypoint": [PROGRAM],
            "Cmd": ["--help"],
            "Env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/"],
            "WorkingDir": "/",
            "Labels": recipe.labels,
        },
        "rootfs": { "type": "layers", "diff_ids": [format!("sha256:{}", layer.digest)] },
        "history": [{ "created": "1970-01-01T00:00:00Z", "created_by": "tare image" }],
    }));
    let manifest = Blob::json(&json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": config.descriptor("config.v1+json"),
        "layers": [layer.descriptor("layer.v1.tar")],
    }));
    let mut entry = manifest.descriptor("manifest.v1+json");
    entry["annotations"] = json!({
        "io.containerd.image.name": qualified_tag(recipe.tag),
        "org.opencontainers.image.ref.name": recipe.tag.rsplit(':').next(),
    });
    entry["platform"] = json!({ "architecture": recipe.architecture, "os": "linux" });
    let index = json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.index.v1+json",
        "manifests": [entry],
    });
    let docker = json!([{
        "Config": config.path(), "RepoTags": [recipe.tag], "Layers": [layer.path()],
    }]);
    pack(&[&layer, &config, &manifest], &index, &docker)
}

fn pack(blobs: &[&Blob], index: &Value, docker: &Value) -> Vec<u8> {
    let mut archive = TarArchive::default();
    archive.directory("blobs/", 0o755);
    archive.directory("blobs/sha256/", 0o755);
    for blob in blobs {
        archive.file(&blob.path(), 0o644, &blob.content);
    }
    archive.file("index.json", 0o644, index.to_string().as_bytes());
    archive.file("manifest.json", 0o644, docker.to_string().as_bytes());
    archive.file(
        "oci-layout",
        0o644,
        json!({ "imageLayoutVersion": "1.0.0" }).to_string().as_bytes(),
    );
    archive.finish()
}

/// Builds the image's one layer: the program, and a directory for temporary files.
fn image_layer(program: &[u8]) -> Vec<u8> {
    let mut layer = TarArchive::default();
    layer.directory("tmp/", 0o1777);
    layer.file(PROGRAM.trim_start_matches('/'), 0o755, program);
    layer.finish()
}

/// Builds an archive of the program alone, to be put into a container of another image.
pub(crate) fn program_archive(program: &[u8]) -> Vec<u8> {
    let mut archive = TarArchive::default();
    archive.file(PROGRAM.trim_start_matches('/'), 0o755, program);
    archive.finish()
}

/// Returns a tag with the registry that Docker adds if none is named.
fn qualified_tag(tag: &str) -> String {
    if tag.contains('/') { tag.to_owned() } else { format!("docker.io/library/{tag}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn every_digest_is_that_of_its_content() {
        let labels = BTreeMap::from([("tare.run".to_owned(), "1".to_owned())]);
        let recipe = ImageContents {
            program: b"program",
            tag: "tare:test",
            architecture: architecture(),
            labels: &labels,
        };
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("image.tar");
        std::fs::write(&file, image_archive(&recipe)).unwrap();
        let unpacked = Command::new("tar").arg("-xf").arg(&file).current_dir(&directory).status();
        assert!(unpacked.unwrap().success());
        let read = |path: &str| std::fs::read(directory.path().join(path)).unwrap();
        let value = |path: &str| serde_json::from_slice::<Value>(&read(path)).unwrap();
        let blob = |descriptor: &Value| {
            let digest = descriptor["digest"].as_str().unwrap().to_owned();
            let content = read(&digest.replace("sha256:", "blobs/sha256/"));
            assert_eq!(format!("sha256:{}", Blob::new(content.clone()).digest), digest);
            assert_eq!(descriptor["size"], content.len());
            content
        };
        let manifest = blob(&value("index.json")["manifests"][0]);
        let manifest: Value = serde_json::from_slice(&manifest).unwrap();
        let layer = blob(&manifest["layers"][0]);
        let config: Value = serde_json::from_slice(&blob(&manifest["config"])).unwrap();
        assert_eq!(config["config"]["Labels"]["tare.run"], "1");
        let layer = Blob::new(layer);
        assert_eq!(config["rootfs"]["diff_ids"][0], format!("sha256:{}", layer.digest));
        let docker = value("manifest.json");
        assert_eq!(docker[0]["RepoTags"][0], "tare:test");
        assert_eq!(docker[0]["Layers"][0], layer.path());
        assert_eq!(
            image_archive(&recipe),
            image_archive(&recipe),
            "the same content, the same archive"
        );
    }
}
