set -e
cd "$1"
mkdir -p etc lib log run ovs-run ovs-log ovs-etc netns
printf 'user = "root"\ngroup = "root"\nsecurity_driver = "none"\ncgroup_controllers = []\nremember_owner = 0\n' > etc/qemu.conf
printf 'unix_sock_rw_perms = "0700"\nauth_unix_rw = "none"\nauth_unix_ro = "none"\n' > etc/libvirtd.conf
: > etc/virtlogd.conf
mkdir -p /run/libvirt /run/openvswitch /var/log/libvirt /var/log/openvswitch
mount --bind etc /etc/libvirt
mount --bind lib /var/lib/libvirt
mount --bind log /var/log/libvirt
mount --bind run /run/libvirt
mount --bind ovs-run /run/openvswitch
mount --bind ovs-log /var/log/openvswitch
ip link set lo up
ip link add up0 type veth peer name up1
ip addr add 203.0.113.1/24 dev up0
ip link set up0 up
ip link set up1 up
ovsdb-tool create ovs-etc/conf.db /usr/share/openvswitch/vswitch.ovsschema
ovsdb-server "$1/ovs-etc/conf.db" --remote=punix:/run/openvswitch/db.sock --no-chdir > ovs-log/db.out 2>&1 &
while ! [ -S /run/openvswitch/db.sock ]; do sleep 0.02; done
ovs-vsctl --no-wait init
ovs-vswitchd unix:/run/openvswitch/db.sock --no-chdir > ovs-log/vs.out 2>&1 &
virtlogd --pid-file "$1/virtlogd.pid" > virtlogd.out 2>&1 &
libvirtd --config /etc/libvirt/libvirtd.conf --pid-file "$1/libvirtd.pid" > libvirtd.out 2>&1 &
: > begun
# A shell that waits takes in everything that dies in here, as a first process should.
while :; do wait; sleep 0.1; done
