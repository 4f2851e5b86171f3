//! `tare run --dry-run`: prints the plan, or the objects that the run makes in a cluster, and measures nothing.

use crate::catalogue::BuildCatalogue;
use crate::exit::{CommandExit, usage_error};
use crate::foreign_request::ForeignRequest;
use crate::kubernetes::{ClusterSupport, ManifestFormat};
use crate::output;
use std::path::Path;
use tare_record::{Phase, Plan, SkippedNetwork};
use tare_study::block_order::order_block;

/// Prints the plan. The command fails if a network of it cannot run here.
pub(super) fn print_plan(
    plan: &Plan,
    asked: &[ForeignRequest],
    json: bool,
) -> anyhow::Result<CommandExit> {
    output::print(&plan_text(plan, asked, json)?)?;
    Ok(if plan.refused.is_empty() { CommandExit::Done } else { CommandExit::Failed })
}

/// Returns the format of printed objects: that of `-o`, which names no directory where nothing is measured, or that of
/// `--json`.
pub(super) fn manifest_format(out: Option<&Path>, json: bool) -> anyhow::Result<ManifestFormat> {
    match out.map(|out| out.to_string_lossy()).as_deref() {
        None if json => Ok(ManifestFormat::Json),
        None | Some("yaml") => Ok(ManifestFormat::Yaml),
        Some("json") => Ok(ManifestFormat::Json),
        Some(other) => Err(usage_error(anyhow::anyhow!(
            "invalid value `{other}` for -o with --dry-run=client: expected yaml or json"
        ))),
    }
}

/// Prints the objects that a run makes in a cluster. The command fails if a network of the cluster cannot run.
pub(super) fn print_manifest(
    plan: &Plan,
    cluster: &ClusterSupport,
    everything: &BuildCatalogue,
    format: ManifestFormat,
) -> anyhow::Result<CommandExit> {
    let skipped: Vec<&SkippedNetwork> =
        plan.skipped.iter().filter(|one| cluster.owns(&one.network)).collect();
    for SkippedNetwork { network, reason, remedy, .. } in &skipped {
        output::print_status(&format!("tare: {network} cannot run: {reason}: {remedy}"));
    }
    if !plan.networks.iter().any(|entry| cluster.owns(&entry.network)) {
        return if skipped.is_empty() { Err(without_cluster()) } else { Ok(CommandExit::Failed) };
    }
    output::print(&cluster.run_manifest(plan, &everything.workloads, format)?)?;
    Ok(if skipped.is_empty() { CommandExit::Done } else { CommandExit::Failed })
}

fn without_cluster() -> anyhow::Error {
    usage_error(anyhow::anyhow!(
        "cannot print objects: no network of the plan is in a cluster: use --network k8s:pod, or another of `tare list networks`"
    ))
}

/// Formats the plan for display or as JSON, with the order of the first blocks and what it needs permission for.
fn plan_text(plan: &Plan, asked: &[ForeignRequest], json: bool) -> anyhow::Result<String> {
    if json {
        return Ok(serde_json::to_string_pretty(plan)?);
    }
    let mut text =
        format!("study {}, seed {}, baseline {}\n", plan.study, plan.seed, plan.baseline);
    for workload in &plan.workloads {
        let metrics: Vec<_> = workload.metrics.iter().map(|metric| metric.name()).collect();
        text.push_str(&format!(
            "workload {}, {}: {}\n",
            workload.name,
            workload.duration,
            metrics.join(", ")
        ));
    }
    for number in 0..3 {
        let turns = order_block(plan, Phase::Main, number);
        let order: Vec<_> =
            turns.iter().map(|turn| plan.networks[turn.network].label.as_str()).collect();
        text.push_str(&format!("block {number}: {}\n", order.join(" ")));
    }
    for request in asked {
        text.push_str(&format!("needs --allow-exec: {request}\n"));
    }
    for finding in &plan.findings {
        text.push_str(&format!("note: {finding}\n"));
    }
    for skipped in SkippedNetwork::group_by_reason(&plan.skipped) {
        text.push_str(&format!(
            "skipped {}: {}: {}\n",
            skipped.network, skipped.reason, skipped.remedy
        ));
    }
    Ok(text)
}
