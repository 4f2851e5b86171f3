//! Image, loaded into an engine of the tests' own.

use crate::files::package;
use support::engine::Engine;
use support::shared::SharedResource as _;

#[test]
fn the_image_is_loaded_runs_and_goes() {
    let engine = Engine::shared();
    let before = engine.inventory();
    let archive =
        package("tare-", &format!("-{}-unknown-linux-musl.image.tar", std::env::consts::ARCH));
    let said = engine.docker(&["load", "--input", archive.to_str().expect("an ASCII path")]);
    let image = said.rsplit(' ').next().expect("the name of the image").to_owned();
    assert!(image.starts_with("tare:"), "{said}");
    assert!(engine.docker(&["run", "--rm", &image, "--version"]).starts_with("tare "));
    let networks = engine.docker(&["run", "--rm", &image, "list", "networks"]);
    assert!(networks.contains("bridge"), "{networks}");
    engine.docker(&["image", "rm", &image]);
    assert_eq!(engine.inventory(), before);
}
