//! Handshake of the probe with a listener: versions, nonces and proofs of the token.

use crate::control_connection::{ControlConnection, ControlError, WaitLimit};
use crate::message::{
    ClientHello, ClientMessage, ClientProof, ListenerHello, ListenerMessage, ListenerWelcome,
    MAX_LISTENER_LINE,
};
use crate::token::{Bits256, ProbeNonces, ProofSide, Token};
use crate::version::VERSION;
use std::time::Duration;
use tare_traffic::clock;

/// Timeout of the handshake, and of the preparation of a trial.
pub(crate) const SETUP_TIMEOUT: Duration = Duration::from_secs(10);

/// Exchanges versions, nonces and proofs of the token with the listener. Fails with a message for people.
pub(crate) fn shake_hands(
    wire: &mut ControlConnection,
    token: Option<&Token>,
) -> Result<ListenerWelcome, String> {
    let limit = WaitLimit::new(SETUP_TIMEOUT, &|| false);
    let nonce = Bits256::random().map_err(|error| error.to_string())?;
    let tare = env!("CARGO_PKG_VERSION").to_owned();
    let greeting = match exchange_line(
        wire,
        &ClientMessage::Hello(ClientHello { protocol: VERSION, tare, nonce }),
        &limit,
    )? {
        ListenerMessage::Hello(greeting) => greeting,
        other => return Err(other.failure_reason().to_owned()),
    };
    let ListenerHello { protocol, nonce: other, token: wanted, .. } = greeting;
    if protocol != VERSION {
        return Err(format!(
            "the listener speaks version {protocol} of the protocol, not {VERSION}: use the same tare on both machines"
        ));
    }
    let nonces = ProbeNonces { client: nonce, listener: other };
    let proof = match (wanted, token) {
        (true, Some(token)) => Some(token.proof(ProofSide::Client, &nonces)),
        (true, None) => {
            return Err(
                "the listener requires a token: give the token with --token-file, --token or TARE_TOKEN"
                    .to_owned(),
            );
        }
        (false, Some(_)) => {
            return Err("the listener requires no token, and may belong to another user: start your listener with the token, or omit the token here".to_owned());
        }
        (false, None) => None,
    };
    match exchange_line(
        wire,
        &ClientMessage::Prove(ClientProof { proof, clock: clock::name() }),
        &limit,
    )? {
        ListenerMessage::Welcome(welcome) => {
            let proved = |token: &Token| {
                welcome
                    .proof
                    .is_some_and(|proof| token.is_valid_proof(&proof, ProofSide::Listener, &nonces))
            };
            match token.is_none_or(proved) {
                true => Ok(welcome),
                false => {
                    Err("the listener did not prove that it knows the token, and may belong to another user: check the address and --port"
                        .to_owned())
                }
            }
        }
        other => Err(other.failure_reason().to_owned()),
    }
}

/// Sends one line of the handshake and reads the answer.
fn exchange_line(
    wire: &mut ControlConnection,
    ask: &ClientMessage,
    limit: &WaitLimit<'_>,
) -> Result<ListenerMessage, String> {
    let answer = wire.write(ask, limit).and_then(|()| wire.read(MAX_LISTENER_LINE, limit));
    answer.map_err(|trouble| match trouble {
        ControlError::Malformed(_)
        | ControlError::TooLong(_)
        | ControlError::TooManyValues(_) => {
            "the program at this address is not a tare listener: check the address and --port"
                .to_owned()
        }
        ControlError::TimedOut => {
            "no answer in time: the program at this address is not a tare listener, or the machine is overloaded: check the address and --port".to_owned()
        }
        other => other.to_string(),
    })
}
