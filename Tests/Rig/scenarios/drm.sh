# The same screen without a framebuffer device: the kernel's mode setting, on a real driver.
# Limit: 60 s
# Part: rest

required "The sandbox gateway starts" gateway_up
screen_sink=drm
new_terminal=1
required "The terminal starts on the kernel's mode setting" terminal_up
claim_is_shown() {
    within 20 grep -q '"event":"claim"' $state/terminal.json || return 1
    screen_code_is "$(announced claim url)"
}
required "The QR code is on the panel, and a foreign reader finds the claim address in it" within 10 claim_is_shown
host picture claim
console_draws_nothing() {
    local before
    before=$(host pixels)
    printf '\033[?25h\033[Ha message of the kernel\n' >/dev/tty0 && never 3 eval '[ "$(host pixels)" != '"$before"' ]'
}
promise "The kernel's console draws neither cursor nor messages over it" console_draws_nothing
required "The owner claims it" owner_claims
required "The owner sets the shop up" owner_sets_up
promise "The next page takes its place" within 10 screen_reads "Morgenrot"
promise "No QR code is left on it" screen_code_is ""
required "A charge is opened" charge 12.50
promise "The charge's code is read back from the panel's own buffer" within 20 code_is_readable
host picture charge
# Pulled out and plugged in again, as far as the kernel can be told so.
panel=$(echo /sys/class/drm/card0-*/status)
echo off >"$panel"
panel_is_missed() { grep -q "no panel is plugged in" "$RIG_LOGS/terminal.log"; }
promise "A panel that is unplugged is missed" within 15 panel_is_missed
promise "Its charge stays open, and the page says that nobody can read the code" within 15 eval '! code_is_readable'
promise "It is said once" equal "$(grep -c 'no panel is plugged in' "$RIG_LOGS/terminal.log")" 1
echo detect >"$panel"
promise "Plugged in again it shows the same charge" within 20 code_is_readable
promise "A foreign reader finds the charge's code on it" within 10 eval 'screen_code_is "$(announced charge link)"'
finish terminal
promise "Told to stop, the terminal leaves no code on the screen that could be paid" screen_code_is ""
