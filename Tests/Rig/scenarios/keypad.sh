# A sale without any browser: keys of a USB keyboard through the guest's kernel, and what the screen says to them.
# Limit: 120 s

required "The sandbox gateway starts" gateway_up --settle-after 1
new_terminal=1
required "The terminal starts" terminal_up
host keys kp_1 kp_2 kp_5 kp_0 kp_enter
promise "Before it is set up its keys do nothing" never 2 screen_reads "12.50"
required "The owner claims it" owner_claims
required "The owner sets the shop up" owner_sets_up
required "The terminal has found the keypad" within 10 keypad_is_there
required "The shop's name is on the screen" within 10 screen_reads "Morgenrot"

host keys kp_1 kp_2
promise "What is typed is read on the screen" within 10 screen_reads "0.12"
host keys kp_5 kp_0
promise "Digits fill from the right" within 10 screen_reads "12.50"
host picture typing
host keys num_lock
promise "Num takes it back" within 10 screen_reads "Morgenrot"
host keys kp_1 kp_2 kp_5 kp_0 kp_enter
current_is_open() { api GET charges/current | jq -e '.state == "created" or .state == "requiresAction"'; }
required "Enter opens a charge" within 10 current_is_open
charge_id=$(api GET charges/current | jq -r .id)
promise "It is the amount on the screen" equal "$(api GET "charges/$charge_id" | jq -r .amountMinor)" 1250
promise "The record says that it came from the keypad" equal "$(api GET "charges/$charge_id" | jq -r .openedBy)" keypad
required "Its code can be read" within 20 code_is_readable
host keys num_lock
promise "Num asks before anything is cancelled" within 10 screen_reads "Cancel this charge"
host picture question
code_is_back() { [ "$(host qr)" = "$(announced charge link)" ]; }
required "A question that nobody answers goes by itself, and the code comes back" within 30 code_is_back
link=$(host qr)
promise "The customer pays what the camera saw" customer_pays "$link"
promise "The screen says paid" within 10 screen_reads "Paid"

host keys kp_5 kp_0 kp_0 kp_add kp_2 kp_5 kp_0 kp_enter
promise "A sum is shown before it is charged" within 10 screen_reads "7.50"
host picture sum
host keys kp_enter
required "A second Enter charges it" within 10 current_is_open
charge_id=$(api GET charges/current | jq -r .id)
promise "The whole sum" equal "$(api GET "charges/$charge_id" | jq -r .amountMinor)" 750
host keys num_lock kp_enter
promise "Num and Enter cancel it" within 20 charge_is cancelled
