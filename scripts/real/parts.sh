# What guest images are put together from: kernels, programs with their libraries, initial file systems, disks that start by
# themselves. Sourced, after scripts/lib.sh and scripts/real/debian.sh. Nothing here mounts anything or needs a loop device.

work=
# Makes $work, a folder that goes away with the script.
work_make() {
  mkdir -p "$root/target/real"
  work=$(mktemp -d "$root/target/real/build.XXXXXX")
  trap 'rm -rf "$work"' EXIT
}

# key FILE… -- PACKAGE…: what an image was made from: its scripts, and the versions of what is taken from this machine.
key() {
  local files=()
  while [ "$1" != -- ]; do
    files+=("$root/scripts/$1")
    shift
  done
  shift
  {
    cat "$root/scripts/real/parts.sh" "$root/scripts/real/debian.sh" "${files[@]}"
    dpkg-query --show "$@"
  } | sha256sum | cut -c 1-16
}

# up_to_date OUT KEY: whether OUT was made from these things.
up_to_date() { [ -e "$1" ] && [ "$(cat "$1.key" 2>/dev/null)" = "$2" ]; }

# kernel FLAVOUR: unpacks Debian's kernel of that flavour once, and sets $kernel_dir and $kernel_release.
kernel() {
  kernel_dir="$root/target/real/kernel-$1"
  if [ ! -e "$kernel_dir/package" ]; then
    debian_unpack "linux-image-$1" "$kernel_dir"
    depmod --basedir "$kernel_dir" "$(ls "$kernel_dir/lib/modules")"
  fi
  kernel_release=$(ls "$kernel_dir/lib/modules")
}

# modules_add DIR NAME…: puts modules of $kernel_dir into an initial file system, with `modules/order` saying how to load them.
modules_add() {
  local dir=$1 name action path
  shift
  mkdir -p "$dir/modules"
  for name; do
    modprobe --dirname "$kernel_dir" --set-version "$kernel_release" --show-depends "$name"
  done >"$work/depends" || fail "a module is not in $(cat "$kernel_dir/package")"
  while read -r action path _; do
    if [ "$action" != insmod ] || [ -e "$dir/modules/$(basename "$path")" ]; then continue; fi
    cp "$path" "$dir/modules/"
    basename "$path" >>"$dir/modules/order"
  done <"$work/depends"
}

# busybox_add DIR: all the small programs, as links to one.
busybox_add() {
  local name
  mkdir -p "$1"/{bin,sbin,usr/bin,usr/sbin,etc,proc,sys,dev,run,tmp,root,mnt,lib,lib64,var/log,var/run}
  chmod 1777 "$1/tmp"
  cp /bin/busybox "$1/bin/busybox"
  for name in $("$1/bin/busybox" --list); do
    if [ "$name" != busybox ]; then ln -sf busybox "$1/bin/$name"; fi
  done
}

# program_add DIR PROGRAM…: programs of this machine with the libraries they need, at the same places.
program_add() {
  local dir=$1 program library
  shift
  for program; do
    mkdir -p "$dir$(dirname "$program")"
    # One that is a link to the small programs would be written through.
    rm -f "$dir$program"
    cp -L "$program" "$dir$program"
    for library in $(ldd "$program" 2>/dev/null | grep -oE '/[^ ]+'); do
      mkdir -p "$dir$(dirname "$library")"
      cp -Ln "$library" "$dir$library"
    done
  done
}

# initramfs DIR OUT: packs an initial file system.
initramfs() {
  (cd "$1" && find . -print0 | LC_ALL=C sort -z |
    cpio --null --create --format=newc --owner=0:0 --reproducible --quiet) | zstd -q -1 -T0 >"$2"
}

# uki OUT KERNEL INITRAMFS ARGUMENTS: a program for UEFI that is a kernel, what it starts with, and what it is told.
uki() {
  local stub=/usr/lib/systemd/boot/efi/linuxx64.efi.stub
  printf '%s' "$4" >"$work/arguments"
  printf 'ID=test\nNAME=test\n' >"$work/osrel"
  objcopy \
    --add-section .osrel="$work/osrel" --change-section-vma .osrel=0x20000 \
    --add-section .cmdline="$work/arguments" --change-section-vma .cmdline=0x30000 \
    --add-section .linux="$2" --change-section-vma .linux=0x2000000 \
    --add-section .initrd="$3" --change-section-vma .initrd=0x4000000 \
    "$stub" "$1"
}

# disk OUT DISK_MIB BOOT_MIB KERNEL INITRAMFS ARGUMENTS [DIR]: a raw disk that starts by BIOS and by UEFI alike. The first
# partition holds what it starts from; the second, if a folder is given, a file system named `root` with what is in there.
disk() {
  local out=$1 disk_mib=$2 boot_mib=$3 kernel=$4 initramfs=$5 arguments=$6 dir=${7:-}
  local boot="$out@@1M" root_start=$((boot_mib + 1))
  rm -f "$out"
  truncate -s "${disk_mib}M" "$out"
  {
    echo 'label: gpt'
    echo 'label-id: 11111111-1111-4111-8111-111111111111'
    echo "start=1MiB, size=${boot_mib}MiB, type=uefi, attrs=LegacyBIOSBootable, uuid=22222222-2222-4222-8222-222222222222"
    if [ -n "$dir" ]; then
      echo "start=${root_start}MiB, size=$((disk_mib - root_start - 1))MiB, type=linux, uuid=33333333-3333-4333-8333-333333333333"
    fi
  } | sfdisk --quiet "$out"
  # It warns that the disk goes on after the partition.
  mkfs.vfat -F 16 -n BOOT -i 47505541 --invariant --offset 2048 "$out" $((boot_mib * 1024)) >/dev/null 2>"$work/said" ||
    fail "$(cat "$work/said")"
  uki "$work/uki.efi" "$kernel" "$initramfs" "$arguments"
  printf 'DEFAULT linux\nPROMPT 0\nTIMEOUT 0\nLABEL linux\n KERNEL /linux\n INITRD /initramfs\n APPEND %s\n' "$arguments" \
    >"$work/syslinux.cfg"
  mmd -i "$boot" ::/EFI ::/EFI/BOOT ::/boot
  mcopy -i "$boot" "$work/uki.efi" ::/EFI/BOOT/BOOTX64.EFI
  mcopy -i "$boot" "$kernel" ::/linux
  mcopy -i "$boot" "$initramfs" ::/initramfs
  mcopy -i "$boot" "$work/syslinux.cfg" ::/boot/syslinux.cfg
  syslinux --install --offset $((1024 * 1024)) --directory /boot "$out"
  dd if=/usr/lib/syslinux/mbr/gptmbr.bin of="$out" bs=440 count=1 conv=notrunc status=none
  if [ -n "$dir" ]; then
    mkfs.ext4 -q -F -d "$dir" -L root -O ^has_journal -E "offset=$((root_start * 1024 * 1024)),lazy_itable_init=1" \
      "$out" $(((disk_mib - root_start - 1) * 1024))k
  fi
}
