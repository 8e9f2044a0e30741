# A phone loses its power with its claim while the terminal has no network: switched on again, it is served and pays once.
# Limit: 60 s
# Needs: Sources/Terminal/Tap Sources/Sandbox/Phone Sources/till-sandbox/TapCommand.swift

required "Terminal and phone have radios" radio_up 2
required "The sandbox gateway starts" gateway_up --settle-after 1
required "The sandbox acquirer starts" acquirer_up
required "The terminal has a cable to it" cable_in
required "The terminal starts" terminal_up $'bluetooth:\n  adapter: hci0'
required "The owner is there" owner_is_there
required "The owner sets the shop up" owner_sets_up
required "The owner switches tap to pay on" owner_sets_up_tap "{\"acquirerURL\":\"$cable_url\"}"
required "The terminal is ready for phones" within 20 tap_light_is ready

required "A customer's phone will lose its power when it hears that it pays" \
    phone_taps anna hci1 --once --state $state/phone --die-at heard:2
promise "The terminal's cable is pulled out" cable_out
required "A charge of 8.00 is opened" charge 8.00
promise "The phone loses its power" phone_ends anna 137
promise "Nothing is booked" booked COMPLETED 0
required "It is switched on again" phone_taps anna-again hci1 --once --state $state/phone
promise "It says paid" phone_ends anna-again 0
promise "The page says paid without a cable" within 10 charge_is succeeded
promise "The acquirer's books hold one payment" booked COMPLETED 1
promise "Terminal, acquirer, gateway and phones say the same of every payment" within 10 books_agree
promise "BlueZ keeps no device object of a phone" within 15 knows_no_device hci0
promise "Nobody ever paired" nothing_paired
