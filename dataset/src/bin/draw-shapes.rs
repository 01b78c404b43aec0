//! Draws the sample dataset: circles, rectangles and triangles in YOLO layout.
//!
//! ```text
//! draw-shapes DIR [train=96] [val=24] [size=256] [seed=0]
//! ```

#![expect(clippy::print_stdout, reason = "a program reports to its terminal")]

use std::path::Path;

use gpurun_dataset::shapes::{ShapesConfig, generate};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let dir = arguments.next().ok_or("where to? Give a folder")?;
    let mut config = ShapesConfig::default();
    for argument in arguments {
        let (key, value) = argument
            .split_once('=')
            .ok_or_else(|| format!("'{argument}' is not key=value"))?;
        match key {
            "train" => config.train = value.parse()?,
            "val" => config.val = value.parse()?,
            "size" => config.size = value.parse()?,
            "seed" => config.seed = value.parse()?,
            _ => return Err(format!("'{key}' is none of train, val, size, seed").into()),
        }
    }
    let yaml = generate(Path::new(&dir), config)?;
    println!(
        "{}: {} images to learn from, {} to evaluate on",
        yaml.display(),
        config.train,
        config.val
    );
    Ok(())
}
