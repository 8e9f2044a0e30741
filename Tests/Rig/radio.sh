# Bluetooth in the guest: a system bus, linked virtual controllers and the real bluetoothd. hci0 is the terminal.
# Sourced by lib.sh.
#
#   radio_up N              N controllers, the daemon with the project's own settings, options and policy of the bus
#   daemon_start            the daemon alone, again. From then on it is kept, as its unit keeps it, until `finish bluetoothd`
#   daemon_ends             how often it ended by itself
#   known_devices [hciN]    the device objects that BlueZ keeps
#   phone_serves NAME hciN  a phone that says everything back, under the service $echo_service; its log is NAME.log
#   cut_link hciN hciM      hciN ends its link to hciM
#   nothing_paired          no pairing message was ever on the air, and no key is stored

bus() { dbus-send --system --print-reply --reply-timeout=10000 "$@"; }

bus_start() {
    # Who is not root finds the bus, too, and may what the project's policy allows.
    mkdir -p -m 755 /run/dbus
    install -D -m 644 $rig/config/bluetooth/till-bluetooth.conf /etc/dbus-1/system.d/till-bluetooth.conf
    background dbus dbus-daemon --system --nofork --nopidfile
    within 5 bus --dest=org.freedesktop.DBus / org.freedesktop.DBus.GetId
}

# As the unit starts it, to the letter. It talks to the system's log then.
unit=$rig/config/bluetooth/bluetooth.service.d-till.conf
daemon_start() {
    cp $rig/config/bluetooth/main.conf /etc/bluetooth/main.conf
    [ -S /run/log ] || log_start || return 1
    daemon_runs
    [ -n "${process_of[daemon_kept]:-}" ] || background daemon_kept daemon_kept
    within 10 daemon_answers
}
daemon_runs() {
    background bluetoothd $(sed -n 's/^ExecStart=\(.\)/\1/p' $unit)
    echo "${process_of[bluetoothd]}" >/run/bluetoothd.process
}
# A link that ends at the wrong moment can be the end of BlueZ 5.66. The unit says Restart=always.
daemon_kept() {
    while sleep "$(sed -n 's/^RestartSec=//p' $unit)"; do
        [ ! -e /run/bluetoothd.process ] || runs bluetoothd || {
            echo "note bluetoothd ended by itself, and was started again as its unit says. $(dmesg | grep 'bluetoothd\[' | tail -n 1)"
            daemon_runs
        }
    done
}
daemon_ends() { grep -c '^note' "$RIG_LOGS/daemon_kept.log"; }
log_start() {
    ln -sf /run/log /dev/log
    background log busybox syslogd -n -O "$RIG_LOGS/system.log"
    within 5 test -S /run/log
}
daemon_answers() { bus --dest=org.bluez / org.freedesktop.DBus.ObjectManager.GetManagedObjects; }

controllers() { daemon_answers | grep -oE 'object path "/org/bluez/hci[0-9]+"' | sort -u | wc -l; }
has_controllers() { equal "$(controllers)" "$1"; }
controller() { bus --dest=org.bluez "/org/bluez/$1" org.freedesktop.DBus.Properties.Get string:org.bluez.Adapter1 "string:$2"; }
is_powered() { controller "$1" Powered | grep -q 'boolean true'; }
set_powered() {
    bus --dest=org.bluez "/org/bluez/$1" org.freedesktop.DBus.Properties.Set \
        string:org.bluez.Adapter1 string:Powered "variant:boolean:$2" >/dev/null
}

# The kernel gives a new controller two seconds to answer, which a busy host can miss: then the rig tries again.
controllers_start() {
    local try
    for try in 1 2 3 4; do
        background btvirt btvirt "-l$1"
        ! within 5 kernel_knows "$1" || return 0
        finish btvirt KILL
    done
    echo "the kernel does not take $1 virtual controllers"
    return 1
}
kernel_knows() { equal "$(hciconfig | grep -c 'BD Address: 00:AA')" "$1"; }

radio_up() {
    local index
    bus_start || return 1
    # Everything that goes over the air, to be read at the end.
    background air bash -c "exec btmon -w $RIG_LOGS/air.btsnoop >/dev/null"
    controllers_start "$1" || return 1
    daemon_start && within 10 has_controllers "$1" || return 1
    for ((index = 0; index < $1; index++)); do
        within 5 set_powered "hci$index" true && within 5 is_powered "hci$index" || return 1
    done
}

echo_service=7469e100-0000-4a3b-9d5f-00112233a5a5
phone_serves() {
    background "$1" till-radio-check serve --adapter "$2" --service $echo_service
    within 15 serving "$1" && runs "$1"
}
serving() { [[ $(grep -a 'serving$' "$RIG_LOGS/$1.log" | tail -n 1) == serving ]]; }
address_of() { controller "$1" Address | sed -nE 's/.*string "(.*)"/\1/p'; }
cut_link() {
    gdbus call --system --timeout 60 --dest org.bluez --object-path "/org/bluez/$1/dev_$(address_of "$2" | tr : _)" \
        --method org.bluez.Device1.Disconnect
}

known_devices() { daemon_answers | grep -oE "object path \"/org/bluez/${1:-hci[0-9]+}/dev_[0-9A-F_]+\"" | sort -u; }
knows_no_device() {
    local known
    daemon_answers >/dev/null || return 1
    known=$(known_devices "$@" | tr '\n' ' ')
    equal "$known" ""
}

nothing_paired() {
    local keys
    keys=$(grep -rlE '^\[(LinkKey|LongTermKey|SlaveLongTermKey|PeripheralLongTermKey|IdentityResolvingKey)\]' /var/lib/bluetooth)
    equal "$keys" "" || return 1
    mkdir -p "/mnt/results/$RIG_SCENARIO" && cp "$RIG_LOGS/air.btsnoop" "/mnt/results/$RIG_SCENARIO/" &&
        equal "$(host pairing) packets that pair" "0 packets that pair"
}
