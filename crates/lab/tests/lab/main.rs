//! The lab's tests, on the real kernel.
//!
//! A lab is entered once, by a process with a single thread, and starts programs by running that process's own
//! executable. So this program has no test harness around it: it is at once the harness (without arguments), the lab's
//! hidden subcommands, the programs that run in containers, and each test case, in a process of its own.

// The whole program is a test: it prints its verdicts, and panics where something is not as it should be.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used
)]

mod actors;
mod cases;
mod cni;
mod crowds;
mod daemons;
mod exec;
mod groups;
mod leftovers;
mod mtu;
mod nodes;
mod paths;
mod rates;
mod scripts;
mod weave;

use std::process::{Command, ExitCode};
use std::time::Instant;

/// A test case: its name, and what it does in a process of its own.
type Case = (&'static str, fn());

/// All cases. Ordinary users must be able to run them too.
const CASES: &[Case] = &[
    ("every_network_carries_tcp_over_ipv4", cases::every_network_carries_tcp_over_ipv4),
    ("every_network_carries_tcp_over_ipv6", cases::every_network_carries_tcp_over_ipv6),
    ("published_names_its_hops", cases::published_names_its_hops),
    ("bridge_names_its_hops", cases::bridge_names_its_hops),
    ("host_passes_the_loopback_device", cases::host_passes_the_loopback_device),
    ("mtu_is_read_back", cases::mtu_is_read_back),
    ("ten_containers_answer", cases::ten_containers_answer),
    ("packets_pass_the_published_rule", cases::packets_pass_the_published_rule),
    ("the_caller_stays_where_it_was", cases::the_caller_stays_where_it_was),
    ("names_resolve_inside", cases::names_resolve_inside),
    ("programs_end_as_they_should", cases::programs_end_as_they_should),
    ("dropped_programs_are_gone", cases::dropped_programs_are_gone),
    ("bad_shapes_are_refused", cases::bad_shapes_are_refused),
    ("a_refusal_says_why_and_what_to_do", cases::a_refusal_says_why_and_what_to_do),
    ("without_a_lab_nothing_is_raised", cases::without_a_lab_nothing_is_raised),
    ("what_is_missing_is_the_kernels", cases::what_is_missing_is_the_kernels),
    (
        "a_thousand_containers_come_and_go_and_nobody_is_forgotten",
        crowds::a_thousand_containers_come_and_go_and_nobody_is_forgotten,
    ),
    ("sigkill_leaves_nothing", leftovers::sigkill_leaves_nothing),
    ("programs_run_in_the_control_group", groups::programs_run_in_it),
    ("sigkill_leaves_no_control_group", groups::sigkill_leaves_none),
    ("networks_that_join_nodes_are_there", nodes::there_are_some),
    ("two_nodes_carry_tcp_over_ipv4", nodes::two_carry_tcp_over_ipv4),
    ("two_nodes_carry_tcp_over_ipv6", nodes::two_carry_tcp_over_ipv6),
    ("places_carry_tcp_on_one_node_and_on_two", nodes::places_carry_tcp_on_one_node_and_on_two),
    ("of_three_nodes_all_reach_all", nodes::of_three_all_reach_all),
    ("packets_are_wrapped_as_the_name_says", nodes::packets_are_wrapped_as_the_name_says),
    ("weave_is_carried_by_its_own_router", weave::is_carried_by_its_own_router),
    ("the_shown_commands_set_weave_up", weave::is_set_up_by_the_shown_commands),
    ("vxlan_names_its_hops", nodes::vxlan_names_its_hops),
    ("each_network_has_the_mtu_that_fits", mtu::each_has_the_mtu_that_fits),
    ("a_wrong_mtu_is_noticed", mtu::a_wrong_mtu_is_noticed),
    ("a_clamped_connection_fits", mtu::a_clamped_connection_fits),
    ("a_link_is_as_slow_as_it_is_told", nodes::a_link_is_as_slow_as_it_is_told),
    ("a_background_load_runs_beside", nodes::a_background_load_runs_as_long_as_the_network),
    ("shapes_without_nodes_are_refused", nodes::shapes_that_nodes_do_not_have_are_refused),
    ("the_shown_commands_join_two_nodes", nodes::the_shown_commands_build_it),
    ("a_rate_limits_both_directions", rates::both_directions),
    ("a_rate_shows_among_the_hops", rates::among_the_hops),
    ("bridges_are_what_ip_makes", paths::bridges_are_what_ip_makes),
    (
        "macvlan_devices_hand_packets_to_each_other",
        paths::macvlan_devices_hand_packets_to_each_other,
    ),
    ("pipework_takes_the_second_bridge", paths::pipework_takes_the_second_bridge),
    (
        "macvlan_nat_translates_the_external_address",
        paths::macvlan_nat_translates_the_external_address,
    ),
    ("only_linked_containers_talk", paths::only_linked_containers_talk),
    (
        "a_linked_client_is_told_where_its_server_is",
        paths::a_linked_client_is_told_where_its_server_is,
    ),
    (
        "without_segmentation_every_packet_is_of_the_mtu",
        paths::without_segmentation_every_packet_is_of_the_mtu,
    ),
    (
        "without_tracking_rules_are_passed_and_no_connection_is_kept",
        paths::without_tracking_rules_are_passed_and_no_connection_is_kept,
    ),
    ("an_option_sets_the_mtu_of_one_network", paths::an_option_sets_the_mtu_of_one_network),
    (
        "received_packets_are_spread_over_all_cores",
        paths::received_packets_are_spread_over_all_cores,
    ),
    ("a_process_serves_the_published_port", paths::a_process_serves_the_published_port),
    ("what_cannot_be_switched_off_is_said", paths::what_cannot_be_switched_off_is_said),
    ("tags_tables_and_modes_of_other_kernels", paths::tags_tables_and_modes_of_other_kernels),
    ("open_vswitch_carries_the_packets", daemons::open_vswitch_carries_the_packets),
    ("open_vswitch_names_its_hops", daemons::open_vswitch_names_its_hops),
    ("a_daemon_that_ends_is_missed", daemons::a_daemon_that_ends_is_missed),
    ("a_daemon_that_fails_is_quoted", daemons::a_daemon_that_fails_is_quoted),
    ("a_daemon_that_others_wait_for_is_quoted", daemons::a_daemon_that_others_wait_for_is_quoted),
    ("a_daemon_that_carries_nothing_is_quoted", daemons::a_daemon_that_carries_nothing_is_quoted),
    ("what_daemons_say_is_kept", daemons::what_daemons_say_is_kept),
    ("sigkill_leaves_no_daemon", daemons::sigkill_leaves_no_daemon),
    ("cni_bridge_in_both_families", cni::bridge_in_both_families),
    (
        "cni_ptp_is_routed_and_macvlan_is_not_seen_by_the_node",
        cni::ptp_is_routed_and_macvlan_is_not_seen_by_the_node,
    ),
    ("cni_ipvlan_of_other_kernels", cni::ipvlan_of_other_kernels),
    ("cni_portmap_publishes_ports", cni::portmap_publishes_ports),
    ("cni_plugins_fail_in_their_own_words", cni::plugins_fail_in_their_own_words),
    ("cni_detaches_every_container", cni::every_container_is_detached),
    ("exec_example_raises_a_network", exec::the_example_raises_a_network),
    ("exec_program_that_fails_is_quoted", exec::a_program_that_fails_is_quoted),
    ("exec_program_is_asked_to_go", exec::a_program_is_asked_to_take_its_network_down),
    ("the_shown_commands_build_it_over_ipv4", scripts::over_ipv4),
    ("the_shown_commands_start_programs", scripts::with_programs),
    ("the_shown_commands_build_it_over_ipv6", scripts::over_ipv6),
];

/// The user as whom root runs them a second time.
const NOBODY: &str = "65534";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["keeper"] => ExitCode::from(u8::try_from(tare_lab::keeper()).unwrap_or(1)),
        ["burn"] => tare_lab::burn(),
        ["inside", rest @ ..] => {
            let refused = tare_lab::inside(rest.iter().map(|&word| word.into()));
            eprintln!("{}", refused.unwrap_err());
            ExitCode::FAILURE
        }
        ["serve", address] => actors::serve(address),
        ["dial", address] => actors::dial(address),
        ["idle"] => actors::idle(),
        ["answer", address] => actors::answer(address),
        ["ask", address] => actors::ask(address),
        ["proxy", rest @ ..] => {
            let ended = tare_lab::proxy(rest.iter().map(|&word| word.into()));
            eprintln!("{}", ended.unwrap_err());
            ExitCode::FAILURE
        }
        ["sleeve", rest @ ..] => {
            let ended = tare_lab::sleeve(rest.iter().map(|&word| word.into()));
            eprintln!("{}", ended.unwrap_err());
            ExitCode::FAILURE
        }
        ["hold"] => leftovers::hold(),
        ["hold-daemons"] => daemons::hold(),
        ["raise-ovs"] => daemons::raise_ovs(),
        ["raise-flannel"] => daemons::raise_flannel(),
        ["raise-once", name] => cni::raise_once(name),
        ["hold-in", group] => groups::hold(group),
        ["swallow", end, address] => rates::swallow(end, address),
        ["pour", end, address] => rates::pour(end, address),
        ["refused"] => {
            cases::refused();
            ExitCode::SUCCESS
        }
        ["case", name] => run_case(name),
        _ => run_all(words.iter().find(|word| !word.starts_with('-')).copied().unwrap_or("")),
    }
}

