//! Simulators of the GPU marketplaces, on their own wire, with real boxes.
