//! Flags that `listen` and `probe` have in common.

use crate::exit::usage_error;
use crate::secret_argument;
use anyhow::Context as _;
use clap::Args;
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
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
    /// line until tare has overwritten it: prefer --token-file, or the environment variable TARE_TOKEN
    #[arg(long, value_name = "T", conflicts_with = "token_file")]
    token: Option<String>,
    /// File that contains the token, and that only its owner may read
    #[arg(long, value_name = "F")]
    token_file: Option<PathBuf>,
}

impl RemoteArguments {
    /// Returns the token, or `None` if neither a flag nor the environment gives one. On the command line of this process
    /// it is overwritten.
    ///
    /// # Errors
    /// Fails if the file cannot be read, if others may read it, or if the token is empty.
    pub(crate) fn token(&self) -> anyhow::Result<Option<Token>> {
        let text = match (&self.token, &self.token_file) {
            (Some(token), _) => {
                secret_argument::overwrite(token);
                Some(token.clone())
            }
            (None, Some(path)) => Some(read_token_file(path)?),
            (None, None) => std::env::var(TOKEN_VARIABLE).ok(),
        };
        text.as_deref().map(Token::new).transpose().map_err(usage_error)
    }
}

/// Reads a token from a file that only its owner may read. A pipe, as of `<(pass token)`, has no mode that matters.
fn read_token_file(path: &Path) -> anyhow::Result<String> {
    let (text, there) = read_with_metadata(path)
        .with_context(|| format!("cannot read --token-file {}", path.display()))
        .map_err(usage_error)?;
    let mode = there.mode() & 0o777;
    if there.is_file() && mode & 0o077 != 0 {
        return Err(usage_error(anyhow::anyhow!(
            "cannot use --token-file {file}: its mode is {mode:04o}, so that other users may read the token: run `chmod 600 {file}`, and create a new token",
            file = path.display()
        )));
    }
    Ok(text)
}

/// Reads a file, and the metadata of what was opened.
fn read_with_metadata(path: &Path) -> io::Result<(String, Metadata)> {
    let mut file = File::open(path)?;
    let there = file.metadata()?;
    Ok((io::read_to_string(&mut file)?, there))
}
