//! Image decoding by the crates `image` and, for JPEG 2000, `hayro-jpeg2000`.
//!
//! JPEG leaves some freedom to decoders, so its pixels can differ slightly from those of another library.

use std::io::Cursor;

use hayro_jpeg2000::{ColorSpace, DecodeSettings, DecoderContext, Image};
use image::{
    DynamicImage, GrayAlphaImage, GrayImage, ImageError, ImageFormat, ImageReader, Limits, RgbImage,
    RgbaImage,
};
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_types::dtype::Dtype;

use super::{Operator, native};
use crate::call::{Call, Outcome, one};
use crate::element::{MAX_BYTES, check_size};
use crate::error::{KernelErrorKind, invalid};

pub(super) const OPERATORS: &[Operator] = &[native("ImageDecoder", decode)];

/// Signatures of JPEG 2000: file format and raw codestream.
const JPEG_2000: [&[u8]; 2] = [b"\0\0\0\x0cjP  \r\n\x87\n", b"\xff\x4f\xff\x51"];

fn decode(call: &mut Call<'_>) -> Outcome {
    let stream = call.tensor(0)?;
    if stream.dtype() != Dtype::U8 {
        return Err(KernelErrorKind::Dtype(stream.dtype()));
    }
    let bytes = stream.as_slice::<u8>()?;
    let format = call.text("pixel_format", "RGB")?;
    let image = decoded(bytes)?;
    let (width, height) = (image.width() as usize, image.height() as usize);
    let mut pixels = image.into_rgb8().into_raw();
    let channels = match format {
        "RGB" => 3,
        "BGR" => {
            pixels.chunks_exact_mut(3).for_each(|pixel| pixel.swap(0, 2));
            3
        }
        "Grayscale" => {
            pixels = pixels.chunks_exact(3).map(|pixel| luma([pixel[0], pixel[1], pixel[2]])).collect();
            1
        }
        other => return invalid(format!("`pixel_format` is `{other}`, not `RGB`, `BGR` or `Grayscale`")),
    };
    one(AnyTensor::from_slice(&[height, width, channels], &pixels)?)
}

fn decoded(bytes: &[u8]) -> Result<DynamicImage, KernelErrorKind> {
    if JPEG_2000.iter().any(|magic| bytes.starts_with(magic)) {
        return jpeg_2000(bytes);
    }
    let failed = |error: ImageError| match error {
        ImageError::Limits(_) => KernelErrorKind::TooLarge { limit: MAX_BYTES },
        ImageError::Unsupported(error) => KernelErrorKind::Unsupported(error.to_string()),
        ImageError::Decoding(_)
        | ImageError::Encoding(_)
        | ImageError::Parameter(_)
        | ImageError::IoError(_) => KernelErrorKind::Invalid(format!("the image cannot be decoded: {error}")),
    };
    let format: ImageFormat = match image::guess_format(bytes) {
        Ok(format) => format,
        Err(_) => return Err(KernelErrorKind::Unsupported("an image of no known format".to_owned())),
    };
    let mut limits = Limits::default();
    limits.max_alloc = Some(MAX_BYTES as u64);
    let mut reader = ImageReader::with_format(Cursor::new(bytes), format);
    reader.limits(limits);
    reader.decode().map_err(failed)
}

