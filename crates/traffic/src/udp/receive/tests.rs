//! Tests of the receiving loop.

use super::*;
use crate::udp::header::DatagramHeader;
use std::net::Ipv4Addr;

/// Number of datagrams in each flow's buffer when its receiver starts.
const QUEUED: u64 = 40;

const OPTIONS: Options = Options::made_up();

/// Returns a flow of this number with [`QUEUED`] datagrams in its buffer, whose sender claims to have sent one more.
fn queued(number: u32, token: u64) -> (UdpFlow, Arc<FlowEnd>) {
    let [sender, receiver] = [0, 0].map(|_| UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap());
    sender.connect(receiver.local_addr().unwrap()).unwrap();
    receiver.set_nonblocking(true).unwrap();
    let mark = FlowTag::new(token, 0, number);
    for datagram in 0..QUEUED {
        let mut bytes = [0; OPTIONS.size];
        DatagramHeader { tag: mark, number: datagram, sent: 0 }.write(&mut bytes);
        sender.send(&bytes).unwrap();
    }
    let ending = Arc::new(FlowEnd::new());
    ending.set_sent(QUEUED + 1);
    (UdpFlow { socket: Arc::new(receiver), number, client: 0, link: 0 }, ending)
}

#[test]
fn what_lies_in_a_buffer_is_taken_though_the_time_to_wait_for_it_is_over() {
    let task = TrialTask::for_test("udp-rate", vec![([127, 0, 0, 1], 7).into()]);
    for (wait, flows) in [(WaitMode::Block, 1), (WaitMode::Block, 3), (WaitMode::Spin, 3)] {
        let flows = (0..flows).map(|number| queued(number, task.token)).collect::<Vec<_>>();
        let all = flows.len() as u64 * QUEUED;
        let options = Options { wait, ..OPTIONS };
        let mut receiver = UdpReceiver::new(flows, &task, &options, 0, None).unwrap();
        receiver.run(&SharedDeadline::default()).unwrap();
        let received: u64 = receiver.counts().iter().map(|one| one.tally.total().received).sum();
        assert_eq!(received, all, "{wait:?}");
    }
}

#[test]
fn what_was_dropped_before_the_receiver_was_ready_counts_until_it_is_forgotten() {
    let task = TrialTask::for_test("udp-rate", vec![([127, 0, 0, 1], 7).into()]);
    let (flow, ending) = queued(0, task.token);
    let socket = Arc::clone(&flow.socket);
    rustix::net::sockopt::set_socket_recv_buffer_size(&socket, 2048).unwrap();
    let sender = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    for _ in 0..QUEUED {
        sender.send_to(&[0; OPTIONS.size], socket.local_addr().unwrap()).unwrap();
    }
    tare_dev::eventually("the full buffer has dropped all", || {
        u64::from(socket_drops(socket.as_fd()).unwrap()) == QUEUED
    });
    let mut receiver = UdpReceiver::new(vec![(flow, ending)], &task, &OPTIONS, 0, None).unwrap();
    assert_eq!(receiver.buffer_drops().unwrap(), QUEUED);
    receiver.forget_buffer_drops().unwrap();
    assert_eq!(receiver.buffer_drops().unwrap(), 0);
}
