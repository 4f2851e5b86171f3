//! Programs that the tests run in containers.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, TcpListener, TcpStream, UdpSocket};
use std::process::ExitCode;
use std::time::{Duration, Instant};
use tare_network::{Command, Container, Process};

/// Time limit of an exchange: a lost packet is retransmitted several times within it.
const PATIENCE: Duration = Duration::from_secs(120);

/// Connection whose reads wait, although the kernel ends some of them early: where sockets are in a sockmap, a read that
/// is woken without data fails with EAGAIN (Linux 6.18, net/ipv4/tcp_bpf.c).
struct PatientReader<'a> {
    stream: &'a TcpStream,
    deadline: Instant,
}

impl<'a> PatientReader<'a> {
    fn new(stream: &'a TcpStream) -> Self {
        Self { stream, deadline: Instant::now() + PATIENCE }
    }
}

impl Read for PatientReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        loop {
            match self.stream.read(buffer) {
                Err(early)
                    if early.kind() == ErrorKind::WouldBlock && Instant::now() < self.deadline => {}
                done => return done,
            }
        }
    }
}

/// Prints that it listens, then sends back what the first client sends.
pub(crate) fn serve(address: &str) -> ExitCode {
    let listener = TcpListener::bind(address).expect("the server listens");
    println!("listening");
    let (mut stream, _) = listener.accept().expect("a client comes");
    let mut received = Vec::new();
    PatientReader::new(&stream).read_to_end(&mut received).expect("the client sends");
    stream.write_all(&received).expect("the client listens");
    ExitCode::SUCCESS
}

/// Sends more than one packet, and prints how many bytes came back unchanged.
pub(crate) fn dial(address: &str) -> ExitCode {
    let sent: Vec<u8> = (0..100_000_u32).map(|number| number as u8).collect();
    let address = address.parse().expect("an address and a port");
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE).expect("the server answers");
    stream.set_read_timeout(Some(PATIENCE)).expect("a time limit can be set");
    stream.write_all(&sent).expect("the server takes it");
    stream.shutdown(std::net::Shutdown::Write).expect("the stream can end");
    let mut received = Vec::new();
    PatientReader::new(&stream).read_to_end(&mut received).expect("the server sends");
    assert_eq!(sent, received);
    println!("{}", received.len());
    ExitCode::SUCCESS
}

/// Size of a request and of its echo, bytes.
const REQUEST: usize = 1_000;

/// Prints that it listens, then sends back each request of the first client.
pub(crate) fn echo(address: &str) -> ExitCode {
    let listener = TcpListener::bind(address).expect("the server listens");
    println!("listening");
    let (mut stream, _) = listener.accept().expect("a client comes");
    let mut request = [0; REQUEST];
    while PatientReader::new(&stream).read_exact(&mut request).is_ok() {
        stream.write_all(&request).expect("the client listens");
    }
    ExitCode::SUCCESS
}

/// Sends requests, each when the one before has come back, and prints how many bytes did.
///
/// pasta of March 2023, in Debian 12, loses its way in streams: it sends data of a half-closed connection again and
/// again, and now and then it stops when the receiver's window has been full.
pub(crate) fn converse(address: &str) -> ExitCode {
    let address = address.parse().expect("an address and a port");
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE).expect("the server answers");
    stream.set_read_timeout(Some(PATIENCE)).expect("a time limit can be set");
    let mut echoed = 0;
    for number in 0..100_u8 {
        let mut came = [0; REQUEST];
        stream.write_all(&[number; REQUEST]).expect("the server takes it");
        PatientReader::new(&stream).read_exact(&mut came).expect("the server sends");
        assert_eq!(came, [number; REQUEST]);
        echoed += came.len();
    }
    println!("{echoed}");
    ExitCode::SUCCESS
}

/// Prints its PID, and waits to be killed.
pub(crate) fn idle() -> ExitCode {
    println!("{}", std::process::id());
    loop {
        std::thread::park();
    }
}

/// Starts this program with these arguments in a container, and returns it with the first line that it prints.
pub(crate) fn start(container: &dyn Container, arguments: &[&str]) -> (Box<dyn Process>, String) {
    start_command(container, &Command::tare(arguments.to_vec()))
}

/// Starts a program in a container, and returns it with the first line that it prints.
pub(crate) fn start_command(
    container: &dyn Container,
    command: &Command,
) -> (Box<dyn Process>, String) {
    let mut process = container.spawn(command).expect("it starts");
    let output = process.take_output().expect("its output is piped");
    let mut line = String::new();
    BufReader::new(output).read_line(&mut line).expect("it prints");
    (process, line.trim_end().to_owned())
}

/// Prints that it listens, and answers each datagram with the address that it came from.
pub(crate) fn answer(address: &str) -> ExitCode {
    let socket = UdpSocket::bind(address).expect("the server listens");
    println!("listening");
    let mut bytes = [0; 100];
    loop {
        let (_, from) = socket.recv_from(&mut bytes).expect("a datagram comes");
        socket.send_to(from.to_string().as_bytes(), from).expect("the client is there");
    }
}

/// Sends datagrams until one is answered, and prints the answer.
pub(crate) fn ask(address: &str) -> ExitCode {
    let address: std::net::SocketAddr = address.parse().expect("an address and a port");
    let any: std::net::IpAddr =
        if address.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind((any, 0)).expect("a port is free");
    socket.set_read_timeout(Some(PATIENCE / 100)).expect("a time limit can be set");
    let mut bytes = [0; 100];
    for _ in 0..100 {
        socket.send_to(b"who am I?", address).expect("it can be sent");
        if let Ok((length, from)) = socket.recv_from(&mut bytes) {
            assert_eq!(from, address, "who was asked answers");
            println!("{}", String::from_utf8_lossy(&bytes[..length]));
            return ExitCode::SUCCESS;
        }
    }
    panic!("nobody answers");
}
