//! Data sets with something wrong, drawn into a folder: every fault alone, and many together.

mod faults;
mod set;

use std::path::{Path, PathBuf};

use fastrand::Rng;
use serde::Serialize;

use faults::FAULTS;
use set::Set;

/// A data set, and how it is checked.
#[derive(Debug, Serialize)]
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) data: PathBuf,
    pub(crate) imgsz: u32,
    pub(crate) fast: bool,
}

/// Data sets with several faults.
const MIXED: u64 = 60;

/// Everything below `home`; the same at every call.
pub(crate) fn cases(home: &Path) -> Vec<Case> {
    let mut cases = vec![case(home, "sound", &[], 0)];
    for (index, (name, _)) in FAULTS.iter().enumerate() {
        cases.push(case(home, name, &[index], index as u64));
    }
    for seed in 0..MIXED {
        let mut random = Rng::with_seed(seed);
        let mut faults: Vec<usize> = (0..FAULTS.len()).collect();
        random.shuffle(&mut faults);
        faults.truncate(random.usize(2..9));
        let mut case = case(home, &format!("mixed {seed}"), &faults, 1000 + seed);
        case.imgsz = [640, 320, 96][random.usize(..3)];
        case.fast = random.u8(..5) == 0;
        cases.push(case);
    }
    cases
}

fn case(home: &Path, name: &str, faults: &[usize], seed: u64) -> Case {
    let mut random = Rng::with_seed(seed);
    let mut set = Set::draw(&home.join(name.replace(' ', "-")), &mut random);
    let names: Vec<&str> = faults.iter().map(|fault| FAULTS[*fault].0).collect();
    for fault in faults {
        FAULTS[*fault].1(&mut set, &mut random);
    }
    let name = if faults.len() > 1 {
        format!("{name}: {}", names.join(", "))
    } else {
        name.to_owned()
    };
    Case {
        name,
        data: set.finish(),
        imgsz: 640,
        fast: false,
    }
}
