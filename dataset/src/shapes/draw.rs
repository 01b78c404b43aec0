//! Drawing: a textured background and three kinds of filled shapes.

use fastrand::Rng;

/// An RGB picture being drawn.
pub(super) struct Canvas {
    pub width: i32,
    pub height: i32,
    /// `height * width * 3` bytes, rows from the top.
    pub pixels: Vec<u8>,
}

/// What can be drawn.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ShapeKind {
    Circle,
    Rectangle,
    Triangle,
}

/// One object: it fills its extent from edge to edge.
pub(super) struct Shape {
    pub kind: ShapeKind,
    x: i32,
    y: i32,
    width: i32,
    height: i32,
    colour: [u8; 3],
}

impl Shape {
    /// A shape of a third to a half of the picture's height, wholly inside it.
    pub(super) fn random(width: i32, height: i32, random: &mut Rng) -> Self {
        let kind =
            [ShapeKind::Circle, ShapeKind::Rectangle, ShapeKind::Triangle][random.usize(..3)];
        let mut side = || random.i32(height / 4..height / 2);
        let (w, h) = match kind {
            ShapeKind::Circle => {
                let diameter = side();
                (diameter, diameter)
            }
            ShapeKind::Rectangle | ShapeKind::Triangle => (side(), side()),
        };
        let (strong, weak) = (random.u8(200..=250), [random.u8(20..80), random.u8(20..80)]);
        let colour = match kind {
            ShapeKind::Circle => [strong, weak[0], weak[1]],
            ShapeKind::Rectangle => [weak[0], strong, weak[1]],
            ShapeKind::Triangle => [weak[0], weak[1], strong],
        };
        let (x, y) = (random.i32(0..=width - w), random.i32(0..=height - h));
        Self {
            kind,
            x,
            y,
            width: w,
            height: h,
            colour,
        }
    }

    /// `[x1, y1, x2, y2]` in pixels, the right and lower edge exclusive.
    pub(super) fn extent(&self) -> [i32; 4] {
        [self.x, self.y, self.x + self.width, self.y + self.height]
    }

    /// Whether the extents of the two overlap.
    pub(super) fn touches(&self, other: &Self) -> bool {
        let ([ax1, ay1, ax2, ay2], [bx1, by1, bx2, by2]) = (self.extent(), other.extent());
        ax1 < bx2 && bx1 < ax2 && ay1 < by2 && by1 < ay2
    }

    /// Whether the centre of the pixel at this offset from the corner belongs to the shape.
    fn covers(&self, column: i32, row: i32) -> bool {
        // Doubled, so that pixel centres are whole numbers; relative to the middle of the extent.
        let (u, v) = (
            i64::from(2 * column + 1 - self.width),
            i64::from(2 * row + 1),
        );
        let (width, height) = (i64::from(self.width), i64::from(self.height));
        match self.kind {
            ShapeKind::Rectangle => true,
            ShapeKind::Circle => u * u + (v - height) * (v - height) <= width * width,
            // Apex in the middle of the upper edge, base along the lower one.
            ShapeKind::Triangle => u.abs() * 2 * height <= (v + 1) * width,
        }
    }
}

impl Canvas {
    /// Grey of a random tone with a slope, stripes and noise, so that a flat colour is no cue.
    pub(super) fn textured(width: i32, height: i32, random: &mut Rng) -> Self {
        let base = random.i32(70..150);
        let (slope_x, slope_y) = (random.i32(-40..=40), random.i32(-40..=40));
        let (period, depth) = (random.i32(6..24), random.i32(0..16));
        let mut pixels = Vec::with_capacity((width * height * 3) as usize);
        for y in 0..height {
            for x in 0..width {
                let stripe = if (x + y) % period < period / 2 {
                    depth
                } else {
                    0
                };
                let tone = base + slope_x * x / width + slope_y * y / height + stripe;
                for _ in 0..3 {
                    pixels.push((tone + random.i32(-12..=12)).clamp(0, 255) as u8);
                }
            }
        }
        Self {
            width,
            height,
            pixels,
        }
    }

    /// Fills a shape that lies within the picture.
    pub(super) fn paint(&mut self, shape: &Shape) {
        for row in 0..shape.height {
            for column in 0..shape.width {
                if shape.covers(column, row) {
                    let offset = (((shape.y + row) * self.width + shape.x + column) * 3) as usize;
                    self.pixels[offset..offset + 3].copy_from_slice(&shape.colour);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_reaches_all_four_edges_of_its_extent() {
        for kind in [ShapeKind::Circle, ShapeKind::Rectangle, ShapeKind::Triangle] {
            let shape = Shape {
                kind,
                x: 3,
                y: 2,
                width: 21,
                height: 21,
                colour: [255, 0, 0],
            };
            let mut canvas = Canvas {
                width: 30,
                height: 30,
                pixels: vec![0; 2700],
            };
            canvas.paint(&shape);
            let painted: Vec<(i32, i32)> = (0..900)
                .filter(|index| canvas.pixels[index * 3] == 255)
                .map(|index| (index as i32 % 30, index as i32 / 30))
                .collect();
            let columns = || painted.iter().map(|(x, _)| *x);
            let rows = || painted.iter().map(|(_, y)| *y);
            assert_eq!(
                [columns().min(), rows().min(), columns().max(), rows().max()],
                [3, 2, 23, 22].map(Some)
            );
        }
    }
}
