//! `Debug` and `Display` of tensors: element type, shape and the first few elements.

use std::fmt::{Debug, Display, Formatter, Result};

use super::AnyTensor;
use super::error::{Shape, TensorError};
use typeloom_types::dtype::Dtype;
use typeloom_types::element::Element;

/// Maximum number of printed elements.
const MAX_ELEMENTS: usize = 8;

/// Maximum number of printed characters per string.
const MAX_CHARS: usize = 32;

impl Debug for AnyTensor {
    /// `f32[2, 3] [1.0, 2.0, ...]`. Elements without a Rust type are printed as codes, complex numbers as
    /// bytes.
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "{}{} ", self.dtype, Shape(&self.shape))?;
        match self.dtype {
            Dtype::F32 => self.elements::<f32>(f),
            Dtype::F64 => self.elements::<f64>(f),
            Dtype::F16 => self.elements::<half::f16>(f),
            Dtype::BF16 => self.elements::<half::bf16>(f),
            Dtype::U8 => self.elements::<u8>(f),
            Dtype::U16 => self.elements::<u16>(f),
            Dtype::U32 => self.elements::<u32>(f),
            Dtype::U64 => self.elements::<u64>(f),
            Dtype::I8 => self.elements::<i8>(f),
            Dtype::I16 => self.elements::<i16>(f),
            Dtype::I32 => self.elements::<i32>(f),
            Dtype::I64 => self.elements::<i64>(f),
            Dtype::Bool => self.elements::<bool>(f),
            Dtype::String => {
                let cut = |string: &str| string.chars().take(MAX_CHARS).collect::<String>();
                list(f, self.strings().map(|strings| strings.map(cut)))
            }
            Dtype::Complex64 | Dtype::Complex128 => {
                let width = self.dtype.size_bytes().unwrap_or(1);
                list(f, Ok(self.bytes().chunks(width)))
            }
            // Formats without a Rust type are shown as bits.
            _ => list(f, self.codes()),
        }
    }
}

impl Display for AnyTensor {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        Debug::fmt(self, f)
    }
}

impl AnyTensor {
    fn elements<T: Element>(&self, f: &mut Formatter<'_>) -> Result {
        list(f, self.as_slice::<T>().map(<[T]>::iter))
    }
}

fn list<I>(f: &mut Formatter<'_>, elements: std::result::Result<I, TensorError>) -> Result
where
    I: ExactSizeIterator<Item: Debug>,
{
    let Ok(elements) = elements else { return f.write_str("?") };
    let more = elements.len() > MAX_ELEMENTS;
    let mut list = f.debug_list();
    list.entries(elements.take(MAX_ELEMENTS));
    if more { list.finish_non_exhaustive() } else { list.finish() }
}
