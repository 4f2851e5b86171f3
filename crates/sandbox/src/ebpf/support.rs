//! Whether this process may redirect on this kernel.

use super::loaded_program::LoadedProgram;
use super::pair_program::PairProgram;
use super::socket_redirect::SocketPrograms;
use tare_network::{Error, RedirectProgram};

/// Checks that this process may redirect by a program on this kernel. It loads the program and unloads it again.
///
/// # Errors
/// The process may not, or the kernel cannot. The error says what is required.
pub fn redirect_support(program: RedirectProgram) -> Result<(), Error> {
    match program {
        RedirectProgram::Peer => LoadedProgram::redirecting(PairProgram::Peer, &[]).map(drop),
        RedirectProgram::Xdp => LoadedProgram::redirecting(PairProgram::Xdp, &[]).map(drop),
        RedirectProgram::Sockmap => SocketPrograms::load().map(drop),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The kernel's verifier accepts the programs, or the error says what is required.
    #[test]
    fn a_program_is_supported_or_the_error_has_a_remedy() {
        for program in RedirectProgram::ALL {
            if let Err(error) = redirect_support(program) {
                assert!(!error.remedy.is_empty(), "{error}");
            }
        }
    }
}
