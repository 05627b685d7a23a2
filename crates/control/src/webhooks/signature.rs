//! Signatures as Standard Webhooks has them: HMAC-SHA256 over the message's id, the moment of the attempt and the body, with
//! every secret that is good at that moment. The receiver takes any one of them.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use crate::authz::token::WEBHOOK_PREFIX;

/// The value of the header `webhook-signature`: one signature for each secret, in their order.
pub(super) fn of(secrets: &[String], id: &str, at_s: i64, body: &[u8]) -> Option<String> {
    let signed: Option<Vec<String>> = secrets.iter().map(|secret| with(secret, id, at_s, body)).collect();
    signed.filter(|signed| !signed.is_empty()).map(|signed| signed.join(" "))
}

fn with(secret: &str, id: &str, at_s: i64, body: &[u8]) -> Option<String> {
    let key = STANDARD.decode(secret.strip_prefix(WEBHOOK_PREFIX)?).ok()?;
    let mut mac = Hmac::<Sha256>::new_from_slice(&key).ok()?;
    mac.update(format!("{id}.{at_s}.").as_bytes());
    mac.update(body);
    Some(format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes())))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    // The example that the libraries of Standard Webhooks are tested with.
    const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    const ID: &str = "msg_p5jXN8AQM9LWM0D4loKWxJek";
    const AT_S: i64 = 1_614_265_330;
    const BODY: &[u8] = br#"{"test": 2432232314}"#;
    const SIGNATURE: &str = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";

    #[test]
    fn the_published_example_comes_out() {
        assert_eq!(of(&[SECRET.to_owned()], ID, AT_S, BODY).unwrap(), SIGNATURE);
    }

    #[test]
    fn every_part_counts() {
        let one = [SECRET.to_owned()];
        for (id, at_s, body) in [("msg_x", AT_S, BODY), (ID, AT_S + 1, BODY), (ID, AT_S, b"{}".as_slice())] {
            assert_ne!(of(&one, id, at_s, body).unwrap(), SIGNATURE);
        }
        let other = format!("whsec_{}", STANDARD.encode([7u8; 32]));
        assert_ne!(of(&[other], ID, AT_S, BODY).unwrap(), SIGNATURE);
    }

    #[test]
    fn two_secrets_sign_side_by_side_and_none_signs_nothing() {
        let other = format!("whsec_{}", STANDARD.encode([7u8; 32]));
        let both = of(&[other.clone(), SECRET.to_owned()], ID, AT_S, BODY).unwrap();
        let alone = of(&[other], ID, AT_S, BODY).unwrap();
        assert_eq!(both, format!("{alone} {SIGNATURE}"));
        assert_eq!(of(&[], ID, AT_S, BODY), None);
        assert_eq!(of(&["secret".to_owned()], ID, AT_S, BODY), None, "what is no secret never signs");
    }
}
