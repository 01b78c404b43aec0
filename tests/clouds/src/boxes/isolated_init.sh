# The first process of an isolated box: makes its root file system and its network, and becomes its sshd.
# Everything is mounted in namespaces of its own, and is gone when it dies; the disk's image stays.
set -eu
place=$1 user=$2 name=$3 address=$4 gateway=$5
cd "$place"
mkdir -p disk root
mount -o loop disk.img disk
if [ ! -d disk/work ]; then
  mkdir disk/upper disk/work
  chmod 755 disk/upper
  # Of the host it sees the installed programs, and nothing that anybody works with.
  while read -r top; do mknod "disk/upper/$top" c 0 0; done < seed/hidden
fi
mount -t overlay overlay -o lowerdir=/,upperdir=disk/upper,workdir=disk/work root
mkdir -p root/root root/home root/tmp root/run/sshd root/proc root/dev root/workspace root/etc/ssh root/usr/local/bin
chmod 700 root/root
chmod 1777 root/tmp

while read -r folder path; do
  mkdir -p "root$path"
  mount --bind "$folder" "root$path"
done < seed/mounts
mount -t proc proc root/proc
mount -t tmpfs -o size=1m,mode=755 tmpfs root/dev
for node in null:1:3 zero:1:5 full:1:7 random:1:8 urandom:1:9 tty:5:0; do
  IFS=: read -r file major minor <<NODE
$node
NODE
  mknod -m 666 "root/dev/$file" c "$major" "$minor"
done
mkdir root/dev/pts root/dev/shm
mount -t devpts -o newinstance,ptmxmode=0666 devpts root/dev/pts
mount -t tmpfs -o size=64m,mode=1777 tmpfs root/dev/shm
ln -s pts/ptmx root/dev/ptmx
ln -s /proc/self/fd root/dev/fd
ln -s /proc/self/fd/0 root/dev/stdin
ln -s /proc/self/fd/1 root/dev/stdout
ln -s /proc/self/fd/2 root/dev/stderr

home=/root
if [ "$user" != root ]; then
  home=/home/$user
  grep -q "^$user:" root/etc/passwd || echo "$user:x:1000:1000::$home:/bin/bash" >> root/etc/passwd
fi
grep -q '^sshd:' root/etc/passwd || echo 'sshd:x:9999:9999::/run/sshd:/usr/sbin/nologin' >> root/etc/passwd
mkdir -p "root$home/.ssh"
cp seed/authorized_keys "root$home/.ssh/authorized_keys"
chmod 700 "root$home" "root$home/.ssh"
chmod 600 "root$home/.ssh/authorized_keys"
[ "$user" = root ] || chown -R 1000:1000 "root$home"
rm -f root/etc/ssh/ssh_host_*
cp seed/host_key root/etc/ssh/host_key
cp seed/sshd_config root/etc/ssh/sshd_config
cp seed/nvidia-smi root/usr/local/bin/nvidia-smi
chmod 755 root/usr/local/bin/nvidia-smi
hostname "$name" 2>/dev/null || true
if [ -f seed/torch.py ]; then
  mkdir -p root/usr/local/share/broken-python/torch
  cp seed/torch.py root/usr/local/share/broken-python/torch/__init__.py
fi

# The simulator puts the cable in.
until ip link show eth0 >/dev/null 2>&1; do sleep 0.01; done
ip link set lo up
ip address add "$address/30" dev eth0
ip link set eth0 up
ip route add default via "$gateway"
exec chroot root /usr/sbin/sshd -D -e -f /etc/ssh/sshd_config
