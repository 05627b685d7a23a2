//! What was found, for people: one line a device, then what stands in the way of selling slices.

use topology::{
    Discovery, Readiness, ReadinessState,
    discovery::{FabricFunction, Gpu, NvmeDisk, PciFunction},
};

/// The whole page.
pub(crate) fn page(discovery: &Discovery, readiness: &Readiness) -> String {
    let mut page = String::new();
    page += &host(discovery);
    page += &section("GPUS", &["address", "product", "module", "numa", "iommu", "driver", "link"], &gpus(discovery));
    page += &section("NVME DISKS", &["name", "identity", "model", "size", "numa", "used for"], &disks(discovery));
    page += &section("FABRIC", &["address", "role", "name", "parent", "numa", "iommu", "port"], &fabric(discovery));
    page += &section("NETWORK", &["address", "name", "interfaces"], &network(discovery));
    page += &section("PARTITIONS", &["number", "GPUs by module"], &partitions(discovery));
    page += &section("PCIE SWITCHES", &["upstream port", "GPUs", "NVMe", "fabric"], &switches(discovery));
    page += &section("OTHER", &["address", "ids", "class", "driver"], &others(discovery));
    page += &section("READINESS", &["check", "state", "what"], &checks(readiness));
    let notes: Vec<Vec<String>> =
        discovery.notes.iter().map(|note| vec![note.path.clone(), note.reason.clone()]).collect();
    page += &section("NOTES", &["path", "reason"], &notes);
    page += match (readiness.ready(), readiness.reboot_required) {
        (true, _) => "ready for slices\n",
        (false, true) => "not ready for slices; putting it right takes a reboot\n",
        (false, false) => "not ready for slices\n",
    };
    page
}

fn host(discovery: &Discovery) -> String {
    let host = &discovery.host;
    let known = |value: &Option<String>| value.clone().unwrap_or_else(|| "?".to_owned());
    format!(
        "{}  {} {}  serial {}  kernel {}  {} NUMA nodes\n",
        known(&host.hostname),
        known(&host.vendor),
        known(&host.product),
        known(&host.serial),
        known(&host.kernel_release),
        discovery.numa_nodes.len()
    )
}

fn gpus(discovery: &Discovery) -> Vec<Vec<String>> {
    let row = |gpu: &Gpu| {
        vec![
            gpu.pci.address.to_string(),
            dash(gpu.product.as_ref()),
            dash(gpu.module_id.as_ref()),
            dash(gpu.pci.numa_node.as_ref()),
            dash(gpu.pci.iommu_group.as_ref()),
            dash(gpu.pci.driver.as_ref()),
            link(&gpu.pci),
        ]
    };
    discovery.gpus.iter().map(row).collect()
}

fn link(pci: &PciFunction) -> String {
    let Some(link) = pci.link else { return "-".to_owned() };
    let (speed, width) = (dash(link.speed_mtps.as_ref()), dash(link.width.as_ref()));
    let below = if link.is_degraded() { ", below its best" } else { "" };
    format!("{speed} MT/s x{width}{below}")
}

fn disks(discovery: &Discovery) -> Vec<Vec<String>> {
    let row = |disk: &NvmeDisk| {
        let mut uses: Vec<String> = disk.mount_points().iter().map(|point| format!("mounted at {point}")).collect();
        uses.extend(disk.holders().iter().map(|holder| format!("part of {holder}")));
        uses.extend(disk.swaps().then(|| "swap".to_owned()));
        if uses.is_empty() {
            uses = disk.content();
        }
        let gib = disk.size_bytes.map(|bytes| format!("{} GiB", bytes / (1 << 30)));
        vec![
            dash(disk.name.as_ref()),
            dash(disk.identity.as_ref()),
            dash(disk.model.as_ref()),
            dash(gib.as_ref()),
            dash(disk.pci.as_ref().and_then(|pci| pci.numa_node).as_ref()),
            if uses.is_empty() { "nothing".to_owned() } else { uses.join(", ") },
        ]
    };
    discovery.nvme_disks.iter().map(row).collect()
}

