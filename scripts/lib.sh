# Shared by the scripts here: where tools live, how steps are shown, how Debian packages are installed. Sourced, not run.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
tools="$root/target/tools"
export PATH="$tools/bin:$HOME/.cargo/bin:$PATH"
cd "$root"

# A build that is made once and thrown away has no use for the files of incremental compilation, which take gigabytes.
if [ -n "${CI:-}" ]; then export CARGO_INCREMENTAL=0; fi

# All chatter goes to standard error: the first line `make dev` prints on standard output is the server's own.
say() { printf '%s\n' "$*" >&2; }
fail() {
  say "$@"
  exit 1
}

# step NAME COMMAND…: runs a command under a heading and says how long it took.
step() {
  local name=$1 begun=$SECONDS
  shift
  say "== $name"
  "$@" || fail "== $name: FAILED after $((SECONDS - begun)) s: $*"
  say "== $name: ok, $((SECONDS - begun)) s"
}

# as_root COMMAND…: runs a command as root, or says which one a person has to run.
as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    fail "this needs root, and there is no sudo here; run as root: $*"
  fi
}

# node_packages FOLDER WHAT: installs what a lock file names, unless that was done. The stamp is a copy of the lock file.
node_packages() {
  cmp -s "$1/package-lock.json" "$1/node_modules/installed.json" && return
  say "installing $2"
  (cd "$1" && npm ci --no-audit --no-fund --ignore-scripts --loglevel=error >&2)
  cp "$1/package-lock.json" "$1/node_modules/installed.json"
}

# packages NAME…: installs Debian packages.
packages() {
  command -v apt-get >/dev/null || fail "missing: $*; this machine has no apt-get, so install them by its own means"
  say "installing Debian packages: $*"
  export DEBIAN_FRONTEND=noninteractive
  as_root apt-get update -qq >&2
  as_root apt-get install -y -qq --no-install-recommends "$@" >&2
}
