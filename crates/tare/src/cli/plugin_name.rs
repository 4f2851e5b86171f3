//! Name of the program as users type it: as a plugin of kubectl it is another.

use std::ffi::OsStr;
use std::path::Path;

/// Returns the name that users type for a plugin of kubectl: `kubectl tare` for the program `kubectl-tare`. Returns `None` for other
/// programs.
pub(super) fn plugin_name(program: &OsStr) -> Option<String> {
    let file = Path::new(program).file_name()?.to_str()?;
    file.strip_prefix("kubectl-").map(|plugin| format!("kubectl {plugin}"))
}

#[cfg(test)]
mod tests {
    use super::super::Cli;
    use super::*;
    use clap::Parser as _;

    #[test]
    fn a_plugin_of_kubectl_is_named_as_it_is_typed() {
        let named = |program: &str| plugin_name(OsStr::new(program));
        assert_eq!(named("/h/.krew/bin/kubectl-tare").as_deref(), Some("kubectl tare"));
        assert_eq!(named("/usr/bin/tare"), None);
        assert_eq!(named(""), None);
        let error = Cli::try_parse_from(["kubectl tare", "run", "--no-such-flag"]).unwrap_err();
        assert!(error.to_string().contains("Usage: kubectl tare run"), "{error}");
    }
}
