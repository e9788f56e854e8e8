//! Numbers of bytes in arguments.

/// Parses a number of bytes with an optional unit of 1024, 1024² or 1024³ bytes.
pub(super) fn size(text: &str) -> Result<u64, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let shift = match unit.to_ascii_uppercase().as_str() {
        "" | "B" => 0,
        "K" | "KB" | "KIB" => 10,
        "M" | "MB" | "MIB" => 20,
        "G" | "GB" | "GIB" => 30,
        "T" | "TB" | "TIB" => 40,
        _ => return Err("a size is a number of bytes with an optional unit K, M, G or T".to_owned()),
    };
    let number: u64 = number.parse().map_err(|_| "a size begins with a number".to_owned())?;
    number.checked_mul(1 << shift).ok_or_else(|| "the size is too large".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        for (text, bytes) in [("0", 0), ("17", 17), ("3k", 3 << 10), ("512M", 512 << 20), ("4GiB", 4 << 30)] {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        for text in ["", "M", "1.5G", "-1", "4 G", "99999999999999999999", "99999999T"] {
            assert!(size(text).is_err(), "{text}");
        }
    }
}
