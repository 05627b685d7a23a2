//! Bytes as hexadecimal digits, and back.

/// In lower-case digits.
pub(crate) fn encode(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Bytes from digits of either case.
pub(crate) fn bytes(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    text.as_bytes().chunks(2).map(|pair| Some(digit(pair[0])? * 16 + digit(*pair.get(1)?)?)).collect()
}

/// Thirty-two bytes from 64 digits of either case.
pub(crate) fn decode(text: &str) -> Option<[u8; 32]> {
    bytes(text)?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_read_back_and_nothing_else_does() {
        let bytes = std::array::from_fn(|at| u8::try_from(at * 8).unwrap_or(0));
        assert_eq!(decode(&encode(&bytes)), Some(bytes));
        assert_eq!(decode(&encode(&bytes).to_uppercase()), Some(bytes));
        for text in ["", "00", &"0".repeat(63), &"0".repeat(66), &"g".repeat(64), &"+0".repeat(32), &"é".repeat(32)] {
            assert_eq!(decode(text), None, "{text}");
        }
    }
}
