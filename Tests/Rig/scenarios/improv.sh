# A phone connects a terminal without a network to Wi-Fi: Home Assistant's client over the real BlueZ, somebody at the keypad, the
# real iwd, and a real access point in a network of its own.
# Python: Tests/Rig/improv/requirements.txt
# Limit: 260 s
# Part: rest

. $rig/tests/air.sh

# What leads to the host is a network too. It comes back for the next scenario.
cable() { busybox ip link set eth0 "$1"; }
trap 'cable up; busybox ip addr replace 10.0.2.15/24 dev eth0' EXIT

phone() { timeout $((70 * RIG_PATIENCE)) env PYTHONPATH=$rig/python-improv python3 -u $rig/tests/improv/phone.py hci1 "$@"; }
heard() { phone look "$1" >"$RIG_LOGS/heard.log"; }
is_not_found() { ! heard "$1" && equal "$(cat "$RIG_LOGS/heard.log")" nothing; }
says() { grep -q "^$1" "$RIG_LOGS/phone.log" || { tail -n 1 "$RIG_LOGS/phone.log"; return 1; }; }
# The phone in the background, its words in phone.log.
phone_joins() { : >"$RIG_LOGS/phone.log"; background phone phone join "$@"; }
ended_with() {
    local status=0
    wait "$(pid phone)" || status=$?
    equal "$status" "$1" || { tail -n 1 "$RIG_LOGS/phone.log"; return 1; }
}
audit_says() { api GET 'audit?limit=20' | tee /tmp/audit | jq -e "$1" >/dev/null || { jq -c . /tmp/audit | cut -c 1-300; return 1; }; }
page_answers() { in_access_point curl -sk --max-time 10 "$1/healthz" | grep -q .; }

required "Terminal and phone have Bluetooth" radio_up 2
required "Two Wi-Fi radios are there" wifi_radios_up
required "An access point serves" access_point_up
required "iwd starts" iwd_start
required "The terminal starts" terminal_up $'bluetooth:\n  adapter: hci0\nwifi:\n  managed: true'
required "The owner is there" owner_is_there
required "The terminal has found the keypad" within 10 keypad_is_there
promise "With a network it is not to be found" is_not_found 15

cable down
required "Without one it is, with state and capabilities beside the service" within 40 heard 10
promise "What it tells is what Improv says" grep -q "^heard 010000000000 .*00467768-6228-2272-4663-277478268000" "$RIG_LOGS/heard.log"

phone_joins "$name" "$passphrase"
promise "A phone that nobody allowed is told so" ended_with 2
promise "It says: not authorized" says "failed not_authorized"

phone_joins "$name" "tram bell eighteen" wait
required "The screen asks about the phone" within 40 screen_reads "A phone wants to connect"
promise "The phone is told that it has to wait" within 20 says "authorization is required"
host picture asking
sleep 1
host keys kp_enter
promise "Enter allows it" within 20 says "state authorized"
promise "With a wrong passphrase it could not be joined" ended_with 2
promise "It says: unable to connect" says "failed unable_to_connect"
promise "The screen says so too" within 10 screen_reads "could not be joined"

background address address_follows
phone_joins "$name" "$passphrase"
promise "The same phone may try again at once, and is in" ended_with 0
host picture joined
page=$(sed -n 's/^page //p' "$RIG_LOGS/phone.log")
promise "It is told where the page is" equal "$page" "https://$address:$RIG_PORT"
promise "The page answers there, in that network" within 10 page_answers "$page"
promise "The terminal is not to be found any more" is_not_found 15
promise "The audit log says who let it in and how often it was tried" \
    audit_says '[.entries[] | select(.what == "network.join" and .from == "improv") | .result] == ["ok", "failed"]'
promise "The passphrase is nowhere in what the terminal keeps or logs" never_kept
promise "Nobody ever paired" nothing_paired