fn fabric(discovery: &Discovery) -> Vec<Vec<String>> {
    let row = |function: &FabricFunction| {
        let port = function.ports.first().map(|port| {
            let rate = port.rate_mbps.map(|rate| format!(" {} Gb/s", rate / 1000)).unwrap_or_default();
            let layer = port.link_layer.map_or("?", |layer| layer.as_str());
            format!("{layer} {}{rate}", dash(port.state.as_ref()))
        });
        vec![
            function.pci.address.to_string(),
            function.role.as_str().to_owned(),
            dash(function.rdma_name.as_ref()),
            dash(function.parent.as_ref()),
            dash(function.pci.numa_node.as_ref()),
            dash(function.pci.iommu_group.as_ref()),
            dash(port.as_ref()),
        ]
    };
    discovery.fabric_functions.iter().map(row).collect()
}

fn network(discovery: &Discovery) -> Vec<Vec<String>> {
    let rows = discovery.network_functions.iter().map(|function| {
        let names: Vec<&str> = function.interfaces.iter().map(|interface| interface.name.as_str()).collect();
        vec![function.pci.address.to_string(), dash(function.pci.name.as_ref()), names.join(" ")]
    });
    rows.collect()
}

fn partitions(discovery: &Discovery) -> Vec<Vec<String>> {
    let listed = discovery.fabric_manager.iter().flat_map(|manager| &manager.partitions);
    listed.map(|partition| vec![partition.id.to_string(), joined(&partition.gpus)]).collect()
}

fn switches(discovery: &Discovery) -> Vec<Vec<String>> {
    let rows = discovery.pcie_switches.iter().map(|switch| {
        vec![switch.upstream_port.to_string(), joined(&switch.gpus), joined(&switch.nvme), joined(&switch.fabric)]
    });
    rows.collect()
}

fn others(discovery: &Discovery) -> Vec<Vec<String>> {
    let row = |function: &PciFunction| {
        let ids = format!("{}:{}", dash(function.vendor_id.as_ref()), dash(function.device_id.as_ref()));
        vec![function.address.to_string(), ids, dash(function.class.as_ref()), dash(function.driver.as_ref())]
    };
    discovery.other.iter().map(row).collect()
}

fn checks(readiness: &Readiness) -> Vec<Vec<String>> {
    let rows = readiness.checks.iter().map(|check| {
        let state = if check.state == ReadinessState::Ok || check.required {
            check.state.as_str().to_owned()
        } else {
            format!("{} (not needed)", check.state.as_str())
        };
        let remedy = check.remedy.as_ref().map(|remedy| format!(" {remedy}")).unwrap_or_default();
        vec![check.check.as_str().to_owned(), state, format!("{}{remedy}", check.detail)]
    });
    rows.collect()
}

fn dash(value: Option<&impl ToString>) -> String {
    value.map_or_else(|| "-".to_owned(), ToString::to_string)
}

fn joined(values: &[impl ToString]) -> String {
    values.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

// A heading and columns as wide as their widest value; nothing when there is nothing.
fn section(title: &str, heads: &[&str], rows: &[Vec<String>]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let heads: Vec<String> = heads.iter().map(|head| (*head).to_owned()).collect();
    let lines: Vec<Vec<String>> =
        std::iter::once(&heads).chain(rows).map(|row| row.iter().map(|text| plain(text)).collect()).collect();
    let width =
        |at: usize| lines.iter().filter_map(|line| line.get(at)).map(|text| text.chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..heads.len()).map(width).collect();
    let mut text = format!("\n{title}\n");
    for line in lines {
        let cells = line.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        text += format!("  {}", cells.collect::<Vec<_>>().join("  ")).trim_end();
        text.push('\n');
    }
    text
}

// Firmware writes what it likes into names.
fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_empty_sections_are_left_out() {
        let rows = [vec!["a".to_owned(), "long value".to_owned()], vec!["longer".to_owned(), "b\u{1b}[31m".to_owned()]];
        assert_eq!(section("T", &["x", "y"], &rows), "\nT\n  x       y\n  a       long value\n  longer  b?[31m\n");
        assert_eq!(section("T", &["x"], &[]), "");
    }
}
