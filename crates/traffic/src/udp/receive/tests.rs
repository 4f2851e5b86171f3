//! Tests of the receiving loop.

use super::*;
use crate::udp::header::Header;
use std::net::Ipv4Addr;

/// Datagrams that are in each flow's buffer when its receiver begins.
const QUEUED: u64 = 40;

const OPTIONS: Options = Options::made_up();

/// Flow of this number to which its sender has sent, as it says, one datagram more than has come.
fn queued(number: u32, token: u64) -> (Flow, Arc<Ending>) {
    let [sender, receiver] = [0, 0].map(|_| UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap());
    sender.connect(receiver.local_addr().unwrap()).unwrap();
    receiver.set_nonblocking(true).unwrap();
    let mark = Mark::new(token, 0, number);
    for datagram in 0..QUEUED {
        let mut bytes = [0; OPTIONS.size];
        Header { mark, number: datagram, sent: 0 }.write(&mut bytes);
        sender.send(&bytes).unwrap();
    }
    let ending = Arc::new(Ending::new());
    ending.tell(QUEUED + 1);
    (Flow { socket: Arc::new(receiver), number, client: 0, link: 0 }, ending)
}

#[test]
fn what_lies_in_a_buffer_is_taken_though_the_time_to_wait_for_it_is_over() {
    let task = Task::made_up("udp-rate", vec![([127, 0, 0, 1], 7).into()]);
    for (wait, flows) in [(Wait::Block, 1), (Wait::Block, 3), (Wait::Spin, 3)] {
        let flows = (0..flows).map(|number| queued(number, task.token)).collect::<Vec<_>>();
        let all = flows.len() as u64 * QUEUED;
        let options = Options { wait, ..OPTIONS };
        let mut receiver = Receiver::new(flows, &task, &options, 0).unwrap();
        receiver.run(&Patience::default()).unwrap();
        let received: u64 = receiver.counts().iter().map(|one| one.tally.total().received).sum();
        assert_eq!(received, all, "{wait:?}");
    }
}
