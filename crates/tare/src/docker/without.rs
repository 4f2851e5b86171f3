//! A build without Docker: there are no engines, and nobody asks for them.

use super::DockerArguments;
use tare_network::{Network, Spelled};
use tare_record::{Engine, Plan};

/// No engine.
#[derive(Clone, Default)]
pub(crate) struct Docker;

impl Docker {
    pub(crate) fn of(_: &DockerArguments) -> Self {
        Self
    }

    pub(crate) fn as_in(_: &[Engine]) -> Self {
        Self
    }

    pub(crate) fn networks(&self) -> Vec<Box<dyn Network>> {
        Vec::new()
    }

    pub(crate) fn engines(&self, _: &Plan) -> Vec<Engine> {
        Vec::new()
    }

    pub(crate) fn lend(&self, _: &Plan) {}

    pub(crate) fn has_programs(&self) -> bool {
        false
    }

    pub(crate) fn has_all(&self, _: &Plan) -> bool {
        false
    }

    pub(crate) fn finish_on_signal(&self, _: &Spelled) -> anyhow::Result<()> {
        Ok(())
    }

    pub(crate) fn finish(&self) -> Result<(), tare_network::Error> {
        Ok(())
    }
}
