//! What the NVIDIA driver says of its GPUs, asked through `nvidia-smi`, which asks NVML.
//!
//! A program rather than the library: NVML may hang or crash with a sick GPU, and then a child is ended instead of the agent;
//! and the number of a GPU on its board, without which partitions mean nothing, is in what the program prints.

use super::ask::{ask, first_file};
use std::{collections::BTreeMap, path::Path};
use topology::probe::{NvmlGpu, NvmlProbe};

const PROGRAMS: &[&str] = &["/usr/bin/nvidia-smi", "/usr/local/nvidia/bin/nvidia-smi"];

/// Asks, when a driver is loaded and its program is there. `None`: nobody could be asked.
pub fn probe() -> Option<NvmlProbe> {
    if !Path::new("/proc/driver/nvidia/version").exists() {
        return None;
    }
    let program = first_file(PROGRAMS)?;
    let mut probe = parse(&ask(program, &["-q", "-x"])?)?;
    if let Some(status) = ask(program, &["nvlink", "--status"]) {
        let links = links(&status);
        for gpu in &mut probe.gpus {
            gpu.nvlinks = gpu.uuid.as_ref().and_then(|uuid| links.get(uuid).copied());
        }
    }
    Some(probe)
}

/// Reads the report of `nvidia-smi -q -x`. The GPUs come in the order of their addresses.
pub fn parse(xml: &str) -> Option<NvmlProbe> {
    let log = element(xml, "nvidia_smi_log")?;
    let mut gpus: Vec<NvmlGpu> = elements(log, "gpu").filter_map(gpu).collect();
    gpus.sort_by(|a, b| a.pci_address.cmp(&b.pci_address));
    Some(NvmlProbe { driver_version: value(log, &["driver_version"]), gpus })
}

fn gpu(block: &str) -> Option<NvmlGpu> {
    let enabled = |path: &[&str]| match value(block, path)?.as_str() {
        "Enabled" => Some(true),
        "Disabled" => Some(false),
        _ => None,
    };
    // Newer drivers put it among the platform's facts, older ones beside the board's.
    let module_id = value(block, &["platformInfo", "module_id"]).or_else(|| value(block, &["module_id"]));
    Some(NvmlGpu {
        pci_address: pci_address(&value(block, &["pci", "pci_bus_id"])?)?,
        uuid: value(block, &["uuid"]),
        serial: value(block, &["serial"]),
        module_id: module_id.and_then(|id| id.parse().ok()),
        name: value(block, &["product_name"]),
        memory_mib: value(block, &["fb_memory_usage", "total"])
            .and_then(|size| size.strip_suffix(" MiB").and_then(|size| size.parse().ok())),
        vbios: value(block, &["vbios_version"]),
        mig_enabled: enabled(&["mig_mode", "current_mig"]),
        ecc_enabled: enabled(&["ecc_mode", "current_ecc"]),
        nvlinks: None,
    })
}

/// How many links of each GPU are up, by the GPU's unique name, from `nvidia-smi nvlink --status`.
pub fn links(status: &str) -> BTreeMap<String, u32> {
    let mut links = BTreeMap::new();
    let mut of: Option<String> = None;
    for line in status.lines() {
        if line.starts_with("GPU ") {
            of = line.rsplit_once("(UUID: ").and_then(|(_, uuid)| uuid.strip_suffix(')')).map(str::to_owned);
            links.extend(of.clone().map(|uuid| (uuid, 0)));
        } else if line.trim_start().starts_with("Link ")
            && line.contains("GB/s")
            && let Some(count) = of.as_ref().and_then(|uuid| links.get_mut(uuid))
        {
            *count += 1;
        }
    }
    links
}

// `00000000:0F:00.0` as the kernel writes it, `0000:0f:00.0`.
fn pci_address(text: &str) -> Option<String> {
    let (domain, rest) = text.split_once(':')?;
    let domain = domain.get(domain.len().checked_sub(4)?..)?;
    Some(format!("{domain}:{rest}").to_lowercase())
}

// The report is regular: no element holds one of its own name, and attributes stand on `gpu` alone.
fn elements<'a>(text: &'a str, name: &str) -> impl Iterator<Item = &'a str> {
    let (open, close) = (format!("<{name}"), format!("</{name}>"));
    let mut rest = text;
    std::iter::from_fn(move || {
        loop {
            let (_, after) = rest.split_once(&open)?;
            rest = after;
            // Another element may have a longer name that starts the same.
            if after.starts_with(['>', ' ']) {
                let (inside, after) = after.split_once('>')?.1.split_once(&close)?;
                rest = after;
                return Some(inside);
            }
        }
    })
}

