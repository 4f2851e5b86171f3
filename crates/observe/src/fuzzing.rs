//! Fuzz target for `fuzz/`: the parsers of what the kernel says of the machine. Compiled only for fuzzing.

use crate::core_counters::parse_softnet_line;
use crate::doctor::system::kernel_version;
use crate::environment::cpu::{core_list, field};
use crate::environment::system::{load, pretty_name};
use crate::headroom::neighbour_tables::column;
use crate::limits::cgroup_position::{mount_point, own_group};
use crate::presence::run_socket_names;
use crate::proc_stat::ProcStat;
use crate::process_times::parse_stat;

/// Reads a text as each of the kernel's files on the machine.
pub fn tables(text: &str) {
    let _ = ProcStat::parse(text);
    let lines = text.lines().count();
    assert!(text.lines().zip(0..).filter_map(parse_softnet_line).count() <= lines);
    assert!(run_socket_names(text).count() <= lines);
    let _ =
        (parse_stat(text), kernel_version(text), load(text), pretty_name(text), core_list(text));
    let _ = field(text, "model name");
    let _ = column(text, "entries").map(Iterator::count);
    let _ = (mount_point(text), own_group(text));
}
