# What people in front of the terminal see: the framebuffer of a real kernel, looked at from outside.
# Limit: 60 s

required "The sandbox gateway starts" gateway_up
new_terminal=1
required "The terminal starts on the framebuffer and the web" terminal_up
required "The guest's clock is the host's, to two seconds" \
    eval '(( $(date +%s) - $(host clock) <= 2 && $(host clock) - $(date +%s) <= 2 ))'

claim_is_shown() {
    within 20 grep -q '"event":"claim"' $state/terminal.json || return 1
    screen_code_is "$(announced claim url)"
}
required "A terminal nobody owns shows a QR code, and a foreign reader finds the claim address in it" within 10 claim_is_shown
host picture claim
promise "It says in words what to do" screen_reads "Scan the code or open"

# The kernel's own console is on the same screen: cursor, and messages.
console_draws_nothing() {
    local before
    before=$(host pixels)
    printf '\033[?25h\033[Ha message of the kernel\n' >/dev/tty0 && never 3 eval '[ "$(host pixels)" != '"$before"' ]'
}
promise "The kernel's console draws neither cursor nor messages over it" console_draws_nothing

page_is_the_one_on_the_screen() {
    local answer
    answer=$(host page /) || return 1
    contains "$answer" "200 " && contains "$(announced claim url)" "${answer#200 }"
}
promise "The page opens from outside with the certificate whose fingerprint is in the QR code" page_is_the_one_on_the_screen

required "The owner claims it with that code" owner_claims
required "The owner sets the shop up" owner_sets_up
promise "The screen says the shop's name" within 10 screen_reads "Morgenrot"
promise "No QR code is left on it" screen_code_is ""
host picture idle

terminated() { finish terminal && screen_code_is ""; }
promise "Told to stop, the terminal leaves no code on the screen that could be paid" terminated
