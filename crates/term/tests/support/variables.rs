//! Inference variables in printed types.

/// Renumbers the variables `?7`, `?2`, ... of texts by first occurrence.
pub(crate) fn rename(texts: &[String], name: impl Fn(usize) -> String) -> Vec<String> {
    let mut numbers: Vec<String> = Vec::new();
    let mut renamed = |text: &String| {
        let mut parts = text.split('?');
        let mut out = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let digits = part.chars().take_while(char::is_ascii_digit).count();
            let (number, rest) = part.split_at(digits);
            let index = numbers.iter().position(|known| known == number).unwrap_or_else(|| {
                numbers.push(number.into());
                numbers.len() - 1
            });
            out += &name(index);
            out += rest;
        }
        out
    };
    texts.iter().map(&mut renamed).collect()
}
