# Tap to pay, whole: terminal, gateway, acquirer and two customers' phones over the air.
# Limit: 240 s
# Needs: Sources/Terminal/Tap Sources/till-sandbox/TapCommand.swift

required "A terminal and two phones have radios" radio_up 3
required "The sandbox gateway starts" gateway_up --settle-after 1
required "The sandbox acquirer starts" acquirer_up
as_user=1
new_terminal=1
required "The terminal starts" terminal_up $'bluetooth:\n  adapter: hci0'
promise "It runs as the unit's user, without any right of root's" terminal_is_unprivileged
required "The owner claims it" owner_claims
required "The owner sets the shop up" owner_sets_up
promise "It may read the keypad" within 10 keypad_is_there
required "The owner switches tap to pay on" owner_sets_up_tap
required "The terminal is ready for phones" within 20 tap_light_is ready

required "A customer holds a phone ready" phone_taps anna hci1 --once
required "A charge of 12.50 is opened" charge 12.50
promise "The phone pays it without anybody touching the terminal" phone_ends anna 0
promise "The page says paid" within 10 charge_is succeeded
promise "The screen says paid" within 10 screen_reads "Paid"
host picture tap-paid
promise "The acquirer's books hold one payment that succeeded" booked COMPLETED 1
promise "At the gateway nothing was paid for it" gateway_booked succeeded 0
promise "No code is left that could be paid a second time" screen_code_is ""
promise "BlueZ keeps no device object of the phone" within 15 knows_no_device hci0

required "Another customer holds a phone ready" phone_taps berta hci1 --once --decline
required "A charge of 5.00 is opened" charge 5.00
promise "The phone shows the request, and its owner declines" phone_ends berta 3
promise "The charge stays open for others" charge_is requiresAction
link=$(announced charge link)
promise "Somebody else pays it by QR code" customer_pays "$link"
promise "The page says paid by QR code" within 10 charge_is succeeded
promise "The acquirer's books still hold one payment that succeeded" booked COMPLETED 1
promise "The gateway's hold one now" gateway_booked succeeded 1

required "Two phones are held to the terminal at once: the first" phone_taps clara hci1 --once
required "Two phones are held to the terminal at once: the second" phone_taps dora hci2 --once
required "A charge of 7.00 is opened" charge 7.00
promise "The page says paid" within 20 charge_is succeeded
promise "One of them paid, and the acquirer's books hold one payment more" booked COMPLETED 2
promise "Terminal, acquirer, gateway and phones say the same of every payment" within 10 books_agree
finish clara
finish dora
promise "BlueZ keeps no device object of either" within 15 knows_no_device hci0
promise "Nobody ever paired" nothing_paired
