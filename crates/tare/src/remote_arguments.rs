//! Flags that `listen` and `probe` have in common.

use crate::exit::usage_error;
use anyhow::Context as _;
use clap::Args;
use std::path::PathBuf;
use tare_probe::{PORT, Token};

/// Environment variable of the token, which is read if no flag gives one.
const TOKEN_VARIABLE: &str = "TARE_TOKEN";

/// Port of the control connection, and token.
#[derive(Debug, Args)]
pub(crate) struct RemoteArguments {
    /// TCP port of the listener; `tare listen --port 0` selects a free port
    #[arg(long, value_name = "P", default_value_t = PORT)]
    pub(crate) port: u16,
    /// Secret that listener and probe share; it is never sent. Other users of the machine can see it on the command
    /// line: prefer --token-file, or the environment variable TARE_TOKEN
    #[arg(long, value_name = "T", conflicts_with = "token_file")]
    token: Option<String>,
    /// File that contains the token
    #[arg(long, value_name = "F")]
    token_file: Option<PathBuf>,
}

impl RemoteArguments {
    /// Returns the token, or `None` if neither a flag nor the environment gives one.
    ///
    /// # Errors
    /// Fails if the file cannot be read, or if the token is empty.
    pub(crate) fn token(&self) -> anyhow::Result<Option<Token>> {
        let read = |path: &PathBuf| {
            std::fs::read_to_string(path)
                .with_context(|| format!("cannot read --token-file {}", path.display()))
                .map_err(usage_error)
        };
        let text = match (&self.token, &self.token_file) {
            (Some(token), _) => Some(token.clone()),
            (None, Some(path)) => Some(read(path)?),
            (None, None) => std::env::var(TOKEN_VARIABLE).ok(),
        };
        text.as_deref().map(Token::new).transpose().map_err(usage_error)
    }
}
