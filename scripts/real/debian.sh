# Debian's archive as this machine is set up to reach it, with the backports beside it. Sourced, after scripts/lib.sh.
#
# Package lists are kept apart from the machine's own, below target/real: what is added here changes nothing for anybody else,
# and a second run of `apt-get` on this machine does not stand in the way.

apt_dir="$root/target/real/apt"
apt_options=(
  -o "Dir::Etc::sourceparts=$apt_dir/sources"
  -o "Dir::Etc::sourcelist=$apt_dir/sources.list"
  -o "Dir::State::lists=$apt_dir/lists"
  # Others may be installing.
  -o DPkg::Lock::Timeout=600
  -o Acquire::Retries=3
)

debian_codename() { (. /etc/os-release && echo "$VERSION_CODENAME"); }

# The address of the mirror that this machine takes its release from. It is asked where it would look, for it may never have
# looked.
debian_mirror() {
  local found
  found=$(apt-get update --print-uris |
    sed -nE "s#^'(.*)/dists/($(debian_codename)|stable|oldstable)/InRelease' .*#\\1#p")
  [ -n "$found" ] || fail "apt has no source for $(debian_codename) on this machine"
  echo "${found%%$'\n'*}"
}

# Reads the lists, unless that was done within the last hour. One at a time, for several images may be made at once.
debian_lists() {
  mkdir -p "$root/target/real"
  (
    flock 9
    if [ -z "$(find "$apt_dir/read" -mmin -60 2>/dev/null)" ]; then debian_lists_read; fi
  ) 9>"$root/target/real/apt.lock"
}

debian_lists_read() {
  local mirror
  mirror=$(debian_mirror)
  as_root rm -rf "$apt_dir"
  mkdir -p "$apt_dir/sources" "$apt_dir/lists/partial"
  : >"$apt_dir/sources.list"
  if [ -s /etc/apt/sources.list ]; then cp /etc/apt/sources.list "$apt_dir/sources.list"; fi
  find /etc/apt/sources.list.d -maxdepth 1 \( -name '*.list' -o -name '*.sources' \) -exec cp -t "$apt_dir/sources" {} +
  cat >"$apt_dir/sources/backports.sources" <<END
Types: deb
URIs: $mirror
Suites: $(debian_codename)-backports
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
END
  as_root apt-get "${apt_options[@]}" update -qq >&2 9>&-
  touch "$apt_dir/read"
}

# debian_candidate NAME: the version that would be installed.
debian_candidate() {
  apt-cache "${apt_options[@]}" policy "$1" | awk '$1 == "Candidate:" { print $2 }'
}

debian_install() {
  as_root env DEBIAN_FRONTEND=noninteractive apt-get "${apt_options[@]}" install -y -qq --no-install-recommends "$@" >&2
}

# debian_unpack META DIR: the files of the package that a meta package such as `linux-image-amd64` stands for.
debian_unpack() {
  local meta=$1 dir=$2 name
  debian_lists
  name=$(apt-cache "${apt_options[@]}" depends "$meta" | awk '$1 == "Depends:" && !found { print $2; found = 1 }')
  [ -n "$name" ] || fail "the package $meta stands for nothing"
  say "unpacking $name"
  rm -rf "$dir.new"
  mkdir -p "$dir.new/deb"
  (cd "$dir.new/deb" && apt-get "${apt_options[@]}" -o APT::Sandbox::User=root download -qq "$name" >&2)
  dpkg-deb --extract "$dir.new"/deb/*.deb "$dir.new"
  rm -r "$dir.new/deb"
  echo "$name" >"$dir.new/package"
  rm -rf "$dir"
  mv "$dir.new" "$dir"
}
