//! Text of a study that is part of the binary.

/// Study that is part of the binary.
#[derive(Clone, Copy, Debug)]
pub struct BuiltinStudy {
    /// Name of the study.
    pub name: &'static str,
    /// TOML text of the study.
    pub text: &'static str,
}
