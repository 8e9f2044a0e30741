# The acquirer answers with refusals and failures for a while. Whatever it said, the end is what its books hold.
# Limit: 150 s
# Part: rest
# Needs: Sources/Terminal/Tap Sources/till-sandbox/TapCommand.swift

shop_up 3

# ENDPOINT EFFECT, the first and the number of calls that it spoils, and whether before or after the work is done.
spoils() {
    acquirer_control faults -d "{\"endpoint\":\"$1\",\"effect\":\"$2\",\"from\":$3,\"times\":$4,\"when\":\"${5:-before}\"}"
}
no_faults() { acquirer_control faults -X DELETE; }

fails() { spoils execute error=503 1 4 && spoils payment error=502 1 1; }
required "The acquirer fails with 503 and 502 for half a minute" fails
required "A customer without network holds a phone ready" phone_taps anna hci1 --once --offline
required "A charge of 12.50 is opened" charge 12.50
promise "The phone is paid from all the same" phone_ends anna 0
promise "The page says paid" within 30 charge_is succeeded
promise "The acquirer's books hold it once" booked COMPLETED 1

refused_for_now() { no_faults && spoils execute refuse=unauthorized 1 1 && spoils execute refuse=payment_busy 2 1; }
required "It says 401 and then 409, as if it were busy" refused_for_now
required "Another customer holds a phone ready" phone_taps berta hci2 --once --offline
required "A charge of 6.00 is opened" charge 6.00
promise "That phone is paid from, too" phone_ends berta 0
promise "The page says paid after those refusals" within 40 charge_is succeeded
promise "The books hold two" booked COMPLETED 2

done_and_denied() { no_faults && spoils execute error=500 1 1 after && spoils execute refuse=bundle_refused 2 3; }
required "It executes, says 500, and then refuses the same for good" done_and_denied
required "A third customer holds a phone ready" phone_taps clara hci1 --once --offline
required "A charge of 7.00 is opened" charge 7.00
promise "The refusal is not believed: the phone says paid" phone_ends clara 0
promise "The page says paid, because the money moved" within 40 charge_is succeeded
promise "The books hold three" booked COMPLETED 3

refused_for_good() { no_faults && spoils execute refuse=bundle_refused 1 20; }
required "It refuses the next one for good" refused_for_good
phone_seconds=$((15 * RIG_PATIENCE))
required "A fourth customer holds a phone ready" phone_taps dora hci2 --once --offline
required "A charge of 8.00 is opened" charge 8.00
promise "The page says failed" within 40 charge_is failed
promise "That phone does not say paid" phone_ends dora 1 2
promise "The books hold three as before" booked COMPLETED 3
required "The acquirer recovers" no_faults
promise "Nothing of it is paid later" never 5 booked COMPLETED 4
promise "The page still says failed" charge_is failed
promise "At the gateway nothing was paid beside it" gateway_booked succeeded 0
promise "Terminal, acquirer, gateway and phones say the same of every payment" within 10 books_agree
promise "BlueZ keeps no device object of a phone" within 15 knows_no_device hci0
promise "Nobody ever paired" nothing_paired
