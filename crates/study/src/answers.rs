//! Built-in answers: studies of this project's own, each with the question that its conclusions answer.

use crate::builtin_study::BuiltinStudy;

/// Returns the answer in the file of this name.
macro_rules! answer {
    ($name:literal) => {
        BuiltinStudy {
            name: $name,
            text: include_str!(concat!("../studies/answers/", $name, ".toml")),
        }
    };
}

/// All built-in answers: one file in `studies/answers/`, one line here.
pub const ANSWERS: &[BuiltinStudy] = &[
    answer!("bridge-or-host"),
    answer!("published-port"),
    answer!("userland-proxy"),
    answer!("macvlan-or-bridge"),
    answer!("firewall-rules"),
    answer!("docker-firewall"),
    answer!("ebpf"),
    answer!("cluster-ip"),
    answer!("many-services"),
    answer!("overlay"),
    answer!("encryption"),
    answer!("pasta-or-slirp4netns"),
    answer!("same-core"),
    answer!("database"),
    answer!("congestion-control"),
];
