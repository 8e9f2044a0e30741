# Three customers hold their phones to the terminal at once. The first to agree pays, and everybody says the same of it.
# Limit: 100 s
# Needs: Sources/Terminal/Tap Sources/till-sandbox/TapCommand.swift

shop_up 4

# Each looks at the request for so long that all have it before the first agrees; phones are met one after the other. The
# others would agree some seconds later: whoever has agreed before somebody else won waits for the gateway's last word.
look=$((5 * RIG_PATIENCE))
names=(anna berta clara)
for index in 0 1 2; do
    required "A customer holds a phone ready: ${names[index]}" phone_taps "${names[index]}" hci$((index + 1)) --once --slow $((look + index * RIG_PATIENCE))
done
required "A charge of 9.00 is opened" charge 9.00
all_look() { for name in "${names[@]}"; do phone_said "$name" Asked || return 1; done; }
promise "All three phones show it" within 20 all_look
promise "The page says paid" within 20 charge_is succeeded

# How each phone's program ended: 0 says paid, 1 says not paid.
ended() {
    local name status
    winner= losers=()
    for name in "${names[@]}"; do
        status=0
        wait "$(pid "$name")" || status=$?
        case $status in
            0) winner=$winner$name ;;
            1) losers+=("$name") ;;
            *) echo "$name ended with $status: $(tail -n 1 "$RIG_LOGS/$name.log")" && return 1 ;;
        esac
    done
}
promise "Each phone knows how it ended for its owner" ended
one_won() { contains " ${names[*]} " " $winner " && equal "${#losers[@]}" 2; }
promise "One phone says paid, two say that nothing was paid" one_won
losers_heard() { for name in "${losers[@]}"; do phone_said "$name" 'Heard     OTHER_PAID' || return 1; done; }
promise "Both others were told that somebody else has paid" losers_heard
only_winner_claimed() {
    phone_said "$winner" 'Heard     CLAIM' || return 1
    for name in "${losers[@]}"; do
        ! phone_said "$name" 'Heard     CLAIM' >/dev/null || { echo "$name heard a claim, too" && return 1; }
    done
}
promise "Only the one who paid was ever claimed from" only_winner_claimed
promise "The acquirer's books hold one payment" booked COMPLETED 1
promise "Terminal, acquirer, gateway and phones say the same of every payment" within 10 books_agree
promise "At the gateway nothing was paid beside it" gateway_booked succeeded 0
promise "No code is left that could be paid a second time" screen_code_is ""
promise "BlueZ keeps no device object of any phone" within 15 knows_no_device hci0
promise "Nobody ever paired" nothing_paired
