# Everything breaks in the middle of a payment: terminal, phone, Bluetooth's daemon, the radio. Each is paid, and once.
# Limit: 120 s
# Needs: Sources/Terminal/Tap Sources/till-sandbox/TapCommand.swift

shop_up 3

# What was claimed is at the acquirer and nobody has its answer.
silent() { acquirer_control faults -d '{"endpoint":"execute","effect":"drop","times":2}' && acquirer_control faults \
    -d '{"endpoint":"payment","effect":"drop","times":1}'; }
heard_nothing_of_acquirer() { acquirer_control faults -X DELETE; }
terminal_returns() { terminal_up $'bluetooth:\n  adapter: hci0'; }

required "The acquirer will be silent about a payment" silent
required "A customer holds a phone ready" phone_taps anna hci1 --once
required "A charge of 12.50 is opened" charge 12.50
required "The phone hears that it is the one who pays" within 20 phone_said anna 'Heard     CLAIM'
promise "The terminal is killed" finish terminal KILL
required "The acquirer speaks again" heard_nothing_of_acquirer
required "The terminal is started again" terminal_returns
promise "The page says paid" within 30 charge_is succeeded
promise "The phone says paid" phone_ends anna 0
promise "The acquirer's books hold one payment" booked COMPLETED 1

required "The terminal is ready for phones again" within 20 tap_light_is ready
required "A customer looks at the request for long" phone_taps berta hci1 --once --slow 8
required "A charge of 6.00 is opened" charge 6.00
required "The phone shows it" within 20 phone_said berta Asked
promise "Bluetooth's daemon is killed" finish bluetoothd KILL
required "It is started again" daemon_start
promise "The phone pays when both have found together again" phone_ends berta 0
promise "The page says paid after that" within 10 charge_is succeeded
promise "The books hold it once" booked COMPLETED 2

required "Another customer looks at the request for long" phone_taps dora hci2 --once --slow 8
required "A charge of 9.00 is opened" charge 9.00
required "That phone shows it" within 20 phone_said dora Asked
promise "The radio is pulled out in the middle" finish btvirt KILL
promise "The page says that no phone can be met" within 10 tap_light_is hindered
promise "The charge stays open" charge_is requiresAction
required "The radio is put back at once" controllers_start 3
promise "The phone pays when it is found again" phone_ends dora 0
promise "The page says paid after the radio was away" within 10 charge_is succeeded
promise "The books hold that once, too" booked COMPLETED 3
promise "BlueZ keeps no device object of a phone whose radio went in the middle" within 15 knows_no_device hci0

promise "The radio is pulled out" finish btvirt KILL
promise "The page says what is wrong" within 10 tap_light_is hindered
required "A charge of 7.00 is opened all the same" charge 7.00
required "It has a code" within 10 code_is_readable
promise "A customer pays it by QR code" customer_pays "$(announced charge link)"
promise "The page says paid without a radio" within 10 charge_is succeeded
required "The radio is put back" controllers_start 3
promise "The terminal is ready for phones by itself" within 20 tap_light_is ready

required "A customer's phone will lose its power when it has accepted" \
    phone_taps clara hci1 --once --state $state/phone --die-at sent:34
required "A charge of 8.00 is opened" charge 8.00
promise "It loses it" phone_ends clara 137
required "It is switched on again" phone_taps clara-again hci1 --once --state $state/phone
promise "It says paid" phone_ends clara-again 0
promise "The page says paid, too" within 10 charge_is succeeded
promise "The books hold four payments by phone" booked COMPLETED 4
promise "The gateway's hold the one by QR code" gateway_booked succeeded 1
promise "Terminal, acquirer, gateway and phones say the same of every payment" within 10 books_agree
promise "BlueZ keeps no device object of a phone" within 15 knows_no_device hci0
promise "Nobody ever paired" nothing_paired
