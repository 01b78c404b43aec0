//! Where the anchors lie: one at the centre of each cell of each feature map.

use tch::{Device, Kind, Tensor};

/// Pixels per cell of the three levels.
pub const STRIDES: [i64; 3] = [8, 16, 32];

/// The anchors of all levels, finest first, row by row.
#[derive(Debug)]
pub struct AnchorGrid {
    /// Centres x, y in pixels of the canvas, `[A, 2]`.
    pub points: Tensor,
    /// Pixels per cell, `[A, 1]`.
    pub strides: Tensor,
}

impl AnchorGrid {
    /// For feature maps of these (height, width).
    #[must_use]
    pub fn new(cells: [(i64, i64); 3], device: Device) -> Self {
        let levels = cells.into_iter().zip(STRIDES);
        let (points, strides): (Vec<_>, Vec<_>) = levels
            .map(|((height, width), stride)| {
                let centres = |cells| (Tensor::arange(cells, (Kind::Float, device)) + 0.5) * stride;
                let x = centres(width).unsqueeze(0).expand([height, width], false);
                let y = centres(height).unsqueeze(1).expand([height, width], false);
                let points = Tensor::stack(&[x, y], -1).view([height * width, 2]);
                let strides = Tensor::full([height * width, 1], stride, (Kind::Float, device));
                (points, strides)
            })
            .unzip();
        Self {
            points: Tensor::cat(&points, 0),
            strides: Tensor::cat(&strides, 0),
        }
    }

    /// Column and row of each anchor's cell, `[A, 2]`.
    pub fn cells(&self) -> Tensor {
        &self.points / &self.strides - 0.5
    }

    /// For the head's outputs.
    #[must_use]
    pub fn of(levels: &[Tensor; 3]) -> Self {
        let cells = levels.each_ref().map(|level| {
            let size = level.size();
            (size[2], size[3])
        });
        Self::new(cells, levels[0].device())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn centres_go_row_by_row_and_level_by_level() {
        let grid = AnchorGrid::new([(2, 3), (1, 1), (1, 1)], Device::Cpu);
        let points = Vec::<f32>::try_from(grid.points.flatten(0, -1)).expect("floats");
        let expected = [
            4., 4., 12., 4., 20., 4., 4., 12., 12., 12., 20., 12., 8., 8., 16., 16.,
        ];
        assert_eq!(points, expected);
        let cells = Vec::<f32>::try_from(grid.cells().flatten(0, -1)).expect("floats");
        assert_eq!(
            cells,
            [
                0., 0., 1., 0., 2., 0., 0., 1., 1., 1., 2., 1., 0., 0., 0., 0.
            ]
        );
        let strides = Vec::<f32>::try_from(grid.strides.flatten(0, -1)).expect("floats");
        assert_eq!(strides, [8., 8., 8., 8., 8., 8., 16., 32.]);
    }
}
