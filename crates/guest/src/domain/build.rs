//! From a [`DomainSpec`] to the XML that libvirt reads. Element names and their order are libvirt's ("Domain XML format").

use super::{Accelerator, Cell, Console, CpuModel, DomainSpec, Firmware, NAMESPACE, Nic, Offloads, Role};
use crate::{identity::Refused, notice, xml::Element};
use std::{fmt::Display, path::Path};

/// The XML of a guest whose spec keeps its rules.
pub fn build(spec: &DomainSpec) -> Result<String, Refused> {
    spec.check()?;
    domain(spec).write().map_err(|fault| Refused::new("domain", "what XML can say", &fault.to_string()))
}

fn domain(spec: &DomainSpec) -> Element {
    let vcpus = spec.vcpus();
    let hugepages = spec.hugepage_kib.map(|size| {
        let page = Element::new("page").with("size", size).with("unit", "KiB");
        Element::new("memoryBacking").child(Element::new("hugepages").child(page))
    });
    let after = |event: &str, what: &str| Element::new(event).text(what);
    Element::new("domain")
        .with("type", spec.accelerator.domain_type())
        .child(Element::new("name").text(spec.guest.name()))
        .child(Element::new("uuid").text(spec.guest.uuid()))
        .child(metadata(spec))
        .child(Element::new("memory").with("unit", "MiB").text(spec.memory_mib()))
        .children(hugepages)
        .child(Element::new("vcpu").with("placement", "static").text(vcpus))
        .child(cputune(spec))
        .child(numatune(&spec.cells))
        .child(os(&spec.firmware))
        .child(features())
        .child(cpu(spec))
        .child(Element::new("clock").with("offset", "utc"))
        .child(after("on_poweroff", "destroy"))
        .child(after("on_reboot", "restart"))
        .child(after("on_crash", "destroy"))
        .child(devices(spec))
}

fn metadata(spec: &DomainSpec) -> Element {
    let slots = spec
        .slots
        .iter()
        .map(|slot| Element::new("gpuaas:slot").with("id", &slot.slot_id).with("use_generation", slot.use_generation));
    let roles = spec.passthrough.iter().map(|device| {
        let role = match device.role {
            Role::Gpu => "gpu",
            Role::FabricVf => "fabric_vf",
        };
        Element::new("gpuaas:device").with("address", device.address).with("role", role)
    });
    let guest = Element::new("gpuaas:guest")
        .with("xmlns:gpuaas", NAMESPACE)
        .with("allocation_id", &spec.guest.allocation_id)
        .with("use_generation", spec.guest.use_generation)
        .children(slots)
        .children(roles);
    Element::new("metadata").child(guest)
}

fn list(numbers: impl IntoIterator<Item = impl Display>) -> String {
    numbers.into_iter().map(|number| number.to_string()).collect::<Vec<_>>().join(",")
}

fn cputune(spec: &DomainSpec) -> Element {
    let cpus: Vec<u32> = spec.cells.iter().flat_map(|cell| cell.cpus.iter().copied()).collect();
    let pins =
        cpus.iter().enumerate().map(|(vcpu, cpu)| Element::new("vcpupin").with("vcpu", vcpu).with("cpuset", cpu));
    let own = if spec.emulator_cpus.is_empty() { &cpus } else { &spec.emulator_cpus };
    Element::new("cputune").children(pins).child(Element::new("emulatorpin").with("cpuset", list(own)))
}

fn numatune(cells: &[Cell]) -> Element {
    let strict = |element: Element, nodes: String| element.with("mode", "strict").with("nodeset", nodes);
    let all = strict(Element::new("memory"), list(cells.iter().map(|cell| cell.host_node)));
    let each = cells
        .iter()
        .enumerate()
        .map(|(id, cell)| strict(Element::new("memnode").with("cellid", id), cell.host_node.to_string()));
    Element::new("numatune").child(all).children(each)
}

fn path_text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn os(firmware: &Firmware) -> Element {
    let kind = Element::new("type").with("arch", "x86_64").with("machine", "q35").text("hvm");
    let os = Element::new("os").child(kind);
    let os = match firmware {
        Firmware::Bios => os,
        Firmware::Uefi { code, vars_template, vars } => {
            let loader = Element::new("loader").with("readonly", "yes").with("type", "pflash").text(path_text(code));
            let vars = Element::new("nvram").with("template", path_text(vars_template)).text(path_text(vars));
            os.child(loader).child(vars)
        }
    };
    os.child(Element::new("boot").with("dev", "hd"))
}

fn features() -> Element {
    let vmport = Element::new("vmport").with("state", "off");
    Element::new("features").child(Element::new("acpi")).child(Element::new("apic")).child(vmport)
}

fn cpu(spec: &DomainSpec) -> Element {
    let cpu = Element::new("cpu");
    let cpu = match &spec.cpu_model {
        CpuModel::HostPassthrough => cpu.with("mode", "host-passthrough").with("check", "none"),
        CpuModel::Maximum => cpu.with("mode", "maximum").with("check", "none"),
        CpuModel::Named(name) => {
            let check = if spec.accelerator == Accelerator::Kvm { "full" } else { "none" };
            let model = Element::new("model").with("fallback", "forbid").text(name);
            cpu.with("mode", "custom").with("match", "exact").with("check", check).child(model)
        }
    };
    let mut next = 0;
    let cells = spec.cells.iter().enumerate().map(|(id, cell)| {
        let vcpus = next..next + cell.cpus.len();
        next = vcpus.end;
        let memory = cell.memory_mib;
        Element::new("cell").with("id", id).with("cpus", list(vcpus)).with("memory", memory).with("unit", "MiB")
    });
    let numa = Element::new("numa").children(cells.collect::<Vec<_>>());
    cpu.child(numa)
}

