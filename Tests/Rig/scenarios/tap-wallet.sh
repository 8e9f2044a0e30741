# A wallet without network signs, and the terminal carries its signature to the gateway.
# Limit: 60 s
# Needs: Sources/Terminal/Tap Sources/till-sandbox/TapCommand.swift

shop_up 2 '{"walletProjectID":"rig-project"}'

(umask 077 && printf '%064d\n' 4711 >$state/wallet-key)
required "A customer's wallet has an account and no network" \
    phone_taps anna hci1 --once --offline --wallet-key $state/wallet-key
required "A charge of 12.50 is opened" charge 12.50
promise "The phone pays" phone_ends anna 0
promise "What it signed was in USDC" phone_said anna 'Signing   .* USDC'
promise "The page says paid" within 10 charge_is succeeded
promise "The screen says paid" within 10 screen_reads "Paid"
host picture tap-wallet
promise "The gateway's books hold one payment that succeeded" gateway_booked succeeded 1
promise "The acquirer's hold none" booked COMPLETED 0
promise "No code is left that could be paid a second time" screen_code_is ""
promise "Terminal, acquirer, gateway and phones say the same of every payment" within 10 books_agree
promise "BlueZ keeps no device object of the phone" within 15 knows_no_device hci0
promise "Nobody ever paired" nothing_paired
