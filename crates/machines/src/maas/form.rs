//! The fields of a request, as `application/x-www-form-urlencoded`, and which of them are secret.

/// Everything but letters, digits and `-._~` as `%XX`, as RFC 5849 section 3.6 wants it; a form takes it as well.
pub(super) fn percent(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            encoded.push(char::from(byte));
        } else {
            encoded.push('%');
            for digit in [byte >> 4, byte & 15] {
                encoded.extend(char::from_digit(u32::from(digit), 16).map(|digit| digit.to_ascii_uppercase()));
            }
        }
    }
    encoded
}

/// The fields of one request.
#[derive(Default)]
pub(super) struct Form {
    body: String,
    secrets: Vec<String>,
}

impl Form {
    pub(super) fn new() -> Self {
        Self::default()
    }

    /// One more field.
    pub(super) fn with(mut self, name: &str, value: &str) -> Self {
        if !self.body.is_empty() {
            self.body.push('&');
        }
        self.body.push_str(&percent(name));
        self.body.push('=');
        self.body.push_str(&percent(value));
        self
    }

    /// One more field that must not come back in an error: neither as it is sent nor, line by line, as it was.
    pub(super) fn secret(mut self, name: &str, plain: &[u8], sent: &str) -> Self {
        self.secrets.push(sent.to_owned());
        self.secrets.push(percent(sent));
        let lines = plain.split(|byte| matches!(byte, b'\n' | b'\r')).map(|line| String::from_utf8_lossy(line));
        self.secrets.extend(lines.map(|line| line.trim().to_owned()).filter(|line| line.len() >= 8));
        self.with(name, sent)
    }

    pub(super) fn body(&self) -> &str {
        &self.body
    }

    pub(super) fn secrets(&self) -> &[String] {
        &self.secrets
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_cannot_become_another_field() {
        let form = Form::new().with("comment", "a&erase=false =+%\n").with("n", "ä");
        assert_eq!(form.body(), "comment=a%26erase%3Dfalse%20%3D%2B%25%0A&n=%C3%A4");
    }

    #[test]
    fn a_secret_is_known_in_every_form_it_may_come_back_in() {
        let form = Form::new().secret("user_data", b"short\npassword: hunter22\n", "c2hvcnQ+");
        assert_eq!(form.secrets(), ["c2hvcnQ+", "c2hvcnQ%2B", "password: hunter22"]);
    }
}