fn devices(spec: &DomainSpec) -> Element {
    let virtio = |name: &str| Element::new("target").with("type", "virtio").with("name", name);
    let random = Element::new("backend").with("model", "random").text("/dev/urandom");
    Element::new("devices")
        .child(Element::new("emulator").text(path_text(&spec.emulator)))
        .children(disks(spec))
        .child(Element::new("controller").with("type", "usb").with("model", "none"))
        .child(Element::new("controller").with("type", "pci").with("index", 0).with("model", "pcie-root"))
        .children((1..=spec.passthrough.len()).map(|port| {
            Element::new("controller").with("type", "pci").with("index", port).with("model", "pcie-root-port")
        }))
        .child(nic(&spec.nic))
        .child(console(&spec.console))
        .child(Element::new("channel").with("type", "unix").child(virtio("org.qemu.guest_agent.0")))
        .child(Element::new("channel").with("type", "unix").child(bound(&spec.notice)).child(virtio(notice::PORT)))
        .children(hostdevs(spec))
        .child(Element::new("memballoon").with("model", "none"))
        .child(Element::new("rng").with("model", "virtio").child(random))
}

fn disks(spec: &DomainSpec) -> Vec<Element> {
    let target = |number: usize| {
        let letter = u8::try_from(number).map_or('z', |number| char::from(b'a'.saturating_add(number)));
        Element::new("target").with("dev", format!("vd{letter}")).with("bus", "virtio")
    };
    let raw = || Element::new("driver").with("name", "qemu").with("type", "raw");
    let mut disks: Vec<Element> = spec
        .disks
        .iter()
        .enumerate()
        .map(|(number, disk)| {
            Element::new("disk")
                .with("type", "block")
                .with("device", "disk")
                .child(raw().with("cache", "none").with("io", "native").with("discard", "unmap"))
                .child(Element::new("source").with("dev", path_text(&disk.device)))
                .child(target(number))
                .child(Element::new("serial").text(&disk.serial))
        })
        .collect();
    let seed = Element::new("disk")
        .with("type", "file")
        .with("device", "disk")
        .child(raw())
        .child(Element::new("source").with("file", path_text(&spec.seed)))
        .child(target(disks.len()))
        .child(Element::new("readonly"));
    disks.push(seed);
    disks
}

fn nic(nic: &Nic) -> Element {
    let off =
        |end: &str, names: &[&str]| names.iter().fold(Element::new(end), |element, name| element.with(name, "off"));
    let driver = (nic.offloads == Offloads::Off).then(|| {
        Element::new("driver")
            .with("name", "qemu")
            .child(off("host", &["csum", "gso", "tso4", "tso6", "ecn", "ufo"]))
            .child(off("guest", &["csum", "tso4", "tso6", "ecn", "ufo"]))
    });
    let port = Element::new("parameters").with("interfaceid", nic.interface_id);
    Element::new("interface")
        .with("type", "bridge")
        .child(Element::new("mac").with("address", nic.mac))
        .child(Element::new("source").with("bridge", &nic.bridge))
        .child(Element::new("vlan").child(Element::new("tag").with("id", nic.vlan)))
        .child(Element::new("virtualport").with("type", "openvswitch").child(port))
        .child(Element::new("target").with("dev", &nic.tap))
        .child(Element::new("model").with("type", "virtio"))
        .children(driver)
}

// A socket that QEMU listens on.
fn bound(path: &Path) -> Element {
    Element::new("source").with("mode", "bind").with("path", path_text(path))
}

fn console(console: &Console) -> Element {
    Element::new("serial")
        .with("type", "unix")
        .child(bound(&console.path))
        .child(Element::new("log").with("file", path_text(&console.log)).with("append", "on"))
        .child(Element::new("target").with("port", 0))
}

fn hostdevs(spec: &DomainSpec) -> Vec<Element> {
    let hex = |number: u16, width: usize| format!("{number:#0width$x}", width = width + 2);
    let hostdev = |(number, device): (usize, &super::Passthrough)| {
        let at = device.address;
        let host = Element::new("address")
            .with("domain", hex(at.domain, 4))
            .with("bus", hex(at.bus.into(), 2))
            .with("slot", hex(at.device.into(), 2))
            .with("function", hex(at.function.into(), 1));
        // Root port `n` makes bus `n`, and there is one place on it.
        let port = format!("{:#04x}", number + 1);
        let guest = [("type", "pci"), ("domain", "0x0000"), ("bus", &port), ("slot", "0x00"), ("function", "0x0")]
            .into_iter()
            .fold(Element::new("address"), |element, (name, value)| element.with(name, value));
        Element::new("hostdev")
            .with("mode", "subsystem")
            .with("type", "pci")
            .with("managed", "no")
            .child(Element::new("driver").with("name", "vfio"))
            .child(Element::new("source").child(host))
            .child(guest)
    };
    spec.passthrough.iter().enumerate().map(hostdev).collect()
}
