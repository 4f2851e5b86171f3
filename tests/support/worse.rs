//! The example's network made worse on purpose, so that what is found in it is known.

use super::scratch::Scratch;
use std::path::Path;

/// The example's bridge, made worse by these commands, which run on the node: `port2` leads to the client, `port1` to the
/// server.
pub(crate) fn worse(scratch: &Scratch, commands: &str) -> String {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/exec/bridge.py");
    let script = format!(
        "#!/bin/sh -e\nanswer=$({} \"$1\")\n[ \"$1\" = up ] && {{ {commands}; }} >&2\nprintf '%s\\n' \"$answer\"\n",
        example.canonicalize().expect("the example is there").display()
    );
    format!("exec:{}", scratch.program("worse.sh", &script).display())
}
