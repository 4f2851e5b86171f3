#!/bin/sh
# Boots Debian's kernel in a virtual machine with this machine's files read-only inside, and runs a command there as root.
# Its modules are there and not loaded. Nothing of this machine is changed; what the command says is printed when it ends.
# Usage: vm.sh COMMAND [ARGUMENT..]
# TARE_VM_DISK names a directory of large programs: inside it is a disk, for over the way by which all other files come
# a page of a program takes milliseconds. TARE_VM_CLOCK=instructions lets time go by inside as instructions are executed, 4 ns
# each, and where nothing is to be done as outside: what has deadlines of its own is then on a machine that is quick enough,
# however long it takes.
#
# Everything runs under emulation: it shows that something works, never how fast.
set -eu
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

# A boot takes 20 s on two cores; what runs inside is tens of times slower than outside.
LIMIT=${TARE_VM_LIMIT:-2400}
# Half of it is room for files, as those of Docker Engines that tests start.
MEMORY=${TARE_VM_MEMORY:-3G}

here=$(cd "$(dirname "$0")/.." && pwd)
vm=$here/target/vm
mkdir -p "$vm"

"$here/scripts/packages.sh" qemu-system-x86_64:qemu-system-x86 depmod:kmod busybox:busybox-static python3:python3,python3-venv \
    mke2fs:e2fsprogs

if [ ! -x "$vm/venv/bin/vng" ]; then
    python3 -m venv "$vm/venv"
    "$vm/venv/bin/pip" install -q "virtme-ng==1.*"
fi

image=$("$here/scripts/kernel.sh")
# What the guest writes here stays; it has a TMPDIR of its own, and all else is read-only.
out=$(mktemp -d "$vm/run.XXXXXX")
trap 'rm -rf "$out"' EXIT
disk=:
[ -z "${TARE_VM_DISK:-}" ] || disk="modprobe -a virtio_blk ext4 && mount -o ro /dev/vda '$TARE_VM_DISK'"
{
    printf 'mount -t tmpfs -o mode=1777 tmpfs /mnt && export TMPDIR=/mnt && cd %s && %s && %s\n' "'$here'" "$disk" "$*"
    # shellcheck disable=SC2016
    printf 'echo $? >%s/status\n' "$out"
} >"$out/command"

# What more the machine has. Both of its processors are one thread's turns: where each has a thread of its own, one may run what the
# other is just changing, and a kernel that switches its own branches while packets flow (static keys) has died of it again and again.
options="-accel tcg,thread=single"
processors=2
# With such a clock a second one takes from the first what it gets.
case ${TARE_VM_CLOCK:-} in
instructions) options="$options -icount shift=2" processors=1 LIMIT=${TARE_VM_LIMIT:-4800} ;;
esac
if [ -n "${TARE_VM_DISK:-}" ]; then
    PATH=$PATH:/usr/sbin:/sbin
    mke2fs -q -t ext4 -O ^has_journal -d "$TARE_VM_DISK" "$out.disk" "$(du -sm "$TARE_VM_DISK" | awk '{ print int($1 * 1.2) + 32 }')M" >/dev/null
    trap 'rm -rf "$out" "$out.disk"' EXIT
    options="$options -drive file=$out.disk,if=virtio,format=raw,readonly=on"
fi

# vng looks for its own helpers on the PATH.
PATH=$vm/venv/bin:$PATH

# An emulated machine may die or never start, whatever runs in it: both were seen once, on machines under load. What it ran
# is run again from the beginning in another one, and a machine that dies is told of each time.
for attempt in 1 2 3; do
    rm -f "$out/status" "$out/log"
    ended=0
    # Debian's kernel has AppArmor, whose profiles Docker could only load by a program that few machines have.
    timeout "$LIMIT" vng --verbose -r "$image" --disable-kvm --cpus "$processors" --memory "$MEMORY" --append apparmor=0 --rwdir "$out" "--qemu-opts=$options" \
        --exec "sh $out/command >$out/log 2>&1" </dev/null >"$out/console" 2>&1 || ended=$?
    [ ! -e "$out/log" ] || cat "$out/log"
    [ ! -s "$out/status" ] || exit "$(cat "$out/status")"
    say "The machine ended before the command did ($ended, attempt $attempt). Its last words:"
    tail -n 60 "$out/console" >&2
    # What takes this long once would do so again.
    [ "$ended" != 124 ] || die "it was ended after $LIMIT s"
done
die "no machine lived as long as the command"
