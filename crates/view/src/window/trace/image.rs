//! Images that came over the bus.
//!
//! An image that must be fetched, a kind that can hold more than pixels, and a size that would fill the reader's memory
//! are refused.

use crate::PartView;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use imagesize::ImageType;

/// Pixels of an image that is drawn, at most.
const PIXELS: usize = 25_000_000;

/// Base64 of a part, with or without the head of a data URL.
pub(super) fn bytes_of(content: &str) -> Option<Vec<u8>> {
    let data = match content.strip_prefix("data:") {
        Some(rest) => rest.split_once(";base64,")?.1,
        None => content,
    };
    let packed: String = data.split_ascii_whitespace().collect();
    STANDARD.decode(packed).ok()
}

/// The image, or why it is not drawn.
pub(in crate::window) fn image(content: &str) -> Result<PartView, &'static str> {
    let bytes = bytes_of(content).ok_or("its bytes are not base64")?;
    let kind = imagesize::image_type(&bytes).map_err(|_| "its bytes are not an image")?;
    let mime = match kind {
        ImageType::Png => "image/png",
        ImageType::Jpeg => "image/jpeg",
        ImageType::Gif => "image/gif",
        ImageType::Webp => "image/webp",
        _ => return Err("only PNG, JPEG, GIF and WebP are drawn"),
    };
    let size = imagesize::blob_size(&bytes).map_err(|_| "its size cannot be read")?;
    if size.width == 0 || size.height == 0 {
        return Err("it has no pixels");
    }
    if size.width.saturating_mul(size.height) > PIXELS {
        return Err("it has more than 25 million pixels");
    }
    let side = |pixels: usize| u32::try_from(pixels).unwrap_or(u32::MAX);
    Ok(PartView::Image {
        mime: mime.to_owned(),
        data: STANDARD.encode(&bytes),
        width: side(size.width),
        height: side(size.height),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// The head of a PNG of this size; no decoder is asked here.
    fn png(width: u32, height: u32) -> Vec<u8> {
        let mut bytes = b"\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR".to_vec();
        bytes.extend(width.to_be_bytes());
        bytes.extend(height.to_be_bytes());
        bytes.extend([8, 2, 0, 0, 0]);
        bytes
    }

    #[test]
    fn an_image_is_what_its_bytes_say_and_nothing_is_fetched() {
        let small = STANDARD.encode(png(20, 10));
        let drawn = image(&format!("data:image/svg+xml;base64,{small}")).unwrap();
        let PartView::Image {
            mime,
            width,
            height,
            data,
        } = drawn
        else {
            panic!("{drawn:?}");
        };
        assert_eq!((mime.as_str(), width, height), ("image/png", 20, 10));
        assert_eq!(data, small);
        let table = [
            ("https://example.com/a.png".to_owned(), "its bytes are not base64"),
            (STANDARD.encode("<svg onload=alert(1)>"), "its bytes are not an image"),
            (STANDARD.encode(png(100_000, 100_000)), "it has more than 25 million pixels"),
            (STANDARD.encode(png(0, 10)), "it has no pixels"),
            (STANDARD.encode(b"BM\x46\x00\x00\x00\x00\x00\x00\x00\x36\x00\x00\x00\x28\x00\x00\x00\x02\x00\x00\x00\x02\x00\x00\x00"), "only PNG, JPEG, GIF and WebP are drawn"),
        ];
        for (content, why) in table {
            assert_eq!(image(&content).unwrap_err(), why, "{content}");
        }
    }
}
