//! Tests of what comes from others: clients of a listener and files; and of secrets, which they are not told.

mod clients;
mod files;
mod programs;
mod secrets;
mod strangers;