fn run_case(name: &str) -> ExitCode {
    match CASES.iter().find(|(one, _)| *one == name) {
        Some((_, case)) => {
            case();
            ExitCode::SUCCESS
        }
        None => {
            eprintln!("no case {name}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the cases whose name contains `filter`, as the calling user and, when that is root, as an ordinary one.
fn run_all(filter: &str) -> ExitCode {
    let mut failed = 0;
    let users: &[Option<&str>] =
        if rustix::process::geteuid().is_root() { &[None, Some(NOBODY)] } else { &[None] };
    for user in users {
        for (name, _) in CASES.iter().filter(|(name, _)| name.contains(filter)) {
            failed += u32::from(!passes(name, *user));
        }
    }
    println!("\ntest result: {}", if failed == 0 { "ok" } else { "FAILED" });
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn passes(name: &str, user: Option<&str>) -> bool {
    let this = std::env::current_exe().expect("this program has a path");
    let mut command = match user {
        None => Command::new(this),
        Some(user) => {
            let mut command = Command::new("setpriv");
            command.args(["--reuid", user, "--regid", user, "--clear-groups", "--"]).arg(this);
            command
        }
    };
    let begin = Instant::now();
    let done = command.args(["case", name]).output();
    let passed = done.as_ref().is_ok_and(|output| output.status.success());
    let whom = user.map(|user| format!(" as user {user}")).unwrap_or_default();
    let verdict = if passed { "ok" } else { "FAILED" };
    println!("test {name}{whom} ... {verdict} ({} ms)", begin.elapsed().as_millis());
    match done {
        Ok(output) => {
            print!("{}", String::from_utf8_lossy(&output.stdout));
            if !passed {
                println!("{}", String::from_utf8_lossy(&output.stderr));
            }
        }
        Err(error) => println!("{error}"),
    }
    passed
}
