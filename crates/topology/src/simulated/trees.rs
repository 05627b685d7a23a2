//! Full trees of simulated hosts: an HGX H200, an A100 box, and a host on which half of what can go wrong did.
//!
//! The H200 host is laid out as such hosts are: two sockets with four GPUs each, and under each PCIe switch a GPU with its
//! 400G card and one data disk. Module ids are in the order of NVIDIA's guide (5 7 6 8 1 3 2 4 by PCI address), so that
//! nothing gets away with taking one for the other. The A100 host has two GPUs under each switch, Ethernet instead of
//! InfiniBand, AMD processors and another table of partitions.

use super::{
    host::{Build, GEN4_X4, GEN4_X16, GEN5_X16, Group, HostSpec, NewDisk, NewFunction, NewLink, address},
    {a100_partitions, drift, hgx_partitions},
};
use crate::{
    ModuleId, Partitions,
    pci::{MELLANOX, NVIDIA},
    probe::{
        self, FabricMode, FabricPartition, FabricProbe, FabricServiceState, ImageCacheProbe, NvmlGpu, NvmlProbe, Tool,
        ToolSeen, ToolsProbe,
    },
    tree::{Tree, joined},
};
use std::collections::BTreeSet;

/// Virtual functions of each fabric card.
pub const VFS_PER_CARD: u8 = 4;
const DRIVER_VERSION: &str = "580.95.05";
const NVSWITCH_GROUP: u32 = 10;
/// The host's own two disks come first.
const SYSTEM_DISKS: u32 = 2;

