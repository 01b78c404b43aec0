use image::codecs::jpeg::JpegEncoder;
use image::{DynamicImage, Rgb, RgbImage as Buffer};

use super::*;

fn picture() -> Buffer {
    Buffer::from_fn(61, 47, |x, y| {
        Rgb([(x * 4) as u8, (y * 5) as u8, ((x * y) % 251) as u8])
    })
}

fn jpeg(image: &DynamicImage) -> Vec<u8> {
    let mut bytes = Vec::new();
    JpegEncoder::new_with_quality(&mut bytes, 92)
        .encode_image(image)
        .expect("encodes");
    bytes
}

#[test]
fn lossless_formats_come_back_as_they_were() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    for suffix in ["png", "bmp", "tiff", "webp"] {
        let path = dir.path().join(format!("a.{suffix}"));
        picture().save(&path).expect("writable");
        assert_eq!(image_size(&path).expect(suffix), (61, 47));
        assert_eq!(
            decode_rgb(&path).expect(suffix).pixels,
            picture().into_raw(),
            "{suffix}"
        );
    }
}

#[test]
fn jpeg_is_near_and_grey_is_repeated() {
    let path = Path::new("a.jpg");
    let decoded = decode_rgb_bytes(path, &jpeg(&picture().into())).expect("a whole JPEG");
    assert_eq!((decoded.width, decoded.height), (61, 47));
    let grey = DynamicImage::from(picture()).into_luma8();
    let decoded = decode_rgb_bytes(path, &jpeg(&grey.clone().into())).expect("a grey JPEG");
    for (pixel, expected) in decoded.pixels.chunks(3).zip(grey.as_raw()) {
        assert!(pixel[0] == pixel[1] && pixel[1] == pixel[2]);
        assert!(pixel[0].abs_diff(*expected) < 12, "{pixel:?} {expected}");
    }
}

#[test]
fn the_content_decides_not_the_suffix() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let path = dir.path().join("really_png.jpg");
    picture()
        .save_with_format(&path, ImageFormat::Png)
        .expect("writable");
    assert_eq!(image_size(&path).expect("a PNG"), (61, 47));
    assert_eq!(
        decode_rgb(&path).expect("a PNG").pixels,
        picture().into_raw()
    );
}

#[test]
fn truncated_and_foreign_files_are_errors_that_name_the_file() {
    let path = Path::new("/set/bad.jpg");
    let whole = jpeg(&picture().into());
    let mut png = Cursor::new(Vec::new());
    picture()
        .write_to(&mut png, ImageFormat::Png)
        .expect("encodes");
    let png = png.into_inner();
    let cases = [
        &whole[..whole.len() / 2],
        &whole[..whole.len() * 9 / 10],
        &whole[..200],
        &whole[..whole.len() - 2],
        &png[..png.len() / 2],
        b"",
        b"<html>",
    ];
    for bytes in cases {
        let message = decode_rgb_bytes(path, bytes)
            .expect_err("broken")
            .to_string();
        assert!(message.contains("/set/bad.jpg"), "{message}");
    }
}

#[test]
fn stray_and_trailing_bytes_cost_nothing() {
    let mut bytes = jpeg(&picture().into());
    let whole = decode_rgb_bytes(Path::new("a.jpg"), &bytes).expect("whole");
    bytes.splice(20..20, [0; 8]);
    assert_eq!(
        decode_rgb_bytes(Path::new("a.jpg"), &bytes).expect("decodes"),
        whole
    );
    let trailer = [bytes.as_slice(), &[0; 5000]].concat();
    assert_eq!(
        decode_rgb_bytes(Path::new("a.jpg"), &trailer).expect("decodes"),
        whole
    );
    bytes.truncate(bytes.len() / 2);
    decode_rgb_bytes(Path::new("a.jpg"), &bytes).expect_err("truncated as well");
}

#[test]
fn a_missing_file_is_a_read_error() {
    let error = decode_rgb(Path::new("/nonexistent/a.jpg")).expect_err("missing");
    assert!(
        matches!(error, Error::Read { .. }) && error.to_string().contains("/nonexistent/a.jpg")
    );
    image_size(Path::new("/nonexistent/a.jpg")).expect_err("missing");
}

#[test]
fn a_header_that_promises_too_much_is_refused() {
    let mut bytes = jpeg(&picture().into());
    let frame = bytes
        .windows(2)
        .position(|pair| pair == [0xff, 0xc0])
        .expect("a baseline frame");
    // Height and width follow marker, length and precision.
    bytes[frame + 5..frame + 9].fill(0xff);
    let error = decode_rgb_bytes(Path::new("a.jpg"), &bytes).expect_err("4 gigapixels");
    assert!(error.to_string().contains("65535 x 65535"), "{error}");
}
