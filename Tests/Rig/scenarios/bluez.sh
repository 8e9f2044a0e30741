# The rig's own radio, with BlueZ's tools alone: what fails here is not Till's fault.
# Limit: 60 s
# Part: rest

service=6e400001-b5a3-f393-e0a9-e50e24dcca9e
characteristic=6e400002-b5a3-f393-e0a9-e50e24dcca9e

# Types a line into a running bluetoothctl and waits for what it says to it.
tell() {
    echo "$2" >"/tmp/$1.keys"
    within 10 grep -aq "$3" "$RIG_LOGS/$1.log"
}
plain_tool() {
    mkfifo "/tmp/$1.keys"
    background "$1" bash -c "exec bluetoothctl <>/tmp/$1.keys"
    within 10 grep -aq 'Agent registered' "$RIG_LOGS/$1.log"
}
plain_phone() {
    plain_tool "$1" && tell "$1" "select $(address_of "$1")" "$(address_of "$1")" &&
        tell "$1" 'menu gatt' 'Menu gatt' && tell "$1" "register-service $service" 'Primary (yes/no)\|service0' &&
        tell "$1" yes 'New\|NEW' && tell "$1" "register-characteristic $characteristic read,write" 'Enter value\|chrc0' &&
        tell "$1" "0x11 0x22 0x33" 'chrc0' && tell "$1" register-application 'Application registered' &&
        tell "$1" back 'Menu main' && tell "$1" 'menu advertise' 'Menu advertise' && tell "$1" "uuids $service" "$service" &&
        tell "$1" back 'Menu main' && tell "$1" 'advertise on' 'Advertising object registered'
}
on_device() { gdbus call --system --timeout 60 --dest org.bluez --object-path "$1" --method "org.bluez.$2" "${@:3}"; }
is_true() { gdbus call --system --dest org.bluez --object-path "$1" --method org.freedesktop.DBus.Properties.Get \
    org.bluez.Device1 "$2" | grep -q '<true>'; }
path_of() { echo "/org/bluez/hci0/dev_$(address_of "$1" | tr : _)"; }
characteristic_of() { daemon_answers | grep -oE "\"$(path_of "$1")/service[0-9a-f]+/char[0-9a-f]+\"" | tr -d '"' | sort -u | tail -n 1; }

required "A terminal and two phones have radios" radio_up 3
required "The first phone serves and advertises" plain_phone hci1
required "The second one too" plain_phone hci2

finds_both() {
    plain_tool hci0 && tell hci0 "select $(address_of hci0)" "$(address_of hci0)" && tell hci0 'menu scan' 'Menu scan' &&
        tell hci0 'transport le' 'transport' && tell hci0 back 'Menu main' && tell hci0 'scan on' 'Discovery started' &&
        within 10 eval '[ "$(known_devices hci0 | wc -l)" = 2 ]' && tell hci0 'scan off' 'Discovery stopped'
}
required "Scanning finds both" finds_both
connects() { on_device "$(path_of "$1")" Device1.Connect && within 10 is_true "$(path_of "$1")" ServicesResolved; }
required "A link to the first phone is made and its services are found" connects hci1
required "A link to the second one too, while the first is up" connects hci2
both_are_up() { is_true "$(path_of hci1)" Connected && is_true "$(path_of hci2)" Connected; }
promise "Both links are up at once" both_are_up

round_trip() {
    local number path
    for number in 1 2; do
        path=$(characteristic_of "hci$number")
        on_device "$path" GattCharacteristic1.WriteValue "[byte $number, 2, 3]" '{}' || return 1
    done
    for number in 1 2; do
        path=$(characteristic_of "hci$number")
        contains "$(on_device "$path" GattCharacteristic1.ReadValue '{}')" "[byte 0x0$number, 0x02, 0x03]" || return 1
    done
}
promise "What is written to each phone is read back from that phone" round_trip
promise "Nobody paired" nothing_paired

is_noticed() { ! nothing_paired; }
pairing_shows() { tell hci0 "pair $(address_of hci1)" 'Attempting to pair' && within 5 is_noticed; }
promise "Had somebody begun to pair, it would have been noticed" pairing_shows

forgotten() { on_device /org/bluez/hci0 Adapter1.RemoveDevice "$(path_of hci1)" && on_device /org/bluez/hci0 Adapter1.RemoveDevice "$(path_of hci2)" &&
    within 10 knows_no_device hci0; }
promise "Forgotten devices leave nothing behind" forgotten
