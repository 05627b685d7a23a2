//! What it costs to understand a host: the captured tree of a full HGX H200 is read, judged and cut into candidates. Only the
//! CPU of this thread counts, so a busy machine does not change the figure much.

use crate::figure::{Limit, Report, five};
use rustix::time::{ClockId, clock_gettime};
use topology::{
    Naming, candidates, discover, readiness,
    simulated::{HostSpec, trees},
};

/// Measures the CPU time, and how much has to be sent.
pub fn measure(report: &mut Report) -> Result<(), String> {
    let tree = trees::hgx_h200(&HostSpec { number: 1, name: "bench-1".to_owned(), gpus: 8 });
    let naming = Naming { node_number: 1, pool_number: 1, pool_range: "10.64.0.0/10".parse().ok() };
    let runs = five(|| {
        let before = cpu_us();
        let discovery = discover(&tree);
        let (ready, slots) = (readiness(&discovery), candidates(&discovery, &naming));
        let took = cpu_us().saturating_sub(before);
        // What was not looked at might as well not have been done.
        if !ready.ready() || slots.len() != 8 {
            return Err(format!("expected a ready host with 8 candidates, got {}", slots.len()));
        }
        Ok(took)
    })?;
    report.figure("discovery_hgx_cpu", &runs, "cpu_us", Limit::AtMost(200_000));
    let bytes = serde_json::to_vec(&discover(&tree)).map_err(|error| error.to_string())?.len();
    let limit = api::node_plane::REPORT_BYTES_MAX;
    report.figure("discovery_hgx_bytes", &[bytes as u64], "bytes", Limit::AtMost(limit as u64));
    Ok(())
}

fn cpu_us() -> u64 {
    let used = clock_gettime(ClockId::ThreadCPUTime);
    u64::try_from(used.tv_sec * 1_000_000 + used.tv_nsec / 1000).unwrap_or(0)
}
