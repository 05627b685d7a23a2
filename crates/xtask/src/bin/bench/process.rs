//! CPU time and memory of processes, read from `/proc`.

/// CPU milliseconds that a process has used, its ended children included.
pub fn cpu_ms(pid: u32) -> u64 {
    let Some(fields) = stat(pid) else { return 0 };
    // utime, stime, cutime, cstime; the kernel counts in hundredths of a second.
    fields.iter().skip(11).take(4).filter_map(|field| field.parse::<u64>().ok()).sum::<u64>() * 10
}

/// CPU milliseconds that a process has used itself, whatever its children did.
pub fn own_cpu_ms(pid: u32) -> u64 {
    let fields = stat(pid).unwrap_or_default();
    fields.iter().skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum::<u64>() * 10
}

/// CPU milliseconds of a process and everything below it.
pub fn cpu_ms_of_tree(pid: u32) -> u64 {
    cpu_ms(pid) + children(pid).into_iter().map(cpu_ms_of_tree).sum::<u64>()
}

/// Resident memory in KiB.
pub fn resident_kib(pid: u32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with("VmRSS:")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|word| word.parse().ok()).unwrap_or(0)
}

/// Bytes that this process has sent to its disks.
pub fn written_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/io").unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with("write_bytes:")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|word| word.parse().ok()).unwrap_or(0)
}

// The fields after the command, which may itself hold spaces; the first is the state, so field 14 of proc(5) is at 11.
fn stat(pid: u32) -> Option<Vec<String>> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = text.rsplit_once(") ")?;
    Some(rest.split_whitespace().map(str::to_owned).collect())
}

fn children(pid: u32) -> Vec<u32> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|child| stat(*child).and_then(|fields| fields.get(1)?.parse::<u32>().ok()) == Some(pid)).collect()
}
