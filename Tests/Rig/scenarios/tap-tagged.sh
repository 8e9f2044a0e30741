# Only who has read this terminal's tag is asked. The screen shows the tag where there is no code to pay.
# Limit: 90 s
# Needs: Sources/Terminal/Tap Sources/till-sandbox/TapCommand.swift

shop_up 3 '{"mode":"tagged"}' --fault create:error=503

required "Somebody nearby holds a phone ready who has read no tag" phone_taps anna hci1
required "A charge of 12.50 is opened" charge 12.50
tag_is_shown() { contains "$(host qr)" 'bpp:1?'; }
required "The screen shows the tag" within 20 tag_is_shown
tag=$(host qr)
host picture tap-tag
required "The customer reads it with a phone" phone_taps berta hci2 --once --tag "$tag"
promise "That phone pays" phone_ends berta 0
promise "The page says paid" within 10 charge_is succeeded
promise "The acquirer's books hold it" booked COMPLETED 1
promise "The other phone was never asked" eval '! phone_said anna Asked >/dev/null'

other_tag='bpp:1?t=QNX4-kmbQhyY_95E8q03zg&k=FCFINLla_Dnv0wzdKK34TQ&n=Coffee%20Shop'
finish anna
required "Somebody has read another terminal's tag" phone_taps clara hci1 --tag "$other_tag"
required "A charge of 5.00 is opened" charge 5.00
required "The customer of before still has the code of that charge" phone_taps emil hci2 --tag "$tag"
promise "The phone with another terminal's tag is not asked either" never 8 phone_said clara Asked
promise "Nor is the one with the code of the charge before" never 1 phone_said emil Asked
promise "The charge stays open" charge_is requiresAction
finish clara
finish emil
promise "Terminal, acquirer, gateway and phones say the same of every payment" within 10 books_agree
promise "BlueZ keeps no device object of a phone" within 15 knows_no_device hci0
promise "Nobody ever paired" nothing_paired
