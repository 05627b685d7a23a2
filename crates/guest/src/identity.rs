//! What a guest and its devices are called. Everything that names a guest on the host (its libvirt name, its UUID, its
//! cloud-init instance id) follows from the allocation and the use of its slots, so that a second attempt finds the
//! first one's work, and the next tenant's guest can never be taken for the last one's.

use model::{AllocationId, SlotId};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use sha2::{Digest, Sha256};
use std::{fmt, str::FromStr};

/// A value that breaks a rule: which one, what was expected and what was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{field}: expected {expected}, found {found}")]
pub struct Refused {
    /// What was looked at.
    pub field: String,
    /// The rule.
    pub expected: String,
    /// What stood there, made safe to show.
    pub found: String,
}

impl Refused {
    /// A refusal; what was found is cut short and quoted, because tenants write it.
    pub fn new(field: impl Into<String>, expected: impl Into<String>, found: &str) -> Self {
        Self { field: field.into(), expected: expected.into(), found: shown(found) }
    }
}

/// Any text, short and free of characters that move a terminal or break a line.
pub(crate) fn shown(text: &str) -> String {
    const CHARACTERS_MAX: usize = 80;
    let mut short: String = text.chars().take(CHARACTERS_MAX).flat_map(char::escape_debug).collect();
    if text.chars().nth(CHARACTERS_MAX).is_some() {
        short.push('…');
    }
    format!("`{short}`")
}

/// One guest: an allocation, in one use of its slots.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GuestUse {
    /// Whose guest.
    pub allocation_id: AllocationId,
    /// Which use; a later one is another guest.
    pub use_generation: i64,
}

impl GuestUse {
    /// What it is called on the host: `alc_…-g3`.
    pub fn name(&self) -> String {
        format!("{}-g{}", self.allocation_id, self.use_generation)
    }

    /// The guest that a name belongs to; none for names that the platform did not give.
    pub fn from_name(name: &str) -> Option<Self> {
        let (allocation_id, generation) = name.rsplit_once("-g")?;
        let guest = Self { allocation_id: allocation_id.parse().ok()?, use_generation: generation.parse().ok()? };
        (guest.name() == name).then_some(guest)
    }

    /// Its UUID, always the same for the same guest.
    pub fn uuid(&self) -> Uuid {
        let digest = Sha256::digest(format!("gpuaas guest 1\0{}", self.name()));
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&digest[..16]);
        // Version 8 (RFC 9562) is for names of one's own making.
        bytes[6] = (bytes[6] & 0x0f) | 0x80;
        bytes[8] = (bytes[8] & 0x3f) | 0x80;
        Uuid(bytes)
    }
}

impl fmt::Display for GuestUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())
    }
}

/// One use of one slot.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SlotUse {
    /// The slot.
    pub slot_id: SlotId,
    /// Which use of it.
    pub use_generation: i64,
}

macro_rules! as_text {
    ($name:ident) => {
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.collect_str(self)
            }
        }
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                String::deserialize(from)?.parse().map_err(D::Error::custom)
            }
        }
    };
}

/// A UUID in its usual spelling.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Uuid(pub [u8; 16]);
as_text!(Uuid);

impl fmt::Display for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, byte) in self.0.iter().enumerate() {
            if matches!(at, 4 | 6 | 8 | 10) {
                f.write_str("-")?;
            }
            write!(f, "{byte:02x}")?;
        }
        Ok(())
    }
}

impl FromStr for Uuid {
    type Err = Refused;
    fn from_str(text: &str) -> Result<Self, Refused> {
        let refused = || Refused::new("uuid", "8-4-4-4-12 hexadecimal digits", text);
        let groups: Vec<&str> = text.split('-').collect();
        if groups.iter().map(|group| group.len()).ne([8, 4, 4, 4, 12]) {
            return Err(refused());
        }
        let digits = groups.concat();
        let mut bytes = [0; 16];
        for (at, byte) in bytes.iter_mut().enumerate() {
            *byte = hex_byte(digits.get(at * 2..at * 2 + 2)).ok_or_else(refused)?;
        }
        Ok(Self(bytes))
    }
}

fn hex_byte(digits: Option<&str>) -> Option<u8> {
    let digits = digits.filter(|digits| digits.len() == 2 && digits.bytes().all(|b| b.is_ascii_hexdigit()))?;
    u8::from_str_radix(digits, 16).ok()
}

/// The address of a network card: six bytes, of one station, not all zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mac(pub [u8; 6]);
as_text!(Mac);

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

impl FromStr for Mac {
    type Err = Refused;
    fn from_str(text: &str) -> Result<Self, Refused> {
        let refused = || Refused::new("mac", "the MAC address of one station such as 02:00:00:00:2a:05", text);
        let mut bytes = [0; 6];
        let mut groups = text.split(':');
        for byte in &mut bytes {
            *byte = hex_byte(groups.next()).ok_or_else(refused)?;
        }
        let of_one_station = bytes[0] & 1 == 0 && bytes != [0; 6];
        if groups.next().is_none() && of_one_station { Ok(Self(bytes)) } else { Err(refused()) }
    }
}

