# A sale with terminal, gateway and customer all inside the guest.
# Limit: 60 s

required "The sandbox gateway starts" gateway_up --settle-after 1
new_terminal=1
required "The terminal starts" terminal_up
required "The owner claims it" owner_claims
required "The owner sets the shop up" owner_sets_up
required "A charge of 12.50 is opened over the web page's API" charge 12.50
required "The screen's own code is read back before anybody is asked to pay" within 20 code_is_readable
host picture charge
promise "The screen says the amount" screen_reads "12.50"
link=$(host qr)
promise "A foreign reader finds in the QR code what the terminal announced" equal "$link" "$(announced charge link)"

promise "The customer pays what the camera saw" customer_pays "$link"
promise "The page says paid" within 10 charge_is succeeded
promise "The screen says paid" within 10 screen_reads "Paid"
host picture paid
promise "No code is left that could be paid a second time" screen_code_is ""
paid_once() { gateway_control payments | tee "$RIG_LOGS/payments.json" | jq -e '[.. | objects | select(.status? == "succeeded")] | length == 1'; }
promise "The gateway's books hold one payment, and it succeeded" paid_once