fn element<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    elements(text, name).next()
}

fn value(text: &str, path: &[&str]) -> Option<String> {
    let found = path.iter().try_fold(text, |text, name| element(text, name))?.trim();
    let known = !found.is_empty() && !["N/A", "[N/A]", "None"].contains(&found) && !found.contains('<');
    known.then(|| found.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const REPORT: &str = r#"<?xml version="1.0" ?>
<nvidia_smi_log>
  <timestamp>Sun Nov 15 02:13:02 2026</timestamp>
  <driver_version>580.159.04</driver_version>
  <attached_gpus>2</attached_gpus>
  <gpu id="00000000:BB:00.0">
    <product_name>NVIDIA H200</product_name>
    <mig_mode><current_mig>Enabled</current_mig><pending_mig>Enabled</pending_mig></mig_mode>
    <serial>N/A</serial>
    <uuid>GPU-00000000-0000-4000-8000-000000000002</uuid>
    <gpu_part_number>2335-895-A1</gpu_part_number>
    <module_id>4</module_id>
    <pci><pci_bus_id>00000000:BB:00.0</pci_bus_id></pci>
    <fb_memory_usage><total>143771 MiB</total></fb_memory_usage>
    <ecc_mode><current_ecc>N/A</current_ecc></ecc_mode>
  </gpu>
  <gpu id="00000000:0F:00.0">
    <product_name>NVIDIA H200</product_name>
    <mig_mode><current_mig>Disabled</current_mig></mig_mode>
    <serial>1600000000001</serial>
    <uuid>GPU-00000000-0000-4000-8000-000000000001</uuid>
    <vbios_version>96.00.A5.00.1A</vbios_version>
    <platformInfo><module_id>5</module_id></platformInfo>
    <pci><pci_bus_id>00000000:0F:00.0</pci_bus_id></pci>
    <fb_memory_usage><total>143771 MiB</total></fb_memory_usage>
    <ecc_mode><current_ecc>Enabled</current_ecc></ecc_mode>
  </gpu>
</nvidia_smi_log>"#;

    #[test]
    fn the_report_is_read_field_by_field_and_sorted_by_address() {
        let probe = parse(REPORT).unwrap();
        assert_eq!(probe.driver_version.as_deref(), Some("580.159.04"));
        let first = &probe.gpus[0];
        assert_eq!((first.pci_address.as_str(), first.module_id), ("0000:0f:00.0", Some(5)));
        assert_eq!(first.serial.as_deref(), Some("1600000000001"));
        assert_eq!((first.memory_mib, first.mig_enabled, first.ecc_enabled), (Some(143_771), Some(false), Some(true)));
        let second = &probe.gpus[1];
        assert_eq!((second.pci_address.as_str(), second.module_id), ("0000:bb:00.0", Some(4)));
        assert_eq!((second.serial.as_deref(), second.mig_enabled, second.ecc_enabled), (None, Some(true), None));
    }

    #[test]
    fn what_is_no_report_is_no_answer_and_what_is_cut_short_gives_what_is_whole() {
        for text in ["", "No devices were found", "<nvidia_smi_log>", "<gpu></gpu>"] {
            assert_eq!(parse(text), None, "{text}");
        }
        let cut = REPORT.split("</gpu>").next().unwrap().to_owned() + "</nvidia_smi_log>";
        assert_eq!(parse(&cut).unwrap().gpus, []);
    }

    #[test]
    fn links_that_are_up_are_counted_for_each_gpu() {
        let status = "GPU 0: NVIDIA H200 (UUID: GPU-a)\n\t Link 0: 26.562 GB/s\n\t Link 1: 26.562 GB/s\n\t Link 2: <inactive>\n\
                      GPU 1: NVIDIA H200 (UUID: GPU-b)\n\t Link 0: <inactive>\n";
        assert_eq!(links(status), BTreeMap::from([("GPU-a".to_owned(), 2), ("GPU-b".to_owned(), 0)]));
        assert_eq!(links("NVML: Unable to retrieve NVLink information"), BTreeMap::new());
    }
}