/// What makes one kind of host.
struct Board {
    product: [&'static str; 2],
    kernel: &'static str,
    iommu_units: &'static [&'static str],
    root_port: (u16, u16),
    gpu: (u16, u16),
    gpu_name: &'static str,
    gpu_memory_mib: u64,
    gpu_window_bytes: u64,
    gpu_link: Option<NewLink>,
    vbios: &'static str,
    nvlinks: u32,
    nvswitch: (u16, u16),
    nvswitch_buses: &'static [u8],
    card: Card,
    switches: &'static [Switch],
    cpus: [&'static str; 2],
    memory_kib: u64,
    hugepages: u64,
}

/// A fabric card.
struct Card {
    ids: (u16, u16),
    class: u32,
    link_layer: &'static str,
    rate: &'static str,
    firmware: &'static str,
    hca_type: &'static str,
}

/// A PCIe switch behind a root bus, with the bundles that hang off it.
struct Switch {
    root_bus: u8,
    numa_node: u32,
    bundles: &'static [Bundle],
}

/// A GPU with its card and its disk, each on a bus of its own.
struct Bundle {
    module: u32,
    gpu_bus: u8,
    card_bus: u8,
    disk_bus: u8,
}

const fn bundle(module: u32, gpu_bus: u8) -> Bundle {
    Bundle { module, gpu_bus, card_bus: gpu_bus + 1, disk_bus: gpu_bus + 2 }
}

const H200: Board = Board {
    product: ["Supermicro", "SYS-821GE-TNHR"],
    kernel: "intel_iommu=on iommu=pt",
    iommu_units: &["dmar0", "dmar1", "dmar2", "dmar3"],
    root_port: (0x8086, 0x352a),
    gpu: (NVIDIA, 0x2335),
    gpu_name: "NVIDIA H200",
    gpu_memory_mib: 143_771,
    gpu_window_bytes: 256 << 30,
    gpu_link: GEN5_X16,
    vbios: "96.00.A5.00.1A",
    nvlinks: 18,
    nvswitch: (NVIDIA, 0x22a3),
    nvswitch_buses: &[0x05, 0x06, 0x07, 0x08],
    card: Card {
        ids: (MELLANOX, 0x1021),
        class: 0x02_0700,
        link_layer: "InfiniBand",
        rate: "400 Gb/sec (4X NDR)",
        firmware: "28.43.1014",
        hca_type: "MT4129",
    },
    switches: &[
        Switch { root_bus: 0x15, numa_node: 0, bundles: &[bundle(5, 0x18)] },
        Switch { root_bus: 0x27, numa_node: 0, bundles: &[bundle(7, 0x2a)] },
        Switch { root_bus: 0x37, numa_node: 0, bundles: &[bundle(6, 0x3a)] },
        Switch { root_bus: 0x5a, numa_node: 0, bundles: &[bundle(8, 0x5d)] },
        Switch { root_bus: 0x97, numa_node: 1, bundles: &[bundle(1, 0x9a)] },
        Switch { root_bus: 0xa8, numa_node: 1, bundles: &[bundle(3, 0xab)] },
        Switch { root_bus: 0xb7, numa_node: 1, bundles: &[bundle(2, 0xba)] },
        Switch { root_bus: 0xd8, numa_node: 1, bundles: &[bundle(4, 0xdb)] },
    ],
    cpus: ["0-55,112-167", "56-111,168-223"],
    memory_kib: 1_056_437_248,
    hugepages: 896,
};

const fn paired(module: u32, first_bus: u8, second: bool) -> Bundle {
    let at = if second { first_bus + 1 } else { first_bus };
    Bundle { module, gpu_bus: at, card_bus: at + 2, disk_bus: at + 4 }
}

const A100: Board = Board {
    product: ["ASUSTeK COMPUTER INC.", "ESC N8-E11"],
    kernel: "amd_iommu=on iommu=pt",
    iommu_units: &["ivhd0", "ivhd1", "ivhd2", "ivhd3"],
    root_port: (0x1022, 0x1483),
    gpu: (NVIDIA, 0x20b2),
    gpu_name: "NVIDIA A100-SXM4-80GB",
    gpu_memory_mib: 81_920,
    gpu_window_bytes: 128 << 30,
    gpu_link: GEN4_X16,
    vbios: "92.00.45.00.03",
    nvlinks: 12,
    nvswitch: (NVIDIA, 0x1af1),
    nvswitch_buses: &[0x05, 0x06, 0x07, 0x08, 0x09, 0x0a],
    card: Card {
        ids: (MELLANOX, 0x101d),
        class: 0x02_0000,
        link_layer: "Ethernet",
        rate: "200 Gb/sec (4X HDR)",
        firmware: "22.41.1000",
        hca_type: "MT4125",
    },
    switches: &[
        Switch { root_bus: 0x20, numa_node: 0, bundles: &[paired(2, 0x23, false), paired(4, 0x23, true)] },
        Switch { root_bus: 0x40, numa_node: 0, bundles: &[paired(1, 0x43, false), paired(3, 0x43, true)] },
        Switch { root_bus: 0x80, numa_node: 1, bundles: &[paired(6, 0x83, false), paired(8, 0x83, true)] },
        Switch { root_bus: 0xa0, numa_node: 1, bundles: &[paired(5, 0xa3, false), paired(7, 0xa3, true)] },
    ],
    cpus: ["0-63,128-191", "64-127,192-255"],
    memory_kib: 528_179_200,
    hugepages: 384,
};

/// A healthy HGX H200 host.
pub fn hgx_h200(spec: &HostSpec) -> Tree {
    let mut build = board(spec, &H200, &hgx_partitions());
    bluefield(&mut build, spec);
    build.tree
}

/// A healthy A100 host.
pub fn a100(spec: &HostSpec) -> Tree {
    board(spec, &A100, &a100_partitions()).tree
}

/// An H200 host on which a GPU is missing, a data disk is mounted, another carries a file system, a link lost half of its
/// lanes, the IOMMU leaves out one socket, a GPU shares its group with a card, one card has no virtual functions, and Open
/// vSwitch is not installed.
pub fn half_broken(spec: &HostSpec) -> Tree {
    let mut tree = hgx_h200(spec);
    drift::remove_gpu(&mut tree, address(0x5d, 0, 0));
    drift::mount_disk(&mut tree, &wwid(spec, SYSTEM_DISKS), "/srv/data");
    drift::format_disk(&mut tree, &wwid(spec, SYSTEM_DISKS + 2), "ext4");
    drift::degrade_link(&mut tree, address(0x2a, 0, 0), 8);
    drift::share_iommu_group(&mut tree, address(0x2b, 0, 0), address(0x2a, 0, 0));
    for function in 1..=VFS_PER_CARD {
        drift::remove_vf(&mut tree, address(0x3b, 0, function));
    }
    let second_socket: Vec<String> = tree
        .entries()
        .keys()
        .filter(|path| {
            path.ends_with("/iommu_group") && tree.text(&path.replace("iommu_group", "numa_node")) == Some("1")
        })
        .cloned()
        .collect();
    second_socket.iter().for_each(|path| {
        tree.remove(path);
    });
    let mut tools = tools();
    for seen in &mut tools.tools {
        if matches!(seen.tool, Tool::OvsVsctl | Tool::OvsDbSocket) {
            *seen = ToolSeen { tool: seen.tool, present: false, path: None, version: None };
        }
    }
    let mut build = Build::new();
    build.json(probe::TOOLS, &tools);
    let text = build.tree.text(probe::TOOLS).unwrap_or_default().to_owned() + "\n";
    tree.insert_file(probe::TOOLS, text).expect("a simulated host fits a tree");
    tree
}

fn board(spec: &HostSpec, board: &Board, partitions: &Partitions) -> Build {
    let mut build = Build::new();
    machine(&mut build, spec, board);
    system_disks(&mut build, spec, board);
    nvswitches(&mut build, board);
    // The console of the board's management controller, and its own network card.
    let port = build.bridge("sys/devices/pci0000:00", address(0, 0x1c, 0), board.root_port, 0);
    let plain = |ids, class, bus, driver| NewFunction {
        address: address(bus, 0, 0),
        ids,
        class,
        numa_node: 0,
        driver,
        group: Group::Own,
        link: None,
    };
    build.function(&port, &plain((0x1a03, 0x2000), 0x03_0000, 0x03, Some("ast")));
    let port = build.bridge("sys/devices/pci0000:00", address(0, 0x1d, 0), board.root_port, 0);
    let card = build.function(&port, &plain((0x8086, 0x1521), 0x02_0000, 0x04, Some("igb")));
    interface(&mut build, &card, "eno1", &hardware_address(spec, 0xff), "1000", "1500");

    let mut seen = Vec::new();
    let mut at = 0;
    for switch in board.switches {
        let bundles: Vec<&Bundle> = switch.bundles.iter().filter(|bundle| bundle.module <= spec.gpus).collect();
        if bundles.is_empty() {
            continue;
        }
        let ports = switch_ports(&mut build, board, switch, bundles.len());
        for (bundle, ports) in bundles.iter().zip(ports.chunks_exact(3)) {
            seen.push(gpu(&mut build, spec, board, (bundle, switch.numa_node), &ports[0]));
            card_with_vfs(&mut build, spec, board, (bundle, switch.numa_node), (&ports[1], at));
            data_disk(&mut build, spec, (bundle, switch.numa_node), (&ports[2], SYSTEM_DISKS + at));
            at += 1;
        }
    }
    build.json(probe::NVML, &NvmlProbe { driver_version: Some(DRIVER_VERSION.into()), gpus: seen });
    build.json(probe::FABRIC, &fabric_answer(spec, partitions, board.nvlinks));
    build.json(probe::TOOLS, &tools());
    let cache = ImageCacheProbe { path: "/var/lib/gpuaas/images".into(), free_bytes: 800 << 30 };
    build.json(probe::IMAGE_CACHE, &cache);
    build
}

fn machine(build: &mut Build, spec: &HostSpec, board: &Board) {
    let pages = board.hugepages * 2;
    let arguments = format!(
        "BOOT_IMAGE=/vmlinuz-6.8.0-85-generic root=/dev/md0 ro {} default_hugepagesz=1G hugepagesz=1G hugepages={pages}",
        board.kernel
    );
    build.file("proc/cmdline", arguments);
    build.file("proc/swaps", "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority");
    build.file("proc/sys/kernel/hostname", &spec.name);
    build.file("proc/sys/kernel/osrelease", "6.8.0-85-generic");
    build.file("dev/vfio/vfio", "");
    build.file("sys/bus/pci/drivers/vfio-pci/new_id", "");
    build.file("sys/firmware/efi/fw_platform_size", "64");
    build.hex("sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c", "0600000000");
    let dmi = "sys/devices/virtual/dmi/id";
    let [vendor, product] = board.product;
    build.files(
        dmi,
        &[
            ("sys_vendor", vendor),
            ("product_name", product),
            ("product_serial", &format!("SIM{:07}", spec.number)),
            ("bios_version", "2.4"),
        ],
    );
    build.link("sys/class/dmi/id", dmi);
    for unit in board.iommu_units {
        build.link(&format!("sys/class/iommu/{unit}"), &format!("sys/devices/virtual/iommu/{unit}"));
    }
    for (node, cpus) in board.cpus.iter().enumerate() {
        let path = format!("sys/devices/system/node/node{node}");
        let memory = format!("Node {node} MemTotal:       {} kB", board.memory_kib);
        build.files(&path, &[("cpulist", cpus), ("meminfo", &memory)]);
        for (size, count) in [("1048576", board.hugepages), ("2048", 0)] {
            let directory = format!("{path}/hugepages/hugepages-{size}kB");
            let count = count.to_string();
            build.files(&directory, &[("free_hugepages", &count), ("nr_hugepages", &count)]);
        }
    }
}

/// Two disks with a mirrored root file system, as hosts are installed.
fn system_disks(build: &mut Build, spec: &HostSpec, board: &Board) {
    let mut mounts = String::from(
        "22 1 0:21 / /proc rw,nosuid shared:5 - proc proc rw\n23 1 0:22 / /sys rw,nosuid shared:6 - sysfs sysfs rw\n",
    );
    mounts += "29 1 9:0 / / rw,relatime shared:1 - ext4 /dev/md0 rw,stripe=32\n";
    let mirror = "sys/devices/virtual/block/md0";
    build.files(mirror, &[("dev", "9:0"), ("size", "3748798464")]);
    build.link("sys/block/md0", mirror);
    for at in 0..SYSTEM_DISKS {
        let port = u8::try_from(0x0e + at).unwrap_or_default();
        let bus = u8::try_from(1 + at).unwrap_or_default();
        let port = build.bridge("sys/devices/pci0000:00", address(0, port, 0), board.root_port, 0);
        let function = disk_function(build, &port, bus, (0x1344, 0x51c3), 0);
        let disk = NewDisk {
            model: "Micron_7450_MTFDKBG1T9TFR",
            firmware: "E2MU200",
            serial: serial(spec, "OS", at),
            wwid: wwid(spec, at),
            sectors: 3_750_748_848,
        };
        let namespace = build.nvme(&function, at, &disk);
        let (_, boot) = build.part(&namespace, 1, 2_099_200, "vfat");
        let (root, _) = build.part(&namespace, 2, 3_748_646_912, "linux_raid_member");
        build.link(&joined(&root, "holders/md0"), mirror);
        if at == 0 {
            mounts += &format!("61 29 {boot} / /boot/efi rw,relatime shared:30 - vfat /dev/nvme0n1p1 rw,umask=0077\n");
        }
    }
    build.file("proc/1/mountinfo", mounts.trim_end());
}

fn disk_function(build: &mut Build, port: &str, bus: u8, ids: (u16, u16), numa_node: u32) -> String {
    let address = address(bus, 0, 0);
    let link = GEN4_X4;
    build.function(
        port,
        &NewFunction { address, ids, class: 0x01_0802, numa_node, driver: Some("nvme"), group: Group::Own, link },
    )
}

fn nvswitches(build: &mut Build, board: &Board) {
    for (bus, port) in board.nvswitch_buses.iter().zip(0x10u8..) {
        let port = build.bridge("sys/devices/pci0000:00", address(0, port, 0), board.root_port, 0);
        build.function(
            &port,
            &NewFunction {
                address: address(*bus, 0, 0),
                ids: board.nvswitch,
                class: 0x06_8000,
                numa_node: 0,
                driver: Some("nvidia-nvswitch"),
                group: Group::Shared(NVSWITCH_GROUP),
                link: None,
            },
        );
    }
}

/// The downstream ports of a switch, three for each bundle.
fn switch_ports(build: &mut Build, board: &Board, switch: &Switch, bundles: usize) -> Vec<String> {
    let (bus, node) = (switch.root_bus, switch.numa_node);
    let root = format!("sys/devices/pci0000:{bus:02x}");
    let ids = (0x1000, 0xc030);
    let port = build.bridge(&root, address(bus, 1, 0), board.root_port, node);
    let upstream = build.bridge(&port, address(bus + 1, 0, 0), ids, node);
    let device = (0u8..).take(bundles * 3);
    device.map(|device| build.bridge(&upstream, address(bus + 2, device, 0), ids, node)).collect()
}

fn gpu(build: &mut Build, spec: &HostSpec, board: &Board, (bundle, node): (&Bundle, u32), port: &str) -> NvmlGpu {
    let address = address(bundle.gpu_bus, 0, 0);
    let new = NewFunction {
        address,
        ids: board.gpu,
        class: 0x03_0200,
        numa_node: node,
        driver: Some("nvidia"),
        group: Group::Own,
        link: board.gpu_link,
    };
    let path = build.function(port, &new);
    let first = u64::from(bundle.gpu_bus) << 40;
    let window = |first: u64, bytes: u64| format!("0x{first:016x} 0x{:016x} 0x000000000014220c", first + bytes - 1);
    let none = "0x0000000000000000 0x0000000000000000 0x0000000000000000";
    let windows = [
        window(first, 16 << 20),
        none.into(),
        window(first + board.gpu_window_bytes, board.gpu_window_bytes),
        none.into(),
        window(first + (32 << 20), 32 << 20),
        none.into(),
        none.into(),
    ];
    build.files(&path, &[("resource", &windows.join("\n")), ("reset_method", "flr bus")]);
    let module = bundle.module;
    NvmlGpu {
        pci_address: format!("0000{}", address.to_string().to_ascii_uppercase()),
        uuid: Some(format!("GPU-{:08x}-{module:04x}-4000-8000-0053494d{:04x}", spec.number, bundle.gpu_bus)),
        serial: Some(format!("16{:07}{module:04}", spec.number)),
        module_id: Some(module),
        name: Some(board.gpu_name.into()),
        memory_mib: Some(board.gpu_memory_mib),
        vbios: Some(board.vbios.into()),
        mig_enabled: Some(false),
        ecc_enabled: Some(true),
        nvlinks: Some(board.nvlinks),
    }
}

fn card_with_vfs(
    build: &mut Build,
    spec: &HostSpec,
    board: &Board,
    (bundle, numa_node): (&Bundle, u32),
    (port, at): (&str, u32),
) {
    let card = &board.card;
    let function = |function: u8, ids, driver, link| NewFunction {
        address: address(bundle.card_bus, 0, function),
        ids,
        class: card.class,
        numa_node,
        driver: Some(driver),
        group: Group::Own,
        link,
    };
    let path = build.function(port, &function(0, card.ids, "mlx5_core", board.gpu_link));
    let count = VFS_PER_CARD.to_string();
    build.files(&path, &[("sriov_numvfs", &count), ("sriov_totalvfs", "16")]);
    for vf in 1..=VFS_PER_CARD {
        let share = build.function(port, &function(vf, (MELLANOX, 0x101e), "vfio-pci", None));
        build.link(&joined(&share, "physfn"), &path);
    }
    let guid = format!("{:04x}:{:04x}:{at:04x}:0000", 0xa088 + (spec.number >> 16), spec.number & 0xffff);
    rdma(build, &path, &format!("mlx5_{at}"), &guid, card);
    let infiniband = card.link_layer == "InfiniBand";
    let (name, mtu) = if infiniband { ("ibp", "4092") } else { ("enp", "9000") };
    let speed = card.rate.split(' ').next().unwrap_or_default().to_owned() + "000";
    let own = hardware_address(spec, at);
    let own = if infiniband { format!("00:00:10:49:fe:80:00:00:00:00:00:00:00:00:{own}") } else { own };
    interface(build, &path, &format!("{name}{}s0", bundle.card_bus), &own, &speed, mtu);
}

fn rdma(build: &mut Build, function: &str, name: &str, guid: &str, card: &Card) {
    let device = format!("{function}/infiniband/{name}");
    build.files(
        &device,
        &[
            ("fw_ver", card.firmware),
            ("hca_type", card.hca_type),
            ("node_guid", guid),
            ("sys_image_guid", guid),
            ("ports/1/link_layer", card.link_layer),
            ("ports/1/phys_state", "5: LinkUp"),
            ("ports/1/rate", card.rate),
            ("ports/1/state", "4: ACTIVE"),
        ],
    );
    build.link(&format!("sys/class/infiniband/{name}"), &device);
}

fn interface(build: &mut Build, function: &str, name: &str, own: &str, speed: &str, mtu: &str) {
    let path = format!("{function}/net/{name}");
    build.files(&path, &[("address", own), ("mtu", mtu), ("operstate", "up"), ("speed", speed)]);
    build.link(&format!("sys/class/net/{name}"), &path);
}

fn data_disk(build: &mut Build, spec: &HostSpec, (bundle, node): (&Bundle, u32), (port, at): (&str, u32)) {
    let function = disk_function(build, port, bundle.disk_bus, (0x144d, 0xa824), node);
    let disk = NewDisk {
        model: "SAMSUNG MZWLO3T8HCLS-00A07",
        firmware: "OPPA4B5Q",
        serial: serial(spec, "DA", at),
        wwid: wwid(spec, at),
        sectors: 7_501_476_528,
    };
    build.nvme(&function, at, &disk);
}

/// A BlueField-3 with two ports and the function it is managed through.
fn bluefield(build: &mut Build, spec: &HostSpec) {
    let port = build.bridge("sys/devices/pci0000:c8", address(0xc8, 1, 0), H200.root_port, 1);
    let card =
        Card { ids: (MELLANOX, 0xa2dc), class: 0x02_0000, link_layer: "Ethernet", hca_type: "MT41692", ..H200.card };
    for number in 0u8..2 {
        let new = NewFunction {
            address: address(0xc9, 0, number),
            ids: card.ids,
            class: card.class,
            numa_node: 1,
            driver: Some("mlx5_core"),
            group: Group::Own,
            link: GEN5_X16,
        };
        let path = build.function(&port, &new);
        let at = 0x80 + u32::from(number);
        let guid = format!("5c25:{:04x}:{:04x}:{number:04x}", spec.number >> 16, spec.number & 0xffff);
        let card = Card { rate: "200 Gb/sec (2X NDR)", firmware: "32.43.1014", ..card };
        rdma(build, &path, &format!("mlx5_bond_{number}"), &guid, &card);
        interface(build, &path, &format!("enp201s0f{number}np{number}"), &hardware_address(spec, at), "200000", "9000");
    }
    let new = NewFunction {
        address: address(0xc9, 0, 2),
        ids: (MELLANOX, 0xc2d5),
        class: 0x08_0100,
        numa_node: 1,
        driver: None,
        group: Group::Own,
        link: None,
    };
    build.function(&port, &new);
}

fn fabric_answer(spec: &HostSpec, partitions: &Partitions, nvlinks: u32) -> FabricProbe {
    let here = |set: &&BTreeSet<ModuleId>| set.iter().all(|module| module.0 <= spec.gpus);
    let sets = partitions.sets().iter().filter(here).zip(0u32..);
    let partition = |(set, id): (&BTreeSet<ModuleId>, u32)| FabricPartition {
        id,
        gpus: set.iter().map(|module| module.0).collect(),
        nvlinks: Some(if set.len() > 1 { nvlinks } else { 0 }),
    };
    FabricProbe {
        state: FabricServiceState::Running,
        version: Some(DRIVER_VERSION.into()),
        fabric_mode: Some(FabricMode::SharedNvswitch),
        partitions: sets.map(partition).collect(),
    }
}

fn tools() -> ToolsProbe {
    let place = |tool: Tool| match tool {
        Tool::LibvirtSocket => "/run/libvirt/libvirt-sock".to_owned(),
        Tool::OvsDbSocket => "/run/openvswitch/db.sock".to_owned(),
        Tool::UefiFirmware => "/usr/share/OVMF/OVMF_CODE_4M.fd".to_owned(),
        Tool::Rdma => "/usr/sbin/rdma".to_owned(),
        other => format!("/usr/bin/{other}"),
    };
    let version = |tool: Tool| match tool {
        Tool::QemuSystem | Tool::QemuImg => Some("10.1.0".to_owned()),
        Tool::OvsVsctl => Some("3.3.4".to_owned()),
        _ => None,
    };
    let seen = |tool: &Tool| ToolSeen { tool: *tool, present: true, path: Some(place(*tool)), version: version(*tool) };
    ToolsProbe { tools: Tool::ALL.iter().map(seen).collect() }
}

fn serial(spec: &HostSpec, kind: &str, at: u32) -> String {
    format!("SIM{kind}{:07}{at:02}", spec.number)
}

/// What the disk with this number is recognised by; the first two are the host's own.
pub fn wwid(spec: &HostSpec, at: u32) -> String {
    format!("eui.002538{:08x}{at:02x}", spec.number)
}

fn hardware_address(spec: &HostSpec, at: u32) -> String {
    let [a, b, c, d] = spec.number.to_be_bytes();
    format!("a0:{:02x}:{b:02x}:{c:02x}:{d:02x}:{:02x}", 0x88 ^ a, at & 0xff)
}
