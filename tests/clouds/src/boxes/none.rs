use super::{BoxSpec, Boxes, SshAddress};
use crate::SimError;

/// No box at all: the API names an address and nothing is there.
#[derive(Debug, Clone, Copy)]
pub struct NoBoxes;

impl Boxes for NoBoxes {
    fn start(&mut self, _: &BoxSpec) -> Result<SshAddress, SimError> {
        Ok(self.refusing())
    }

    fn stop(&mut self, _: &str) -> Result<(), SimError> {
        Ok(())
    }

    fn destroy(&mut self, _: &str) -> Result<(), SimError> {
        Ok(())
    }

    fn set_keys(&mut self, _: &str, _: &str, _: &[String]) -> Result<(), SimError> {
        Ok(())
    }
}
