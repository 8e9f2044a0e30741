# The radio goes away in every way, and comes back. Till notices both and needs nobody's help.
# Limit: 120 s

states() { grep -a '^state ' "$RIG_LOGS/watch.log" || true; }
latest_state() { states | tail -n 1; }
is_ready() { contains "$(latest_state)" "state ready"; }
is_unavailable() { contains "$(latest_state)" "state unavailable"; }
mark() {
    since=$(wc -l <"$RIG_LOGS/watch.log")
    phone_since=$(wc -l <"$RIG_LOGS/phone.log")
}
said_since() { tail -n "+$((since + 1))" "$RIG_LOGS/watch.log" | grep -a "$1"; }
notices() { within "$1" said_since '^state unavailable'; }
# Ready again, and a phone is heard after that: the scan goes on by itself.
heals() { within 20 is_ready && since=$(wc -l <"$RIG_LOGS/watch.log") && within 20 said_since '^seen '; }
served_since() { tail -n "+$((phone_since + 1))" "$RIG_LOGS/phone.log" | grep -a '^serving$' && serving phone; }
echoes() { timeout $((40 * RIG_PATIENCE)) till-radio-check echo --adapter hci0 --service $echo_service --count 3; }

# What whoever sets a terminal up is told.
doctor() {
    doctor_status=0
    timeout $((60 * RIG_PATIENCE)) till doctor radio --adapter hci0 --service $echo_service --seconds 3 --connect \
        >"$RIG_LOGS/doctor.log" 2>&1 || doctor_status=$?
}
doctor_says() { grep -q "$1" "$RIG_LOGS/doctor.log" || { tr '\n' ' ' <"$RIG_LOGS/doctor.log" && return 1; }; }
finds_nothing_bad() { doctor && equal "$doctor_status" 0 && equal "$(grep '^PROBLEM' "$RIG_LOGS/doctor.log")" ""; }
phones_are_met() { doctor_says '^ok .*First phone seen after .* s; 1 in' && doctor_says 'Connected in .* ready after'; }
# Also by a switch on the machine's case.
switch_off() { echo "$1" >"$(echo /sys/class/bluetooth/hci0/rfkill*/soft)"; }
is_told_off() {
    switch_off 1 && within 5 eval '! is_powered hci0' && doctor && equal "$doctor_status" 74 &&
        doctor_says '^PROBLEM .*Phones cannot be met: .*rfkill unblock'
}

watch_starts() {
    background watch till-radio-check scan --adapter hci0 --service $echo_service --seconds 100000
    within 10 is_ready
}
required "A terminal and a phone have radios" radio_up 2
required "The phone serves" phone_serves phone hci1
promise "till doctor radio finds nothing that hinders" finds_nothing_bad
promise "It names the adapter" doctor_says "^ok .*Bluetooth is on: hci0, $(address_of hci0)"
promise "It says that a phone can be met and reached" phones_are_met
promise "It finds bluetoothd set up as it should be" eval 'doctor_says "^ok .*reads no battery" && ! grep main.conf "$RIG_LOGS/doctor.log"'
promise "With the adapter switched off it says so, and ends with 74" is_told_off
switch_off 0
required "The terminal's radio is ready" watch_starts
required "The phone is heard" heals

mark
finish bluetoothd KILL
promise "bluetoothd is killed: the terminal notices" notices 5
required "bluetoothd is started again" daemon_start
promise "The phone serves again, by itself" within 20 served_since
promise "The terminal hears it, by itself" heals

mark
set_powered hci0 false
promise "The radio is switched off: the terminal notices" notices 5
promise "It switches the radio on again and hears the phone" heals

mark
finish btvirt KILL
promise "The radio is pulled out: the terminal notices" notices 5
required "It is put back" controllers_start 2
promise "The phone serves again" within 20 served_since
promise "The terminal hears it" heals

mark
finish bluetoothd KILL
finish dbus KILL
promise "The whole message bus goes down: the terminal notices" notices 5
bus_returns() { bus_start && daemon_start; }
required "The bus and bluetoothd are started again" bus_returns
promise "The phone serves again after that" within 20 served_since
promise "The terminal hears it after that" heals

promise "The terminal's program was never started anew" runs watch
finish watch
# BlueZ forgets phones that were only heard after half a minute; those it was linked to it would keep.
promise "Told to stop, it leaves no device object" within 15 knows_no_device hci0
promise "A round trip works after all that" echoes
promise "Nobody ever paired" nothing_paired
