# Where the network is missing: at the phone, at the terminal, at both.
# Limit: 90 s
# Needs: Sources/Terminal/Tap Sources/till-sandbox/TapCommand.swift

required "Terminal and phones have radios" radio_up 3
required "The sandbox gateway starts" gateway_up --settle-after 1
required "The sandbox acquirer starts" acquirer_up
required "The terminal has a cable to it" cable_in
required "The terminal starts" terminal_up $'bluetooth:\n  adapter: hci0'
required "The owner is there" owner_is_there
required "The owner sets the shop up" owner_sets_up
required "The owner switches tap to pay on, and takes vouchers" owner_sets_up_tap \
    "{\"acquirerURL\":\"$cable_url\",\"offlineAllowed\":true}"
required "The terminal is ready for phones" within 20 tap_light_is ready

required "A customer without network holds a phone ready" phone_taps anna hci1 --once --offline
required "A charge of 12.50 is opened" charge 12.50
promise "The phone pays through the terminal" phone_ends anna 0
promise "The page says paid" within 10 charge_is succeeded
promise "The acquirer's books hold it" booked COMPLETED 1

required "A phone has money set aside, and then no network" \
    phone_taps berta hci2 --once --offline --voucher 10000:USD --state $state/berta
finish berta
promise "The terminal's cable is pulled out" cable_out
required "A customer with network holds a phone ready" phone_taps clara hci1 --once
required "A charge of 6.00 is opened" charge 6.00
promise "The phone takes the payment to the acquirer and pays" phone_ends clara 0
promise "The page says paid without a cable" within 10 charge_is succeeded
promise "The acquirer's books hold two" booked COMPLETED 2

required "Nobody has network, but the phone has money set aside" \
    phone_taps berta-again hci2 --once --offline --state $state/berta
required "A charge of 7.50 is opened" charge 7.50
promise "The phone pays with what was set aside" phone_ends berta-again 5
promise "The page says that it is promised" within 10 page_says promised true
promise "The screen says so" within 10 screen_reads "Accepted offline"
host picture tap-promised
promise "The acquirer knows nothing of it yet" booked COMPLETED 2
required "The cable is back" cable_in
promise "The page says paid by and by" within 30 charge_is succeeded
promise "It is promised no more" page_says promised false
promise "The acquirer's books hold three" booked COMPLETED 3
promise "Terminal, acquirer, gateway and phones say the same of every payment" within 10 books_agree
promise "BlueZ keeps no device object of a phone" within 15 knows_no_device hci0
promise "Nobody ever paired" nothing_paired
