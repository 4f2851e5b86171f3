//! Findings on congestion control.

mod host_congestion_control;
mod mixed_congestion;
mod networks_under_control;
mod other_congestion_control;
mod other_default_congestion;

pub use host_congestion_control::HostCongestionControl;
pub use mixed_congestion::MixedCongestion;
pub use networks_under_control::NetworksUnderControl;
pub use other_congestion_control::OtherCongestionControl;
pub use other_default_congestion::OtherDefaultCongestion;
