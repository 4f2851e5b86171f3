//! Attaching a container, as the commands by which a reader could do it.

use super::attach::{environment, input};
use super::config::find;
use super::{List, Runtime};
use serde_json::Value;

/// What stands in a script for what the plugin before has answered.
const PREVIOUS: &str = "\u{1}";

/// The lines that attach a container from a node, plugin by plugin; each is told what the one before has answered.
pub(crate) fn script(list: &List, node: &str, container: &str, runtime: &Runtime) -> Vec<String> {
    let previous = Value::String(PREVIOUS.to_owned());
    let [verb, id, namespace, device, path, _] = environment("ADD", container);
    let variables: Vec<String> =
        [verb, id, namespace, device, path].map(|(name, value)| format!("{name}={value}")).to_vec();
    let mut lines = Vec::new();
    for (index, plugin) in list.plugins.iter().enumerate() {
        let text = input(list, plugin, runtime, (index > 0).then_some(&previous)).to_string();
        let program = find(&plugin.kind).unwrap_or_else(|| plugin.kind.clone().into());
        // The shell puts the answer in; all else in the text is kept from it.
        let text = text.replace('\\', "\\\\").replace('$', "\\$").replace('`', "\\`");
        let text = text.replace("\"\\\\u0001\"", "$answer");
        lines.push(format!(
            "answer=$(ip netns exec {node} env {} {} <<END",
            variables.join(" "),
            program.display()
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
        let scratch = tare_dev::Scratch::new();
        let text = r#"{"cniVersion": "1.0.0", "name": "n",
            "plugins": [{"type": "one", "x": "$y"}, {"type": "two"}]}"#;
        let list = List::read(&scratch.write("n.conflist", text));
        let lines = script(&list.unwrap(), "node-0", "client-0", &Runtime::default());
        assert!(lines[0].contains("CNI_CONTAINERID=client-0") && lines[0].ends_with("one <<END"));
        assert!(lines[1].contains(r#""x":"\$y""#) && !lines[1].contains("prevResult"));
        assert!(lines[5].contains(r#""prevResult":$answer"#), "{}", lines[5]);
    }
}
