//! `tare ask`: questions as people ask them, each with a study that measures the answer.

use crate::cli::{AskArguments, ListArguments, ListSubject, RunArguments};
use crate::commands::{list, run};
use crate::exit::{CommandExit, usage_error};

/// Lists the questions, or measures the answer to one.
pub(crate) fn run(arguments: AskArguments) -> anyhow::Result<CommandExit> {
    let AskArguments { question, budget, out, html, json, load_modules } = arguments;
    let Some(question) = question else {
        return list::run(&ListArguments { what: ListSubject::Questions, json, markdown: false });
    };
    if tare_study::ANSWERS.iter().all(|answer| answer.name != question) {
        let known: Vec<&str> = tare_study::ANSWERS.iter().map(|answer| answer.name).collect();
        return Err(usage_error(anyhow::anyhow!(
            "unknown question `{question}`: expected one of {}",
            known.join(", ")
        )));
    }
    run::run(RunArguments {
        study: Some(question),
        budget,
        out,
        html,
        json,
        load_modules,
        ..RunArguments::default()
    })
}