/// Where a PCI function sits: `0000:0f:00.0`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PciAddress {
    /// The PCI domain.
    pub domain: u16,
    /// The bus.
    pub bus: u8,
    /// The device on the bus, below 32.
    pub device: u8,
    /// The function of the device, below 8.
    pub function: u8,
}
as_text!(PciAddress);

impl fmt::Display for PciAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04x}:{:02x}:{:02x}.{:x}", self.domain, self.bus, self.device, self.function)
    }
}

impl FromStr for PciAddress {
    type Err = Refused;
    fn from_str(text: &str) -> Result<Self, Refused> {
        let refused = || Refused::new("pci address", "a PCI address such as 0000:0f:00.0", text);
        let number = |digits: &str, length: usize| {
            let right = digits.len() == length && digits.bytes().all(|b| b.is_ascii_hexdigit());
            right.then(|| u16::from_str_radix(digits, 16).ok()).flatten().ok_or_else(refused)
        };
        let byte = |digits: &str, length: usize| number(digits, length)?.try_into().map_err(|_| refused());
        let (rest, function) = text.rsplit_once('.').ok_or_else(refused)?;
        let [domain, bus, device] = rest.split(':').collect::<Vec<_>>()[..] else { return Err(refused()) };
        let address = Self {
            domain: number(domain, 4)?,
            bus: byte(bus, 2)?,
            device: byte(device, 2)?,
            function: byte(function, 1)?,
        };
        if address.device < 32 && address.function < 8 { Ok(address) } else { Err(refused()) }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use model::Timestamp;
    use proptest::prelude::*;

    /// A guest to test with.
    pub(crate) fn guest(use_generation: i64) -> GuestUse {
        let allocation_id = AllocationId::from_parts(Timestamp::from_micros(1_700_000_000_000_000), [7; 10]);
        GuestUse { allocation_id, use_generation }
    }

    /// A slot to test with.
    pub(crate) fn slot(number: u8) -> SlotId {
        SlotId::from_parts(Timestamp::from_micros(1_700_000_000_000_000), [number; 10])
    }

    #[test]
    fn a_guest_keeps_its_names_and_the_next_use_has_others() {
        let (now, next) = (guest(3), guest(4));
        assert_eq!(now.uuid(), guest(3).uuid());
        assert_ne!(now.uuid(), next.uuid());
        assert_ne!(now.name(), next.name());
        assert_eq!(GuestUse::from_name(&now.name()), Some(now.clone()));
        let text = now.uuid().to_string();
        assert_eq!(&text[14..15], "8", "{text}");
        for other in ["", "win10", "alc_1-g3", &format!("{}-g03", now.allocation_id), &now.allocation_id.to_string()] {
            assert_eq!(GuestUse::from_name(other), None, "{other}");
        }
    }

    #[test]
    fn addresses_that_are_none_are_refused() {
        for bad in
            ["", "01:00:00:00:00:01", "00:00:00:00:00:00", "02:00:00:00:00", "02:00:00:00:00:01:02", "2:0:0:0:0:+1"]
        {
            assert!(bad.parse::<Mac>().is_err(), "{bad}");
        }
        for bad in
            ["", "0f:00.0", "0000:0f:20.0", "0000:0f:00.8", "0000:0f:00.0 ", "0000:0f:00", "+000:0f:00.0", "0:f:0.0"]
        {
            assert!(bad.parse::<PciAddress>().is_err(), "{bad}");
        }
        for bad in ["", "x", "00000000-0000-0000-0000-00000000000g", "000000000000-0000-0000-0000-00000000"] {
            assert!(bad.parse::<Uuid>().is_err(), "{bad}");
        }
    }

    #[test]
    fn what_is_found_is_safe_to_show() {
        let refused = Refused::new("x", "y", &"\u{1b}[31m\n\u{202e}".repeat(50));
        assert!(refused.found.chars().count() < 1200 && !refused.to_string().contains(['\n', '\u{1b}', '\u{202e}']));
    }

    proptest! {
        #[test]
        fn names_come_back_as_they_went(bytes: [u8; 16], mac: [u8; 6], domain: u16, bus: u8, device in 0u8..32, function in 0u8..8) {
            prop_assert_eq!(Uuid(bytes).to_string().parse(), Ok(Uuid(bytes)));
            let address = PciAddress { domain, bus, device, function };
            prop_assert_eq!(address.to_string().parse(), Ok(address));
            let mac = Mac([mac[0] & 0xfe, mac[1], mac[2], mac[3], mac[4], mac[5] | 1]);
            prop_assert_eq!(mac.to_string().parse(), Ok(mac));
        }

        #[test]
        fn no_text_upsets_the_readers(text in ".{0,60}") {
            let _ = (text.parse::<Uuid>(), text.parse::<Mac>(), text.parse::<PciAddress>(), GuestUse::from_name(&text));
        }
    }
}
