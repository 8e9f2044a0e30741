# Till's own Bluetooth, as terminal and as phone, over the real BlueZ.
# Limit: 120 s

check() { timeout $((60 * RIG_PATIENCE)) till-radio-check "$@" --service $echo_service --seconds $((40 * RIG_PATIENCE)); }
echoes() {
    local said
    said=$(check echo --adapter hci0 "$@") || {
        echo "${said:-nothing was said}"
        return 1
    }
    echo "$said" >>"$RIG_LOGS/echo.log"
    grep '^ok' <<<"$said"
}
# The value went over the air as long as asked for, not cut to what the link takes.
echoes_whole() {
    local longest
    echoes --size "$1" --count 5 && longest=$(grep -oE 'value [0-9]+' "$RIG_LOGS/echo.log" | tail -n 1)
    ((${longest#value } >= $1)) || {
        echo "the link takes ${longest#value } bytes"
        return 1
    }
}

required "A terminal and two phones have radios" radio_up 3
required "The first phone serves" phone_serves phone1 hci1
required "What the terminal writes comes back, ten times in order" echoes --count 10 --size 100
promise "BlueZ keeps no device object of it" within 5 knows_no_device hci0
for size in 20 23 185 244 509; do
    promise "Values of $size bytes come back whole" echoes_whole $size
done
promise "Five links one after the other, each to its end" echoes --links 5 --count 2

required "The second phone serves" phone_serves phone2 hci2
together() { check together --adapter hci0 --links 2 --count 20 --size 200; }
promise "Two phones are linked at once and each gets its own values back" together
promise "BlueZ keeps no device object of either" within 5 knows_no_device hci0
finish phone2

# The phone leaves in the middle of an exchange.
link_is_seen_cut() {
    local before
    before=$(grep -ac 'subscribed' "$RIG_LOGS/phone1.log")
    background cut_echo till-radio-check echo --adapter hci0 --service $echo_service --count 1000000 --seconds $((60 * RIG_PATIENCE))
    within 15 eval '(($(grep -ac subscribed $RIG_LOGS/phone1.log) > '"$before"'))' || return 1
    sleep 1
    runs cut_echo && cut_link hci1 hci0 && within 10 grep -q '^failed: .*[eE]nded' "$RIG_LOGS/cut_echo.log"
}
promise "A link that the phone cuts is seen as ended" link_is_seen_cut
wait "$(pid cut_echo)"
promise "BlueZ keeps no device object of a link that was cut" within 5 knows_no_device hci0
promise "The next link works" echoes --count 3

# The program is ended hard in the middle: its successor cleans up behind it.
left_behind() {
    background lost_echo till-radio-check echo --adapter hci0 --service $echo_service --count 1000000 --seconds $((60 * RIG_PATIENCE))
    within 15 eval '[ -n "$(known_devices hci0)" ]' && sleep 1 && finish lost_echo KILL && echoes --count 3 &&
        within 5 knows_no_device hci0
}
promise "After a crash in the middle of a link the next start works and leaves no device object" left_behind
promise "Nobody ever paired" nothing_paired
