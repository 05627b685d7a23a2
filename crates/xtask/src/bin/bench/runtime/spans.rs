//! Whose time it was: pieces of time, how much of a longer one they cover together, and those that a root process's log tells
//! of. Programs that ran at the same time are counted once.

use model::Timestamp;

/// From one moment to another, in microseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    pub from_us: u64,
    pub to_us: u64,
}

impl Span {
    /// How long it is.
    pub fn us(self) -> u64 {
        self.to_us.saturating_sub(self.from_us)
    }
}

/// How much of a span others cover together.
pub fn covered_us(whole: Span, parts: &[Span]) -> u64 {
    let mut sorted = parts.to_vec();
    sorted.sort_unstable();
    let (mut at, mut sum) = (whole.from_us, 0);
    for part in sorted {
        let (from, to) = (part.from_us.max(at), part.to_us.min(whole.to_us));
        if to > from {
            sum += to - from;
            at = to;
        }
    }
    sum
}

/// What a root process logged.
#[derive(Debug, Default)]
pub struct Log {
    /// Every program it ran, with its command line.
    pub programs: Vec<(Span, String)>,
    /// When a guest was looked at and was not ready.
    pub not_ready_us: Vec<(u64, String)>,
    /// When a guest said its first word on SSH, which is its banner.
    pub spoke_us: Vec<(u64, String)>,
    /// When each step began.
    pub steps: Vec<(u64, String)>,
}

/// Reads a log; lines about other things are passed over.
pub fn read(text: &str) -> Log {
    let mut log = Log::default();
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let time = words.next().and_then(|word| word.parse::<Timestamp>().ok());
        let Some(at_us) = time.and_then(|time| u64::try_from(time.as_micros()).ok()) else { continue };
        if line.contains(" DEBUG command: ran ") {
            let took_us: u64 = field(line, "took_us=").and_then(|word| word.parse().ok()).unwrap_or(0);
            let command = line.split_once(" line=").map_or("", |(_, rest)| rest).trim_matches('"').to_owned();
            log.programs.push((Span { from_us: at_us.saturating_sub(took_us), to_us: at_us }, command));
        } else if line.contains(": is not ready yet ") {
            log.not_ready_us.push((at_us, field(line, "allocation=").unwrap_or_default().to_owned()));
        } else if line.contains(": speaks ") {
            log.spoke_us.push((at_us, field(line, "allocation=").unwrap_or_default().to_owned()));
        } else if line.contains(": begins step=") {
            log.steps.push((at_us, field(line, "step=").unwrap_or_default().to_owned()));
        }
    }
    log
}

fn field<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    line.split_once(name).and_then(|(_, rest)| rest.split_whitespace().next())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(from_us: u64, to_us: u64) -> Span {
        Span { from_us, to_us }
    }

    #[test]
    fn what_overlaps_counts_once_and_what_is_outside_not_at_all() {
        assert_eq!(covered_us(span(100, 200), &[span(150, 170), span(90, 110), span(160, 180), span(195, 300)]), 45);
        assert_eq!(covered_us(span(100, 200), &[span(0, 50), span(250, 300)]), 0);
        assert_eq!(covered_us(span(100, 200), &[span(0, 500), span(120, 130)]), 100);
        assert_eq!(covered_us(span(100, 200), &[]), 0);
    }

    #[test]
    fn a_log_tells_whose_time_it_was() {
        let log = read(
            "1970-01-01T00:00:01.000000Z  INFO hostd::server: asked ask=\"plan\"\n\
             1970-01-01T00:00:02.000250Z DEBUG command: ran took_us=250 well=true line=\"/usr/bin/virsh list --uuid\"\n\
             1970-01-01T00:00:03.000000Z DEBUG hostd::work: begins step=Clone\n\
             1970-01-01T00:00:04.000000Z DEBUG hostd::ready: is not ready yet allocation=alc_1 because=NoLeaseYet\n\
             1970-01-01T00:00:05.000000Z DEBUG hostd::ready: speaks allocation=alc_1\n\
             not a line\n",
        );
        assert_eq!(log.programs, [(span(2_000_000, 2_000_250), "/usr/bin/virsh list --uuid".to_owned())]);
        assert_eq!(log.steps, [(3_000_000, "Clone".to_owned())]);
        assert_eq!(log.not_ready_us, [(4_000_000, "alc_1".to_owned())]);
        assert_eq!(log.spoke_us, [(5_000_000, "alc_1".to_owned())]);
    }
}
