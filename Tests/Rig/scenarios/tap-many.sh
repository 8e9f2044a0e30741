# Payment after payment, a day's worth: all paid and booked once, the terminal no larger in the end, and nothing left in BlueZ.
# RIG_PAYMENTS says how many (1000).
# Only: when named
# Limit: 3600 s
# Needs: Tests/Rig/bench Sources/Terminal/Tap

payments=${RIG_PAYMENTS:-1000}
phone_seconds=86000
# Drawing takes an emulated processor longer than all the rest, and it is not what is looked at here.
screen_sink=none
log_level=info

shop_up 2 '{}' --fault create:refuse=forbidden

drive_up() {
    coproc drive { exec python3 -u $rig/tests/bench/drive.py --page "$terminal_url" --cookies $state/cookies --token "$csrf" \
        --turns "$RIG_LOGS/turns.log" 2>"$RIG_LOGS/drive.err" 9>&-; }
    drive_says ready 90
}
drive_says() {
    local said
    IFS= read -r -t $(($2 * RIG_PATIENCE)) said <&"${drive[0]}" || said="nothing; $(tail -n 1 "$RIG_LOGS/drive.err")"
    equal "$said" "$1"
}
required "A cashier is there who charges without a rest" drive_up

resident() { sed -n 's/^VmRSS:[[:space:]]*\([0-9]*\).*/\1/p' "/proc/$(pid "$1")/status"; }
note_memory() { echo "$1 payments: terminal $(resident terminal) kB, bluetoothd $(resident bluetoothd) kB" | tee -a "$RIG_LOGS/memory.log"; }
pay_many() {
    local number
    for ((number = $1; number <= $2; number++)); do
        echo "till 100" >&"${drive[1]}"
        drive_says paid 60 || return 1
    done
    note_memory "$2"
}

required "A customer holds a phone ready" phone_taps anna hci1 --times
echo "phone $RIG_LOGS/anna.log" >&"${drive[1]}"
step=$((payments / 10))
required "The first $step are paid" pay_many 1 $step
early=$(resident terminal)
has_not_grown() {
    local now
    now=$(resident terminal)
    ((now - early < 4096)) || {
        echo "$early kB after $step payments, $now kB after $1"
        return 1
    }
}
for ((done = step; done < payments; done += step)); do
    required "The next $step are paid, $((done + step)) in all" pay_many $((done + 1)) $((done + step))
    promise "The terminal has grown by less than 4 MB since the first $step: $early kB then, $(resident terminal) kB now" \
        has_not_grown $((done + step))
done
promise "The acquirer booked each payment once" booked COMPLETED "$payments"
finish anna
promise "BlueZ keeps no device object of the phone" within 15 knows_no_device hci0
promise "Nobody ever paired" nothing_paired
