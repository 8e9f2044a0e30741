# Times a tap: Till and a terminal over bleak in turns, with the same phone. Tests/Rig/bench/stages.py makes the table.
# Only: when named
# Limit: 1500 s
# Needs: Tests/Rig/bench Sources/Terminal/Tap

turns=${RIG_TURNS:-3}
payments=${RIG_PAYMENTS:-15} # at both, with one phone: it takes no more than 32 passes along
phone_seconds=86000
# Drawing, of which the other terminal does nothing, takes an emulated processor longer than all the rest.
screen_sink=none

# No code beside the tap: what a phone waits for before the claim is then this terminal's alone.
required "Terminal and phone have radios" radio_up 2
required "The sandbox gateway starts" gateway_up --fault create:refuse=forbidden
required "The sandbox acquirer starts" acquirer_up
required "The terminal starts" terminal_up $'bluetooth:\n  adapter: hci0'
required "The owner claims it" owner_claims
required "The owner sets the shop up" owner_sets_up
required "The owner switches tap to pay on" owner_sets_up_tap
required "The terminal is ready for phones" within 20 tap_light_is ready

bleak_up() {
    coproc bleak { exec env PYTHONPATH=$rig/python python3 -u $rig/tests/bench/terminal.py --adapter hci0 \
        --acquirer "$acquirer_url" --login "$acquirer_login:$acquirer_password" 2>"$RIG_LOGS/bleak.err" 9>&-; }
    bleak_says ready 60
}
bleak_says() {
    local said
    IFS= read -r -t $(($2 * RIG_PATIENCE)) said <&"${bleak[0]}" || said="nothing; $(tail -n 1 "$RIG_LOGS/bleak.err")"
    equal "$said" "$1"
}
required "The terminal over bleak starts" bleak_up

stamp() { echo "$EPOCHREALTIME $*" >>"$RIG_LOGS/turns.log"; }
# Nobody asks the page meanwhile: in an emulated machine a question costs more than the payment.
till_pays() {
    local over=$((ended + 1)) end=$((SECONDS + 30 * RIG_PATIENCE))
    charge 1.00 || return 1
    while ((ended < over && SECONDS < end)); do
        sleep 0.5
        phone_ended
    done
    within 10 charge_is succeeded || {
        api POST "charges/$charge_id/cancel" {}
        return 1
    }
}
bleak_pays() { echo "pay 100" >&"${bleak[1]}" && bleak_says paid 30; }

# How many payments the phone has ended: without another process, for the same reason.
phone_ended() {
    local line
    ended=0
    while IFS= read -r line; do [[ $line != *" Ended "* ]] || ((ended += 1)); done <"$RIG_LOGS/phone$turn.log"
    return 0
}

# One after the other, so that whatever else the host does hits both. Each begins when the other has let go of the phone,
# which takes seconds. What fails is counted and no more: on a busy host links fall.
paid=0 failed=0
in_turns() {
    local number who
    for ((number = 0; number < payments; number++)); do
        for who in till bleak; do
            within 20 knows_no_device hci0 || return 1
            sleep 1
            phone_ended
            stamp $who
            if ${who}_pays; then ((paid += 1)); else ((failed += 1)); fi
        done
    done
}

for ((turn = 1; turn <= turns; turn++)); do
    # Without network, so that the receipt comes from the terminal; a phone then has a pass for each payment.
    required "A customer holds a phone ready" phone_taps phone$turn hci1 --offline --passes $((2 * payments)) --times
    required "$payments payments at each terminal, in turns" in_turns
    finish phone$turn
    echo "$((turn * payments)) $(sed -n 's/^VmRSS:[[:space:]]*\([0-9]*\).*/\1/p' "/proc/$(pid terminal)/status")" \
        >>"$RIG_LOGS/memory.log"
done
promise "Of all payments none failed" equal "$failed" 0
((failed > 0)) || promise "The acquirer booked each payment once" booked COMPLETED "$paid"
promise "BlueZ keeps no device object of the phone" within 15 knows_no_device hci0
promise "Nobody ever paired" nothing_paired
