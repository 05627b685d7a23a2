//! GPUs: what the kernel shows of them on the bus, joined with what their driver says.

use super::{Gpu, GpuVendor, PciBar, functions::Function, scan::Scan};
use crate::{
    ModuleId,
    pci::{self, Kind, PciAddress},
    probe::{self, NvmlGpu, NvmlProbe},
    tree::joined,
};
use std::collections::BTreeMap;

const BARS: usize = 6;

pub(super) fn read(scan: &mut Scan<'_>, functions: &[&Function], nvml: Option<&NvmlProbe>) -> Vec<Gpu> {
    let mut told: BTreeMap<PciAddress, &NvmlGpu> = BTreeMap::new();
    for gpu in nvml.iter().flat_map(|nvml| &nvml.gpus) {
        match gpu.pci_address.parse() {
            Ok(address) if !functions.iter().any(|function| function.pci.address == address) => {
                scan.note(probe::NVML, &format!("the driver has a GPU at {address}, and the bus has none there"));
            }
            Ok(address) => {
                told.insert(address, gpu);
            }
            Err(fault) => scan.note(probe::NVML, &fault.to_string()),
        }
    }
    functions.iter().map(|function| gpu(scan, function, told.get(&function.pci.address).copied())).collect()
}

fn gpu(scan: &mut Scan<'_>, function: &Function, told: Option<&NvmlGpu>) -> Gpu {
    let vendor = if function.vendor == Some(pci::AMD) { GpuVendor::Amd } else { GpuVendor::Nvidia };
    let known = function.known();
    let in_sysfs = |name: &str| joined(&function.path, name);
    let shown = |scan: &mut Scan<'_>, text: fn(&NvmlGpu) -> &Option<String>| {
        let text = text(told?).as_deref()?;
        scan.printable(probe::NVML, text).filter(|text| !text.is_empty())
    };
    // AMD's driver shows in files what NVIDIA's has to be asked for.
    let (serial, module, memory) = match vendor {
        GpuVendor::Amd => (
            scan.line(&in_sysfs("unique_id")),
            scan.number(&in_sysfs("xgmi_physical_id")),
            scan.number::<u64>(&in_sysfs("mem_info_vram_total")).map(|bytes| bytes / (1024 * 1024)),
        ),
        GpuVendor::Nvidia => {
            (shown(scan, |gpu| &gpu.serial), told.and_then(|gpu| gpu.module_id), told.and_then(|gpu| gpu.memory_mib))
        }
    };
    let reset_methods = scan.line(&in_sysfs("reset_method")).unwrap_or_default();
    Gpu {
        vendor,
        model: known.and_then(|known| if let Kind::Gpu(model) = known.kind { model } else { None }),
        product: shown(scan, |gpu| &gpu.name).or_else(|| known.map(|known| known.name.to_owned())),
        bars: bars(scan, &in_sysfs("resource")),
        reset_methods: reset_methods.split_whitespace().map(str::to_owned).collect(),
        module_id: module.map(ModuleId),
        uuid: shown(scan, |gpu| &gpu.uuid),
        serial,
        memory_mib: memory,
        vbios: shown(scan, |gpu| &gpu.vbios),
        mig_enabled: told.and_then(|gpu| gpu.mig_enabled),
        ecc_enabled: told.and_then(|gpu| gpu.ecc_enabled),
        nvlinks: told.and_then(|gpu| gpu.nvlinks),
        pci: function.pci.clone(),
    }
}

/// The first six lines are the windows: first byte, last byte, flags. All zero is none.
fn bars(scan: &mut Scan<'_>, path: &str) -> Vec<PciBar> {
    let mut bars = Vec::new();
    for (line, index) in scan.tree.text(path).unwrap_or_default().lines().take(BARS).zip(0u32..) {
        let mut numbers =
            line.split_whitespace().map(|text| u64::from_str_radix(text.strip_prefix("0x").unwrap_or(text), 16));
        let (Some(Ok(first)), Some(Ok(last)), Some(Ok(_)), None) =
            (numbers.next(), numbers.next(), numbers.next(), numbers.next())
        else {
            scan.note(path, &format!("line {} is not three hexadecimal numbers", index + 1));
            continue;
        };
        if (first, last) == (0, 0) {
            continue;
        }
        match last.checked_sub(first).and_then(|size| size.checked_add(1)) {
            Some(bytes) => bars.push(PciBar { index, bytes }),
            None => scan.note(path, &format!("line {} ends before it starts", index + 1)),
        }
    }
    bars
}
