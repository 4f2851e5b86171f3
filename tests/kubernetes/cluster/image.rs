//! Images of the cluster's nodes, as archives that containerd imports.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use support::ScratchDirectory;
use support::program::binary;

/// Writes the image of the program under test, without its debugging information.
pub(super) fn write_program_image(files: &ScratchDirectory, archive: &Path) {
    let program = files.path("tare");
    run(Command::new("strip").arg(binary()).arg("-o").arg(&program));
    run(Command::new(&program).args(["image", "--output"]).arg(archive));
}

/// Writes the image of a static program, without anything else. Its tag is `test.cluster/NAME:1`.
pub(super) fn write_static_image(name: &str, program: &Path, archive: &Path) {
    write_image(name, &[(program.to_owned(), PathBuf::from(name))], archive);
}

/// Writes the image of a mesh's proxy: the program, and nft with its libraries. Its tag is `test.cluster/mesh:1`.
pub(super) fn write_mesh_image(program: &Path, archive: &Path) {
    let nft = Path::new("/usr/sbin/nft");
    let output = Command::new("ldd").arg(nft).output().expect("the C library's tools are there");
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    let libraries = told.split_whitespace().map(Path::new).filter(|word| word.is_absolute());
    let own = |path: &Path| path.strip_prefix("/").expect("an absolute path").to_owned();
    let mut parts = vec![(program.to_owned(), PathBuf::from("cluster-addons"))];
    parts.extend(libraries.chain([nft]).map(|path| (path.to_owned(), own(path))));
    write_image("mesh", &parts, archive);
}

/// Writes an image of files, each with its path in the image. Its tag is `test.cluster/NAME:1`, and it runs the file of its
/// name, if there is one.
fn write_image(name: &str, parts: &[(PathBuf, PathBuf)], archive: &Path) {
    let files = ScratchDirectory::new();
    let layer = files.create_directory("layer", None);
    for (from, to) in parts {
        let to = layer.join(to);
        fs::create_dir_all(to.parent().expect("a directory")).expect("it is made");
        fs::copy(from, to).expect("it is there");
    }
    run(Command::new("tar").arg("-C").arg(&layer).arg("-cf").arg(files.path("layer.tar")).arg("."));
    let layer_sum = sha256(&files.path("layer.tar"));
    let configuration = serde_json::json!({
        "architecture": if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" },
        "os": "linux",
        "config": {"Entrypoint": [format!("/{name}")]},
        "rootfs": {"type": "layers", "diff_ids": [format!("sha256:{layer_sum}")]},
    });
    files.write_file("config.json", &configuration.to_string());
    let manifest = serde_json::json!([
        {"Config": "config.json", "RepoTags": [format!("test.cluster/{name}:1")], "Layers": ["layer.tar"]},
    ]);
    files.write_file("manifest.json", &manifest.to_string());
    let parts = ["manifest.json", "config.json", "layer.tar"];
    run(Command::new("tar").arg("-C").arg(files.root()).arg("-cf").arg(archive).args(parts));
}

fn sha256(file: &Path) -> String {
    let output = Command::new("sha256sum").arg(file).output().expect("coreutils are there");
    String::from_utf8_lossy(&output.stdout).split_whitespace().next().unwrap_or_default().to_owned()
}

fn run(command: &mut Command) {
    let output = command.output().expect("it starts");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}
