//! One image: read once, and forgotten but for what the checks need.

use std::fs::File;
use std::io::{Cursor, Read};
use std::path::Path;
use std::sync::Mutex;

use image::{ImageDecoder, ImageFormat, ImageReader};

use super::jpeg::Surveyor;
use super::thumbnail::{HEIGHT, Thumbnail, Thumbnails, WIDTH};
use crate::{decode_rgb_bytes, file};

/// Grey values of a thumbnail this near each other are one colour.
const UNIFORM_RANGE: u8 = 2;
/// Images of more pixels are decoded one at a time, whatever the number of threads.
const LARGE: u64 = 1 << 24;
/// Bytes of a file's middle by which files of one length are told apart at first.
const SAMPLE: usize = 8;

/// What reading an image showed.
#[derive(Debug)]
pub(super) struct ImageFacts {
    pub(super) bytes: u64,
    /// Of the file's middle.
    pub(super) sample: [u8; SAMPLE],
    /// Or why it can't be decoded.
    pub(super) picture: Result<Picture, String>,
}

/// What a decoded image is like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Picture {
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) mode: Mode,
    /// As EXIF counts, 1 to 8; 0 where nothing is said.
    pub(super) orientation: u8,
    /// A bit for each pixel of the thumbnail that its right neighbour outshines.
    pub(super) hash: u64,
    pub(super) is_uniform: bool,
}

/// How an image's channels are stored, by Pillow's names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Mode {
    Bilevel,
    Grey,
    GreyAlpha,
    Grey16,
    Palette,
    Rgb,
    Rgba,
    Cmyk,
}

impl Mode {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Bilevel => "1",
            Self::Grey => "L",
            Self::GreyAlpha => "LA",
            Self::Grey16 => "I;16",
            Self::Palette => "P",
            Self::Rgb => "RGB",
            Self::Rgba => "RGBA",
            Self::Cmyk => "CMYK",
        }
    }

    /// A palette's entries are colours.
    pub(super) fn channels(self) -> u8 {
        match self {
            Self::Bilevel | Self::Grey | Self::Grey16 => 1,
            Self::GreyAlpha => 2,
            Self::Palette | Self::Rgb => 3,
            Self::Rgba | Self::Cmyk => 4,
        }
    }
}

/// A thread's memory for the image at hand.
#[derive(Default)]
pub(super) struct ImageScanner {
    content: Vec<u8>,
    surveyor: Surveyor,
    thumbnails: Thumbnails,
}

impl ImageScanner {
    /// Reads an image; `large` is held while one of the large ones is decoded.
    pub(super) fn scan(&mut self, path: &Path, large: &Mutex<()>) -> ImageFacts {
        self.content.clear();
        let read = file::open(path).and_then(|mut file: File| file.read_to_end(&mut self.content));
        let mut facts = ImageFacts {
            bytes: self.content.len() as u64,
            sample: sample(&self.content),
            picture: Err(String::new()),
        };
        facts.picture = match read {
            Err(error) => Err(format!("unreadable: {error}")),
            Ok(0) => Err("the file is empty".to_owned()),
            Ok(_) => self.picture(path, large),
        };
        facts
    }

    fn picture(&mut self, path: &Path, large: &Mutex<()>) -> Result<Picture, String> {
        let Some(survey) = self.surveyor.survey(&self.content) else {
            return self.decoded(path, large);
        };
        let (width, height) = (survey.width, survey.height);
        let thumbnail = self
            .thumbnails
            .of_blocks(width, height, survey.stride, &self.surveyor);
        Ok(Picture {
            width: width as u32,
            height: height as u32,
            mode: if survey.components == 1 {
                Mode::Grey
            } else {
                Mode::Rgb
            },
            orientation: survey.orientation,
            hash: hash(&thumbnail),
            is_uniform: is_uniform(&thumbnail),
        })
    }

