//! The flags that a listener and a probe have in common.

use crate::exit::usage;
use anyhow::Context as _;
use clap::Args;
use std::path::PathBuf;
use tare_traffic::probe::{PORT, Token};

/// Where the token is taken from when no flag gives one.
const VARIABLE: &str = "TARE_TOKEN";

/// The port of the control connection, and the token.
#[derive(Debug, Args)]
pub(crate) struct RemoteArguments {
    /// The listener's TCP port; 0 at the listener stands for any that is free
    #[arg(long, value_name = "P", default_value_t = PORT)]
    pub(crate) port: u16,
    /// What both sides must know; it never crosses the wire. Other users of the machine see it on the command line:
    /// better by --token-file, or by TARE_TOKEN in the environment
    #[arg(long, value_name = "T", conflicts_with = "token_file")]
    token: Option<String>,
    /// A file that holds the token
    #[arg(long, value_name = "F")]
    token_file: Option<PathBuf>,
}

impl RemoteArguments {
    /// The token, where there is one.
    ///
    /// # Errors
    /// When the file cannot be read, or the token is empty.
    pub(crate) fn token(&self) -> anyhow::Result<Option<Token>> {
        let read = |path: &PathBuf| {
            std::fs::read_to_string(path)
                .with_context(|| format!("--token-file {}", path.display()))
                .map_err(usage)
        };
        let text = match (&self.token, &self.token_file) {
            (Some(token), _) => Some(token.clone()),
            (None, Some(path)) => Some(read(path)?),
            (None, None) => std::env::var(VARIABLE).ok(),
        };
        text.as_deref().map(Token::new).transpose().map_err(usage)
    }
}
