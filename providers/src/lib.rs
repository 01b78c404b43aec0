//! One contract for every place that rents boxes, and the places themselves: one folder each, with the same files in it.
//!
//! The only crate that talks to clouds. It holds no state of its own: what is rented is asked, never remembered.

mod account;
mod capabilities;
mod clock;
mod cloud;
mod config;
pub mod conformance;
mod error;
mod http;
mod instance;
pub mod lambda;
pub mod local;
mod provider;
mod public_key;
mod registry;
pub mod runpod;
pub mod vast;
pub mod verda;
mod volume;
mod wire;

pub use account::Account;
pub use capabilities::{Capabilities, DiskLimit, Image, Labels, VolumeSupport};
pub use cloud::{Address, CloudInfo, KeyFile, KeyPlaces};
pub use config::CloudConfig;
pub use error::{Error, ErrorKind, Operation, Result};
pub use http::{RealTimer, Timer};
pub use instance::{Access, Instance, InstanceState, SshAccess, SshEndpoint, SshEndpointKind};
pub use provider::{OfferRequest, Provider, RentRequest};
pub use registry::{CLOUDS, RegistryConfig, registry};
pub use volume::{Volume, VolumeMount, VolumeRequest, Volumes};
