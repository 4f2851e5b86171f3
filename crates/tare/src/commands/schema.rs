//! The JSON schemas of everything that tare writes: kept in `docs/schema/`, against which tests check every output.

use crate::cli::SchemaArguments;
use crate::commands::{doctor, list};
use crate::exit::Exit;
use anyhow::Context as _;
use schemars::{Schema, schema_for};
use tare_traffic::probe::message;

/// Each schema with its file name.
fn schemas() -> Vec<(&'static str, Schema)> {
    vec![
        ("run.json", schema_for!(tare_record::Document)),
        ("compare.json", schema_for!(tare_record::Comparison)),
        ("journal-record.json", schema_for!(tare_record::journal::Record)),
        ("plan.json", schema_for!(tare_record::Plan)),
        ("study.json", schema_for!(tare_study::Study)),
        ("networks.json", schema_for!(list::Networks)),
        ("workloads.json", schema_for!(list::Workloads)),
        ("studies.json", schema_for!(list::Studies)),
        ("doctor.json", schema_for!(doctor::Diagnosis)),
        ("protocol-ask.json", schema_for!(message::Ask)),
        ("protocol-answer.json", schema_for!(message::Answer)),
    ]
}

/// Writes all schemas.
pub(crate) fn run(arguments: &SchemaArguments) -> anyhow::Result<Exit> {
    let directory = &arguments.directory;
    std::fs::create_dir_all(directory).with_context(|| format!("make {}", directory.display()))?;
    for (name, schema) in schemas() {
        let path = directory.join(name);
        let text = format!("{:#}\n", serde_json::to_value(&schema)?);
        std::fs::write(&path, text).with_context(|| format!("write {}", path.display()))?;
    }
    Ok(Exit::Done)
}
