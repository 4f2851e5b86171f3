//! Rules of redaction, by position in the journal. A text at a position without a rule keeps public words only.

/// Rule for the text at a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// The text is kept: a measured value, or a fact of the machine that affects figures and that many machines share.
    Keep,
    /// The text is removed.
    Remove,
    /// The day of a time is kept.
    Day,
    /// Name or label of a network or a study: parts that are not public have placeholders.
    Name,
    /// Name of this kind: it has a placeholder.
    Numbered(&'static str),
    /// Name of a network device: it has a placeholder unless it is public.
    Device,
    /// Address, name or context of an engine: it has a placeholder.
    Engine,
    /// Image of an engine: the digest is kept.
    Image,
    /// Words that are not public are removed.
    Words,
}

/// Rules by the end of a position. `[]` is an element of a list, `*` the value of a map, `{}` a key of it.
const RULES: &[(&str, Rule)] = &[
    ("environment.architecture", Rule::Keep),
    ("environment.binary", Rule::Keep),
    ("environment.clock", Rule::Keep),
    ("environment.cluster.identity", Rule::Remove),
    ("environment.cluster.image", Rule::Image),
    ("environment.cluster.namespace", Rule::Remove),
    ("environment.cluster.network_daemons.[]", Rule::Keep),
    ("environment.cluster.version", Rule::Keep),
    ("environment.congestion_control", Rule::Keep),
    ("environment.congestion_controls_allowed.[]", Rule::Keep),
    ("environment.cpu", Rule::Keep),
    ("environment.devices.[].driver", Rule::Keep),
    ("environment.devices.[].name", Rule::Device),
    ("environment.distribution", Rule::Keep),
    ("environment.engines.[].address", Rule::Engine),
    ("environment.engines.[].api", Rule::Keep),
    ("environment.engines.[].cgroups", Rule::Keep),
    ("environment.engines.[].components.*", Rule::Keep),
    ("environment.engines.[].context_asked", Rule::Engine),
    ("environment.engines.[].engines_asked.[]", Rule::Engine),
    ("environment.engines.[].firewall", Rule::Keep),
    ("environment.engines.[].image", Rule::Image),
    ("environment.engines.[].image_asked", Rule::Image),
    ("environment.engines.[].kernel", Rule::Keep),
    ("environment.engines.[].name", Rule::Engine),
    ("environment.engines.[].parent_asked", Rule::Device),
    ("environment.engines.[].product", Rule::Keep),
    ("environment.engines.[].storage", Rule::Keep),
    ("environment.engines.[].system", Rule::Keep),
    ("environment.engines.[].version", Rule::Keep),
    ("environment.governor", Rule::Keep),
    ("environment.kernel", Rule::Keep),
    ("environment.kernel_build", Rule::Remove),
    ("environment.mitigations.*", Rule::Keep),
    ("environment.sysctls.*", Rule::Keep),
    ("environment.tare", Rule::Keep),
    ("environment.time", Rule::Day),
    ("environment.virtualisation", Rule::Keep),
    ("resumed.time", Rule::Day),
    // Nodes of a cluster.
    ("findings.[].client.name", Rule::Numbered("node")),
    ("findings.[].client.zone", Rule::Numbered("zone")),
    ("findings.[].server.name", Rule::Numbered("node")),
    ("findings.[].server.zone", Rule::Numbered("zone")),
    // Histograms.
    ("intervals.[].connect", Rule::Keep),
    ("intervals.[].latency", Rule::Keep),
    ("intervals.[].one_way", Rule::Keep),
    // Names of networks and of the study.
    ("ahead", Rule::Name),
    ("behind", Rule::Name),
    ("baseline", Rule::Name),
    ("label", Rule::Name),
    ("network", Rule::Name),
    ("refused.[]", Rule::Name),
    ("stands_for.{}", Rule::Name),
    ("study", Rule::Name),
    // Names of devices.
    ("device", Rule::Device),
    ("findings.[].devices.[]", Rule::Device),
    ("hops.[].name", Rule::Device),
    ("places.[].devices.{}", Rule::Device),
    ("places.[].queues.{}", Rule::Device),
    ("places.[].reasons.{}", Rule::Device),
];

/// Maps of the journal, by the end of their positions: their keys are texts, and not names of members.
const MAPS: &[&str] = &[
    "components",
    "daemons",
    "environment.programs",
    "margins",
    "mitigations",
    "offloads",
    "parameters",
    "places.[].conntrack",
    "places.[].devices",
    "places.[].devices.*",
    "places.[].protocols",
    "places.[].queues",
    "places.[].queues.*",
    "places.[].reasons",
    "places.[].reasons.*",
    "places.[].rules",
    "places.[].rules.*",
    "places.[].sockets",
    "places.[].sockets.*",
    "drops.[].reasons",
    "parts.[].reasons",
    "spreads",
    "stands_for",
    "stated",
    "sysctls",
    "unread",
];

