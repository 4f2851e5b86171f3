//! Findings on the path of the packets, and on what it costs.

mod ablation_effects;
mod cpu_time_by_consumer;
mod cpu_time_of_measurement;
mod loss_by_place;
mod offload_loss;
mod packet_fragmentation;
mod retransmitted_segments;
mod socket_drops;
mod softirq_concentration;
mod software_encryption;
mod userspace_forwarding;

pub use ablation_effects::AblationEffects;
pub use cpu_time_by_consumer::CpuTimeByConsumer;
pub use cpu_time_of_measurement::CpuTimeOfMeasurement;
pub use loss_by_place::LossByPlace;
pub use offload_loss::OffloadLoss;
pub use packet_fragmentation::PacketFragmentation;
pub use retransmitted_segments::RetransmittedSegments;
pub use socket_drops::SocketDrops;
pub use softirq_concentration::SoftirqConcentration;
pub use software_encryption::SoftwareEncryption;
pub use userspace_forwarding::UserspaceForwarding;
