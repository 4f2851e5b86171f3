//! JSON schemas of everything that tare writes. They are stored in `docs/schema/`, and tests validate every output
//! against them.

use crate::cli::SchemaArguments;
use crate::commands::{doctor, list};
use crate::exit::CommandExit;
use anyhow::Context as _;
use schemars::{Schema, schema_for};
use tare_probe::message;

/// Returns each schema with its file name.
fn schemas() -> Vec<(&'static str, Schema)> {
    vec![
        ("run.json", schema_for!(tare_record::Document)),
        ("compare.json", schema_for!(tare_record::Comparison)),
        ("journal-record.json", schema_for!(tare_record::journal::Record)),
        ("plan.json", schema_for!(tare_record::Plan)),
        ("study.json", schema_for!(tare_study::Study)),
        ("networks.json", schema_for!(list::NetworkList)),
        ("workloads.json", schema_for!(list::WorkloadList)),
        ("studies.json", schema_for!(list::StudyList)),
        ("questions.json", schema_for!(list::QuestionList)),
        ("doctor.json", schema_for!(doctor::Diagnosis)),
        ("protocol-ask.json", schema_for!(message::ClientMessage)),
        ("protocol-answer.json", schema_for!(message::ListenerMessage)),
    ]
}

/// Writes all schemas.
pub(crate) fn run(arguments: &SchemaArguments) -> anyhow::Result<CommandExit> {
    let directory = &arguments.directory;
    std::fs::create_dir_all(directory)
        .with_context(|| format!("cannot create {}", directory.display()))?;
    for (name, schema) in schemas() {
        let path = directory.join(name);
        let text = format!("{:#}\n", serde_json::to_value(&schema)?);
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(CommandExit::Done)
}