    fn decoded(&mut self, path: &Path, large: &Mutex<()>) -> Result<Picture, String> {
        let content = &self.content;
        let (pixels, mode, orientation) = header(content);
        let alone = (pixels > LARGE).then(|| large.lock());
        let image = decode_rgb_bytes(path, content).map_err(|error| match error {
            crate::Error::Image { reason, .. } => reason,
            other => other.to_string(),
        })?;
        let grey: Vec<u8> = image.pixels.as_chunks().0.iter().map(luma).collect();
        drop(alone);
        let (width, height) = (image.width as usize, image.height as usize);
        let thumbnail = self.thumbnails.of_pixels(width, height, &grey);
        Ok(Picture {
            width: image.width,
            height: image.height,
            mode,
            orientation,
            hash: hash(&thumbnail),
            is_uniform: is_uniform(&thumbnail),
        })
    }
}

/// Number of pixels, mode and orientation, as far as a header tells; a decoder has the last word.
fn header(content: &[u8]) -> (u64, Mode, u8) {
    let format = image::guess_format(content).ok();
    let decoder = format.and_then(|format| {
        ImageReader::with_format(Cursor::new(content), format)
            .into_decoder()
            .ok()
    });
    let Some(mut decoder) = decoder else {
        return (0, Mode::Rgb, 0);
    };
    let (width, height) = decoder.dimensions();
    let orientation = decoder.exif_metadata().ok().flatten().map_or(0, |exif| {
        image::metadata::Orientation::from_exif_chunk(&exif)
            .map_or(0, image::metadata::Orientation::to_exif)
    });
    let mode = match format {
        // The decoder makes colours of a palette; the header's own byte is as it was.
        Some(ImageFormat::Png) => png_mode(content),
        Some(ImageFormat::Gif) => Mode::Palette,
        _ => decoder_mode(decoder.original_color_type()),
    };
    (u64::from(width) * u64::from(height), mode, orientation)
}

/// Depth and colour type (Portable Network Graphics, 11.2.2).
fn png_mode(content: &[u8]) -> Mode {
    match (content.get(24), content.get(25)) {
        (Some(1), Some(0)) => Mode::Bilevel,
        (Some(16), Some(0)) => Mode::Grey16,
        (_, Some(0)) => Mode::Grey,
        (_, Some(3)) => Mode::Palette,
        (_, Some(4)) => Mode::GreyAlpha,
        (_, Some(6)) => Mode::Rgba,
        _ => Mode::Rgb,
    }
}

fn decoder_mode(color: image::ExtendedColorType) -> Mode {
    use image::ExtendedColorType as Color;
    match color {
        Color::L1 => Mode::Bilevel,
        Color::L16 => Mode::Grey16,
        Color::L2 | Color::L4 | Color::L8 | Color::A8 => Mode::Grey,
        Color::La1 | Color::La2 | Color::La4 | Color::La8 | Color::La16 => Mode::GreyAlpha,
        Color::Cmyk8 => Mode::Cmyk,
        color if color.channel_count() == 4 => Mode::Rgba,
        _ => Mode::Rgb,
    }
}

/// Brightness as Pillow rounds it (ITU-R BT.601).
fn luma(&[red, green, blue]: &[u8; 3]) -> u8 {
    let sum = 19595 * u32::from(red) + 38470 * u32::from(green) + 7471 * u32::from(blue);
    ((sum + 0x8000) >> 16) as u8
}

fn hash(thumbnail: &Thumbnail) -> u64 {
    let rows = thumbnail.chunks_exact(WIDTH).take(HEIGHT);
    rows.flat_map(|row| row.windows(2))
        .fold(0, |bits, pair| bits << 1 | u64::from(pair[1] > pair[0]))
}

fn is_uniform(thumbnail: &Thumbnail) -> bool {
    let (low, high) = thumbnail.iter().fold((255, 0), |(low, high), value| {
        (value.min(&low).to_owned(), value.max(&high).to_owned())
    });
    high - low <= UNIFORM_RANGE
}

fn sample(content: &[u8]) -> [u8; SAMPLE] {
    let middle = content.get(content.len() / 2..).unwrap_or(&[]);
    middle.first_chunk().copied().unwrap_or_default()
}
