# Times a tap: Till and a terminal over bleak in turns, with the same phone. Tests/Rig/bench/stages.py makes the table.
# Only: when named
# Limit: 1500 s
# Needs: Tests/Rig/bench Sources/Terminal/Tap

turns=${RIG_TURNS:-3}
payments=${RIG_PAYMENTS:-15} # at both, with one phone: it takes no more than 32 passes along
warming=4
phone_seconds=86000
# Drawing, of which the other terminal does nothing, takes an emulated processor longer than all the rest.
screen_sink=none
# Both journals are on a disk that takes its time to write through, as a terminal's are.
state=/mnt/disk/shop
log_level=info

# No code beside the tap: what a phone waits for before the claim is then this terminal's alone.
required "Terminal and phone have radios" radio_up 2
required "The sandbox gateway starts" gateway_up --fault create:refuse=forbidden
required "The sandbox acquirer starts" acquirer_up
required "The terminal starts" terminal_up $'bluetooth:\n  adapter: hci0'
required "The owner is there" owner_is_there
required "The owner sets the shop up" owner_sets_up
required "The owner switches tap to pay on" owner_sets_up_tap
required "The terminal is ready for phones" within 20 tap_light_is ready

# One process opens Till's charges, tells the other terminal to pay, and waits for the phone's word in both cases.
drive_up() {
    mkdir -p $state/bleak
    coproc drive { exec env PYTHONPATH=$rig/python python3 -u $rig/tests/bench/drive.py --page "$terminal_url" \
        --cookies $state/cookies --token "$csrf" --turns "$RIG_LOGS/turns.log" -- \
        python3 -u $rig/tests/bench/terminal.py --adapter hci0 --acquirer "$acquirer_url" \
        --login "$acquirer_login:$acquirer_password" --journal $state/bleak/journal.sqlite 2>"$RIG_LOGS/drive.err" 9>&-; }
    drive_says ready 90
}
drive_says() {
    local said
    IFS= read -r -t $(($2 * RIG_PATIENCE)) said <&"${drive[0]}" || said="nothing; $(tail -n 1 "$RIG_LOGS/drive.err")"
    equal "$said" "$1"
}
drive() { echo "$*" >&"${drive[1]}"; }
required "The terminal over bleak starts" drive_up

# Phone, acquirer and air have processors of their own elsewhere. Here they share two with both terminals, and go first.
go_first() {
    local name
    for name in "$@"; do
        python3 -c 'import os, sys; [os.setpriority(os.PRIO_PROCESS, int(one), -10) for one in sys.argv[1:]]' \
            $(ls "/proc/$(pid "$name")/task") || return 1
    done
}
required "What is no terminal's goes first" go_first btvirt bluetoothd acquirer

# One after the other, so that whatever else the host does hits both, and who begins changes. Each begins when the other has
# let go of the phone, which takes seconds. What fails is counted and no more: on a busy host links fall.
paid=0 failed=0
in_turns() {
    local number who order=(till bleak)
    for ((number = 0; number < $1; number++)); do
        for who in "${order[@]}"; do
            within 20 knows_no_device hci0 || return 1
            # For five seconds a phone that heard no goodbye tells the next terminal that it is busy.
            sleep 6
            drive "$who" 100 ${2:-}
            if drive_says paid 60; then ((paid += 1)); else ((failed += 1)); fi
        done
        order=("${order[1]}" "${order[0]}")
    done
}

# An emulator translates a program's code when it first comes to it: a terminal that has sold nothing yet is slow for that.
required "A customer comes first whom nobody measures" phone_taps warm hci1 --offline --passes $((2 * warming)) --times
go_first warm
drive phone "$RIG_LOGS/warm.log"
required "$warming payments at each terminal that are not measured" in_turns $warming unmeasured
finish warm

for ((turn = 1; turn <= turns; turn++)); do
    # Without network, so that the receipt comes from the terminal; a phone then has a pass for each payment.
    required "A customer holds a phone ready" phone_taps phone$turn hci1 --offline --passes $((2 * payments)) --times
    go_first phone$turn
    drive phone "$RIG_LOGS/phone$turn.log"
    required "$payments payments at each terminal, in turns" in_turns $payments
    finish phone$turn
    echo "$((turn * payments)) $(sed -n 's/^VmRSS:[[:space:]]*\([0-9]*\).*/\1/p' "/proc/$(pid terminal)/status")" \
        >>"$RIG_LOGS/memory.log"
done
promise "Of all payments none failed" equal "$failed" 0
((failed > 0)) || promise "The acquirer booked each payment once" booked COMPLETED "$paid"
promise "BlueZ keeps no device object of the phone" within 15 knows_no_device hci0
promise "Nobody ever paired" nothing_paired
