# Runs an image's command as bare_images.py says, the first process of namespaces of its own.
# Arguments: how many variables follow, the variables, the command.
set -eu
say() { printf '%-20s %s\n' "$NAME" "$1"; }
fail() { say "FAILED: $1"; cat /tmp/log.$$ >&2 || true; exit 1; }

# Limits, in control groups of either version.
for group in /sys/fs/cgroup/memory /sys/fs/cgroup/pids /sys/fs/cgroup; do
  [ -e "$group/cgroup.procs" ] && mkdir -p "$group/heddle-$NAME" || continue
  group=$group/heddle-$NAME
  for limit in memory.limit_in_bytes memory.max; do
    [ -e "$group/$limit" ] && echo "$MEMORY_BYTES" > "$group/$limit" && memory=$group
  done
  [ -e "$group/pids.max" ] && echo "$PROCESSES" > "$group/pids.max"
  echo 0 > "$group/cgroup.procs"
done

mount --make-rprivate /
ip link set lo up
mount --bind "$ROOT" "$ROOT"
mkdir -p "$ROOT/run/secrets"
for folder in files rubrics plugins connectors assistants tls; do mkdir -p "$ROOT/etc/heddle/$folder"; done
mount --bind "$SECRETS" "$ROOT/run/secrets"
mount -o remount,bind,ro "$ROOT/run/secrets"
mount -t proc -o nosuid,nodev,noexec proc "$ROOT/proc"
mount -t tmpfs -o mode=0755,nosuid tmpfs "$ROOT/dev"
mkdir "$ROOT/dev/shm" && mount -t tmpfs -o size=64m,nosuid,nodev,noexec tmpfs "$ROOT/dev/shm"
for device in null zero full random urandom; do
  touch "$ROOT/dev/$device" && mount --bind "/dev/$device" "$ROOT/dev/$device"
done
ln -s /proc/self/fd "$ROOT/dev/fd"
mount -t tmpfs -o size=1g,mode=1777,nosuid,nodev tmpfs "$ROOT/tmp"
mount -t tmpfs -o "size=1g,mode=0750,uid=${OWNER%:*},gid=${OWNER#*:},nosuid,nodev" tmpfs "$ROOT$DIRECTORY"
mount -o remount,bind,ro "$ROOT"

# The variables come first among the arguments, then the command.
count=$1
shift
# Replaces the shell that calls it, which is therefore one of its own: `(within …)` or `within … &`.
inside() {
  exec chroot "$ROOT" setpriv --reuid "${OWNER%:*}" --regid "${OWNER#*:}" --clear-groups --no-new-privs \
    --bounding-set=-all --inh-caps=-all env --chdir "$DIRECTORY" --ignore-environment "$@"
}
number=0
variables=
for argument; do
  number=$((number + 1))
  [ "$number" -le "$count" ] || break
  variables="$variables '$(printf %s "$argument" | sed "s/'/'\\\\''/g")'"
done
within() { eval "inside $variables \"\$@\""; }

(within /bin/sh -c 'touch /opt/heddle/written 2>/dev/null') && fail "the root can be written to"
(within /bin/sh -c 'touch /tmp/written "$0/written"' "$DIRECTORY") || fail "its folders cannot be written to"
(within /bin/sh -c '[ "$(id -u):$(id -g)" = "$0" ]' "$OWNER") || fail "another user"
(within /bin/sh -c 'grep -q "^CapEff:[[:space:]]*0*$" /proc/self/status') || fail "it has capabilities"
(within heddle --help > /dev/null) || fail "there is no command heddle"

eval "shift $count"
if [ -z "$HEALTH_COMMAND" ]; then
  (within "$@") > /tmp/log.$$ 2>&1 || fail "$*"
  say "runs $*"
  exit 0
fi
started=$(date +%s%N)
within "$@" > /tmp/log.$$ 2>&1 &
process=$!
until (within /bin/sh -c "$HEALTH_COMMAND") 2>/dev/null; do
  kill -0 "$process" 2>/dev/null || fail "it ended"
  [ $(($(date +%s%N) - started)) -lt 120000000000 ] || fail "not healthy after 120 s"
done
milliseconds=$((($(date +%s%N) - started) / 1000000))
peak=
for file in memory.max_usage_in_bytes memory.peak; do
  [ -n "${memory:-}" ] && [ -e "$memory/$file" ] && peak=$(($(cat "$memory/$file") / 1000000))
done
kill -TERM "$process"
wait "$process" || fail "it did not stop by itself"
say "healthy after $milliseconds ms, peak ${peak:-?} MB, stopped: read-only root, user $OWNER, no capabilities"
