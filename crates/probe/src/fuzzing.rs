//! Fuzz targets of both ends of a control connection, each against arbitrary input.

use crate::caps::Caps;
use crate::client_handshake::shake_hands;
use crate::connection::serve_connection;
use crate::control_connection::{ControlConnection, WaitLimit};
use crate::listener_state::{ListenerConfig, ListenerState};
use crate::message::{ClientMessage, ListenerMessage};
use crate::token::Token;
use crate::version::VERSION;
use socket2::SockRef;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::time::Duration;
use tare_traffic::WorkloadRegistry;
use tare_traffic::fuzzing::read_as_written;

/// Parses messages of both sides, one per line, and checks each request against a listener's limits.
pub fn messages(bytes: &[u8]) {
    let registry: WorkloadRegistry = tare_traffic::workloads().into_iter().collect();
    let narrow = Caps { rate: Some(1_000_000_000), ..Caps::default() };
    for line in bytes.split(|&byte| byte == b'\n') {
        read_as_written::<ListenerMessage>(line);
        let Some(ClientMessage::Serve(request)) = read_as_written(line) else { continue };
        for caps in [Caps::default(), narrow.clone()] {
            if let Ok(admitted) = caps.admit(&request, &registry, true) {
                assert!(
                    admitted.duration <= Duration::from(caps.duration),
                    "{:?}",
                    admitted.duration
                );
                assert!(admitted.demand.flows <= caps.flows && admitted.demand.flows > 0);
                assert!(admitted.demand.memory <= caps.memory);
                assert!(caps.rate.is_none_or(|most| admitted.demand.rate <= most));
            }
        }
    }
}

/// Runs a whole conversation of a client with a listener, with a token and without. The listener allows no flow, so
/// that it serves nothing.
pub fn conversation(bytes: &[u8]) {
    for token in [None, Token::new("a token that nobody guesses").ok()] {
        let secret = token.is_some();
        let told = listener_answers(bytes, token).unwrap_or_default();
        let answers: Vec<ListenerMessage> = told
            .split_inclusive(|&byte| byte == b'\n')
            .map(|line| match read_as_written(line) {
                Some(answer) => answer,
                None => panic!("{:?} is no answer", String::from_utf8_lossy(line)),
            })
            .collect();
        let lines = bytes.iter().filter(|&&byte| byte == b'\n').count();
        assert!(answers.len() <= lines + 1, "{answers:?}");
        let is_welcome = |one: &ListenerMessage| matches!(one, ListenerMessage::Welcome(_));
        let welcome = answers.iter().position(is_welcome);
        assert!(!secret || welcome.is_none(), "it knows no token");
        assert!(welcome.is_none_or(|at| at == 1 && has_hello(bytes)), "{answers:?}");
        let is_served = |one: &ListenerMessage| {
            matches!(one, ListenerMessage::Ready(_) | ListenerMessage::Done(_))
        };
        assert!(!answers.iter().any(is_served), "{answers:?}");
    }
}

/// Returns true if the first line is a `hello` of this version of the protocol.
fn has_hello(bytes: &[u8]) -> bool {
    let first = bytes.split(|&byte| byte == b'\n').next().unwrap_or_default();
    matches!(serde_json::from_slice(first), Ok(ClientMessage::Hello(hello)) if hello.protocol == VERSION)
}

/// Returns the answers of a listener to a client that sends these bytes and closes.
fn listener_answers(bytes: &[u8], token: Option<Token>) -> io::Result<Vec<u8>> {
    let (client, server) = pair()?;
    send_all(&client, bytes)?;
    let caps = Caps { flows: 0, ..Caps::default() };
    let config = ListenerConfig { token, caps, ..ListenerConfig::default() };
    serve_connection(
        server,
        client.peer_addr()?,
        &ListenerState::new(config, tare_traffic::workloads().into_iter().collect(), |_| ()),
    );
    let mut told = Vec::new();
    (&client).read_to_end(&mut told)?;
    Ok(told)
}

/// Runs the client's handshake with a listener that sends these bytes, with a token and without.
pub fn answers(bytes: &[u8]) {
    let token = Token::new("a token that nobody guesses").ok();
    for token in [None, token.as_ref()] {
        let welcome = pair().and_then(|(listener, client)| {
            send_all(&listener, bytes)?;
            Ok(shake_hands(&mut ControlConnection::new(client)?, token))
        });
        // Without a token any listener is believed. With a token a listener that does not know it never is.
        if let Ok(Ok(_)) = welcome {
            assert!(token.is_none(), "it knows no token");
        }
    }
    let _ = pair().and_then(|(listener, client)| {
        send_all(&listener, bytes)?;
        let mut wire = ControlConnection::new(client)?;
        let limit = WaitLimit::new(Duration::from_secs(5), &|| false);
        while wire.read::<ListenerMessage>(1 << 10, &limit).is_ok() {}
        Ok(())
    });
}

/// Writes all bytes and shuts down the sending side.
fn send_all(mut stream: &TcpStream, bytes: &[u8]) -> io::Result<()> {
    stream.write_all(bytes)?;
    stream.shutdown(Shutdown::Write)
}

/// Returns both ends of a connection. The first has a linger time of 0, so that its port does not stay in TIME-WAIT.
fn pair() -> io::Result<(TcpStream, TcpStream)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let one = TcpStream::connect(listener.local_addr()?)?;
    SockRef::from(&one).set_linger(Some(Duration::ZERO))?;
    Ok((one, listener.accept()?.0))
}