/// Maps whose keys are names of the kernel's or of an engine's own.
const MAPS_OF_SYSTEM: &[&str] = &[
    "components",
    "mitigations",
    "offloads",
    "places.[].conntrack",
    "places.[].devices.*",
    "places.[].protocols",
    "places.[].queues.*",
    "places.[].reasons.*",
    "places.[].sockets.*",
    "drops.[].reasons",
    "parts.[].reasons",
    "sysctls",
];

/// Returns the rule of the text at a position.
pub(super) fn rule(position: &str) -> Rule {
    RULES.iter().find(|(end, _)| ends_with(position, end)).map_or(Rule::Words, |(_, rule)| *rule)
}

/// Returns the rule of the keys of the object at a position. Returns `None` if they are names of members.
pub(super) fn key_rule(position: &str) -> Option<Rule> {
    let is_in = |maps: &[&str]| maps.iter().any(|end| ends_with(position, end));
    if !is_in(MAPS) {
        None
    } else if is_in(MAPS_OF_SYSTEM) {
        Some(Rule::Keep)
    } else {
        Some(rule(&format!("{position}.{{}}")))
    }
}

/// Returns true if a position ends with these parts.
fn ends_with(position: &str, end: &str) -> bool {
    position.strip_suffix(end).is_some_and(|before| before.is_empty() || before.ends_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_belongs_to_the_end_of_a_position() {
        for (position, expected) in [
            ("run.environment.kernel", Rule::Keep),
            ("run.environment.engines.[].kernel", Rule::Keep),
            ("run.environment.kernel_build", Rule::Remove),
            ("trial.label", Rule::Name),
            ("trial.hops.[].name", Rule::Device),
            ("trial.hops.[].detail", Rule::Words),
            ("failure.reason", Rule::Words),
            ("run.something.new", Rule::Words),
        ] {
            assert_eq!(rule(position), expected, "{position}");
        }
        let places = "trial.meanwhile.counted.places.[]";
        assert_eq!(key_rule(&format!("{places}.devices")), Some(Rule::Device));
        assert_eq!(key_rule(&format!("{places}.devices.*")), Some(Rule::Keep));
        assert_eq!(key_rule(&format!("{places}.rules")), Some(Rule::Words));
        assert_eq!(key_rule(places), None);
    }

    /// Schema of a journal's lines.
    const SCHEMA: &str = include_str!("../../../../../docs/schema/journal-record.json");

    /// Calls `found` with the position of every map of a schema.
    fn maps(
        schema: &serde_json::Value,
        node: &serde_json::Value,
        position: &str,
        open: &[&str],
        found: &mut dyn FnMut(&str),
    ) {
        if let Some(name) = node["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
            if !open.contains(&name) {
                let open = [open, &[name]].concat();
                maps(schema, &schema["$defs"][name], position, &open, found);
            }
            return;
        }
        for key in ["anyOf", "oneOf", "allOf"] {
            for part in node[key].as_array().into_iter().flatten() {
                maps(schema, part, position, open, found);
            }
        }
        for (name, part) in node["properties"].as_object().into_iter().flatten() {
            maps(schema, part, &format!("{position}.{name}"), open, found);
        }
        maps_of_part(schema, node, "items", &format!("{position}.[]"), open, found);
        if matches!(
            &node["additionalProperties"],
            serde_json::Value::Bool(true) | serde_json::Value::Object(_)
        ) {
            found(position);
            maps_of_part(
                schema,
                node,
                "additionalProperties",
                &format!("{position}.*"),
                open,
                found,
            );
        }
    }

    fn maps_of_part(
        schema: &serde_json::Value,
        node: &serde_json::Value,
        part: &str,
        position: &str,
        open: &[&str],
        found: &mut dyn FnMut(&str),
    ) {
        if node[part].is_object() {
            maps(schema, &node[part], position, open, found);
        }
    }

    /// A map without a rule would keep its keys.
    #[test]
    fn every_map_of_a_journal_has_a_rule_and_every_rule_a_map() {
        let schema: serde_json::Value = serde_json::from_str(SCHEMA).unwrap();
        let mut all: Vec<String> = Vec::new();
        maps(&schema, &schema, "record", &[], &mut |position| all.push(position.to_owned()));
        assert!(all.len() > 20, "{all:?}");
        for position in &all {
            assert!(key_rule(position).is_some(), "{position}");
        }
        for end in MAPS.iter().chain(MAPS_OF_SYSTEM) {
            assert!(all.iter().any(|position| ends_with(position, end)), "{end}");
        }
    }
}