/// Decodes a JPEG 2000 file or codestream with 1 to 4 channels.
fn jpeg_2000(bytes: &[u8]) -> Result<DynamicImage, KernelErrorKind> {
    let failed = |error| KernelErrorKind::Invalid(format!("the image cannot be decoded: {error}"));
    let image = Image::new(bytes, &DecodeSettings::default()).map_err(failed)?;
    let (width, height) = (image.width(), image.height());
    if let ColorSpace::CMYK = image.color_space() {
        return Err(KernelErrorKind::Unsupported("a JPEG 2000 image of CMYK colours".to_owned()));
    }
    // The decoder keeps several numbers for each pixel and channel.
    check_size(&[height as usize, width as usize, 4], 4 * size_of::<f32>())?;
    let mut context = DecoderContext::default();
    let pixels = image.decode(&mut context).map_err(failed)?.data_u8();
    let planes = (height as usize * width as usize).max(1);
    let decoded = match pixels.len() / planes {
        1 => GrayImage::from_raw(width, height, pixels).map(DynamicImage::from),
        2 => GrayAlphaImage::from_raw(width, height, pixels).map(DynamicImage::from),
        3 => RgbImage::from_raw(width, height, pixels).map(DynamicImage::from),
        4 => RgbaImage::from_raw(width, height, pixels).map(DynamicImage::from),
        _ => None,
    };
    decoded.ok_or_else(|| KernelErrorKind::Unsupported("a JPEG 2000 image with these channels".to_owned()))
}

/// Luma with ITU-R 601 weights, rounded as in the reference implementation.
fn luma([red, green, blue]: [u8; 3]) -> u8 {
    let [red, green, blue] = [red, green, blue].map(u32::from);
    u8::try_from((red * 19595 + green * 38470 + blue * 7471 + 0x8000) >> 16).unwrap_or(u8::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attributes::{Attribute, Attributes};

    fn run(bytes: &[u8], format: &str) -> Result<AnyTensor, String> {
        let format = Attribute::Bytes(format.as_bytes().to_vec());
        let attributes = Attributes::default().with("pixel_format", format);
        let inputs = vec![Some(AnyTensor::from(bytes).into())];
        let call = Call { version: 20, attributes: &attributes, inputs, outputs: 1 };
        // Not `ops::find`, with which the tests would compile all kernels a second time.
        let results = OPERATORS[0].run(call).map_err(|error| error.to_string())?;
        results.first().and_then(|value| value.as_tensor().cloned()).ok_or_else(|| "no tensor".to_owned())
    }

    /// Two pixels, red and blue.
    const PPM: &[u8] = b"P6\n2 1\n255\n\xff\0\0\0\0\xff";

    #[test]
    fn pixels_come_in_the_order_that_is_asked_for() {
        let pixels = |format| run(PPM, format).map(|it| (it.shape().to_vec(), it.bytes().to_vec()));
        assert_eq!(pixels("RGB"), Ok((vec![1, 2, 3], vec![255, 0, 0, 0, 0, 255])));
        assert_eq!(pixels("BGR"), Ok((vec![1, 2, 3], vec![0, 0, 255, 255, 0, 0])));
        assert_eq!(pixels("Grayscale"), Ok((vec![1, 2, 1], vec![76, 29])));
        let error = "`ImageDecoder`: `pixel_format` is `CMYK`, not `RGB`, `BGR` or `Grayscale`";
        assert_eq!(run(PPM, "CMYK"), Err(error.to_owned()));
    }

    #[test]
    fn unknown_image_formats_are_refused() {
        let refused = |bytes: &[u8]| run(bytes, "RGB").expect_err("it is refused");
        for jpeg_2000 in JPEG_2000 {
            let cut = refused(jpeg_2000);
            assert!(cut.starts_with("`ImageDecoder`: the image cannot be decoded: "), "{cut}");
        }
        assert_eq!(refused(b"hello"), "`ImageDecoder`: an image of no known format is not supported");
        assert_eq!(refused(b""), "`ImageDecoder`: an image of no known format is not supported");
        let cut = refused(&PPM[..PPM.len() - 1]);
        assert!(cut.starts_with("`ImageDecoder`: the image cannot be decoded: "), "{cut}");
    }

    #[test]
    fn an_image_that_claims_to_be_huge_takes_no_memory() {
        let huge = run(b"P6\n1000000000 1000000000\n255\n", "RGB").expect_err("it is refused");
        assert!(huge.contains("`ImageDecoder`"), "{huge}");
    }
}
