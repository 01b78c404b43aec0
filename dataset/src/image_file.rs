//! Images: their size without decoding, their pixels as 8-bit RGB.

use std::io::{BufReader, Cursor};
use std::path::Path;

use image::{ImageFormat, ImageReader};
use zune_core::bytestream::ZCursor;
use zune_core::colorspace::ColorSpace;
use zune_core::options::DecoderOptions;
use zune_jpeg::JpegDecoder;

use crate::{Error, Result, file};

/// Pixels of one image, 8 bits a channel, rows from the top, `R G B R G B ...`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RgbImage {
    /// In pixels.
    pub width: u32,
    /// In pixels.
    pub height: u32,
    /// `height * width * 3` bytes.
    pub pixels: Vec<u8>,
}

/// JPEG allows no larger side.
const LARGEST_SIDE: usize = 65_535;
/// A header may promise more pixels than there is memory, in a file of a few bytes.
const MOST_PIXELS: u64 = 1 << 27;

/// `(width, height)` from the file's header, as stored: an EXIF orientation isn't applied.
///
/// # Errors
/// When the file can't be read or no known image format is found in it.
pub fn image_size(path: &Path) -> Result<(u32, u32)> {
    let opened = file::open(path).map_err(Error::read(path))?;
    let reader = ImageReader::new(BufReader::new(opened))
        .with_guessed_format()
        .map_err(Error::read(path))?;
    let size = match reader.format() {
        Some(ImageFormat::Jpeg) => {
            let mut decoder = JpegDecoder::new_with_options(reader.into_inner(), jpeg_options());
            decoder
                .decode_headers()
                .map_err(|error| error.to_string())
                .and_then(|()| {
                    let info = decoder.info().ok_or("no frame header")?;
                    Ok((u32::from(info.width), u32::from(info.height)))
                })
        }
        Some(_) => reader.into_dimensions().map_err(|error| error.to_string()),
        None => Err(unknown_format(path)),
    };
    size.map_err(|reason| Error::Image {
        path: path.to_path_buf(),
        reason,
    })
}

/// Decodes an image file; the format is told by its content, not by its suffix.
///
/// Grey images are repeated over the channels, transparency is dropped, more than 8 bits are reduced to 8,
/// an EXIF orientation isn't applied (labels are relative to the stored pixels).
///
/// # Errors
/// When the file can't be read, is in no known format, or is truncated or corrupt.
pub fn decode_rgb(path: &Path) -> Result<RgbImage> {
    let bytes = file::read(path).map_err(Error::read(path))?;
    decode_rgb_bytes(path, &bytes)
}

/// Like [`decode_rgb`], of bytes already read; `path` is only named in errors.
///
/// # Errors
/// When the bytes are in no known format, or are truncated or corrupt.
pub fn decode_rgb_bytes(path: &Path, bytes: &[u8]) -> Result<RgbImage> {
    let decoded = match image::guess_format(bytes) {
        Ok(ImageFormat::Jpeg) => decode_jpeg(bytes),
        Ok(format) => decode_other(bytes, format),
        Err(_) if bytes.is_empty() => Err("the file is empty".into()),
        Err(_) => Err(unknown_format(path)),
    };
    decoded.map_err(|reason| Error::Image {
        path: path.to_path_buf(),
        reason,
    })
}

fn unknown_format(path: &Path) -> String {
    let suffix = path
        .extension()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    format!("the content is no known image format, whatever its suffix '.{suffix}' says")
}

fn jpeg_options() -> DecoderOptions {
    DecoderOptions::default()
        .jpeg_set_out_colorspace(ColorSpace::RGB)
        .set_max_width(LARGEST_SIDE)
        .set_max_height(LARGEST_SIDE)
}

/// The lenient mode paints what is missing grey and says nothing, so the strict one goes first. Stray bytes
/// between two headers are the one fault that costs no pixel, and are let pass. Neither mode misses a few
/// bytes of the last rows; the end marker does.
fn decode_jpeg(bytes: &[u8]) -> std::result::Result<RgbImage, String> {
    let decoded = match decode_jpeg_with(bytes, jpeg_options().set_strict_mode(true)) {
        Err(reason) if reason.contains("Extra bytes between headers") => {
            decode_jpeg_with(bytes, jpeg_options())
        }
        decoded => decoded,
    }?;
    if !has_end_marker(bytes) {
        return Err("truncated JPEG: the end marker is missing".into());
    }
    Ok(decoded)
}

fn decode_jpeg_with(
    bytes: &[u8],
    options: DecoderOptions,
) -> std::result::Result<RgbImage, String> {
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(bytes), options);
    let corrupt = |error| format!("truncated or corrupt JPEG: {error}");
    decoder.decode_headers().map_err(corrupt)?;
    let info = decoder
        .info()
        .ok_or("truncated or corrupt JPEG: no frame header")?;
    let (width, height) = (u32::from(info.width), u32::from(info.height));
    if u64::from(width) * u64::from(height) > MOST_PIXELS {
        return Err(format!(
            "{width} x {height} pixels are more than {MOST_PIXELS}"
        ));
    }
    let pixels = decoder.decode().map_err(corrupt)?;
    if pixels.len() != width as usize * height as usize * 3 {
        return Err(format!(
            "a JPEG with {} components can't be read as RGB",
            info.components
        ));
    }
    Ok(RgbImage {
        width,
        height,
        pixels,
    })
}

/// From the back: phones append a trailer, even a film, to a whole image.
fn has_end_marker(jpeg: &[u8]) -> bool {
    jpeg.windows(2)
        .rposition(|pair| pair == [0xff, 0xd9])
        .is_some()
}

fn decode_other(bytes: &[u8], format: ImageFormat) -> std::result::Result<RgbImage, String> {
    let decoded = ImageReader::with_format(Cursor::new(bytes), format)
        .decode()
        .map_err(|error| error.to_string())?;
    let rgb = decoded.into_rgb8();
    let (width, height) = rgb.dimensions();
    Ok(RgbImage {
        width,
        height,
        pixels: rgb.into_raw(),
    })
}

#[cfg(test)]
mod tests;
