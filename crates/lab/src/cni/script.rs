//! Shell commands that attach a container, for a reader to run by hand.

use super::attach::{plugin_environment, plugin_input};
use super::config::find_plugin;
use super::{NetworkConfigList, RuntimeConfig};
use serde_json::Value;
use tare_network::quote;

/// Placeholder of the previous plugin's result, replaced by `$answer` in the script.
const PREVIOUS: &str = "\u{1}";

/// Returns the lines that attach a container from a node, plugin by plugin; each plugin gets the result of the one
/// before.
pub(crate) fn script(
    list: &NetworkConfigList,
    node: &str,
    container: &str,
    runtime: &RuntimeConfig,
) -> Vec<String> {
    let previous = Value::String(PREVIOUS.to_owned());
    let [verb, id, namespace, device, path, _] = plugin_environment("ADD", container);
    let variables = [verb, id, namespace, device, path]
        .map(|(name, value)| format!("{name}={}", quote(&value)));
    let mut lines = Vec::new();
    for (index, plugin) in list.plugins.iter().enumerate() {
        let text =
            plugin_input(list, plugin, runtime, (index > 0).then_some(&previous)).to_string();
        let program = find_plugin(&plugin.program).unwrap_or_else(|| plugin.program.clone().into());
        // The shell expands `$answer` alone; all its other special characters in the text are escaped.
        let text = text.replace('\\', "\\\\").replace('$', "\\$").replace('`', "\\`");
        let text = text.replace("\"\\\\u0001\"", "$answer");
        lines.push(format!(
            "answer=$(ip netns exec {node} env {} {} <<END",
            variables.join(" "),
            quote(&program.to_string_lossy())
        ));
        lines.extend([text, "END".to_owned(), ")".to_owned()]);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_plugin_is_told_what_the_one_before_has_answered() {
        let scratch = tare_dev::ScratchDirectory::new();
        let text = r#"{"cniVersion": "1.0.0", "name": "n",
            "plugins": [{"type": "one", "x": "$y"}, {"type": "two"}]}"#;
        let list = NetworkConfigList::read(&scratch.write_file("n.conflist", text));
        let lines = script(&list.unwrap(), "node-0", "client-0", &RuntimeConfig::default());
        assert!(lines[0].contains("CNI_CONTAINERID=client-0") && lines[0].ends_with("one <<END"));
        assert!(lines[1].contains(r#""x":"\$y""#) && !lines[1].contains("prevResult"));
        assert!(lines[5].contains(r#""prevResult":$answer"#), "{}", lines[5]);
    }

    #[test]
    fn values_and_programs_are_quoted() {
        let scratch = tare_dev::ScratchDirectory::new();
        let text = r#"{"cniVersion": "1.0.0", "name": "n", "type": "my plugin; true"}"#;
        let list = NetworkConfigList::read(&scratch.write_file("n.conf", text));
        let lines = script(&list.unwrap(), "node-0", "$c", &RuntimeConfig::default());
        assert!(lines[0].contains(" CNI_NETNS='/run/netns/$c' "), "{}", lines[0]);
        assert!(lines[0].ends_with(" 'my plugin; true' <<END"), "{}", lines[0]);
    }
}
