# Second thoughts: the terminal takes a request back, a customer does not want it, another adds a tip and has it back.
# Limit: 90 s
# Needs: Sources/Terminal/Tap Sources/till-sandbox/TapCommand.swift

shop_up 3 '{"tipMode":"allowed"}'

required "A phone shows every request and answers none" phone_taps anna hci1 --once --never
required "A charge of 9.00 is opened" charge 9.00
required "The phone shows it" within 15 phone_said anna Asked
promise "The shop takes the charge back" api POST "charges/$charge_id/cancel" {}
promise "The page says cancelled" within 10 charge_is cancelled
promise "The phone hears of it" within 10 phone_said anna 'Heard     CANCEL_POS'
promise "Nothing was paid, says the phone" phone_ends anna 1
promise "The acquirer's books hold no payment that succeeded" booked COMPLETED 0

required "Another customer holds a phone ready" phone_taps berta hci1 --once --decline
required "The terminal is free: a charge of 5.00 is opened" charge 5.00
promise "The phone's owner declines" phone_ends berta 3
promise "The charge stays open" charge_is requiresAction
required "A third customer comes with a phone" phone_taps clara hci2 --once --tip 10%
promise "That phone pays the same charge, with a tip" phone_ends clara 0
promise "The page says paid" within 10 charge_is succeeded
promise "The page counts the tip in" page_says totalMinor 550
promise "The screen counts it in" within 10 screen_reads "5.50"
host picture tap-tip
books_say() {
    booked "$1" "$2" && equal "$(jq -c --arg status "$1" \
        '[.payments[] | select(.status == $status) | [.amount, .tip, .total]]' <"$RIG_LOGS/acquirer-payments.json")" "$3"
}
promise "The acquirer booked amount and tip, once" books_say COMPLETED 1 '[[500,50,550]]'

with_tip_and_cancelled() {
    booked COMPLETED 0 && equal "$(jq -c '[.payments[] | select(.total == 550) | .status]' \
        <"$RIG_LOGS/acquirer-payments.json")" '["CANCELLED"]'
}
promise "The shop gives it back" api POST "charges/$charge_id/take-back" {}
promise "The page says given back" within 5 page_says givenBack true
promise "The acquirer's books say cancelled" with_tip_and_cancelled
promise "Nothing is given back twice: a second wish changes nothing" api POST "charges/$charge_id/take-back" {}
promise "The books are as before" with_tip_and_cancelled
promise "Terminal, acquirer, gateway and phones say the same of every payment" within 10 books_agree
promise "BlueZ keeps no device object of a phone" within 15 knows_no_device hci0
promise "Nobody ever paired" nothing_paired
