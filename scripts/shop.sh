# Sourced by the scripts that need a whole shop: a sandbox gateway and a terminal on free loopback ports with a fresh
# state directory. Ends only what it started, and all of it.
#
#   shop_build            builds the programs, unless TILL_BUILT=1 says that they are
#   shop_gateway          starts the gateway; sets gateway_url
#   shop_acquirer         starts the acquirer of payments by phone; sets acquirer_url
#   shop_config SINK      writes the terminal's configuration; sets config
#   shop_start [OPTION…]  starts the terminal with it; sets terminal_pid
#   shop_terminal         the same, and waits until it serves; sets terminal_url and claim_code
#   shop_stop             ends what runs; called on exit

shop_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
shop_configuration=${TILL_BUILD:-debug}
bin=$shop_root/.build/$shop_configuration
merchant_id=mrch_demo
state=
build_pid=
gateway_pid=
acquirer_url=
acquirer_login=shop@example.com
acquirer_password=shop-password
terminal_pid=
# The command that starts each program: `setsid` where ctrl-C is the script's alone.
apart=()

shop_build() {
    [ -z "${TILL_BUILT:-}" ] || return 0
    local log=.build/build.log status=0
    # In a group of processes of its own, to be ended as one.
    local compile=(setsid "$shop_root/scripts/compile" "$shop_configuration" till till-sandbox)
    if [ -t 1 ]; then
        echo "Building (the first time takes several minutes; later seconds) …"
        "${compile[@]}" &
    else
        echo "Building (the first time takes several minutes; later seconds; its log is $log) …"
        log=$shop_root/$log
        mkdir -p "$shop_root/.build"
        "${compile[@]}" >"$log" 2>&1 &
    fi
    build_pid=$!
    wait "$build_pid" || status=$?
    build_pid=
    [ $status = 0 ] || [ -t 1 ] || cat "$log" >&2
    return $status
}

shop_state() {
    state=$(mktemp -d "${TMPDIR:-/tmp}/till.XXXXXX")
    chmod 700 "$state"
    # A key nobody else has: the sandbox takes the one it is given.
    gateway_key=wcp_$(od -An -N12 -tx1 /dev/urandom | tr -d ' \n')
    control_token=$(od -An -N12 -tx1 /dev/urandom | tr -d ' \n')
}

# Waits for a line in a file that a program writes when it is ready; fails when the program has ended, or has not said it in five minutes.
shop_await() {
    local file=$1 pid=$2 pattern=$3 what=$4 end=$((SECONDS + 300))
    # The program may create it only later.
    : >>"$file"
    until grep -q "$pattern" "$file"; do
        if ! kill -0 "$pid" 2>/dev/null || [ $SECONDS -ge $end ]; then
            echo "$what did not start:" >&2
            cat "$file" "$state"/*.log >&2
            return 1
        fi
        sleep 0.05
    done
}

shop_gateway() {
    "${apart[@]}" "$bin/till-sandbox" gateway --port 0 --merchant "$merchant_id" --api-key "$gateway_key" \
        --control-token "$control_token" "$@" >"$state/gateway.json" 2>"$state/gateway.log" &
    gateway_pid=$!
    shop_await "$state/gateway.json" "$gateway_pid" '"ready"' "The sandbox gateway"
    gateway_url=$(sed -nE 's/.*"url":"([^"]+)".*/\1/p' "$state/gateway.json" | head -n 1)
}

shop_acquirer() {
    "${apart[@]}" "$bin/till-sandbox" acquirer --port 0 --merchant-login "$acquirer_login:$acquirer_password" \
        --control-token "$control_token" "$@" >"$state/acquirer.json" 2>"$state/acquirer.log" &
    shop_await "$state/acquirer.json" $! '"ready"' "The sandbox acquirer"
    acquirer_url=$(sed -nE 's/.*"url":"([^"]+)".*/\1/p' "$state/acquirer.json" | head -n 1)
}

shop_config() {
    config=$state/till.yaml
    cat >"$config" <<YAML
state: $state/terminal
web:
  address: 127.0.0.1
  port: 0
  names: [localhost]
  pages: $shop_root/Public
  wallets: $shop_root/config/wallets.json
screen:
  sink: $1
  path: $state/screen.png
  width: ${TILL_SCREEN_WIDTH:-1280}
  height: ${TILL_SCREEN_HEIGHT:-800}
sound:
  device: "${TILL_SOUND:-none}"
gateway:
  allowLoopbackHTTP: true
log:
  level: ${TILL_LOG:-info}
YAML
}

# The file of its announcements is there before anybody opens it for reading.
shop_start() {
    : >"$state/terminal.json"
    "${apart[@]}" "$bin/till" run --config "$config" --announce "$state/terminal.json" "$@" 2>"$state/terminal.log" &
    terminal_pid=$!
}

shop_terminal() {
    shop_start
    shop_await "$state/terminal.json" "$terminal_pid" '"event":"claim"' "The terminal"
    terminal_url=$(sed -nE 's/.*"event":"listening".*"url":"([^"]+)".*/\1/p' "$state/terminal.json" | head -n 1)
    claim_code=$(sed -nE 's/.*"code":"([^"]+)".*"event":"claim".*/\1/p' "$state/terminal.json" | tail -n 1)
}

shop_stop() {
    local end=$((SECONDS + 20))
    # A second signal does not interrupt this.
    trap '' INT TERM HUP
    kill -TERM $(jobs -pr) 2>/dev/null || true
    # The compiler ends its own programs when it is interrupted.
    [ -z "$build_pid" ] || kill -INT -- "-$build_pid" 2>/dev/null || true
    while [ -n "$(jobs -pr)" ] || { [ -n "$build_pid" ] && kill -0 -- "-$build_pid" 2>/dev/null; }; do
        [ $SECONDS -lt $end ] || kill -KILL ${build_pid:+-- "-$build_pid"} $(jobs -pr) 2>/dev/null || true
        sleep 0.05
    done
    [ -z "$state" ] || [ -n "${TILL_KEEP_STATE:-}" ] || rm -rf "$state"
}
trap shop_stop EXIT
