//! Verda: virtual machines whose disks are volumes, and bill on when a delete forgets them.

mod catalog;
mod create;
mod instances;
mod keys;
mod refuse;
mod token;
mod vendor;
mod view;
mod volumes;

pub use token::CLIENT_ID;
pub use vendor::Verda;
